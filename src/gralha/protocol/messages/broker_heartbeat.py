"""BrokerHeartbeat: a broker is alive, and says what it wants to be: fenced, unfenced or shut down (KIP-631).

Generated from definitions/broker_heartbeat.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class BrokerHeartbeatRequest(Message):
    __slots__ = (
        "broker_epoch",
        "broker_id",
        "cordoned_log_dirs",
        "current_metadata_offset",
        "offline_log_dirs",
        "want_fence",
        "want_shut_down",
    )

    API_KEY: ClassVar[int] = 63
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "broker_epoch",
        "current_metadata_offset",
        "want_fence",
        "want_shut_down",
        "offline_log_dirs",
        "cordoned_log_dirs",
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: list[bytes] = EMPTY,
        cordoned_log_dirs: list[bytes] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.current_metadata_offset: int = current_metadata_offset
        self.want_fence: bool = want_fence
        self.want_shut_down: bool = want_shut_down
        self.offline_log_dirs: list[bytes] = [] if offline_log_dirs is EMPTY else offline_log_dirs
        self.cordoned_log_dirs: list[bytes] | None = cordoned_log_dirs
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "BrokerHeartbeatRequest":
        if version < 0 or version > 2:
            raise no_such_version("BrokerHeartbeatRequest", version)
        broker_id = reader.int32()
        broker_epoch = reader.int64()
        current_metadata_offset = reader.int64()
        want_fence = reader.boolean()
        want_shut_down = reader.boolean()
        offline_log_dirs: list[bytes] = []
        cordoned_log_dirs: list[bytes] | None = None
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0 and version >= 1:
                    offline_log_dirs = [reader.uuid() for _ in range(reader.compact_array_length())]
                elif tag == 1 and version >= 2:
                    count = reader.compact_nullable_array_length()
                    cordoned_log_dirs = [reader.uuid() for _ in range(count)] if count >= 0 else None
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return BrokerHeartbeatRequest(
            broker_id,
            broker_epoch,
            current_metadata_offset,
            want_fence,
            want_shut_down,
            offline_log_dirs,
            cordoned_log_dirs,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("BrokerHeartbeatRequest", version)
        writer.write_int32(self.broker_id)
        writer.write_int64(self.broker_epoch)
        writer.write_int64(self.current_metadata_offset)
        writer.write_boolean(self.want_fence)
        writer.write_boolean(self.want_shut_down)
        tagged = self.unknown_tagged_fields
        if version >= 1:
            if self.offline_log_dirs:
                part = Writer()
                part.write_compact_array_length(len(self.offline_log_dirs))
                for offline_log_dirs_element in self.offline_log_dirs:
                    part.write_uuid(offline_log_dirs_element)
                tagged = (*tagged, (0, part.to_bytes()))
        elif self.offline_log_dirs:
            raise not_in_version("BrokerHeartbeatRequest.offline_log_dirs", version)
        if version >= 2:
            if self.cordoned_log_dirs is not None:
                part = Writer()
                part.write_compact_array_length(len(self.cordoned_log_dirs))
                for cordoned_log_dirs_element in self.cordoned_log_dirs:
                    part.write_uuid(cordoned_log_dirs_element)
                tagged = (*tagged, (1, part.to_bytes()))
        elif self.cordoned_log_dirs is not None:
            raise not_in_version("BrokerHeartbeatRequest.cordoned_log_dirs", version)
        writer.write_tagged_fields(tagged)


@final
class BrokerHeartbeatResponse(Message):
    __slots__ = ("error_code", "is_caught_up", "is_fenced", "should_shut_down", "throttle_time_ms")

    API_KEY: ClassVar[int] = 63
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "is_caught_up",
        "is_fenced",
        "should_shut_down",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        is_caught_up: bool = False,
        is_fenced: bool = True,
        should_shut_down: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.is_caught_up: bool = is_caught_up
        self.is_fenced: bool = is_fenced
        self.should_shut_down: bool = should_shut_down
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "BrokerHeartbeatResponse":
        if version < 0 or version > 2:
            raise no_such_version("BrokerHeartbeatResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        is_caught_up = reader.boolean()
        is_fenced = reader.boolean()
        should_shut_down = reader.boolean()
        unknown = reader.tagged_fields()
        return BrokerHeartbeatResponse(
            throttle_time_ms, error_code, is_caught_up, is_fenced, should_shut_down, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("BrokerHeartbeatResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_boolean(self.is_caught_up)
        writer.write_boolean(self.is_fenced)
        writer.write_boolean(self.should_shut_down)
        writer.write_tagged_fields(self.unknown_tagged_fields)
