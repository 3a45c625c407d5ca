"""AssignReplicasToDirs: a broker says in which of its log folders replicas lie (KIP-858).

Generated from definitions/assign_replicas_to_dirs.kafka by gralha.protocol.compiler: change that, not this.
"""

# ruff: noqa: A002

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class AssignReplicasToDirsRequestPartition(Struct):
    __slots__ = ("partition_index",)

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index",)

    def __init__(self, partition_index: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.partition_index: int = partition_index
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AssignReplicasToDirsRequestPartition":
        partition_index = reader.int32()
        unknown = reader.tagged_fields()
        return AssignReplicasToDirsRequestPartition(partition_index, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AssignReplicasToDirsRequestTopic(Struct):
    __slots__ = ("partitions", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[AssignReplicasToDirsRequestPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[AssignReplicasToDirsRequestPartition] = (
            [] if partitions is EMPTY else partitions
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AssignReplicasToDirsRequestTopic":
        topic_id = reader.uuid()
        partitions: list[AssignReplicasToDirsRequestPartition] = [
            AssignReplicasToDirsRequestPartition.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AssignReplicasToDirsRequestTopic(topic_id, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_uuid(self.topic_id)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AssignReplicasToDirsRequestDirectory(Struct):
    __slots__ = ("id", "topics")

    FIELDS: ClassVar[tuple[str, ...]] = ("id", "topics")

    def __init__(
        self,
        id: bytes = ZERO_UUID,
        topics: list[AssignReplicasToDirsRequestTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.id: bytes = id
        self.topics: list[AssignReplicasToDirsRequestTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AssignReplicasToDirsRequestDirectory":
        id_ = reader.uuid()
        topics: list[AssignReplicasToDirsRequestTopic] = [
            AssignReplicasToDirsRequestTopic.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AssignReplicasToDirsRequestDirectory(id_, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_uuid(self.id)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AssignReplicasToDirsRequest(Message):
    __slots__ = ("broker_epoch", "broker_id", "directories")

    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch", "directories")

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        directories: list[AssignReplicasToDirsRequestDirectory] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.directories: list[AssignReplicasToDirsRequestDirectory] = (
            [] if directories is EMPTY else directories
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AssignReplicasToDirsRequest":
        if version != 0:
            raise no_such_version("AssignReplicasToDirsRequest", version)
        broker_id = reader.int32()
        broker_epoch = reader.int64()
        directories: list[AssignReplicasToDirsRequestDirectory] = [
            AssignReplicasToDirsRequestDirectory.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AssignReplicasToDirsRequest(broker_id, broker_epoch, directories, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("AssignReplicasToDirsRequest", version)
        writer.write_int32(self.broker_id)
        writer.write_int64(self.broker_epoch)
        writer.write_compact_array_length(len(self.directories))
        for directories_element in self.directories:
            directories_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AssignReplicasToDirsResponsePartition(Struct):
    __slots__ = ("error_code", "partition_index")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AssignReplicasToDirsResponsePartition":
        partition_index = reader.int32()
        error_code = reader.int16()
        unknown = reader.tagged_fields()
        return AssignReplicasToDirsResponsePartition(partition_index, error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AssignReplicasToDirsResponseTopic(Struct):
    __slots__ = ("partitions", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[AssignReplicasToDirsResponsePartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[AssignReplicasToDirsResponsePartition] = (
            [] if partitions is EMPTY else partitions
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AssignReplicasToDirsResponseTopic":
        topic_id = reader.uuid()
        partitions: list[AssignReplicasToDirsResponsePartition] = [
            AssignReplicasToDirsResponsePartition.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AssignReplicasToDirsResponseTopic(topic_id, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_uuid(self.topic_id)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AssignReplicasToDirsResponseDirectory(Struct):
    __slots__ = ("id", "topics")

    FIELDS: ClassVar[tuple[str, ...]] = ("id", "topics")

    def __init__(
        self,
        id: bytes = ZERO_UUID,
        topics: list[AssignReplicasToDirsResponseTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.id: bytes = id
        self.topics: list[AssignReplicasToDirsResponseTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AssignReplicasToDirsResponseDirectory":
        id_ = reader.uuid()
        topics: list[AssignReplicasToDirsResponseTopic] = [
            AssignReplicasToDirsResponseTopic.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AssignReplicasToDirsResponseDirectory(id_, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_uuid(self.id)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AssignReplicasToDirsResponse(Message):
    __slots__ = ("directories", "error_code", "throttle_time_ms")

    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "directories")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        directories: list[AssignReplicasToDirsResponseDirectory] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.directories: list[AssignReplicasToDirsResponseDirectory] = (
            [] if directories is EMPTY else directories
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AssignReplicasToDirsResponse":
        if version != 0:
            raise no_such_version("AssignReplicasToDirsResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        directories: list[AssignReplicasToDirsResponseDirectory] = [
            AssignReplicasToDirsResponseDirectory.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AssignReplicasToDirsResponse(throttle_time_ms, error_code, directories, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("AssignReplicasToDirsResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_compact_array_length(len(self.directories))
        for directories_element in self.directories:
            directories_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
