"""Reads a partition back as a consumer with isolation.level=read_committed does, and counts."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from bench.frames import FETCH_VERSION, READ_COMMITTED, exchange
from gralha.client.aborted_transactions import AbortedTransactions
from gralha.protocol.batches import batches
from gralha.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

FETCHED_BYTES = 8 << 20


@dataclass
class Counted:
    """The records of a partition, without markers."""

    committed: int = 0
    aborted: int = 0
    end: int = 0  # the offset of the next record


def count_records(connection: socket.socket, topic: str, partition: int) -> Counted:
    """Read a partition from its begin to its last stable offset. Nobody may write to it meanwhile."""
    counted = Counted()
    while True:
        answer = _fetched(connection, topic, partition, counted.end)
        if answer.error_code != 0:
            raise RuntimeError(f"the fetch failed with error code {answer.error_code}")
        if counted.end == answer.last_stable_offset == answer.high_watermark:
            return counted
        _count(answer, counted)


def _fetched(connection: socket.socket, topic: str, partition: int, offset: int) -> PartitionData:
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=FETCHED_BYTES)
    request = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=FETCHED_BYTES,
        isolation_level=READ_COMMITTED,
        session_id=0,
        session_epoch=-1,
        topics=[FetchTopic(topic, partitions=[wanted])],
    )
    response = exchange(connection, request, FETCH_VERSION)
    assert isinstance(response, FetchResponse)
    return response.responses[0].partitions[0]


def _count(answer: PartitionData, counted: Counted) -> None:
    """Count the whole batches of a response. The last one may be cut."""
    records = answer.records
    if records is None or records.start == records.end:
        return
    aborted = AbortedTransactions(answer.aborted_transactions or [])
    for position, header in batches(records.data, records.start, records.end):
        void = aborted.void(records.data, position, header)
        if header.base_offset >= counted.end and not header.is_control:
            if void:
                counted.aborted += header.record_count
            else:
                counted.committed += header.record_count
        counted.end = max(counted.end, header.last_offset + 1)
