"""Requests as bytes, ready to be sent, and the positions of the error codes in the responses."""

from __future__ import annotations

import random
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

from gralha.protocol.apis import APIS, request_header_version, response_header_version
from gralha.protocol.message import Message
from gralha.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from gralha.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from gralha.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from gralha.protocol.messages.header import RequestHeader, ResponseHeader
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from gralha.protocol.primitives import Reader, RecordBytes, Writer
from gralha.protocol.records import Record, encode_batch, read_header

# The newest versions that have topic names, so that frames need no topic id.
PRODUCE_VERSION = 12
FETCH_VERSION = 12
CREATE_TOPICS_VERSION = 7
DELETE_TOPICS_VERSION = 6
METADATA_VERSION = 9

ERROR_MARK = 0x1357
ERROR_BYTES = struct.pack(">h", ERROR_MARK)
RECORDS_MARK = b"records"
OFFSET_MARK = 0x1122334455667788
FETCH_PARTITION_MAX_BYTES = 1 << 20
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
SEQUENCE_IN_BATCH = 53


@dataclass(frozen=True)
class Frame:
    """One request, and the positions of the fields that the load changes or checks."""

    data: bytes
    error_at: int  # in the response, from its correlation id on
    offset_at: int = -1  # the offset to fetch
    sequence_at: int = -1  # the base sequence of an idempotent batch
    records_at: int = -1  # in the response: the length of the records, for a load that follows the log


def frame_of(request: Message, version: int) -> bytes:
    writer = Writer()
    header = RequestHeader(request.API_KEY, version, 0, "bench")
    header.encode(writer, request_header_version(request.API_KEY, version))
    request.encode(writer, version)
    body = writer.to_bytes()
    return struct.pack(">i", len(body)) + body


def position(response: Message, api_key: int, version: int, mark: bytes) -> int:
    """The position of the field with the mark in such a response, counted from its correlation id."""
    writer = Writer()
    ResponseHeader(0).encode(writer, response_header_version(api_key, version))
    response.encode(writer, version)
    data = writer.to_bytes()
    if data.count(mark) != 1:
        raise ValueError(f"the mark {mark!r} must occur once")
    return data.index(mark)


def batch(record_count: int, value_size_bytes: int, producer: tuple[int, int] | None = None) -> bytes:
    """A batch of random values. With a producer id and epoch it is idempotent, with sequence 0."""
    values = random.Random(record_count)
    return batch_of([values.randbytes(value_size_bytes) for _ in range(record_count)], producer)


def batch_of(values: Sequence[bytes], producer: tuple[int, int] | None = None) -> bytes:
    now_ms = int(time.time() * 1000)
    records = [Record(None, value, timestamp=now_ms) for value in values]
    if producer is None:
        return encode_batch(records)
    producer_id, producer_epoch = producer
    return encode_batch(records, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=0)


def produce_frame(topic: str, partition: int, records: bytes) -> Frame:
    """A Produce request with one batch and acks=all, which is a producer's default."""
    data = PartitionProduceData(partition, RecordBytes(records, 0, len(records)))
    request = ProduceRequest(None, -1, 30_000, [TopicProduceData(topic, partition_data=[data])])
    answer = PartitionProduceResponse(partition, ERROR_MARK)
    response = ProduceResponse([TopicProduceResponse(topic, partition_responses=[answer])])
    frame = frame_of(request, PRODUCE_VERSION)
    is_idempotent = read_header(records, 0).has_producer_id
    return Frame(
        frame,
        position(response, ProduceRequest.API_KEY, PRODUCE_VERSION, ERROR_BYTES),
        sequence_at=frame.index(records) + SEQUENCE_IN_BATCH if is_idempotent else -1,
    )


def fetch_frame(topic: str, partition: int, isolation_level: int = READ_UNCOMMITTED) -> Frame:
    """A Fetch request for one partition, with a consumer's default limits and no fetch session."""
    wanted = FetchPartition(
        partition=partition, fetch_offset=OFFSET_MARK, partition_max_bytes=FETCH_PARTITION_MAX_BYTES
    )
    request = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=50 << 20,
        isolation_level=isolation_level,
        session_id=0,
        session_epoch=-1,
        topics=[FetchTopic(topic, partitions=[wanted])],
    )
    records = RecordBytes(RECORDS_MARK, 0, len(RECORDS_MARK))
    answer = PartitionData(partition_index=partition, error_code=ERROR_MARK, records=records)
    response = FetchResponse(responses=[FetchableTopicResponse(topic, partitions=[answer])])
    data = frame_of(request, FETCH_VERSION)
    return Frame(
        data,
        position(response, FetchRequest.API_KEY, FETCH_VERSION, ERROR_BYTES),
        offset_at=data.index(struct.pack(">q", OFFSET_MARK)),
        # The length of this few records has one byte.
        records_at=position(response, FetchRequest.API_KEY, FETCH_VERSION, RECORDS_MARK) - 1,
    )


def exchange(connection: socket.socket, request: Message, version: int) -> Message:
    """Send one request and wait for its response."""
    connection.sendall(frame_of(request, version))
    with connection.makefile("rb") as stream:
        prefix = stream.read(4)
        if len(prefix) < 4:
            raise ConnectionError("the broker closed the connection")
        reader = Reader(stream.read(struct.unpack(">i", prefix)[0]))
    ResponseHeader.decode(reader, response_header_version(request.API_KEY, version))
    return APIS[request.API_KEY].response.decode(reader, version)


def create_topic(connection: socket.socket, topic: str, partitions: int, replicas: int = 1) -> int:
    """Create a topic unless it exists. Returns Kafka's error code."""
    new = CreatableTopic(topic, partitions, replicas)
    response = exchange(connection, CreateTopicsRequest([new], 10_000), CREATE_TOPICS_VERSION)
    assert isinstance(response, CreateTopicsResponse)
    return response.topics[0].error_code


def leader_ports(connection: socket.socket, topic: str) -> list[int] | None:
    """The ports of the partitions' leaders, by partition. None while a partition has no leader."""
    response = exchange(connection, MetadataRequest([MetadataRequestTopic(name=topic)]), METADATA_VERSION)
    assert isinstance(response, MetadataResponse)
    ports = {broker.node_id: broker.port for broker in response.brokers}
    partitions = sorted(response.topics[0].partitions, key=lambda partition: partition.partition_index)
    if not partitions or any(partition.leader_id not in ports for partition in partitions):
        return None
    return [ports[partition.leader_id] for partition in partitions]


def delete_topic(connection: socket.socket, topic: str) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(topic)], timeout_ms=10_000)
    exchange(connection, request, DELETE_TOPICS_VERSION)


def produce_once(connection: socket.socket, topic: str, partition: int, records: bytes) -> int:
    """Produce one batch and return the error code."""
    frame = produce_frame(topic, partition, records)
    connection.sendall(frame.data)
    with connection.makefile("rb") as stream:
        prefix = stream.read(4)
        if len(prefix) < 4:
            raise ConnectionError("the broker closed the connection")
        response = stream.read(struct.unpack(">i", prefix)[0])
    code: int = struct.unpack_from(">h", response, frame.error_at)[0]
    return code
