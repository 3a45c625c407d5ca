"""OffsetDelete: a group forgets its offsets in partitions of topics that it is not subscribed to (KIP-496).

Generated from definitions/offset_delete.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class OffsetDeleteRequestPartition(Struct):
    __slots__ = ("partition_index",)

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index",)

    def __init__(self, partition_index: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.partition_index: int = partition_index
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetDeleteRequestPartition":
        partition_index = reader.int32()
        unknown: tuple[TaggedField, ...] = ()
        return OffsetDeleteRequestPartition(partition_index, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)


@final
class OffsetDeleteRequestTopic(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteRequestPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[OffsetDeleteRequestPartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetDeleteRequestTopic":
        name = reader.string()
        partitions: list[OffsetDeleteRequestPartition] = [
            OffsetDeleteRequestPartition.decode(reader, version) for _ in range(reader.array_length())
        ]
        unknown: tuple[TaggedField, ...] = ()
        return OffsetDeleteRequestTopic(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_string(self.name)
        writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)


@final
class OffsetDeleteRequest(Message):
    __slots__ = ("group_id", "topics")

    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topics")

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetDeleteRequestTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.topics: list[OffsetDeleteRequestTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetDeleteRequest":
        if version != 0:
            raise no_such_version("OffsetDeleteRequest", version)
        group_id = reader.string()
        topics: list[OffsetDeleteRequestTopic] = [
            OffsetDeleteRequestTopic.decode(reader, version) for _ in range(reader.array_length())
        ]
        unknown: tuple[TaggedField, ...] = ()
        return OffsetDeleteRequest(group_id, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("OffsetDeleteRequest", version)
        writer.write_string(self.group_id)
        writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)


@final
class OffsetDeleteResponsePartition(Struct):
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
    def decode(reader: Reader, version: i64) -> "OffsetDeleteResponsePartition":
        partition_index = reader.int32()
        error_code = reader.int16()
        unknown: tuple[TaggedField, ...] = ()
        return OffsetDeleteResponsePartition(partition_index, error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)


@final
class OffsetDeleteResponseTopic(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteResponsePartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[OffsetDeleteResponsePartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetDeleteResponseTopic":
        name = reader.string()
        partitions: list[OffsetDeleteResponsePartition] = [
            OffsetDeleteResponsePartition.decode(reader, version) for _ in range(reader.array_length())
        ]
        unknown: tuple[TaggedField, ...] = ()
        return OffsetDeleteResponseTopic(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_string(self.name)
        writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)


@final
class OffsetDeleteResponse(Message):
    __slots__ = ("error_code", "throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "throttle_time_ms", "topics")

    def __init__(
        self,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: list[OffsetDeleteResponseTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[OffsetDeleteResponseTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetDeleteResponse":
        if version != 0:
            raise no_such_version("OffsetDeleteResponse", version)
        error_code = reader.int16()
        throttle_time_ms = reader.int32()
        topics: list[OffsetDeleteResponseTopic] = [
            OffsetDeleteResponseTopic.decode(reader, version) for _ in range(reader.array_length())
        ]
        unknown: tuple[TaggedField, ...] = ()
        return OffsetDeleteResponse(error_code, throttle_time_ms, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("OffsetDeleteResponse", version)
        writer.write_int16(self.error_code)
        writer.write_int32(self.throttle_time_ms)
        writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
