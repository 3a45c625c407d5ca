"""InitProducerId: an id and an epoch for an idempotent or transactional producer.

Version 6 (KIP-939) is not final in Kafka 4.3. Brokers serve it only with transaction.two.phase.commit.enable.

Generated from definitions/init_producer_id.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import Message, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class InitProducerIdRequest(Message):
    __slots__ = (
        "enable_2pc",
        "keep_prepared_txn",
        "producer_epoch",
        "producer_id",
        "transaction_timeout_ms",
        "transactional_id",
    )

    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "transaction_timeout_ms",
        "producer_id",
        "producer_epoch",
        "enable_2pc",
        "keep_prepared_txn",
    )

    def __init__(
        self,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        enable_2pc: bool = False,
        keep_prepared_txn: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id: str | None = transactional_id
        self.transaction_timeout_ms: int = transaction_timeout_ms
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.enable_2pc: bool = enable_2pc
        self.keep_prepared_txn: bool = keep_prepared_txn
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "InitProducerIdRequest":
        if version < 0 or version > 6:
            raise no_such_version("InitProducerIdRequest", version)
        flexible = version >= 2
        transactional_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        transaction_timeout_ms = reader.int32()
        producer_id: int = -1
        if version >= 3:
            producer_id = reader.int64()
        producer_epoch: int = -1
        if version >= 3:
            producer_epoch = reader.int16()
        enable_2pc: bool = False
        if version >= 6:
            enable_2pc = reader.boolean()
        keep_prepared_txn: bool = False
        if version >= 6:
            keep_prepared_txn = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return InitProducerIdRequest(
            transactional_id,
            transaction_timeout_ms,
            producer_id,
            producer_epoch,
            enable_2pc,
            keep_prepared_txn,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 6:
            raise no_such_version("InitProducerIdRequest", version)
        flexible = version >= 2
        if flexible:
            writer.write_compact_nullable_string(self.transactional_id)
        else:
            writer.write_nullable_string(self.transactional_id)
        writer.write_int32(self.transaction_timeout_ms)
        if version >= 3:
            writer.write_int64(self.producer_id)
        elif self.producer_id != -1:
            raise not_in_version("InitProducerIdRequest.producer_id", version)
        if version >= 3:
            writer.write_int16(self.producer_epoch)
        elif self.producer_epoch != -1:
            raise not_in_version("InitProducerIdRequest.producer_epoch", version)
        if version >= 6:
            writer.write_boolean(self.enable_2pc)
        elif self.enable_2pc:
            raise not_in_version("InitProducerIdRequest.enable_2pc", version)
        if version >= 6:
            writer.write_boolean(self.keep_prepared_txn)
        elif self.keep_prepared_txn:
            raise not_in_version("InitProducerIdRequest.keep_prepared_txn", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class InitProducerIdResponse(Message):
    __slots__ = (
        "error_code",
        "ongoing_txn_producer_epoch",
        "ongoing_txn_producer_id",
        "producer_epoch",
        "producer_id",
        "throttle_time_ms",
    )

    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "producer_id",
        "producer_epoch",
        "ongoing_txn_producer_id",
        "ongoing_txn_producer_epoch",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
        ongoing_txn_producer_id: int = -1,
        ongoing_txn_producer_epoch: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.ongoing_txn_producer_id: int = ongoing_txn_producer_id
        self.ongoing_txn_producer_epoch: int = ongoing_txn_producer_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "InitProducerIdResponse":
        if version < 0 or version > 6:
            raise no_such_version("InitProducerIdResponse", version)
        flexible = version >= 2
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        producer_id = reader.int64()
        producer_epoch = reader.int16()
        ongoing_txn_producer_id: int = -1
        if version >= 6:
            ongoing_txn_producer_id = reader.int64()
        ongoing_txn_producer_epoch: int = -1
        if version >= 6:
            ongoing_txn_producer_epoch = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return InitProducerIdResponse(
            throttle_time_ms,
            error_code,
            producer_id,
            producer_epoch,
            ongoing_txn_producer_id,
            ongoing_txn_producer_epoch,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 6:
            raise no_such_version("InitProducerIdResponse", version)
        flexible = version >= 2
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_int64(self.producer_id)
        writer.write_int16(self.producer_epoch)
        if version >= 6:
            writer.write_int64(self.ongoing_txn_producer_id)
        elif self.ongoing_txn_producer_id != -1:
            raise not_in_version("InitProducerIdResponse.ongoing_txn_producer_id", version)
        if version >= 6:
            writer.write_int16(self.ongoing_txn_producer_epoch)
        elif self.ongoing_txn_producer_epoch != -1:
            raise not_in_version("InitProducerIdResponse.ongoing_txn_producer_epoch", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
