"""The log of one partition: batches appended at the end, read from anywhere, forgotten from the start.

    log start offset <= last stable offset <= high watermark <= log end offset
    recovery point <= flushed offset <= log end offset

A log is a row of segments; only the last one is written. Offsets, sizes and the last segment's indexes live
in memory, so an append is: check the header and the CRC, check the producer's sequence, patch the header, one
write. Readers get slices of what one read returned.

All methods belong to the event loop's thread, and none of them waits for the disk, except those that say
"may wait": call these in a thread. `flush` and blocking reads may run in a thread beside appends; truncation
and `close` wait until a running flush is done.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable
from random import Random
from typing import Final

from mypy_extensions import i64

from gralha.protocol.control_records import coordinator_epoch
from gralha.protocol.errors import (
    CorruptMessageError,
    InvalidRecordError,
    KafkaStorageError,
    OffsetOutOfRangeError,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import (
    BatchHeader,
    append_time_header,
    batches,
    crc_is_valid,
    decode_records,
    patched_header,
    read_header,
)
from gralha.storage.checkpoints import PARTITION_METADATA_FILE
from gralha.storage.config import LogConfig
from gralha.storage.disk import Disk, DiskError, WouldBlock
from gralha.storage.producer_state import ProducerEntry
from gralha.storage.recovery import LoadedLog, rebuild_producers, record_marker, replay_producer
from gralha.storage.retention import count_before_start, count_deletable, count_expired, count_oversize
from gralha.storage.segment import Segment
from gralha.storage.validation import (
    CLIENT,
    COORDINATOR,
    RAFT_LEADER,
    check_batch,
    check_fits_segment,
    check_only_batch,
    check_timestamps,
    needs_recompression,
    needs_walk,
    recompress,
    walk_records,
)

__all__ = ["CLIENT", "COORDINATOR", "RAFT_LEADER", "AppendResult", "Log", "WouldBlock"]

_HEADER_SIZE: Final[i64] = 61
_EMPTY: Final = RecordBytes(b"", 0, 0)


class AppendResult:
    """Where a batch lies. For a duplicate: where its first copy lies."""

    def __init__(
        self,
        first_offset: i64,
        last_offset: i64,
        log_append_time_ms: i64,
        log_start_offset: i64,
        duplicate: bool,
    ) -> None:
        self.first_offset: i64 = first_offset
        self.last_offset: i64 = last_offset
        # -1 where the topic keeps the producers' timestamps.
        self.log_append_time_ms: i64 = log_append_time_ms
        self.log_start_offset: i64 = log_start_offset
        self.duplicate = duplicate


class Log:
    def __init__(
        self,
        disk: Disk,
        folder: str,
        topic: str,
        partition: int,
        topic_id: bytes,
        config: LogConfig,
        loaded: LoadedLog,
        random: Random,
        producer_expiration_ms: int,
    ) -> None:
        self.disk = disk
        self.folder = folder
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.name = f"{topic}-{partition}"
        self.config = config
        self.random = random
        self.producer_expiration_ms = producer_expiration_ms
        self.segments: list[Segment] = []
        self.base_offsets: list[int] = []
        self.active: Segment = loaded.segments[-1]
        self._set_segments(loaded.segments)
        self.epochs = loaded.epochs
        self.producers = loaded.producers
        self.log_start_offset: i64 = loaded.log_start_offset
        self.log_end_offset: i64 = loaded.log_end_offset
        # All batches below are on the device.
        self.flushed_offset: i64 = loaded.recovery_point
        # All segments before this one are on the device with their indexes.
        self.unsealed_base: i64 = loaded.unsealed_base
        self._high_watermark: i64 = loaded.log_start_offset
        self.closed = False
        # Whether its folder was given up: a flush under way may then fail in any way.
        self.deleted = False
        # Called when the log should be flushed up to an offset: on a roll, and by flush.messages.
        self.request_flush: Callable[[Log, int], object] | None = None
        # Files to be removed once nobody can be reading them any more.
        self.doomed_files: list[str] = []
        self.flush_lock = threading.Lock()
        # Whether files were created that the folder on the device might not list yet.
        self.folder_unsynced = loaded.folder_unsynced

    def _set_segments(self, segments: list[Segment]) -> None:
        # New lists each time: a reader in a thread goes on with the old ones.
        self.segments = segments
        self.base_offsets = [int(segment.base_offset) for segment in segments]
        self.active = segments[-1]

    # Offsets

    @property
    def high_watermark(self) -> i64:
        """Consumers see what is below it. Replication sets it."""
        return self._high_watermark

    @high_watermark.setter
    def high_watermark(self, offset: i64) -> None:
        self._high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))
        if self.producers.unreplicated_transactions:
            self.producers.advance_high_watermark(self._high_watermark)

    @property
    def recovery_point(self) -> i64:
        """Recovery after a crash begins with the segment that has this offset."""
        if self.unsealed_base < self.active.base_offset:
            return min(self.flushed_offset, self.unsealed_base)
        return self.flushed_offset

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch that the log has seen, -1 if none."""
        return self.epochs.latest

    def size_bytes(self) -> int:
        total = 0
        for segment in self.segments:
            total += segment.size_bytes
        return total

    def first_unstable_offset(self) -> int:
        """The first offset of an undecided or unreplicated transaction, -1 if there is none."""
        if not self.producers.open_transactions and not self.producers.unreplicated_transactions:
            return -1
        offset = self.producers.first_unstable_offset()
        return max(offset, self.log_start_offset)

    def last_stable_offset(self) -> int:
        """Consumers of committed records see what is below it."""
        unstable = self.first_unstable_offset()
        if 0 <= unstable < self._high_watermark:
            return unstable
        return self._high_watermark

    def active_producers(self) -> list[ProducerEntry]:
        return list(self.producers.producers.values())

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The largest epoch not above the asked one, and where it ends; (-1, -1) if that is not known."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    def assign_epoch_start(self, epoch: int, offset: int) -> None:
        """A leader begins an epoch."""
        self.epochs.assign(epoch, offset)

    # Appending

    def append_as_leader(
        self, records: RecordBytes, leader_epoch: i64, now_ms: i64, *, origin: i64 = CLIENT
    ) -> AppendResult:
        """Assign the next offsets to a batch and write it; a `KafkaError` says why not.

        One batch, as Kafka demands; only the leader of the quorum may bring several.
        """
        if self.closed:
            raise KafkaStorageError(f"The log of {self.name} is closed")
        data = records.data
        position = records.start
        end = records.end
        header = check_batch(data, position, end, self.config, origin, self.name)
        if origin != RAFT_LEADER:
            if position + header.size_bytes != end:
                check_only_batch(data, position + header.size_bytes, end, self.name)
            return self._append_batch(data, position, header, leader_epoch, now_ms, origin)
        first = self._append_batch(data, position, header, leader_epoch, now_ms, origin)
        position += header.size_bytes
        while position < end:
            header = check_batch(data, position, end, self.config, origin, self.name)
            last = self._append_batch(data, position, header, leader_epoch, now_ms, origin)
            first.last_offset = last.last_offset
            position += header.size_bytes
        return first

    def _append_batch(
        self, data: bytes, position: i64, header: BatchHeader, leader_epoch: i64, now_ms: i64, origin: i64
    ) -> AppendResult:
        config = self.config
        if origin != RAFT_LEADER:
            check_timestamps(data, position, header, config, now_ms)
            if needs_walk(header, config):
                walk_records(data, position, header, config, now_ms)
                if needs_recompression(header, config):
                    data = recompress(data, position, header, config, self.name)
                    position = 0
                    header = read_header(data, 0)
        size = header.size_bytes
        check_fits_segment(size, config, self.name)
        base_offset = self.log_end_offset
        if header.producer_id >= 0:
            duplicate = self._check_producer(data, position, header, base_offset, origin)
            if duplicate is not None:
                return duplicate
        last_offset = base_offset + header.last_offset_delta
        if config.log_append_time:
            max_timestamp = now_ms
            append_time_ms = now_ms
            patched = append_time_header(data, position, header, base_offset, leader_epoch, now_ms)
        else:
            max_timestamp = header.max_timestamp
            append_time_ms = -1
            patched = patched_header(data, position, base_offset, leader_epoch)
        if leader_epoch != self.epochs.latest:
            self.assign_epoch_start(leader_epoch, base_offset)
        segment = self._segment_for(size, base_offset, last_offset, max_timestamp, now_ms)
        segment.append(
            [patched, memoryview(data)[position + _HEADER_SIZE : position + size]],
            size,
            last_offset,
            max_timestamp,
            config.index_interval_bytes,
        )
        self.log_end_offset = last_offset + 1
        if header.producer_id >= 0:
            if header.is_control:
                record_marker(self.producers, segment, data, position, header, base_offset)
            else:
                self.producers.record_data(header, base_offset, max_timestamp)
        self.producers.end_offset = last_offset + 1
        if self.log_end_offset - self.flushed_offset >= config.flush_messages:
            self._ask_flush(self.log_end_offset)
        return AppendResult(base_offset, last_offset, append_time_ms, self.log_start_offset, False)

    def _check_producer(
        self, data: bytes, position: i64, header: BatchHeader, offset: i64, origin: i64
    ) -> AppendResult | None:
        """Refuse what breaks the producer's order; the answer to a retry of something already written."""
        if header.is_control:
            record = decode_records(data, position, header)[0]
            self.producers.check_marker(header, offset, coordinator_epoch(record.value))
            return None
        if origin == CLIENT:
            batch = self.producers.find_duplicate(header)
            if batch is not None:
                first_offset = batch.first_offset()
                return AppendResult(
                    first_offset, batch.last_offset, batch.timestamp, self.log_start_offset, True
                )
        self.producers.check_data(header, offset, origin == CLIENT)
        return None

    def _segment_for(
        self, size_bytes: i64, first_offset: i64, last_offset: i64, max_timestamp: i64, now_ms: i64
    ) -> Segment:
        segment = self.active
        if segment.offset_index.memory is None:
            segment.load_to_append()
        if segment.should_roll(size_bytes, last_offset, max_timestamp, now_ms, self.config):
            self.roll(now_ms, first_offset)
            segment = self.active
        return segment

    def append_as_follower(self, records: RecordBytes, now_ms: i64 = 0) -> None:
        """Write batches as the leader sent them, with its offsets and epochs; not a cut one at the end."""
        if self.closed:
            raise KafkaStorageError(f"The log of {self.name} is closed")
        data = records.data
        found = batches(data, records.start, records.end)
        next_offset = self.log_end_offset
        for position, header in found:
            if not crc_is_valid(data, position, header):
                raise CorruptMessageError(f"Record is corrupt (stored crc = {header.crc}) in {self.name}")
            if header.base_offset < next_offset or header.last_offset_delta < 0:
                raise InvalidRecordError(
                    f"Unexpected offset in append to {self.name}: {header.base_offset} is less than the next "
                    f"offset {next_offset}"
                )
            next_offset = header.next_offset
        for position, header in found:
            self._append_replica(data, position, header, now_ms)
        if self.log_end_offset - self.flushed_offset >= self.config.flush_messages:
            self._ask_flush(self.log_end_offset)

    def _append_replica(self, data: bytes, position: i64, header: BatchHeader, now_ms: i64) -> None:
        size = header.size_bytes
        if header.partition_leader_epoch >= 0 and header.partition_leader_epoch != self.epochs.latest:
            self.assign_epoch_start(header.partition_leader_epoch, header.base_offset)
        segment = self._segment_for(
            size, header.base_offset, header.last_offset, header.max_timestamp, now_ms
        )
        segment.append(
            [memoryview(data)[position : position + size]],
            size,
            header.last_offset,
            header.max_timestamp,
            self.config.index_interval_bytes,
        )
        self.log_end_offset = header.next_offset
        replay_producer(self.producers, segment, data, position, header)

    def roll(self, now_ms: i64, offset: i64 = 0) -> None:
        """Begin a new segment at the end of the log (or later, where a follower's next batch begins)."""
        old = self.active
        base_offset = max(offset, self.log_end_offset)
        if base_offset == old.base_offset:
            return
        if old.offset_index.memory is None:
            old.load_to_append()
        old.finish()
        segment = Segment(self.disk, self.folder, base_offset, now_ms, self._jitter_ms(), False)
        segment.create()
        self.folder_unsynced = True
        self._set_segments([*self.segments, segment])
        self.producers.end_offset = base_offset
        self.producers.take_snapshot()
        self._ask_flush(base_offset)

    def _jitter_ms(self) -> int:
        limit = min(self.config.segment_jitter_ms, self.config.segment_ms)
        return self.random.randrange(limit) if limit > 0 else 0

    def _ask_flush(self, offset: int) -> None:
        if self.request_flush is not None:
            self.request_flush(self, offset)

    def flush(self, end_offset: int | None = None) -> None:
        """Bring everything below the offset (all, without one) to the device. May wait."""
        with self.flush_lock:
            target = self.log_end_offset if end_offset is None else min(end_offset, self.log_end_offset)
            segments = self.segments
            folder_unsynced = self.folder_unsynced
            unsealed = self.unsealed_base < segments[-1].base_offset
            if target <= self.flushed_offset and not folder_unsynced and not unsealed:
                self.epochs.save(target)
                return
            self.folder_unsynced = False
            self._sync_segments(segments, target)
            self.epochs.save(target)
            self.producers.sync_snapshots()
            if folder_unsynced:
                self.disk.sync_file(f"{self.folder}/{PARTITION_METADATA_FILE}")
                self.disk.sync_folder(self.folder)
            self.unsealed_base = segments[-1].base_offset
            self.flushed_offset = max(self.flushed_offset, target)

    def _sync_segments(self, segments: list[Segment], target: i64) -> None:
        for segment in segments[:-1]:
            if segment.base_offset >= self.unsealed_base:
                segment.seal()
        active = segments[-1]
        if active.base_offset < target and self.flushed_offset < target:
            active.sync()

    # Reading

    def _segment_number(self, offset: i64) -> int:
        """Which segment has the offset; 0 when it is before them all."""
        return max(bisect_right(self.base_offsets, offset) - 1, 0)

    def read(
        self, offset: i64, max_bytes: i64, end_offset: i64, min_one_batch: bool, blocking: bool
    ) -> RecordBytes:
        """Batches from the one with the offset on, all of them below `end_offset`.

        At most `max_bytes`, but with `min_one_batch` the first batch in any case. The last may be cut. Raises
        OFFSET_OUT_OF_RANGE. Without `blocking` it never waits, but raises `WouldBlock` if the page cache
        lacks the bytes; with it, call it in a thread.
        """
        if offset < self.log_start_offset or offset > self.log_end_offset:
            raise self._out_of_range(offset)
        if offset >= end_offset:
            return _EMPTY
        segments = self.segments
        number = self._segment_number(offset)
        while number < len(segments):
            segment = segments[number]
            number += 1
            if segment.base_offset >= end_offset:
                break
            ends = segments[number].base_offset if number < len(segments) else self.log_end_offset
            try:
                end_position = segment.size_bytes
                if end_offset < ends:
                    bound = segment.position_of(end_offset, blocking)
                    if bound >= 0:
                        end_position = bound
                found = segment.read(offset, max_bytes, end_position, min_one_batch, blocking)
            except DiskError:
                if offset < self.log_start_offset:
                    raise self._out_of_range(offset) from None
                raise
            if found is not None:
                return found
        return _EMPTY

    def _out_of_range(self, offset: i64) -> OffsetOutOfRangeError:
        return OffsetOutOfRangeError(
            f"Received request for offset {offset} for partition {self.name}, but we only have log segments "
            f"in the range {self.log_start_offset} to {self.log_end_offset}."
        )

    def aborted_transactions(self, start_offset: int, end_offset: int) -> list[tuple[int, int]]:
        """Producer id and first offset of each aborted transaction that overlaps the range. May wait."""
        found: list[tuple[int, int]] = []
        for segment in self.segments[self._segment_number(start_offset) :]:
            for entry in segment.transaction_index.entries():
                if entry.last_offset >= start_offset and entry.first_offset < end_offset:
                    found.append((int(entry.producer_id), int(entry.first_offset)))
                if entry.last_stable_offset >= end_offset:
                    return found
        return found

    def offset_for_timestamp(self, timestamp_ms: int) -> tuple[int, int, int] | None:
        """Timestamp, offset and leader epoch of the first record not older than that. May wait."""
        for segment in self.segments:
            if segment.largest_timestamp() >= timestamp_ms:
                found = segment.find_timestamp(timestamp_ms, self.log_start_offset)
                if found is not None:
                    return int(found.timestamp), int(found.offset), int(found.leader_epoch)
        return None

    def offset_of_max_timestamp(self) -> tuple[int, int, int] | None:
        """Timestamp, offset and leader epoch of the first record with the largest timestamp. May wait."""
        best: Segment | None = None
        for segment in self.segments:
            segment.load_timestamps()
            if best is None or segment.max_timestamp > best.max_timestamp:
                best = segment
        found = None if best is None else best.find_max_timestamp()
        return None if found is None else (int(found.timestamp), int(found.offset), int(found.leader_epoch))

    # Forgetting

    def increment_log_start_offset(self, offset: int) -> None:
        """Forget what is before the offset; the next `apply_retention` deletes the files."""
        if offset > self._high_watermark:
            raise OffsetOutOfRangeError(
                f"Cannot increment the log start offset to {offset} of partition {self.name} since it is "
                f"larger than the high watermark {self._high_watermark}"
            )
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.flushed_offset = max(self.flushed_offset, offset)
            self.epochs.truncate_from_start(offset)
            self.producers.advance_log_start(offset)

    def apply_retention(self, now_ms: int) -> int:
        """Delete the segments that retention.ms, retention.bytes or the start offset let go; how many.

        Only whole segments below the high watermark go. Their files are renamed and listed in `doomed_files`.
        -1 says that a flush is using the files: try again. The first call may wait, to look up timestamps.
        """
        if not self.flush_lock.acquire(blocking=False):
            return -1
        try:
            return self._apply_retention(now_ms)
        finally:
            self.flush_lock.release()

    def _apply_retention(self, now_ms: int) -> int:
        deleted = self._delete_oldest(
            count_before_start(self.segments, self._deletable(), self.log_start_offset), now_ms
        )
        if self.config.delete:
            deleted += self._delete_oldest(
                count_oversize(self.segments, self._deletable(), self.config), now_ms
            )
            deleted += self._delete_oldest(
                count_expired(self.segments, self._deletable(), self.config, now_ms), now_ms
            )
        return deleted

    def _deletable(self) -> int:
        return count_deletable(self.segments, self._high_watermark, self.log_end_offset)

    def _delete_oldest(self, count: int, now_ms: int) -> int:
        if count == 0:
            return 0
        if count == len(self.segments):
            self.roll(now_ms)
        doomed = self.segments[:count]
        self.increment_log_start_offset(self.segments[count].base_offset)
        self._set_segments(self.segments[count:])
        self._doom(doomed)
        return count

    def _doom(self, segments: list[Segment]) -> None:
        for segment in segments:
            self.doomed_files += segment.rename_deleted()
            self.producers.remove_snapshot(segment.base_offset)

    def truncate_to(self, offset: int) -> bool:
        """Drop everything from the offset on; whether there was anything. May wait."""
        if offset >= self.log_end_offset:
            self.epochs.truncate_from_end(self.log_end_offset)
            return False
        if offset < self.segments[0].base_offset:
            self.truncate_fully_and_start_at(offset)
            return True
        with self.flush_lock:
            keep = self._segment_number(offset) + 1
            doomed = self.segments[keep:]
            self._set_segments(self.segments[:keep])
            self._doom(doomed)
            self.active.truncate_to(offset)
            self._set_end(offset)
            self.log_start_offset = min(self.log_start_offset, offset)
            self.epochs.truncate_from_end(offset)
            rebuild_producers(
                self.producers, self.segments, self.log_start_offset, offset, 0, self.producer_expiration_ms
            )
        return True

    def _set_end(self, offset: int) -> None:
        self.log_end_offset = offset
        self.flushed_offset = min(self.flushed_offset, offset)
        self.unsealed_base = min(self.unsealed_base, self.active.base_offset)
        self._high_watermark = min(self._high_watermark, offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything and begin anew at the offset. May wait."""
        with self.flush_lock:
            doomed = self.segments
            for segment in doomed:
                self.producers.remove_snapshot(segment.base_offset)
                self.doomed_files += segment.rename_deleted()
            segment = Segment(self.disk, self.folder, offset, 0, self._jitter_ms(), False)
            segment.create()
            self.folder_unsynced = True
            self._set_segments([segment])
            self.log_start_offset = offset
            self._set_end(offset)
            self._high_watermark = offset
            self.epochs.clear()
            self.producers.clear(offset)

    def remove_expired_producers(self, now_ms: int) -> None:
        self.producers.remove_expired(now_ms, self.producer_expiration_ms)

    def close(self) -> None:
        """Flush, write the indexes and a snapshot of the producers, give the descriptors back. May wait."""
        if self.closed:
            return
        self.closed = True
        if self.log_end_offset > self.log_start_offset or len(self.segments) > 1:
            self.producers.take_snapshot()
            self.active.finish()
            self.flush()
            with self.flush_lock:
                self.active.save_indexes()
                self.producers.sync_snapshots()
        self.release()

    def release(self) -> None:
        """Give the descriptors back without writing anything."""
        self.closed = True
        for segment in self.segments:
            segment.close()
