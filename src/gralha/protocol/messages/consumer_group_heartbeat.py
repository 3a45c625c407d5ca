"""ConsumerGroupHeartbeat: the one request of members of a consumer group (KIP-848).

It joins, says what has changed since the last one, and leaves; the answer has what has changed for the
member. Member ids are the member's own choice from version 1 on (KIP-1082).

Generated from definitions/consumer_group_heartbeat.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class TopicPartitions(Struct):
    __slots__ = ("partitions", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TopicPartitions":
        topic_id = reader.uuid()
        partitions: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return TopicPartitions(topic_id, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_uuid(self.topic_id)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            writer.write_int32(partitions_element)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ConsumerGroupHeartbeatRequest(Message):
    __slots__ = (
        "group_id",
        "instance_id",
        "member_epoch",
        "member_id",
        "rack_id",
        "rebalance_timeout_ms",
        "server_assignor",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "topic_partitions",
    )

    API_KEY: ClassVar[int] = 68
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "server_assignor",
        "topic_partitions",
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: list[TopicPartitions] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.member_epoch: int = member_epoch
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.subscribed_topic_names: list[str] | None = subscribed_topic_names
        self.subscribed_topic_regex: str | None = subscribed_topic_regex
        self.server_assignor: str | None = server_assignor
        self.topic_partitions: list[TopicPartitions] | None = topic_partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupHeartbeatRequest":
        if version < 0 or version > 1:
            raise no_such_version("ConsumerGroupHeartbeatRequest", version)
        group_id = reader.compact_string()
        member_id = reader.compact_string()
        member_epoch = reader.int32()
        instance_id = reader.compact_nullable_string()
        rack_id = reader.compact_nullable_string()
        rebalance_timeout_ms = reader.int32()
        count = reader.compact_nullable_array_length()
        subscribed_topic_names: list[str] | None = (
            [reader.compact_string() for _ in range(count)] if count >= 0 else None
        )
        subscribed_topic_regex: str | None = None
        if version >= 1:
            subscribed_topic_regex = reader.compact_nullable_string()
        server_assignor = reader.compact_nullable_string()
        count = reader.compact_nullable_array_length()
        topic_partitions: list[TopicPartitions] | None = (
            [TopicPartitions.decode(reader, version) for _ in range(count)] if count >= 0 else None
        )
        unknown = reader.tagged_fields()
        return ConsumerGroupHeartbeatRequest(
            group_id,
            member_id,
            member_epoch,
            instance_id,
            rack_id,
            rebalance_timeout_ms,
            subscribed_topic_names,
            subscribed_topic_regex,
            server_assignor,
            topic_partitions,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("ConsumerGroupHeartbeatRequest", version)
        writer.write_compact_string(self.group_id)
        writer.write_compact_string(self.member_id)
        writer.write_int32(self.member_epoch)
        writer.write_compact_nullable_string(self.instance_id)
        writer.write_compact_nullable_string(self.rack_id)
        writer.write_int32(self.rebalance_timeout_ms)
        if self.subscribed_topic_names is None:
            writer.write_compact_array_length(-1)
        else:
            writer.write_compact_array_length(len(self.subscribed_topic_names))
            for subscribed_topic_names_element in self.subscribed_topic_names:
                writer.write_compact_string(subscribed_topic_names_element)
        if version >= 1:
            writer.write_compact_nullable_string(self.subscribed_topic_regex)
        elif self.subscribed_topic_regex is not None:
            raise not_in_version("ConsumerGroupHeartbeatRequest.subscribed_topic_regex", version)
        writer.write_compact_nullable_string(self.server_assignor)
        if self.topic_partitions is None:
            writer.write_compact_array_length(-1)
        else:
            writer.write_compact_array_length(len(self.topic_partitions))
            for topic_partitions_element in self.topic_partitions:
                topic_partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class Assignment(Struct):
    __slots__ = ("topic_partitions",)

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_partitions",)

    def __init__(
        self,
        topic_partitions: list[TopicPartitions] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_partitions: list[TopicPartitions] = [] if topic_partitions is EMPTY else topic_partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "Assignment":
        topic_partitions: list[TopicPartitions] = [
            TopicPartitions.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return Assignment(topic_partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_array_length(len(self.topic_partitions))
        for topic_partitions_element in self.topic_partitions:
            topic_partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ConsumerGroupHeartbeatResponse(Message):
    __slots__ = (
        "assignment",
        "error_code",
        "error_message",
        "heartbeat_interval_ms",
        "member_epoch",
        "member_id",
        "throttle_time_ms",
    )

    API_KEY: ClassVar[int] = 68
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "assignment",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: Assignment | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.member_id: str | None = member_id
        self.member_epoch: int = member_epoch
        self.heartbeat_interval_ms: int = heartbeat_interval_ms
        self.assignment: Assignment | None = assignment
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupHeartbeatResponse":
        if version < 0 or version > 1:
            raise no_such_version("ConsumerGroupHeartbeatResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        member_id = reader.compact_nullable_string()
        member_epoch = reader.int32()
        heartbeat_interval_ms = reader.int32()
        assignment = Assignment.decode(reader, version) if reader.int8() >= 0 else None
        unknown = reader.tagged_fields()
        return ConsumerGroupHeartbeatResponse(
            throttle_time_ms,
            error_code,
            error_message,
            member_id,
            member_epoch,
            heartbeat_interval_ms,
            assignment,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("ConsumerGroupHeartbeatResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_compact_nullable_string(self.member_id)
        writer.write_int32(self.member_epoch)
        writer.write_int32(self.heartbeat_interval_ms)
        if self.assignment is None:
            writer.write_int8(-1)
        else:
            writer.write_int8(1)
            self.assignment.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
