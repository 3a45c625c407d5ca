"""CreatePartitions: give a topic more partitions.

Generated from definitions/create_partitions.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class CreatePartitionsAssignment(Struct):
    __slots__ = ("broker_ids",)

    FIELDS: ClassVar[tuple[str, ...]] = ("broker_ids",)

    def __init__(
        self, broker_ids: list[int] = EMPTY, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.broker_ids: list[int] = [] if broker_ids is EMPTY else broker_ids
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreatePartitionsAssignment":
        flexible = version >= 2
        broker_ids: list[int] = [
            reader.int32()
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return CreatePartitionsAssignment(broker_ids, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        if flexible:
            writer.write_compact_array_length(len(self.broker_ids))
        else:
            writer.write_array_length(len(self.broker_ids))
        for broker_ids_element in self.broker_ids:
            writer.write_int32(broker_ids_element)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CreatePartitionsTopic(Struct):
    __slots__ = ("assignments", "count", "name")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "count", "assignments")

    def __init__(
        self,
        name: str = "",
        count: int = 0,
        assignments: list[CreatePartitionsAssignment] | None = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.count: int = count
        self.assignments: list[CreatePartitionsAssignment] | None = (
            [] if assignments is EMPTY else assignments
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreatePartitionsTopic":
        flexible = version >= 2
        name = reader.compact_string() if flexible else reader.string()
        count_ = reader.int32()
        count = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
        assignments: list[CreatePartitionsAssignment] | None = (
            [CreatePartitionsAssignment.decode(reader, version) for _ in range(count)] if count >= 0 else None
        )
        unknown = reader.tagged_fields() if flexible else ()
        return CreatePartitionsTopic(name, count_, assignments, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        writer.write_int32(self.count)
        if self.assignments is None:
            if flexible:
                writer.write_compact_array_length(-1)
            else:
                writer.write_array_length(-1)
        else:
            if flexible:
                writer.write_compact_array_length(len(self.assignments))
            else:
                writer.write_array_length(len(self.assignments))
            for assignments_element in self.assignments:
                assignments_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CreatePartitionsRequest(Message):
    __slots__ = ("timeout_ms", "topics", "validate_only")

    API_KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "timeout_ms", "validate_only")

    def __init__(
        self,
        topics: list[CreatePartitionsTopic] = EMPTY,
        timeout_ms: int = 0,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics: list[CreatePartitionsTopic] = [] if topics is EMPTY else topics
        self.timeout_ms: int = timeout_ms
        self.validate_only: bool = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreatePartitionsRequest":
        if version < 0 or version > 3:
            raise no_such_version("CreatePartitionsRequest", version)
        flexible = version >= 2
        topics: list[CreatePartitionsTopic] = [
            CreatePartitionsTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        timeout_ms = reader.int32()
        validate_only = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return CreatePartitionsRequest(topics, timeout_ms, validate_only, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 3:
            raise no_such_version("CreatePartitionsRequest", version)
        flexible = version >= 2
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_int32(self.timeout_ms)
        writer.write_boolean(self.validate_only)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CreatePartitionsTopicResult(Struct):
    __slots__ = ("error_code", "error_message", "name")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "error_code", "error_message")

    def __init__(
        self,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreatePartitionsTopicResult":
        flexible = version >= 2
        name = reader.compact_string() if flexible else reader.string()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return CreatePartitionsTopicResult(name, error_code, error_message, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_nullable_string(self.error_message)
        else:
            writer.write_nullable_string(self.error_message)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CreatePartitionsResponse(Message):
    __slots__ = ("results", "throttle_time_ms")

    API_KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[CreatePartitionsTopicResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: list[CreatePartitionsTopicResult] = [] if results is EMPTY else results
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreatePartitionsResponse":
        if version < 0 or version > 3:
            raise no_such_version("CreatePartitionsResponse", version)
        flexible = version >= 2
        throttle_time_ms = reader.int32()
        results: list[CreatePartitionsTopicResult] = [
            CreatePartitionsTopicResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return CreatePartitionsResponse(throttle_time_ms, results, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 3:
            raise no_such_version("CreatePartitionsResponse", version)
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
