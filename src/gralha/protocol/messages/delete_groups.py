"""DeleteGroups: forget groups without members, and all their offsets.

Generated from definitions/delete_groups.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class DeleteGroupsRequest(Message):
    __slots__ = ("groups_names",)

    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("groups_names",)

    def __init__(
        self, groups_names: list[str] = EMPTY, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.groups_names: list[str] = [] if groups_names is EMPTY else groups_names
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteGroupsRequest":
        if version < 0 or version > 2:
            raise no_such_version("DeleteGroupsRequest", version)
        flexible = version >= 2
        groups_names: list[str] = [
            reader.compact_string() if flexible else reader.string()
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteGroupsRequest(groups_names, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("DeleteGroupsRequest", version)
        flexible = version >= 2
        if flexible:
            writer.write_compact_array_length(len(self.groups_names))
        else:
            writer.write_array_length(len(self.groups_names))
        for groups_names_element in self.groups_names:
            if flexible:
                writer.write_compact_string(groups_names_element)
            else:
                writer.write_string(groups_names_element)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DeletableGroupResult(Struct):
    __slots__ = ("error_code", "group_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "error_code")

    def __init__(
        self, group_id: str = "", error_code: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group_id: str = group_id
        self.error_code: int = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeletableGroupResult":
        flexible = version >= 2
        group_id = reader.compact_string() if flexible else reader.string()
        error_code = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return DeletableGroupResult(group_id, error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        if flexible:
            writer.write_compact_string(self.group_id)
        else:
            writer.write_string(self.group_id)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DeleteGroupsResponse(Message):
    __slots__ = ("results", "throttle_time_ms")

    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DeletableGroupResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: list[DeletableGroupResult] = [] if results is EMPTY else results
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteGroupsResponse":
        if version < 0 or version > 2:
            raise no_such_version("DeleteGroupsResponse", version)
        flexible = version >= 2
        throttle_time_ms = reader.int32()
        results: list[DeletableGroupResult] = [
            DeletableGroupResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteGroupsResponse(throttle_time_ms, results, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("DeleteGroupsResponse", version)
        flexible = version >= 2
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.results))
        else:
            writer.write_array_length(len(self.results))
        for results_element in self.results:
            results_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
