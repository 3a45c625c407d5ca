"""Produce: append record batches to partitions.

Generated from definitions/produce.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, RecordBytes, TaggedField, Writer


@final
class PartitionProduceData(Struct):
    __slots__ = ("index", "records")

    FIELDS: ClassVar[tuple[str, ...]] = ("index", "records")

    def __init__(
        self,
        index: int = 0,
        records: RecordBytes | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.index: int = index
        self.records: RecordBytes | None = records
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "PartitionProduceData":
        flexible = version >= 9
        index = reader.int32()
        records = reader.compact_records() if flexible else reader.records()
        unknown = reader.tagged_fields() if flexible else ()
        return PartitionProduceData(index, records, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 9
        writer.write_int32(self.index)
        if flexible:
            writer.write_compact_records(self.records)
        else:
            writer.write_records(self.records)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class TopicProduceData(Struct):
    __slots__ = ("name", "partition_data", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "partition_data")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_data: list[PartitionProduceData] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.partition_data: list[PartitionProduceData] = [] if partition_data is EMPTY else partition_data
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TopicProduceData":
        flexible = version >= 9
        name: str = ""
        if version <= 12:
            name = reader.compact_string() if flexible else reader.string()
        topic_id: bytes = ZERO_UUID
        if version >= 13:
            topic_id = reader.uuid()
        partition_data: list[PartitionProduceData] = [
            PartitionProduceData.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return TopicProduceData(name, topic_id, partition_data, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 9
        if version <= 12:
            if flexible:
                writer.write_compact_string(self.name)
            else:
                writer.write_string(self.name)
        if version >= 13:
            writer.write_uuid(self.topic_id)
        if flexible:
            writer.write_compact_array_length(len(self.partition_data))
        else:
            writer.write_array_length(len(self.partition_data))
        for partition_data_element in self.partition_data:
            partition_data_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ProduceRequest(Message):
    __slots__ = ("acks", "timeout_ms", "topic_data", "transactional_id")

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id", "acks", "timeout_ms", "topic_data")

    def __init__(
        self,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[TopicProduceData] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id: str | None = transactional_id
        self.acks: int = acks
        self.timeout_ms: int = timeout_ms
        self.topic_data: list[TopicProduceData] = [] if topic_data is EMPTY else topic_data
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ProduceRequest":
        if version < 3 or version > 13:
            raise no_such_version("ProduceRequest", version)
        flexible = version >= 9
        transactional_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        acks = reader.int16()
        timeout_ms = reader.int32()
        topic_data: list[TopicProduceData] = [
            TopicProduceData.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return ProduceRequest(transactional_id, acks, timeout_ms, topic_data, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 3 or version > 13:
            raise no_such_version("ProduceRequest", version)
        flexible = version >= 9
        if flexible:
            writer.write_compact_nullable_string(self.transactional_id)
        else:
            writer.write_nullable_string(self.transactional_id)
        writer.write_int16(self.acks)
        writer.write_int32(self.timeout_ms)
        if flexible:
            writer.write_compact_array_length(len(self.topic_data))
        else:
            writer.write_array_length(len(self.topic_data))
        for topic_data_element in self.topic_data:
            topic_data_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class BatchIndexAndErrorMessage(Struct):
    __slots__ = ("batch_index", "batch_index_error_message")

    FIELDS: ClassVar[tuple[str, ...]] = ("batch_index", "batch_index_error_message")

    def __init__(
        self,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.batch_index: int = batch_index
        self.batch_index_error_message: str | None = batch_index_error_message
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "BatchIndexAndErrorMessage":
        flexible = version >= 9
        batch_index = reader.int32()
        batch_index_error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return BatchIndexAndErrorMessage(batch_index, batch_index_error_message, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 9
        writer.write_int32(self.batch_index)
        if flexible:
            writer.write_compact_nullable_string(self.batch_index_error_message)
        else:
            writer.write_nullable_string(self.batch_index_error_message)
        if flexible:
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
class PartitionProduceResponse(Struct):
    __slots__ = (
        "base_offset",
        "current_leader",
        "error_code",
        "error_message",
        "index",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "index",
        "error_code",
        "base_offset",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
        "error_message",
        "current_leader",
    )

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[BatchIndexAndErrorMessage] = EMPTY,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.index: int = index
        self.error_code: int = error_code
        self.base_offset: int = base_offset
        self.log_append_time_ms: int = log_append_time_ms
        self.log_start_offset: int = log_start_offset
        self.record_errors: list[BatchIndexAndErrorMessage] = [] if record_errors is EMPTY else record_errors
        self.error_message: str | None = error_message
        self.current_leader: LeaderIdAndEpoch | None = current_leader
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "PartitionProduceResponse":
        flexible = version >= 9
        index = reader.int32()
        error_code = reader.int16()
        base_offset = reader.int64()
        log_append_time_ms = reader.int64()
        log_start_offset: int = -1
        if version >= 5:
            log_start_offset = reader.int64()
        record_errors: list[BatchIndexAndErrorMessage] = []
        if version >= 8:
            record_errors = [
                BatchIndexAndErrorMessage.decode(reader, version)
                for _ in range(reader.compact_array_length() if flexible else reader.array_length())
            ]
        error_message: str | None = None
        if version >= 8:
            error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        current_leader: LeaderIdAndEpoch | None = None
        unknown: tuple[TaggedField, ...] = ()
        if flexible:
            tags = reader.unsigned_varint()
            if tags > 0:
                kept: list[TaggedField] = []
                tag: i64 = -1
                for _ in range(tags):
                    tag = reader.next_tag(tag)
                    end = reader.tagged_field_end()
                    if tag == 0 and version >= 10:
                        current_leader = LeaderIdAndEpoch.decode(reader, version)
                    else:
                        kept.append((tag, reader.raw(end - reader.position)))
                    reader.expect_end(end)
                unknown = tuple(kept)
        return PartitionProduceResponse(
            index,
            error_code,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            record_errors,
            error_message,
            current_leader,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 9
        writer.write_int32(self.index)
        writer.write_int16(self.error_code)
        writer.write_int64(self.base_offset)
        writer.write_int64(self.log_append_time_ms)
        if version >= 5:
            writer.write_int64(self.log_start_offset)
        if version >= 8:
            if flexible:
                writer.write_compact_array_length(len(self.record_errors))
            else:
                writer.write_array_length(len(self.record_errors))
            for record_errors_element in self.record_errors:
                record_errors_element.encode(writer, version)
        if version >= 8:
            if flexible:
                writer.write_compact_nullable_string(self.error_message)
            else:
                writer.write_nullable_string(self.error_message)
        tagged = self.unknown_tagged_fields
        if version >= 10:
            if self.current_leader is not None:
                part = Writer()
                self.current_leader.encode(part, version)
                tagged = (*tagged, (0, part.to_bytes()))
        elif self.current_leader is not None:
            raise not_in_version("PartitionProduceResponse.current_leader", version)
        if flexible:
            writer.write_tagged_fields(tagged)


@final
class TopicProduceResponse(Struct):
    __slots__ = ("name", "partition_responses", "topic_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "partition_responses")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_responses: list[PartitionProduceResponse] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.partition_responses: list[PartitionProduceResponse] = (
            [] if partition_responses is EMPTY else partition_responses
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TopicProduceResponse":
        flexible = version >= 9
        name: str = ""
        if version <= 12:
            name = reader.compact_string() if flexible else reader.string()
        topic_id: bytes = ZERO_UUID
        if version >= 13:
            topic_id = reader.uuid()
        partition_responses: list[PartitionProduceResponse] = [
            PartitionProduceResponse.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return TopicProduceResponse(name, topic_id, partition_responses, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 9
        if version <= 12:
            if flexible:
                writer.write_compact_string(self.name)
            else:
                writer.write_string(self.name)
        if version >= 13:
            writer.write_uuid(self.topic_id)
        if flexible:
            writer.write_compact_array_length(len(self.partition_responses))
        else:
            writer.write_array_length(len(self.partition_responses))
        for partition_responses_element in self.partition_responses:
            partition_responses_element.encode(writer, version)
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
class ProduceResponse(Message):
    __slots__ = ("node_endpoints", "responses", "throttle_time_ms")

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9
    FIELDS: ClassVar[tuple[str, ...]] = ("responses", "throttle_time_ms", "node_endpoints")

    def __init__(
        self,
        responses: list[TopicProduceResponse] = EMPTY,
        throttle_time_ms: int = 0,
        node_endpoints: list[NodeEndpoint] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.responses: list[TopicProduceResponse] = [] if responses is EMPTY else responses
        self.throttle_time_ms: int = throttle_time_ms
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is EMPTY else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ProduceResponse":
        if version < 3 or version > 13:
            raise no_such_version("ProduceResponse", version)
        flexible = version >= 9
        responses: list[TopicProduceResponse] = [
            TopicProduceResponse.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        throttle_time_ms = reader.int32()
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
                    if tag == 0 and version >= 10:
                        node_endpoints = [
                            NodeEndpoint.decode(reader, version) for _ in range(reader.compact_array_length())
                        ]
                    else:
                        kept.append((tag, reader.raw(end - reader.position)))
                    reader.expect_end(end)
                unknown = tuple(kept)
        return ProduceResponse(responses, throttle_time_ms, node_endpoints, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 3 or version > 13:
            raise no_such_version("ProduceResponse", version)
        flexible = version >= 9
        if flexible:
            writer.write_compact_array_length(len(self.responses))
        else:
            writer.write_array_length(len(self.responses))
        for responses_element in self.responses:
            responses_element.encode(writer, version)
        writer.write_int32(self.throttle_time_ms)
        tagged = self.unknown_tagged_fields
        if version >= 10:
            if self.node_endpoints:
                part = Writer()
                part.write_compact_array_length(len(self.node_endpoints))
                for node_endpoints_element in self.node_endpoints:
                    node_endpoints_element.encode(part, version)
                tagged = (*tagged, (0, part.to_bytes()))
        elif self.node_endpoints:
            raise not_in_version("ProduceResponse.node_endpoints", version)
        if flexible:
            writer.write_tagged_fields(tagged)
