"""ConsumerGroupDescribe: the state and the members of consumer groups (KIP-848).

Generated from definitions/consumer_group_describe.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class ConsumerGroupDescribeRequest(Message):
    __slots__ = ("group_ids", "include_authorized_operations")

    API_KEY: ClassVar[int] = 69
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("group_ids", "include_authorized_operations")

    def __init__(
        self,
        group_ids: list[str] = EMPTY,
        include_authorized_operations: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_ids: list[str] = [] if group_ids is EMPTY else group_ids
        self.include_authorized_operations: bool = include_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupDescribeRequest":
        if version < 0 or version > 1:
            raise no_such_version("ConsumerGroupDescribeRequest", version)
        group_ids: list[str] = [reader.compact_string() for _ in range(reader.compact_array_length())]
        include_authorized_operations = reader.boolean()
        unknown = reader.tagged_fields()
        return ConsumerGroupDescribeRequest(group_ids, include_authorized_operations, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("ConsumerGroupDescribeRequest", version)
        writer.write_compact_array_length(len(self.group_ids))
        for group_ids_element in self.group_ids:
            writer.write_compact_string(group_ids_element)
        writer.write_boolean(self.include_authorized_operations)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class TopicPartitions(Struct):
    __slots__ = ("partitions", "topic_id", "topic_name")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "topic_name", "partitions")

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        partitions: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id: bytes = topic_id
        self.topic_name: str = topic_name
        self.partitions: list[int] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TopicPartitions":
        topic_id = reader.uuid()
        topic_name = reader.compact_string()
        partitions: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return TopicPartitions(topic_id, topic_name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_uuid(self.topic_id)
        writer.write_compact_string(self.topic_name)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            writer.write_int32(partitions_element)
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
class Member(Struct):
    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "instance_id",
        "member_epoch",
        "member_id",
        "member_type",
        "rack_id",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "target_assignment",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "instance_id",
        "rack_id",
        "member_epoch",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "assignment",
        "target_assignment",
        "member_type",
    )

    def __init__(
        self,
        member_id: str = "",
        instance_id: str | None = None,
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = EMPTY,
        subscribed_topic_regex: str | None = None,
        assignment: Assignment | None = None,
        target_assignment: Assignment | None = None,
        member_type: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id: str = member_id
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.member_epoch: int = member_epoch
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.subscribed_topic_names: list[str] = (
            [] if subscribed_topic_names is EMPTY else subscribed_topic_names
        )
        self.subscribed_topic_regex: str | None = subscribed_topic_regex
        self.assignment: Assignment = Assignment() if assignment is None else assignment
        self.target_assignment: Assignment = Assignment() if target_assignment is None else target_assignment
        self.member_type: int = member_type
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "Member":
        member_id = reader.compact_string()
        instance_id = reader.compact_nullable_string()
        rack_id = reader.compact_nullable_string()
        member_epoch = reader.int32()
        client_id = reader.compact_string()
        client_host = reader.compact_string()
        subscribed_topic_names: list[str] = [
            reader.compact_string() for _ in range(reader.compact_array_length())
        ]
        subscribed_topic_regex = reader.compact_nullable_string()
        assignment = Assignment.decode(reader, version)
        target_assignment = Assignment.decode(reader, version)
        member_type: int = -1
        if version >= 1:
            member_type = reader.int8()
        unknown = reader.tagged_fields()
        return Member(
            member_id,
            instance_id,
            rack_id,
            member_epoch,
            client_id,
            client_host,
            subscribed_topic_names,
            subscribed_topic_regex,
            assignment,
            target_assignment,
            member_type,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.member_id)
        writer.write_compact_nullable_string(self.instance_id)
        writer.write_compact_nullable_string(self.rack_id)
        writer.write_int32(self.member_epoch)
        writer.write_compact_string(self.client_id)
        writer.write_compact_string(self.client_host)
        writer.write_compact_array_length(len(self.subscribed_topic_names))
        for subscribed_topic_names_element in self.subscribed_topic_names:
            writer.write_compact_string(subscribed_topic_names_element)
        writer.write_compact_nullable_string(self.subscribed_topic_regex)
        self.assignment.encode(writer, version)
        self.target_assignment.encode(writer, version)
        if version >= 1:
            writer.write_int8(self.member_type)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribedGroup(Struct):
    __slots__ = (
        "assignment_epoch",
        "assignor_name",
        "authorized_operations",
        "error_code",
        "error_message",
        "group_epoch",
        "group_id",
        "group_state",
        "members",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "assignor_name",
        "members",
        "authorized_operations",
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: list[Member] = EMPTY,
        authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.group_id: str = group_id
        self.group_state: str = group_state
        self.group_epoch: int = group_epoch
        self.assignment_epoch: int = assignment_epoch
        self.assignor_name: str = assignor_name
        self.members: list[Member] = [] if members is EMPTY else members
        self.authorized_operations: int = authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribedGroup":
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        group_id = reader.compact_string()
        group_state = reader.compact_string()
        group_epoch = reader.int32()
        assignment_epoch = reader.int32()
        assignor_name = reader.compact_string()
        members: list[Member] = [Member.decode(reader, version) for _ in range(reader.compact_array_length())]
        authorized_operations = reader.int32()
        unknown = reader.tagged_fields()
        return DescribedGroup(
            error_code,
            error_message,
            group_id,
            group_state,
            group_epoch,
            assignment_epoch,
            assignor_name,
            members,
            authorized_operations,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_compact_string(self.group_id)
        writer.write_compact_string(self.group_state)
        writer.write_int32(self.group_epoch)
        writer.write_int32(self.assignment_epoch)
        writer.write_compact_string(self.assignor_name)
        writer.write_compact_array_length(len(self.members))
        for members_element in self.members:
            members_element.encode(writer, version)
        writer.write_int32(self.authorized_operations)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ConsumerGroupDescribeResponse(Message):
    __slots__ = ("groups", "throttle_time_ms")

    API_KEY: ClassVar[int] = 69
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.groups: list[DescribedGroup] = [] if groups is EMPTY else groups
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupDescribeResponse":
        if version < 0 or version > 1:
            raise no_such_version("ConsumerGroupDescribeResponse", version)
        throttle_time_ms = reader.int32()
        groups: list[DescribedGroup] = [
            DescribedGroup.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return ConsumerGroupDescribeResponse(throttle_time_ms, groups, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("ConsumerGroupDescribeResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_compact_array_length(len(self.groups))
        for groups_element in self.groups:
            groups_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
