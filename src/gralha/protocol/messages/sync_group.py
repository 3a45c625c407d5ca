"""SyncGroup: the leader of a classic group hands in everyone's assignment, each member fetches its own.

Generated from definitions/sync_group.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class SyncGroupRequestAssignment(Struct):
    __slots__ = ("assignment", "member_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("member_id", "assignment")

    def __init__(
        self,
        member_id: str = "",
        assignment: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id: str = member_id
        self.assignment: bytes = assignment
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "SyncGroupRequestAssignment":
        flexible = version >= 4
        member_id = reader.compact_string() if flexible else reader.string()
        assignment = reader.compact_bytes() if flexible else reader.bytes_()
        unknown = reader.tagged_fields() if flexible else ()
        return SyncGroupRequestAssignment(member_id, assignment, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 4
        if flexible:
            writer.write_compact_string(self.member_id)
        else:
            writer.write_string(self.member_id)
        if flexible:
            writer.write_compact_bytes(self.assignment)
        else:
            writer.write_bytes(self.assignment)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class SyncGroupRequest(Message):
    __slots__ = (
        "assignments",
        "generation_id",
        "group_id",
        "group_instance_id",
        "member_id",
        "protocol_name",
        "protocol_type",
    )

    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocol_name",
        "assignments",
    )

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequestAssignment] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.generation_id: int = generation_id
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.protocol_type: str | None = protocol_type
        self.protocol_name: str | None = protocol_name
        self.assignments: list[SyncGroupRequestAssignment] = [] if assignments is EMPTY else assignments
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "SyncGroupRequest":
        if version < 0 or version > 5:
            raise no_such_version("SyncGroupRequest", version)
        flexible = version >= 4
        group_id = reader.compact_string() if flexible else reader.string()
        generation_id = reader.int32()
        member_id = reader.compact_string() if flexible else reader.string()
        group_instance_id: str | None = None
        if version >= 3:
            group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        protocol_type: str | None = None
        if version >= 5:
            protocol_type = reader.compact_nullable_string()
        protocol_name: str | None = None
        if version >= 5:
            protocol_name = reader.compact_nullable_string()
        assignments: list[SyncGroupRequestAssignment] = [
            SyncGroupRequestAssignment.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return SyncGroupRequest(
            group_id,
            generation_id,
            member_id,
            group_instance_id,
            protocol_type,
            protocol_name,
            assignments,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 5:
            raise no_such_version("SyncGroupRequest", version)
        flexible = version >= 4
        if flexible:
            writer.write_compact_string(self.group_id)
        else:
            writer.write_string(self.group_id)
        writer.write_int32(self.generation_id)
        if flexible:
            writer.write_compact_string(self.member_id)
        else:
            writer.write_string(self.member_id)
        if version >= 3:
            if flexible:
                writer.write_compact_nullable_string(self.group_instance_id)
            else:
                writer.write_nullable_string(self.group_instance_id)
        elif self.group_instance_id is not None:
            raise not_in_version("SyncGroupRequest.group_instance_id", version)
        if version >= 5:
            writer.write_compact_nullable_string(self.protocol_type)
        if version >= 5:
            writer.write_compact_nullable_string(self.protocol_name)
        if flexible:
            writer.write_compact_array_length(len(self.assignments))
        else:
            writer.write_array_length(len(self.assignments))
        for assignments_element in self.assignments:
            assignments_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class SyncGroupResponse(Message):
    __slots__ = ("assignment", "error_code", "protocol_name", "protocol_type", "throttle_time_ms")

    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "protocol_type",
        "protocol_name",
        "assignment",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.protocol_type: str | None = protocol_type
        self.protocol_name: str | None = protocol_name
        self.assignment: bytes = assignment
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "SyncGroupResponse":
        if version < 0 or version > 5:
            raise no_such_version("SyncGroupResponse", version)
        flexible = version >= 4
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        error_code = reader.int16()
        protocol_type: str | None = None
        if version >= 5:
            protocol_type = reader.compact_nullable_string()
        protocol_name: str | None = None
        if version >= 5:
            protocol_name = reader.compact_nullable_string()
        assignment = reader.compact_bytes() if flexible else reader.bytes_()
        unknown = reader.tagged_fields() if flexible else ()
        return SyncGroupResponse(
            throttle_time_ms, error_code, protocol_type, protocol_name, assignment, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 5:
            raise no_such_version("SyncGroupResponse", version)
        flexible = version >= 4
        if version >= 1:
            writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        if version >= 5:
            writer.write_compact_nullable_string(self.protocol_type)
        if version >= 5:
            writer.write_compact_nullable_string(self.protocol_name)
        if flexible:
            writer.write_compact_bytes(self.assignment)
        else:
            writer.write_bytes(self.assignment)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
