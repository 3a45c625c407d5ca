"""Index files and producer snapshots, as kafka-dump-log shows them, and the errors in them.

An offset index is compared with its segment: each entry must point to a batch whose last offset is the
entry's. A time index is compared with the segment too: the batch whose last offset is the entry's must have
the entry's timestamp as its largest.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

from gralha.cli.log_files import (
    CorruptFileError,
    OffsetEntry,
    SegmentFile,
    TimeEntry,
    base_offset,
    check_offset_index,
    check_time_index,
    read_offset_index,
    read_producer_snapshot,
    read_time_index,
    read_transaction_index,
)
from gralha.cli.program import CommandError
from gralha.protocol.records import decode_records

_NONE = -1


class Mismatches:
    """The errors in index files, by file. They are printed after all files."""

    def __init__(self) -> None:
        self._offsets: dict[Path, list[tuple[int, int]]] = {}
        self._timestamps: dict[Path, list[tuple[int, int]]] = {}
        self._disorder: dict[Path, list[tuple[int, int]]] = {}
        self._missing: dict[Path, list[tuple[int, int]]] = {}
        self._gaps: dict[Path, list[tuple[int, int]]] = {}

    def offset(self, path: Path, in_index: int, in_log: int) -> None:
        self._offsets.setdefault(path.absolute(), []).append((in_index, in_log))

    def timestamp(self, path: Path, in_index: int, in_log: int) -> None:
        self._timestamps.setdefault(path.absolute(), []).append((in_index, in_log))

    def out_of_order(self, path: Path, timestamp: int, previous: int) -> None:
        self._disorder.setdefault(path.absolute(), []).append((timestamp, previous))

    def missing(self, path: Path, offset: int, found: int) -> None:
        self._missing.setdefault(path.absolute(), []).append((offset, found))

    def not_consecutive(self, path: Path, first: int, second: int) -> None:
        self._gaps.setdefault(path.absolute(), []).append((first, second))

    def print(self) -> None:
        _show(self._offsets, "Mismatches in :{}", "  Index offset: {}, log offset: {}")
        _show(self._timestamps, "Found timestamp mismatch in :{}", "  Index timestamp: {}, log timestamp: {}")
        _show(
            self._disorder,
            "Found out of order timestamp in :{}",
            "  Index timestamp: {}, Previously indexed timestamp: {}",
        )
        _show(
            self._missing,
            "The following indexed offsets are not found in :{}",
            "Indexed offset: {}, found log offset: {}",
        )
        _show(self._gaps, "Non-consecutive offsets in {}", "  {} is followed by {}")


def _show(found: dict[Path, list[tuple[int, int]]], title: str, line: str) -> None:
    for path, pairs in found.items():
        print(title.format(path), file=sys.stderr)
        for pair in pairs:
            print(line.format(*pair), file=sys.stderr)


def dump_index(name: str, sanity_only: bool, verify_only: bool, mismatches: Mismatches) -> None:
    path = Path(name)
    base = base_offset(path)
    entries = read_offset_index(path)
    with SegmentFile(path.with_suffix(".log")) as segment:
        if not entries:
            print(f"{name} is empty.")
            return
        if sanity_only:
            _check(check_offset_index, name)
            return
        for number, entry in enumerate(entries):
            if number and entry.offset == base:
                return  # zeros after the last entry
            first = next(segment.headers(entry.position, segment.size), None)
            found = _NONE if first is None else first[1].last_offset
            if found != entry.offset:
                mismatches.offset(path, entry.offset, found)
            if not verify_only:
                print(f"offset: {entry.offset} position: {entry.position}")


def dump_time_index(name: str, sanity_only: bool, verify_only: bool, mismatches: Mismatches) -> None:
    path = Path(name)
    base = base_offset(path)
    with SegmentFile(path.with_suffix(".log")) as segment:
        positions = read_offset_index(path.with_suffix(".index"))
        if sanity_only:
            _check(check_time_index, name)
            return
        previous = _NONE
        for number, entry in enumerate(read_time_index(path)):
            if number and entry.offset == base:
                return  # zeros after the last entry
            _compare(path, segment, _position(positions, entry.offset), entry, previous, mismatches)
            if not verify_only:
                print(f"timestamp: {entry.timestamp} offset: {entry.offset}")
            previous = entry.timestamp


def _position(positions: list[OffsetEntry], offset: int) -> int:
    """The position in the segment from which to search for an offset."""
    index = bisect_right(positions, offset, key=lambda entry: entry.offset)
    return positions[index - 1].position if index else 0


def _compare(
    path: Path, segment: SegmentFile, position: int, entry: TimeEntry, previous: int, mismatches: Mismatches
) -> None:
    for at, header in segment.headers(position, segment.size):
        if header.last_offset < entry.offset:
            continue
        if header.last_offset != entry.offset:
            mismatches.missing(path, entry.offset, header.last_offset)
            return
        (batch,) = segment.batches(at, at + header.size_bytes)
        records = decode_records(batch.data, 0, header)
        highest = max((record.timestamp for record in records), default=_NONE)
        if highest != entry.timestamp:
            mismatches.timestamp(path, entry.timestamp, highest)
        if previous >= entry.timestamp:
            mismatches.out_of_order(path, entry.timestamp, previous)
        return
    mismatches.missing(path, entry.offset, _NONE)


def _check(check: Callable[[Path], None], name: str) -> None:
    try:
        check(Path(name))
    except CorruptFileError as error:
        raise CommandError(str(error)) from None
    print(f"{name} passed sanity check.")


def dump_transaction_index(path: Path) -> None:
    for entry in read_transaction_index(path):
        print(
            f"version: {entry.version} producerId: {entry.producer_id} firstOffset: {entry.first_offset} "
            f"lastOffset: {entry.last_offset} lastStableOffset: {entry.last_stable_offset}"
        )


def dump_snapshot(path: Path) -> None:
    try:
        entries = read_producer_snapshot(path)
    except CorruptFileError as error:
        sys.stdout.flush()
        print(error, file=sys.stderr)
        return
    for entry in entries:
        first_offset = entry.transaction_first_offset
        transaction = f"OptionalLong[{first_offset}]" if first_offset >= 0 else "OptionalLong.empty"
        line = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch} "
            f"coordinatorEpoch: {entry.coordinator_epoch} currentTxnFirstOffset: {transaction} "
            f"lastTimestamp: {entry.timestamp}"
        )
        if entry.last_offset >= 0:
            line += (
                f" firstSequence: {entry.first_sequence} lastSequence: {entry.last_sequence} "
                f"lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta} "
                f"timestamp: {entry.timestamp}"
            )
        print(line)
