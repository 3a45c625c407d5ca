"""DescribeProducers: the producers that a partition remembers (KIP-664).

Generated from definitions/describe_producers.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class TopicRequest(Struct):
    __slots__ = ("name", "partition_indexes")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partition_indexes")

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partition_indexes: list[int] = [] if partition_indexes is EMPTY else partition_indexes
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TopicRequest":
        name = reader.compact_string()
        partition_indexes: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return TopicRequest(name, partition_indexes, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_array_length(len(self.partition_indexes))
        for partition_indexes_element in self.partition_indexes:
            writer.write_int32(partition_indexes_element)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeProducersRequest(Message):
    __slots__ = ("topics",)

    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("topics",)

    def __init__(
        self, topics: list[TopicRequest] = EMPTY, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.topics: list[TopicRequest] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeProducersRequest":
        if version != 0:
            raise no_such_version("DescribeProducersRequest", version)
        topics: list[TopicRequest] = [
            TopicRequest.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return DescribeProducersRequest(topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("DescribeProducersRequest", version)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ProducerState(Struct):
    __slots__ = (
        "coordinator_epoch",
        "current_txn_start_offset",
        "last_sequence",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "producer_id",
        "producer_epoch",
        "last_sequence",
        "last_timestamp",
        "coordinator_epoch",
        "current_txn_start_offset",
    )

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.last_sequence: int = last_sequence
        self.last_timestamp: int = last_timestamp
        self.coordinator_epoch: int = coordinator_epoch
        self.current_txn_start_offset: int = current_txn_start_offset
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ProducerState":
        producer_id = reader.int64()
        producer_epoch = reader.int32()
        last_sequence = reader.int32()
        last_timestamp = reader.int64()
        coordinator_epoch = reader.int32()
        current_txn_start_offset = reader.int64()
        unknown = reader.tagged_fields()
        return ProducerState(
            producer_id,
            producer_epoch,
            last_sequence,
            last_timestamp,
            coordinator_epoch,
            current_txn_start_offset,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int64(self.producer_id)
        writer.write_int32(self.producer_epoch)
        writer.write_int32(self.last_sequence)
        writer.write_int64(self.last_timestamp)
        writer.write_int32(self.coordinator_epoch)
        writer.write_int64(self.current_txn_start_offset)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class PartitionResponse(Struct):
    __slots__ = ("active_producers", "error_code", "error_message", "partition_index")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code", "error_message", "active_producers")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: list[ProducerState] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.active_producers: list[ProducerState] = [] if active_producers is EMPTY else active_producers
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "PartitionResponse":
        partition_index = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        active_producers: list[ProducerState] = [
            ProducerState.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return PartitionResponse(partition_index, error_code, error_message, active_producers, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_compact_array_length(len(self.active_producers))
        for active_producers_element in self.active_producers:
            active_producers_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class TopicResponse(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[PartitionResponse] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[PartitionResponse] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TopicResponse":
        name = reader.compact_string()
        partitions: list[PartitionResponse] = [
            PartitionResponse.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return TopicResponse(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeProducersResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TopicResponse] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[TopicResponse] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeProducersResponse":
        if version != 0:
            raise no_such_version("DescribeProducersResponse", version)
        throttle_time_ms = reader.int32()
        topics: list[TopicResponse] = [
            TopicResponse.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return DescribeProducersResponse(throttle_time_ms, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("DescribeProducersResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
