"""Heartbeat: a member of a classic group is alive, and learns whether it has to join anew.

Generated from definitions/heartbeat.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import Message, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class HeartbeatRequest(Message):
    __slots__ = ("generation_id", "group_id", "group_instance_id", "member_id")

    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "generation_id", "member_id", "group_instance_id")

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.generation_id: int = generation_id
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "HeartbeatRequest":
        if version < 0 or version > 4:
            raise no_such_version("HeartbeatRequest", version)
        flexible = version >= 4
        group_id = reader.compact_string() if flexible else reader.string()
        generation_id = reader.int32()
        member_id = reader.compact_string() if flexible else reader.string()
        group_instance_id: str | None = None
        if version >= 3:
            group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 4:
            raise no_such_version("HeartbeatRequest", version)
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
            raise not_in_version("HeartbeatRequest.group_instance_id", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class HeartbeatResponse(Message):
    __slots__ = ("error_code", "throttle_time_ms")

    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "HeartbeatResponse":
        if version < 0 or version > 4:
            raise no_such_version("HeartbeatResponse", version)
        flexible = version >= 4
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        error_code = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return HeartbeatResponse(throttle_time_ms, error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 4:
            raise no_such_version("HeartbeatResponse", version)
        flexible = version >= 4
        if version >= 1:
            writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
