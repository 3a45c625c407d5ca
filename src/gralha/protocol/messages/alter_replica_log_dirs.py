"""AlterReplicaLogDirs: move replicas to another data folder of their broker (KIP-113).

Generated from definitions/alter_replica_log_dirs.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class AlterReplicaLogDirTopic(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[int] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterReplicaLogDirTopic":
        flexible = version >= 2
        name = reader.compact_string() if flexible else reader.string()
        partitions: list[int] = [
            reader.int32()
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return AlterReplicaLogDirTopic(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            writer.write_int32(partitions_element)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterReplicaLogDir(Struct):
    __slots__ = ("path", "topics")

    FIELDS: ClassVar[tuple[str, ...]] = ("path", "topics")

    def __init__(
        self,
        path: str = "",
        topics: list[AlterReplicaLogDirTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.path: str = path
        self.topics: list[AlterReplicaLogDirTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterReplicaLogDir":
        flexible = version >= 2
        path = reader.compact_string() if flexible else reader.string()
        topics: list[AlterReplicaLogDirTopic] = [
            AlterReplicaLogDirTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return AlterReplicaLogDir(path, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        if flexible:
            writer.write_compact_string(self.path)
        else:
            writer.write_string(self.path)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterReplicaLogDirsRequest(Message):
    __slots__ = ("dirs",)

    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("dirs",)

    def __init__(
        self, dirs: list[AlterReplicaLogDir] = EMPTY, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.dirs: list[AlterReplicaLogDir] = [] if dirs is EMPTY else dirs
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterReplicaLogDirsRequest":
        if version < 1 or version > 2:
            raise no_such_version("AlterReplicaLogDirsRequest", version)
        flexible = version >= 2
        dirs: list[AlterReplicaLogDir] = [
            AlterReplicaLogDir.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return AlterReplicaLogDirsRequest(dirs, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 2:
            raise no_such_version("AlterReplicaLogDirsRequest", version)
        flexible = version >= 2
        if flexible:
            writer.write_compact_array_length(len(self.dirs))
        else:
            writer.write_array_length(len(self.dirs))
        for dirs_element in self.dirs:
            dirs_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterReplicaLogDirPartitionResult(Struct):
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
    def decode(reader: Reader, version: i64) -> "AlterReplicaLogDirPartitionResult":
        flexible = version >= 2
        partition_index = reader.int32()
        error_code = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return AlterReplicaLogDirPartitionResult(partition_index, error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterReplicaLogDirTopicResult(Struct):
    __slots__ = ("partitions", "topic_name")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[AlterReplicaLogDirPartitionResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_name: str = topic_name
        self.partitions: list[AlterReplicaLogDirPartitionResult] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterReplicaLogDirTopicResult":
        flexible = version >= 2
        topic_name = reader.compact_string() if flexible else reader.string()
        partitions: list[AlterReplicaLogDirPartitionResult] = [
            AlterReplicaLogDirPartitionResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return AlterReplicaLogDirTopicResult(topic_name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
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
class AlterReplicaLogDirsResponse(Message):
    __slots__ = ("results", "throttle_time_ms")

    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterReplicaLogDirTopicResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: list[AlterReplicaLogDirTopicResult] = [] if results is EMPTY else results
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterReplicaLogDirsResponse":
        if version < 1 or version > 2:
            raise no_such_version("AlterReplicaLogDirsResponse", version)
        flexible = version >= 2
        throttle_time_ms = reader.int32()
        results: list[AlterReplicaLogDirTopicResult] = [
            AlterReplicaLogDirTopicResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return AlterReplicaLogDirsResponse(throttle_time_ms, results, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 2:
            raise no_such_version("AlterReplicaLogDirsResponse", version)
        flexible = version >= 2
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.results))
        else:
            writer.write_array_length(len(self.results))
        for results_element in self.results:
            results_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
