"""AlterPartitionReassignments: move partitions to other brokers, or call that off (KIP-455).

Generated from definitions/alter_partition_reassignments.kafka by gralha.protocol.compiler: change that, not
this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class ReassignablePartition(Struct):
    __slots__ = ("partition_index", "replicas")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "replicas")

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.replicas: list[int] | None = replicas
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ReassignablePartition":
        partition_index = reader.int32()
        count = reader.compact_nullable_array_length()
        replicas: list[int] | None = [reader.int32() for _ in range(count)] if count >= 0 else None
        unknown = reader.tagged_fields()
        return ReassignablePartition(partition_index, replicas, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        if self.replicas is None:
            writer.write_compact_array_length(-1)
        else:
            writer.write_compact_array_length(len(self.replicas))
            for replicas_element in self.replicas:
                writer.write_int32(replicas_element)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ReassignableTopic(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[ReassignablePartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ReassignableTopic":
        name = reader.compact_string()
        partitions: list[ReassignablePartition] = [
            ReassignablePartition.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return ReassignableTopic(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterPartitionReassignmentsRequest(Message):
    __slots__ = ("allow_replication_factor_change", "timeout_ms", "topics")

    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("timeout_ms", "allow_replication_factor_change", "topics")

    def __init__(
        self,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: list[ReassignableTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.timeout_ms: int = timeout_ms
        self.allow_replication_factor_change: bool = allow_replication_factor_change
        self.topics: list[ReassignableTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterPartitionReassignmentsRequest":
        if version < 0 or version > 1:
            raise no_such_version("AlterPartitionReassignmentsRequest", version)
        timeout_ms = reader.int32()
        allow_replication_factor_change: bool = True
        if version >= 1:
            allow_replication_factor_change = reader.boolean()
        topics: list[ReassignableTopic] = [
            ReassignableTopic.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AlterPartitionReassignmentsRequest(
            timeout_ms, allow_replication_factor_change, topics, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("AlterPartitionReassignmentsRequest", version)
        writer.write_int32(self.timeout_ms)
        if version >= 1:
            writer.write_boolean(self.allow_replication_factor_change)
        elif not self.allow_replication_factor_change:
            raise not_in_version(
                "AlterPartitionReassignmentsRequest.allow_replication_factor_change", version
            )
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ReassignablePartitionResponse(Struct):
    __slots__ = ("error_code", "error_message", "partition_index")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code", "error_message")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ReassignablePartitionResponse":
        partition_index = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        unknown = reader.tagged_fields()
        return ReassignablePartitionResponse(partition_index, error_code, error_message, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ReassignableTopicResponse(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartitionResponse] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[ReassignablePartitionResponse] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ReassignableTopicResponse":
        name = reader.compact_string()
        partitions: list[ReassignablePartitionResponse] = [
            ReassignablePartitionResponse.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return ReassignableTopicResponse(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterPartitionReassignmentsResponse(Message):
    __slots__ = (
        "allow_replication_factor_change",
        "error_code",
        "error_message",
        "responses",
        "throttle_time_ms",
    )

    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "allow_replication_factor_change",
        "error_code",
        "error_message",
        "responses",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[ReassignableTopicResponse] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.allow_replication_factor_change: bool = allow_replication_factor_change
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.responses: list[ReassignableTopicResponse] = [] if responses is EMPTY else responses
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterPartitionReassignmentsResponse":
        if version < 0 or version > 1:
            raise no_such_version("AlterPartitionReassignmentsResponse", version)
        throttle_time_ms = reader.int32()
        allow_replication_factor_change: bool = True
        if version >= 1:
            allow_replication_factor_change = reader.boolean()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        responses: list[ReassignableTopicResponse] = [
            ReassignableTopicResponse.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AlterPartitionReassignmentsResponse(
            throttle_time_ms, allow_replication_factor_change, error_code, error_message, responses, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("AlterPartitionReassignmentsResponse", version)
        writer.write_int32(self.throttle_time_ms)
        if version >= 1:
            writer.write_boolean(self.allow_replication_factor_change)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_compact_array_length(len(self.responses))
        for responses_element in self.responses:
            responses_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
