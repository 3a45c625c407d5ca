"""AlterPartition: the leader of a partition asks for other in-sync replicas (KIP-497).

Generated from definitions/alter_partition.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class BrokerState(Struct):
    __slots__ = ("broker_epoch", "broker_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch")

    def __init__(
        self, broker_id: int = 0, broker_epoch: int = -1, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "BrokerState":
        broker_id = reader.int32()
        broker_epoch = reader.int64()
        unknown = reader.tagged_fields()
        return BrokerState(broker_id, broker_epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.broker_id)
        writer.write_int64(self.broker_epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterPartitionRequestPartition(Struct):
    __slots__ = (
        "leader_epoch",
        "leader_recovery_state",
        "new_isr",
        "new_isr_with_epochs",
        "partition_epoch",
        "partition_index",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "leader_epoch",
        "new_isr",
        "new_isr_with_epochs",
        "leader_recovery_state",
        "partition_epoch",
    )

    def __init__(
        self,
        partition_index: int = 0,
        leader_epoch: int = 0,
        new_isr: list[int] = EMPTY,
        new_isr_with_epochs: list[BrokerState] = EMPTY,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.leader_epoch: int = leader_epoch
        self.new_isr: list[int] = [] if new_isr is EMPTY else new_isr
        self.new_isr_with_epochs: list[BrokerState] = (
            [] if new_isr_with_epochs is EMPTY else new_isr_with_epochs
        )
        self.leader_recovery_state: int = leader_recovery_state
        self.partition_epoch: int = partition_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterPartitionRequestPartition":
        partition_index = reader.int32()
        leader_epoch = reader.int32()
        new_isr: list[int] = []
        if version <= 2:
            new_isr = [reader.int32() for _ in range(reader.compact_array_length())]
        new_isr_with_epochs: list[BrokerState] = []
        if version >= 3:
            new_isr_with_epochs = [
                BrokerState.decode(reader, version) for _ in range(reader.compact_array_length())
            ]
        leader_recovery_state = reader.int8()
        partition_epoch = reader.int32()
        unknown = reader.tagged_fields()
        return AlterPartitionRequestPartition(
            partition_index,
            leader_epoch,
            new_isr,
            new_isr_with_epochs,
            leader_recovery_state,
            partition_epoch,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_int32(self.leader_epoch)
        if version <= 2:
            writer.write_compact_array_length(len(self.new_isr))
            for new_isr_element in self.new_isr:
                writer.write_int32(new_isr_element)
        elif self.new_isr:
            raise not_in_version("AlterPartitionRequestPartition.new_isr", version)
        if version >= 3:
            writer.write_compact_array_length(len(self.new_isr_with_epochs))
            for new_isr_with_epochs_element in self.new_isr_with_epochs:
                new_isr_with_epochs_element.encode(writer, version)
        elif self.new_isr_with_epochs:
            raise not_in_version("AlterPartitionRequestPartition.new_isr_with_epochs", version)
        writer.write_int8(self.leader_recovery_state)
        writer.write_int32(self.partition_epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterPartitionRequestTopic(Struct):
    __slots__ = ("partitions", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[AlterPartitionRequestPartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[AlterPartitionRequestPartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterPartitionRequestTopic":
        topic_id = reader.uuid()
        partitions: list[AlterPartitionRequestPartition] = [
            AlterPartitionRequestPartition.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AlterPartitionRequestTopic(topic_id, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_uuid(self.topic_id)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterPartitionRequest(Message):
    __slots__ = ("broker_epoch", "broker_id", "topics")

    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch", "topics")

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        topics: list[AlterPartitionRequestTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.topics: list[AlterPartitionRequestTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterPartitionRequest":
        if version < 2 or version > 3:
            raise no_such_version("AlterPartitionRequest", version)
        broker_id = reader.int32()
        broker_epoch = reader.int64()
        topics: list[AlterPartitionRequestTopic] = [
            AlterPartitionRequestTopic.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AlterPartitionRequest(broker_id, broker_epoch, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 2 or version > 3:
            raise no_such_version("AlterPartitionRequest", version)
        writer.write_int32(self.broker_id)
        writer.write_int64(self.broker_epoch)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterPartitionResponsePartition(Struct):
    __slots__ = (
        "error_code",
        "isr",
        "leader_epoch",
        "leader_id",
        "leader_recovery_state",
        "partition_epoch",
        "partition_index",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "isr",
        "leader_recovery_state",
        "partition_epoch",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        isr: list[int] = EMPTY,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.isr: list[int] = [] if isr is EMPTY else isr
        self.leader_recovery_state: int = leader_recovery_state
        self.partition_epoch: int = partition_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterPartitionResponsePartition":
        partition_index = reader.int32()
        error_code = reader.int16()
        leader_id = reader.int32()
        leader_epoch = reader.int32()
        isr: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        leader_recovery_state = reader.int8()
        partition_epoch = reader.int32()
        unknown = reader.tagged_fields()
        return AlterPartitionResponsePartition(
            partition_index,
            error_code,
            leader_id,
            leader_epoch,
            isr,
            leader_recovery_state,
            partition_epoch,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)
        writer.write_int32(self.leader_id)
        writer.write_int32(self.leader_epoch)
        writer.write_compact_array_length(len(self.isr))
        for isr_element in self.isr:
            writer.write_int32(isr_element)
        writer.write_int8(self.leader_recovery_state)
        writer.write_int32(self.partition_epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterPartitionResponseTopic(Struct):
    __slots__ = ("partitions", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[AlterPartitionResponsePartition] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[AlterPartitionResponsePartition] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterPartitionResponseTopic":
        topic_id = reader.uuid()
        partitions: list[AlterPartitionResponsePartition] = [
            AlterPartitionResponsePartition.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AlterPartitionResponseTopic(topic_id, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_uuid(self.topic_id)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterPartitionResponse(Message):
    __slots__ = ("error_code", "throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[AlterPartitionResponseTopic] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.topics: list[AlterPartitionResponseTopic] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterPartitionResponse":
        if version < 2 or version > 3:
            raise no_such_version("AlterPartitionResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        topics: list[AlterPartitionResponseTopic] = [
            AlterPartitionResponseTopic.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AlterPartitionResponse(throttle_time_ms, error_code, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 2 or version > 3:
            raise no_such_version("AlterPartitionResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
