"""What consumers tell each other through a classic group: subscriptions and assignments.

The bytes that a coordinator passes on and hardly ever looks into. Each has its version before it; readers
take a newer version for the newest that they know, so new fields come at the end.

Generated from definitions/consumer_protocol.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class TopicPartition(Struct):
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
    def decode(reader: Reader, version: i64) -> "TopicPartition":
        topic = reader.string()
        partitions: list[int] = [reader.int32() for _ in range(reader.array_length())]
        unknown: tuple[TaggedField, ...] = ()
        return TopicPartition(topic, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_string(self.topic)
        writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            writer.write_int32(partitions_element)


@final
class ConsumerProtocolSubscription(Message):
    __slots__ = ("generation_id", "owned_partitions", "rack_id", "topics", "user_data")

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "user_data",
        "owned_partitions",
        "generation_id",
        "rack_id",
    )

    def __init__(
        self,
        topics: list[str] = EMPTY,
        user_data: bytes | None = None,
        owned_partitions: list[TopicPartition] = EMPTY,
        generation_id: int = -1,
        rack_id: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics: list[str] = [] if topics is EMPTY else topics
        self.user_data: bytes | None = user_data
        self.owned_partitions: list[TopicPartition] = [] if owned_partitions is EMPTY else owned_partitions
        self.generation_id: int = generation_id
        self.rack_id: str | None = rack_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerProtocolSubscription":
        if version < 0 or version > 3:
            raise no_such_version("ConsumerProtocolSubscription", version)
        topics: list[str] = [reader.string() for _ in range(reader.array_length())]
        user_data = reader.nullable_bytes()
        owned_partitions: list[TopicPartition] = []
        if version >= 1:
            owned_partitions = [TopicPartition.decode(reader, version) for _ in range(reader.array_length())]
        generation_id: int = -1
        if version >= 2:
            generation_id = reader.int32()
        rack_id: str | None = None
        if version >= 3:
            rack_id = reader.nullable_string()
        unknown: tuple[TaggedField, ...] = ()
        return ConsumerProtocolSubscription(
            topics, user_data, owned_partitions, generation_id, rack_id, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 3:
            raise no_such_version("ConsumerProtocolSubscription", version)
        writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            writer.write_string(topics_element)
        writer.write_nullable_bytes(self.user_data)
        if version >= 1:
            writer.write_array_length(len(self.owned_partitions))
            for owned_partitions_element in self.owned_partitions:
                owned_partitions_element.encode(writer, version)
        if version >= 2:
            writer.write_int32(self.generation_id)
        if version >= 3:
            writer.write_nullable_string(self.rack_id)


@final
class ConsumerProtocolAssignment(Message):
    __slots__ = ("assigned_partitions", "user_data")

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = ("assigned_partitions", "user_data")

    def __init__(
        self,
        assigned_partitions: list[TopicPartition] = EMPTY,
        user_data: bytes | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.assigned_partitions: list[TopicPartition] = (
            [] if assigned_partitions is EMPTY else assigned_partitions
        )
        self.user_data: bytes | None = user_data
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerProtocolAssignment":
        if version < 0 or version > 3:
            raise no_such_version("ConsumerProtocolAssignment", version)
        assigned_partitions: list[TopicPartition] = [
            TopicPartition.decode(reader, version) for _ in range(reader.array_length())
        ]
        user_data = reader.nullable_bytes()
        unknown: tuple[TaggedField, ...] = ()
        return ConsumerProtocolAssignment(assigned_partitions, user_data, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 3:
            raise no_such_version("ConsumerProtocolAssignment", version)
        writer.write_array_length(len(self.assigned_partitions))
        for assigned_partitions_element in self.assigned_partitions:
            assigned_partitions_element.encode(writer, version)
        writer.write_nullable_bytes(self.user_data)
