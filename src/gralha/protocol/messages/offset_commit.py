"""OffsetCommit: a group keeps how far it has come in partitions.

Topics have names up to version 9, ids from version 10 on.

Generated from definitions/offset_commit.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class OffsetCommitRequestPartition(Struct):
    __slots__ = ("committed_leader_epoch", "committed_metadata", "committed_offset", "partition_index")

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "committed_metadata",
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.committed_offset: int = committed_offset
        self.committed_leader_epoch: int = committed_leader_epoch
        self.committed_metadata: str | None = committed_metadata
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetCommitRequestPartition":
        flexible = version >= 8
        partition_index = reader.int32()
        committed_offset = reader.int64()
        committed_leader_epoch: int = -1
        if version >= 6:
            committed_leader_epoch = reader.int32()
        committed_metadata = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetCommitRequestPartition(
            partition_index, committed_offset, committed_leader_epoch, committed_metadata, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 8
        writer.write_int32(self.partition_index)
        writer.write_int64(self.committed_offset)
        if version >= 6:
            writer.write_int32(self.committed_leader_epoch)
        if flexible:
            writer.write_compact_nullable_string(self.committed_metadata)
        else:
            writer.write_nullable_string(self.committed_metadata)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetCommitRequestTopic(Struct):
    __slots__ = ("name", "partitions", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "partitions")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[OffsetCommitRequestPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.partitions: list[OffsetCommitRequestPartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetCommitRequestTopic":
        flexible = version >= 8
        name: str = ""
        if version <= 9:
            name = reader.compact_string() if flexible else reader.string()
        topic_id: bytes = ZERO_UUID
        if version >= 10:
            topic_id = reader.uuid()
        partitions: list[OffsetCommitRequestPartition] = [
            OffsetCommitRequestPartition.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetCommitRequestTopic(name, topic_id, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 8
        if version <= 9:
            if flexible:
                writer.write_compact_string(self.name)
            else:
                writer.write_string(self.name)
        if version >= 10:
            writer.write_uuid(self.topic_id)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetCommitRequest(Message):
    __slots__ = (
        "generation_id_or_member_epoch",
        "group_id",
        "group_instance_id",
        "member_id",
        "retention_time_ms",
        "topics",
    )

    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 8
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "generation_id_or_member_epoch",
        "member_id",
        "group_instance_id",
        "retention_time_ms",
        "topics",
    )

    def __init__(
        self,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: list[OffsetCommitRequestTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.generation_id_or_member_epoch: int = generation_id_or_member_epoch
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.retention_time_ms: int = retention_time_ms
        self.topics: list[OffsetCommitRequestTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetCommitRequest":
        if version < 2 or version > 10:
            raise no_such_version("OffsetCommitRequest", version)
        flexible = version >= 8
        group_id = reader.compact_string() if flexible else reader.string()
        generation_id_or_member_epoch = reader.int32()
        member_id = reader.compact_string() if flexible else reader.string()
        group_instance_id: str | None = None
        if version >= 7:
            group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        retention_time_ms: int = -1
        if version <= 4:
            retention_time_ms = reader.int64()
        topics: list[OffsetCommitRequestTopic] = [
            OffsetCommitRequestTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetCommitRequest(
            group_id,
            generation_id_or_member_epoch,
            member_id,
            group_instance_id,
            retention_time_ms,
            topics,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 2 or version > 10:
            raise no_such_version("OffsetCommitRequest", version)
        flexible = version >= 8
        if flexible:
            writer.write_compact_string(self.group_id)
        else:
            writer.write_string(self.group_id)
        writer.write_int32(self.generation_id_or_member_epoch)
        if flexible:
            writer.write_compact_string(self.member_id)
        else:
            writer.write_string(self.member_id)
        if version >= 7:
            if flexible:
                writer.write_compact_nullable_string(self.group_instance_id)
            else:
                writer.write_nullable_string(self.group_instance_id)
        elif self.group_instance_id is not None:
            raise not_in_version("OffsetCommitRequest.group_instance_id", version)
        if version <= 4:
            writer.write_int64(self.retention_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetCommitResponsePartition(Struct):
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
    def decode(reader: Reader, version: i64) -> "OffsetCommitResponsePartition":
        flexible = version >= 8
        partition_index = reader.int32()
        error_code = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetCommitResponsePartition(partition_index, error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 8
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetCommitResponseTopic(Struct):
    __slots__ = ("name", "partitions", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "partitions")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[OffsetCommitResponsePartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.partitions: list[OffsetCommitResponsePartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetCommitResponseTopic":
        flexible = version >= 8
        name: str = ""
        if version <= 9:
            name = reader.compact_string() if flexible else reader.string()
        topic_id: bytes = ZERO_UUID
        if version >= 10:
            topic_id = reader.uuid()
        partitions: list[OffsetCommitResponsePartition] = [
            OffsetCommitResponsePartition.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetCommitResponseTopic(name, topic_id, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 8
        if version <= 9:
            if flexible:
                writer.write_compact_string(self.name)
            else:
                writer.write_string(self.name)
        if version >= 10:
            writer.write_uuid(self.topic_id)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetCommitResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 8
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetCommitResponseTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[OffsetCommitResponseTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetCommitResponse":
        if version < 2 or version > 10:
            raise no_such_version("OffsetCommitResponse", version)
        flexible = version >= 8
        throttle_time_ms: int = 0
        if version >= 3:
            throttle_time_ms = reader.int32()
        topics: list[OffsetCommitResponseTopic] = [
            OffsetCommitResponseTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetCommitResponse(throttle_time_ms, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 2 or version > 10:
            raise no_such_version("OffsetCommitResponse", version)
        flexible = version >= 8
        if version >= 3:
            writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
