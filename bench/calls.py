"""Requests about many partitions at once, and checks of their responses."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

from bench.frames import FETCH_VERSION, METADATA_VERSION, PRODUCE_VERSION, exchange, frame_of
from gralha.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from gralha.protocol.messages.metadata import MetadataRequest
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import decode_records, read_header

INIT_PRODUCER_ID_VERSION = 4
FETCHED_BYTES = 50 << 20


def produce_to_each(
    connection: socket.socket, topic: str, partitions: Sequence[int], records: bytes
) -> list[int]:
    """Produce one batch to each of these partitions. Returns the partitions that refused it."""
    data = [PartitionProduceData(index, RecordBytes(records, 0, len(records))) for index in partitions]
    request = ProduceRequest(None, -1, 30_000, [TopicProduceData(topic, partition_data=data)])
    response = exchange(connection, request, PRODUCE_VERSION)
    assert isinstance(response, ProduceResponse)
    answers = response.responses[0].partition_responses
    return [answer.index for answer in answers if answer.error_code != 0]


def values_at(
    connection: socket.socket, topic: str, partitions: Sequence[int], offset: int
) -> list[bytes | None]:
    """The value of the record at the offset of each partition; None if there is none, or an error."""
    wanted = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
        for index in partitions
    ]
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=FETCHED_BYTES,
        session_id=0,
        session_epoch=-1,
        topics=[FetchTopic(topic, partitions=wanted)],
    )
    response = exchange(connection, request, FETCH_VERSION)
    assert isinstance(response, FetchResponse)
    found = {
        answer.partition_index: _value_at(answer.records, offset)
        for answered in response.responses
        for answer in answered.partitions
        if answer.error_code == 0
    }
    return [found.get(index) for index in partitions]


def _value_at(records: RecordBytes | None, offset: int) -> bytes | None:
    if records is None or records.start == records.end:
        return None
    header = read_header(records.data, records.start)
    for record in decode_records(records.data, records.start, header):
        if record.offset == offset:
            return record.value
    return None


def ask_metadata_of_all(connection: socket.socket) -> int:
    """Send a Metadata request for all topics. Returns the size of the response, which is not decoded."""
    connection.sendall(frame_of(MetadataRequest(None), METADATA_VERSION))
    return len(read_response(connection))


def read_response(connection: socket.socket) -> bytes:
    """Read one response, without its size."""
    with connection.makefile("rb") as stream:
        prefix = stream.read(4)
        if len(prefix) < 4:
            raise ConnectionError("the broker closed the connection")
        return stream.read(struct.unpack(">i", prefix)[0])


def new_producer_id(connection: socket.socket) -> tuple[int, int]:
    """The id and the epoch of a new idempotent producer."""
    request = InitProducerIdRequest(None, 60_000)
    while True:
        response = exchange(connection, request, INIT_PRODUCER_ID_VERSION)
        assert isinstance(response, InitProducerIdResponse)
        if response.error_code == 0:
            return response.producer_id, response.producer_epoch
