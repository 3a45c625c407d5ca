"""Reads: bounds by offset and by size, the high watermark, the last stable offset, times, cold caches."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gralha.protocol.errors import OffsetOutOfRangeError
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, batches, encode_batch
from gralha.storage.disk import DiskError, WouldBlock
from gralha.storage.log import Log
from tests.storage.disks import QuietDisk
from tests.storage.logs import (
    NOW,
    all_offsets,
    append,
    batch,
    crash,
    end_transaction,
    idempotent,
    make_log,
    offsets,
    reopen,
)

END = 10**9


def filled(tmp_path: Path, disk: QuietDisk | None = None) -> Log:
    """30 batches of 3 records in several segments: offsets 0-2, 3-5, ... 87-89."""
    log = make_log(disk or QuietDisk(), tmp_path, {"segment.bytes": "1000", "index.interval.bytes": "300"})
    for number in range(30):
        append(log, 3, timestamp=NOW + number)
    assert len(log.segments) > 4
    return log


def test_any_offset_leads_to_its_batch(tmp_path: Path) -> None:
    log = filled(tmp_path)
    for offset in range(90):
        found = offsets(log.read(offset, 1, END, True, False))
        assert found == [(offset // 3 * 3, offset // 3 * 3 + 2)]


def test_the_ends_of_the_log(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.high_watermark = 90
    assert log.read(90, 1000, END, True, False).size() == 0
    for outside in (91, -1):
        with pytest.raises(OffsetOutOfRangeError):
            log.read(outside, 1000, END, True, False)
    log.increment_log_start_offset(10)
    with pytest.raises(OffsetOutOfRangeError):
        log.read(9, 1000, END, True, False)
    assert offsets(log.read(10, 1, END, True, False)) == [(9, 11)]


def test_nothing_at_or_beyond_the_end_offset_is_read(tmp_path: Path) -> None:
    log = filled(tmp_path)
    for end_offset in range(95):
        for offset in (0, 1, 40, 85):
            found = offsets(log.read(offset, 10_000, end_offset, True, False))
            assert all(last < end_offset for _, last in found)
            whole_below = end_offset // 3 * 3  # a batch that straddles the bound is not visible
            assert bool(found) == (offset // 3 * 3 < min(whole_below, 90) and offset < end_offset)


def test_size_bounds(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    sizes = []
    for number in range(10):
        data = batch(1, size=100 * (number + 1))
        sizes.append(len(data))
        append(log, size=100 * (number + 1))
    for start in range(10):
        for max_bytes in range(0, sum(sizes[start:]) + 100, 37):
            found = offsets(log.read(start, max_bytes, END, False, False))
            fits = 0
            while fits < 10 - start and sum(sizes[start : start + fits + 1]) <= max_bytes:
                fits += 1
            assert found == [(start + number, start + number) for number in range(fits)]
            at_least_one = log.read(start, max_bytes, END, True, False)
            assert offsets(at_least_one) == found or [(start, start)]
            assert at_least_one.size() <= max(max_bytes, sizes[start])


def test_many_small_batches_may_end_in_a_cut_one(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    for _ in range(2000):
        append(log, size=1)
    size = len(batch(1, size=1))
    offset = 0
    while offset < 2000:
        found = log.read(offset, 100_000, END, True, False)
        assert found.size() <= 100_000
        whole = offsets(found)
        assert whole[0] == (offset, offset)
        assert len(whole) == min(100_000 // size, 2000 - offset)
        offset = whole[-1][1] + 1


def test_gaps_lead_to_the_next_batch_even_in_the_next_segment(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path, {"segment.bytes": "300"})
    for base_offset in (0, 10, 20, 50, 100):
        data = batch(2, base_offset=base_offset, leader_epoch=1)
        log.append_as_follower(RecordBytes(data, 0, len(data)))
    assert len(log.segments) >= 3
    bounds = [(0, 1), (10, 11), (20, 21), (50, 51), (100, 101)]
    for offset in range(102):
        expected = next(bound for bound in bounds if bound[1] >= offset)
        assert offsets(log.read(offset, 1, END, True, False)) == [expected]
    assert log.read(60, 1000, 70, True, False).size() == 0
    assert log.log_end_offset == 102


def test_who_reads_on_needs_one_read(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = make_log(disk, tmp_path)
    for _ in range(100):
        append(log, size=1000)
    log.read(0, 10_000, END, True, False)
    disk.events.clear()
    found = offsets(log.read(9, 10_000, END, True, False))
    assert found[0] == (9, 9)
    assert len(disk.reads()) == 1
    disk.events.clear()
    log.read(9, 10_000, 50, True, False)
    log.read(9, 10_000, 50, True, False)
    assert len(disk.reads()) <= 3  # where offset 50 begins is looked up once


def test_a_cold_cache_is_told(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = reopen(disk, filled(tmp_path, disk))
    disk.cold = True
    for offset in (0, 45, 89):
        with pytest.raises(WouldBlock):
            log.read(offset, 1000, END, True, False)
        assert offsets(log.read(offset, 1, END, True, True))[0][0] == offset // 3 * 3


@pytest.mark.parametrize("length", [-12, -100, 0])
def test_a_batch_of_no_size_is_an_error_and_no_endless_walk(tmp_path: Path, length: int) -> None:
    log = make_log(QuietDisk(), tmp_path)
    for _ in range(3):
        append(log)
    size = log.active.size_bytes // 3
    log.active.file.write_at(size + 8, length.to_bytes(4, "big", signed=True))
    with pytest.raises(DiskError, match=f"no batch begins at {size}"):
        log.read(2, 1000, 3, True, True)
    with pytest.raises(DiskError, match=f"no batch begins at {size}"):
        log.read(0, 1000, 3, True, True)


def test_the_high_watermark_stays_within_the_log(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert log.high_watermark == 0
    log.high_watermark = 45
    log.high_watermark = 1000
    assert log.high_watermark == 90
    log.truncate_to(60)
    assert log.high_watermark == 60
    log.increment_log_start_offset(30)
    log.high_watermark = 3
    assert log.high_watermark == 30


class TestTransactions:
    @pytest.fixture
    def log(self, tmp_path: Path) -> Log:
        return make_log(QuietDisk(), tmp_path, {"segment.bytes": "400"})

    def test_the_last_stable_offset_is_exclusive(self, log: Log) -> None:
        append(log)  # 0
        idempotent(log, 0, producer_id=1, transactional=True)  # 1
        append(log)  # 2
        assert log.last_stable_offset() == 0  # the high watermark bounds it too
        log.high_watermark = 1
        assert log.last_stable_offset() == 1
        log.high_watermark = 3
        assert (log.first_unstable_offset(), log.last_stable_offset()) == (1, 1)
        assert offsets(log.read(0, 10_000, log.last_stable_offset(), True, False)) == [(0, 0)]
        assert log.read(1, 10_000, log.last_stable_offset(), True, False).size() == 0

    def test_a_marker_counts_when_it_is_replicated(self, log: Log) -> None:
        idempotent(log, 0, producer_id=1, transactional=True)  # 0
        append(log)  # 1
        end_transaction(log, 1, commit=True)  # 2
        for high_watermark, expected in ((1, 0), (2, 0), (3, 3)):
            log.high_watermark = high_watermark
            assert log.last_stable_offset() == expected

    def test_the_oldest_open_transaction_decides(self, log: Log) -> None:
        for producer_id in (1, 2, 3):
            idempotent(log, 0, producer_id=producer_id, transactional=True)  # 0, 1, 2
        end_transaction(log, 2, commit=False)  # 3
        log.high_watermark = 4
        assert log.last_stable_offset() == 0
        end_transaction(log, 1, commit=True)  # 4
        log.high_watermark = 5
        assert log.last_stable_offset() == 2
        end_transaction(log, 3, commit=True)  # 5
        log.high_watermark = 6
        assert log.last_stable_offset() == 6
        assert log.aborted_transactions(0, 6, True) == [(2, 1)]

    def test_aborted_transactions_by_range(self, log: Log) -> None:
        for number in range(4):  # data at 0, 2, 4, 6, markers at 1, 3, 5, 7
            idempotent(log, number, producer_id=1, transactional=True)
            end_transaction(log, 1, commit=number % 2 == 1)
        assert len(log.segments) > 1
        assert log.aborted_transactions(0, 8, True) == [(1, 0), (1, 4)]
        assert log.aborted_transactions(0, 1, True) == [(1, 0)]
        assert log.aborted_transactions(1, 4, True) == [(1, 0)]
        assert log.aborted_transactions(2, 4, True) == []
        assert log.aborted_transactions(5, 8, True) == [(1, 4)]
        assert log.aborted_transactions(6, 8, True) == []

    @pytest.mark.parametrize("max_bytes", [1, 200, 400, 5000])
    def test_a_read_has_the_aborted_transactions_of_its_own_range(self, log: Log, max_bytes: int) -> None:
        sequences = dict.fromkeys((1, 2, 3), 0)
        aborted = []  # producer, first offset, offset of the marker
        random = Random(7)
        begun: dict[int, int] = {}
        for _ in range(300):
            producer_id = random.choice((1, 2, 3))
            if producer_id in begun and random.random() < 0.4:
                commit = random.random() < 0.5
                offset = int(end_transaction(log, producer_id, commit=commit).first_offset)
                first = begun.pop(producer_id)
                aborted += [] if commit else [(producer_id, first, offset)]
            else:
                sequence = sequences[producer_id]
                sequences[producer_id] += 1
                offset = int(
                    idempotent(log, sequence, producer_id=producer_id, transactional=True).first_offset
                )
                begun.setdefault(producer_id, offset)
        log.high_watermark = log.log_end_offset
        end_offset = int(log.last_stable_offset())
        assert len(log.segments) > 3
        assert len(aborted) > 30
        longest = 0
        for start in range(end_offset):
            records = log.read(start, max_bytes, end_offset, True, True)
            read = batches(records.data, records.start, records.end)
            last = int(read[-1][1].last_offset) if read else start
            found = log.aborted_transactions(start, end_offset, True, records.size())
            longest = max(longest, len(found))
            needed = {(one, first) for one, first, end in aborted if end >= start and first <= last}
            possible = {(one, first) for one, first, end in aborted if end >= start and first < end_offset}
            assert needed <= set(found) <= possible
            assert len(found) == len(set(found))
        # A short range does not bring all aborted transactions up to the end of the log.
        assert longest < len(aborted) / 2

    def test_an_empty_transaction_leaves_no_trace(self, log: Log) -> None:
        end_transaction(log, 9, commit=False)
        log.high_watermark = 1
        assert log.last_stable_offset() == 1
        assert log.aborted_transactions(0, 1, True) == []

    def test_open_transactions_survive_restarts(self, log: Log) -> None:
        append(log)
        idempotent(log, 0, producer_id=1, transactional=True)
        idempotent(log, 0, producer_id=2, transactional=True)
        end_transaction(log, 2, commit=False)
        for restart in (reopen, crash):
            log = restart(log.disk, log)
            log.high_watermark = 4
            assert log.last_stable_offset() == 1
            assert log.aborted_transactions(0, 4, True) == [(2, 2)]
        end_transaction(log, 1, commit=False)
        log = crash(log.disk, log)
        log.high_watermark = 5
        assert log.last_stable_offset() == 5
        assert log.aborted_transactions(0, 5, True) == [(2, 2), (1, 1)]

    def test_truncation_reopens_a_transaction(self, log: Log) -> None:
        idempotent(log, 0, producer_id=1, transactional=True)
        marker = end_transaction(log, 1, commit=False).first_offset
        log.truncate_to(int(marker))
        log.high_watermark = 1
        assert log.last_stable_offset() == 0
        assert log.aborted_transactions(0, 1, True) == []


TIMES = st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=3), min_size=1, max_size=25)


@settings(max_examples=60, deadline=None)
@given(TIMES, st.integers(-1, 45), st.integers(0, 20), st.booleans())
def test_offsets_by_time(
    tmp_path_factory: pytest.TempPathFactory,
    times: list[list[int]],
    wanted: int,
    log_start: int,
    restart: bool,
) -> None:
    """The first record that is not older, whatever order the timestamps have."""
    disk = QuietDisk()
    config = {"segment.bytes": "400", "index.interval.bytes": "150"}
    log = make_log(disk, tmp_path_factory.mktemp("log"), config)
    model: list[int] = []
    for some in times:
        data = encode_batch([Record(None, b"v", timestamp) for timestamp in some])
        log.append_as_leader(RecordBytes(data, 0, len(data)), 0, NOW)
        model += some
    log.high_watermark = log.log_end_offset
    log.increment_log_start_offset(min(log_start, len(model)))
    log.apply_retention(0)
    if restart:
        log = reopen(disk, log)
    start = int(log.log_start_offset)
    expected = next(((time, start + n, 0) for n, time in enumerate(model[start:]) if time >= wanted), None)
    assert log.offset_for_timestamp(wanted) == expected
    first_kept = int(log.segments[0].base_offset)
    newest = max(model[first_kept:], default=None)
    if newest is not None:
        assert log.offset_of_max_timestamp() == (newest, first_kept + model[first_kept:].index(newest), 0)


def test_nothing_is_found_in_an_empty_log(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    assert log.offset_for_timestamp(0) is None
    assert log.offset_of_max_timestamp() is None
    assert log.read(0, 1000, END, True, False).size() == 0
    assert all_offsets(log) == []
    append(log, timestamp=-1)
    assert log.offset_of_max_timestamp() is None


def test_a_reader_does_not_remember_what_is_truncated_while_it_reads(tmp_path: Path) -> None:
    """A thread has read a batch, and remembers where the next one begins only after a truncation."""
    disk = QuietDisk()
    log = make_log(disk, tmp_path)
    for _ in range(6):
        append(log, size=100)

    def truncate_once(path: str) -> None:
        if path.endswith(".log"):
            disk.after_read = None
            log.truncate_to(2)
            for _ in range(4):
                append(log, size=33)

    disk.after_read = truncate_once
    log.read(3, 10_000, 5, True, True)
    for offset in reversed(range(6)):
        found = log.read(offset, 1, 6, True, True)
        assert batches(found.data, found.start, found.end)[0][1].base_offset == offset
