"""Records of __transaction_state: a transactional id and its newest transaction.

Generated from definitions/transaction_records.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class TransactionLogKey(Message):
    __slots__ = ("transactional_id",)

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id",)

    def __init__(
        self, transactional_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.transactional_id: str = transactional_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TransactionLogKey":
        if version != 0:
            raise no_such_version("TransactionLogKey", version)
        transactional_id = reader.string()
        unknown: tuple[TaggedField, ...] = ()
        return TransactionLogKey(transactional_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("TransactionLogKey", version)
        writer.write_string(self.transactional_id)


@final
class PartitionsSchema(Struct):
    __slots__ = ("partition_ids", "topic")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partition_ids")

    def __init__(
        self,
        topic: str = "",
        partition_ids: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic: str = topic
        self.partition_ids: list[int] = [] if partition_ids is EMPTY else partition_ids
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "PartitionsSchema":
        flexible = version >= 1
        topic = reader.compact_string() if flexible else reader.string()
        partition_ids: list[int] = [
            reader.int32()
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return PartitionsSchema(topic, partition_ids, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 1
        if flexible:
            writer.write_compact_string(self.topic)
        else:
            writer.write_string(self.topic)
        if flexible:
            writer.write_compact_array_length(len(self.partition_ids))
        else:
            writer.write_array_length(len(self.partition_ids))
        for partition_ids_element in self.partition_ids:
            writer.write_int32(partition_ids_element)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class TransactionLogValue(Message):
    __slots__ = (
        "client_transaction_version",
        "next_producer_epoch",
        "next_producer_id",
        "previous_producer_id",
        "producer_epoch",
        "producer_id",
        "transaction_last_update_timestamp_ms",
        "transaction_partitions",
        "transaction_start_timestamp_ms",
        "transaction_status",
        "transaction_timeout_ms",
    )

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "producer_id",
        "previous_producer_id",
        "next_producer_id",
        "producer_epoch",
        "next_producer_epoch",
        "transaction_timeout_ms",
        "transaction_status",
        "transaction_partitions",
        "transaction_last_update_timestamp_ms",
        "transaction_start_timestamp_ms",
        "client_transaction_version",
    )

    def __init__(
        self,
        producer_id: int = 0,
        previous_producer_id: int = -1,
        next_producer_id: int = -1,
        producer_epoch: int = 0,
        next_producer_epoch: int = -1,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: list[PartitionsSchema] | None = EMPTY,
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
        client_transaction_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.producer_id: int = producer_id
        self.previous_producer_id: int = previous_producer_id
        self.next_producer_id: int = next_producer_id
        self.producer_epoch: int = producer_epoch
        self.next_producer_epoch: int = next_producer_epoch
        self.transaction_timeout_ms: int = transaction_timeout_ms
        self.transaction_status: int = transaction_status
        self.transaction_partitions: list[PartitionsSchema] | None = (
            [] if transaction_partitions is EMPTY else transaction_partitions
        )
        self.transaction_last_update_timestamp_ms: int = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms: int = transaction_start_timestamp_ms
        self.client_transaction_version: int = client_transaction_version
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TransactionLogValue":
        if version < 0 or version > 1:
            raise no_such_version("TransactionLogValue", version)
        flexible = version >= 1
        producer_id = reader.int64()
        producer_epoch = reader.int16()
        transaction_timeout_ms = reader.int32()
        transaction_status = reader.int8()
        count = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
        transaction_partitions: list[PartitionsSchema] | None = (
            [PartitionsSchema.decode(reader, version) for _ in range(count)] if count >= 0 else None
        )
        transaction_last_update_timestamp_ms = reader.int64()
        transaction_start_timestamp_ms = reader.int64()
        previous_producer_id: int = -1
        next_producer_id: int = -1
        client_transaction_version: int = 0
        next_producer_epoch: int = -1
        unknown: tuple[TaggedField, ...] = ()
        if flexible:
            tags = reader.unsigned_varint()
            if tags > 0:
                kept: list[TaggedField] = []
                tag: i64 = -1
                for _ in range(tags):
                    tag = reader.next_tag(tag)
                    end = reader.tagged_field_end()
                    if tag == 0:
                        previous_producer_id = reader.int64()
                    elif tag == 1:
                        next_producer_id = reader.int64()
                    elif tag == 2:
                        client_transaction_version = reader.int16()
                    elif tag == 3:
                        next_producer_epoch = reader.int16()
                    else:
                        kept.append((tag, reader.raw(end - reader.position)))
                    reader.expect_end(end)
                unknown = tuple(kept)
        return TransactionLogValue(
            producer_id,
            previous_producer_id,
            next_producer_id,
            producer_epoch,
            next_producer_epoch,
            transaction_timeout_ms,
            transaction_status,
            transaction_partitions,
            transaction_last_update_timestamp_ms,
            transaction_start_timestamp_ms,
            client_transaction_version,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("TransactionLogValue", version)
        flexible = version >= 1
        writer.write_int64(self.producer_id)
        writer.write_int16(self.producer_epoch)
        writer.write_int32(self.transaction_timeout_ms)
        writer.write_int8(self.transaction_status)
        if self.transaction_partitions is None:
            if flexible:
                writer.write_compact_array_length(-1)
            else:
                writer.write_array_length(-1)
        else:
            if flexible:
                writer.write_compact_array_length(len(self.transaction_partitions))
            else:
                writer.write_array_length(len(self.transaction_partitions))
            for transaction_partitions_element in self.transaction_partitions:
                transaction_partitions_element.encode(writer, version)
        writer.write_int64(self.transaction_last_update_timestamp_ms)
        writer.write_int64(self.transaction_start_timestamp_ms)
        tagged = self.unknown_tagged_fields
        if flexible:
            if self.previous_producer_id != -1:
                part = Writer()
                part.write_int64(self.previous_producer_id)
                tagged = (*tagged, (0, part.to_bytes()))
        elif self.previous_producer_id != -1:
            raise not_in_version("TransactionLogValue.previous_producer_id", version)
        if flexible:
            if self.next_producer_id != -1:
                part = Writer()
                part.write_int64(self.next_producer_id)
                tagged = (*tagged, (1, part.to_bytes()))
        elif self.next_producer_id != -1:
            raise not_in_version("TransactionLogValue.next_producer_id", version)
        if flexible:
            if self.next_producer_epoch != -1:
                part = Writer()
                part.write_int16(self.next_producer_epoch)
                tagged = (*tagged, (3, part.to_bytes()))
        elif self.next_producer_epoch != -1:
            raise not_in_version("TransactionLogValue.next_producer_epoch", version)
        if flexible:
            if self.client_transaction_version != 0:
                part = Writer()
                part.write_int16(self.client_transaction_version)
                tagged = (*tagged, (2, part.to_bytes()))
        elif self.client_transaction_version != 0:
            raise not_in_version("TransactionLogValue.client_transaction_version", version)
        if flexible:
            writer.write_tagged_fields(tagged)
