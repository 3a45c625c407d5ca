"""Requests as bytes, ready to be sent, and where in the responses the error code will be."""

from __future__ import annotations

import random
import socket
import struct
import time
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
from gralha.protocol.records import Record, encode_batch

# The newest versions that still call a topic by its name, so that frames need no topic id.
PRODUCE_VERSION = 12
FETCH_VERSION = 12
CREATE_TOPICS_VERSION = 7
DELETE_TOPICS_VERSION = 6
METADATA_VERSION = 9

ERROR_MARK = 0x1357
OFFSET_MARK = 0x1122334455667788
FETCH_PARTITION_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Frame:
    """One request, where its response has the error code and where it has the offset to fetch, if any."""

    data: bytes
    error_at: int
    offset_at: int = -1


def frame_of(request: Message, version: int) -> bytes:
    writer = Writer()
    header = RequestHeader(request.API_KEY, version, 0, "bench")
    header.encode(writer, request_header_version(request.API_KEY, version))
    request.encode(writer, version)
    body = writer.to_bytes()
    return struct.pack(">i", len(body)) + body


def error_position(response: Message, api_key: int, version: int) -> int:
    """Where in such a response, from its correlation id on, the field that holds ERROR_MARK is."""
    writer = Writer()
    ResponseHeader(0).encode(writer, response_header_version(api_key, version))
    response.encode(writer, version)
    data = writer.to_bytes()
    mark = struct.pack(">h", ERROR_MARK)
    if data.count(mark) != 1:
        raise ValueError("the mark of the error code must occur once")
    return data.index(mark)


def batch(record_count: int, value_size_bytes: int) -> bytes:
    values = random.Random(record_count)
    now_ms = int(time.time() * 1000)
    records = [
        Record(None, values.randbytes(value_size_bytes), timestamp=now_ms) for _ in range(record_count)
    ]
    return encode_batch(records)


def produce_frame(topic: str, partition: int, records: bytes) -> Frame:
    """A Produce request of one batch, with acks=all as producers send by default."""
    data = PartitionProduceData(partition, RecordBytes(records, 0, len(records)))
    request = ProduceRequest(None, -1, 30_000, [TopicProduceData(topic, partition_data=[data])])
    answer = PartitionProduceResponse(partition, ERROR_MARK)
    response = ProduceResponse([TopicProduceResponse(topic, partition_responses=[answer])])
    return Frame(
        frame_of(request, PRODUCE_VERSION),
        error_position(response, ProduceRequest.API_KEY, PRODUCE_VERSION),
    )


def fetch_frame(topic: str, partition: int) -> Frame:
    """A Fetch request for one partition, with a consumer's default limits and no fetch session."""
    wanted = FetchPartition(
        partition=partition, fetch_offset=OFFSET_MARK, partition_max_bytes=FETCH_PARTITION_MAX_BYTES
    )
    request = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=50 << 20,
        session_id=0,
        session_epoch=-1,
        topics=[FetchTopic(topic, partitions=[wanted])],
    )
    answer = PartitionData(partition_index=partition, error_code=ERROR_MARK)
    response = FetchResponse(responses=[FetchableTopicResponse(topic, partitions=[answer])])
    data = frame_of(request, FETCH_VERSION)
    return Frame(
        data,
        error_position(response, FetchRequest.API_KEY, FETCH_VERSION),
        data.index(struct.pack(">q", OFFSET_MARK)),
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
    """Create a topic, or find that it exists; returns Kafka's error code."""
    new = CreatableTopic(topic, partitions, replicas)
    response = exchange(connection, CreateTopicsRequest([new], 10_000), CREATE_TOPICS_VERSION)
    assert isinstance(response, CreateTopicsResponse)
    return response.topics[0].error_code


def leader_ports(connection: socket.socket, topic: str) -> list[int] | None:
    """The port of each partition's leader, by partition; None while one has none."""
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
