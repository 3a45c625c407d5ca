"""DescribeGroups: the state and the members of classic groups.

Generated from definitions/describe_groups.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class DescribeGroupsRequest(Message):
    __slots__ = ("groups", "include_authorized_operations")

    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 5
    FIELDS: ClassVar[tuple[str, ...]] = ("groups", "include_authorized_operations")

    def __init__(
        self,
        groups: list[str] = EMPTY,
        include_authorized_operations: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.groups: list[str] = [] if groups is EMPTY else groups
        self.include_authorized_operations: bool = include_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeGroupsRequest":
        if version < 0 or version > 6:
            raise no_such_version("DescribeGroupsRequest", version)
        flexible = version >= 5
        groups: list[str] = [
            reader.compact_string() if flexible else reader.string()
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        include_authorized_operations: bool = False
        if version >= 3:
            include_authorized_operations = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeGroupsRequest(groups, include_authorized_operations, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 6:
            raise no_such_version("DescribeGroupsRequest", version)
        flexible = version >= 5
        if flexible:
            writer.write_compact_array_length(len(self.groups))
        else:
            writer.write_array_length(len(self.groups))
        for groups_element in self.groups:
            if flexible:
                writer.write_compact_string(groups_element)
            else:
                writer.write_string(groups_element)
        if version >= 3:
            writer.write_boolean(self.include_authorized_operations)
        elif self.include_authorized_operations:
            raise not_in_version("DescribeGroupsRequest.include_authorized_operations", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribedGroupMember(Struct):
    __slots__ = (
        "client_host",
        "client_id",
        "group_instance_id",
        "member_assignment",
        "member_id",
        "member_metadata",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "member_metadata",
        "member_assignment",
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.member_metadata: bytes = member_metadata
        self.member_assignment: bytes = member_assignment
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribedGroupMember":
        flexible = version >= 5
        member_id = reader.compact_string() if flexible else reader.string()
        group_instance_id: str | None = None
        if version >= 4:
            group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        client_id = reader.compact_string() if flexible else reader.string()
        client_host = reader.compact_string() if flexible else reader.string()
        member_metadata = reader.compact_bytes() if flexible else reader.bytes_()
        member_assignment = reader.compact_bytes() if flexible else reader.bytes_()
        unknown = reader.tagged_fields() if flexible else ()
        return DescribedGroupMember(
            member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 5
        if flexible:
            writer.write_compact_string(self.member_id)
        else:
            writer.write_string(self.member_id)
        if version >= 4:
            if flexible:
                writer.write_compact_nullable_string(self.group_instance_id)
            else:
                writer.write_nullable_string(self.group_instance_id)
        if flexible:
            writer.write_compact_string(self.client_id)
        else:
            writer.write_string(self.client_id)
        if flexible:
            writer.write_compact_string(self.client_host)
        else:
            writer.write_string(self.client_host)
        if flexible:
            writer.write_compact_bytes(self.member_metadata)
        else:
            writer.write_bytes(self.member_metadata)
        if flexible:
            writer.write_compact_bytes(self.member_assignment)
        else:
            writer.write_bytes(self.member_assignment)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribedGroup(Struct):
    __slots__ = (
        "authorized_operations",
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "members",
        "protocol_data",
        "protocol_type",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "protocol_type",
        "protocol_data",
        "members",
        "authorized_operations",
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: list[DescribedGroupMember] = EMPTY,
        authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.group_id: str = group_id
        self.group_state: str = group_state
        self.protocol_type: str = protocol_type
        self.protocol_data: str = protocol_data
        self.members: list[DescribedGroupMember] = [] if members is EMPTY else members
        self.authorized_operations: int = authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribedGroup":
        flexible = version >= 5
        error_code = reader.int16()
        error_message: str | None = None
        if version >= 6:
            error_message = reader.compact_nullable_string()
        group_id = reader.compact_string() if flexible else reader.string()
        group_state = reader.compact_string() if flexible else reader.string()
        protocol_type = reader.compact_string() if flexible else reader.string()
        protocol_data = reader.compact_string() if flexible else reader.string()
        members: list[DescribedGroupMember] = [
            DescribedGroupMember.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        authorized_operations: int = -2147483648
        if version >= 3:
            authorized_operations = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return DescribedGroup(
            error_code,
            error_message,
            group_id,
            group_state,
            protocol_type,
            protocol_data,
            members,
            authorized_operations,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 5
        writer.write_int16(self.error_code)
        if version >= 6:
            writer.write_compact_nullable_string(self.error_message)
        elif self.error_message is not None:
            raise not_in_version("DescribedGroup.error_message", version)
        if flexible:
            writer.write_compact_string(self.group_id)
        else:
            writer.write_string(self.group_id)
        if flexible:
            writer.write_compact_string(self.group_state)
        else:
            writer.write_string(self.group_state)
        if flexible:
            writer.write_compact_string(self.protocol_type)
        else:
            writer.write_string(self.protocol_type)
        if flexible:
            writer.write_compact_string(self.protocol_data)
        else:
            writer.write_string(self.protocol_data)
        if flexible:
            writer.write_compact_array_length(len(self.members))
        else:
            writer.write_array_length(len(self.members))
        for members_element in self.members:
            members_element.encode(writer, version)
        if version >= 3:
            writer.write_int32(self.authorized_operations)
        elif self.authorized_operations != -2147483648:
            raise not_in_version("DescribedGroup.authorized_operations", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeGroupsResponse(Message):
    __slots__ = ("groups", "throttle_time_ms")

    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 5
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.groups: list[DescribedGroup] = [] if groups is EMPTY else groups
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeGroupsResponse":
        if version < 0 or version > 6:
            raise no_such_version("DescribeGroupsResponse", version)
        flexible = version >= 5
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        groups: list[DescribedGroup] = [
            DescribedGroup.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeGroupsResponse(throttle_time_ms, groups, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 6:
            raise no_such_version("DescribeGroupsResponse", version)
        flexible = version >= 5
        if version >= 1:
            writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.groups))
        else:
            writer.write_array_length(len(self.groups))
        for groups_element in self.groups:
            groups_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
