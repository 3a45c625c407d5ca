"""UnregisterBroker: forget a broker that is gone for good (KIP-631).

Generated from definitions/unregister_broker.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import Message, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class UnregisterBrokerRequest(Message):
    __slots__ = ("broker_id",)

    API_KEY: ClassVar[int] = 64
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id",)

    def __init__(self, broker_id: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.broker_id: int = broker_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "UnregisterBrokerRequest":
        if version != 0:
            raise no_such_version("UnregisterBrokerRequest", version)
        broker_id = reader.int32()
        unknown = reader.tagged_fields()
        return UnregisterBrokerRequest(broker_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("UnregisterBrokerRequest", version)
        writer.write_int32(self.broker_id)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class UnregisterBrokerResponse(Message):
    __slots__ = ("error_code", "error_message", "throttle_time_ms")

    API_KEY: ClassVar[int] = 64
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "UnregisterBrokerResponse":
        if version != 0:
            raise no_such_version("UnregisterBrokerResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        unknown = reader.tagged_fields()
        return UnregisterBrokerResponse(throttle_time_ms, error_code, error_message, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("UnregisterBrokerResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_tagged_fields(self.unknown_tagged_fields)
