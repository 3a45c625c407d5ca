"""Fetch: read record batches from partitions, for consumers and for followers.

A session (KIP-227) remembers the partitions, so that later requests name only what has changed.

Generated from definitions/fetch.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, RecordBytes, TaggedField, Writer


@final
class ReplicaState(Struct):
    __slots__ = ("replica_epoch", "replica_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("replica_id", "replica_epoch")

    def __init__(
        self,
        replica_id: int = -1,
        replica_epoch: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.replica_id: int = replica_id
        self.replica_epoch: int = replica_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ReplicaState":
        replica_id = reader.int32()
        replica_epoch = reader.int64()
        unknown = reader.tagged_fields()
        return ReplicaState(replica_id, replica_epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.replica_id)
        writer.write_int64(self.replica_epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class FetchPartition(Struct):
    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "high_watermark",
        "last_fetched_epoch",
        "log_start_offset",
        "partition",
        "partition_max_bytes",
        "replica_directory_id",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition",
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "partition_max_bytes",
        "replica_directory_id",
        "high_watermark",
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        high_watermark: int = 9223372036854775807,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition: int = partition
        self.current_leader_epoch: int = current_leader_epoch
        self.fetch_offset: int = fetch_offset
        self.last_fetched_epoch: int = last_fetched_epoch
        self.log_start_offset: int = log_start_offset
        self.partition_max_bytes: int = partition_max_bytes
        self.replica_directory_id: bytes = replica_directory_id
        self.high_watermark: int = high_watermark
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FetchPartition":
        flexible = version >= 12
        partition = reader.int32()
        current_leader_epoch: int = -1
        if version >= 9:
            current_leader_epoch = reader.int32()
        fetch_offset = reader.int64()
        last_fetched_epoch: int = -1
        if flexible:
            last_fetched_epoch = reader.int32()
        log_start_offset: int = -1
        if version >= 5:
            log_start_offset = reader.int64()
        partition_max_bytes = reader.int32()
        replica_directory_id: bytes = ZERO_UUID
        high_watermark: int = 9223372036854775807
        unknown: tuple[TaggedField, ...] = ()
        if flexible:
            tags = reader.unsigned_varint()
            if tags > 0:
                kept: list[TaggedField] = []
                tag: i64 = -1
                for _ in range(tags):
                    tag = reader.next_tag(tag)
                    end = reader.tagged_field_end()
                    if tag == 0 and version >= 17:
                        replica_directory_id = reader.uuid()
                    elif tag == 1 and version >= 18:
                        high_watermark = reader.int64()
                    else:
                        kept.append((tag, reader.raw(end - reader.position)))
                    reader.expect_end(end)
                unknown = tuple(kept)
        return FetchPartition(
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            replica_directory_id,
            high_watermark,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 12
        writer.write_int32(self.partition)
        if version >= 9:
            writer.write_int32(self.current_leader_epoch)
        writer.write_int64(self.fetch_offset)
        if flexible:
            writer.write_int32(self.last_fetched_epoch)
        elif self.last_fetched_epoch != -1:
            raise not_in_version("FetchPartition.last_fetched_epoch", version)
        if version >= 5:
            writer.write_int64(self.log_start_offset)
        writer.write_int32(self.partition_max_bytes)
        tagged = self.unknown_tagged_fields
        if version >= 17 and self.replica_directory_id != ZERO_UUID:
            part = Writer()
            part.write_uuid(self.replica_directory_id)
            tagged = (*tagged, (0, part.to_bytes()))
        if version >= 18 and self.high_watermark != 9223372036854775807:
            part = Writer()
            part.write_int64(self.high_watermark)
            tagged = (*tagged, (1, part.to_bytes()))
        if flexible:
            writer.write_tagged_fields(tagged)


@final
class FetchTopic(Struct):
    __slots__ = ("partitions", "topic", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "topic_id", "partitions")

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[FetchPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic: str = topic
        self.topic_id: bytes = topic_id
        self.partitions: list[FetchPartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FetchTopic":
        flexible = version >= 12
        topic: str = ""
        if version <= 12:
            topic = reader.compact_string() if flexible else reader.string()
        topic_id: bytes = ZERO_UUID
        if version >= 13:
            topic_id = reader.uuid()
        partitions: list[FetchPartition] = [
            FetchPartition.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return FetchTopic(topic, topic_id, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 12
        if version <= 12:
            if flexible:
                writer.write_compact_string(self.topic)
            else:
                writer.write_string(self.topic)
        if version >= 13:
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
class ForgottenTopic(Struct):
    __slots__ = ("partitions", "topic", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "topic_id", "partitions")

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic: str = topic
        self.topic_id: bytes = topic_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ForgottenTopic":
        flexible = version >= 12
        topic: str = ""
        if version <= 12:
            topic = reader.compact_string() if flexible else reader.string()
        topic_id: bytes = ZERO_UUID
        if version >= 13:
            topic_id = reader.uuid()
        partitions: list[int] = [
            reader.int32()
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return ForgottenTopic(topic, topic_id, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 12
        if version <= 12:
            if flexible:
                writer.write_compact_string(self.topic)
            else:
                writer.write_string(self.topic)
        if version >= 13:
            writer.write_uuid(self.topic_id)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            writer.write_int32(partitions_element)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class FetchRequest(Message):
    __slots__ = (
        "cluster_id",
        "forgotten_topics_data",
        "isolation_level",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "rack_id",
        "replica_id",
        "replica_state",
        "session_epoch",
        "session_id",
        "topics",
    )

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    FLEXIBLE_FROM: ClassVar[int] = 12
    FIELDS: ClassVar[tuple[str, ...]] = (
        "cluster_id",
        "replica_id",
        "replica_state",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "isolation_level",
        "session_id",
        "session_epoch",
        "topics",
        "forgotten_topics_data",
        "rack_id",
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState | None = None,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchTopic] = EMPTY,
        forgotten_topics_data: list[ForgottenTopic] = EMPTY,
        rack_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.replica_id: int = replica_id
        self.replica_state: ReplicaState | None = replica_state
        self.max_wait_ms: int = max_wait_ms
        self.min_bytes: int = min_bytes
        self.max_bytes: int = max_bytes
        self.isolation_level: int = isolation_level
        self.session_id: int = session_id
        self.session_epoch: int = session_epoch
        self.topics: list[FetchTopic] = [] if topics is EMPTY else topics
        self.forgotten_topics_data: list[ForgottenTopic] = (
            [] if forgotten_topics_data is EMPTY else forgotten_topics_data
        )
        self.rack_id: str = rack_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FetchRequest":
        if version < 4 or version > 18:
            raise no_such_version("FetchRequest", version)
        flexible = version >= 12
        replica_id: int = -1
        if version <= 14:
            replica_id = reader.int32()
        max_wait_ms = reader.int32()
        min_bytes = reader.int32()
        max_bytes = reader.int32()
        isolation_level = reader.int8()
        session_id: int = 0
        if version >= 7:
            session_id = reader.int32()
        session_epoch: int = -1
        if version >= 7:
            session_epoch = reader.int32()
        topics: list[FetchTopic] = [
            FetchTopic.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        forgotten_topics_data: list[ForgottenTopic] = []
        if version >= 7:
            forgotten_topics_data = [
                ForgottenTopic.decode(reader, version)
                for _ in range(reader.compact_array_length() if flexible else reader.array_length())
            ]
        rack_id: str = ""
        if version >= 11:
            rack_id = reader.compact_string() if flexible else reader.string()
        cluster_id: str | None = None
        replica_state: ReplicaState | None = None
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
                        cluster_id = reader.compact_nullable_string()
                    elif tag == 1 and version >= 15:
                        replica_state = ReplicaState.decode(reader, version)
                    else:
                        kept.append((tag, reader.raw(end - reader.position)))
                    reader.expect_end(end)
                unknown = tuple(kept)
        return FetchRequest(
            cluster_id,
            replica_id,
            replica_state,
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            topics,
            forgotten_topics_data,
            rack_id,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 4 or version > 18:
            raise no_such_version("FetchRequest", version)
        flexible = version >= 12
        if version <= 14:
            writer.write_int32(self.replica_id)
        elif self.replica_id != -1:
            raise not_in_version("FetchRequest.replica_id", version)
        writer.write_int32(self.max_wait_ms)
        writer.write_int32(self.min_bytes)
        writer.write_int32(self.max_bytes)
        writer.write_int8(self.isolation_level)
        if version >= 7:
            writer.write_int32(self.session_id)
        if version >= 7:
            writer.write_int32(self.session_epoch)
        if flexible:
            writer.write_compact_array_length(len(self.topics))
        else:
            writer.write_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        if version >= 7:
            if flexible:
                writer.write_compact_array_length(len(self.forgotten_topics_data))
            else:
                writer.write_array_length(len(self.forgotten_topics_data))
            for forgotten_topics_data_element in self.forgotten_topics_data:
                forgotten_topics_data_element.encode(writer, version)
        elif self.forgotten_topics_data:
            raise not_in_version("FetchRequest.forgotten_topics_data", version)
        if version >= 11:
            if flexible:
                writer.write_compact_string(self.rack_id)
            else:
                writer.write_string(self.rack_id)
        tagged = self.unknown_tagged_fields
        if flexible and self.cluster_id is not None:
            part = Writer()
            part.write_compact_string(self.cluster_id)
            tagged = (*tagged, (0, part.to_bytes()))
        if version >= 15:
            if self.replica_state is not None:
                part = Writer()
                self.replica_state.encode(part, version)
                tagged = (*tagged, (1, part.to_bytes()))
        elif self.replica_state is not None:
            raise not_in_version("FetchRequest.replica_state", version)
        if flexible:
            writer.write_tagged_fields(tagged)


@final
class EpochEndOffset(Struct):
    __slots__ = ("end_offset", "epoch")

    FIELDS: ClassVar[tuple[str, ...]] = ("epoch", "end_offset")

    def __init__(
        self, epoch: int = -1, end_offset: int = -1, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.epoch: int = epoch
        self.end_offset: int = end_offset
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EpochEndOffset":
        epoch = reader.int32()
        end_offset = reader.int64()
        unknown = reader.tagged_fields()
        return EpochEndOffset(epoch, end_offset, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.epoch)
        writer.write_int64(self.end_offset)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class LeaderIdAndEpoch(Struct):
    __slots__ = ("leader_epoch", "leader_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("leader_id", "leader_epoch")

    def __init__(
        self, leader_id: int = -1, leader_epoch: int = -1, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "LeaderIdAndEpoch":
        leader_id = reader.int32()
        leader_epoch = reader.int32()
        unknown = reader.tagged_fields()
        return LeaderIdAndEpoch(leader_id, leader_epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.leader_id)
        writer.write_int32(self.leader_epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class SnapshotId(Struct):
    __slots__ = ("end_offset", "epoch")

    FIELDS: ClassVar[tuple[str, ...]] = ("end_offset", "epoch")

    def __init__(
        self, end_offset: int = -1, epoch: int = -1, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.end_offset: int = end_offset
        self.epoch: int = epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "SnapshotId":
        end_offset = reader.int64()
        epoch = reader.int32()
        unknown = reader.tagged_fields()
        return SnapshotId(end_offset, epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int64(self.end_offset)
        writer.write_int32(self.epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AbortedTransaction(Struct):
    __slots__ = ("first_offset", "producer_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("producer_id", "first_offset")

    def __init__(
        self, producer_id: int = 0, first_offset: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.producer_id: int = producer_id
        self.first_offset: int = first_offset
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AbortedTransaction":
        flexible = version >= 12
        producer_id = reader.int64()
        first_offset = reader.int64()
        unknown = reader.tagged_fields() if flexible else ()
        return AbortedTransaction(producer_id, first_offset, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 12
        writer.write_int64(self.producer_id)
        writer.write_int64(self.first_offset)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class PartitionData(Struct):
    __slots__ = (
        "aborted_transactions",
        "current_leader",
        "diverging_epoch",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "partition_index",
        "preferred_read_replica",
        "records",
        "snapshot_id",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "diverging_epoch",
        "current_leader",
        "snapshot_id",
        "aborted_transactions",
        "preferred_read_replica",
        "records",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        snapshot_id: SnapshotId | None = None,
        aborted_transactions: list[AbortedTransaction] | None = EMPTY,
        preferred_read_replica: int = -1,
        records: RecordBytes | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.high_watermark: int = high_watermark
        self.last_stable_offset: int = last_stable_offset
        self.log_start_offset: int = log_start_offset
        self.diverging_epoch: EpochEndOffset | None = diverging_epoch
        self.current_leader: LeaderIdAndEpoch | None = current_leader
        self.snapshot_id: SnapshotId | None = snapshot_id
        self.aborted_transactions: list[AbortedTransaction] | None = (
            [] if aborted_transactions is EMPTY else aborted_transactions
        )
        self.preferred_read_replica: int = preferred_read_replica
        self.records: RecordBytes | None = records
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "PartitionData":
        flexible = version >= 12
        partition_index = reader.int32()
        error_code = reader.int16()
        high_watermark = reader.int64()
        last_stable_offset = reader.int64()
        log_start_offset: int = -1
        if version >= 5:
            log_start_offset = reader.int64()
        count = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
        aborted_transactions: list[AbortedTransaction] | None = (
            [AbortedTransaction.decode(reader, version) for _ in range(count)] if count >= 0 else None
        )
        preferred_read_replica: int = -1
        if version >= 11:
            preferred_read_replica = reader.int32()
        records = reader.compact_records() if flexible else reader.records()
        diverging_epoch: EpochEndOffset | None = None
        current_leader: LeaderIdAndEpoch | None = None
        snapshot_id: SnapshotId | None = None
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
                        diverging_epoch = EpochEndOffset.decode(reader, version)
                    elif tag == 1:
                        current_leader = LeaderIdAndEpoch.decode(reader, version)
                    elif tag == 2:
                        snapshot_id = SnapshotId.decode(reader, version)
                    else:
                        kept.append((tag, reader.raw(end - reader.position)))
                    reader.expect_end(end)
                unknown = tuple(kept)
        return PartitionData(
            partition_index,
            error_code,
            high_watermark,
            last_stable_offset,
            log_start_offset,
            diverging_epoch,
            current_leader,
            snapshot_id,
            aborted_transactions,
            preferred_read_replica,
            records,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 12
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)
        writer.write_int64(self.high_watermark)
        writer.write_int64(self.last_stable_offset)
        if version >= 5:
            writer.write_int64(self.log_start_offset)
        if self.aborted_transactions is None:
            if flexible:
                writer.write_compact_array_length(-1)
            else:
                writer.write_array_length(-1)
        else:
            if flexible:
                writer.write_compact_array_length(len(self.aborted_transactions))
            else:
                writer.write_array_length(len(self.aborted_transactions))
            for aborted_transactions_element in self.aborted_transactions:
                aborted_transactions_element.encode(writer, version)
        if version >= 11:
            writer.write_int32(self.preferred_read_replica)
        elif self.preferred_read_replica != -1:
            raise not_in_version("PartitionData.preferred_read_replica", version)
        if flexible:
            writer.write_compact_records(self.records)
        else:
            writer.write_records(self.records)
        tagged = self.unknown_tagged_fields
        if flexible:
            if self.diverging_epoch is not None:
                part = Writer()
                self.diverging_epoch.encode(part, version)
                tagged = (*tagged, (0, part.to_bytes()))
        elif self.diverging_epoch is not None:
            raise not_in_version("PartitionData.diverging_epoch", version)
        if flexible:
            if self.current_leader is not None:
                part = Writer()
                self.current_leader.encode(part, version)
                tagged = (*tagged, (1, part.to_bytes()))
        elif self.current_leader is not None:
            raise not_in_version("PartitionData.current_leader", version)
        if flexible:
            if self.snapshot_id is not None:
                part = Writer()
                self.snapshot_id.encode(part, version)
                tagged = (*tagged, (2, part.to_bytes()))
        elif self.snapshot_id is not None:
            raise not_in_version("PartitionData.snapshot_id", version)
        if flexible:
            writer.write_tagged_fields(tagged)


@final
class FetchableTopicResponse(Struct):
    __slots__ = ("partitions", "topic", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "topic_id", "partitions")

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionData] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic: str = topic
        self.topic_id: bytes = topic_id
        self.partitions: list[PartitionData] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FetchableTopicResponse":
        flexible = version >= 12
        topic: str = ""
        if version <= 12:
            topic = reader.compact_string() if flexible else reader.string()
        topic_id: bytes = ZERO_UUID
        if version >= 13:
            topic_id = reader.uuid()
        partitions: list[PartitionData] = [
            PartitionData.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return FetchableTopicResponse(topic, topic_id, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 12
        if version <= 12:
            if flexible:
                writer.write_compact_string(self.topic)
            else:
                writer.write_string(self.topic)
        if version >= 13:
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
class NodeEndpoint(Struct):
    __slots__ = ("host", "node_id", "port", "rack")

    FIELDS: ClassVar[tuple[str, ...]] = ("node_id", "host", "port", "rack")

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port
        self.rack: str | None = rack
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "NodeEndpoint":
        node_id = reader.int32()
        host = reader.compact_string()
        port = reader.int32()
        rack = reader.compact_nullable_string()
        unknown = reader.tagged_fields()
        return NodeEndpoint(node_id, host, port, rack, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.node_id)
        writer.write_compact_string(self.host)
        writer.write_int32(self.port)
        writer.write_compact_nullable_string(self.rack)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class FetchResponse(Message):
    __slots__ = ("error_code", "node_endpoints", "responses", "session_id", "throttle_time_ms")

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    FLEXIBLE_FROM: ClassVar[int] = 12
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "session_id",
        "responses",
        "node_endpoints",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchableTopicResponse] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.session_id: int = session_id
        self.responses: list[FetchableTopicResponse] = [] if responses is EMPTY else responses
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is EMPTY else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FetchResponse":
        if version < 4 or version > 18:
            raise no_such_version("FetchResponse", version)
        flexible = version >= 12
        throttle_time_ms = reader.int32()
        error_code: int = 0
        if version >= 7:
            error_code = reader.int16()
        session_id: int = 0
        if version >= 7:
            session_id = reader.int32()
        responses: list[FetchableTopicResponse] = [
            FetchableTopicResponse.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        node_endpoints: list[NodeEndpoint] = []
        unknown: tuple[TaggedField, ...] = ()
        if flexible:
            tags = reader.unsigned_varint()
            if tags > 0:
                kept: list[TaggedField] = []
                tag: i64 = -1
                for _ in range(tags):
                    tag = reader.next_tag(tag)
                    end = reader.tagged_field_end()
                    if tag == 0 and version >= 16:
                        node_endpoints = [
                            NodeEndpoint.decode(reader, version) for _ in range(reader.compact_array_length())
                        ]
                    else:
                        kept.append((tag, reader.raw(end - reader.position)))
                    reader.expect_end(end)
                unknown = tuple(kept)
        return FetchResponse(throttle_time_ms, error_code, session_id, responses, node_endpoints, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 4 or version > 18:
            raise no_such_version("FetchResponse", version)
        flexible = version >= 12
        writer.write_int32(self.throttle_time_ms)
        if version >= 7:
            writer.write_int16(self.error_code)
        if version >= 7:
            writer.write_int32(self.session_id)
        elif self.session_id != 0:
            raise not_in_version("FetchResponse.session_id", version)
        if flexible:
            writer.write_compact_array_length(len(self.responses))
        else:
            writer.write_array_length(len(self.responses))
        for responses_element in self.responses:
            responses_element.encode(writer, version)
        tagged = self.unknown_tagged_fields
        if version >= 16:
            if self.node_endpoints:
                part = Writer()
                part.write_compact_array_length(len(self.node_endpoints))
                for node_endpoints_element in self.node_endpoints:
                    node_endpoints_element.encode(part, version)
                tagged = (*tagged, (0, part.to_bytes()))
        elif self.node_endpoints:
            raise not_in_version("FetchResponse.node_endpoints", version)
        if flexible:
            writer.write_tagged_fields(tagged)
