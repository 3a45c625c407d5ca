"""One segment of a log: a file of record batches and its indexes.

The file `<base offset>.log` has only batches, one after the other. To find the position of an offset, the
segment looks up a batch at or before it in the offset index, and walks over batch headers from there. A
reader that goes on where it stopped skips both steps, because the segment remembers where its last few reads
ended.

The size is in memory, so a write or a read is one system call. Only the event loop calls these methods,
except where a method says that a thread may call it.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_be, read_i64_be
from mypy_extensions import i64

from gralha.protocol.batches import HEADER_SIZE, LAST_OFFSET_DELTA_AT, LENGTH_AT, LOG_OVERHEAD
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import BatchHeader, decode_records, read_header
from gralha.storage import shared_reads
from gralha.storage.config import LogConfig
from gralha.storage.disk import Disk, DiskError, WouldBlock
from gralha.storage.index import RELATIVE_OFFSET_MAX, OffsetIndex, TimeIndex, TransactionIndex
from gralha.storage.shared_reads import SharedRead

LOG_SUFFIX: Final = ".log"
OFFSET_INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
TRANSACTION_INDEX_SUFFIX: Final = ".txnindex"
DELETED_SUFFIX: Final = ".deleted"
SEGMENT_SUFFIXES: Final = (LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)

# The bytes that one search for a batch reads: a little more than an index interval of small batches.
_PROBE_BYTES: Final[i64] = 8192
# A read with more batches than this is not trimmed to whole batches: each batch is tiny then.
_TRIM_BATCHES_MAX: Final[i64] = 256
_REMEMBERED_MAX: Final[i64] = 16
_SCAN_BYTES: Final[i64] = 64 * 1024
# Ranges of at least this size are sent from the file. For smaller ones a copy is cheaper.
_SEND_BYTES_MIN: Final[i64] = 64 * 1024
# A range with fewer batches than this has large ones.
_WALKED_BATCHES_MAX: Final[i64] = 8
_UNKNOWN: Final[i64] = -2


class TimestampOffset:
    """An answer to a search by time: a record's timestamp, offset and leader epoch."""

    def __init__(self, timestamp: i64, offset: i64, leader_epoch: i64) -> None:
        self.timestamp: i64 = timestamp
        self.offset: i64 = offset
        self.leader_epoch: i64 = leader_epoch


def _remember(remembered: dict[int, int], offset: i64, position: i64) -> None:
    if len(remembered) >= _REMEMBERED_MAX:
        remembered.clear()
    remembered[offset] = position


def segment_path(folder: str, base_offset: int, suffix: str) -> str:
    return f"{folder}/{base_offset:020d}{suffix}"


class Segment:
    def __init__(
        self,
        disk: Disk,
        folder: str,
        base_offset: i64,
        created_ms: i64,
        roll_jitter_ms: i64,
        has_aborts: bool,
    ) -> None:
        self.disk = disk
        self.base_offset: i64 = base_offset
        self.created_ms: i64 = created_ms
        self.roll_jitter_ms: i64 = roll_jitter_ms
        self.file = disk.open(segment_path(folder, base_offset, LOG_SUFFIX))
        self.size_bytes: i64 = 0
        self.offset_index = OffsetIndex(
            disk, segment_path(folder, base_offset, OFFSET_INDEX_SUFFIX), base_offset
        )
        self.time_index = TimeIndex(disk, segment_path(folder, base_offset, TIME_INDEX_SUFFIX), base_offset)
        self.transaction_index = TransactionIndex(
            disk, segment_path(folder, base_offset, TRANSACTION_INDEX_SUFFIX), has_aborts
        )
        self.bytes_since_index_entry: i64 = 0
        # The largest timestamp (_UNKNOWN until it is looked up) and the last offset of the batch that has it.
        self.max_timestamp: i64 = _UNKNOWN
        self.max_timestamp_offset: i64 = base_offset
        # The timestamp of the first batch. The segment's age counts from it.
        self.first_timestamp: i64 = _UNKNOWN
        # Offsets that readers are likely to ask for next, and the positions of their batches. A truncation
        # puts a new dict here. A reader in a thread writes to the dict that was here when it began to read,
        # so that a truncated segment does not remember an old position.
        self.remembered: dict[int, int] = {}
        # The position where the last non-blocking read began.
        self.last_start: i64 = -1

    # Opening

    def create(self) -> None:
        """Create the file of a new segment. The first entry of an index creates its file."""
        self.file = self.disk.open(self.file_path(LOG_SUFFIX), create=True)
        if self.file.size() > 0:
            self.file.truncate(0)
        # A deleted segment with the same base offset may have left its index. The other indexes are written
        # in any case.
        self.disk.remove(self.transaction_index.path)
        self.transaction_index.exists = False
        self.offset_index.exists = False
        self.time_index.exists = False
        self.start_empty()

    def start_empty(self) -> None:
        """Empty all indexes. `note_batch` and `record_marker` (recovery.py) fill them again."""
        self.transaction_index.start_empty()
        self.start_walk()

    def start_walk(self) -> None:
        """Empty the offset index and the time index. `note_batch` fills them again."""
        self.offset_index.start_empty()
        self.time_index.start_empty()
        self.size_bytes = 0
        self.bytes_since_index_entry = 0
        self.max_timestamp = -1
        self.max_timestamp_offset = self.base_offset
        self.first_timestamp = -1
        self.remembered = {}

    def file_path(self, suffix: str) -> str:
        return self.offset_index.path[: -len(OFFSET_INDEX_SUFFIX)] + suffix

    def load(self) -> None:
        """Open an existing segment. This reads only the size of its file."""
        self.size_bytes = self.file.size()

    def load_to_append(self) -> None:
        """Read the ends of the indexes into memory, because the segment is about to be written. May wait."""
        self.offset_index.load()
        self.time_index.load()
        self.transaction_index.load()
        self.load_timestamps()

    def indexes_are_plausible(self) -> bool:
        """Whether the indexes that `load_to_append` read can belong to the file of batches."""
        if not self.offset_index.rises_from(self.base_offset + 1) or not self.time_index.rises_from(0):
            return False
        count = self.offset_index.count()
        if count:
            position = i64(read_i32_be(self.offset_index.entry(count - 1, True), 4))
            if position <= 0 or position >= self.size_bytes:
                return False
        return self.max_timestamp >= self.first_timestamp and self.max_timestamp_offset >= self.base_offset

    def timestamps_unknown(self) -> bool:
        return self.max_timestamp == _UNKNOWN or self.first_timestamp == _UNKNOWN

    def load_timestamps(self) -> None:
        """Look up the largest timestamp, unless it is known. A thread may call this."""
        if self.max_timestamp == _UNKNOWN:
            timestamp, offset = self.time_index.last(True)
            self.max_timestamp_offset = offset
            self.max_timestamp = timestamp
        if self.first_timestamp == _UNKNOWN:
            self.first_timestamp = self._read_first_timestamp()

    def _read_first_timestamp(self) -> i64:
        if self.size_bytes < HEADER_SIZE:
            return -1
        return read_header(self.file.read(0, HEADER_SIZE), 0).max_timestamp

    def largest_timestamp(self) -> i64:
        """The largest timestamp of a record. If no record has one, the time of the file's last change."""
        self.load_timestamps()
        return self.max_timestamp if self.max_timestamp >= 0 else self.file.modified_ms()

    def read_next_offset(self) -> i64:
        """The offset after the last whole batch."""
        count = self.offset_index.count()
        position: i64 = 0
        if count:
            position = i64(read_i32_be(self.offset_index.entry(count - 1, True), 4))
        next_offset = self.base_offset
        while position < self.size_bytes:
            headers, position = self.scan(position)
            if headers:
                next_offset = headers[-1][1].next_offset
        return next_offset

    # Writing

    def should_roll(
        self, size_bytes: i64, last_offset: i64, max_timestamp: i64, now_ms: i64, config: LogConfig
    ) -> bool:
        """Whether a batch of this size, offset and time has to go into a new segment."""
        if self.size_bytes + size_bytes > config.segment_bytes:
            return True
        if last_offset - self.base_offset > RELATIVE_OFFSET_MAX:
            return True
        if self.size_bytes == 0:
            return False
        if self._waited_ms(now_ms, max_timestamp) > config.segment_ms - self.roll_jitter_ms:
            return True
        index_bytes = config.segment_index_bytes
        return (
            self.offset_index.count() >= index_bytes // 8 or self.time_index.count() >= index_bytes // 12 - 1
        )

    def _waited_ms(self, now_ms: i64, max_timestamp: i64) -> i64:
        if self.first_timestamp == _UNKNOWN:
            self.first_timestamp = self._read_first_timestamp()
        if self.first_timestamp >= 0:
            return max_timestamp - self.first_timestamp
        return now_ms - self.created_ms

    def append(
        self,
        chunks: list[bytes | memoryview],
        size_bytes: i64,
        last_offset: i64,
        max_timestamp: i64,
        index_interval_bytes: i64,
    ) -> None:
        """Write one batch."""
        self.file.append(chunks)
        self.note_batch(size_bytes, last_offset, max_timestamp, index_interval_bytes)

    def note_batch(
        self, size_bytes: i64, last_offset: i64, max_timestamp: i64, index_interval_bytes: i64
    ) -> None:
        """Count a batch that is in the file after the counted ones, and add index entries if due."""
        position = self.size_bytes
        if position == 0:
            self.first_timestamp = max_timestamp
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.max_timestamp_offset = last_offset
        if self.bytes_since_index_entry > index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.append(self.max_timestamp, self.max_timestamp_offset)
            self.bytes_since_index_entry = 0
        self.bytes_since_index_entry += size_bytes
        self.size_bytes = position + size_bytes

    def finish(self) -> None:
        """End writing: the largest timestamp becomes the last entry of the time index."""
        if self.time_index.memory is not None:
            self.time_index.append(self.max_timestamp, self.max_timestamp_offset)

    def save_indexes(self) -> None:
        """Write the indexes to their files while the segment is written. One thread may call this at a time.

        The files are not synced, because recovery rebuilds the indexes of the active segment.
        """
        if self.offset_index.memory is not None:
            self.offset_index.save(sync=False)
            self.time_index.save(sync=False)
            self.transaction_index.save(sync=False)

    def sync_indexes(self) -> bool:
        """Sync the indexes, because the next start trusts them. Returns whether an index was not synced yet.

        One thread may call this at a time.
        """
        self.save_indexes()
        unsynced = self.offset_index.unsynced or self.time_index.unsynced or self.transaction_index.unsynced
        self.offset_index.save(sync=True)
        self.time_index.save(sync=True)
        self.transaction_index.save(sync=True)
        return unsynced

    def seal_indexes(self) -> None:
        """Sync the indexes after the segment was rolled. A thread may call this."""
        self.file.trim()
        self.sync_indexes()
        self.offset_index.release_memory()
        self.time_index.release_memory()

    def truncate_to(self, offset: i64) -> None:
        """Drop the batch with that offset and all later ones. The segment can be written again. May wait."""
        position = self.position_of(offset, True)
        self.load_to_append()
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        if position >= 0:
            self.file.truncate(position)
            self.size_bytes = position
            # Without a sync a crash could bring the batches back, next to a later segment with their offsets.
            self.file.sync()
        self.bytes_since_index_entry = 0
        self.remembered = {}
        self._rescan_timestamps()

    def _rescan_timestamps(self) -> None:
        timestamp, offset = self.time_index.last(True)
        if self.size_bytes == 0:
            self.first_timestamp = -1
        position = self.offset_index.lookup(offset, True)
        while position < self.size_bytes:
            headers, position = self.scan(position)
            for _, header in headers:
                if header.max_timestamp > timestamp:
                    timestamp, offset = header.max_timestamp, header.last_offset
        self.max_timestamp = timestamp
        self.max_timestamp_offset = offset

    def rename_deleted(self) -> list[str]:
        """Rename the files so that they count as deleted. Returns the new names. Readers go on with these.

        No descriptor stays open, because the file system frees the space of a removed file after its last
        close.
        """
        return [self.rename_records(), *self.rename_indexes()]

    def rename_records(self) -> str:
        """The first step of `rename_deleted`. After it, the next start does not find the segment any more."""
        path = self.file_path(LOG_SUFFIX) + DELETED_SUFFIX
        self.file.rename(path)
        self.file.retire()
        return path

    def rename_indexes(self) -> list[str]:
        """The second step of `rename_deleted`. If it fails, the next start removes the files."""
        paths: list[str] = []
        if self.transaction_index.exists:
            paths.append(self.transaction_index.path + DELETED_SUFFIX)
        self.transaction_index.rename(self.transaction_index.path + DELETED_SUFFIX)
        if self.transaction_index.file is not None:
            self.transaction_index.file.retire()
        for index in (self.offset_index, self.time_index):
            if index.exists:
                paths.append(index.path + DELETED_SUFFIX)
            index.rename(index.path + DELETED_SUFFIX)
            if index.file is not None:
                index.file.retire()
        return paths

    def close(self) -> None:
        """Close the descriptors."""
        self.file.close()
        for index in (self.offset_index, self.time_index):
            if index.file is not None:
                index.file.close()
        if self.transaction_index.file is not None:
            self.transaction_index.file.close()

    # Reading

    def _read(self, position: i64, length: i64, blocking: bool) -> bytes:
        if blocking:
            data = self.file.read(position, length)
        else:
            found = self.file.read_nowait(position, length)
            if found is None:
                raise WouldBlock
            data = found
        if len(data) < length:
            raise DiskError("read", self.file_path(LOG_SUFFIX), f"it ends before {position + length}")
        return data

    def position_of(self, offset: i64, blocking: bool) -> i64:
        """The position of the first batch whose last offset is at least `offset`; -1 if there is none."""
        remembered = self.remembered
        known = remembered.get(offset)
        if known is not None:
            return known if known < self.size_bytes else -1
        position = self.offset_index.lookup(offset, blocking)
        size = self.size_bytes
        while size - position >= HEADER_SIZE:
            data = self._read(position, min(_PROBE_BYTES, size - position), blocking)
            at: i64 = 0
            length: i64 = len(data)
            while length - at >= HEADER_SIZE:
                if read_i64_be(data, at) + i64(read_i32_be(data, at + 23)) >= offset:
                    _remember(remembered, offset, position + at)
                    return position + at
                at += self._batch_size(data, at, position)
            position += at
        return -1

    def _batch_size(self, data: bytes, at: i64, start: i64) -> i64:
        """The size of the batch at index `at` of data that was read from position `start` on."""
        size = i64(read_i32_be(data, at + 8)) + LOG_OVERHEAD
        if size < HEADER_SIZE:
            raise DiskError("read", self.file_path(LOG_SUFFIX), f"no batch begins at {start + at}")
        return size

    def read(
        self,
        offset: i64,
        max_bytes: i64,
        end_position: i64,
        min_one_batch: bool,
        blocking: bool,
        to_send: bool = False,
    ) -> RecordBytes | None:
        """Read batches from the one with the offset up to `end_position`. None if the offset is not here.

        The last batch may be cut, but not the first. If the first batch is larger than `max_bytes`, it is
        read only with `min_one_batch`. A thread may call this with `blocking`. With `to_send` the result may
        be a range of the file.
        """
        remembered = self.remembered
        start = self.position_of(offset, blocking)
        if start < 0:
            return None
        length = min(max(max_bytes, HEADER_SIZE), end_position - start)
        if length < HEADER_SIZE:
            return RecordBytes(b"", 0, 0)
        if to_send and length >= _SEND_BYTES_MIN:
            range_of_file = self._range_to_send(start, min(length, max_bytes), remembered)
            if range_of_file is not None:
                return range_of_file
        if not blocking:
            shared = shared_reads.find(remembered, start, length)
            if shared is not None:
                found = self._part_of(shared, start, length, remembered)
                if found is not None:
                    return found
        data = self._read(start, length, blocking)
        first_size = i64(read_i32_be(data, LENGTH_AT)) + LOG_OVERHEAD
        if first_size > length or first_size > max_bytes:
            if not min_one_batch:
                return RecordBytes(b"", 0, 0)
            if first_size > length:
                data = self._read(start, first_size, blocking)
        elif not blocking:
            if start == self.last_start:
                shared_reads.keep(remembered, start, data)
            self.last_start = start
        return RecordBytes(data, 0, self._end_of_whole_batches(data, 0, len(data), start, remembered))

    def _range_to_send(self, start: i64, length: i64, remembered: dict[int, int]) -> RecordBytes | None:
        """A range of the file that begins with a whole batch. None if it has to be read."""
        length = self._end_of_large_batches(start, start + length, remembered) - start
        stored = self.file.stored(start, length) if length > 0 else None
        return None if stored is None else RecordBytes(b"", 0, length, stored)

    def _end_of_large_batches(self, start: i64, end: i64, remembered: dict[int, int]) -> i64:
        """The end of the last whole batch before `end` if there are few batches, otherwise `end`.

        If batches are large, the reader would have to fetch many bytes of a cut one again.
        """
        at = start
        next_offset: i64 = -1
        for number in range(_WALKED_BATCHES_MAX):
            size: i64 = 0
            if end - at >= HEADER_SIZE:
                head = self._read(at, HEADER_SIZE, False)
                size = self._batch_size(head, 0, at)
            if size == 0 or size > end - at:
                if at > start:
                    _remember(remembered, next_offset, at)
                return at
            if number == 0 and size * _WALKED_BATCHES_MAX <= end - start:
                break  # there are probably many
            next_offset = read_i64_be(head, 0) + i64(read_i32_be(head, LAST_OFFSET_DELTA_AT)) + 1
            at += size
        return end

    def _part_of(
        self, shared: SharedRead, start: i64, length: i64, remembered: dict[int, int]
    ) -> RecordBytes | None:
        """Batches of another reader's read from the position on. None if the first one is cut."""
        begin = start - shared.start
        end = min(begin + length, i64(len(shared.data)))
        if end - begin < HEADER_SIZE or self._batch_size(shared.data, begin, shared.start) > end - begin:
            return None
        return RecordBytes(
            shared.data, begin, self._end_of_whole_batches(shared.data, begin, end, start, remembered)
        )

    def _end_of_whole_batches(
        self, data: bytes, begin: i64, end: i64, start: i64, remembered: dict[int, int]
    ) -> i64:
        """Find the end without a cut batch, and remember where the next read will begin.

        The batches are in the data from `begin` to `end`, and in the file from the position `start` on.
        """
        at: i64 = begin
        last: i64 = begin
        count: i64 = 0
        while end - at >= HEADER_SIZE:
            size = self._batch_size(data, at, start - begin)
            if size > end - at:
                break
            if count == _TRIM_BATCHES_MAX:
                return end
            count += 1
            last = at
            at += size
        if count:
            next_offset = read_i64_be(data, last) + i64(read_i32_be(data, last + 23)) + 1
            _remember(remembered, next_offset, start + at - begin)
        return at

    def scan(self, position: i64) -> tuple[list[tuple[int, BatchHeader]], i64]:
        """Positions and headers of the next batches, and the position after them. May wait."""
        found: list[tuple[int, BatchHeader]] = []
        size = self.size_bytes
        data = self._read(position, min(_SCAN_BYTES, size - position), True)
        at: i64 = 0
        while len(data) - at >= HEADER_SIZE:
            header = read_header(data, at)
            if position + at + header.size_bytes > size:
                return found, size
            found.append((int(position + at), header))
            at += header.size_bytes
        # The bytes at the end of the file are no batch if they are fewer than a header has.
        return found, position + at if at else size

    def find_timestamp(self, timestamp: i64, start_offset: i64) -> TimestampOffset | None:
        """The first record at or after the offset whose timestamp is at least `timestamp`. May wait."""
        offset = max(self.time_index.lookup(timestamp, True), start_offset)
        position = self.offset_index.lookup(offset, True)
        while position < self.size_bytes:
            headers, position = self.scan(position)
            for at, header in headers:
                if header.max_timestamp < timestamp or header.last_offset < start_offset:
                    continue
                for record in decode_records(self._read(at, header.size_bytes, True), 0, header):
                    if record.timestamp >= timestamp and record.offset >= start_offset:
                        return TimestampOffset(record.timestamp, record.offset, header.partition_leader_epoch)
        return None

    def find_max_timestamp(self) -> TimestampOffset | None:
        """The first record that has the segment's largest timestamp. May wait."""
        self.load_timestamps()
        if self.max_timestamp < 0:
            return None
        return self.find_timestamp(self.max_timestamp, self.base_offset)
