"""FetchSnapshot: read part of a snapshot of the metadata log (KIP-630).

Generated from definitions/fetch_snapshot.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version, null_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, RecordBytes, TaggedField, Writer


@final
class SnapshotId(Struct):
    __slots__ = ("end_offset", "epoch")

    FIELDS: ClassVar[tuple[str, ...]] = ("end_offset", "epoch")

    def __init__(
        self, end_offset: int = 0, epoch: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.end_offset: int = end_offset
        self.epoch: int = epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "SnapshotId":
        end_offset = reader.int64()
        epoch = reader.int32()
        unknown = reader.tagged_fields()
        return SnapshotId(end_offset, epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int64(self.end_offset)
        writer.write_int32(self.epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class FetchSnapshotRequestPartition(Struct):
    __slots__ = ("current_leader_epoch", "partition", "position", "replica_directory_id", "snapshot_id")

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition",
        "current_leader_epoch",
        "snapshot_id",
        "position",
        "replica_directory_id",
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = 0,
        snapshot_id: SnapshotId | None = None,
        position: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition: int = partition
        self.current_leader_epoch: int = current_leader_epoch
        self.snapshot_id: SnapshotId = SnapshotId() if snapshot_id is None else snapshot_id
        self.position: int = position
        self.replica_directory_id: bytes = replica_directory_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FetchSnapshotRequestPartition":
        partition = reader.int32()
        current_leader_epoch = reader.int32()
        snapshot_id = SnapshotId.decode(reader, version)
        position = reader.int64()
        replica_directory_id: bytes = ZERO_UUID
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0 and version >= 1:
                    replica_directory_id = reader.uuid()
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return FetchSnapshotRequestPartition(
            partition, current_leader_epoch, snapshot_id, position, replica_directory_id, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition)
        writer.write_int32(self.current_leader_epoch)
        self.snapshot_id.encode(writer, version)
        writer.write_int64(self.position)
        tagged = self.unknown_tagged_fields
        if version >= 1 and self.replica_directory_id != ZERO_UUID:
            part = Writer()
            part.write_uuid(self.replica_directory_id)
            tagged = (*tagged, (0, part.to_bytes()))
        writer.write_tagged_fields(tagged)


@final
class FetchSnapshotRequestTopic(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[FetchSnapshotRequestPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[FetchSnapshotRequestPartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FetchSnapshotRequestTopic":
        name = reader.compact_string()
        partitions: list[FetchSnapshotRequestPartition] = [
            FetchSnapshotRequestPartition.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return FetchSnapshotRequestTopic(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class FetchSnapshotRequest(Message):
    __slots__ = ("cluster_id", "max_bytes", "replica_id", "topics")

    API_KEY: ClassVar[int] = 59
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("cluster_id", "replica_id", "max_bytes", "topics")

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: list[FetchSnapshotRequestTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.replica_id: int = replica_id
        self.max_bytes: int = max_bytes
        self.topics: list[FetchSnapshotRequestTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FetchSnapshotRequest":
        if version < 0 or version > 1:
            raise no_such_version("FetchSnapshotRequest", version)
        replica_id = reader.int32()
        max_bytes = reader.int32()
        topics: list[FetchSnapshotRequestTopic] = [
            FetchSnapshotRequestTopic.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        cluster_id: str | None = None
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0:
                    cluster_id = reader.compact_nullable_string()
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return FetchSnapshotRequest(cluster_id, replica_id, max_bytes, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("FetchSnapshotRequest", version)
        writer.write_int32(self.replica_id)
        writer.write_int32(self.max_bytes)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        tagged = self.unknown_tagged_fields
        if self.cluster_id is not None:
            part = Writer()
            part.write_compact_string(self.cluster_id)
            tagged = (*tagged, (0, part.to_bytes()))
        writer.write_tagged_fields(tagged)


@final
class LeaderIdAndEpoch(Struct):
    __slots__ = ("leader_epoch", "leader_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("leader_id", "leader_epoch")

    def __init__(
        self, leader_id: int = 0, leader_epoch: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "LeaderIdAndEpoch":
        leader_id = reader.int32()
        leader_epoch = reader.int32()
        unknown = reader.tagged_fields()
        return LeaderIdAndEpoch(leader_id, leader_epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.leader_id)
        writer.write_int32(self.leader_epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class FetchSnapshotResponsePartition(Struct):
    __slots__ = (
        "current_leader",
        "error_code",
        "index",
        "position",
        "size",
        "snapshot_id",
        "unaligned_records",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "index",
        "error_code",
        "snapshot_id",
        "current_leader",
        "size",
        "position",
        "unaligned_records",
    )

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        snapshot_id: SnapshotId | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        size: int = 0,
        position: int = 0,
        unaligned_records: RecordBytes | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.index: int = index
        self.error_code: int = error_code
        self.snapshot_id: SnapshotId = SnapshotId() if snapshot_id is None else snapshot_id
        self.current_leader: LeaderIdAndEpoch | None = current_leader
        self.size: int = size
        self.position: int = position
        self.unaligned_records: RecordBytes | None = unaligned_records
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FetchSnapshotResponsePartition":
        index = reader.int32()
        error_code = reader.int16()
        snapshot_id = SnapshotId.decode(reader, version)
        size = reader.int64()
        position = reader.int64()
        unaligned_records = reader.compact_records()
        if unaligned_records is None:
            raise null_in_version("FetchSnapshotResponsePartition.unaligned_records", version)
        current_leader: LeaderIdAndEpoch | None = None
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0:
                    current_leader = LeaderIdAndEpoch.decode(reader, version)
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return FetchSnapshotResponsePartition(
            index, error_code, snapshot_id, current_leader, size, position, unaligned_records, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.index)
        writer.write_int16(self.error_code)
        self.snapshot_id.encode(writer, version)
        writer.write_int64(self.size)
        writer.write_int64(self.position)
        if self.unaligned_records is None:
            raise null_in_version("FetchSnapshotResponsePartition.unaligned_records", version)
        writer.write_compact_records(self.unaligned_records)
        tagged = self.unknown_tagged_fields
        if self.current_leader is not None:
            part = Writer()
            self.current_leader.encode(part, version)
            tagged = (*tagged, (0, part.to_bytes()))
        writer.write_tagged_fields(tagged)


@final
class FetchSnapshotResponseTopic(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[FetchSnapshotResponsePartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[FetchSnapshotResponsePartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FetchSnapshotResponseTopic":
        name = reader.compact_string()
        partitions: list[FetchSnapshotResponsePartition] = [
            FetchSnapshotResponsePartition.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return FetchSnapshotResponseTopic(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
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
class FetchSnapshotResponse(Message):
    __slots__ = ("error_code", "node_endpoints", "throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 59
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "topics", "node_endpoints")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[FetchSnapshotResponseTopic] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.topics: list[FetchSnapshotResponseTopic] = [] if topics is EMPTY else topics
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is EMPTY else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FetchSnapshotResponse":
        if version < 0 or version > 1:
            raise no_such_version("FetchSnapshotResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        topics: list[FetchSnapshotResponseTopic] = [
            FetchSnapshotResponseTopic.decode(reader, version) for _ in range(reader.compact_array_length())
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
        return FetchSnapshotResponse(throttle_time_ms, error_code, topics, node_endpoints, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("FetchSnapshotResponse", version)
        writer.write_int32(self.throttle_time_ms)
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
            raise not_in_version("FetchSnapshotResponse.node_endpoints", version)
        writer.write_tagged_fields(tagged)
