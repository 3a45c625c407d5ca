"""The segments and offsets of a log: creating, rolling, flushing and deleting segments.

    log start offset <= last stable offset <= high watermark <= log end offset
    recovery point <= flushed offset <= log end offset

A failed sync is raised and ends the broker. If a write of indexes, epochs or snapshots of producers fails (a
full disk), the recovery point stays where it is until a later write succeeds: recovery can rebuild them.

`Log` adds appending and reading. Only the event loop's thread calls these methods, and they do not wait for
the disk. The exceptions say "may wait": call them in a thread. `flush` may run in a thread during appends.
Truncation and `close` wait until a running flush is done.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable
from random import Random
from typing import Final

from mypy_extensions import i64

from gralha.protocol.errors import OffsetOutOfRangeError
from gralha.storage.checkpoints import PARTITION_METADATA_FILE, encode_partition_metadata
from gralha.storage.config import LogConfig
from gralha.storage.disk import Disk, DiskError
from gralha.storage.producer_state import ProducerEntry
from gralha.storage.recovery import LoadedLog, rebuild_producers
from gralha.storage.retention import count_before_start, count_deletable, count_expired, count_oversize
from gralha.storage.segment import Segment

logger: Final = logging.getLogger(__name__)


class LogState:
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
        self.data_folder = folder.rpartition("/")[0]
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
        # All batches below this offset are on the device.
        self.flushed_offset: i64 = loaded.recovery_point
        # The epochs of all batches below this offset are on the device.
        self.saved_offset: i64 = loaded.recovery_point
        # All segments before this base offset are on the device with their indexes.
        self.unsealed_base: i64 = loaded.unsealed_base
        # Compaction has cleaned the log up to this offset. Only compaction and truncation change it.
        self.first_dirty_offset: i64 = 0
        # Why the last attempt to save indexes, epochs or snapshots failed; the next flush tries again.
        self.save_error: DiskError | None = None
        self._high_watermark: i64 = loaded.log_start_offset
        self.closed = False
        # Whether the folder has moved. Nothing, or another log, may be at the old paths.
        self.deleted = False
        # A thread truncates the log now: its end offset and its producers may be wrong.
        self.is_being_truncated = False
        # Called when the log should be flushed up to an offset: after a roll, and because of flush.messages.
        self.request_flush: Callable[[LogState, int], object] | None = None
        # Called on the event loop when such a flush is done: replication may acknowledge more.
        self.on_flushed: Callable[[], None] | None = None
        # Files to remove as soon as nobody can be reading them.
        self.doomed_files: list[str] = []
        self.flush_lock = disk.new_lock()
        # Whether files were created that the folder on the device might not list yet.
        self.folder_unsynced = loaded.folder_unsynced
        self.parent_unsynced = loaded.folder_unsynced

    def _set_segments(self, segments: list[Segment]) -> None:
        # Both lists are new each time, because a reader in a thread may still use the old ones.
        self.segments = segments
        self.base_offsets = [int(segment.base_offset) for segment in segments]
        self.active = segments[-1]

    # Offsets

    @property
    def high_watermark(self) -> i64:
        """Consumers can read below this offset. Replication sets it."""
        return self._high_watermark

    @high_watermark.setter
    def high_watermark(self, offset: i64) -> None:
        self._high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))
        if self.producers.unreplicated_transactions:
            self.producers.advance_high_watermark(self._high_watermark)

    @property
    def recovery_point(self) -> i64:
        """Recovery after a crash begins with the segment that has this offset."""
        point = min(self.flushed_offset, self.saved_offset)
        if self.unsealed_base < self.active.base_offset:
            return min(point, self.unsealed_base)
        return point

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
        offset = self.producers.first_unstable_offset
        return max(offset, self.log_start_offset) if offset >= 0 else -1

    def last_stable_offset(self) -> int:
        """Consumers of committed records can read below this offset. A thread may call this."""
        # In this order: a transaction that begins between the two lines is above the high watermark read
        # first.
        high_watermark = self._high_watermark
        unstable = self.first_unstable_offset()
        return unstable if 0 <= unstable < high_watermark else high_watermark

    def active_producers(self) -> list[ProducerEntry]:
        return list(self.producers.producers.values())

    def has_open_transaction(self, producer_id: i64, epoch: i64) -> bool:
        """Whether a transaction of this producer and epoch has begun here, and has not ended."""
        return self.producers.has_open_transaction(producer_id, epoch)

    def has_newer_epoch(self, producer_id: i64, epoch: i64) -> bool:
        """Whether the producer has been here with a newer epoch."""
        entry = self.producers.producers.get(producer_id)
        return entry is not None and entry.epoch > epoch

    def has_batches_of(self, producer_id: i64) -> bool:
        """Whether the last sequence number of the producer's epoch is known."""
        entry = self.producers.producers.get(producer_id)
        return entry is not None and len(entry.batches) > 0

    def check_marker_epoch(self, producer_id: i64, epoch: i64, is_epoch_new: bool) -> None:
        """Refuse an end marker with an epoch that the producer has used already, if its end has a new one."""
        if is_epoch_new:
            self.producers.check_new_epoch(producer_id, epoch, self.log_end_offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The largest epoch not above `epoch`, and its end offset; (-1, -1) if unknown."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    def assign_epoch_start(self, epoch: int, offset: int) -> None:
        """Note the start offset of a new leader epoch."""
        self.epochs.assign(epoch, offset)

    # Rolling and flushing

    def roll(self, now_ms: i64, offset: i64 = 0) -> None:
        """Begin a new segment at the end of the log, or at a later offset."""
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
        self._take_snapshot()
        self._ask_flush(base_offset)

    def _take_snapshot(self) -> None:
        try:
            self.producers.take_snapshot()
        except DiskError as error:
            # Recovery can begin with an older snapshot.
            self._note_unsaved(error)

    def _jitter_ms(self) -> int:
        limit = min(self.config.segment_jitter_ms, self.config.segment_ms)
        return self.random.randrange(limit) if limit > 0 else 0

    def _ask_flush(self, offset: int) -> None:
        if self.request_flush is not None:
            self.request_flush(self, offset)

    def flush(self, end_offset: int | None = None) -> None:
        """Sync all batches below `end_offset`, or all batches if it is None. May wait."""
        with self.flush_lock:
            if self.deleted:
                return
            # Read the end first: the sync may or may not cover batches that are appended from here on.
            reached = self.log_end_offset
            target = reached if end_offset is None else min(end_offset, reached)
            segments = self.segments
            active = segments[-1]
            unsealed = [segment for segment in segments[:-1] if segment.base_offset >= self.unsealed_base]
            if target > self.flushed_offset or unsealed or self.folder_unsynced:
                for segment in unsealed:
                    segment.file.sync()
                if target <= active.base_offset:
                    reached = min(reached, active.base_offset)
                else:
                    active.file.sync()
            else:
                reached = self.flushed_offset
            reached = max(reached, self.flushed_offset)
            saved = self._save(unsealed, active, reached)
            if self.folder_unsynced:
                # In this order: if a file is created during the sync, the next flush syncs the folder again.
                self.folder_unsynced = False
                self._sync_folder()
            self.flushed_offset = reached
            if saved:
                self.unsealed_base = active.base_offset
                self.saved_offset = reached

    def _save(self, unsealed: list[Segment], active: Segment, end_offset: i64) -> bool:
        """Save the files that make the next start short. Returns whether that succeeded."""
        try:
            for segment in unsealed:
                segment.seal_indexes()
            if end_offset > active.base_offset:
                active.save_indexes()
            self.producers.sync_snapshots()
            # If the folder is unsynced, the flush will sync it, once for all files.
            self.epochs.save(end_offset, sync_folder=not self.folder_unsynced)
        except DiskError as error:
            self._note_unsaved(error)
            return False
        self.save_error = None
        return True

    def _note_unsaved(self, error: DiskError) -> None:
        if error.is_fatal:
            raise error
        if self.save_error is None:
            logger.error("The recovery point of %s stays until this succeeds: %s", self.name, error)
        self.save_error = error

    def save_indexes(self) -> None:
        """Write the indexes of the active segment to their files, for tools that read the files. May wait."""
        with self.flush_lock:
            if not self.closed:
                try:
                    self.active.save_indexes()
                except DiskError as error:
                    self._note_unsaved(error)

    def _sync_folder(self) -> None:
        self.disk.sync_file(f"{self.folder}/{PARTITION_METADATA_FILE}")
        self.disk.sync_folder(self.folder)
        if self.parent_unsynced:
            self.disk.sync_folder(self.data_folder)
            self.parent_unsynced = False

    def _segment_number(self, offset: i64) -> int:
        """The index of the segment that has the offset; 0 if the offset is before all segments."""
        return max(bisect_right(self.base_offsets, offset) - 1, 0)

    def segment_base(self, offset: int) -> int:
        """The base offset of the segment that has the offset; `offset` if it is before all segments."""
        return min(self.base_offsets[self._segment_number(offset)], offset)

    # Deleting

    def increment_log_start_offset(self, offset: int) -> None:
        """Move the start of the log forward. The next `apply_retention` deletes the files before it."""
        if offset > self._high_watermark:
            raise OffsetOutOfRangeError(
                f"Cannot increment the log start offset to {offset} of partition {self.name} since it is "
                f"larger than the high watermark {self._high_watermark}"
            )
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.epochs.truncate_from_start(offset)
            self.producers.advance_log_start(offset)

    def apply_retention(self, now_ms: int) -> int:
        """Delete segments because of retention.ms, retention.bytes or the start offset. Returns how many.

        Only whole segments below the high watermark are deleted. Their files are renamed and listed in
        `doomed_files`. Returns -1 if a flush uses the files: try again. The first call may wait, because it
        looks up timestamps.
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
        self.increment_log_start_offset(self.segments[count].base_offset)
        for segment in self.segments[:count]:
            self._doom(segment, self.segments[1:])
        return count

    def _doom(self, segment: Segment, others: list[Segment]) -> None:
        """Rename the files of a segment at one end of the log. The log then has the other segments.

        If the file of the records cannot be renamed, the segment stays in the log. A segment that the log
        has forgotten, but the folder has not, would leave a gap between two segments after a crash. Recovery
        removes what comes after a gap.
        """
        self.doomed_files.append(segment.rename_records())
        self._set_segments(others)
        self._doom_indexes(segment)

    def _doom_indexes(self, segment: Segment) -> None:
        self.doomed_files += segment.rename_indexes()
        self.producers.remove_snapshot(segment.base_offset)

    def replace_segments(self, replaced: list[Segment], segment: Segment) -> None:
        """Replace neighbouring segments by the one segment that compaction has written from them.

        The files have been renamed already. Of the segments' producer snapshots only the first one stays.
        """
        first = self.segments.index(replaced[0])
        end = first + len(replaced)
        assert self.segments[first:end] == replaced
        self._set_segments([*self.segments[:first], segment, *self.segments[end:]])
        for old in replaced[1:]:
            self.doomed_files += self.producers.forget_snapshot(old.base_offset)

    def truncate_to(self, offset: int) -> bool:
        """Drop the batch with the offset and all later ones. Returns whether there was any. May wait.

        If the offset is inside of a batch or a gap, the log ends before the offset, after its last batch.
        """
        if offset >= self.log_end_offset:
            self.epochs.truncate_from_end(self.log_end_offset)
            return False
        start = min(self.log_start_offset, offset)
        try:
            if offset < self.segments[0].base_offset or self._truncate_segments(offset) < start:
                self._start_anew_at(start)
        except DiskError as error:
            raise _ending_the_broker(error) from None
        return True

    def _truncate_segments(self, offset: int) -> i64:
        """Truncate at an offset that is in a segment. Returns the new end offset."""
        with self.flush_lock:
            keep = self._segment_number(offset) + 1
            doomed = self.segments[keep:]
            # The newest first, so that a crash leaves no gap.
            for segment in reversed(doomed):
                self._doom(segment, self.segments[:-1])
            # A new list in any case: a reader in a thread that finds the file too short tries again.
            self._set_segments(list(self.segments))
            self.active.truncate_to(offset)
            self.log_start_offset = min(self.log_start_offset, offset)
            self._set_end(self.active.read_next_offset())
            if doomed:
                # Without a sync a crash could bring the segments back, after records that are new.
                self.disk.sync_folder(self.folder)
            self.epochs.truncate_from_end(self.log_end_offset)
            self.producers.remove_snapshots_outside(self.log_start_offset, self.log_end_offset)
            rebuild_producers(
                self.producers,
                self.segments,
                self.log_start_offset,
                self.log_end_offset,
                0,
                self.producer_expiration_ms,
            )
            # Of the transactions that have ended, those below the high watermark are stable, as before.
            self.producers.advance_high_watermark(self._high_watermark)
            self._take_snapshot()
        return self.log_end_offset

    def _set_end(self, offset: i64) -> None:
        self.log_end_offset = offset
        self.flushed_offset = min(self.flushed_offset, offset)
        self.saved_offset = min(self.saved_offset, offset)
        self.unsealed_base = min(self.unsealed_base, self.active.base_offset)
        self.first_dirty_offset = min(self.first_dirty_offset, offset)
        self._high_watermark = min(self._high_watermark, offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop all batches. The log is then empty and begins at the offset. May wait."""
        try:
            self._start_anew_at(offset)
        except DiskError as error:
            raise _ending_the_broker(error) from None

    def _start_anew_at(self, offset: int) -> None:
        with self.flush_lock:
            # The newest first, so that a crash leaves no gap.
            for segment in reversed(self.segments[1:]):
                self._doom(segment, self.segments[:-1])
            first = self.segments[0]
            self.doomed_files.append(first.rename_records())
            # Before the new segment is created: it may have the same base offset, and so the same names.
            self._doom_indexes(first)
            new = Segment(self.disk, self.folder, offset, 0, self._jitter_ms(), False)
            new.create()
            self._set_segments([new])
            self.folder_unsynced = True
            self.disk.sync_folder(self.folder)
            self.log_start_offset = offset
            self._set_end(offset)
            self._high_watermark = offset
            self.epochs.clear()
            self.producers.clear(offset)

    def set_topic_id(self, topic_id: bytes) -> None:
        """Set the topic id of a log that was opened without one."""
        self.topic_id = topic_id
        self.disk.write_file(f"{self.folder}/{PARTITION_METADATA_FILE}", encode_partition_metadata(topic_id))
        self.folder_unsynced = True

    def timestamps_unknown(self) -> bool:
        """Whether `apply_retention` would have to read files."""
        return any(segment.timestamps_unknown() for segment in self.segments)

    def load_timestamps(self) -> None:
        """Read the timestamps that `apply_retention` needs. May wait."""
        for segment in self.segments:
            segment.load_timestamps()

    def remove_expired_producers(self, now_ms: int) -> None:
        self.producers.remove_expired(now_ms, self.producer_expiration_ms)

    def close(self) -> None:
        """Sync the batches, the indexes and a snapshot of the producers, and close the descriptors. May wait.

        The next start trusts these files, so nothing may be missing: a failed write is raised.
        """
        if self.closed:
            return
        self.closed = True
        if self.active.size_bytes > 0 or len(self.segments) > 1:
            self.producers.take_snapshot()
            self.active.finish()
            self.active.file.trim()
            with self.flush_lock:
                if self.active.sync_indexes() or self.producers.unsynced_snapshots:
                    self.folder_unsynced = True
            self.flush()
            if self.save_error is not None:
                raise self.save_error
        self.release()

    def delete(self, new_folder: str) -> None:
        """Move the folder away. Waits for a running flush, which uses the old paths."""
        with self.flush_lock:
            self.deleted = True
            self.release()
            self.disk.rename(self.folder, new_folder)

    def release(self) -> None:
        """Close the descriptors without writing anything."""
        self.closed = True
        for segment in self.segments:
            segment.close()


def _ending_the_broker(error: DiskError) -> DiskError:
    """A truncation has failed. The log in memory is half truncated, and only the next start can mend it."""
    error.is_fatal = True
    return error
