"""Reads topics for kafka-consumer-perf-test without a group, fast enough to measure the broker.

Fetched batches are decoded by the compiled `RecordColumns`, without a Python object per record. Partitions
are read one after another, each to the end that it has at that time.
"""

import sys
import time
from argparse import Namespace
from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

from gralha.cli.connect import creation_warning, missing_topic
from gralha.cli.program import CommandError
from gralha.cli.topic_filter import TopicFilter
from gralha.client.aborted_transactions import AbortedTransactions
from gralha.client.admin import Admin
from gralha.client.cluster import UNKNOWN_TOPIC_CODES, Cluster
from gralha.client.fetching import PartitionFetcher
from gralha.client.record_columns import RecordColumns
from gralha.client.settings import ClientSettings
from gralha.client.values import EARLIEST, LATEST, TopicPartition
from gralha.protocol import compression
from gralha.protocol.batches import HEADER_SIZE, batches
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.fetch import PartitionData

_DECOMPRESSED_BYTES_MAX: Final = 1 << 30
_PAUSE_SECONDS: Final = 0.05


class Read(NamedTuple):
    """The records of one response, or none if there was nothing new."""

    records: int = 0
    size_bytes: int = 0
    latency_ms: int = 0


class Reading:
    """Reads partitions from their start, or from their end with --from-latest."""

    def __init__(self, settings: ClientSettings, options: Namespace, *, creates: bool) -> None:
        self._settings = settings
        self._creates = creates
        self._options = options
        self._cluster = Cluster.of(settings, api_timeout_ms=settings.default_api_timeout_ms)
        self._admin = Admin(self._cluster)
        self._fetcher = PartitionFetcher(self._cluster, settings, time.sleep)
        self._offsets: dict[TopicPartition, int] = {}

    def begin(self) -> bool:
        """Finds the partitions and their first offsets. Returns False if the topic did not appear in time."""
        deadline = time.monotonic() + self._options.timeout / 1000
        existing = {topic.name for topic in self._admin.list_topics()}
        names = [self._options.topic]
        if self._options.include is not None:
            wanted = TopicFilter(self._options.include)
            names = sorted(name for name in existing if wanted.allows(name, exclude_internal=True))
        while not self._offsets:
            partitions = self._partitions(names)
            if partitions:
                self._offsets = self._bounds(partitions, LATEST if self._options.from_latest else EARLIEST)
                break
            if time.monotonic() >= deadline:
                if self._options.topic is not None:
                    print(missing_topic(self._options.topic, existing), file=sys.stderr, flush=True)
                return False
            time.sleep(_PAUSE_SECONDS)
        for name in set(names) - existing:
            print(creation_warning(name, existing), file=sys.stderr, flush=True)
        return True

    def reads(self) -> Iterator[Read]:
        """Yields each response. Never ends: without records it yields empty ones."""
        while True:
            ends = self._bounds(list(self._offsets), LATEST)
            if all(self._offsets[partition] >= end for partition, end in ends.items()):
                time.sleep(_PAUSE_SECONDS)
                yield Read()
            for partition, end in ends.items():
                yield from self._to(partition, end)

    def close(self) -> None:
        self._fetcher.close()
        self._cluster.close()

    def _partitions(self, names: list[str]) -> list[TopicPartition]:
        partitions = []
        for topic in self._cluster.once(lambda: self._cluster.metadata(names, create=self._creates)).topics:
            if topic.error_code in (*UNKNOWN_TOPIC_CODES, ErrorCode.LEADER_NOT_AVAILABLE):
                continue
            if topic.error_code != ErrorCode.NONE:
                raise CommandError(f"Cannot use topic '{topic.name}': {error_for(topic.error_code)}")
            partitions += [TopicPartition(topic.name or "", one.partition_index) for one in topic.partitions]
        return partitions

    def _bounds(self, partitions: list[TopicPartition], when: int) -> dict[TopicPartition, int]:
        found = self._admin.list_offsets(
            dict.fromkeys(partitions, when), read_committed=self._settings.is_read_committed
        )
        bounds = {}
        for partition, answer in found.items():
            if isinstance(answer, KafkaError):
                raise CommandError(f"{partition} cannot be read: {answer}")
            bounds[partition] = answer.offset
        return bounds

    def _to(self, partition: TopicPartition, end: int) -> Iterator[Read]:
        """Reads a partition to its end. The next request is sent before a response is counted."""
        while self._offsets[partition] < end:
            begun = time.monotonic()
            answer = self._fetcher.fetch(partition, self._offsets[partition])
            latency_ms = int((time.monotonic() - begun) * 1000)
            if answer.records is None or answer.records.start == answer.records.end:
                yield Read()
                continue
            found = batches(answer.records.data, answer.records.start, answer.records.end)
            first = self._offsets[partition]
            if found:
                self._offsets[partition] = found[-1][1].next_offset
                if self._offsets[partition] < end:
                    self._fetcher.fetch_ahead(partition, self._offsets[partition])
            count, size_bytes = self._counted(answer, first)
            yield Read(count, size_bytes, latency_ms)
        self._fetcher.drop_ahead()

    def _counted(self, answer: PartitionData, first: int) -> tuple[int, int]:
        """The number of records from an offset on, and the bytes of their keys and values."""
        assert answer.records is not None
        data = answer.records.data
        is_committed_only = self._settings.is_read_committed
        aborted = AbortedTransactions((answer.aborted_transactions or []) if is_committed_only else [])
        columns = RecordColumns()
        for position, header in batches(data, answer.records.start, answer.records.end):
            if aborted.void(data, position, header):
                continue
            records, start, end = data, position + HEADER_SIZE, position + header.size_bytes
            if header.compression:
                records = compression.decompress(
                    header.compression, memoryview(data)[start:end], _DECOMPRESSED_BYTES_MAX
                )
                start, end = 0, len(records)
            # Positions count within their batch, so that large responses do not pass 32 bits.
            columns.add_records(records, start, end, header, first, header.next_offset, -start)
        return columns.count, payload_bytes(columns.bounds.getvalue())


def payload_bytes(bounds: bytes) -> int:
    """The bytes of all keys and values: the bounds of each key and value are four numbers."""
    numbers = array("i", bounds)
    if sys.byteorder == "big":
        numbers.byteswap()
    return sum(numbers[1::4]) - sum(numbers[0::4]) + sum(numbers[3::4]) - sum(numbers[2::4])
