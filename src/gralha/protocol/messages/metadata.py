"""Metadata: the brokers of a cluster, its topics, and who leads which partition.

Topics are named, or given by id from version 10 on; null asks for all of them.

Generated from definitions/metadata.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version, null_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class MetadataRequestTopic(Struct):
    __slots__ = ("name", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "name")

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        name: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id: bytes = topic_id
        self.name: str | None = name
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "MetadataRequestTopic":
        flexible = version >= 9
        topic_id: bytes = ZERO_UUID
        if version >= 10:
            topic_id = reader.uuid()
        name: str | None = ""
        if version >= 10:
            name = reader.compact_nullable_string()
        else:
            name = reader.compact_string() if flexible else reader.string()
        unknown = reader.tagged_fields() if flexible else ()
        return MetadataRequestTopic(topic_id, name, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 9
        if version >= 10:
            writer.write_uuid(self.topic_id)
        if version >= 10:
            writer.write_compact_nullable_string(self.name)
        else:
            if self.name is None:
                raise null_in_version("MetadataRequestTopic.name", version)
            if flexible:
                writer.write_compact_string(self.name)
            else:
                writer.write_string(self.name)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class MetadataRequest(Message):
    __slots__ = (
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
        "topics",
    )

    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9
    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
    )

    def __init__(
        self,
        topics: list[MetadataRequestTopic] | None = EMPTY,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics: list[MetadataRequestTopic] | None = [] if topics is EMPTY else topics
        self.allow_auto_topic_creation: bool = allow_auto_topic_creation
        self.include_cluster_authorized_operations: bool = include_cluster_authorized_operations
        self.include_topic_authorized_operations: bool = include_topic_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "MetadataRequest":
        if version < 0 or version > 13:
            raise no_such_version("MetadataRequest", version)
        flexible = version >= 9
        topics: list[MetadataRequestTopic] | None = []
        if version >= 1:
            count = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
            topics = (
                [MetadataRequestTopic.decode(reader, version) for _ in range(count)] if count >= 0 else None
            )
        else:
            topics = [MetadataRequestTopic.decode(reader, version) for _ in range(reader.array_length())]
        allow_auto_topic_creation: bool = True
        if version >= 4:
            allow_auto_topic_creation = reader.boolean()
        include_cluster_authorized_operations: bool = False
        if 8 <= version <= 10:
            include_cluster_authorized_operations = reader.boolean()
        elif version >= 11:
            pass
        include_topic_authorized_operations: bool = False
        if version >= 8:
            include_topic_authorized_operations = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return MetadataRequest(
            topics,
            allow_auto_topic_creation,
            include_cluster_authorized_operations,
            include_topic_authorized_operations,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 13:
            raise no_such_version("MetadataRequest", version)
        flexible = version >= 9
        if version >= 1:
            if self.topics is None:
                if flexible:
                    writer.write_compact_array_length(-1)
                else:
                    writer.write_array_length(-1)
            else:
                if flexible:
                    writer.write_compact_array_length(len(self.topics))
                else:
                    writer.write_array_length(len(self.topics))
                for topics_element in self.topics:
                    topics_element.encode(writer, version)
        else:
            if self.topics is None:
                raise null_in_version("MetadataRequest.topics", version)
            writer.write_array_length(len(self.topics))
            for topics_element in self.topics:
                topics_element.encode(writer, version)
        if version >= 4:
            writer.write_boolean(self.allow_auto_topic_creation)
        elif not self.allow_auto_topic_creation:
            raise not_in_version("MetadataRequest.allow_auto_topic_creation", version)
        if 8 <= version <= 10:
            writer.write_boolean(self.include_cluster_authorized_operations)
        elif version >= 11:
            if self.include_cluster_authorized_operations:
                raise not_in_version("MetadataRequest.include_cluster_authorized_operations", version)
        elif self.include_cluster_authorized_operations:
            raise not_in_version("MetadataRequest.include_cluster_authorized_operations", version)
        if version >= 8:
            writer.write_boolean(self.include_topic_authorized_operations)
        elif self.include_topic_authorized_operations:
            raise not_in_version("MetadataRequest.include_topic_authorized_operations", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class MetadataResponseBroker(Struct):
    __slots__ = ("host", "node_id", "port", "rack")

    FIELDS: ClassVar[tuple[str, ...]] = ("node_id", "host", "port", "rack")

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port
        self.rack: str | None = rack
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "MetadataResponseBroker":
        flexible = version >= 9
        node_id = reader.int32()
        host = reader.compact_string() if flexible else reader.string()
        port = reader.int32()
        rack: str | None = None
        if version >= 1:
            rack = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return MetadataResponseBroker(node_id, host, port, rack, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 9
        writer.write_int32(self.node_id)
        if flexible:
            writer.write_compact_string(self.host)
        else:
            writer.write_string(self.host)
        writer.write_int32(self.port)
        if version >= 1:
            if flexible:
                writer.write_compact_nullable_string(self.rack)
            else:
                writer.write_nullable_string(self.rack)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class MetadataResponsePartition(Struct):
    __slots__ = (
        "error_code",
        "isr_nodes",
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
        offline_replicas: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.partition_index: int = partition_index
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.replica_nodes: list[int] = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes: list[int] = [] if isr_nodes is EMPTY else isr_nodes
        self.offline_replicas: list[int] = [] if offline_replicas is EMPTY else offline_replicas
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "MetadataResponsePartition":
        flexible = version >= 9
        error_code = reader.int16()
        partition_index = reader.int32()
        leader_id = reader.int32()
        leader_epoch: int = -1
        if version >= 7:
            leader_epoch = reader.int32()
        replica_nodes: list[int] = [
            reader.int32()
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        isr_nodes: list[int] = [
            reader.int32()
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        offline_replicas: list[int] = []
        if version >= 5:
            offline_replicas = [
                reader.int32()
                for _ in range(reader.compact_array_length() if flexible else reader.array_length())
            ]
        unknown = reader.tagged_fields() if flexible else ()
        return MetadataResponsePartition(
            error_code,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            offline_replicas,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 9
        writer.write_int16(self.error_code)
        writer.write_int32(self.partition_index)
        writer.write_int32(self.leader_id)
        if version >= 7:
            writer.write_int32(self.leader_epoch)
        if flexible:
            writer.write_compact_array_length(len(self.replica_nodes))
        else:
            writer.write_array_length(len(self.replica_nodes))
        for replica_nodes_element in self.replica_nodes:
            writer.write_int32(replica_nodes_element)
        if flexible:
            writer.write_compact_array_length(len(self.isr_nodes))
        else:
            writer.write_array_length(len(self.isr_nodes))
        for isr_nodes_element in self.isr_nodes:
            writer.write_int32(isr_nodes_element)
        if version >= 5:
            if flexible:
                writer.write_compact_array_length(len(self.offline_replicas))
            else:
                writer.write_array_length(len(self.offline_replicas))
            for offline_replicas_element in self.offline_replicas:
                writer.write_int32(offline_replicas_element)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class MetadataResponseTopic(Struct):
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
        partitions: list[MetadataResponsePartition] = EMPTY,
        topic_authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.name: str | None = name
        self.topic_id: bytes = topic_id
        self.is_internal: bool = is_internal
        self.partitions: list[MetadataResponsePartition] = [] if partitions is EMPTY else partitions
        self.topic_authorized_operations: int = topic_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "MetadataResponseTopic":
        flexible = version >= 9
        error_code = reader.int16()
        name: str | None = ""
        if version >= 12:
            name = reader.compact_nullable_string()
        else:
            name = reader.compact_string() if flexible else reader.string()
        topic_id: bytes = ZERO_UUID
        if version >= 10:
            topic_id = reader.uuid()
        is_internal: bool = False
        if version >= 1:
            is_internal = reader.boolean()
        partitions: list[MetadataResponsePartition] = [
            MetadataResponsePartition.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        topic_authorized_operations: int = -2147483648
        if version >= 8:
            topic_authorized_operations = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return MetadataResponseTopic(
            error_code, name, topic_id, is_internal, partitions, topic_authorized_operations, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 9
        writer.write_int16(self.error_code)
        if version >= 12:
            writer.write_compact_nullable_string(self.name)
        else:
            if self.name is None:
                raise null_in_version("MetadataResponseTopic.name", version)
            if flexible:
                writer.write_compact_string(self.name)
            else:
                writer.write_string(self.name)
        if version >= 10:
            writer.write_uuid(self.topic_id)
        if version >= 1:
            writer.write_boolean(self.is_internal)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        if version >= 8:
            writer.write_int32(self.topic_authorized_operations)
        elif self.topic_authorized_operations != -2147483648:
            raise not_in_version("MetadataResponseTopic.topic_authorized_operations", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class MetadataResponse(Message):
    __slots__ = (
        "brokers",
        "cluster_authorized_operations",
        "cluster_id",
        "controller_id",
        "error_code",
        "throttle_time_ms",
        "topics",
    )

    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "brokers",
        "cluster_id",
        "controller_id",
        "topics",
        "cluster_authorized_operations",
        "error_code",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] = EMPTY,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] = EMPTY,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.brokers: list[MetadataResponseBroker] = [] if brokers is EMPTY else brokers
        self.cluster_id: str | None = cluster_id
        self.controller_id: int = controller_id
        self.topics: list[MetadataResponseTopic] = [] if topics is EMPTY else topics
        self.cluster_authorized_operations: int = cluster_authorized_operations
        self.error_code: int = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "MetadataResponse":
        if version < 0 or version > 13:
            raise no_such_version("MetadataResponse", version)
        flexible = version >= 9
        throttle_time_ms: int = 0
        if version >= 3:
            throttle_time_ms = reader.int32()
        brokers: list[MetadataResponseBroker] = [
            MetadataResponseBroker.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        cluster_id: str | None = None
        if version >= 2:
            cluster_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        controller_id: int = -1
        if version >= 1:
            controller_id = reader.int32()
        topics: list[MetadataResponseTopic] = [
            MetadataResponseTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        cluster_authorized_operations: int = -2147483648
        if 8 <= version <= 10:
            cluster_authorized_operations = reader.int32()
        elif version >= 11:
            pass
        error_code: int = 0
        if version >= 13:
            error_code = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return MetadataResponse(
            throttle_time_ms,
            brokers,
            cluster_id,
            controller_id,
            topics,
            cluster_authorized_operations,
            error_code,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 13:
            raise no_such_version("MetadataResponse", version)
        flexible = version >= 9
        if version >= 3:
            writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.brokers))
        else:
            writer.write_array_length(len(self.brokers))
        for brokers_element in self.brokers:
            brokers_element.encode(writer, version)
        if version >= 2:
            if flexible:
                writer.write_compact_nullable_string(self.cluster_id)
            else:
                writer.write_nullable_string(self.cluster_id)
        if version >= 1:
            writer.write_int32(self.controller_id)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if 8 <= version <= 10:
            writer.write_int32(self.cluster_authorized_operations)
        elif version >= 11:
            if self.cluster_authorized_operations != -2147483648:
                raise not_in_version("MetadataResponse.cluster_authorized_operations", version)
        elif self.cluster_authorized_operations != -2147483648:
            raise not_in_version("MetadataResponse.cluster_authorized_operations", version)
        if version >= 13:
            writer.write_int16(self.error_code)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
