"""OffsetForLeaderEpoch: where a leader epoch ends in the leader's log (KIP-101).

Generated from definitions/offset_for_leader_epoch.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class OffsetForLeaderPartition(Struct):
    __slots__ = ("current_leader_epoch", "leader_epoch", "partition")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition", "current_leader_epoch", "leader_epoch")

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition: int = partition
        self.current_leader_epoch: int = current_leader_epoch
        self.leader_epoch: int = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetForLeaderPartition":
        flexible = version >= 4
        partition = reader.int32()
        current_leader_epoch = reader.int32()
        leader_epoch = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 4
        writer.write_int32(self.partition)
        writer.write_int32(self.current_leader_epoch)
        writer.write_int32(self.leader_epoch)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetForLeaderTopic(Struct):
    __slots__ = ("partitions", "topic")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[OffsetForLeaderPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic: str = topic
        self.partitions: list[OffsetForLeaderPartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetForLeaderTopic":
        flexible = version >= 4
        topic = reader.compact_string() if flexible else reader.string()
        partitions: list[OffsetForLeaderPartition] = [
            OffsetForLeaderPartition.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetForLeaderTopic(topic, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 4
        if flexible:
            writer.write_compact_string(self.topic)
        else:
            writer.write_string(self.topic)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetForLeaderEpochRequest(Message):
    __slots__ = ("replica_id", "topics")

    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = ("replica_id", "topics")

    def __init__(
        self,
        replica_id: int = -2,
        topics: list[OffsetForLeaderTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.replica_id: int = replica_id
        self.topics: list[OffsetForLeaderTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetForLeaderEpochRequest":
        if version < 2 or version > 4:
            raise no_such_version("OffsetForLeaderEpochRequest", version)
        flexible = version >= 4
        replica_id: int = -2
        if version >= 3:
            replica_id = reader.int32()
        topics: list[OffsetForLeaderTopic] = [
            OffsetForLeaderTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetForLeaderEpochRequest(replica_id, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 2 or version > 4:
            raise no_such_version("OffsetForLeaderEpochRequest", version)
        flexible = version >= 4
        if version >= 3:
            writer.write_int32(self.replica_id)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class EpochEndOffset(Struct):
    __slots__ = ("end_offset", "error_code", "leader_epoch", "partition")

    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "partition", "leader_epoch", "end_offset")

    def __init__(
        self,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.partition: int = partition
        self.leader_epoch: int = leader_epoch
        self.end_offset: int = end_offset
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EpochEndOffset":
        flexible = version >= 4
        error_code = reader.int16()
        partition = reader.int32()
        leader_epoch = reader.int32()
        end_offset = reader.int64()
        unknown = reader.tagged_fields() if flexible else ()
        return EpochEndOffset(error_code, partition, leader_epoch, end_offset, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 4
        writer.write_int16(self.error_code)
        writer.write_int32(self.partition)
        writer.write_int32(self.leader_epoch)
        writer.write_int64(self.end_offset)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetForLeaderTopicResult(Struct):
    __slots__ = ("partitions", "topic")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[EpochEndOffset] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic: str = topic
        self.partitions: list[EpochEndOffset] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetForLeaderTopicResult":
        flexible = version >= 4
        topic = reader.compact_string() if flexible else reader.string()
        partitions: list[EpochEndOffset] = [
            EpochEndOffset.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetForLeaderTopicResult(topic, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 4
        if flexible:
            writer.write_compact_string(self.topic)
        else:
            writer.write_string(self.topic)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetForLeaderEpochResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetForLeaderTopicResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[OffsetForLeaderTopicResult] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetForLeaderEpochResponse":
        if version < 2 or version > 4:
            raise no_such_version("OffsetForLeaderEpochResponse", version)
        flexible = version >= 4
        throttle_time_ms = reader.int32()
        topics: list[OffsetForLeaderTopicResult] = [
            OffsetForLeaderTopicResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetForLeaderEpochResponse(throttle_time_ms, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 2 or version > 4:
            raise no_such_version("OffsetForLeaderEpochResponse", version)
        flexible = version >= 4
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
