"""ListOffsets: the offset of a partition at a time, or at one of its ends.

Negative timestamps name the ends: -1 the latest, -2 the earliest, -3 the one with the highest timestamp.

Generated from definitions/list_offsets.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class ListOffsetsPartition(Struct):
    __slots__ = ("current_leader_epoch", "partition_index", "timestamp")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "current_leader_epoch", "timestamp")

    def __init__(
        self,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.current_leader_epoch: int = current_leader_epoch
        self.timestamp: int = timestamp
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListOffsetsPartition":
        flexible = version >= 6
        partition_index = reader.int32()
        current_leader_epoch: int = -1
        if version >= 4:
            current_leader_epoch = reader.int32()
        timestamp = reader.int64()
        unknown = reader.tagged_fields() if flexible else ()
        return ListOffsetsPartition(partition_index, current_leader_epoch, timestamp, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 6
        writer.write_int32(self.partition_index)
        if version >= 4:
            writer.write_int32(self.current_leader_epoch)
        writer.write_int64(self.timestamp)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ListOffsetsTopic(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[ListOffsetsPartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListOffsetsTopic":
        flexible = version >= 6
        name = reader.compact_string() if flexible else reader.string()
        partitions: list[ListOffsetsPartition] = [
            ListOffsetsPartition.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return ListOffsetsTopic(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 6
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ListOffsetsRequest(Message):
    __slots__ = ("isolation_level", "replica_id", "timeout_ms", "topics")

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FLEXIBLE_FROM: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = ("replica_id", "isolation_level", "topics", "timeout_ms")

    def __init__(
        self,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: list[ListOffsetsTopic] = EMPTY,
        timeout_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.replica_id: int = replica_id
        self.isolation_level: int = isolation_level
        self.topics: list[ListOffsetsTopic] = [] if topics is EMPTY else topics
        self.timeout_ms: int = timeout_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListOffsetsRequest":
        if version < 1 or version > 11:
            raise no_such_version("ListOffsetsRequest", version)
        flexible = version >= 6
        replica_id = reader.int32()
        isolation_level: int = 0
        if version >= 2:
            isolation_level = reader.int8()
        topics: list[ListOffsetsTopic] = [
            ListOffsetsTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        timeout_ms: int = 0
        if version >= 10:
            timeout_ms = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return ListOffsetsRequest(replica_id, isolation_level, topics, timeout_ms, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 11:
            raise no_such_version("ListOffsetsRequest", version)
        flexible = version >= 6
        writer.write_int32(self.replica_id)
        if version >= 2:
            writer.write_int8(self.isolation_level)
        elif self.isolation_level != 0:
            raise not_in_version("ListOffsetsRequest.isolation_level", version)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if version >= 10:
            writer.write_int32(self.timeout_ms)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ListOffsetsPartitionResponse(Struct):
    __slots__ = ("error_code", "leader_epoch", "offset", "partition_index", "timestamp")

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "timestamp",
        "offset",
        "leader_epoch",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.timestamp: int = timestamp
        self.offset: int = offset
        self.leader_epoch: int = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListOffsetsPartitionResponse":
        flexible = version >= 6
        partition_index = reader.int32()
        error_code = reader.int16()
        timestamp = reader.int64()
        offset = reader.int64()
        leader_epoch: int = -1
        if version >= 4:
            leader_epoch = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return ListOffsetsPartitionResponse(
            partition_index, error_code, timestamp, offset, leader_epoch, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 6
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)
        writer.write_int64(self.timestamp)
        writer.write_int64(self.offset)
        if version >= 4:
            writer.write_int32(self.leader_epoch)
        elif self.leader_epoch != -1:
            raise not_in_version("ListOffsetsPartitionResponse.leader_epoch", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ListOffsetsTopicResponse(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartitionResponse] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[ListOffsetsPartitionResponse] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListOffsetsTopicResponse":
        flexible = version >= 6
        name = reader.compact_string() if flexible else reader.string()
        partitions: list[ListOffsetsPartitionResponse] = [
            ListOffsetsPartitionResponse.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return ListOffsetsTopicResponse(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 6
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ListOffsetsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FLEXIBLE_FROM: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[ListOffsetsTopicResponse] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[ListOffsetsTopicResponse] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListOffsetsResponse":
        if version < 1 or version > 11:
            raise no_such_version("ListOffsetsResponse", version)
        flexible = version >= 6
        throttle_time_ms: int = 0
        if version >= 2:
            throttle_time_ms = reader.int32()
        topics: list[ListOffsetsTopicResponse] = [
            ListOffsetsTopicResponse.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return ListOffsetsResponse(throttle_time_ms, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 11:
            raise no_such_version("ListOffsetsResponse", version)
        flexible = version >= 6
        if version >= 2:
            writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
