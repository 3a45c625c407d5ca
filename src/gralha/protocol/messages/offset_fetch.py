"""OffsetFetch: how far groups have come in partitions.

One group up to version 7, several from version 8 on (KIP-709); topic ids instead of names in version 10.

Generated from definitions/offset_fetch.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version, null_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class OffsetFetchRequestTopic(Struct):
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
    def decode(reader: Reader, version: i64) -> "OffsetFetchRequestTopic":
        flexible = version >= 6
        name = reader.compact_string() if flexible else reader.string()
        partition_indexes: list[int] = [
            reader.int32()
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetFetchRequestTopic(name, partition_indexes, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 6
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        if flexible:
            writer.write_compact_array_length(len(self.partition_indexes))
        else:
            writer.write_array_length(len(self.partition_indexes))
        for partition_indexes_element in self.partition_indexes:
            writer.write_int32(partition_indexes_element)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetFetchRequestTopics(Struct):
    __slots__ = ("name", "partition_indexes", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "partition_indexes")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_indexes: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.partition_indexes: list[int] = [] if partition_indexes is EMPTY else partition_indexes
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetFetchRequestTopics":
        name: str = ""
        if version <= 9:
            name = reader.compact_string()
        topic_id: bytes = ZERO_UUID
        if version >= 10:
            topic_id = reader.uuid()
        partition_indexes: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return OffsetFetchRequestTopics(name, topic_id, partition_indexes, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version <= 9:
            writer.write_compact_string(self.name)
        if version >= 10:
            writer.write_uuid(self.topic_id)
        writer.write_compact_array_length(len(self.partition_indexes))
        for partition_indexes_element in self.partition_indexes:
            writer.write_int32(partition_indexes_element)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetFetchRequestGroup(Struct):
    __slots__ = ("group_id", "member_epoch", "member_id", "topics")

    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id", "member_epoch", "topics")

    def __init__(
        self,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: list[OffsetFetchRequestTopics] | None = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str | None = member_id
        self.member_epoch: int = member_epoch
        self.topics: list[OffsetFetchRequestTopics] | None = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetFetchRequestGroup":
        group_id = reader.compact_string()
        member_id: str | None = None
        if version >= 9:
            member_id = reader.compact_nullable_string()
        member_epoch: int = -1
        if version >= 9:
            member_epoch = reader.int32()
        count = reader.compact_nullable_array_length()
        topics: list[OffsetFetchRequestTopics] | None = (
            [OffsetFetchRequestTopics.decode(reader, version) for _ in range(count)] if count >= 0 else None
        )
        unknown = reader.tagged_fields()
        return OffsetFetchRequestGroup(group_id, member_id, member_epoch, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.group_id)
        if version >= 9:
            writer.write_compact_nullable_string(self.member_id)
        if version >= 9:
            writer.write_int32(self.member_epoch)
        if self.topics is None:
            writer.write_compact_array_length(-1)
        else:
            writer.write_compact_array_length(len(self.topics))
            for topics_element in self.topics:
                topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetFetchRequest(Message):
    __slots__ = ("group_id", "groups", "require_stable", "topics")

    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topics", "groups", "require_stable")

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchRequestTopic] | None = EMPTY,
        groups: list[OffsetFetchRequestGroup] = EMPTY,
        require_stable: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.topics: list[OffsetFetchRequestTopic] | None = [] if topics is EMPTY else topics
        self.groups: list[OffsetFetchRequestGroup] = [] if groups is EMPTY else groups
        self.require_stable: bool = require_stable
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetFetchRequest":
        if version < 1 or version > 10:
            raise no_such_version("OffsetFetchRequest", version)
        flexible = version >= 6
        group_id: str = ""
        if version <= 7:
            group_id = reader.compact_string() if flexible else reader.string()
        topics: list[OffsetFetchRequestTopic] | None = []
        if 2 <= version <= 7:
            count = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
            topics = (
                [OffsetFetchRequestTopic.decode(reader, version) for _ in range(count)]
                if count >= 0
                else None
            )
        elif version <= 1:
            topics = [OffsetFetchRequestTopic.decode(reader, version) for _ in range(reader.array_length())]
        groups: list[OffsetFetchRequestGroup] = []
        if version >= 8:
            groups = [
                OffsetFetchRequestGroup.decode(reader, version) for _ in range(reader.compact_array_length())
            ]
        require_stable: bool = False
        if version >= 7:
            require_stable = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetFetchRequest(group_id, topics, groups, require_stable, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 10:
            raise no_such_version("OffsetFetchRequest", version)
        flexible = version >= 6
        if version <= 7:
            if flexible:
                writer.write_compact_string(self.group_id)
            else:
                writer.write_string(self.group_id)
        elif self.group_id != "":
            raise not_in_version("OffsetFetchRequest.group_id", version)
        if 2 <= version <= 7:
            if self.topics is None:
                if flexible:
                    writer.write_compact_array_length(-1)
                else:
                    writer.write_array_length(-1)
            else:
                if flexible:
                    writer.write_compact_array_length(len(self.topics))
                else:
                    writer.write_array_length(len(self.topics))
                for topics_element in self.topics:
                    topics_element.encode(writer, version)
        elif version <= 1:
            if self.topics is None:
                raise null_in_version("OffsetFetchRequest.topics", version)
            writer.write_array_length(len(self.topics))
            for topics_element in self.topics:
                topics_element.encode(writer, version)
        elif self.topics is None or self.topics:
            raise not_in_version("OffsetFetchRequest.topics", version)
        if version >= 8:
            writer.write_compact_array_length(len(self.groups))
            for groups_element in self.groups:
                groups_element.encode(writer, version)
        elif self.groups:
            raise not_in_version("OffsetFetchRequest.groups", version)
        if version >= 7:
            writer.write_boolean(self.require_stable)
        elif self.require_stable:
            raise not_in_version("OffsetFetchRequest.require_stable", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetFetchResponsePartition(Struct):
    __slots__ = ("committed_leader_epoch", "committed_offset", "error_code", "metadata", "partition_index")

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "metadata",
        "error_code",
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.committed_offset: int = committed_offset
        self.committed_leader_epoch: int = committed_leader_epoch
        self.metadata: str | None = metadata
        self.error_code: int = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetFetchResponsePartition":
        flexible = version >= 6
        partition_index = reader.int32()
        committed_offset = reader.int64()
        committed_leader_epoch: int = -1
        if version >= 5:
            committed_leader_epoch = reader.int32()
        metadata = reader.compact_nullable_string() if flexible else reader.nullable_string()
        error_code = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetFetchResponsePartition(
            partition_index, committed_offset, committed_leader_epoch, metadata, error_code, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 6
        writer.write_int32(self.partition_index)
        writer.write_int64(self.committed_offset)
        if version >= 5:
            writer.write_int32(self.committed_leader_epoch)
        if flexible:
            writer.write_compact_nullable_string(self.metadata)
        else:
            writer.write_nullable_string(self.metadata)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetFetchResponseTopic(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetFetchResponsePartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[OffsetFetchResponsePartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetFetchResponseTopic":
        flexible = version >= 6
        name = reader.compact_string() if flexible else reader.string()
        partitions: list[OffsetFetchResponsePartition] = [
            OffsetFetchResponsePartition.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetFetchResponseTopic(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 6
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetFetchResponsePartitions(Struct):
    __slots__ = ("committed_leader_epoch", "committed_offset", "error_code", "metadata", "partition_index")

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "metadata",
        "error_code",
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.committed_offset: int = committed_offset
        self.committed_leader_epoch: int = committed_leader_epoch
        self.metadata: str | None = metadata
        self.error_code: int = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetFetchResponsePartitions":
        partition_index = reader.int32()
        committed_offset = reader.int64()
        committed_leader_epoch = reader.int32()
        metadata = reader.compact_nullable_string()
        error_code = reader.int16()
        unknown = reader.tagged_fields()
        return OffsetFetchResponsePartitions(
            partition_index, committed_offset, committed_leader_epoch, metadata, error_code, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_int64(self.committed_offset)
        writer.write_int32(self.committed_leader_epoch)
        writer.write_compact_nullable_string(self.metadata)
        writer.write_int16(self.error_code)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetFetchResponseTopics(Struct):
    __slots__ = ("name", "partitions", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "partitions")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[OffsetFetchResponsePartitions] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.partitions: list[OffsetFetchResponsePartitions] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetFetchResponseTopics":
        name: str = ""
        if version <= 9:
            name = reader.compact_string()
        topic_id: bytes = ZERO_UUID
        if version >= 10:
            topic_id = reader.uuid()
        partitions: list[OffsetFetchResponsePartitions] = [
            OffsetFetchResponsePartitions.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return OffsetFetchResponseTopics(name, topic_id, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version <= 9:
            writer.write_compact_string(self.name)
        if version >= 10:
            writer.write_uuid(self.topic_id)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetFetchResponseGroup(Struct):
    __slots__ = ("error_code", "group_id", "topics")

    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topics", "error_code")

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchResponseTopics] = EMPTY,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.topics: list[OffsetFetchResponseTopics] = [] if topics is EMPTY else topics
        self.error_code: int = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetFetchResponseGroup":
        group_id = reader.compact_string()
        topics: list[OffsetFetchResponseTopics] = [
            OffsetFetchResponseTopics.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        error_code = reader.int16()
        unknown = reader.tagged_fields()
        return OffsetFetchResponseGroup(group_id, topics, error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.group_id)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_int16(self.error_code)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OffsetFetchResponse(Message):
    __slots__ = ("error_code", "groups", "throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics", "error_code", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponseTopic] = EMPTY,
        error_code: int = 0,
        groups: list[OffsetFetchResponseGroup] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[OffsetFetchResponseTopic] = [] if topics is EMPTY else topics
        self.error_code: int = error_code
        self.groups: list[OffsetFetchResponseGroup] = [] if groups is EMPTY else groups
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OffsetFetchResponse":
        if version < 1 or version > 10:
            raise no_such_version("OffsetFetchResponse", version)
        flexible = version >= 6
        throttle_time_ms: int = 0
        if version >= 3:
            throttle_time_ms = reader.int32()
        topics: list[OffsetFetchResponseTopic] = []
        if version <= 7:
            topics = [
                OffsetFetchResponseTopic.decode(reader, version)
                for _ in range(reader.compact_array_length() if flexible else reader.array_length())
            ]
        error_code: int = 0
        if 2 <= version <= 7:
            error_code = reader.int16()
        elif version >= 8:
            pass
        groups: list[OffsetFetchResponseGroup] = []
        if version >= 8:
            groups = [
                OffsetFetchResponseGroup.decode(reader, version) for _ in range(reader.compact_array_length())
            ]
        unknown = reader.tagged_fields() if flexible else ()
        return OffsetFetchResponse(throttle_time_ms, topics, error_code, groups, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 10:
            raise no_such_version("OffsetFetchResponse", version)
        flexible = version >= 6
        if version >= 3:
            writer.write_int32(self.throttle_time_ms)
        if version <= 7:
            if flexible:
                writer.write_compact_array_length(len(self.topics))
            else:
                writer.write_array_length(len(self.topics))
            for topics_element in self.topics:
                topics_element.encode(writer, version)
        elif self.topics:
            raise not_in_version("OffsetFetchResponse.topics", version)
        if 2 <= version <= 7:
            writer.write_int16(self.error_code)
        elif version >= 8:
            pass
        if version >= 8:
            writer.write_compact_array_length(len(self.groups))
            for groups_element in self.groups:
                groups_element.encode(writer, version)
        elif self.groups:
            raise not_in_version("OffsetFetchResponse.groups", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
