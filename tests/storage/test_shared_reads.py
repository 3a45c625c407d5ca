"""Reads that several readers share: the same bytes as each of them would have read alone, or fewer."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gralha.protocol.primitives import RecordBytes
from gralha.storage import shared_reads
from gralha.storage.log import Log
from tests.storage.disks import QuietDisk
from tests.storage.logs import append, make_log, offsets

END = 10**9


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    shared_reads._kept.clear()
    yield
    shared_reads._kept.clear()


def read(log: Log, offset: int, max_bytes: int = 1_000_000, end_offset: int = END) -> RecordBytes:
    return log.read(offset, max_bytes, end_offset, True, False)


def data_of(records: RecordBytes) -> bytes:
    return records.data[records.start : records.end]


def test_the_third_reader_at_a_place_gets_the_bytes_of_the_second(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    for _ in range(5):
        append(log, 2)
    first, second, third = (read(log, 0) for _ in range(3))
    assert first.data is not second.data
    assert third.data is second.data
    assert offsets(third) == offsets(first)


def test_a_single_reader_keeps_nothing(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    for _ in range(5):
        append(log, 2)
    for offset in range(0, 10, 2):
        read(log, offset, 100)
    assert shared_reads.find(log.active.remembered, 0, 1) is None


def test_a_reader_within_the_bytes_gets_what_is_left_of_them(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    for _ in range(4):
        append(log, 2, size=20_000)
    read(log, 0)
    kept = read(log, 0)
    append(log, 2, size=20_000)
    part = read(log, 2)
    assert part.data is kept.data
    assert offsets(part) == [(2, 3), (4, 5), (6, 7)]
    assert offsets(read(log, 8)) == [(8, 9)]


def test_too_small_a_part_is_not_enough(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    append(log, 2)
    read(log, 0)
    read(log, 0)
    for _ in range(9):
        append(log, 2, size=2_000)
    assert len(offsets(read(log, 0))) == 10


def test_a_reader_sees_nothing_beyond_its_bound(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    for _ in range(4):
        append(log, 2)
    read(log, 0)
    read(log, 0)
    assert offsets(read(log, 0, end_offset=4)) == [(0, 1), (2, 3)]


def test_after_a_truncation_the_new_batches_are_read(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    for _ in range(4):
        append(log, 2)
    read(log, 0)
    before = data_of(read(log, 0))
    log.truncate_to(2)
    for _ in range(3):
        append(log, 2, epoch=1, size=21)
    after = data_of(read(log, 0))
    assert after != before
    assert after == data_of(log.read(0, 10_000, END, True, True))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(1, 4), st.integers(1, 30_000)),
            st.tuples(st.just("read"), st.integers(0, 60), st.integers(60, 400_000)),
            st.tuples(st.just("truncate"), st.integers(0, 60), st.just(0)),
        ),
        min_size=5,
        max_size=60,
    )
)
def test_shared_bytes_are_those_of_the_file(steps: list[tuple[str, int, int]]) -> None:
    shared_reads._kept.clear()
    with tempfile.TemporaryDirectory() as folder:
        log = make_log(QuietDisk(), Path(folder), {"segment.bytes": "500000"})
        epoch = 0
        for step, number, size in steps:
            if step == "append":
                append(log, number, epoch=epoch, size=size)
            elif step == "truncate":
                epoch += 1
                log.truncate_to(min(number, log.log_end_offset))
            elif number <= log.log_end_offset:
                for _ in range(3):
                    found = data_of(read(log, number, size))
                    alone = data_of(log.read(number, size, END, True, True))
                    assert alone.startswith(found)
                    assert bool(found) == bool(alone)
        log.close()
