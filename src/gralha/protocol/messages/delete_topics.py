"""DeleteTopics: remove topics, by name or by id.

Generated from definitions/delete_topics.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version, null_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class DeleteTopicState(Struct):
    __slots__ = ("name", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id")

    def __init__(
        self,
        name: str | None = None,
        topic_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str | None = name
        self.topic_id: bytes = topic_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteTopicState":
        name = reader.compact_nullable_string()
        topic_id = reader.uuid()
        unknown = reader.tagged_fields()
        return DeleteTopicState(name, topic_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_nullable_string(self.name)
        writer.write_uuid(self.topic_id)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DeleteTopicsRequest(Message):
    __slots__ = ("timeout_ms", "topic_names", "topics")

    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "topic_names", "timeout_ms")

    def __init__(
        self,
        topics: list[DeleteTopicState] = EMPTY,
        topic_names: list[str] = EMPTY,
        timeout_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics: list[DeleteTopicState] = [] if topics is EMPTY else topics
        self.topic_names: list[str] = [] if topic_names is EMPTY else topic_names
        self.timeout_ms: int = timeout_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteTopicsRequest":
        if version < 1 or version > 6:
            raise no_such_version("DeleteTopicsRequest", version)
        flexible = version >= 4
        topics: list[DeleteTopicState] = []
        if version >= 6:
            topics = [DeleteTopicState.decode(reader, version) for _ in range(reader.compact_array_length())]
        topic_names: list[str] = []
        if version <= 5:
            topic_names = [
                reader.compact_string() if flexible else reader.string()
                for _ in range(reader.compact_array_length() if flexible else reader.array_length())
            ]
        timeout_ms = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteTopicsRequest(topics, topic_names, timeout_ms, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 6:
            raise no_such_version("DeleteTopicsRequest", version)
        flexible = version >= 4
        if version >= 6:
            writer.write_compact_array_length(len(self.topics))
            for topics_element in self.topics:
                topics_element.encode(writer, version)
        elif self.topics:
            raise not_in_version("DeleteTopicsRequest.topics", version)
        if version <= 5:
            if flexible:
                writer.write_compact_array_length(len(self.topic_names))
            else:
                writer.write_array_length(len(self.topic_names))
            for topic_names_element in self.topic_names:
                if flexible:
                    writer.write_compact_string(topic_names_element)
                else:
                    writer.write_string(topic_names_element)
        writer.write_int32(self.timeout_ms)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DeletableTopicResult(Struct):
    __slots__ = ("error_code", "error_message", "name", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "error_code", "error_message")

    def __init__(
        self,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str | None = name
        self.topic_id: bytes = topic_id
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeletableTopicResult":
        flexible = version >= 4
        name: str | None = ""
        if version >= 6:
            name = reader.compact_nullable_string()
        else:
            name = reader.compact_string() if flexible else reader.string()
        topic_id: bytes = ZERO_UUID
        if version >= 6:
            topic_id = reader.uuid()
        error_code = reader.int16()
        error_message: str | None = None
        if version >= 5:
            error_message = reader.compact_nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return DeletableTopicResult(name, topic_id, error_code, error_message, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 4
        if version >= 6:
            writer.write_compact_nullable_string(self.name)
        else:
            if self.name is None:
                raise null_in_version("DeletableTopicResult.name", version)
            if flexible:
                writer.write_compact_string(self.name)
            else:
                writer.write_string(self.name)
        if version >= 6:
            writer.write_uuid(self.topic_id)
        writer.write_int16(self.error_code)
        if version >= 5:
            writer.write_compact_nullable_string(self.error_message)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DeleteTopicsResponse(Message):
    __slots__ = ("responses", "throttle_time_ms")

    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "responses")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[DeletableTopicResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.responses: list[DeletableTopicResult] = [] if responses is EMPTY else responses
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteTopicsResponse":
        if version < 1 or version > 6:
            raise no_such_version("DeleteTopicsResponse", version)
        flexible = version >= 4
        throttle_time_ms = reader.int32()
        responses: list[DeletableTopicResult] = [
            DeletableTopicResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteTopicsResponse(throttle_time_ms, responses, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 6:
            raise no_such_version("DeleteTopicsResponse", version)
        flexible = version >= 4
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.responses))
        else:
            writer.write_array_length(len(self.responses))
        for responses_element in self.responses:
            responses_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
