"""Opening a partition's folder. After a clean shutdown this reads little, after a crash it checks batches.

Batches below the recovery point were synced. A bad batch there is damage (`CorruptLogError`): the partition
goes offline. Above the recovery point the first bad batch ends the log. Recovery cuts that batch and all
later ones, because no client was told that they are on the device. Recovery also rebuilds the indexes, leader
epochs and producer states of the segments that it walks over.
"""

from __future__ import annotations

import logging
from typing import Final

from mypy_extensions import i64

from gralha.protocol.batches import EPOCH_AT, HEADER_SIZE, LENGTH_AT, LOG_OVERHEAD
from gralha.protocol.control_records import ABORT, control_type, coordinator_epoch
from gralha.protocol.errors import KafkaError
from gralha.protocol.records import BatchHeader, crc_is_valid, decode_records, read_header
from gralha.storage.config import LogConfig
from gralha.storage.disk import Disk
from gralha.storage.index import RELATIVE_OFFSET_MAX, AbortedTransaction
from gralha.storage.leader_epochs import LeaderEpochs
from gralha.storage.producer_state import SNAPSHOT_SUFFIX, ProducerState
from gralha.storage.segment import (
    DELETED_SUFFIX,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    Segment,
)
from gralha.storage.swapping import finish_swaps

logger: Final = logging.getLogger(__name__)

_CHUNK_BYTES: Final[i64] = 4 * 1024 * 1024


class CorruptLogError(Exception):
    """Records that were on the device are damaged or gone."""


class LoadedLog:
    """The content of a partition's folder."""

    def __init__(self, epochs: LeaderEpochs, producers: ProducerState) -> None:
        self.epochs = epochs
        self.producers = producers
        self.segments: list[Segment] = []
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.recovery_point = 0
        # The first segment whose indexes might not be on the device.
        self.unsealed_base = 0
        # Whether files were created that the folder on the device might not list yet.
        self.folder_unsynced = False


class LogLoader:
    """Opens one folder. Call `load` once."""

    def __init__(
        self,
        disk: Disk,
        folder: str,
        name: str,
        config: LogConfig,
        *,
        log_start_offset: int,
        recovery_point: int,
        first_dirty_offset: int,
        clean: bool,
        now_ms: int,
        producer_expiration_ms: int,
    ) -> None:
        self.disk = disk
        self.folder = folder
        self.name = name
        self.config = config
        self.log_start_offset = log_start_offset
        self.recovery_point = recovery_point
        self.first_dirty_offset = first_dirty_offset
        self.clean = clean
        self.now_ms = now_ms
        self.producer_expiration_ms = producer_expiration_ms
        self.epochs = LeaderEpochs(disk, folder)
        self.producers = ProducerState(disk, folder, name)
        self.segments: list[Segment] = []
        self.without_index: list[Segment] = []
        # The base offset of the first segment that recovery walked over after a crash.
        self.recovered_base = 0
        # The start offset of each leader epoch in the checkpoint file.
        self.saved_epochs: dict[int, int] = {}
        # The end of the last batch that recovery walked over.
        self.walked_to: i64 = 0

    def load(self) -> LoadedLog:
        names = finish_swaps(self.disk, self.folder, self.disk.list_folder(self.folder))
        names = self._remove_leftovers(names)
        self.epochs.load()
        self._list_segments(names)
        self._list_snapshots(names)
        log_end_offset = self._read_end() if self.clean else self._recover()
        if self.segments and log_end_offset < self.log_start_offset:
            logger.warning(
                "%s ends at offset %d, before its log start offset %d. It has no records left, and the next "
                "one gets the log start offset",
                self.name,
                log_end_offset,
                self.log_start_offset,
            )
            self._remove_segments(0)
            self.epochs.clear()
            self.producers.clear(self.log_start_offset)
        created = not self.segments
        if created:
            log_end_offset = self.log_start_offset
            self._create_segment()
        loaded = LoadedLog(self.epochs, self.producers)
        loaded.segments = self.segments
        loaded.log_start_offset = max(self.log_start_offset, self.segments[0].base_offset)
        loaded.log_end_offset = log_end_offset
        loaded.recovery_point = log_end_offset if self.clean else min(self.recovery_point, log_end_offset)
        loaded.unsealed_base = self.segments[-1].base_offset if self.clean else self.recovered_base
        loaded.folder_unsynced = not self.clean or created
        self.epochs.truncate_from_end(log_end_offset)
        self.epochs.truncate_from_start(loaded.log_start_offset)
        if self.clean:
            self._load_producers(loaded)
        return loaded

    def _remove_leftovers(self, names: list[str]) -> list[str]:
        """Remove unfinished files that a crash left. Returns the names of the other files."""
        bases = {name[:20] for name in names if name.endswith(LOG_SUFFIX)}
        kept: list[str] = []
        for name in names:
            deleted = name.endswith(DELETED_SUFFIX) and not name.endswith(".checkpoint" + DELETED_SUFFIX)
            orphan = name.endswith(SEGMENT_SUFFIXES[1:]) and name[:20] not in bases
            if deleted or orphan or name.endswith(".tmp"):
                self.disk.remove(f"{self.folder}/{name}")
            else:
                kept.append(name)
        return kept

    def _list_segments(self, names: list[str]) -> None:
        present = set(names)
        for name in names:
            if name.endswith(LOG_SUFFIX) and name[: -len(LOG_SUFFIX)].isdecimal():
                stem = name[: -len(LOG_SUFFIX)]
                has_aborts = stem + TRANSACTION_INDEX_SUFFIX in present
                segment = Segment(self.disk, self.folder, int(stem), self.now_ms, 0, has_aborts)
                segment.load()
                self.segments.append(segment)
                segment.offset_index.exists = stem + OFFSET_INDEX_SUFFIX in present
                segment.time_index.exists = stem + TIME_INDEX_SUFFIX in present
                if not (segment.offset_index.exists and segment.time_index.exists):
                    self.without_index.append(segment)

    def _list_snapshots(self, names: list[str]) -> None:
        """List the snapshots at the start of a segment or at the end of the log, and remove the others."""
        offsets = sorted(
            int(name[: -len(SNAPSHOT_SUFFIX)])
            for name in names
            if name.endswith(SNAPSHOT_SUFFIX) and name[: -len(SNAPSHOT_SUFFIX)].isdecimal()
        )
        bases = {int(segment.base_offset) for segment in self.segments}
        last_base = max(bases, default=0)
        self.producers.snapshots = offsets
        for offset in list(offsets):
            if offset not in bases and not (offset > last_base and offset == offsets[-1]):
                self.producers.remove_snapshot(offset)

    def _read_end(self) -> int:
        """Find the end offset of a log that was closed well."""
        if not self.segments:
            return self.log_start_offset
        for segment in self.without_index:
            if segment.size_bytes > 0 or segment is not self.segments[-1]:
                self._rebuild_indexes(segment)
        active = self.segments[-1]
        if active.size_bytes == 0:
            active.start_empty()
        else:
            # Read the indexes here, because the first append runs on the event loop.
            active.load_to_append()
            if not active.indexes_are_plausible():
                self._rebuild_indexes(active)
                active.load_to_append()
        return active.read_next_offset()

    def _load_producers(self, loaded: LoadedLog) -> None:
        if not self.producers.snapshots:
            # The log is empty, or an old version wrote it that had no producer state.
            self.producers.end_offset = loaded.log_end_offset
            return
        self.producers.remove_snapshots_outside(loaded.log_start_offset, loaded.log_end_offset)
        rebuild_producers(
            self.producers,
            loaded.segments,
            loaded.log_start_offset,
            loaded.log_end_offset,
            self.now_ms,
            self.producer_expiration_ms,
        )
        self.producers.take_snapshot()

    # After a crash

    def _recover(self) -> int:
        """Check the batches that may not have been synced. Returns the end offset of the log."""
        first = len(self.segments)
        while first > 0 and (
            first == len(self.segments) or self.segments[first].base_offset > self.recovery_point
        ):
            first -= 1
        if not self.segments:
            return self.log_start_offset
        start = self.segments[first].base_offset
        self.recovered_base = start
        self.walked_to = start
        # The checkpoint may have epochs of batches that a truncation removed before the crash.
        self.saved_epochs = dict(self.epochs.entries)
        self.epochs.truncate_from_end(self.recovery_point)
        for segment in self.without_index:
            if segment.base_offset < start:
                self._rebuild_indexes(segment)
        rebuild_producers(
            self.producers,
            self.segments[:first],
            self.log_start_offset,
            start,
            self.now_ms,
            self.producer_expiration_ms,
        )
        self.producers.take_snapshot()
        end_offset: int = start
        for number in range(first, len(self.segments)):
            segment = self.segments[number]
            if segment.base_offset < end_offset:
                raise CorruptLogError(
                    f"{self.name}: segment {segment.base_offset} begins before {end_offset}"
                )
            self.producers.end_offset = segment.base_offset
            self.producers.take_snapshot()
            end_offset, cut_bytes = self._recover_segment(segment)
            if cut_bytes:
                self._cut(segment, end_offset, cut_bytes)
            if cut_bytes or self._lacks_end(number, end_offset):
                self._remove_segments(number + 1)
                break
            if number < len(self.segments) - 1:
                segment.finish()
        if self.log_start_offset <= end_offset < self.recovery_point:
            raise CorruptLogError(
                f"{self.name} ends at {end_offset}, but it was on the device up to {self.recovery_point}"
            )
        self.producers.end_offset = end_offset
        self.producers.remove_snapshots_outside(self.log_start_offset, end_offset)
        return end_offset

    def _lacks_end(self, number: int, end_offset: int) -> bool:
        """Whether the file lost whole batches at its end.

        A segment begins where the segment before it ended (`Log._segment_for`), unless compaction has removed
        batches there, or the gap is too large for one segment.
        """
        if number == len(self.segments) - 1 or self.config.compact:
            return False
        next_base = self.segments[number + 1].base_offset
        if end_offset >= next_base or next_base <= self.first_dirty_offset:
            return False
        if next_base - self.segments[number].base_offset > RELATIVE_OFFSET_MAX:
            return False
        logger.warning(
            "%s: the records %d to %d are missing; those behind them are removed, too",
            self.name,
            end_offset,
            next_base - 1,
        )
        return True

    def _cut(self, segment: Segment, end_offset: int, cut_bytes: int) -> None:
        if end_offset < self.recovery_point:
            raise CorruptLogError(
                f"{self.name}: the batch after offset {end_offset - 1} in segment {segment.base_offset} is "
                f"damaged, but the log was on the device up to {self.recovery_point}"
            )
        segment.file.truncate(segment.size_bytes)
        logger.warning(
            "%s: removed %d bytes of an incomplete batch after offset %d",
            self.name,
            cut_bytes,
            end_offset - 1,
        )

    def _recover_segment(self, segment: Segment) -> tuple[int, int]:
        """Walk over all batches and build the indexes. Returns the next offset, and how many bytes to cut."""
        size: i64 = segment.file.size()
        segment.start_empty()
        next_offset: i64 = segment.base_offset
        chunk = b""
        chunk_start: i64 = 0
        while segment.size_bytes < size:
            position: i64 = segment.size_bytes - chunk_start
            header = _whole_batch(chunk, position)
            if header is None:
                chunk_start = segment.size_bytes
                chunk = _read_batch(segment, chunk_start, size)
                position = 0
                header = _whole_batch(chunk, 0)
            if header is None or not self._is_sound(chunk, position, header, segment, next_offset):
                break
            next_offset = header.next_offset
            self._note_epoch(header)
            self._note(segment, chunk, position, header)
        return next_offset, size - segment.size_bytes

    def _is_sound(
        self, chunk: bytes, position: i64, header: BatchHeader, segment: Segment, next_offset: i64
    ) -> bool:
        in_order = header.base_offset >= next_offset and header.last_offset_delta >= 0
        in_range = header.last_offset - segment.base_offset <= RELATIVE_OFFSET_MAX
        return in_order and in_range and crc_is_valid(chunk, position, header)

    def _note_epoch(self, header: BatchHeader) -> None:
        epoch = header.partition_leader_epoch
        if epoch > self.epochs.latest:
            # If compaction has removed the first batches of the epoch, only the checkpoint has its start.
            saved: i64 = self.saved_epochs.get(epoch, -1)
            in_gap = self.walked_to <= saved <= header.base_offset
            self.epochs.assign(epoch, saved if in_gap else header.base_offset)
        self.walked_to = header.next_offset

    def _note(self, segment: Segment, chunk: bytes, position: i64, header: BatchHeader) -> None:
        replay_producer(self.producers, segment, chunk, position, header)
        segment.note_batch(
            header.size_bytes, header.last_offset, header.max_timestamp, self.config.index_interval_bytes
        )

    def _rebuild_indexes(self, segment: Segment) -> None:
        """Write the indexes again from the headers of the batches, because a file is missing or wrong."""
        logger.warning(
            "%s: an index of segment %d is missing or wrong. It is made again from the records, which have "
            "lost nothing",
            self.name,
            segment.base_offset,
        )
        size = segment.size_bytes
        segment.start_walk()
        position: i64 = 0
        while position < size:
            segment.size_bytes = size
            headers, position = segment.scan(position)
            for at, header in headers:
                segment.size_bytes = at
                segment.note_batch(
                    header.size_bytes,
                    header.last_offset,
                    header.max_timestamp,
                    self.config.index_interval_bytes,
                )
        segment.size_bytes = size
        segment.finish()
        segment.seal_indexes()

    def _remove_segments(self, first: int) -> None:
        # The newest first, so that a crash leaves no gap.
        for segment in reversed(self.segments[first:]):
            for path in segment.rename_deleted():
                self.disk.remove(path)
            self.producers.remove_snapshot(segment.base_offset)
        if first < len(self.segments):
            # Without a sync another crash could bring the segments back, after records that are new.
            self.disk.sync_folder(self.folder)
        del self.segments[first:]

    def _create_segment(self) -> None:
        segment = Segment(self.disk, self.folder, self.log_start_offset, self.now_ms, 0, False)
        segment.create()
        self.segments.append(segment)


def _whole_batch(chunk: bytes, position: i64) -> BatchHeader | None:
    """The header at the position. None if the chunk has no valid header or not the whole batch there."""
    if len(chunk) - position < HEADER_SIZE:
        return None
    try:
        header = read_header(chunk, position)
    except KafkaError:
        return None
    return header if header.size_bytes <= len(chunk) - position else None


def _read_batch(segment: Segment, position: i64, size: i64) -> bytes:
    """Read a chunk of the file that has the whole batch at the position, if the file has all of it."""
    chunk = segment.file.read(position, min(_CHUNK_BYTES, size - position))
    if len(chunk) >= HEADER_SIZE:
        length = int.from_bytes(chunk[LENGTH_AT:EPOCH_AT], "big", signed=True) + LOG_OVERHEAD
        if len(chunk) < length <= size - position:
            chunk = segment.file.read(position, length)
    return chunk


def replay_producer(
    producers: ProducerState, segment: Segment | None, data: bytes, position: i64, header: BatchHeader
) -> None:
    """Add a batch of the log to the producers' state, and to the transaction index of a given segment."""
    if header.has_producer_id:
        if not header.is_control:
            producers.replay_data(header)
        elif header.record_count > 0:
            record_marker(producers, segment, data, position, header, header.base_offset)
    producers.end_offset = header.next_offset


def record_marker(
    producers: ProducerState,
    segment: Segment | None,
    data: bytes,
    position: i64,
    header: BatchHeader,
    offset: i64,
) -> None:
    """Add the end marker of a transaction to the producers' state. The marker is in the log at the offset.

    The steps that can fail come first: a failure does not change the producers' state.
    """
    record = decode_records(data, position, header)[0]
    aborted = control_type(record.key) == ABORT
    epoch = coordinator_epoch(record.value)
    transaction = producers.transaction_ended_by(header, offset, aborted)
    if aborted and transaction is not None and segment is not None:
        segment.transaction_index.append(
            AbortedTransaction(
                transaction.producer_id,
                transaction.first_offset,
                transaction.last_offset,
                producers.last_stable_offset_after(transaction),
            )
        )
    producers.record_marker(header, epoch, record.timestamp, transaction)


def rebuild_producers(
    producers: ProducerState,
    segments: list[Segment],
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    expiration_ms: int,
) -> None:
    """Build the producers' state at the offset from the last snapshot before it and the batches since."""
    was_empty = (
        not producers.producers and not producers.open_transactions and producers.end_offset >= end_offset
    )
    producers.reload(end_offset, log_start_offset, now_ms, expiration_ms)
    # A state that was empty at a later offset needs no walk over the log.
    if producers.end_offset < end_offset and not was_empty:
        for number, segment in enumerate(segments):
            ends = segments[number + 1].base_offset if number + 1 < len(segments) else end_offset
            if ends > producers.end_offset:
                _replay_segment(producers, segment, end_offset)
    producers.end_offset = end_offset


def _replay_segment(producers: ProducerState, segment: Segment, end_offset: i64) -> None:
    position = segment.position_of(producers.end_offset, True)
    while 0 <= position < segment.size_bytes:
        headers, position = segment.scan(position)
        for at, header in headers:
            if header.base_offset >= end_offset:
                return
            data = segment.file.read(at, header.size_bytes) if header.is_control else b""
            replay_producer(producers, None, data, 0, header)
