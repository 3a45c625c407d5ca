"""DescribeTransactions: what the coordinator knows of transactional ids (KIP-664).

Generated from definitions/describe_transactions.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class DescribeTransactionsRequest(Message):
    __slots__ = ("transactional_ids",)

    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_ids",)

    def __init__(
        self, transactional_ids: list[str] = EMPTY, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.transactional_ids: list[str] = [] if transactional_ids is EMPTY else transactional_ids
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeTransactionsRequest":
        if version != 0:
            raise no_such_version("DescribeTransactionsRequest", version)
        transactional_ids: list[str] = [reader.compact_string() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return DescribeTransactionsRequest(transactional_ids, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("DescribeTransactionsRequest", version)
        writer.write_compact_array_length(len(self.transactional_ids))
        for transactional_ids_element in self.transactional_ids:
            writer.write_compact_string(transactional_ids_element)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class TopicData(Struct):
    __slots__ = ("partitions", "topic")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic: str = topic
        self.partitions: list[int] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TopicData":
        topic = reader.compact_string()
        partitions: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return TopicData(topic, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.topic)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            writer.write_int32(partitions_element)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class TransactionState(Struct):
    __slots__ = (
        "error_code",
        "producer_epoch",
        "producer_id",
        "topics",
        "transaction_start_time_ms",
        "transaction_state",
        "transaction_timeout_ms",
        "transactional_id",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "transactional_id",
        "transaction_state",
        "transaction_timeout_ms",
        "transaction_start_time_ms",
        "producer_id",
        "producer_epoch",
        "topics",
    )

    def __init__(
        self,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: list[TopicData] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.transactional_id: str = transactional_id
        self.transaction_state: str = transaction_state
        self.transaction_timeout_ms: int = transaction_timeout_ms
        self.transaction_start_time_ms: int = transaction_start_time_ms
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.topics: list[TopicData] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TransactionState":
        error_code = reader.int16()
        transactional_id = reader.compact_string()
        transaction_state = reader.compact_string()
        transaction_timeout_ms = reader.int32()
        transaction_start_time_ms = reader.int64()
        producer_id = reader.int64()
        producer_epoch = reader.int16()
        topics: list[TopicData] = [
            TopicData.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return TransactionState(
            error_code,
            transactional_id,
            transaction_state,
            transaction_timeout_ms,
            transaction_start_time_ms,
            producer_id,
            producer_epoch,
            topics,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int16(self.error_code)
        writer.write_compact_string(self.transactional_id)
        writer.write_compact_string(self.transaction_state)
        writer.write_int32(self.transaction_timeout_ms)
        writer.write_int64(self.transaction_start_time_ms)
        writer.write_int64(self.producer_id)
        writer.write_int16(self.producer_epoch)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeTransactionsResponse(Message):
    __slots__ = ("throttle_time_ms", "transaction_states")

    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "transaction_states")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        transaction_states: list[TransactionState] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.transaction_states: list[TransactionState] = (
            [] if transaction_states is EMPTY else transaction_states
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeTransactionsResponse":
        if version != 0:
            raise no_such_version("DescribeTransactionsResponse", version)
        throttle_time_ms = reader.int32()
        transaction_states: list[TransactionState] = [
            TransactionState.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return DescribeTransactionsResponse(throttle_time_ms, transaction_states, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("DescribeTransactionsResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_compact_array_length(len(self.transaction_states))
        for transaction_states_element in self.transaction_states:
            transaction_states_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
