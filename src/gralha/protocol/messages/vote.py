"""Vote: a candidate asks a voter for its vote (KIP-595).

Asked first without a new epoch, so that a node that cannot win disturbs nobody (pre-vote, KIP-996).

Generated from definitions/vote.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class VoteRequestPartition(Struct):
    __slots__ = (
        "last_offset",
        "last_offset_epoch",
        "partition_index",
        "pre_vote",
        "replica_directory_id",
        "replica_epoch",
        "replica_id",
        "voter_directory_id",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "replica_epoch",
        "replica_id",
        "replica_directory_id",
        "voter_directory_id",
        "last_offset_epoch",
        "last_offset",
        "pre_vote",
    )

    def __init__(
        self,
        partition_index: int = 0,
        replica_epoch: int = 0,
        replica_id: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        voter_directory_id: bytes = ZERO_UUID,
        last_offset_epoch: int = 0,
        last_offset: int = 0,
        pre_vote: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.replica_epoch: int = replica_epoch
        self.replica_id: int = replica_id
        self.replica_directory_id: bytes = replica_directory_id
        self.voter_directory_id: bytes = voter_directory_id
        self.last_offset_epoch: int = last_offset_epoch
        self.last_offset: int = last_offset
        self.pre_vote: bool = pre_vote
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "VoteRequestPartition":
        partition_index = reader.int32()
        replica_epoch = reader.int32()
        replica_id = reader.int32()
        replica_directory_id: bytes = ZERO_UUID
        if version >= 1:
            replica_directory_id = reader.uuid()
        voter_directory_id: bytes = ZERO_UUID
        if version >= 1:
            voter_directory_id = reader.uuid()
        last_offset_epoch = reader.int32()
        last_offset = reader.int64()
        pre_vote: bool = False
        if version >= 2:
            pre_vote = reader.boolean()
        unknown = reader.tagged_fields()
        return VoteRequestPartition(
            partition_index,
            replica_epoch,
            replica_id,
            replica_directory_id,
            voter_directory_id,
            last_offset_epoch,
            last_offset,
            pre_vote,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_int32(self.replica_epoch)
        writer.write_int32(self.replica_id)
        if version >= 1:
            writer.write_uuid(self.replica_directory_id)
        if version >= 1:
            writer.write_uuid(self.voter_directory_id)
        writer.write_int32(self.last_offset_epoch)
        writer.write_int64(self.last_offset)
        if version >= 2:
            writer.write_boolean(self.pre_vote)
        elif self.pre_vote:
            raise not_in_version("VoteRequestPartition.pre_vote", version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class VoteRequestTopic(Struct):
    __slots__ = ("partitions", "topic_name")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[VoteRequestPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.partitions: list[VoteRequestPartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "VoteRequestTopic":
        topic_name = reader.compact_string()
        partitions: list[VoteRequestPartition] = [
            VoteRequestPartition.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return VoteRequestTopic(topic_name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.topic_name)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class VoteRequest(Message):
    __slots__ = ("cluster_id", "topics", "voter_id")

    API_KEY: ClassVar[int] = 52
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("cluster_id", "voter_id", "topics")

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[VoteRequestTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.voter_id: int = voter_id
        self.topics: list[VoteRequestTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "VoteRequest":
        if version < 0 or version > 2:
            raise no_such_version("VoteRequest", version)
        cluster_id = reader.compact_nullable_string()
        voter_id: int = -1
        if version >= 1:
            voter_id = reader.int32()
        topics: list[VoteRequestTopic] = [
            VoteRequestTopic.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return VoteRequest(cluster_id, voter_id, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("VoteRequest", version)
        writer.write_compact_nullable_string(self.cluster_id)
        if version >= 1:
            writer.write_int32(self.voter_id)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class VoteResponsePartition(Struct):
    __slots__ = ("error_code", "leader_epoch", "leader_id", "partition_index", "vote_granted")

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "vote_granted",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        vote_granted: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.vote_granted: bool = vote_granted
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "VoteResponsePartition":
        partition_index = reader.int32()
        error_code = reader.int16()
        leader_id = reader.int32()
        leader_epoch = reader.int32()
        vote_granted = reader.boolean()
        unknown = reader.tagged_fields()
        return VoteResponsePartition(
            partition_index, error_code, leader_id, leader_epoch, vote_granted, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)
        writer.write_int32(self.leader_id)
        writer.write_int32(self.leader_epoch)
        writer.write_boolean(self.vote_granted)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class VoteResponseTopic(Struct):
    __slots__ = ("partitions", "topic_name")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[VoteResponsePartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.partitions: list[VoteResponsePartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "VoteResponseTopic":
        topic_name = reader.compact_string()
        partitions: list[VoteResponsePartition] = [
            VoteResponsePartition.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return VoteResponseTopic(topic_name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.topic_name)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
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
class VoteResponse(Message):
    __slots__ = ("error_code", "node_endpoints", "topics")

    API_KEY: ClassVar[int] = 52
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "topics", "node_endpoints")

    def __init__(
        self,
        error_code: int = 0,
        topics: list[VoteResponseTopic] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.topics: list[VoteResponseTopic] = [] if topics is EMPTY else topics
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is EMPTY else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "VoteResponse":
        if version < 0 or version > 2:
            raise no_such_version("VoteResponse", version)
        error_code = reader.int16()
        topics: list[VoteResponseTopic] = [
            VoteResponseTopic.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        node_endpoints: list[NodeEndpoint] = []
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0 and version >= 1:
                    node_endpoints = [
                        NodeEndpoint.decode(reader, version) for _ in range(reader.compact_array_length())
                    ]
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return VoteResponse(error_code, topics, node_endpoints, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("VoteResponse", version)
        writer.write_int16(self.error_code)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        tagged = self.unknown_tagged_fields
        if version >= 1:
            if self.node_endpoints:
                part = Writer()
                part.write_compact_array_length(len(self.node_endpoints))
                for node_endpoints_element in self.node_endpoints:
                    node_endpoints_element.encode(part, version)
                tagged = (*tagged, (0, part.to_bytes()))
        elif self.node_endpoints:
            raise not_in_version("VoteResponse.node_endpoints", version)
        writer.write_tagged_fields(tagged)
