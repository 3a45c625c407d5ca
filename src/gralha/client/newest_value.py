"""Finds the newest committed value of one key in a partition of a compacted topic.

`NewestValue` is the pure part: it is fed what was fetched. It reads records of open transactions too, and
follows the markers itself. A reader of committed records would stop at the first open transaction, also if
that is the one of another key whose writer has just died. A broker compacts a transaction's markers away only
after its records, so no record is without its marker.

`KeyReader` fetches. It can go on with a `NewestValue` that another reader has fed.
"""

import time
from collections.abc import Callable
from typing import Final

from gralha.client.errors import ClientError, OffsetsLostError, TopicDeletedError
from gralha.client.fetching import PartitionFetcher
from gralha.client.values import TopicPartition
from gralha.protocol.batches import batches
from gralha.protocol.control_records import ABORT, COMMIT, control_type
from gralha.protocol.messages.fetch import PartitionData
from gralha.protocol.records import decode_records

_POLL_S: Final = 0.05


class NewestValue:
    """The position in the log, and the newest value before it. `value` is None if there is none."""

    def __init__(self, key: bytes, next_offset: int = 0) -> None:
        self.key = key
        self.next_offset = next_offset
        self.value: bytes | None = None
        # Values whose transaction has no marker yet, by producer id.
        self._open: dict[int, list[bytes | None]] = {}

    @property
    def has_open(self) -> bool:
        """Returns True if a transaction that wrote this key is open, so that it is not known how it ends."""
        return bool(self._open)

    def feed(self, data: bytes, start: int, end: int) -> None:
        """Reads the batches between two positions. Those that were read before are skipped."""
        for position, header in batches(data, start, end):
            if header.next_offset <= self.next_offset:
                continue
            records = decode_records(data, position, header)
            self.next_offset = header.next_offset
            if header.is_control:
                for record in records:
                    self._end(header.producer_id, control_type(record.key))
                continue
            found = [record.value for record in records if record.key == self.key]
            if not found:
                continue
            if header.is_transactional:
                self._open.setdefault(header.producer_id, []).extend(found)
            else:
                self.value = found[-1]

    def _end(self, producer_id: int, kind: int) -> None:
        if kind == COMMIT and producer_id in self._open:
            self.value = self._open.pop(producer_id)[-1]
        elif kind == ABORT:
            self._open.pop(producer_id, None)


class KeyReader:
    """Reads a partition from its beginning, or from where a `NewestValue` is, to its end."""

    def __init__(
        self,
        fetcher: PartitionFetcher,
        where: TopicPartition,
        patience_ms: int,
        sleep: Callable[[float], None],
    ) -> None:
        self._fetcher = fetcher
        self._where = where
        self._patience_ms = patience_ms
        self._sleep = sleep

    def read(self, newest: NewestValue, up_to: int = 0) -> NewestValue:
        """Reads to the end that the log has now, and at least up to an offset (exclusive)."""
        try:
            self._read(newest, up_to)
        except OffsetsLostError as lost:
            # The topic was created again, or its beginning was deleted.
            newest = NewestValue(newest.key, lost.log_start_offset)
            self._read(newest, up_to)
        return newest

    def _read(self, newest: NewestValue, up_to: int) -> None:
        deadline = time.monotonic() + self._patience_ms / 1000
        answer = self._fetched(newest.next_offset, deadline)
        end = max(answer.high_watermark, up_to)
        while newest.next_offset < end:
            if answer.records is not None and answer.records.start < answer.records.end:
                newest.feed(answer.records.data, answer.records.start, answer.records.end)
            elif time.monotonic() > deadline:
                raise ClientError(f"{self._where} cannot be read up to offset {end}.")
            else:
                self._sleep(_POLL_S)
            if newest.next_offset < end:
                answer = self._fetched(newest.next_offset, deadline)

    def _fetched(self, offset: int, deadline: float) -> PartitionData:
        """Fetches from an offset. A topic that was just created may be unknown to some brokers."""
        while True:
            try:
                return self._fetcher.fetch(self._where, offset)
            except TopicDeletedError:
                if time.monotonic() > deadline:
                    raise
