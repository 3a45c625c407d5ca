"""The files of a partition's folder, read without a broker: segments, indexes, producer snapshots.

This module only reads, so it is safe beside a running broker. The index files of a live segment may have
zeros after their entries.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

from fastcrc import crc32

from gralha.cli.program import CommandError
from gralha.protocol.errors import CorruptMessageError
from gralha.protocol.records import HEADER_SIZE, BatchHeader, read_header

_OFFSET_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")
_ABORTED_ENTRY: Final = struct.Struct(">hqqqq")
_SNAPSHOT_HEAD: Final = struct.Struct(">hIi")
_SNAPSHOT_ENTRY: Final = struct.Struct(">qhiqiqiq")
_SNAPSHOT_VERSION: Final = 1
_SNAPSHOT_CRC_FROM: Final = 6
_SEQUENCES: Final = 1 << 31


class Batch(NamedTuple):
    """A batch in a segment: its position, its header, its bytes."""

    position: int
    header: BatchHeader
    data: bytes


class SegmentFile:
    """Reads a segment, or a snapshot of the metadata log, batch by batch."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("rb")
        self.size = path.stat().st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def headers(self, start: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
        """The position and header of each complete batch from `start` to `end`."""
        position = start
        while end - position >= HEADER_SIZE:
            self._file.seek(position)
            try:
                header = read_header(self._file.read(HEADER_SIZE), 0)
            except CorruptMessageError as error:
                raise CommandError(
                    f"{self.path} is corrupt at position {position}: {error.message}"
                ) from None
            if header.size_bytes > end - position:
                return
            yield position, header
            position += header.size_bytes

    def batches(self, start: int, end: int) -> Iterator[Batch]:
        """The same batches with their bytes."""
        for position, header in self.headers(start, end):
            self._file.seek(position)
            yield Batch(position, header, self._file.read(header.size_bytes))


class OffsetEntry(NamedTuple):
    offset: int
    position: int


class TimeEntry(NamedTuple):
    timestamp: int
    offset: int


class AbortedTransaction(NamedTuple):
    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class ProducerEntry(NamedTuple):
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    transaction_first_offset: int

    @property
    def first_sequence(self) -> int:
        """The sequence number of the first record of the last batch. Sequence numbers wrap around."""
        return (self.last_sequence - self.offset_delta) % _SEQUENCES


class CorruptFileError(Exception):
    """A file of entries is corrupt."""


def base_offset(path: Path) -> int:
    """The offset in the name of a segment or an index."""
    text = path.name.partition(".")[0]
    if not text.isdecimal():
        raise CommandError(f"{path} is not named by an offset, such as 00000000000000000000.log")
    return int(text)


def read_offset_index(path: Path) -> list[OffsetEntry]:
    base = base_offset(path)
    return [OffsetEntry(base + delta, position) for delta, position in _entries(path, _OFFSET_ENTRY)]


def read_time_index(path: Path) -> list[TimeEntry]:
    base = base_offset(path)
    return [TimeEntry(timestamp, base + delta) for timestamp, delta in _entries(path, _TIME_ENTRY)]


def read_transaction_index(path: Path) -> list[AbortedTransaction]:
    return [AbortedTransaction(*fields) for fields in _entries(path, _ABORTED_ENTRY)]


def _entries(path: Path, layout: struct.Struct) -> Iterator[tuple[int, ...]]:
    """The complete entries of a file. A crash can leave a partial entry at the end, which is skipped."""
    data = path.read_bytes()
    return layout.iter_unpack(data[: len(data) - len(data) % layout.size])


def check_offset_index(path: Path) -> None:
    """The checks of a starting broker. CorruptFileError means that the broker would rebuild the index."""
    entries = read_offset_index(path)
    if entries and entries[-1].offset < base_offset(path):
        raise CorruptFileError(f"{path} ends at offset {entries[-1].offset}, below the offset of its name")
    _check_length(path, _OFFSET_ENTRY)


def check_time_index(path: Path) -> None:
    """The same for a time index."""
    entries = read_time_index(path)
    if entries and entries[-1].timestamp < entries[0].timestamp:
        raise CorruptFileError(
            f"{path} ends at timestamp {entries[-1].timestamp}, below its first, {entries[0].timestamp}"
        )
    if entries and entries[-1].offset < base_offset(path):
        raise CorruptFileError(f"{path} ends at offset {entries[-1].offset}, below the offset of its name")
    _check_length(path, _TIME_ENTRY)


def _check_length(path: Path, layout: struct.Struct) -> None:
    size = path.stat().st_size
    if size % layout.size:
        raise CorruptFileError(f"{path} has {size} bytes, which is not a multiple of {layout.size}")


def read_producer_snapshot(path: Path) -> list[ProducerEntry]:
    """The producers in a `.snapshot` file. Raises CorruptFileError if its format or its CRC is wrong."""
    data = path.read_bytes()
    if len(data) < _SNAPSHOT_HEAD.size:
        raise CorruptFileError(f"Snapshot {path} is truncated")
    version, crc, count = _SNAPSHOT_HEAD.unpack_from(data)
    if version != _SNAPSHOT_VERSION:
        raise CorruptFileError(f"Snapshot {path} has the unknown version {version}")
    if crc != crc32.iscsi(data[_SNAPSHOT_CRC_FROM:]):
        raise CorruptFileError(f"Snapshot {path} is corrupt: its CRC does not match")
    # After the entries our brokers store older batches. Kafka and this command ignore them.
    end = _SNAPSHOT_HEAD.size + count * _SNAPSHOT_ENTRY.size
    if count < 0 or end > len(data):
        raise CorruptFileError(f"Snapshot {path} does not have the {count} entries that it claims")
    return [ProducerEntry(*fields) for fields in _SNAPSHOT_ENTRY.iter_unpack(data[_SNAPSHOT_HEAD.size : end])]
