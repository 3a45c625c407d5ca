"""Sparse indexes of one segment, in Kafka's file formats.

    .index      8 bytes per entry: offset relative to the segment's base, position in the .log file
    .timeindex  12 bytes per entry: timestamp, offset relative to the segment's base
    .txnindex   34 bytes per entry: version, producer id, first offset, last offset, last stable offset

An entry of the offset index has the *last* offset of a batch and the position where that batch begins. An
entry of the time index says that no record up to that offset is younger than the timestamp. There is an
entry about every `index.interval.bytes`.

The entries of a segment that is being written are in memory. They go to the file on flush, roll and close. Of
the entries that an earlier run wrote only the last few are in memory, so that a start reads and keeps little.
The others are searched in the file, by single entries down to a block. The last block that was read stays in
memory, because most readers read a segment in order.
"""

from __future__ import annotations

import struct
import threading
from typing import Final

from librt.strings import read_i32_be, read_i64_be
from mypy_extensions import i64

from gralha.storage.disk import Disk, File, WouldBlock

_BLOCK_ENTRIES: Final[i64] = 512
# How many entries of a file are read into memory when writing goes on.
_LOADED_ENTRIES: Final[i64] = 128
RELATIVE_OFFSET_MAX: Final[i64] = 2147483647
_opening: Final = threading.Lock()


class SparseIndex:
    """The base of both kinds: entries of one size, sorted by a key."""

    def __init__(self, disk: Disk, path: str, base_offset: i64, entry_size: i64) -> None:
        self.disk = disk
        # The file is made when there is something to save.
        self.exists = True
        self.path = path
        self.base_offset: i64 = base_offset
        self.entry_size: i64 = entry_size
        # The last entries, or all, while the segment is written; None once all are in the file.
        self.memory: bytearray | None = None
        # How many bytes of entries before these are only in the file.
        self.file_bytes: i64 = 0
        # How many bytes of those in memory the file has as well.
        self.saved_bytes: i64 = 0
        # Whether the file was changed since it was synced.
        self.unsynced = False
        # Whether this object has created the file and has written nothing yet.
        self.is_blank = False
        self.file: File | None = None
        self.block = b""
        self.block_is_last = False
        # How often entries were dropped. A block that a thread has read before that is out of date.
        self.drops = 0

    def key_at(self, data: bytes, position: i64) -> i64:
        raise NotImplementedError

    def open(self) -> File:
        file = self.file
        if file is None:
            # All threads share one object, so that a rename reaches every reader.
            with _opening:
                file = self.file
                if file is None:
                    file = self.disk.open(self.path)
                    self.file = file
        return file

    def count(self) -> i64:
        memory = self.memory
        if memory is not None:
            return (self.file_bytes + len(memory)) // self.entry_size
        return self.open().size() // self.entry_size

    def start_empty(self) -> None:
        """Begin without entries in memory, whatever the file has."""
        self._drop_block()
        self.memory = bytearray()
        self.file_bytes = 0
        self.saved_bytes = 0

    def load(self) -> None:
        """Take the file's last entries into memory, to go on writing."""
        if self.memory is None:
            size = self.count() * self.entry_size
            start = max(size - _LOADED_ENTRIES * self.entry_size, 0)
            self.file_bytes = start
            self.saved_bytes = size - start
            self.block = b""
            self.memory = bytearray(self.open().read(start, size - start)) if size else bytearray()

    def load_whole(self) -> None:
        """Take all of the file's entries into memory. May wait."""
        self.load()
        memory = self.memory
        if memory is not None and self.file_bytes:
            whole = bytearray(self.open().read(0, self.file_bytes))
            whole += memory
            self.saved_bytes += self.file_bytes
            # In this order: a reader in a thread that sees only the first change finds what it seeks.
            self.memory = whole
            self.file_bytes = 0

    def rises_from(self, least: i64) -> bool:
        """Whether the file has whole entries only, and the keys in memory rise from at least `least`."""
        memory = self.memory
        if memory is None or (self.exists and self.open().size() % self.entry_size != 0):
            return False
        data = bytes(memory)
        position: i64 = 0
        while position < len(data):
            key = self.key_at(data, position)
            if key < least:
                return False
            least = key + 1
            position += self.entry_size
        return True

    def save(self, sync: bool) -> None:
        """Bring the file up to date with the entries in memory. One thread at a time."""
        memory = self.memory
        if not self.exists:
            self.file = self.disk.open(self.path, create=True)
            self.exists = self.is_blank = True
            self.unsynced = True
        file = self.open()
        if memory is not None:
            size = self.file_bytes + self.saved_bytes
            if file.size() != size:
                self.unsynced = True
                self.is_blank = False
                file.truncate(size)
            new = bytes(memory[self.saved_bytes :])
            if new:
                self.unsynced = True
                self.is_blank = False
                file.append([new])
                self.saved_bytes += len(new)
        if sync and self.unsynced:
            if not self.is_blank:
                file.sync()
            self.unsynced = False

    def has_unsaved(self) -> bool:
        memory = self.memory
        return memory is not None and len(memory) != self.saved_bytes

    def rename(self, path: str) -> None:
        if self.exists:
            self.open().rename(path)
        self.path = path

    def release_memory(self) -> None:
        """After `save`: the file has it all."""
        self.memory = None

    def entry(self, slot: i64, blocking: bool) -> bytes:
        memory = self.memory
        start = slot * self.entry_size
        if memory is not None and start >= self.file_bytes:
            start -= self.file_bytes
            return bytes(memory[start : start + self.entry_size])
        return self._read(start, self.entry_size, blocking)

    def _read(self, position: i64, length: i64, blocking: bool) -> bytes:
        if blocking:
            return self.open().read(position, length)
        data = self.open().read_nowait(position, length)
        if data is None:
            raise WouldBlock
        return data

    def find(self, key: i64, blocking: bool) -> bytes:
        """The last entry whose key is at most `key`; empty bytes when all are larger."""
        memory = self.memory
        size = self.entry_size
        if memory is not None:
            count = len(memory) // size
            if count == 0:
                return b""
            # Most readers of the active segment read its end.
            last = bytes(memory[(count - 1) * size :])
            if self.key_at(last, 0) <= key:
                return last
            slot = self._find_in_memory(memory, key, count)
            if slot >= 0:
                return bytes(memory[slot * size : (slot + 1) * size])
            if self.file_bytes == 0:
                return b""
        block = self.block
        if not self._covers(block, key):
            block = self._load_block(key, blocking)
        slot = self._find_in_block(block, key)
        return b"" if slot < 0 else block[slot * size : (slot + 1) * size]

    def _covers(self, block: bytes, key: i64) -> bool:
        if not block or self.key_at(block, 0) > key:
            return False
        return self.block_is_last or self.key_at(block, len(block) - self.entry_size) > key

    def _find_in_memory(self, memory: bytearray, key: i64, count: i64) -> i64:
        low: i64 = 0
        high = count
        while low < high:
            middle = (low + high) // 2
            entry = bytes(memory[middle * self.entry_size : (middle + 1) * self.entry_size])
            if self.key_at(entry, 0) <= key:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def _find_in_block(self, block: bytes, key: i64) -> i64:
        low: i64 = 0
        high: i64 = len(block) // self.entry_size
        while low < high:
            middle = (low + high) // 2
            if self.key_at(block, middle * self.entry_size) <= key:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def _load_block(self, key: i64, blocking: bool) -> bytes:
        """Read the block of entries around the key, with the entry after it if there is one."""
        drops = self.drops
        low: i64 = 0
        in_memory = self.memory is not None
        count: i64 = self.file_bytes // self.entry_size if in_memory else self.count()
        high = count
        while high - low > _BLOCK_ENTRIES:
            middle = (low + high) // 2
            if self.key_at(self._read(middle * self.entry_size, self.entry_size, blocking), 0) <= key:
                low = middle
            else:
                high = middle
        end = min(count, low + _BLOCK_ENTRIES + 1)
        if end <= low:
            return b""
        block = self._read(low * self.entry_size, (end - low) * self.entry_size, blocking)
        if self.drops != drops:
            return block
        self.block = block
        # While the file grows, another block may become the last one.
        self.block_is_last = end == count and not in_memory
        return block

    def keep(self, count: i64) -> None:
        """Drop all entries after the first `count`. All must be in memory."""
        memory = self.memory
        assert memory is not None
        self._drop_block()
        del memory[count * self.entry_size :]
        self.saved_bytes = min(self.saved_bytes, count * self.entry_size)

    def _drop_block(self) -> None:
        self.drops += 1
        self.block = b""


class OffsetIndex(SparseIndex):
    def __init__(self, disk: Disk, path: str, base_offset: i64) -> None:
        super().__init__(disk, path, base_offset, 8)

    def key_at(self, data: bytes, position: i64) -> i64:
        return self.base_offset + i64(read_i32_be(data, position))

    def append(self, offset: i64, position: i64) -> None:
        memory = self.memory
        assert memory is not None
        memory += struct.pack(">ii", offset - self.base_offset, position)

    def lookup(self, offset: i64, blocking: bool) -> i64:
        """Where to begin looking for the offset: at or before its batch."""
        entry = self.find(offset, blocking)
        return i64(read_i32_be(entry, 4)) if entry else 0

    def offset_at(self, position: i64, blocking: bool) -> i64:
        """An offset that is in the batch at the position, or after it; -1 if no entry says."""
        low: i64 = 0
        high = self.count()
        while low < high:
            middle = (low + high) // 2
            if i64(read_i32_be(self.entry(middle, blocking), 4)) < position:
                low = middle + 1
            else:
                high = middle
        if low == self.count():
            return -1
        return self.key_at(self.entry(low, blocking), 0)

    def truncate_to(self, offset: i64) -> None:
        """Drop the entries of that offset and later ones. May wait."""
        self.load_whole()
        memory = self.memory
        assert memory is not None
        self.keep(self._find_in_memory(memory, offset - 1, self.count()) + 1)


class TimeIndex(SparseIndex):
    def __init__(self, disk: Disk, path: str, base_offset: i64) -> None:
        super().__init__(disk, path, base_offset, 12)

    def key_at(self, data: bytes, position: i64) -> i64:
        return read_i64_be(data, position)

    def append(self, timestamp: i64, offset: i64) -> None:
        """Add an entry if the timestamp is larger than the last one."""
        memory = self.memory
        assert memory is not None
        last = read_i64_be(bytes(memory[-12:]), 0) if memory else -1
        if timestamp > last:
            memory += struct.pack(">qi", timestamp, offset - self.base_offset)

    def lookup(self, timestamp: i64, blocking: bool) -> i64:
        """An offset up to which no record is younger than the timestamp."""
        entry = self.find(timestamp, blocking)
        return self.base_offset + i64(read_i32_be(entry, 8)) if entry else self.base_offset

    def last(self, blocking: bool) -> tuple[i64, i64]:
        """The last entry's timestamp and offset; (-1, base offset) when there is none."""
        count = self.count()
        if count == 0:
            return -1, self.base_offset
        entry = self.entry(count - 1, blocking)
        return read_i64_be(entry, 0), self.base_offset + i64(read_i32_be(entry, 8))

    def truncate_to(self, offset: i64) -> None:
        """Drop the entries of that offset and later ones. May wait."""
        self.load_whole()
        count = self.count()
        while count and self.base_offset + i64(read_i32_be(self.entry(count - 1, True), 8)) >= offset:
            count -= 1
        self.keep(count)


class AbortedTransaction:
    """An aborted transaction, and the last stable offset at the time its marker was written."""

    def __init__(
        self, producer_id: i64, first_offset: i64, last_offset: i64, last_stable_offset: i64
    ) -> None:
        self.producer_id: i64 = producer_id
        self.first_offset: i64 = first_offset
        self.last_offset: i64 = last_offset
        self.last_stable_offset: i64 = last_stable_offset


_TRANSACTION: Final = struct.Struct(">hqqqq")


class TransactionIndex:
    """The aborted transactions whose markers are in the segment. The file exists only if there is one.

    New entries are in memory and go to the file on flush, roll and close, as those of the other indexes do.
    So a marker that is in the log always has its entry, also while the disk takes no writes.
    """

    def __init__(self, disk: Disk, path: str, exists: bool) -> None:
        self.disk = disk
        self.path = path
        self.exists = exists
        self.file: File | None = None
        # All entries; None until somebody asks for the entries in the file.
        self.known: list[AbortedTransaction] | None = None if exists else []
        # How many of them the file has.
        self.saved: i64 = 0
        # Whether the file was changed since it was synced.
        self.unsynced = False

    def rename(self, path: str) -> None:
        if self.exists:
            self._open().rename(path)
        self.path = path

    def _open(self) -> File:
        file = self.file
        if file is None:
            # One object for all threads: a rename must reach whoever reads.
            with _opening:
                file = self.file
                if file is None:
                    file = self.disk.open(self.path, create=not self.exists)
                    self.file = file
        return file

    def load(self) -> None:
        """Take the file's entries into memory, unless they are there. May wait."""
        if self.known is None:
            file = self._open()
            size = file.size() // _TRANSACTION.size * _TRANSACTION.size
            entries = [
                AbortedTransaction(producer_id, first_offset, last_offset, last_stable_offset)
                for _, producer_id, first_offset, last_offset, last_stable_offset in _TRANSACTION.iter_unpack(
                    file.read(0, size)
                )
            ]
            self.saved = len(entries)
            self.known = entries

    def append(self, transaction: AbortedTransaction) -> None:
        """Add an entry to a segment that is being written. Never fails, once the entries are loaded."""
        self.load()
        known = self.known
        assert known is not None
        known.append(transaction)

    def entries(self, blocking: bool) -> list[AbortedTransaction]:
        """All entries. Without `blocking` it raises `WouldBlock` if they are only in the file."""
        if self.known is None and not blocking:
            raise WouldBlock
        self.load()
        known = self.known
        assert known is not None
        return known

    def overlapping(
        self, start_offset: i64, end_offset: i64, blocking: bool
    ) -> tuple[list[AbortedTransaction], bool]:
        """The transactions that end at or after the start and begin before the end.

        Also returns whether these are all: the next segments have none. Entries are in the order of their
        markers, so a search finds the first one.
        """
        known = self.entries(blocking)
        low: i64 = 0
        high: i64 = len(known)
        while low < high:
            middle = (low + high) // 2
            if known[middle].last_offset < start_offset:
                low = middle + 1
            else:
                high = middle
        found: list[AbortedTransaction] = []
        while low < len(known):
            entry = known[low]
            if entry.first_offset < end_offset:
                found.append(entry)
            if entry.last_stable_offset >= end_offset:
                return found, True
            low += 1
        return found, False

    def start_empty(self) -> None:
        """Begin in memory with nothing, whatever the file holds."""
        self.known = []
        self.saved = 0

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions whose markers are at that offset or later. May wait."""
        kept = [entry for entry in self.entries(True) if entry.last_offset < offset]
        self.saved = min(self.saved, len(kept))
        self.known = kept

    def save(self, sync: bool) -> None:
        """Bring the file up to date with the entries in memory. One thread at a time."""
        known = self.known
        if known is not None and (known or self.exists):
            self._save(known)
        if sync and self.unsynced:
            self.unsynced = False
            self._open().sync()

    def _save(self, known: list[AbortedTransaction]) -> None:
        file = self._open()
        if not self.exists:
            self.exists = True
            self.unsynced = True
        size = self.saved * _TRANSACTION.size
        if file.size() != size:
            self.unsynced = True
            file.truncate(size)
        new = known[self.saved :]
        if new:
            self.unsynced = True
            file.append([_packed(entry) for entry in new])
            self.saved += len(new)


def _packed(entry: AbortedTransaction) -> bytes:
    return _TRANSACTION.pack(
        0, entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset
    )
