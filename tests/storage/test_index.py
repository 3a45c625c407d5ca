"""The sparse indexes against sorted lists, in memory and in their files."""

from __future__ import annotations

import struct
import tempfile
from bisect import bisect_right
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gralha.storage.disk import WouldBlock
from gralha.storage.index import AbortedTransaction, OffsetIndex, TimeIndex, TransactionIndex
from tests.storage.disks import QuietDisk

BASE = 5_000_000_000
STEPS = st.lists(st.integers(1, 50), max_size=40)


def rising(steps: list[int], repeat: int) -> list[int]:
    """Rising numbers; `repeat` makes more of them than one block of a file holds."""
    numbers: list[int] = []
    last = 0
    for step in steps * repeat:
        last += step
        numbers.append(last)
    return numbers


def offset_index(folder: str, offsets: list[int]) -> OffsetIndex:
    disk = QuietDisk()
    disk.write_file(f"{folder}/i.index", b"")
    index = OffsetIndex(disk, f"{folder}/i.index", BASE)
    index.start_empty()
    for number, offset in enumerate(offsets):
        index.append(BASE + offset, number * 100)
    return index


def test_entries_that_were_dropped_are_not_found_again(tmp_path: Path) -> None:
    """A reader has left a block of the file in memory. Then the segment is truncated and grows again."""
    index = offset_index(str(tmp_path), list(range(400)))
    index.save(sync=True)
    index.release_memory()
    index.load()
    assert index.lookup(BASE + 50, True) == 5000
    index.truncate_to(BASE + 20)
    for offset in range(20, 400):
        index.append(BASE + offset, offset * 33)
    index.save(sync=True)
    index.release_memory()
    assert [index.lookup(BASE + offset, True) for offset in (19, 50, 399)] == [1900, 1650, 13167]


def test_a_block_that_was_read_during_a_truncation_is_not_kept(tmp_path: Path) -> None:
    index = offset_index(str(tmp_path), list(range(400)))
    index.save(sync=True)
    index.release_memory()
    disk = index.disk
    assert isinstance(disk, QuietDisk)

    def truncate(path: str) -> None:
        disk.after_read = None
        index.truncate_to(BASE + 20)

    disk.after_read = truncate
    index.lookup(BASE + 50, True)
    for offset in range(20, 400):
        index.append(BASE + offset, offset * 33)
    index.save(sync=True)
    index.release_memory()
    assert index.lookup(BASE + 50, True) == 1650


@settings(max_examples=60, deadline=None)
@given(
    STEPS,
    st.sampled_from([1, 7, 40]),
    st.sampled_from(["memory", "file", "both", "whole"]),
    st.lists(st.integers(-5, 3000), min_size=1, max_size=20),
)
def test_offset_lookups(steps: list[int], repeat: int, where: str, targets: list[int]) -> None:
    offsets = rising(steps, repeat)
    with tempfile.TemporaryDirectory() as folder:
        index = offset_index(folder, offsets)
        if where != "memory":
            index.save(sync=True)
            index.release_memory()
        if where in ("both", "whole"):
            index.load()
            offsets.append(offsets[-1] + 3 if offsets else 3)
            index.append(BASE + offsets[-1], (len(offsets) - 1) * 100)
        if where == "whole":
            index.load_whole()
        assert index.count() == len(offsets)
        for slot, offset in list(enumerate(offsets))[::50]:
            assert index.key_at(index.entry(slot, True), 0) == BASE + offset
        for target in targets:
            slot = bisect_right(offsets, target) - 1
            assert index.lookup(BASE + target, False) == max(slot, 0) * 100


@settings(max_examples=60, deadline=None)
@given(STEPS, st.sampled_from([1, 40]), st.integers(0, 2000), st.sampled_from(["memory", "saved", "loaded"]))
def test_offset_truncation(steps: list[int], repeat: int, offset: int, where: str) -> None:
    offsets = rising(steps, repeat)
    with tempfile.TemporaryDirectory() as folder:
        index = offset_index(folder, offsets)
        if where != "memory":
            index.save(sync=False)
        if where == "loaded":
            index.release_memory()
            index.load()
        index.truncate_to(BASE + offset)
        kept = [entry for entry in offsets if entry < offset]
        index.append(BASE + 50_000, 7)
        index.save(sync=False)
        entries = struct.iter_unpack(">ii", Path(f"{folder}/i.index").read_bytes())
        assert [entry[0] for entry in entries] == [*kept, 50_000]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-1, 30), st.integers(1, 9)), max_size=30),
    st.integers(-2, 35),
    st.integers(0, 300),
)
def test_time_lookups(appends: list[tuple[int, int]], timestamp: int, offset: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        disk = QuietDisk()
        disk.write_file(f"{folder}/i.timeindex", b"")
        index = TimeIndex(disk, f"{folder}/i.timeindex", BASE)
        index.start_empty()
        model: list[tuple[int, int]] = []
        last_offset = 0
        for entry_timestamp, step in appends:
            last_offset += step
            index.append(entry_timestamp, BASE + last_offset)
            if entry_timestamp > (model[-1][0] if model else -1):
                model.append((entry_timestamp, last_offset))
        assert index.last(True) == ((model[-1][0], BASE + model[-1][1]) if model else (-1, BASE))
        below = [entry for entry in model if entry[0] <= timestamp]
        assert index.lookup(timestamp, True) == BASE + (below[-1][1] if below else 0)
        index.truncate_to(BASE + offset)
        index.save(sync=False)
        stored = list(struct.iter_unpack(">qi", Path(f"{folder}/i.timeindex").read_bytes()))
        assert stored == [entry for entry in model if entry[1] < offset]


def test_a_file_is_searched_and_not_read_whole(tmp_path: Path) -> None:
    index = offset_index(str(tmp_path), list(range(1, 200_001)))
    index.save(sync=False)
    index.release_memory()
    disk = index.disk
    assert isinstance(disk, QuietDisk)
    disk.events.clear()
    assert index.lookup(BASE + 123_456, False) == 123_455 * 100
    assert len(disk.reads()) <= 12
    assert sum(length for _, length in disk.reads()) < 10_000
    disk.events.clear()
    assert index.lookup(BASE + 123_460, False) == 123_459 * 100  # the same block
    assert index.lookup(BASE + 123_456, False) == 123_455 * 100
    assert disk.reads() == []
    disk.cold = True
    with pytest.raises(WouldBlock):
        index.lookup(BASE + 3, False)
    assert index.lookup(BASE + 3, True) == 200


def test_aborted_transactions_have_kafkas_format(tmp_path: Path) -> None:
    disk = QuietDisk()
    index = TransactionIndex(disk, f"{tmp_path}/i.txnindex", exists=False)
    assert index.entries(False) == []
    index.save(sync=True)
    assert not (tmp_path / "i.txnindex").exists()
    index.append(AbortedTransaction(7, 10, 20, 11))
    index.save(sync=False)
    index.append(AbortedTransaction(8, 15, 30, 31))
    assert index.saved == 1
    index.save(sync=True)
    expected = "0000 0000000000000007 000000000000000a 0000000000000014 000000000000000b".replace(" ", "")
    assert (tmp_path / "i.txnindex").read_bytes()[:34].hex() == expected
    loaded = TransactionIndex(disk, f"{tmp_path}/i.txnindex", exists=True)
    assert [(entry.producer_id, entry.last_stable_offset) for entry in loaded.entries(True)] == [
        (7, 11),
        (8, 31),
    ]
    loaded.truncate_to(30)
    assert [entry.producer_id for entry in loaded.entries(False)] == [7]
    loaded.save(sync=True)
    assert (tmp_path / "i.txnindex").stat().st_size == 34
