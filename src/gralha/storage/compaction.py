"""Compaction: writes the segments of a log again, without records that have a newer record with the same key.

        clean              dirty                        not to be touched yet
    |-----------|-------------------------|-----------------------------|--------- ... active segment
    start       first dirty               first uncleanable             log end

First the newest offset of every key in the dirty section goes into a map. The map has a limit of memory:
where that is reached, the section ends for now. Then all segments up to the end of the map are read, in
groups that fit into one segment. The records of a group that stay are written into one `.cleaned` segment,
with the same offsets. A record stays if the map has no later offset for its key. These stay, too:

- a tombstone, until the delete horizon that its batch is given when it is cleaned for the first time: now
  plus delete.retention.ms (KIP-534), so that a reader of the value also reads that it is gone;
- a transaction's marker, until the same horizon, which counts from when no record of the transaction is left
  (at once if it was aborted);
- the last batch of each producer, without records if need be: it has the producer's last sequence number;
- the last batch before the first uncleanable offset: it tells followers where the log goes on.

Compaction reads files that no longer change, and writes new ones beside them. All it needs is a `Disk` and a
job, so it runs in a process of its own; in tests and simulations it runs in line. `cleaning.py` chooses the
jobs, and `swapping.py` puts the results into the log. Kafka's counterpart is `Cleaner`.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Final, NamedTuple, final

from librt.strings import read_i64_be
from mypy_extensions import i64

from gralha.protocol.batches import (
    HEADER_SIZE,
    MAX_TIMESTAMP_AT,
    RECORD_COUNT_AT,
    BatchHeader,
    crc_is_valid,
    read_header,
)
from gralha.protocol.control_records import ABORT, COMMIT, control_type
from gralha.protocol.errors import CorruptMessageError
from gralha.protocol.record_walk import RecordWalk, batch_of_none, batch_of_rest
from gralha.protocol.records import wrapping_sum
from gralha.storage.disk import Disk, File
from gralha.storage.index import RELATIVE_OFFSET_MAX, AbortedTransaction
from gralha.storage.segment import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    Segment,
    segment_path,
)
from gralha.storage.swapping import CLEANED_SUFFIX

_WRITE_BYTES: Final[i64] = 1024 * 1024
# The memory of a key beside its own bytes: an entry of a dict that has just grown, an integer, an object.
_ENTRY_BYTES: Final[i64] = 200
# Keys from this length on are remembered by a digest of this length.
_DIGEST_BYTES: Final = 32


class CleaningJob(NamedTuple):
    """What to clean, and how. All fields can be written as JSON."""

    folder: str
    # All segments before the first uncleanable offset, where the next segment begins.
    base_offsets: list[int]
    first_dirty_offset: int
    first_uncleanable_offset: int
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    map_bytes: int
    chunk_bytes: int
    max_bytes_per_second: float
    # Producer id, last offset of its data (-1 if there is none) and epoch of each producer.
    producers: list[tuple[int, int, int]]
    # Producer id, first offset, last offset and last stable offset of each aborted transaction.
    aborted: list[tuple[int, int, int, int]]


class CleanedGroup(NamedTuple):
    """A `.cleaned` segment that is on the device, and how many old segments it replaces."""

    base_offset: int
    replaced: int
    has_aborts: bool


class CleaningResult(NamedTuple):
    # The first dirty offset from now on.
    end_offset: int
    keys: int
    bytes_read: int
    bytes_written: int
    records_read: int
    records_written: int


class Transactions:
    """The state of transactions during a walk over the batches of a log, from its start."""

    def __init__(self, aborted: list[tuple[int, int, int, int]], start_offset: int) -> None:
        self.aborted = [
            AbortedTransaction(producer_id, first_offset, last_offset, last_stable_offset)
            for producer_id, first_offset, last_offset, last_stable_offset in aborted
            if last_offset >= start_offset
        ]
        self.aborted.sort(key=lambda entry: entry.first_offset)
        self.next = 0
        self.running_aborted: dict[int, AbortedTransaction] = {}
        # Producers with an open transaction of which a batch was seen.
        self.seen: set[int] = set()

    def _begin_up_to(self, offset: i64) -> None:
        while self.next < len(self.aborted) and self.aborted[self.next].first_offset <= offset:
            entry = self.aborted[self.next]
            self.running_aborted.setdefault(entry.producer_id, entry)
            self.next += 1

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether a data batch belongs to an aborted transaction."""
        self._begin_up_to(header.last_offset)
        if not header.is_transactional:
            return False
        self.seen.add(header.producer_id)
        return header.producer_id in self.running_aborted

    def ends(self, header: BatchHeader, kind: int) -> bool:
        """Pass a marker. Returns whether a batch of its transaction was seen."""
        self._begin_up_to(header.last_offset)
        seen = header.producer_id in self.seen
        if kind in (ABORT, COMMIT):
            self.seen.discard(header.producer_id)
            return seen
        return True

    def take_aborted(self, header: BatchHeader) -> AbortedTransaction | None:
        """Pass the marker of an aborted transaction."""
        return self.running_aborted.pop(header.producer_id, None)


@final
class BatchReader:
    """The batches of a segment's file, one after the other, each of them checked."""

    def __init__(self, file: File, path: str, chunk_bytes: i64, pace: Callable[[int], None]) -> None:
        self.file = file
        self.path = path
        self.chunk_bytes: i64 = max(chunk_bytes, HEADER_SIZE)
        self.pace = pace
        self.size_bytes: i64 = file.size()
        # Where the present batch begins in `data`, and where `data` begins in the file.
        self.data = b""
        self.position: i64 = 0
        self.data_start: i64 = 0
        self.next_position: i64 = 0

    def advance(self) -> BatchHeader | None:
        """The header of the next batch; None at the end. The whole batch is then in `data`, at `position`."""
        self.position = self.next_position
        if self.data_start + self.position >= self.size_bytes:
            return None
        if len(self.data) - self.position < HEADER_SIZE:
            self._read(self.chunk_bytes)
        header = read_header(self.data, self.position)
        if header.size_bytes > len(self.data) - self.position:
            self._read(max(self.chunk_bytes, header.size_bytes))
        if not crc_is_valid(self.data, self.position, header) or header.last_offset_delta < 0:
            raise CorruptMessageError(
                f"The batch at {self.data_start + self.position} of {self.path} is damaged"
            )
        self.next_position = self.position + header.size_bytes
        return header

    def _read(self, length: i64) -> None:
        self.data_start += self.position
        self.position = 0
        self.data = self.file.read(self.data_start, length)
        self.pace(len(self.data))


class Compaction:
    """One job: `build_map`, then `clean` each of the `groups`, then `result`."""

    def __init__(self, disk: Disk, job: CleaningJob, pace: Callable[[int], None]) -> None:
        self.disk = disk
        self.job = job
        # Called with the size of every read and write. It may wait.
        self.pace = pace
        self.now_ms: i64 = job.now_ms
        self.offsets: dict[bytes, int] = {}
        # The last offset that was taken into the map.
        self.latest_offset: i64 = job.first_dirty_offset - 1
        self.map_room: i64 = job.map_bytes
        self.producers = {producer_id: (offset, epoch) for producer_id, offset, epoch in job.producers}
        self.transactions = Transactions(job.aborted, 0)
        self.cleaned: Segment | None = None
        self.unwritten: list[bytes] = []
        self.unwritten_bytes: i64 = 0
        self.bytes_read: i64 = 0
        self.bytes_written: i64 = 0
        self.records_read: i64 = 0
        self.records_written: i64 = 0

    def result(self) -> CleaningResult:
        return CleaningResult(
            int(self.latest_offset + 1),
            len(self.offsets),
            int(self.bytes_read),
            int(self.bytes_written),
            int(self.records_read),
            int(self.records_written),
        )

    def _open(self, base_offset: int) -> BatchReader:
        path = segment_path(self.job.folder, base_offset, LOG_SUFFIX)
        return BatchReader(self.disk.open(path), path, self.job.chunk_bytes, self.pace)

    # The map

    def build_map(self) -> None:
        """Remember the newest offset of each key in the dirty section, until the map is full."""
        job = self.job
        transactions = Transactions(job.aborted, job.first_dirty_offset)
        ends = [*job.base_offsets[1:], job.first_uncleanable_offset]
        for base_offset, end_offset in zip(job.base_offsets, ends, strict=True):
            if end_offset > job.first_dirty_offset:
                if not self._map_segment(base_offset, transactions):
                    return
                self.latest_offset = end_offset - 1

    def _map_segment(self, base_offset: int, transactions: Transactions) -> bool:
        """Map a segment. Returns whether there was room for all of it."""
        first_dirty: i64 = self.job.first_dirty_offset
        reader = self._open(base_offset)
        while True:
            header = reader.advance()
            if header is None:
                return True
            if header.last_offset < first_dirty:
                continue
            if header.is_control:
                self._pass_marker(transactions, header, reader)
            elif not transactions.is_aborted(header) and not self._map_batch(header, reader, first_dirty):
                return False
            self.latest_offset = header.last_offset

    def _pass_marker(self, transactions: Transactions, header: BatchHeader, reader: BatchReader) -> bool:
        """Pass a marker. Returns whether a batch of its transaction was seen before."""
        walk = RecordWalk(reader.data, reader.position, header)
        if not walk.advance():
            return False
        kind = control_type(walk.key)
        seen = transactions.ends(header, kind)
        if kind == ABORT:
            aborted = transactions.take_aborted(header)
            cleaned = self.cleaned
            if seen and aborted is not None and cleaned is not None:
                cleaned.transaction_index.append(aborted)
        return seen

    def _map_batch(self, header: BatchHeader, reader: BatchReader, first_dirty: i64) -> bool:
        offsets = self.offsets
        walk = RecordWalk(reader.data, reader.position, header)
        while walk.advance():
            key = walk.key
            if key is None or walk.offset < first_dirty:
                continue
            short_key = _short(key)
            if short_key not in offsets:
                if self.map_room <= 0:
                    self.latest_offset = walk.offset - 1
                    return False
                self.map_room -= _ENTRY_BYTES + len(short_key)
            offsets[short_key] = int(walk.offset)
        return True

    # The groups

    def groups(self) -> list[list[int]]:
        """The segments up to the end of the map, grouped so that each group fits into one segment."""
        job = self.job
        groups: list[list[int]] = []
        sizes = (0, 0, 0)
        limits = (job.segment_bytes, job.segment_index_bytes, job.segment_index_bytes)
        ends = [*job.base_offsets[1:], job.first_uncleanable_offset]
        for base_offset, end_offset in zip(job.base_offsets, ends, strict=True):
            if base_offset > self.latest_offset:
                break
            added = self._sizes(base_offset)
            total = (sizes[0] + added[0], sizes[1] + added[1], sizes[2] + added[2])
            fits = all(size <= limit for size, limit in zip(total, limits, strict=True))
            if groups and fits and end_offset - 1 - groups[-1][0] <= RELATIVE_OFFSET_MAX:
                groups[-1].append(base_offset)
                sizes = total
            else:
                groups.append([base_offset])
                sizes = added
        return groups

    def _sizes(self, base_offset: int) -> tuple[int, int, int]:
        folder = self.job.folder
        return (
            self.disk.open(segment_path(folder, base_offset, LOG_SUFFIX)).size(),
            self.disk.open(segment_path(folder, base_offset, OFFSET_INDEX_SUFFIX)).size(),
            self.disk.open(segment_path(folder, base_offset, TIME_INDEX_SUFFIX)).size(),
        )

    # Cleaning

    def clean(self, group: list[int]) -> CleanedGroup:
        """Write the records of a group that stay, and sync them."""
        cleaned = _create_cleaned(self.disk, self.job.folder, group[0])
        self.cleaned = cleaned
        for base_offset in group:
            reader = self._open(base_offset)
            while True:
                header = reader.advance()
                if header is None:
                    break
                self._clean_batch(header, reader)
            self.bytes_read += reader.size_bytes
        self._write()
        self.bytes_written += cleaned.size_bytes
        cleaned.finish()
        cleaned.file.sync()
        cleaned.seal_indexes()
        cleaned.close()
        self.cleaned = None
        return CleanedGroup(group[0], len(group), cleaned.transaction_index.exists)

    def _clean_batch(self, header: BatchHeader, reader: BatchReader) -> None:
        self.records_read += header.record_count
        if header.is_control:
            batch = self._rest_of_control(header, reader)
        elif self.transactions.is_aborted(header):
            batch = b""
        elif header.base_offset > self.latest_offset:
            batch = _whole(header, reader)
        else:
            batch = self._rest_of_data(header, reader)
        if not batch:
            if not self._must_stay(header):
                return
            batch = batch_of_none(header)
        self._add(batch, header.last_offset)

    def _must_stay(self, header: BatchHeader) -> bool:
        """Whether the batch stays even if none of its records does."""
        if header.next_offset == self.job.first_uncleanable_offset:
            return True
        if not header.has_producer_id:
            return False
        last_offset, epoch = self.producers.get(header.producer_id, (-2, -1))
        if last_offset >= 0:
            return last_offset == header.last_offset
        # The producer has only ended transactions here. The marker keeps its epoch.
        return last_offset == -1 and header.is_control and header.producer_epoch == epoch

    def _rest_of_control(self, header: BatchHeader, reader: BatchReader) -> bytes:
        is_needed = self._pass_marker(self.transactions, header, reader)
        if header.record_count == 0:
            return b""
        if is_needed:
            return _whole(header, reader)
        if header.has_delete_horizon:
            return _whole(header, reader) if header.base_timestamp > self.now_ms else b""
        walk = RecordWalk(reader.data, reader.position, header)
        records = walk.data[walk.record_start : walk.end]
        return batch_of_rest(
            header, records, header.record_count, header.max_timestamp, self._delete_horizon_ms()
        )

    def _delete_horizon_ms(self) -> i64:
        return self.now_ms + self.job.delete_retention_ms

    def _rest_of_data(self, header: BatchHeader, reader: BatchReader) -> bytes:
        """Write the records of a batch that stay: all, some (as a new batch) or none."""
        offsets = self.offsets
        latest_offset = self.latest_offset
        is_past_horizon = header.has_delete_horizon and header.base_timestamp <= self.now_ms
        walk = RecordWalk(reader.data, reader.position, header)
        records = walk.data
        # Neighbours are copied together. `run_start` is where those begin that are not in `runs` yet.
        runs: list[bytes] = []
        run_start = walk.record_end
        count: i64 = 0
        max_delta: i64 = -0x8000000000000000
        has_tombstone = False
        is_mapped = True
        while walk.advance():
            if walk.offset > latest_offset:
                is_mapped = False
            else:
                key = walk.key
                if (
                    key is None
                    or (is_past_horizon and not walk.has_value)
                    or offsets.get(_short(key), -1) > walk.offset
                ):
                    if walk.record_start > run_start:
                        runs.append(records[run_start : walk.record_start])
                    run_start = walk.record_end
                    continue
            count += 1
            has_tombstone = has_tombstone or not walk.has_value
            if walk.timestamp_delta > max_delta:
                max_delta = walk.timestamp_delta
        if count == 0:
            return b""
        # Not before all of the batch has been cleaned. Until then a reader may find an older value.
        needs_horizon = has_tombstone and is_mapped and not header.has_delete_horizon
        if count == header.record_count and not needs_horizon:
            return _whole(header, reader)
        runs.append(records[run_start : walk.record_end])
        return batch_of_rest(
            header,
            b"".join(runs),
            count,
            header.max_timestamp
            if header.is_log_append_time
            else wrapping_sum(header.base_timestamp, max_delta),
            self._delete_horizon_ms() if needs_horizon else -1,
        )

    # Writing

    def _add(self, batch: bytes, last_offset: i64) -> None:
        cleaned = self.cleaned
        assert cleaned is not None
        self.records_written += int.from_bytes(batch[RECORD_COUNT_AT:HEADER_SIZE], "big")
        cleaned.note_batch(
            len(batch), last_offset, read_i64_be(batch, MAX_TIMESTAMP_AT), self.job.index_interval_bytes
        )
        self.unwritten.append(batch)
        self.unwritten_bytes += len(batch)
        if self.unwritten_bytes >= _WRITE_BYTES:
            self._write()

    def _write(self) -> None:
        cleaned = self.cleaned
        if self.unwritten_bytes and cleaned is not None:
            cleaned.file.append([b"".join(self.unwritten)])
            self.pace(int(self.unwritten_bytes))
        self.unwritten = []
        self.unwritten_bytes = 0


def _whole(header: BatchHeader, reader: BatchReader) -> bytes:
    return reader.data[reader.position : reader.position + header.size_bytes]


def _short(key: bytes) -> bytes:
    """The key as the map has it: itself, or its digest. No key of a digest's length is kept as it is."""
    return key if len(key) < _DIGEST_BYTES else blake2b(key, digest_size=_DIGEST_BYTES).digest()


def _create_cleaned(disk: Disk, folder: str, base_offset: int) -> Segment:
    """A segment whose file names end with `.cleaned`."""
    segment = Segment(disk, folder, base_offset, 0, 0, False)
    segment.file = disk.open(segment_path(folder, base_offset, LOG_SUFFIX) + CLEANED_SUFFIX, create=True)
    segment.file.truncate(0)
    segment.offset_index.path += CLEANED_SUFFIX
    segment.offset_index.exists = False
    segment.time_index.path += CLEANED_SUFFIX
    segment.time_index.exists = False
    segment.transaction_index.path += CLEANED_SUFFIX
    segment.start_empty()
    return segment
