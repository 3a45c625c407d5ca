"""AddPartitionsToTxn: partitions become part of a transaction before their first record (KIP-98).

Producers send versions 0 to 3, with one transaction. Brokers send later versions, with several: to add a
partition for a producer, or only to verify that it has been added (KIP-890).

Generated from definitions/add_partitions_to_txn.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class AddPartitionsToTxnTopic(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[int] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AddPartitionsToTxnTopic":
        flexible = version >= 3
        name = reader.compact_string() if flexible else reader.string()
        partitions: list[int] = [
            reader.int32()
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return AddPartitionsToTxnTopic(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 3
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            writer.write_int32(partitions_element)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AddPartitionsToTxnTransaction(Struct):
    __slots__ = ("producer_epoch", "producer_id", "topics", "transactional_id", "verify_only")

    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "verify_only",
        "topics",
    )

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: list[AddPartitionsToTxnTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id: str = transactional_id
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.verify_only: bool = verify_only
        self.topics: list[AddPartitionsToTxnTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AddPartitionsToTxnTransaction":
        transactional_id = reader.compact_string()
        producer_id = reader.int64()
        producer_epoch = reader.int16()
        verify_only = reader.boolean()
        topics: list[AddPartitionsToTxnTopic] = [
            AddPartitionsToTxnTopic.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AddPartitionsToTxnTransaction(
            transactional_id, producer_id, producer_epoch, verify_only, topics, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.transactional_id)
        writer.write_int64(self.producer_id)
        writer.write_int16(self.producer_epoch)
        writer.write_boolean(self.verify_only)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AddPartitionsToTxnRequest(Message):
    __slots__ = (
        "transactions",
        "v3_and_below_producer_epoch",
        "v3_and_below_producer_id",
        "v3_and_below_topics",
        "v3_and_below_transactional_id",
    )

    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactions",
        "v3_and_below_transactional_id",
        "v3_and_below_producer_id",
        "v3_and_below_producer_epoch",
        "v3_and_below_topics",
    )

    def __init__(
        self,
        transactions: list[AddPartitionsToTxnTransaction] = EMPTY,
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactions: list[AddPartitionsToTxnTransaction] = [] if transactions is EMPTY else transactions
        self.v3_and_below_transactional_id: str = v3_and_below_transactional_id
        self.v3_and_below_producer_id: int = v3_and_below_producer_id
        self.v3_and_below_producer_epoch: int = v3_and_below_producer_epoch
        self.v3_and_below_topics: list[AddPartitionsToTxnTopic] = (
            [] if v3_and_below_topics is EMPTY else v3_and_below_topics
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AddPartitionsToTxnRequest":
        if version < 0 or version > 5:
            raise no_such_version("AddPartitionsToTxnRequest", version)
        flexible = version >= 3
        transactions: list[AddPartitionsToTxnTransaction] = []
        if version >= 4:
            transactions = [
                AddPartitionsToTxnTransaction.decode(reader, version)
                for _ in range(reader.compact_array_length())
            ]
        v3_and_below_transactional_id: str = ""
        if version <= 3:
            v3_and_below_transactional_id = reader.compact_string() if flexible else reader.string()
        v3_and_below_producer_id: int = 0
        if version <= 3:
            v3_and_below_producer_id = reader.int64()
        v3_and_below_producer_epoch: int = 0
        if version <= 3:
            v3_and_below_producer_epoch = reader.int16()
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = []
        if version <= 3:
            v3_and_below_topics = [
                AddPartitionsToTxnTopic.decode(reader, version)
                for _ in range(reader.compact_array_length() if flexible else reader.array_length())
            ]
        unknown = reader.tagged_fields() if flexible else ()
        return AddPartitionsToTxnRequest(
            transactions,
            v3_and_below_transactional_id,
            v3_and_below_producer_id,
            v3_and_below_producer_epoch,
            v3_and_below_topics,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 5:
            raise no_such_version("AddPartitionsToTxnRequest", version)
        flexible = version >= 3
        if version >= 4:
            writer.write_compact_array_length(len(self.transactions))
            for transactions_element in self.transactions:
                transactions_element.encode(writer, version)
        elif self.transactions:
            raise not_in_version("AddPartitionsToTxnRequest.transactions", version)
        if version <= 3:
            if flexible:
                writer.write_compact_string(self.v3_and_below_transactional_id)
            else:
                writer.write_string(self.v3_and_below_transactional_id)
        elif self.v3_and_below_transactional_id != "":
            raise not_in_version("AddPartitionsToTxnRequest.v3_and_below_transactional_id", version)
        if version <= 3:
            writer.write_int64(self.v3_and_below_producer_id)
        elif self.v3_and_below_producer_id != 0:
            raise not_in_version("AddPartitionsToTxnRequest.v3_and_below_producer_id", version)
        if version <= 3:
            writer.write_int16(self.v3_and_below_producer_epoch)
        elif self.v3_and_below_producer_epoch != 0:
            raise not_in_version("AddPartitionsToTxnRequest.v3_and_below_producer_epoch", version)
        if version <= 3:
            if flexible:
                writer.write_compact_array_length(len(self.v3_and_below_topics))
            else:
                writer.write_array_length(len(self.v3_and_below_topics))
            for v3_and_below_topics_element in self.v3_and_below_topics:
                v3_and_below_topics_element.encode(writer, version)
        elif self.v3_and_below_topics:
            raise not_in_version("AddPartitionsToTxnRequest.v3_and_below_topics", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AddPartitionsToTxnPartitionResult(Struct):
    __slots__ = ("partition_error_code", "partition_index")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "partition_error_code")

    def __init__(
        self,
        partition_index: int = 0,
        partition_error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.partition_error_code: int = partition_error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AddPartitionsToTxnPartitionResult":
        flexible = version >= 3
        partition_index = reader.int32()
        partition_error_code = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return AddPartitionsToTxnPartitionResult(partition_index, partition_error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 3
        writer.write_int32(self.partition_index)
        writer.write_int16(self.partition_error_code)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AddPartitionsToTxnTopicResult(Struct):
    __slots__ = ("name", "results_by_partition")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "results_by_partition")

    def __init__(
        self,
        name: str = "",
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.results_by_partition: list[AddPartitionsToTxnPartitionResult] = (
            [] if results_by_partition is EMPTY else results_by_partition
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AddPartitionsToTxnTopicResult":
        flexible = version >= 3
        name = reader.compact_string() if flexible else reader.string()
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = [
            AddPartitionsToTxnPartitionResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return AddPartitionsToTxnTopicResult(name, results_by_partition, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 3
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        if flexible:
            writer.write_compact_array_length(len(self.results_by_partition))
        else:
            writer.write_array_length(len(self.results_by_partition))
        for results_by_partition_element in self.results_by_partition:
            results_by_partition_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AddPartitionsToTxnResult(Struct):
    __slots__ = ("topic_results", "transactional_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id", "topic_results")

    def __init__(
        self,
        transactional_id: str = "",
        topic_results: list[AddPartitionsToTxnTopicResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id: str = transactional_id
        self.topic_results: list[AddPartitionsToTxnTopicResult] = (
            [] if topic_results is EMPTY else topic_results
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AddPartitionsToTxnResult":
        transactional_id = reader.compact_string()
        topic_results: list[AddPartitionsToTxnTopicResult] = [
            AddPartitionsToTxnTopicResult.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AddPartitionsToTxnResult(transactional_id, topic_results, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.transactional_id)
        writer.write_compact_array_length(len(self.topic_results))
        for topic_results_element in self.topic_results:
            topic_results_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AddPartitionsToTxnResponse(Message):
    __slots__ = ("error_code", "results_by_topic_v3_and_below", "results_by_transaction", "throttle_time_ms")

    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "results_by_transaction",
        "results_by_topic_v3_and_below",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResult] = EMPTY,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.results_by_transaction: list[AddPartitionsToTxnResult] = (
            [] if results_by_transaction is EMPTY else results_by_transaction
        )
        self.results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = (
            [] if results_by_topic_v3_and_below is EMPTY else results_by_topic_v3_and_below
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AddPartitionsToTxnResponse":
        if version < 0 or version > 5:
            raise no_such_version("AddPartitionsToTxnResponse", version)
        flexible = version >= 3
        throttle_time_ms = reader.int32()
        error_code: int = 0
        if version >= 4:
            error_code = reader.int16()
        results_by_transaction: list[AddPartitionsToTxnResult] = []
        if version >= 4:
            results_by_transaction = [
                AddPartitionsToTxnResult.decode(reader, version) for _ in range(reader.compact_array_length())
            ]
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []
        if version <= 3:
            results_by_topic_v3_and_below = [
                AddPartitionsToTxnTopicResult.decode(reader, version)
                for _ in range(reader.compact_array_length() if flexible else reader.array_length())
            ]
        unknown = reader.tagged_fields() if flexible else ()
        return AddPartitionsToTxnResponse(
            throttle_time_ms, error_code, results_by_transaction, results_by_topic_v3_and_below, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 5:
            raise no_such_version("AddPartitionsToTxnResponse", version)
        flexible = version >= 3
        writer.write_int32(self.throttle_time_ms)
        if version >= 4:
            writer.write_int16(self.error_code)
        if version >= 4:
            writer.write_compact_array_length(len(self.results_by_transaction))
            for results_by_transaction_element in self.results_by_transaction:
                results_by_transaction_element.encode(writer, version)
        elif self.results_by_transaction:
            raise not_in_version("AddPartitionsToTxnResponse.results_by_transaction", version)
        if version <= 3:
            if flexible:
                writer.write_compact_array_length(len(self.results_by_topic_v3_and_below))
            else:
                writer.write_array_length(len(self.results_by_topic_v3_and_below))
            for results_by_topic_v3_and_below_element in self.results_by_topic_v3_and_below:
                results_by_topic_v3_and_below_element.encode(writer, version)
        elif self.results_by_topic_v3_and_below:
            raise not_in_version("AddPartitionsToTxnResponse.results_by_topic_v3_and_below", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
