"""Reads ranges of offsets of partitions as Arrow batches, with no Python object per record.

```python
with BulkReader(ClientSettings("localhost:9092")) as reader:
    for batch in reader.read(OffsetRange("sales", 0, 1000, 2000)):
        ...  # a pyarrow.RecordBatch: key, value, topic, partition, offset, timestamp, timestampType
```

Bytes flow like this: `fetching` gets a response. `RecordChunk` collects its batches until there are enough
rows. `record_columns` (compiled) parses the records, and `arrow_records` makes the Arrow batch.
"""

import time
from collections.abc import Callable, Iterator
from typing import Final, Self

import pyarrow as pa

from gralha.client.aborted_transactions import AbortedTransactions
from gralha.client.arrow_records import RECORD_SCHEMA, RECORD_SCHEMA_WITH_HEADERS, ArrowRecords
from gralha.client.cluster import Cluster
from gralha.client.errors import ClientError, OffsetsLostError
from gralha.client.fetching import PartitionFetcher
from gralha.client.record_chunk import RecordChunk
from gralha.client.settings import ClientSettings
from gralha.client.values import OffsetRange, TopicPartition
from gralha.protocol.batches import BatchHeader, batches, crc_is_valid
from gralha.protocol.errors import CorruptMessageError, KafkaError
from gralha.protocol.messages.fetch import PartitionData

DEFAULT_ROWS_PER_BATCH: Final = 20_000
# How long to wait if a range ends after the log. A new leader may need a moment for its high watermark.
END_PATIENCE_MS: Final = 5_000


class BulkReader:
    """Reads one range at a time. Use it from one thread. It connects when it is used for the first time.

    With `waits_for_first_answer` it waits up to default.api.timeout.ms for a cluster that does not answer,
    even if the cluster was never reached.
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        include_headers: bool = False,
        waits_for_first_answer: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = settings
        self._include_headers = include_headers
        self._cluster = Cluster.of(
            settings,
            api_timeout_ms=settings.default_api_timeout_ms,
            waits_for_first_answer=waits_for_first_answer,
            sleep=sleep,
        )
        self._fetcher = PartitionFetcher(self._cluster, settings, sleep)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the batches."""
        return RECORD_SCHEMA_WITH_HEADERS if self._include_headers else RECORD_SCHEMA

    def read(
        self, wanted: OffsetRange, rows_per_batch: int = DEFAULT_ROWS_PER_BATCH
    ) -> Iterator[pa.RecordBatch]:
        """Yields the records of a range in order, in batches of about this many rows.

        Offsets without a record are skipped (compaction, markers, and aborted transactions with
        read_committed). Raises OffsetsLostError if the log begins after the start of the range or ends before
        its end. All records that can be read are yielded before that.
        """
        records = ArrowRecords(wanted.topic, wanted.partition)
        chunk = RecordChunk(records, rows_per_batch, wanted.start, wanted.end, self._include_headers)
        try:
            for answer, found in self._responses(wanted):
                yield from self._chunks(wanted, chunk, answer, found)
        except ClientError:
            yield from chunk.take()
            raise
        finally:
            self._fetcher.drop_ahead()
        yield from chunk.take()

    def _responses(
        self, wanted: OffsetRange
    ) -> Iterator[tuple[PartitionData, list[tuple[int, BatchHeader]]]]:
        """Responses with batches of the range. The next request is sent before a response is yielded."""
        partition = TopicPartition(wanted.topic, wanted.partition)
        offset = wanted.start
        waiting_since: float | None = None
        while offset < wanted.end:
            answer = self._fetcher.fetch(partition, offset, wanted.topic_id)
            found = _batches(partition, answer)
            if not found:
                now = time.monotonic()
                waiting_since = waiting_since or now
                if (now - waiting_since) * 1000 >= END_PATIENCE_MS:
                    start, end = self._fetcher.log_range(partition)
                    if self._settings.is_read_committed and answer.high_watermark >= wanted.end:
                        raise ClientError(
                            f"{wanted} cannot be read with read_committed yet: a transaction that began at "
                            f"offset {end} or later is open. Nothing is lost; try it again when it has ended."
                        )
                    raise OffsetsLostError(wanted.topic, wanted.partition, offset, start, end)
                continue
            waiting_since = None
            offset = max(offset, found[-1][1].next_offset)
            if offset < wanted.end:
                self._fetcher.fetch_ahead(partition, offset)
            yield answer, found

    def _chunks(
        self,
        wanted: OffsetRange,
        chunk: RecordChunk,
        answer: PartitionData,
        found: list[tuple[int, BatchHeader]],
    ) -> Iterator[pa.RecordBatch]:
        """Adds the batches of a response to the chunk. Yields its content whenever it is full."""
        assert answer.records is not None
        data = answer.records.data
        is_committed_only = self._settings.is_read_committed
        aborted = AbortedTransactions((answer.aborted_transactions or []) if is_committed_only else [])
        for position, header in found:
            if self._settings.check_crcs and not crc_is_valid(data, position, header):
                raise _damaged(wanted, header, "its CRC does not match")
            if not chunk.suits(header):
                yield from chunk.take()
            try:
                if not aborted.void(data, position, header) and header.base_offset < wanted.end:
                    chunk.add(data, position, header)
            except KafkaError as error:
                raise _damaged(wanted, header, str(error)) from error
            if chunk.is_full:
                yield from chunk.take()

    def close(self) -> None:
        """Closes the connections."""
        self._fetcher.close()
        self._cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _batches(partition: TopicPartition, answer: PartitionData) -> list[tuple[int, BatchHeader]]:
    if answer.records is None:
        return []
    try:
        return batches(answer.records.data, answer.records.start, answer.records.end)
    except CorruptMessageError as error:
        raise ClientError(f"The broker's answer for {partition} cannot be read: {error}") from error


def _damaged(wanted: OffsetRange, header: BatchHeader, reason: str) -> ClientError:
    return ClientError(
        f"The record batch of {wanted.topic}-{wanted.partition} at offsets {header.base_offset} to "
        f"{header.last_offset} is damaged: {reason}."
    )
