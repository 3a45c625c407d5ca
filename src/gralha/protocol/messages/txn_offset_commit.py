"""TxnOffsetCommit: a group keeps how far it has come, if the transaction commits.

Version 3 names the member, so that the group refuses members that it has given up (KIP-447). Version 5 adds
the group to the transaction as well, as AddOffsetsToTxn does for earlier versions (KIP-890).

Generated from definitions/txn_offset_commit.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class TxnOffsetCommitRequestPartition(Struct):
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
    def decode(reader: Reader, version: i64) -> "TxnOffsetCommitRequestPartition":
        flexible = version >= 3
        partition_index = reader.int32()
        committed_offset = reader.int64()
        committed_leader_epoch: int = -1
        if version >= 2:
            committed_leader_epoch = reader.int32()
        committed_metadata = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return TxnOffsetCommitRequestPartition(
            partition_index, committed_offset, committed_leader_epoch, committed_metadata, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 3
        writer.write_int32(self.partition_index)
        writer.write_int64(self.committed_offset)
        if version >= 2:
            writer.write_int32(self.committed_leader_epoch)
        if flexible:
            writer.write_compact_nullable_string(self.committed_metadata)
        else:
            writer.write_nullable_string(self.committed_metadata)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class TxnOffsetCommitRequestTopic(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[TxnOffsetCommitRequestPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[TxnOffsetCommitRequestPartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TxnOffsetCommitRequestTopic":
        flexible = version >= 3
        name = reader.compact_string() if flexible else reader.string()
        partitions: list[TxnOffsetCommitRequestPartition] = [
            TxnOffsetCommitRequestPartition.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return TxnOffsetCommitRequestTopic(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 3
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
class TxnOffsetCommitRequest(Message):
    __slots__ = (
        "generation_id",
        "group_id",
        "group_instance_id",
        "member_id",
        "producer_epoch",
        "producer_id",
        "topics",
        "transactional_id",
    )

    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "group_id",
        "producer_id",
        "producer_epoch",
        "generation_id",
        "member_id",
        "group_instance_id",
        "topics",
    )

    def __init__(
        self,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: list[TxnOffsetCommitRequestTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id: str = transactional_id
        self.group_id: str = group_id
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.generation_id: int = generation_id
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.topics: list[TxnOffsetCommitRequestTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TxnOffsetCommitRequest":
        if version < 0 or version > 5:
            raise no_such_version("TxnOffsetCommitRequest", version)
        flexible = version >= 3
        transactional_id = reader.compact_string() if flexible else reader.string()
        group_id = reader.compact_string() if flexible else reader.string()
        producer_id = reader.int64()
        producer_epoch = reader.int16()
        generation_id: int = -1
        if flexible:
            generation_id = reader.int32()
        member_id: str = ""
        if flexible:
            member_id = reader.compact_string()
        group_instance_id: str | None = None
        if flexible:
            group_instance_id = reader.compact_nullable_string()
        topics: list[TxnOffsetCommitRequestTopic] = [
            TxnOffsetCommitRequestTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return TxnOffsetCommitRequest(
            transactional_id,
            group_id,
            producer_id,
            producer_epoch,
            generation_id,
            member_id,
            group_instance_id,
            topics,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 5:
            raise no_such_version("TxnOffsetCommitRequest", version)
        flexible = version >= 3
        if flexible:
            writer.write_compact_string(self.transactional_id)
        else:
            writer.write_string(self.transactional_id)
        if flexible:
            writer.write_compact_string(self.group_id)
        else:
            writer.write_string(self.group_id)
        writer.write_int64(self.producer_id)
        writer.write_int16(self.producer_epoch)
        if flexible:
            writer.write_int32(self.generation_id)
        elif self.generation_id != -1:
            raise not_in_version("TxnOffsetCommitRequest.generation_id", version)
        if flexible:
            writer.write_compact_string(self.member_id)
        elif self.member_id != "":
            raise not_in_version("TxnOffsetCommitRequest.member_id", version)
        if flexible:
            writer.write_compact_nullable_string(self.group_instance_id)
        elif self.group_instance_id is not None:
            raise not_in_version("TxnOffsetCommitRequest.group_instance_id", version)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class TxnOffsetCommitResponsePartition(Struct):
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
    def decode(reader: Reader, version: i64) -> "TxnOffsetCommitResponsePartition":
        flexible = version >= 3
        partition_index = reader.int32()
        error_code = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return TxnOffsetCommitResponsePartition(partition_index, error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 3
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class TxnOffsetCommitResponseTopic(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[TxnOffsetCommitResponsePartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[TxnOffsetCommitResponsePartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TxnOffsetCommitResponseTopic":
        flexible = version >= 3
        name = reader.compact_string() if flexible else reader.string()
        partitions: list[TxnOffsetCommitResponsePartition] = [
            TxnOffsetCommitResponsePartition.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return TxnOffsetCommitResponseTopic(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 3
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
class TxnOffsetCommitResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TxnOffsetCommitResponseTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.topics: list[TxnOffsetCommitResponseTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TxnOffsetCommitResponse":
        if version < 0 or version > 5:
            raise no_such_version("TxnOffsetCommitResponse", version)
        flexible = version >= 3
        throttle_time_ms = reader.int32()
        topics: list[TxnOffsetCommitResponseTopic] = [
            TxnOffsetCommitResponseTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return TxnOffsetCommitResponse(throttle_time_ms, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 5:
            raise no_such_version("TxnOffsetCommitResponse", version)
        flexible = version >= 3
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
