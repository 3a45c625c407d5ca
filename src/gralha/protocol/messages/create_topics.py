"""CreateTopics: make topics, with replicas placed by the controller or by the caller.

Generated from definitions/create_topics.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class CreatableReplicaAssignment(Struct):
    __slots__ = ("broker_ids", "partition_index")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "broker_ids")

    def __init__(
        self,
        partition_index: int = 0,
        broker_ids: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.broker_ids: list[int] = [] if broker_ids is EMPTY else broker_ids
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreatableReplicaAssignment":
        flexible = version >= 5
        partition_index = reader.int32()
        broker_ids: list[int] = [
            reader.int32()
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return CreatableReplicaAssignment(partition_index, broker_ids, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 5
        writer.write_int32(self.partition_index)
        if flexible:
            writer.write_compact_array_length(len(self.broker_ids))
        else:
            writer.write_array_length(len(self.broker_ids))
        for broker_ids_element in self.broker_ids:
            writer.write_int32(broker_ids_element)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CreatableTopicConfig(Struct):
    __slots__ = ("name", "value")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "value")

    def __init__(
        self, name: str = "", value: str | None = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.name: str = name
        self.value: str | None = value
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreatableTopicConfig":
        flexible = version >= 5
        name = reader.compact_string() if flexible else reader.string()
        value = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return CreatableTopicConfig(name, value, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 5
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        if flexible:
            writer.write_compact_nullable_string(self.value)
        else:
            writer.write_nullable_string(self.value)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CreatableTopic(Struct):
    __slots__ = ("assignments", "configs", "name", "num_partitions", "replication_factor")

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "num_partitions",
        "replication_factor",
        "assignments",
        "configs",
    )

    def __init__(
        self,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: list[CreatableReplicaAssignment] = EMPTY,
        configs: list[CreatableTopicConfig] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.num_partitions: int = num_partitions
        self.replication_factor: int = replication_factor
        self.assignments: list[CreatableReplicaAssignment] = [] if assignments is EMPTY else assignments
        self.configs: list[CreatableTopicConfig] = [] if configs is EMPTY else configs
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreatableTopic":
        flexible = version >= 5
        name = reader.compact_string() if flexible else reader.string()
        num_partitions = reader.int32()
        replication_factor = reader.int16()
        assignments: list[CreatableReplicaAssignment] = [
            CreatableReplicaAssignment.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        configs: list[CreatableTopicConfig] = [
            CreatableTopicConfig.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return CreatableTopic(name, num_partitions, replication_factor, assignments, configs, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 5
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        writer.write_int32(self.num_partitions)
        writer.write_int16(self.replication_factor)
        if flexible:
            writer.write_compact_array_length(len(self.assignments))
        else:
            writer.write_array_length(len(self.assignments))
        for assignments_element in self.assignments:
            assignments_element.encode(writer, version)
        if flexible:
            writer.write_compact_array_length(len(self.configs))
        else:
            writer.write_array_length(len(self.configs))
        for configs_element in self.configs:
            configs_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CreateTopicsRequest(Message):
    __slots__ = ("timeout_ms", "topics", "validate_only")

    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_FROM: ClassVar[int] = 5
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "timeout_ms", "validate_only")

    def __init__(
        self,
        topics: list[CreatableTopic] = EMPTY,
        timeout_ms: int = 60000,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics: list[CreatableTopic] = [] if topics is EMPTY else topics
        self.timeout_ms: int = timeout_ms
        self.validate_only: bool = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreateTopicsRequest":
        if version < 2 or version > 7:
            raise no_such_version("CreateTopicsRequest", version)
        flexible = version >= 5
        topics: list[CreatableTopic] = [
            CreatableTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        timeout_ms = reader.int32()
        validate_only = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return CreateTopicsRequest(topics, timeout_ms, validate_only, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 2 or version > 7:
            raise no_such_version("CreateTopicsRequest", version)
        flexible = version >= 5
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
class CreatableTopicConfigs(Struct):
    __slots__ = ("config_source", "is_sensitive", "name", "read_only", "value")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "value", "read_only", "config_source", "is_sensitive")

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.value: str | None = value
        self.read_only: bool = read_only
        self.config_source: int = config_source
        self.is_sensitive: bool = is_sensitive
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreatableTopicConfigs":
        name = reader.compact_string()
        value = reader.compact_nullable_string()
        read_only = reader.boolean()
        config_source = reader.int8()
        is_sensitive = reader.boolean()
        unknown = reader.tagged_fields()
        return CreatableTopicConfigs(name, value, read_only, config_source, is_sensitive, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_nullable_string(self.value)
        writer.write_boolean(self.read_only)
        writer.write_int8(self.config_source)
        writer.write_boolean(self.is_sensitive)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CreatableTopicResult(Struct):
    __slots__ = (
        "configs",
        "error_code",
        "error_message",
        "name",
        "num_partitions",
        "replication_factor",
        "topic_config_error_code",
        "topic_id",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "topic_id",
        "error_code",
        "error_message",
        "topic_config_error_code",
        "num_partitions",
        "replication_factor",
        "configs",
    )

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: list[CreatableTopicConfigs] | None = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.topic_config_error_code: int = topic_config_error_code
        self.num_partitions: int = num_partitions
        self.replication_factor: int = replication_factor
        self.configs: list[CreatableTopicConfigs] | None = [] if configs is EMPTY else configs
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreatableTopicResult":
        flexible = version >= 5
        name = reader.compact_string() if flexible else reader.string()
        topic_id: bytes = ZERO_UUID
        if version >= 7:
            topic_id = reader.uuid()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        num_partitions: int = -1
        if flexible:
            num_partitions = reader.int32()
        replication_factor: int = -1
        if flexible:
            replication_factor = reader.int16()
        configs: list[CreatableTopicConfigs] | None = []
        if flexible:
            count = reader.compact_nullable_array_length()
            configs = (
                [CreatableTopicConfigs.decode(reader, version) for _ in range(count)] if count >= 0 else None
            )
        topic_config_error_code: int = 0
        unknown: tuple[TaggedField, ...] = ()
        if flexible:
            tags = reader.unsigned_varint()
            if tags > 0:
                kept: list[TaggedField] = []
                tag: i64 = -1
                for _ in range(tags):
                    tag = reader.next_tag(tag)
                    end = reader.tagged_field_end()
                    if tag == 0:
                        topic_config_error_code = reader.int16()
                    else:
                        kept.append((tag, reader.raw(end - reader.position)))
                    reader.expect_end(end)
                unknown = tuple(kept)
        return CreatableTopicResult(
            name,
            topic_id,
            error_code,
            error_message,
            topic_config_error_code,
            num_partitions,
            replication_factor,
            configs,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 5
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        if version >= 7:
            writer.write_uuid(self.topic_id)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_nullable_string(self.error_message)
        else:
            writer.write_nullable_string(self.error_message)
        if flexible:
            writer.write_int32(self.num_partitions)
        if flexible:
            writer.write_int16(self.replication_factor)
        if flexible:
            if self.configs is None:
                writer.write_compact_array_length(-1)
            else:
                writer.write_compact_array_length(len(self.configs))
                for configs_element in self.configs:
                    configs_element.encode(writer, version)
        tagged = self.unknown_tagged_fields
        if flexible and self.topic_config_error_code != 0:
            part = Writer()
            part.write_int16(self.topic_config_error_code)
            tagged = (*tagged, (0, part.to_bytes()))
        if flexible:
            writer.write_tagged_fields(tagged)


@final
class CreateTopicsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_FROM: ClassVar[int] = 5
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[CreatableTopicResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[CreatableTopicResult] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreateTopicsResponse":
        if version < 2 or version > 7:
            raise no_such_version("CreateTopicsResponse", version)
        flexible = version >= 5
        throttle_time_ms = reader.int32()
        topics: list[CreatableTopicResult] = [
            CreatableTopicResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return CreateTopicsResponse(throttle_time_ms, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 2 or version > 7:
            raise no_such_version("CreateTopicsResponse", version)
        flexible = version >= 5
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
