"""ListGroups: the groups that a broker coordinates.

Generated from definitions/list_groups.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class ListGroupsRequest(Message):
    __slots__ = ("states_filter", "types_filter")

    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = ("states_filter", "types_filter")

    def __init__(
        self,
        states_filter: list[str] = EMPTY,
        types_filter: list[str] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.states_filter: list[str] = [] if states_filter is EMPTY else states_filter
        self.types_filter: list[str] = [] if types_filter is EMPTY else types_filter
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListGroupsRequest":
        if version < 0 or version > 5:
            raise no_such_version("ListGroupsRequest", version)
        flexible = version >= 3
        states_filter: list[str] = []
        if version >= 4:
            states_filter = [reader.compact_string() for _ in range(reader.compact_array_length())]
        types_filter: list[str] = []
        if version >= 5:
            types_filter = [reader.compact_string() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields() if flexible else ()
        return ListGroupsRequest(states_filter, types_filter, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 5:
            raise no_such_version("ListGroupsRequest", version)
        flexible = version >= 3
        if version >= 4:
            writer.write_compact_array_length(len(self.states_filter))
            for states_filter_element in self.states_filter:
                writer.write_compact_string(states_filter_element)
        elif self.states_filter:
            raise not_in_version("ListGroupsRequest.states_filter", version)
        if version >= 5:
            writer.write_compact_array_length(len(self.types_filter))
            for types_filter_element in self.types_filter:
                writer.write_compact_string(types_filter_element)
        elif self.types_filter:
            raise not_in_version("ListGroupsRequest.types_filter", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ListedGroup(Struct):
    __slots__ = ("group_id", "group_state", "group_type", "protocol_type")

    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "protocol_type", "group_state", "group_type")

    def __init__(
        self,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.protocol_type: str = protocol_type
        self.group_state: str = group_state
        self.group_type: str = group_type
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListedGroup":
        flexible = version >= 3
        group_id = reader.compact_string() if flexible else reader.string()
        protocol_type = reader.compact_string() if flexible else reader.string()
        group_state: str = ""
        if version >= 4:
            group_state = reader.compact_string()
        group_type: str = ""
        if version >= 5:
            group_type = reader.compact_string()
        unknown = reader.tagged_fields() if flexible else ()
        return ListedGroup(group_id, protocol_type, group_state, group_type, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 3
        if flexible:
            writer.write_compact_string(self.group_id)
        else:
            writer.write_string(self.group_id)
        if flexible:
            writer.write_compact_string(self.protocol_type)
        else:
            writer.write_string(self.protocol_type)
        if version >= 4:
            writer.write_compact_string(self.group_state)
        if version >= 5:
            writer.write_compact_string(self.group_type)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ListGroupsResponse(Message):
    __slots__ = ("error_code", "groups", "throttle_time_ms")

    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: list[ListedGroup] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.groups: list[ListedGroup] = [] if groups is EMPTY else groups
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListGroupsResponse":
        if version < 0 or version > 5:
            raise no_such_version("ListGroupsResponse", version)
        flexible = version >= 3
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        error_code = reader.int16()
        groups: list[ListedGroup] = [
            ListedGroup.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return ListGroupsResponse(throttle_time_ms, error_code, groups, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 5:
            raise no_such_version("ListGroupsResponse", version)
        flexible = version >= 3
        if version >= 1:
            writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_array_length(len(self.groups))
        else:
            writer.write_array_length(len(self.groups))
        for groups_element in self.groups:
            groups_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
