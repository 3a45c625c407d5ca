"""AllocateProducerIds: a broker gets a block of producer ids to give out (KIP-730).

Generated from definitions/allocate_producer_ids.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import Message, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class AllocateProducerIdsRequest(Message):
    __slots__ = ("broker_epoch", "broker_id")

    API_KEY: ClassVar[int] = 67
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch")

    def __init__(
        self, broker_id: int = 0, broker_epoch: int = -1, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AllocateProducerIdsRequest":
        if version != 0:
            raise no_such_version("AllocateProducerIdsRequest", version)
        broker_id = reader.int32()
        broker_epoch = reader.int64()
        unknown = reader.tagged_fields()
        return AllocateProducerIdsRequest(broker_id, broker_epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("AllocateProducerIdsRequest", version)
        writer.write_int32(self.broker_id)
        writer.write_int64(self.broker_epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AllocateProducerIdsResponse(Message):
    __slots__ = ("error_code", "producer_id_len", "producer_id_start", "throttle_time_ms")

    API_KEY: ClassVar[int] = 67
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "producer_id_start",
        "producer_id_len",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id_start: int = 0,
        producer_id_len: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.producer_id_start: int = producer_id_start
        self.producer_id_len: int = producer_id_len
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AllocateProducerIdsResponse":
        if version != 0:
            raise no_such_version("AllocateProducerIdsResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        producer_id_start = reader.int64()
        producer_id_len = reader.int32()
        unknown = reader.tagged_fields()
        return AllocateProducerIdsResponse(
            throttle_time_ms, error_code, producer_id_start, producer_id_len, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("AllocateProducerIdsResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_int64(self.producer_id_start)
        writer.write_int32(self.producer_id_len)
        writer.write_tagged_fields(self.unknown_tagged_fields)
