"""The log of one partition: batches are appended at its end, read anywhere and deleted from its start.

A log is a list of segments, and only the last one is written. Offsets, sizes and the last segment's indexes
are in memory. An append checks the header, the CRC and the records (`validation.py`), checks the producer's
sequence number, sets the offsets in the header and writes once. A read returns slices of the bytes that one
system call has read.

Only the event loop's thread calls these methods, and they do not wait for the disk. The exceptions say "may
wait": call them in a thread. Blocking reads may run in a thread during appends.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from gralha.protocol.batches import HEADER_SIZE
from gralha.protocol.control_records import coordinator_epoch
from gralha.protocol.errors import (
    CorruptMessageError,
    FencedLeaderEpochError,
    InvalidRecordError,
    KafkaStorageError,
    OffsetOutOfRangeError,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import (
    BatchHeader,
    batches,
    crc_is_valid,
    decode_records,
    patched_header,
    timed_header,
)
from gralha.storage.config import LONG_MAX
from gralha.storage.disk import DiskError, WouldBlock
from gralha.storage.index import RELATIVE_OFFSET_MAX
from gralha.storage.log_state import LogState
from gralha.storage.recovery import record_marker, replay_producer
from gralha.storage.segment import Segment
from gralha.storage.validation import (
    CLIENT,
    COORDINATOR,
    RAFT_LEADER,
    BatchCheck,
    check_batch,
    check_fits_segment,
    check_only_batch,
)

__all__ = ["CLIENT", "COORDINATOR", "RAFT_LEADER", "AppendResult", "Log", "WouldBlock"]

_EMPTY: Final = RecordBytes(b"", 0, 0)
# More than a log can have.
ALL_BYTES: Final[i64] = 1 << 48


class AppendResult:
    """The offsets of a batch in the log. For a duplicate, the offsets of the first copy."""

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
        # -1 if the topic keeps the producers' timestamps.
        self.log_append_time_ms: i64 = log_append_time_ms
        self.log_start_offset: i64 = log_start_offset
        self.duplicate = duplicate


class Log(LogState):
    """Appends and reads. `LogState` has the segments, and knows which batches are on the device."""

    # Appending

    def append_as_leader(
        self, records: RecordBytes, leader_epoch: i64, now_ms: i64, *, origin: i64 = CLIENT
    ) -> AppendResult:
        """Assign the next offsets to a batch and write it. Raises a `KafkaError` if the batch is refused.

        Only the leader of the quorum may append several batches at once, as in Kafka. A client's records are
        checked all at once, which may take long: `check` and `append_checked` do the same in steps.
        """
        if origin == CLIENT:
            check = self.check(records, now_ms)
            check.finish()
            return self.append_checked(check, leader_epoch, now_ms)
        self._check_open()
        data = records.data
        position = records.start
        end = records.end
        header = check_batch(data, position, end, self.config, origin, self.name)
        if origin == COORDINATOR:
            check_only_batch(data, position + header.size_bytes, end, self.name)
            end = position + header.size_bytes
        first = self._append_batch(data, position, header, header.max_timestamp, leader_epoch, now_ms, origin)
        position += header.size_bytes
        while position < end:
            header = check_batch(data, position, end, self.config, origin, self.name)
            last = self._append_batch(
                data, position, header, header.max_timestamp, leader_epoch, now_ms, origin
            )
            first.last_offset = last.last_offset
            position += header.size_bytes
        return first

    def check(self, records: RecordBytes, now_ms: i64) -> BatchCheck:
        """Begin to check a client's batch."""
        self._check_open()
        return BatchCheck(records, self.config, self.name, now_ms)

    def append_checked(self, check: BatchCheck, leader_epoch: i64, now_ms: i64) -> AppendResult:
        """Append a client's batch. It must have been checked with the topic's current settings."""
        self._check_open()
        assert check.config is self.config, "the batch was checked by other settings"
        return self._append_batch(
            check.data, check.position, check.header, check.max_timestamp, leader_epoch, now_ms, CLIENT
        )

    def _check_open(self) -> None:
        if self.closed:
            raise KafkaStorageError(f"The log of {self.name} is closed")

    def _append_batch(
        self,
        data: bytes,
        position: i64,
        header: BatchHeader,
        max_timestamp: i64,
        leader_epoch: i64,
        now_ms: i64,
        origin: i64,
    ) -> AppendResult:
        config = self.config
        size = header.size_bytes
        check_fits_segment(size, config, self.name)
        base_offset = self.log_end_offset
        if header.producer_id >= 0:
            duplicate = self._check_producer(data, position, header, base_offset, origin)
            if duplicate is not None:
                return duplicate
        last_offset = base_offset + header.last_offset_delta
        append_time_ms: i64 = -1
        if config.log_append_time:
            max_timestamp = now_ms
            append_time_ms = now_ms
            patched = timed_header(data, position, header, base_offset, leader_epoch, now_ms, True)
        elif max_timestamp != header.max_timestamp or header.is_log_append_time:
            patched = timed_header(data, position, header, base_offset, leader_epoch, max_timestamp, False)
        else:
            patched = patched_header(data, position, base_offset, leader_epoch)
        if leader_epoch != self.epochs.latest:
            self.assign_epoch_start(leader_epoch, base_offset)
        segment = self._segment_for(size, base_offset, last_offset, max_timestamp, now_ms)
        segment.append(
            [patched, memoryview(data)[position + HEADER_SIZE : position + size]],
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
        """Refuse a batch out of the producer's order. Returns the first result for a duplicate."""
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
            # A segment begins where the segment before it ends, even if a follower's next batch comes after
            # a gap. So recovery can tell whether a segment has lost its end. Only a gap that is too large for
            # relative offsets may be between two segments.
            far = last_offset - self.log_end_offset > RELATIVE_OFFSET_MAX
            self.roll(now_ms, first_offset if far else self.log_end_offset)
            segment = self.active
        return segment

    def append_as_follower(
        self, records: RecordBytes, now_ms: i64 = 0, leader_epoch_max: i64 = LONG_MAX
    ) -> None:
        """Write batches with the leader's offsets and epochs. A cut batch at the end is left out.

        Batches of a leader epoch above `leader_epoch_max` are left out, too, and what comes after them. A
        leader that has lost its epoch while it was reading may send records of the next leader (KAFKA-18723).
        This log may have parted from the next leader's before them.
        """
        self._check_open()
        data = records.data
        found = batches(data, records.start, records.end)
        for number, (_, header) in enumerate(found):
            if header.partition_leader_epoch > leader_epoch_max:
                del found[number:]
                if number == 0:
                    raise FencedLeaderEpochError(
                        f"The leader of epoch {leader_epoch_max} has sent records of leader epoch "
                        f"{header.partition_leader_epoch} for {self.name}"
                    )
                break
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
        first = 0
        while first < len(found):
            first = self._append_run(data, found, first, now_ms)
        if self.log_end_offset - self.flushed_offset >= self.config.flush_messages:
            self._ask_flush(self.log_end_offset)

    def _append_run(self, data: bytes, found: list[tuple[int, BatchHeader]], first: int, now_ms: i64) -> int:
        """Write the batches that go into one segment at once. Returns the index of the next batch."""
        start, header = found[first]
        segment = self._segment_for(
            header.size_bytes, header.base_offset, header.last_offset, header.max_timestamp, now_ms
        )
        size = header.size_bytes
        end = first + 1
        while end < len(found):
            header = found[end][1]
            new_size = size + header.size_bytes
            if segment.should_roll(new_size, header.last_offset, header.max_timestamp, now_ms, self.config):
                break
            size = new_size
            end += 1
        segment.file.append([memoryview(data)[start : start + size]])
        try:
            for position, header in found[first:end]:
                self._note_batch(segment, data, position, header)
        except BaseException:
            # The batches before the one that failed are in the log. The others must not stay in the file.
            segment.file.truncate(segment.size_bytes)
            raise
        return end

    def _note_batch(self, segment: Segment, data: bytes, position: i64, header: BatchHeader) -> None:
        """Update the log's state for a batch that was written. A failure changes nothing."""
        replay_producer(self.producers, segment, data, position, header)
        epoch = header.partition_leader_epoch
        if epoch >= 0 and epoch != self.epochs.latest:
            self.assign_epoch_start(epoch, header.base_offset)
        segment.note_batch(
            header.size_bytes, header.last_offset, header.max_timestamp, self.config.index_interval_bytes
        )
        self.log_end_offset = header.next_offset

    # Reading

    def read(
        self,
        offset: i64,
        max_bytes: i64,
        end_offset: i64,
        min_one_batch: bool,
        blocking: bool,
        to_send: bool = False,
    ) -> RecordBytes:
        """Read batches from the one with the offset on. All of them are below `end_offset`.

        Reads at most `max_bytes`, but with `min_one_batch` always the first batch. The last batch may be cut.
        Raises OFFSET_OUT_OF_RANGE. Without `blocking` a read never waits: it raises `WouldBlock` if the page
        cache lacks the bytes. With `blocking` it may wait, so call it in a thread. With `to_send` (and not
        `blocking`) the result may be a range of a file, for a socket.
        """
        if self.closed:
            raise KafkaStorageError(f"The log of {self.name} is closed")
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
            end_position = segment.size_bytes
            is_last = number == len(segments)
            ends = self.log_end_offset if is_last else segments[number].base_offset
            try:
                # While this runs in a thread, the event loop may append between any two of these lines. So
                # only the batches in the file tell which bytes are below the bound.
                if end_offset < ends or (blocking and is_last):
                    bound = segment.position_of(end_offset, blocking)
                    if bound >= 0:
                        end_position = bound
                found = segment.read(offset, max_bytes, end_position, min_one_batch, blocking, to_send)
            except DiskError:
                # While this runs in a thread, retention, compaction or deletion may have removed the files.
                if self.closed:
                    raise KafkaStorageError(f"The log of {self.name} is closed") from None
                if offset < self.log_start_offset:
                    raise self._out_of_range(offset) from None
                if segments is self.segments:
                    raise
                return self.read(offset, max_bytes, end_offset, min_one_batch, blocking, to_send)
            if found is not None:
                return found
        return _EMPTY

    def _out_of_range(self, offset: i64) -> OffsetOutOfRangeError:
        return OffsetOutOfRangeError(
            f"Received request for offset {offset} for partition {self.name}, but we only have log segments "
            f"in the range {self.log_start_offset} to {self.log_end_offset}."
        )

    def aborted_transactions(
        self, start_offset: i64, end_offset: i64, blocking: bool, size_bytes: i64 = ALL_BYTES
    ) -> list[tuple[int, int]]:
        """Producer id and first offset of each aborted transaction in a range that was read.

        The range begins at an offset, has at most this size and ends before `end_offset`. Without `blocking`
        this never waits: it raises `WouldBlock` if an index is not in memory.
        """
        found: list[tuple[int, int]] = []
        first = self._segment_number(start_offset)
        bound: i64 = -1
        for segment in self.segments[first:]:
            # The marker of a transaction may be far behind the range.
            if bound < 0 and segment.transaction_index.entries(blocking):
                bound = min(end_offset, self._end_of_range(first, start_offset, size_bytes, blocking))
            entries, are_all = segment.transaction_index.overlapping(
                start_offset, end_offset if bound < 0 else bound, blocking
            )
            found += [(int(entry.producer_id), int(entry.first_offset)) for entry in entries]
            if are_all:
                break
        return found

    def _end_of_range(self, number: int, start_offset: i64, size_bytes: i64, blocking: bool) -> i64:
        """An offset that is not before the end of a range of bytes, and not far behind it."""
        segment = self.segments[number]
        position = segment.position_of(start_offset, blocking)
        if 0 <= position < segment.size_bytes:
            offset = segment.offset_index.offset_at(position + size_bytes, blocking)
            if offset >= 0:
                return offset
            if number + 1 < len(self.segments) and position + size_bytes <= segment.size_bytes:
                return self.segments[number + 1].base_offset
        # Compaction has left no batch at the offset, and the range is in one of the next segments.
        return self.log_end_offset

    def offset_for_timestamp(self, timestamp_ms: int) -> tuple[int, int, int] | None:
        """Timestamp, offset and leader epoch of the first record at or after that timestamp. May wait."""
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
