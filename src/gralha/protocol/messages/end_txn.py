"""EndTxn: commit or abort a transaction.

From version 5 on the producer gets a new epoch for each transaction (KIP-890).

Generated from definitions/end_txn.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import Message, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class EndTxnRequest(Message):
    __slots__ = ("committed", "producer_epoch", "producer_id", "transactional_id")

    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id", "producer_id", "producer_epoch", "committed")

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id: str = transactional_id
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.committed: bool = committed
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EndTxnRequest":
        if version < 0 or version > 5:
            raise no_such_version("EndTxnRequest", version)
        flexible = version >= 3
        transactional_id = reader.compact_string() if flexible else reader.string()
        producer_id = reader.int64()
        producer_epoch = reader.int16()
        committed = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 5:
            raise no_such_version("EndTxnRequest", version)
        flexible = version >= 3
        if flexible:
            writer.write_compact_string(self.transactional_id)
        else:
            writer.write_string(self.transactional_id)
        writer.write_int64(self.producer_id)
        writer.write_int16(self.producer_epoch)
        writer.write_boolean(self.committed)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class EndTxnResponse(Message):
    __slots__ = ("error_code", "producer_epoch", "producer_id", "throttle_time_ms")

    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EndTxnResponse":
        if version < 0 or version > 5:
            raise no_such_version("EndTxnResponse", version)
        flexible = version >= 3
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        producer_id: int = -1
        if version >= 5:
            producer_id = reader.int64()
        producer_epoch: int = -1
        if version >= 5:
            producer_epoch = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return EndTxnResponse(throttle_time_ms, error_code, producer_id, producer_epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 5:
            raise no_such_version("EndTxnResponse", version)
        flexible = version >= 3
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        if version >= 5:
            writer.write_int64(self.producer_id)
        if version >= 5:
            writer.write_int16(self.producer_epoch)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
