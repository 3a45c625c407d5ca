"""Records of the metadata log about topics and partitions.

Generated from definitions/topic_records.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, no_such_version, not_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class TopicRecord(Message):
    __slots__ = ("name", "topic_id")

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id")

    def __init__(
        self, name: str = "", topic_id: bytes = ZERO_UUID, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TopicRecord":
        if version != 0:
            raise no_such_version("TopicRecord", version)
        name = reader.compact_string()
        topic_id = reader.uuid()
        unknown = reader.tagged_fields()
        return TopicRecord(name, topic_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("TopicRecord", version)
        writer.write_compact_string(self.name)
        writer.write_uuid(self.topic_id)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class PartitionRecord(Message):
    __slots__ = (
        "adding_replicas",
        "directories",
        "eligible_leader_replicas",
        "isr",
        "last_known_elr",
        "leader",
        "leader_epoch",
        "leader_recovery_state",
        "partition_epoch",
        "partition_id",
        "removing_replicas",
        "replicas",
        "topic_id",
    )

    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_id",
        "topic_id",
        "replicas",
        "isr",
        "removing_replicas",
        "adding_replicas",
        "leader",
        "leader_recovery_state",
        "leader_epoch",
        "partition_epoch",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )

    def __init__(
        self,
        partition_id: int = -1,
        topic_id: bytes = ZERO_UUID,
        replicas: list[int] = EMPTY,
        isr: list[int] = EMPTY,
        removing_replicas: list[int] = EMPTY,
        adding_replicas: list[int] = EMPTY,
        leader: int = -1,
        leader_recovery_state: int = 0,
        leader_epoch: int = -1,
        partition_epoch: int = -1,
        directories: list[bytes] = EMPTY,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_id: int = partition_id
        self.topic_id: bytes = topic_id
        self.replicas: list[int] = [] if replicas is EMPTY else replicas
        self.isr: list[int] = [] if isr is EMPTY else isr
        self.removing_replicas: list[int] = [] if removing_replicas is EMPTY else removing_replicas
        self.adding_replicas: list[int] = [] if adding_replicas is EMPTY else adding_replicas
        self.leader: int = leader
        self.leader_recovery_state: int = leader_recovery_state
        self.leader_epoch: int = leader_epoch
        self.partition_epoch: int = partition_epoch
        self.directories: list[bytes] = [] if directories is EMPTY else directories
        self.eligible_leader_replicas: list[int] | None = eligible_leader_replicas
        self.last_known_elr: list[int] | None = last_known_elr
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "PartitionRecord":
        if version < 0 or version > 2:
            raise no_such_version("PartitionRecord", version)
        partition_id = reader.int32()
        topic_id = reader.uuid()
        replicas: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        isr: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        removing_replicas: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        adding_replicas: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        leader = reader.int32()
        leader_epoch = reader.int32()
        partition_epoch = reader.int32()
        directories: list[bytes] = []
        if version >= 1:
            directories = [reader.uuid() for _ in range(reader.compact_array_length())]
        leader_recovery_state: int = 0
        eligible_leader_replicas: list[int] | None = None
        last_known_elr: list[int] | None = None
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0:
                    leader_recovery_state = reader.int8()
                elif tag == 1 and version >= 2:
                    count = reader.compact_nullable_array_length()
                    eligible_leader_replicas = [reader.int32() for _ in range(count)] if count >= 0 else None
                elif tag == 2 and version >= 2:
                    count = reader.compact_nullable_array_length()
                    last_known_elr = [reader.int32() for _ in range(count)] if count >= 0 else None
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return PartitionRecord(
            partition_id,
            topic_id,
            replicas,
            isr,
            removing_replicas,
            adding_replicas,
            leader,
            leader_recovery_state,
            leader_epoch,
            partition_epoch,
            directories,
            eligible_leader_replicas,
            last_known_elr,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("PartitionRecord", version)
        writer.write_int32(self.partition_id)
        writer.write_uuid(self.topic_id)
        writer.write_compact_array_length(len(self.replicas))
        for replicas_element in self.replicas:
            writer.write_int32(replicas_element)
        writer.write_compact_array_length(len(self.isr))
        for isr_element in self.isr:
            writer.write_int32(isr_element)
        writer.write_compact_array_length(len(self.removing_replicas))
        for removing_replicas_element in self.removing_replicas:
            writer.write_int32(removing_replicas_element)
        writer.write_compact_array_length(len(self.adding_replicas))
        for adding_replicas_element in self.adding_replicas:
            writer.write_int32(adding_replicas_element)
        writer.write_int32(self.leader)
        writer.write_int32(self.leader_epoch)
        writer.write_int32(self.partition_epoch)
        if version >= 1:
            writer.write_compact_array_length(len(self.directories))
            for directories_element in self.directories:
                writer.write_uuid(directories_element)
        elif self.directories:
            raise not_in_version("PartitionRecord.directories", version)
        tagged = self.unknown_tagged_fields
        if self.leader_recovery_state != 0:
            part = Writer()
            part.write_int8(self.leader_recovery_state)
            tagged = (*tagged, (0, part.to_bytes()))
        if version >= 2:
            if self.eligible_leader_replicas is not None:
                part = Writer()
                part.write_compact_array_length(len(self.eligible_leader_replicas))
                for eligible_leader_replicas_element in self.eligible_leader_replicas:
                    part.write_int32(eligible_leader_replicas_element)
                tagged = (*tagged, (1, part.to_bytes()))
        elif self.eligible_leader_replicas is not None:
            raise not_in_version("PartitionRecord.eligible_leader_replicas", version)
        if version >= 2:
            if self.last_known_elr is not None:
                part = Writer()
                part.write_compact_array_length(len(self.last_known_elr))
                for last_known_elr_element in self.last_known_elr:
                    part.write_int32(last_known_elr_element)
                tagged = (*tagged, (2, part.to_bytes()))
        elif self.last_known_elr is not None:
            raise not_in_version("PartitionRecord.last_known_elr", version)
        writer.write_tagged_fields(tagged)


@final
class PartitionChangeRecord(Message):
    __slots__ = (
        "adding_replicas",
        "directories",
        "eligible_leader_replicas",
        "isr",
        "last_known_elr",
        "leader",
        "leader_recovery_state",
        "partition_id",
        "removing_replicas",
        "replicas",
        "topic_id",
    )

    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_id",
        "topic_id",
        "isr",
        "leader",
        "replicas",
        "removing_replicas",
        "adding_replicas",
        "leader_recovery_state",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )

    def __init__(
        self,
        partition_id: int = -1,
        topic_id: bytes = ZERO_UUID,
        isr: list[int] | None = None,
        leader: int = -2,
        replicas: list[int] | None = None,
        removing_replicas: list[int] | None = None,
        adding_replicas: list[int] | None = None,
        leader_recovery_state: int = -1,
        directories: list[bytes] | None = None,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_id: int = partition_id
        self.topic_id: bytes = topic_id
        self.isr: list[int] | None = isr
        self.leader: int = leader
        self.replicas: list[int] | None = replicas
        self.removing_replicas: list[int] | None = removing_replicas
        self.adding_replicas: list[int] | None = adding_replicas
        self.leader_recovery_state: int = leader_recovery_state
        self.directories: list[bytes] | None = directories
        self.eligible_leader_replicas: list[int] | None = eligible_leader_replicas
        self.last_known_elr: list[int] | None = last_known_elr
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "PartitionChangeRecord":
        if version < 0 or version > 2:
            raise no_such_version("PartitionChangeRecord", version)
        partition_id = reader.int32()
        topic_id = reader.uuid()
        isr: list[int] | None = None
        leader: int = -2
        replicas: list[int] | None = None
        removing_replicas: list[int] | None = None
        adding_replicas: list[int] | None = None
        leader_recovery_state: int = -1
        eligible_leader_replicas: list[int] | None = None
        last_known_elr: list[int] | None = None
        directories: list[bytes] | None = None
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
                    isr = [reader.int32() for _ in range(count)] if count >= 0 else None
                elif tag == 1:
                    leader = reader.int32()
                elif tag == 2:
                    count = reader.compact_nullable_array_length()
                    replicas = [reader.int32() for _ in range(count)] if count >= 0 else None
                elif tag == 3:
                    count = reader.compact_nullable_array_length()
                    removing_replicas = [reader.int32() for _ in range(count)] if count >= 0 else None
                elif tag == 4:
                    count = reader.compact_nullable_array_length()
                    adding_replicas = [reader.int32() for _ in range(count)] if count >= 0 else None
                elif tag == 5:
                    leader_recovery_state = reader.int8()
                elif tag == 6 and version >= 2:
                    count = reader.compact_nullable_array_length()
                    eligible_leader_replicas = [reader.int32() for _ in range(count)] if count >= 0 else None
                elif tag == 7 and version >= 2:
                    count = reader.compact_nullable_array_length()
                    last_known_elr = [reader.int32() for _ in range(count)] if count >= 0 else None
                elif tag == 8 and version >= 1:
                    count = reader.compact_nullable_array_length()
                    directories = [reader.uuid() for _ in range(count)] if count >= 0 else None
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return PartitionChangeRecord(
            partition_id,
            topic_id,
            isr,
            leader,
            replicas,
            removing_replicas,
            adding_replicas,
            leader_recovery_state,
            directories,
            eligible_leader_replicas,
            last_known_elr,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("PartitionChangeRecord", version)
        writer.write_int32(self.partition_id)
        writer.write_uuid(self.topic_id)
        tagged = self.unknown_tagged_fields
        if self.isr is not None:
            part = Writer()
            part.write_compact_array_length(len(self.isr))
            for isr_element in self.isr:
                part.write_int32(isr_element)
            tagged = (*tagged, (0, part.to_bytes()))
        if self.leader != -2:
            part = Writer()
            part.write_int32(self.leader)
            tagged = (*tagged, (1, part.to_bytes()))
        if self.replicas is not None:
            part = Writer()
            part.write_compact_array_length(len(self.replicas))
            for replicas_element in self.replicas:
                part.write_int32(replicas_element)
            tagged = (*tagged, (2, part.to_bytes()))
        if self.removing_replicas is not None:
            part = Writer()
            part.write_compact_array_length(len(self.removing_replicas))
            for removing_replicas_element in self.removing_replicas:
                part.write_int32(removing_replicas_element)
            tagged = (*tagged, (3, part.to_bytes()))
        if self.adding_replicas is not None:
            part = Writer()
            part.write_compact_array_length(len(self.adding_replicas))
            for adding_replicas_element in self.adding_replicas:
                part.write_int32(adding_replicas_element)
            tagged = (*tagged, (4, part.to_bytes()))
        if self.leader_recovery_state != -1:
            part = Writer()
            part.write_int8(self.leader_recovery_state)
            tagged = (*tagged, (5, part.to_bytes()))
        if version >= 1:
            if self.directories is not None:
                part = Writer()
                part.write_compact_array_length(len(self.directories))
                for directories_element in self.directories:
                    part.write_uuid(directories_element)
                tagged = (*tagged, (8, part.to_bytes()))
        elif self.directories is not None:
            raise not_in_version("PartitionChangeRecord.directories", version)
        if version >= 2:
            if self.eligible_leader_replicas is not None:
                part = Writer()
                part.write_compact_array_length(len(self.eligible_leader_replicas))
                for eligible_leader_replicas_element in self.eligible_leader_replicas:
                    part.write_int32(eligible_leader_replicas_element)
                tagged = (*tagged, (6, part.to_bytes()))
        elif self.eligible_leader_replicas is not None:
            raise not_in_version("PartitionChangeRecord.eligible_leader_replicas", version)
        if version >= 2:
            if self.last_known_elr is not None:
                part = Writer()
                part.write_compact_array_length(len(self.last_known_elr))
                for last_known_elr_element in self.last_known_elr:
                    part.write_int32(last_known_elr_element)
                tagged = (*tagged, (7, part.to_bytes()))
        elif self.last_known_elr is not None:
            raise not_in_version("PartitionChangeRecord.last_known_elr", version)
        writer.write_tagged_fields(tagged)


@final
class RemoveTopicRecord(Message):
    __slots__ = ("topic_id",)

    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id",)

    def __init__(
        self, topic_id: bytes = ZERO_UUID, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.topic_id: bytes = topic_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "RemoveTopicRecord":
        if version != 0:
            raise no_such_version("RemoveTopicRecord", version)
        topic_id = reader.uuid()
        unknown = reader.tagged_fields()
        return RemoveTopicRecord(topic_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("RemoveTopicRecord", version)
        writer.write_uuid(self.topic_id)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ClearElrRecord(Message):
    __slots__ = ("topic_name",)

    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name",)

    def __init__(self, topic_name: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.topic_name: str = topic_name
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ClearElrRecord":
        if version != 0:
            raise no_such_version("ClearElrRecord", version)
        topic_name = reader.compact_string()
        unknown = reader.tagged_fields()
        return ClearElrRecord(topic_name, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ClearElrRecord", version)
        writer.write_compact_string(self.topic_name)
        writer.write_tagged_fields(self.unknown_tagged_fields)
