"""DeleteRecords: move the start of a partition's log forward.

Generated from definitions/delete_records.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class DeleteRecordsPartition(Struct):
    __slots__ = ("offset", "partition_index")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "offset")

    def __init__(
        self, partition_index: int = 0, offset: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.partition_index: int = partition_index
        self.offset: int = offset
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteRecordsPartition":
        flexible = version >= 2
        partition_index = reader.int32()
        offset = reader.int64()
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteRecordsPartition(partition_index, offset, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        writer.write_int32(self.partition_index)
        writer.write_int64(self.offset)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DeleteRecordsTopic(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[DeleteRecordsPartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteRecordsTopic":
        flexible = version >= 2
        name = reader.compact_string() if flexible else reader.string()
        partitions: list[DeleteRecordsPartition] = [
            DeleteRecordsPartition.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteRecordsTopic(name, partitions, unknown)

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
class DeleteRecordsRequest(Message):
    __slots__ = ("timeout_ms", "topics")

    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "timeout_ms")

    def __init__(
        self,
        topics: list[DeleteRecordsTopic] = EMPTY,
        timeout_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics: list[DeleteRecordsTopic] = [] if topics is EMPTY else topics
        self.timeout_ms: int = timeout_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteRecordsRequest":
        if version < 0 or version > 2:
            raise no_such_version("DeleteRecordsRequest", version)
        flexible = version >= 2
        topics: list[DeleteRecordsTopic] = [
            DeleteRecordsTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        timeout_ms = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteRecordsRequest(topics, timeout_ms, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("DeleteRecordsRequest", version)
        flexible = version >= 2
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_int32(self.timeout_ms)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DeleteRecordsPartitionResult(Struct):
    __slots__ = ("error_code", "low_watermark", "partition_index")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "low_watermark", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.low_watermark: int = low_watermark
        self.error_code: int = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteRecordsPartitionResult":
        flexible = version >= 2
        partition_index = reader.int32()
        low_watermark = reader.int64()
        error_code = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteRecordsPartitionResult(partition_index, low_watermark, error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        writer.write_int32(self.partition_index)
        writer.write_int64(self.low_watermark)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DeleteRecordsTopicResult(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartitionResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[DeleteRecordsPartitionResult] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteRecordsTopicResult":
        flexible = version >= 2
        name = reader.compact_string() if flexible else reader.string()
        partitions: list[DeleteRecordsPartitionResult] = [
            DeleteRecordsPartitionResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteRecordsTopicResult(name, partitions, unknown)

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
class DeleteRecordsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DeleteRecordsTopicResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[DeleteRecordsTopicResult] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteRecordsResponse":
        if version < 0 or version > 2:
            raise no_such_version("DeleteRecordsResponse", version)
        flexible = version >= 2
        throttle_time_ms = reader.int32()
        topics: list[DeleteRecordsTopicResult] = [
            DeleteRecordsTopicResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteRecordsResponse(throttle_time_ms, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("DeleteRecordsResponse", version)
        flexible = version >= 2
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
