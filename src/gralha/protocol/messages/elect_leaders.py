"""ElectLeaders: make preferred replicas leaders again, or any replica at the cost of records (KIP-460).

Generated from definitions/elect_leaders.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class TopicPartitions(Struct):
    __slots__ = ("partitions", "topic")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic: str = topic
        self.partitions: list[int] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TopicPartitions":
        flexible = version >= 2
        topic = reader.compact_string() if flexible else reader.string()
        partitions: list[int] = [
            reader.int32()
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return TopicPartitions(topic, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        if flexible:
            writer.write_compact_string(self.topic)
        else:
            writer.write_string(self.topic)
        if flexible:
            writer.write_compact_array_length(len(self.partitions))
        else:
            writer.write_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            writer.write_int32(partitions_element)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ElectLeadersRequest(Message):
    __slots__ = ("election_type", "timeout_ms", "topic_partitions")

    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("election_type", "topic_partitions", "timeout_ms")

    def __init__(
        self,
        election_type: int = 0,
        topic_partitions: list[TopicPartitions] | None = EMPTY,
        timeout_ms: int = 60000,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.election_type: int = election_type
        self.topic_partitions: list[TopicPartitions] | None = (
            [] if topic_partitions is EMPTY else topic_partitions
        )
        self.timeout_ms: int = timeout_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ElectLeadersRequest":
        if version < 0 or version > 2:
            raise no_such_version("ElectLeadersRequest", version)
        flexible = version >= 2
        election_type: int = 0
        if version >= 1:
            election_type = reader.int8()
        count = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
        topic_partitions: list[TopicPartitions] | None = (
            [TopicPartitions.decode(reader, version) for _ in range(count)] if count >= 0 else None
        )
        timeout_ms = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return ElectLeadersRequest(election_type, topic_partitions, timeout_ms, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("ElectLeadersRequest", version)
        flexible = version >= 2
        if version >= 1:
            writer.write_int8(self.election_type)
        elif self.election_type != 0:
            raise not_in_version("ElectLeadersRequest.election_type", version)
        if self.topic_partitions is None:
            if flexible:
                writer.write_compact_array_length(-1)
            else:
                writer.write_array_length(-1)
        else:
            if flexible:
                writer.write_compact_array_length(len(self.topic_partitions))
            else:
                writer.write_array_length(len(self.topic_partitions))
            for topic_partitions_element in self.topic_partitions:
                topic_partitions_element.encode(writer, version)
        writer.write_int32(self.timeout_ms)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class PartitionResult(Struct):
    __slots__ = ("error_code", "error_message", "partition_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_id", "error_code", "error_message")

    def __init__(
        self,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_id: int = partition_id
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "PartitionResult":
        flexible = version >= 2
        partition_id = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return PartitionResult(partition_id, error_code, error_message, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        writer.write_int32(self.partition_id)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_nullable_string(self.error_message)
        else:
            writer.write_nullable_string(self.error_message)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ReplicaElectionResult(Struct):
    __slots__ = ("partition_result", "topic")

    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partition_result")

    def __init__(
        self,
        topic: str = "",
        partition_result: list[PartitionResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.topic: str = topic
        self.partition_result: list[PartitionResult] = [] if partition_result is EMPTY else partition_result
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ReplicaElectionResult":
        flexible = version >= 2
        topic = reader.compact_string() if flexible else reader.string()
        partition_result: list[PartitionResult] = [
            PartitionResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return ReplicaElectionResult(topic, partition_result, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        if flexible:
            writer.write_compact_string(self.topic)
        else:
            writer.write_string(self.topic)
        if flexible:
            writer.write_compact_array_length(len(self.partition_result))
        else:
            writer.write_array_length(len(self.partition_result))
        for partition_result_element in self.partition_result:
            partition_result_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ElectLeadersResponse(Message):
    __slots__ = ("error_code", "replica_election_results", "throttle_time_ms")

    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "replica_election_results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ReplicaElectionResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.replica_election_results: list[ReplicaElectionResult] = (
            [] if replica_election_results is EMPTY else replica_election_results
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ElectLeadersResponse":
        if version < 0 or version > 2:
            raise no_such_version("ElectLeadersResponse", version)
        flexible = version >= 2
        throttle_time_ms = reader.int32()
        error_code: int = 0
        if version >= 1:
            error_code = reader.int16()
        replica_election_results: list[ReplicaElectionResult] = [
            ReplicaElectionResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("ElectLeadersResponse", version)
        flexible = version >= 2
        writer.write_int32(self.throttle_time_ms)
        if version >= 1:
            writer.write_int16(self.error_code)
        elif self.error_code != 0:
            raise not_in_version("ElectLeadersResponse.error_code", version)
        if flexible:
            writer.write_compact_array_length(len(self.replica_election_results))
        else:
            writer.write_array_length(len(self.replica_election_results))
        for replica_election_results_element in self.replica_election_results:
            replica_election_results_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
