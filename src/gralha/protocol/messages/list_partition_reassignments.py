"""ListPartitionReassignments: the partitions that are moving to other brokers (KIP-455).

Generated from definitions/list_partition_reassignments.kafka by gralha.protocol.compiler: change that, not
this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class ListPartitionReassignmentsTopics(Struct):
    __slots__ = ("name", "partition_indexes")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partition_indexes")

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partition_indexes: list[int] = [] if partition_indexes is EMPTY else partition_indexes
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListPartitionReassignmentsTopics":
        name = reader.compact_string()
        partition_indexes: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return ListPartitionReassignmentsTopics(name, partition_indexes, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_array_length(len(self.partition_indexes))
        for partition_indexes_element in self.partition_indexes:
            writer.write_int32(partition_indexes_element)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ListPartitionReassignmentsRequest(Message):
    __slots__ = ("timeout_ms", "topics")

    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("timeout_ms", "topics")

    def __init__(
        self,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsTopics] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.timeout_ms: int = timeout_ms
        self.topics: list[ListPartitionReassignmentsTopics] | None = topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListPartitionReassignmentsRequest":
        if version != 0:
            raise no_such_version("ListPartitionReassignmentsRequest", version)
        timeout_ms = reader.int32()
        count = reader.compact_nullable_array_length()
        topics: list[ListPartitionReassignmentsTopics] | None = (
            [ListPartitionReassignmentsTopics.decode(reader, version) for _ in range(count)]
            if count >= 0
            else None
        )
        unknown = reader.tagged_fields()
        return ListPartitionReassignmentsRequest(timeout_ms, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ListPartitionReassignmentsRequest", version)
        writer.write_int32(self.timeout_ms)
        if self.topics is None:
            writer.write_compact_array_length(-1)
        else:
            writer.write_compact_array_length(len(self.topics))
            for topics_element in self.topics:
                topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OngoingPartitionReassignment(Struct):
    __slots__ = ("adding_replicas", "partition_index", "removing_replicas", "replicas")

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "replicas",
        "adding_replicas",
        "removing_replicas",
    )

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] = EMPTY,
        adding_replicas: list[int] = EMPTY,
        removing_replicas: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.replicas: list[int] = [] if replicas is EMPTY else replicas
        self.adding_replicas: list[int] = [] if adding_replicas is EMPTY else adding_replicas
        self.removing_replicas: list[int] = [] if removing_replicas is EMPTY else removing_replicas
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OngoingPartitionReassignment":
        partition_index = reader.int32()
        replicas: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        adding_replicas: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        removing_replicas: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return OngoingPartitionReassignment(
            partition_index, replicas, adding_replicas, removing_replicas, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_compact_array_length(len(self.replicas))
        for replicas_element in self.replicas:
            writer.write_int32(replicas_element)
        writer.write_compact_array_length(len(self.adding_replicas))
        for adding_replicas_element in self.adding_replicas:
            writer.write_int32(adding_replicas_element)
        writer.write_compact_array_length(len(self.removing_replicas))
        for removing_replicas_element in self.removing_replicas:
            writer.write_int32(removing_replicas_element)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OngoingTopicReassignment(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[OngoingPartitionReassignment] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[OngoingPartitionReassignment] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OngoingTopicReassignment":
        name = reader.compact_string()
        partitions: list[OngoingPartitionReassignment] = [
            OngoingPartitionReassignment.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return OngoingTopicReassignment(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ListPartitionReassignmentsResponse(Message):
    __slots__ = ("error_code", "error_message", "throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[OngoingTopicReassignment] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.topics: list[OngoingTopicReassignment] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListPartitionReassignmentsResponse":
        if version != 0:
            raise no_such_version("ListPartitionReassignmentsResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        topics: list[OngoingTopicReassignment] = [
            OngoingTopicReassignment.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return ListPartitionReassignmentsResponse(
            throttle_time_ms, error_code, error_message, topics, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ListPartitionReassignmentsResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
