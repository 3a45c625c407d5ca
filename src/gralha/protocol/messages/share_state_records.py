"""Records of __share_group_state: which records of a partition a share group has consumed (KIP-932).

Generated from definitions/share_state_records.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class ShareSnapshotKey(Message):
    __slots__ = ("group_id", "partition", "topic_id")

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topic_id", "partition")

    def __init__(
        self,
        group_id: str = "",
        topic_id: bytes = ZERO_UUID,
        partition: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.topic_id: bytes = topic_id
        self.partition: int = partition
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ShareSnapshotKey":
        if version != 0:
            raise no_such_version("ShareSnapshotKey", version)
        group_id = reader.string()
        topic_id = reader.uuid()
        partition = reader.int32()
        unknown: tuple[TaggedField, ...] = ()
        return ShareSnapshotKey(group_id, topic_id, partition, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ShareSnapshotKey", version)
        writer.write_string(self.group_id)
        writer.write_uuid(self.topic_id)
        writer.write_int32(self.partition)


@final
class StateBatch(Struct):
    __slots__ = ("delivery_count", "delivery_state", "first_offset", "last_offset")

    FIELDS: ClassVar[tuple[str, ...]] = ("first_offset", "last_offset", "delivery_state", "delivery_count")

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.first_offset: int = first_offset
        self.last_offset: int = last_offset
        self.delivery_state: int = delivery_state
        self.delivery_count: int = delivery_count
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "StateBatch":
        first_offset = reader.int64()
        last_offset = reader.int64()
        delivery_state = reader.int8()
        delivery_count = reader.int16()
        unknown = reader.tagged_fields()
        return StateBatch(first_offset, last_offset, delivery_state, delivery_count, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int64(self.first_offset)
        writer.write_int64(self.last_offset)
        writer.write_int8(self.delivery_state)
        writer.write_int16(self.delivery_count)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ShareSnapshotValue(Message):
    __slots__ = (
        "create_timestamp",
        "delivery_complete_count",
        "leader_epoch",
        "snapshot_epoch",
        "start_offset",
        "state_batches",
        "state_epoch",
        "write_timestamp",
    )

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "snapshot_epoch",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "create_timestamp",
        "write_timestamp",
        "state_batches",
    )

    def __init__(
        self,
        snapshot_epoch: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        create_timestamp: int = 0,
        write_timestamp: int = 0,
        state_batches: list[StateBatch] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.snapshot_epoch: int = snapshot_epoch
        self.state_epoch: int = state_epoch
        self.leader_epoch: int = leader_epoch
        self.start_offset: int = start_offset
        self.delivery_complete_count: int = delivery_complete_count
        self.create_timestamp: int = create_timestamp
        self.write_timestamp: int = write_timestamp
        self.state_batches: list[StateBatch] = [] if state_batches is EMPTY else state_batches
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ShareSnapshotValue":
        if version != 0:
            raise no_such_version("ShareSnapshotValue", version)
        snapshot_epoch = reader.int32()
        state_epoch = reader.int32()
        leader_epoch = reader.int32()
        start_offset = reader.int64()
        create_timestamp = reader.int64()
        write_timestamp = reader.int64()
        state_batches: list[StateBatch] = [
            StateBatch.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        delivery_complete_count: int = -1
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0:
                    delivery_complete_count = reader.int32()
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return ShareSnapshotValue(
            snapshot_epoch,
            state_epoch,
            leader_epoch,
            start_offset,
            delivery_complete_count,
            create_timestamp,
            write_timestamp,
            state_batches,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ShareSnapshotValue", version)
        writer.write_int32(self.snapshot_epoch)
        writer.write_int32(self.state_epoch)
        writer.write_int32(self.leader_epoch)
        writer.write_int64(self.start_offset)
        writer.write_int64(self.create_timestamp)
        writer.write_int64(self.write_timestamp)
        writer.write_compact_array_length(len(self.state_batches))
        for state_batches_element in self.state_batches:
            state_batches_element.encode(writer, version)
        tagged = self.unknown_tagged_fields
        if self.delivery_complete_count != -1:
            part = Writer()
            part.write_int32(self.delivery_complete_count)
            tagged = (*tagged, (0, part.to_bytes()))
        writer.write_tagged_fields(tagged)


@final
class ShareUpdateKey(Message):
    __slots__ = ("group_id", "partition", "topic_id")

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topic_id", "partition")

    def __init__(
        self,
        group_id: str = "",
        topic_id: bytes = ZERO_UUID,
        partition: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.topic_id: bytes = topic_id
        self.partition: int = partition
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ShareUpdateKey":
        if version != 0:
            raise no_such_version("ShareUpdateKey", version)
        group_id = reader.string()
        topic_id = reader.uuid()
        partition = reader.int32()
        unknown: tuple[TaggedField, ...] = ()
        return ShareUpdateKey(group_id, topic_id, partition, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ShareUpdateKey", version)
        writer.write_string(self.group_id)
        writer.write_uuid(self.topic_id)
        writer.write_int32(self.partition)


@final
class ShareUpdateValue(Message):
    __slots__ = ("delivery_complete_count", "leader_epoch", "snapshot_epoch", "start_offset", "state_batches")

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "snapshot_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "state_batches",
    )

    def __init__(
        self,
        snapshot_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: list[StateBatch] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.snapshot_epoch: int = snapshot_epoch
        self.leader_epoch: int = leader_epoch
        self.start_offset: int = start_offset
        self.delivery_complete_count: int = delivery_complete_count
        self.state_batches: list[StateBatch] = [] if state_batches is EMPTY else state_batches
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ShareUpdateValue":
        if version != 0:
            raise no_such_version("ShareUpdateValue", version)
        snapshot_epoch = reader.int32()
        leader_epoch = reader.int32()
        start_offset = reader.int64()
        state_batches: list[StateBatch] = [
            StateBatch.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        delivery_complete_count: int = -1
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0:
                    delivery_complete_count = reader.int32()
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return ShareUpdateValue(
            snapshot_epoch, leader_epoch, start_offset, delivery_complete_count, state_batches, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ShareUpdateValue", version)
        writer.write_int32(self.snapshot_epoch)
        writer.write_int32(self.leader_epoch)
        writer.write_int64(self.start_offset)
        writer.write_compact_array_length(len(self.state_batches))
        for state_batches_element in self.state_batches:
            state_batches_element.encode(writer, version)
        tagged = self.unknown_tagged_fields
        if self.delivery_complete_count != -1:
            part = Writer()
            part.write_int32(self.delivery_complete_count)
            tagged = (*tagged, (0, part.to_bytes()))
        writer.write_tagged_fields(tagged)
