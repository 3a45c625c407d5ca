"""Records of __consumer_offsets: groups, their members and their offsets.

A key has the number of its kind before it, a value its version. Values grow by tagged fields only, so that
an older broker can still read them (KIP-915).

Generated from definitions/group_records.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class LegacyOffsetCommitKey(Message):
    __slots__ = ("group", "partition", "topic")

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("group", "topic", "partition")

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group: str = group
        self.topic: str = topic
        self.partition: int = partition
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "LegacyOffsetCommitKey":
        if version != 0:
            raise no_such_version("LegacyOffsetCommitKey", version)
        group = reader.string()
        topic = reader.string()
        partition = reader.int32()
        unknown: tuple[TaggedField, ...] = ()
        return LegacyOffsetCommitKey(group, topic, partition, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("LegacyOffsetCommitKey", version)
        writer.write_string(self.group)
        writer.write_string(self.topic)
        writer.write_int32(self.partition)


@final
class LegacyOffsetCommitValue(Message):
    __slots__ = ("commit_timestamp", "metadata", "offset")

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("offset", "metadata", "commit_timestamp")

    def __init__(
        self,
        offset: int = 0,
        metadata: str = "",
        commit_timestamp: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.offset: int = offset
        self.metadata: str = metadata
        self.commit_timestamp: int = commit_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "LegacyOffsetCommitValue":
        if version != 0:
            raise no_such_version("LegacyOffsetCommitValue", version)
        offset = reader.int64()
        metadata = reader.string()
        commit_timestamp = reader.int64()
        unknown: tuple[TaggedField, ...] = ()
        return LegacyOffsetCommitValue(offset, metadata, commit_timestamp, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("LegacyOffsetCommitValue", version)
        writer.write_int64(self.offset)
        writer.write_string(self.metadata)
        writer.write_int64(self.commit_timestamp)


@final
class OffsetCommitKey(Message):
    __slots__ = ("group", "partition", "topic")

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("group", "topic", "partition")

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group: str = group
        self.topic: str = topic
        self.partition: int = partition
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetCommitKey":
        if version != 0:
            raise no_such_version("OffsetCommitKey", version)
        group = reader.string()
        topic = reader.string()
        partition = reader.int32()
        unknown: tuple[TaggedField, ...] = ()
        return OffsetCommitKey(group, topic, partition, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("OffsetCommitKey", version)
        writer.write_string(self.group)
        writer.write_string(self.topic)
        writer.write_int32(self.partition)


@final
class OffsetCommitValue(Message):
    __slots__ = ("commit_timestamp", "expire_timestamp", "leader_epoch", "metadata", "offset", "topic_id")

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "offset",
        "leader_epoch",
        "metadata",
        "commit_timestamp",
        "expire_timestamp",
        "topic_id",
    )

    def __init__(
        self,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.offset: int = offset
        self.leader_epoch: int = leader_epoch
        self.metadata: str = metadata
        self.commit_timestamp: int = commit_timestamp
        self.expire_timestamp: int = expire_timestamp
        self.topic_id: bytes = topic_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetCommitValue":
        if version < 0 or version > 4:
            raise no_such_version("OffsetCommitValue", version)
        flexible = version >= 4
        offset = reader.int64()
        leader_epoch: int = -1
        if version >= 3:
            leader_epoch = reader.int32()
        metadata = reader.compact_string() if flexible else reader.string()
        commit_timestamp = reader.int64()
        expire_timestamp: int = -1
        if version == 1:
            expire_timestamp = reader.int64()
        elif version >= 2:
            pass
        topic_id: bytes = ZERO_UUID
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
                        topic_id = reader.uuid()
                    else:
                        kept.append((tag, reader.raw(end - reader.position)))
                    reader.expect_end(end)
                unknown = tuple(kept)
        return OffsetCommitValue(
            offset, leader_epoch, metadata, commit_timestamp, expire_timestamp, topic_id, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 4:
            raise no_such_version("OffsetCommitValue", version)
        flexible = version >= 4
        writer.write_int64(self.offset)
        if version >= 3:
            writer.write_int32(self.leader_epoch)
        if flexible:
            writer.write_compact_string(self.metadata)
        else:
            writer.write_string(self.metadata)
        writer.write_int64(self.commit_timestamp)
        if version == 1:
            writer.write_int64(self.expire_timestamp)
        elif version >= 2:
            pass
        tagged = self.unknown_tagged_fields
        if flexible and self.topic_id != ZERO_UUID:
            part = Writer()
            part.write_uuid(self.topic_id)
            tagged = (*tagged, (0, part.to_bytes()))
        if flexible:
            writer.write_tagged_fields(tagged)


@final
class GroupMetadataKey(Message):
    __slots__ = ("group",)

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("group",)

    def __init__(self, group: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.group: str = group
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "GroupMetadataKey":
        if version != 0:
            raise no_such_version("GroupMetadataKey", version)
        group = reader.string()
        unknown: tuple[TaggedField, ...] = ()
        return GroupMetadataKey(group, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("GroupMetadataKey", version)
        writer.write_string(self.group)


@final
class MemberMetadata(Struct):
    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "group_instance_id",
        "member_id",
        "rebalance_timeout",
        "session_timeout",
        "subscription",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "rebalance_timeout",
        "session_timeout",
        "subscription",
        "assignment",
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: bytes = b"",
        assignment: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.rebalance_timeout: int = rebalance_timeout
        self.session_timeout: int = session_timeout
        self.subscription: bytes = subscription
        self.assignment: bytes = assignment
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "MemberMetadata":
        flexible = version >= 4
        member_id = reader.compact_string() if flexible else reader.string()
        group_instance_id: str | None = None
        if version >= 3:
            group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        client_id = reader.compact_string() if flexible else reader.string()
        client_host = reader.compact_string() if flexible else reader.string()
        rebalance_timeout: int = -1
        if version >= 1:
            rebalance_timeout = reader.int32()
        session_timeout = reader.int32()
        subscription = reader.compact_bytes() if flexible else reader.bytes_()
        assignment = reader.compact_bytes() if flexible else reader.bytes_()
        unknown = reader.tagged_fields() if flexible else ()
        return MemberMetadata(
            member_id,
            group_instance_id,
            client_id,
            client_host,
            rebalance_timeout,
            session_timeout,
            subscription,
            assignment,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 4
        if flexible:
            writer.write_compact_string(self.member_id)
        else:
            writer.write_string(self.member_id)
        if version >= 3:
            if flexible:
                writer.write_compact_nullable_string(self.group_instance_id)
            else:
                writer.write_nullable_string(self.group_instance_id)
        if flexible:
            writer.write_compact_string(self.client_id)
        else:
            writer.write_string(self.client_id)
        if flexible:
            writer.write_compact_string(self.client_host)
        else:
            writer.write_string(self.client_host)
        if version >= 1:
            writer.write_int32(self.rebalance_timeout)
        writer.write_int32(self.session_timeout)
        if flexible:
            writer.write_compact_bytes(self.subscription)
        else:
            writer.write_bytes(self.subscription)
        if flexible:
            writer.write_compact_bytes(self.assignment)
        else:
            writer.write_bytes(self.assignment)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class GroupMetadataValue(Message):
    __slots__ = ("current_state_timestamp", "generation", "leader", "members", "protocol", "protocol_type")

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = (
        "protocol_type",
        "generation",
        "protocol",
        "leader",
        "current_state_timestamp",
        "members",
    )

    def __init__(
        self,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: list[MemberMetadata] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.protocol_type: str = protocol_type
        self.generation: int = generation
        self.protocol: str | None = protocol
        self.leader: str | None = leader
        self.current_state_timestamp: int = current_state_timestamp
        self.members: list[MemberMetadata] = [] if members is EMPTY else members
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "GroupMetadataValue":
        if version < 0 or version > 4:
            raise no_such_version("GroupMetadataValue", version)
        flexible = version >= 4
        protocol_type = reader.compact_string() if flexible else reader.string()
        generation = reader.int32()
        protocol = reader.compact_nullable_string() if flexible else reader.nullable_string()
        leader = reader.compact_nullable_string() if flexible else reader.nullable_string()
        current_state_timestamp: int = -1
        if version >= 2:
            current_state_timestamp = reader.int64()
        members: list[MemberMetadata] = [
            MemberMetadata.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return GroupMetadataValue(
            protocol_type, generation, protocol, leader, current_state_timestamp, members, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 4:
            raise no_such_version("GroupMetadataValue", version)
        flexible = version >= 4
        if flexible:
            writer.write_compact_string(self.protocol_type)
        else:
            writer.write_string(self.protocol_type)
        writer.write_int32(self.generation)
        if flexible:
            writer.write_compact_nullable_string(self.protocol)
        else:
            writer.write_nullable_string(self.protocol)
        if flexible:
            writer.write_compact_nullable_string(self.leader)
        else:
            writer.write_nullable_string(self.leader)
        if version >= 2:
            writer.write_int64(self.current_state_timestamp)
        if flexible:
            writer.write_compact_array_length(len(self.members))
        else:
            writer.write_array_length(len(self.members))
        for members_element in self.members:
            members_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ConsumerGroupMetadataKey(Message):
    __slots__ = ("group_id",)

    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id",)

    def __init__(self, group_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.group_id: str = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupMetadataKey":
        if version != 0:
            raise no_such_version("ConsumerGroupMetadataKey", version)
        group_id = reader.string()
        unknown: tuple[TaggedField, ...] = ()
        return ConsumerGroupMetadataKey(group_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupMetadataKey", version)
        writer.write_string(self.group_id)


@final
class ConsumerGroupMetadataValue(Message):
    __slots__ = ("epoch", "metadata_hash")

    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("epoch", "metadata_hash")

    def __init__(
        self, epoch: int = 0, metadata_hash: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.epoch: int = epoch
        self.metadata_hash: int = metadata_hash
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupMetadataValue":
        if version != 0:
            raise no_such_version("ConsumerGroupMetadataValue", version)
        epoch = reader.int32()
        metadata_hash: int = 0
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0:
                    metadata_hash = reader.int64()
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return ConsumerGroupMetadataValue(epoch, metadata_hash, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupMetadataValue", version)
        writer.write_int32(self.epoch)
        tagged = self.unknown_tagged_fields
        if self.metadata_hash != 0:
            part = Writer()
            part.write_int64(self.metadata_hash)
            tagged = (*tagged, (0, part.to_bytes()))
        writer.write_tagged_fields(tagged)


@final
class ConsumerGroupPartitionMetadataKey(Message):
    __slots__ = ("group_id",)

    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id",)

    def __init__(self, group_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.group_id: str = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupPartitionMetadataKey":
        if version != 0:
            raise no_such_version("ConsumerGroupPartitionMetadataKey", version)
        group_id = reader.string()
        unknown: tuple[TaggedField, ...] = ()
        return ConsumerGroupPartitionMetadataKey(group_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupPartitionMetadataKey", version)
        writer.write_string(self.group_id)


@final
class PartitionMetadata(Struct):
    __slots__ = ("partition", "racks")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition", "racks")

    def __init__(
        self,
        partition: int = 0,
        racks: list[str] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition: int = partition
        self.racks: list[str] = [] if racks is EMPTY else racks
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "PartitionMetadata":
        partition = reader.int32()
        racks: list[str] = [reader.compact_string() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return PartitionMetadata(partition, racks, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition)
        writer.write_compact_array_length(len(self.racks))
        for racks_element in self.racks:
            writer.write_compact_string(racks_element)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class TopicMetadata(Struct):
    __slots__ = ("num_partitions", "partition_metadata", "topic_id", "topic_name")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "topic_name", "num_partitions", "partition_metadata")

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        num_partitions: int = 0,
        partition_metadata: list[PartitionMetadata] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id: bytes = topic_id
        self.topic_name: str = topic_name
        self.num_partitions: int = num_partitions
        self.partition_metadata: list[PartitionMetadata] = (
            [] if partition_metadata is EMPTY else partition_metadata
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TopicMetadata":
        topic_id = reader.uuid()
        topic_name = reader.compact_string()
        num_partitions = reader.int32()
        partition_metadata: list[PartitionMetadata] = [
            PartitionMetadata.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return TopicMetadata(topic_id, topic_name, num_partitions, partition_metadata, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_uuid(self.topic_id)
        writer.write_compact_string(self.topic_name)
        writer.write_int32(self.num_partitions)
        writer.write_compact_array_length(len(self.partition_metadata))
        for partition_metadata_element in self.partition_metadata:
            partition_metadata_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ConsumerGroupPartitionMetadataValue(Message):
    __slots__ = ("topics",)

    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("topics",)

    def __init__(
        self, topics: list[TopicMetadata] = EMPTY, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.topics: list[TopicMetadata] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupPartitionMetadataValue":
        if version != 0:
            raise no_such_version("ConsumerGroupPartitionMetadataValue", version)
        topics: list[TopicMetadata] = [
            TopicMetadata.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return ConsumerGroupPartitionMetadataValue(topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupPartitionMetadataValue", version)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ConsumerGroupMemberMetadataKey(Message):
    __slots__ = ("group_id", "member_id")

    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id")

    def __init__(
        self, group_id: str = "", member_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupMemberMetadataKey":
        if version != 0:
            raise no_such_version("ConsumerGroupMemberMetadataKey", version)
        group_id = reader.string()
        member_id = reader.string()
        unknown: tuple[TaggedField, ...] = ()
        return ConsumerGroupMemberMetadataKey(group_id, member_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupMemberMetadataKey", version)
        writer.write_string(self.group_id)
        writer.write_string(self.member_id)


@final
class ClassicProtocol(Struct):
    __slots__ = ("metadata", "name")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "metadata")

    def __init__(
        self, name: str = "", metadata: bytes = b"", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.name: str = name
        self.metadata: bytes = metadata
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ClassicProtocol":
        name = reader.compact_string()
        metadata = reader.compact_bytes()
        unknown = reader.tagged_fields()
        return ClassicProtocol(name, metadata, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_bytes(self.metadata)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ClassicMemberMetadata(Struct):
    __slots__ = ("session_timeout_ms", "supported_protocols")

    FIELDS: ClassVar[tuple[str, ...]] = ("session_timeout_ms", "supported_protocols")

    def __init__(
        self,
        session_timeout_ms: int = 0,
        supported_protocols: list[ClassicProtocol] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.session_timeout_ms: int = session_timeout_ms
        self.supported_protocols: list[ClassicProtocol] = (
            [] if supported_protocols is EMPTY else supported_protocols
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ClassicMemberMetadata":
        session_timeout_ms = reader.int32()
        supported_protocols: list[ClassicProtocol] = [
            ClassicProtocol.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return ClassicMemberMetadata(session_timeout_ms, supported_protocols, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.session_timeout_ms)
        writer.write_compact_array_length(len(self.supported_protocols))
        for supported_protocols_element in self.supported_protocols:
            supported_protocols_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ConsumerGroupMemberMetadataValue(Message):
    __slots__ = (
        "classic_member_metadata",
        "client_host",
        "client_id",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "server_assignor",
        "subscribed_topic_names",
        "subscribed_topic_regex",
    )

    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "rebalance_timeout_ms",
        "server_assignor",
        "classic_member_metadata",
    )

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = EMPTY,
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ClassicMemberMetadata | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.subscribed_topic_names: list[str] = (
            [] if subscribed_topic_names is EMPTY else subscribed_topic_names
        )
        self.subscribed_topic_regex: str | None = subscribed_topic_regex
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.server_assignor: str | None = server_assignor
        self.classic_member_metadata: ClassicMemberMetadata | None = classic_member_metadata
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupMemberMetadataValue":
        if version != 0:
            raise no_such_version("ConsumerGroupMemberMetadataValue", version)
        instance_id = reader.compact_nullable_string()
        rack_id = reader.compact_nullable_string()
        client_id = reader.compact_string()
        client_host = reader.compact_string()
        subscribed_topic_names: list[str] = [
            reader.compact_string() for _ in range(reader.compact_array_length())
        ]
        subscribed_topic_regex = reader.compact_nullable_string()
        rebalance_timeout_ms = reader.int32()
        server_assignor = reader.compact_nullable_string()
        classic_member_metadata: ClassicMemberMetadata | None = ClassicMemberMetadata()
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0:
                    classic_member_metadata = (
                        ClassicMemberMetadata.decode(reader, version)
                        if reader.unsigned_varint() > 0
                        else None
                    )
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return ConsumerGroupMemberMetadataValue(
            instance_id,
            rack_id,
            client_id,
            client_host,
            subscribed_topic_names,
            subscribed_topic_regex,
            rebalance_timeout_ms,
            server_assignor,
            classic_member_metadata,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupMemberMetadataValue", version)
        writer.write_compact_nullable_string(self.instance_id)
        writer.write_compact_nullable_string(self.rack_id)
        writer.write_compact_string(self.client_id)
        writer.write_compact_string(self.client_host)
        writer.write_compact_array_length(len(self.subscribed_topic_names))
        for subscribed_topic_names_element in self.subscribed_topic_names:
            writer.write_compact_string(subscribed_topic_names_element)
        writer.write_compact_nullable_string(self.subscribed_topic_regex)
        writer.write_int32(self.rebalance_timeout_ms)
        writer.write_compact_nullable_string(self.server_assignor)
        tagged = self.unknown_tagged_fields
        if self.classic_member_metadata != ClassicMemberMetadata():
            part = Writer()
            if self.classic_member_metadata is None:
                part.write_unsigned_varint(0)
            else:
                part.write_unsigned_varint(1)
                self.classic_member_metadata.encode(part, version)
            tagged = (*tagged, (0, part.to_bytes()))
        writer.write_tagged_fields(tagged)


@final
class ConsumerGroupTargetAssignmentMetadataKey(Message):
    __slots__ = ("group_id",)

    API_KEY: ClassVar[int] = 6
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id",)

    def __init__(self, group_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.group_id: str = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupTargetAssignmentMetadataKey":
        if version != 0:
            raise no_such_version("ConsumerGroupTargetAssignmentMetadataKey", version)
        group_id = reader.string()
        unknown: tuple[TaggedField, ...] = ()
        return ConsumerGroupTargetAssignmentMetadataKey(group_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupTargetAssignmentMetadataKey", version)
        writer.write_string(self.group_id)


@final
class ConsumerGroupTargetAssignmentMetadataValue(Message):
    __slots__ = ("assignment_epoch", "assignment_timestamp")

    API_KEY: ClassVar[int] = 6
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("assignment_epoch", "assignment_timestamp")

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.assignment_epoch: int = assignment_epoch
        self.assignment_timestamp: int = assignment_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupTargetAssignmentMetadataValue":
        if version != 0:
            raise no_such_version("ConsumerGroupTargetAssignmentMetadataValue", version)
        assignment_epoch = reader.int32()
        assignment_timestamp: int = 0
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0:
                    assignment_timestamp = reader.int64()
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch, assignment_timestamp, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupTargetAssignmentMetadataValue", version)
        writer.write_int32(self.assignment_epoch)
        tagged = self.unknown_tagged_fields
        if self.assignment_timestamp != 0:
            part = Writer()
            part.write_int64(self.assignment_timestamp)
            tagged = (*tagged, (0, part.to_bytes()))
        writer.write_tagged_fields(tagged)


@final
class ConsumerGroupTargetAssignmentMemberKey(Message):
    __slots__ = ("group_id", "member_id")

    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id")

    def __init__(
        self, group_id: str = "", member_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupTargetAssignmentMemberKey":
        if version != 0:
            raise no_such_version("ConsumerGroupTargetAssignmentMemberKey", version)
        group_id = reader.string()
        member_id = reader.string()
        unknown: tuple[TaggedField, ...] = ()
        return ConsumerGroupTargetAssignmentMemberKey(group_id, member_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupTargetAssignmentMemberKey", version)
        writer.write_string(self.group_id)
        writer.write_string(self.member_id)


@final
class TopicPartition(Struct):
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
    def decode(reader: Reader, version: i64) -> "TopicPartition":
        topic_id = reader.uuid()
        partitions: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return TopicPartition(topic_id, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_uuid(self.topic_id)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            writer.write_int32(partitions_element)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ConsumerGroupTargetAssignmentMemberValue(Message):
    __slots__ = ("topic_partitions",)

    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_partitions",)

    def __init__(
        self,
        topic_partitions: list[TopicPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_partitions: list[TopicPartition] = [] if topic_partitions is EMPTY else topic_partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupTargetAssignmentMemberValue":
        if version != 0:
            raise no_such_version("ConsumerGroupTargetAssignmentMemberValue", version)
        topic_partitions: list[TopicPartition] = [
            TopicPartition.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return ConsumerGroupTargetAssignmentMemberValue(topic_partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupTargetAssignmentMemberValue", version)
        writer.write_compact_array_length(len(self.topic_partitions))
        for topic_partitions_element in self.topic_partitions:
            topic_partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ConsumerGroupCurrentMemberAssignmentKey(Message):
    __slots__ = ("group_id", "member_id")

    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id")

    def __init__(
        self, group_id: str = "", member_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupCurrentMemberAssignmentKey":
        if version != 0:
            raise no_such_version("ConsumerGroupCurrentMemberAssignmentKey", version)
        group_id = reader.string()
        member_id = reader.string()
        unknown: tuple[TaggedField, ...] = ()
        return ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupCurrentMemberAssignmentKey", version)
        writer.write_string(self.group_id)
        writer.write_string(self.member_id)


@final
class TopicPartitions(Struct):
    __slots__ = ("assignment_epochs", "partitions", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions", "assignment_epochs")

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = EMPTY,
        assignment_epochs: list[int] | None = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions
        self.assignment_epochs: list[int] | None = [] if assignment_epochs is EMPTY else assignment_epochs
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TopicPartitions":
        topic_id = reader.uuid()
        partitions: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        assignment_epochs: list[int] | None = []
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0:
                    count = reader.compact_nullable_array_length()
                    assignment_epochs = [reader.int32() for _ in range(count)] if count >= 0 else None
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return TopicPartitions(topic_id, partitions, assignment_epochs, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_uuid(self.topic_id)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            writer.write_int32(partitions_element)
        tagged = self.unknown_tagged_fields
        if self.assignment_epochs is None or self.assignment_epochs:
            part = Writer()
            if self.assignment_epochs is None:
                part.write_compact_array_length(-1)
            else:
                part.write_compact_array_length(len(self.assignment_epochs))
                for assignment_epochs_element in self.assignment_epochs:
                    part.write_int32(assignment_epochs_element)
            tagged = (*tagged, (0, part.to_bytes()))
        writer.write_tagged_fields(tagged)


@final
class ConsumerGroupCurrentMemberAssignmentValue(Message):
    __slots__ = (
        "assigned_partitions",
        "member_epoch",
        "partitions_pending_revocation",
        "previous_member_epoch",
        "state",
    )

    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "assigned_partitions",
        "partitions_pending_revocation",
    )

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[TopicPartitions] = EMPTY,
        partitions_pending_revocation: list[TopicPartitions] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_epoch: int = member_epoch
        self.previous_member_epoch: int = previous_member_epoch
        self.state: int = state
        self.assigned_partitions: list[TopicPartitions] = (
            [] if assigned_partitions is EMPTY else assigned_partitions
        )
        self.partitions_pending_revocation: list[TopicPartitions] = (
            [] if partitions_pending_revocation is EMPTY else partitions_pending_revocation
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupCurrentMemberAssignmentValue":
        if version != 0:
            raise no_such_version("ConsumerGroupCurrentMemberAssignmentValue", version)
        member_epoch = reader.int32()
        previous_member_epoch = reader.int32()
        state = reader.int8()
        assigned_partitions: list[TopicPartitions] = [
            TopicPartitions.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        partitions_pending_revocation: list[TopicPartitions] = [
            TopicPartitions.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch,
            previous_member_epoch,
            state,
            assigned_partitions,
            partitions_pending_revocation,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupCurrentMemberAssignmentValue", version)
        writer.write_int32(self.member_epoch)
        writer.write_int32(self.previous_member_epoch)
        writer.write_int8(self.state)
        writer.write_compact_array_length(len(self.assigned_partitions))
        for assigned_partitions_element in self.assigned_partitions:
            assigned_partitions_element.encode(writer, version)
        writer.write_compact_array_length(len(self.partitions_pending_revocation))
        for partitions_pending_revocation_element in self.partitions_pending_revocation:
            partitions_pending_revocation_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ConsumerGroupRegularExpressionKey(Message):
    __slots__ = ("group_id", "regular_expression")

    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "regular_expression")

    def __init__(
        self,
        group_id: str = "",
        regular_expression: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.regular_expression: str = regular_expression
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupRegularExpressionKey":
        if version != 0:
            raise no_such_version("ConsumerGroupRegularExpressionKey", version)
        group_id = reader.string()
        regular_expression = reader.string()
        unknown: tuple[TaggedField, ...] = ()
        return ConsumerGroupRegularExpressionKey(group_id, regular_expression, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupRegularExpressionKey", version)
        writer.write_string(self.group_id)
        writer.write_string(self.regular_expression)


@final
class ConsumerGroupRegularExpressionValue(Message):
    __slots__ = ("timestamp", "topics", "version")

    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "version", "timestamp")

    def __init__(
        self,
        topics: list[str] = EMPTY,
        version: int = 0,
        timestamp: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topics: list[str] = [] if topics is EMPTY else topics
        self.version: int = version
        self.timestamp: int = timestamp
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConsumerGroupRegularExpressionValue":
        if version != 0:
            raise no_such_version("ConsumerGroupRegularExpressionValue", version)
        topics: list[str] = [reader.compact_string() for _ in range(reader.compact_array_length())]
        version_ = reader.int64()
        timestamp = reader.int64()
        unknown = reader.tagged_fields()
        return ConsumerGroupRegularExpressionValue(topics, version_, timestamp, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConsumerGroupRegularExpressionValue", version)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            writer.write_compact_string(topics_element)
        writer.write_int64(self.version)
        writer.write_int64(self.timestamp)
        writer.write_tagged_fields(self.unknown_tagged_fields)
