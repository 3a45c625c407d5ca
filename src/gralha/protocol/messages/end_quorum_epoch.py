"""EndQuorumEpoch: a leader of the quorum resigns, so that nobody waits for a timeout (KIP-595).

Generated from definitions/end_quorum_epoch.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class ReplicaInfo(Struct):
    __slots__ = ("candidate_directory_id", "candidate_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("candidate_id", "candidate_directory_id")

    def __init__(
        self,
        candidate_id: int = 0,
        candidate_directory_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.candidate_id: int = candidate_id
        self.candidate_directory_id: bytes = candidate_directory_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ReplicaInfo":
        candidate_id = reader.int32()
        candidate_directory_id = reader.uuid()
        unknown = reader.tagged_fields()
        return ReplicaInfo(candidate_id, candidate_directory_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.candidate_id)
        writer.write_uuid(self.candidate_directory_id)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class EndQuorumEpochRequestPartition(Struct):
    __slots__ = (
        "leader_epoch",
        "leader_id",
        "partition_index",
        "preferred_candidates",
        "preferred_successors",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "leader_id",
        "leader_epoch",
        "preferred_successors",
        "preferred_candidates",
    )

    def __init__(
        self,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        preferred_successors: list[int] = EMPTY,
        preferred_candidates: list[ReplicaInfo] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.preferred_successors: list[int] = [] if preferred_successors is EMPTY else preferred_successors
        self.preferred_candidates: list[ReplicaInfo] = (
            [] if preferred_candidates is EMPTY else preferred_candidates
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EndQuorumEpochRequestPartition":
        flexible = version >= 1
        partition_index = reader.int32()
        leader_id = reader.int32()
        leader_epoch = reader.int32()
        preferred_successors: list[int] = []
        if not flexible:
            preferred_successors = [reader.int32() for _ in range(reader.array_length())]
        preferred_candidates: list[ReplicaInfo] = []
        if flexible:
            preferred_candidates = [
                ReplicaInfo.decode(reader, version) for _ in range(reader.compact_array_length())
            ]
        unknown = reader.tagged_fields() if flexible else ()
        return EndQuorumEpochRequestPartition(
            partition_index, leader_id, leader_epoch, preferred_successors, preferred_candidates, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 1
        writer.write_int32(self.partition_index)
        writer.write_int32(self.leader_id)
        writer.write_int32(self.leader_epoch)
        if not flexible:
            writer.write_array_length(len(self.preferred_successors))
            for preferred_successors_element in self.preferred_successors:
                writer.write_int32(preferred_successors_element)
        if flexible:
            writer.write_compact_array_length(len(self.preferred_candidates))
            for preferred_candidates_element in self.preferred_candidates:
                preferred_candidates_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class EndQuorumEpochRequestTopic(Struct):
    __slots__ = ("partitions", "topic_name")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[EndQuorumEpochRequestPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.partitions: list[EndQuorumEpochRequestPartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EndQuorumEpochRequestTopic":
        flexible = version >= 1
        topic_name = reader.compact_string() if flexible else reader.string()
        partitions: list[EndQuorumEpochRequestPartition] = [
            EndQuorumEpochRequestPartition.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return EndQuorumEpochRequestTopic(topic_name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 1
        if flexible:
            writer.write_compact_string(self.topic_name)
        else:
            writer.write_string(self.topic_name)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class LeaderEndpoint(Struct):
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
    def decode(reader: Reader, version: i64) -> "LeaderEndpoint":
        name = reader.compact_string()
        host = reader.compact_string()
        port = reader.uint16()
        unknown = reader.tagged_fields()
        return LeaderEndpoint(name, host, port, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_string(self.host)
        writer.write_uint16(self.port)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class EndQuorumEpochRequest(Message):
    __slots__ = ("cluster_id", "leader_endpoints", "topics")

    API_KEY: ClassVar[int] = 54
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("cluster_id", "topics", "leader_endpoints")

    def __init__(
        self,
        cluster_id: str | None = None,
        topics: list[EndQuorumEpochRequestTopic] = EMPTY,
        leader_endpoints: list[LeaderEndpoint] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.topics: list[EndQuorumEpochRequestTopic] = [] if topics is EMPTY else topics
        self.leader_endpoints: list[LeaderEndpoint] = [] if leader_endpoints is EMPTY else leader_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EndQuorumEpochRequest":
        if version < 0 or version > 1:
            raise no_such_version("EndQuorumEpochRequest", version)
        flexible = version >= 1
        cluster_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        topics: list[EndQuorumEpochRequestTopic] = [
            EndQuorumEpochRequestTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        leader_endpoints: list[LeaderEndpoint] = []
        if flexible:
            leader_endpoints = [
                LeaderEndpoint.decode(reader, version) for _ in range(reader.compact_array_length())
            ]
        unknown = reader.tagged_fields() if flexible else ()
        return EndQuorumEpochRequest(cluster_id, topics, leader_endpoints, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("EndQuorumEpochRequest", version)
        flexible = version >= 1
        if flexible:
            writer.write_compact_nullable_string(self.cluster_id)
        else:
            writer.write_nullable_string(self.cluster_id)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if flexible:
            writer.write_compact_array_length(len(self.leader_endpoints))
            for leader_endpoints_element in self.leader_endpoints:
                leader_endpoints_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class EndQuorumEpochResponsePartition(Struct):
    __slots__ = ("error_code", "leader_epoch", "leader_id", "partition_index")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code", "leader_id", "leader_epoch")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EndQuorumEpochResponsePartition":
        flexible = version >= 1
        partition_index = reader.int32()
        error_code = reader.int16()
        leader_id = reader.int32()
        leader_epoch = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return EndQuorumEpochResponsePartition(partition_index, error_code, leader_id, leader_epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 1
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)
        writer.write_int32(self.leader_id)
        writer.write_int32(self.leader_epoch)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class EndQuorumEpochResponseTopic(Struct):
    __slots__ = ("partitions", "topic_name")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[EndQuorumEpochResponsePartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.partitions: list[EndQuorumEpochResponsePartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EndQuorumEpochResponseTopic":
        flexible = version >= 1
        topic_name = reader.compact_string() if flexible else reader.string()
        partitions: list[EndQuorumEpochResponsePartition] = [
            EndQuorumEpochResponsePartition.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return EndQuorumEpochResponseTopic(topic_name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 1
        if flexible:
            writer.write_compact_string(self.topic_name)
        else:
            writer.write_string(self.topic_name)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class NodeEndpoint(Struct):
    __slots__ = ("host", "node_id", "port")

    FIELDS: ClassVar[tuple[str, ...]] = ("node_id", "host", "port")

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "NodeEndpoint":
        node_id = reader.int32()
        host = reader.compact_string()
        port = reader.uint16()
        unknown = reader.tagged_fields()
        return NodeEndpoint(node_id, host, port, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.node_id)
        writer.write_compact_string(self.host)
        writer.write_uint16(self.port)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class EndQuorumEpochResponse(Message):
    __slots__ = ("error_code", "node_endpoints", "topics")

    API_KEY: ClassVar[int] = 54
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "topics", "node_endpoints")

    def __init__(
        self,
        error_code: int = 0,
        topics: list[EndQuorumEpochResponseTopic] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.topics: list[EndQuorumEpochResponseTopic] = [] if topics is EMPTY else topics
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is EMPTY else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EndQuorumEpochResponse":
        if version < 0 or version > 1:
            raise no_such_version("EndQuorumEpochResponse", version)
        flexible = version >= 1
        error_code = reader.int16()
        topics: list[EndQuorumEpochResponseTopic] = [
            EndQuorumEpochResponseTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        node_endpoints: list[NodeEndpoint] = []
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
                        node_endpoints = [
                            NodeEndpoint.decode(reader, version) for _ in range(reader.compact_array_length())
                        ]
                    else:
                        kept.append((tag, reader.raw(end - reader.position)))
                    reader.expect_end(end)
                unknown = tuple(kept)
        return EndQuorumEpochResponse(error_code, topics, node_endpoints, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("EndQuorumEpochResponse", version)
        flexible = version >= 1
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        tagged = self.unknown_tagged_fields
        if flexible:
            if self.node_endpoints:
                part = Writer()
                part.write_compact_array_length(len(self.node_endpoints))
                for node_endpoints_element in self.node_endpoints:
                    node_endpoints_element.encode(part, version)
                tagged = (*tagged, (0, part.to_bytes()))
        elif self.node_endpoints:
            raise not_in_version("EndQuorumEpochResponse.node_endpoints", version)
        if flexible:
            writer.write_tagged_fields(tagged)
