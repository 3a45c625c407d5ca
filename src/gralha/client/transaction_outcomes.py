"""How a transaction has ended, as its partitions know it.

The coordinator forgets: an id expires, and the next transaction of an id replaces its state. A partition
knows for as long as it has the records: after the last record of a transaction comes a marker.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import Final, Self

from gralha.client.cluster import Cluster
from gralha.client.errors import OffsetsLostError
from gralha.client.fetching import PartitionFetcher
from gralha.client.settings import READ_UNCOMMITTED, ClientSettings
from gralha.client.transaction_state import TransactionHandle
from gralha.client.values import TopicPartition
from gralha.protocol.batches import BatchHeader, batches
from gralha.protocol.control_records import ABORT, COMMIT, control_type
from gralha.protocol.records import decode_records

# Markers come a moment after the coordinator has decided how a transaction ends.
PATIENCE_S: Final = 10.0
_POLL_S: Final = 0.05
# A marker has the epoch of its transaction (v1), the next one, or the one after that (a timeout in v2).
_EPOCHS_OF_MARKERS: Final = 2


class LoggedOutcome(Enum):
    """What a partition tells about a transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    # There is no marker yet.
    OPEN = "open"
    # The partition does not have the records any more.
    FORGOTTEN = "forgotten"


class MarkerSearch:
    """Looks for the end of a transaction in batches, from its first record on. Pure."""

    def __init__(self, handle: TransactionHandle, first: int) -> None:
        self._producer_id = handle.producer_id
        self._producer_epoch = handle.producer_epoch
        self._has_begun = False
        self.next_offset = first

    def feed(self, data: bytes, start: int, end: int) -> LoggedOutcome | None:
        """The outcome, or None if the end of the transaction is not among these batches."""
        for position, header in batches(data, start, end):
            if header.next_offset <= self.next_offset:
                continue
            if not self._has_begun:
                # A compacted topic may have lost the records, and with them their marker.
                begins_here = header.base_offset <= self.next_offset and not header.is_control
                is_its = header.producer_id == self._producer_id
                if not (begins_here and is_its and header.producer_epoch == self._producer_epoch):
                    return LoggedOutcome.FORGOTTEN
                self._has_begun = True
            self.next_offset = header.next_offset
            if header.producer_id != self._producer_id:
                continue
            if header.is_control:
                return self._end(data, position, header)
            if header.producer_epoch != self._producer_epoch:
                return LoggedOutcome.FORGOTTEN  # the next transaction, and no marker before it
        return None

    def _end(self, data: bytes, position: int, header: BatchHeader) -> LoggedOutcome:
        """What a control batch of the producer says. Compaction may have removed its record, or the batch."""
        kinds = {control_type(record.key) for record in decode_records(data, position, header)}
        if not 0 <= header.producer_epoch - self._producer_epoch <= _EPOCHS_OF_MARKERS:
            return LoggedOutcome.FORGOTTEN  # it is the marker of a later transaction
        if ABORT in kinds:
            return LoggedOutcome.ABORTED
        return LoggedOutcome.COMMITTED if COMMIT in kinds else LoggedOutcome.FORGOTTEN


class OutcomeReader:
    """Looks up transactions in partitions."""

    def __init__(
        self,
        cluster: Cluster,
        settings: ClientSettings,
        deadline: float | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`deadline` is how long to wait for markers, by the monotonic clock. By default each look-up waits
        for `PATIENCE_S`.
        """
        self._deadline = deadline
        quick = replace(settings, isolation_level=READ_UNCOMMITTED, fetch_min_bytes=0, fetch_max_wait_ms=0)
        self._fetcher = PartitionFetcher(cluster, quick, sleep)
        self._sleep = sleep

    def outcome(self, handle: TransactionHandle, partition: TopicPartition, first: int) -> LoggedOutcome:
        """How a transaction ended whose first record in a partition has this offset.

        Raises KafkaError or ClientError if the partition cannot be read at the moment.
        """
        search = MarkerSearch(handle, first)
        deadline = time.monotonic() + PATIENCE_S if self._deadline is None else self._deadline
        try:
            while True:
                answer = self._fetcher.fetch(partition, search.next_offset)
                records = answer.records
                found = None if records is None else search.feed(records.data, records.start, records.end)
                if found is not None:
                    return found
                if search.next_offset >= answer.high_watermark:
                    if time.monotonic() > deadline:
                        return LoggedOutcome.OPEN
                    self._sleep(_POLL_S)
        except OffsetsLostError:
            return LoggedOutcome.FORGOTTEN

    def close(self) -> None:
        """Closes the connections."""
        self._fetcher.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
