"""DescribeLogDirs: the data folders of a broker, the partitions in them and their sizes.

Generated from definitions/describe_log_dirs.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class DescribableLogDirTopic(Struct):
    __slots__ = ("partitions", "topic")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic: str = topic
        self.partitions: list[int] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribableLogDirTopic":
        flexible = version >= 2
        topic = reader.compact_string() if flexible else reader.string()
        partitions: list[int] = [
            reader.int32()
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DescribableLogDirTopic(topic, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        if flexible:
            writer.write_compact_string(self.topic)
        else:
            writer.write_string(self.topic)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            writer.write_int32(partitions_element)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeLogDirsRequest(Message):
    __slots__ = ("topics",)

    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("topics",)

    def __init__(
        self,
        topics: list[DescribableLogDirTopic] | None = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics: list[DescribableLogDirTopic] | None = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeLogDirsRequest":
        if version < 1 or version > 5:
            raise no_such_version("DescribeLogDirsRequest", version)
        flexible = version >= 2
        count = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
        topics: list[DescribableLogDirTopic] | None = (
            [DescribableLogDirTopic.decode(reader, version) for _ in range(count)] if count >= 0 else None
        )
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeLogDirsRequest(topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 5:
            raise no_such_version("DescribeLogDirsRequest", version)
        flexible = version >= 2
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
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeLogDirsPartition(Struct):
    __slots__ = ("is_future_key", "offset_lag", "partition_index", "partition_size")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "partition_size", "offset_lag", "is_future_key")

    def __init__(
        self,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.partition_size: int = partition_size
        self.offset_lag: int = offset_lag
        self.is_future_key: bool = is_future_key
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeLogDirsPartition":
        flexible = version >= 2
        partition_index = reader.int32()
        partition_size = reader.int64()
        offset_lag = reader.int64()
        is_future_key = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        writer.write_int32(self.partition_index)
        writer.write_int64(self.partition_size)
        writer.write_int64(self.offset_lag)
        writer.write_boolean(self.is_future_key)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeLogDirsTopic(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[DescribeLogDirsPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[DescribeLogDirsPartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeLogDirsTopic":
        flexible = version >= 2
        name = reader.compact_string() if flexible else reader.string()
        partitions: list[DescribeLogDirsPartition] = [
            DescribeLogDirsPartition.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeLogDirsTopic(name, partitions, unknown)

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
            partitions_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeLogDirsResult(Struct):
    __slots__ = ("error_code", "is_cordoned", "log_dir", "topics", "total_bytes", "usable_bytes")

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "log_dir",
        "topics",
        "total_bytes",
        "usable_bytes",
        "is_cordoned",
    )

    def __init__(
        self,
        error_code: int = 0,
        log_dir: str = "",
        topics: list[DescribeLogDirsTopic] = EMPTY,
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.log_dir: str = log_dir
        self.topics: list[DescribeLogDirsTopic] = [] if topics is EMPTY else topics
        self.total_bytes: int = total_bytes
        self.usable_bytes: int = usable_bytes
        self.is_cordoned: bool = is_cordoned
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeLogDirsResult":
        flexible = version >= 2
        error_code = reader.int16()
        log_dir = reader.compact_string() if flexible else reader.string()
        topics: list[DescribeLogDirsTopic] = [
            DescribeLogDirsTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        total_bytes: int = -1
        if version >= 4:
            total_bytes = reader.int64()
        usable_bytes: int = -1
        if version >= 4:
            usable_bytes = reader.int64()
        is_cordoned: bool = False
        if version >= 5:
            is_cordoned = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeLogDirsResult(
            error_code, log_dir, topics, total_bytes, usable_bytes, is_cordoned, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_string(self.log_dir)
        else:
            writer.write_string(self.log_dir)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if version >= 4:
            writer.write_int64(self.total_bytes)
        if version >= 4:
            writer.write_int64(self.usable_bytes)
        if version >= 5:
            writer.write_boolean(self.is_cordoned)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeLogDirsResponse(Message):
    __slots__ = ("error_code", "results", "throttle_time_ms")

    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.results: list[DescribeLogDirsResult] = [] if results is EMPTY else results
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeLogDirsResponse":
        if version < 1 or version > 5:
            raise no_such_version("DescribeLogDirsResponse", version)
        flexible = version >= 2
        throttle_time_ms = reader.int32()
        error_code: int = 0
        if version >= 3:
            error_code = reader.int16()
        results: list[DescribeLogDirsResult] = [
            DescribeLogDirsResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeLogDirsResponse(throttle_time_ms, error_code, results, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 5:
            raise no_such_version("DescribeLogDirsResponse", version)
        flexible = version >= 2
        writer.write_int32(self.throttle_time_ms)
        if version >= 3:
            writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_array_length(len(self.results))
        else:
            writer.write_array_length(len(self.results))
        for results_element in self.results:
            results_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
