"""DescribeTopicPartitions: topics and their partitions, page by page (KIP-966).

Generated from definitions/describe_topic_partitions.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class TopicRequest(Struct):
    __slots__ = ("name",)

    FIELDS: ClassVar[tuple[str, ...]] = ("name",)

    def __init__(self, name: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.name: str = name
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TopicRequest":
        name = reader.compact_string()
        unknown = reader.tagged_fields()
        return TopicRequest(name, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class Cursor(Struct):
    __slots__ = ("partition_index", "topic_name")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partition_index")

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.partition_index: int = partition_index
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "Cursor":
        topic_name = reader.compact_string()
        partition_index = reader.int32()
        unknown = reader.tagged_fields()
        return Cursor(topic_name, partition_index, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.topic_name)
        writer.write_int32(self.partition_index)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeTopicPartitionsRequest(Message):
    __slots__ = ("cursor", "response_partition_limit", "topics")

    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "response_partition_limit", "cursor")

    def __init__(
        self,
        topics: list[TopicRequest] = EMPTY,
        response_partition_limit: int = 2000,
        cursor: Cursor | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics: list[TopicRequest] = [] if topics is EMPTY else topics
        self.response_partition_limit: int = response_partition_limit
        self.cursor: Cursor | None = cursor
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeTopicPartitionsRequest":
        if version != 0:
            raise no_such_version("DescribeTopicPartitionsRequest", version)
        topics: list[TopicRequest] = [
            TopicRequest.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        response_partition_limit = reader.int32()
        cursor = Cursor.decode(reader, version) if reader.int8() >= 0 else None
        unknown = reader.tagged_fields()
        return DescribeTopicPartitionsRequest(topics, response_partition_limit, cursor, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("DescribeTopicPartitionsRequest", version)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_int32(self.response_partition_limit)
        if self.cursor is None:
            writer.write_int8(-1)
        else:
            writer.write_int8(1)
            self.cursor.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeTopicPartitionsResponsePartition(Struct):
    __slots__ = (
        "eligible_leader_replicas",
        "error_code",
        "isr_nodes",
        "last_known_elr",
        "leader_epoch",
        "leader_id",
        "offline_replicas",
        "partition_index",
        "replica_nodes",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "eligible_leader_replicas",
        "last_known_elr",
        "offline_replicas",
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = EMPTY,
        isr_nodes: list[int] = EMPTY,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        offline_replicas: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.partition_index: int = partition_index
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.replica_nodes: list[int] = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes: list[int] = [] if isr_nodes is EMPTY else isr_nodes
        self.eligible_leader_replicas: list[int] | None = eligible_leader_replicas
        self.last_known_elr: list[int] | None = last_known_elr
        self.offline_replicas: list[int] = [] if offline_replicas is EMPTY else offline_replicas
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeTopicPartitionsResponsePartition":
        error_code = reader.int16()
        partition_index = reader.int32()
        leader_id = reader.int32()
        leader_epoch = reader.int32()
        replica_nodes: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        isr_nodes: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        count = reader.compact_nullable_array_length()
        eligible_leader_replicas: list[int] | None = (
            [reader.int32() for _ in range(count)] if count >= 0 else None
        )
        count = reader.compact_nullable_array_length()
        last_known_elr: list[int] | None = [reader.int32() for _ in range(count)] if count >= 0 else None
        offline_replicas: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return DescribeTopicPartitionsResponsePartition(
            error_code,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            eligible_leader_replicas,
            last_known_elr,
            offline_replicas,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int16(self.error_code)
        writer.write_int32(self.partition_index)
        writer.write_int32(self.leader_id)
        writer.write_int32(self.leader_epoch)
        writer.write_compact_array_length(len(self.replica_nodes))
        for replica_nodes_element in self.replica_nodes:
            writer.write_int32(replica_nodes_element)
        writer.write_compact_array_length(len(self.isr_nodes))
        for isr_nodes_element in self.isr_nodes:
            writer.write_int32(isr_nodes_element)
        if self.eligible_leader_replicas is None:
            writer.write_compact_array_length(-1)
        else:
            writer.write_compact_array_length(len(self.eligible_leader_replicas))
            for eligible_leader_replicas_element in self.eligible_leader_replicas:
                writer.write_int32(eligible_leader_replicas_element)
        if self.last_known_elr is None:
            writer.write_compact_array_length(-1)
        else:
            writer.write_compact_array_length(len(self.last_known_elr))
            for last_known_elr_element in self.last_known_elr:
                writer.write_int32(last_known_elr_element)
        writer.write_compact_array_length(len(self.offline_replicas))
        for offline_replicas_element in self.offline_replicas:
            writer.write_int32(offline_replicas_element)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeTopicPartitionsResponseTopic(Struct):
    __slots__ = ("error_code", "is_internal", "name", "partitions", "topic_authorized_operations", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "name",
        "topic_id",
        "is_internal",
        "partitions",
        "topic_authorized_operations",
    )

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[DescribeTopicPartitionsResponsePartition] = EMPTY,
        topic_authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.name: str | None = name
        self.topic_id: bytes = topic_id
        self.is_internal: bool = is_internal
        self.partitions: list[DescribeTopicPartitionsResponsePartition] = (
            [] if partitions is EMPTY else partitions
        )
        self.topic_authorized_operations: int = topic_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeTopicPartitionsResponseTopic":
        error_code = reader.int16()
        name = reader.compact_nullable_string()
        topic_id = reader.uuid()
        is_internal = reader.boolean()
        partitions: list[DescribeTopicPartitionsResponsePartition] = [
            DescribeTopicPartitionsResponsePartition.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        topic_authorized_operations = reader.int32()
        unknown = reader.tagged_fields()
        return DescribeTopicPartitionsResponseTopic(
            error_code, name, topic_id, is_internal, partitions, topic_authorized_operations, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.name)
        writer.write_uuid(self.topic_id)
        writer.write_boolean(self.is_internal)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_int32(self.topic_authorized_operations)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeTopicPartitionsResponse(Message):
    __slots__ = ("next_cursor", "throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics", "next_cursor")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponseTopic] = EMPTY,
        next_cursor: Cursor | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[DescribeTopicPartitionsResponseTopic] = [] if topics is EMPTY else topics
        self.next_cursor: Cursor | None = next_cursor
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeTopicPartitionsResponse":
        if version != 0:
            raise no_such_version("DescribeTopicPartitionsResponse", version)
        throttle_time_ms = reader.int32()
        topics: list[DescribeTopicPartitionsResponseTopic] = [
            DescribeTopicPartitionsResponseTopic.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        next_cursor = Cursor.decode(reader, version) if reader.int8() >= 0 else None
        unknown = reader.tagged_fields()
        return DescribeTopicPartitionsResponse(throttle_time_ms, topics, next_cursor, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("DescribeTopicPartitionsResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if self.next_cursor is None:
            writer.write_int8(-1)
        else:
            writer.write_int8(1)
            self.next_cursor.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
