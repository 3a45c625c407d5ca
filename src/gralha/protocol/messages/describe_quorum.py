"""DescribeQuorum: the leader, voters and observers of the metadata log, and how far each has got (KIP-836).

Generated from definitions/describe_quorum.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class DescribeQuorumRequestPartition(Struct):
    __slots__ = ("partition_index",)

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index",)

    def __init__(self, partition_index: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.partition_index: int = partition_index
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeQuorumRequestPartition":
        partition_index = reader.int32()
        unknown = reader.tagged_fields()
        return DescribeQuorumRequestPartition(partition_index, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeQuorumRequestTopic(Struct):
    __slots__ = ("partitions", "topic_name")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[DescribeQuorumRequestPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.partitions: list[DescribeQuorumRequestPartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeQuorumRequestTopic":
        topic_name = reader.compact_string()
        partitions: list[DescribeQuorumRequestPartition] = [
            DescribeQuorumRequestPartition.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return DescribeQuorumRequestTopic(topic_name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.topic_name)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeQuorumRequest(Message):
    __slots__ = ("topics",)

    API_KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("topics",)

    def __init__(
        self,
        topics: list[DescribeQuorumRequestTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics: list[DescribeQuorumRequestTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeQuorumRequest":
        if version < 0 or version > 2:
            raise no_such_version("DescribeQuorumRequest", version)
        topics: list[DescribeQuorumRequestTopic] = [
            DescribeQuorumRequestTopic.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return DescribeQuorumRequest(topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("DescribeQuorumRequest", version)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ReplicaState(Struct):
    __slots__ = (
        "last_caught_up_timestamp",
        "last_fetch_timestamp",
        "log_end_offset",
        "replica_directory_id",
        "replica_id",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "replica_id",
        "replica_directory_id",
        "log_end_offset",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
    )

    def __init__(
        self,
        replica_id: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.replica_id: int = replica_id
        self.replica_directory_id: bytes = replica_directory_id
        self.log_end_offset: int = log_end_offset
        self.last_fetch_timestamp: int = last_fetch_timestamp
        self.last_caught_up_timestamp: int = last_caught_up_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ReplicaState":
        replica_id = reader.int32()
        replica_directory_id: bytes = ZERO_UUID
        if version >= 2:
            replica_directory_id = reader.uuid()
        log_end_offset = reader.int64()
        last_fetch_timestamp: int = -1
        if version >= 1:
            last_fetch_timestamp = reader.int64()
        last_caught_up_timestamp: int = -1
        if version >= 1:
            last_caught_up_timestamp = reader.int64()
        unknown = reader.tagged_fields()
        return ReplicaState(
            replica_id,
            replica_directory_id,
            log_end_offset,
            last_fetch_timestamp,
            last_caught_up_timestamp,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.replica_id)
        if version >= 2:
            writer.write_uuid(self.replica_directory_id)
        elif self.replica_directory_id != ZERO_UUID:
            raise not_in_version("ReplicaState.replica_directory_id", version)
        writer.write_int64(self.log_end_offset)
        if version >= 1:
            writer.write_int64(self.last_fetch_timestamp)
        if version >= 1:
            writer.write_int64(self.last_caught_up_timestamp)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeQuorumResponsePartition(Struct):
    __slots__ = (
        "current_voters",
        "error_code",
        "error_message",
        "high_watermark",
        "leader_epoch",
        "leader_id",
        "observers",
        "partition_index",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "error_message",
        "leader_id",
        "leader_epoch",
        "high_watermark",
        "current_voters",
        "observers",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[ReplicaState] = EMPTY,
        observers: list[ReplicaState] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.high_watermark: int = high_watermark
        self.current_voters: list[ReplicaState] = [] if current_voters is EMPTY else current_voters
        self.observers: list[ReplicaState] = [] if observers is EMPTY else observers
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeQuorumResponsePartition":
        partition_index = reader.int32()
        error_code = reader.int16()
        error_message: str | None = ""
        if version >= 2:
            error_message = reader.compact_nullable_string()
        leader_id = reader.int32()
        leader_epoch = reader.int32()
        high_watermark = reader.int64()
        current_voters: list[ReplicaState] = [
            ReplicaState.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        observers: list[ReplicaState] = [
            ReplicaState.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return DescribeQuorumResponsePartition(
            partition_index,
            error_code,
            error_message,
            leader_id,
            leader_epoch,
            high_watermark,
            current_voters,
            observers,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)
        if version >= 2:
            writer.write_compact_nullable_string(self.error_message)
        writer.write_int32(self.leader_id)
        writer.write_int32(self.leader_epoch)
        writer.write_int64(self.high_watermark)
        writer.write_compact_array_length(len(self.current_voters))
        for current_voters_element in self.current_voters:
            current_voters_element.encode(writer, version)
        writer.write_compact_array_length(len(self.observers))
        for observers_element in self.observers:
            observers_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeQuorumResponseTopic(Struct):
    __slots__ = ("partitions", "topic_name")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[DescribeQuorumResponsePartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.partitions: list[DescribeQuorumResponsePartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeQuorumResponseTopic":
        topic_name = reader.compact_string()
        partitions: list[DescribeQuorumResponsePartition] = [
            DescribeQuorumResponsePartition.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return DescribeQuorumResponseTopic(topic_name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.topic_name)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class Listener(Struct):
    __slots__ = ("host", "name", "port")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "host", "port")

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.host: str = host
        self.port: int = port
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "Listener":
        name = reader.compact_string()
        host = reader.compact_string()
        port = reader.uint16()
        unknown = reader.tagged_fields()
        return Listener(name, host, port, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_string(self.host)
        writer.write_uint16(self.port)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class Node(Struct):
    __slots__ = ("listeners", "node_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("node_id", "listeners")

    def __init__(
        self,
        node_id: int = 0,
        listeners: list[Listener] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.node_id: int = node_id
        self.listeners: list[Listener] = [] if listeners is EMPTY else listeners
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "Node":
        node_id = reader.int32()
        listeners: list[Listener] = [
            Listener.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return Node(node_id, listeners, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.node_id)
        writer.write_compact_array_length(len(self.listeners))
        for listeners_element in self.listeners:
            listeners_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeQuorumResponse(Message):
    __slots__ = ("error_code", "error_message", "nodes", "topics")

    API_KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "topics", "nodes")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[DescribeQuorumResponseTopic] = EMPTY,
        nodes: list[Node] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.topics: list[DescribeQuorumResponseTopic] = [] if topics is EMPTY else topics
        self.nodes: list[Node] = [] if nodes is EMPTY else nodes
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeQuorumResponse":
        if version < 0 or version > 2:
            raise no_such_version("DescribeQuorumResponse", version)
        error_code = reader.int16()
        error_message: str | None = ""
        if version >= 2:
            error_message = reader.compact_nullable_string()
        topics: list[DescribeQuorumResponseTopic] = [
            DescribeQuorumResponseTopic.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        nodes: list[Node] = []
        if version >= 2:
            nodes = [Node.decode(reader, version) for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return DescribeQuorumResponse(error_code, error_message, topics, nodes, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("DescribeQuorumResponse", version)
        writer.write_int16(self.error_code)
        if version >= 2:
            writer.write_compact_nullable_string(self.error_message)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if version >= 2:
            writer.write_compact_array_length(len(self.nodes))
            for nodes_element in self.nodes:
                nodes_element.encode(writer, version)
        elif self.nodes:
            raise not_in_version("DescribeQuorumResponse.nodes", version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
