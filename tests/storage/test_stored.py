"""Reads whose result is a range of a file: the same batches as a copy has, or fewer."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gralha.protocol.primitives import RecordBytes, Stored, Writer
from gralha.storage.disk import DiskError, File, WouldBlock
from gralha.storage.log import Log
from gralha.storage.real_disk import RealDisk
from gralha.storage.system_calls import is_cached
from tests.storage.disks import QuietDisk
from tests.storage.logs import append, log_file, make_log, offsets

END = 10**9
MB = 1 << 20


def to_send(
    log: Log, offset: int, max_bytes: int = MB, end_offset: int = END, min_one: bool = True
) -> RecordBytes:
    return log.read(offset, max_bytes, end_offset, min_one, False, True)


def copied(records: RecordBytes) -> RecordBytes:
    data = records.to_bytes()
    return RecordBytes(data, 0, len(data))


def filled(tmp_path: Path, batches: int, size: int, disk: QuietDisk | None = None) -> Log:
    log = make_log(disk or QuietDisk(), tmp_path)
    for _ in range(batches):
        append(log, 1, size=size)
    return log


@pytest.fixture
def file(tmp_path: Path) -> File:
    file = RealDisk().open(str(tmp_path / "f"), create=True)
    file.append([bytes(range(256)) * 1024])
    return file


def range_of(file: File, position: int, length: int) -> Stored:
    stored = file.stored(position, length)
    assert stored is not None
    return stored


def test_large_batches_end_whole(tmp_path: Path) -> None:
    log = filled(tmp_path, 10, 300_000)
    found = to_send(log, 0)
    assert found.stored is not None
    assert offsets(copied(found)) == [(0, 0), (1, 1), (2, 2)]
    assert found.to_bytes() == log.read(0, MB, END, True, False).to_bytes()
    # The next read begins there without a look at the index.
    assert log.active.remembered[3] == found.size()
    assert offsets(copied(to_send(log, 3))) == [(3, 3), (4, 4), (5, 5)]


def test_small_batches_may_be_cut(tmp_path: Path) -> None:
    log = filled(tmp_path, 100, 10_000)
    found = to_send(log, 10, 100_000)
    assert found.stored is not None
    assert found.size() == 100_000
    assert offsets(copied(found)) == [(offset, offset) for offset in range(10, 19)]


def test_a_large_batch_before_many_small_ones_is_not_followed_by_a_long_walk(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = filled(tmp_path, 1, 300_000, disk)
    for _ in range(2_000):
        append(log, 1, size=200)
    disk.events = []
    found = to_send(log, 0)
    assert found.stored is not None
    assert found.size() > 500_000
    assert len(disk.reads()) < 20


def test_a_range_ends_at_the_bound(tmp_path: Path) -> None:
    log = filled(tmp_path, 100, 20_000)
    found = to_send(log, 10, MB, 20)
    assert found.stored is not None
    assert offsets(copied(found)) == [(offset, offset) for offset in range(10, 20)]


@pytest.mark.parametrize(("max_bytes", "min_one"), [(1000, True), (1000, False), (200_000, True)])
def test_what_is_no_range_is_copied(tmp_path: Path, max_bytes: int, min_one: bool) -> None:
    log = filled(tmp_path, 3, 300_000)
    found = to_send(log, 0, max_bytes, min_one=min_one)
    assert found.stored is None
    assert offsets(found) == ([(0, 0)] if min_one else [])


def test_only_who_asks_for_it_gets_a_range(tmp_path: Path) -> None:
    log = filled(tmp_path, 10, 300_000)
    assert log.read(0, MB, END, True, False).stored is None
    assert log.read(0, MB, END, True, True).stored is None


def test_a_cold_range_is_not_sent(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = filled(tmp_path, 10, 300_000, disk)
    disk.cold = True
    with pytest.raises(WouldBlock):
        to_send(log, 0)


def test_the_page_cache_is_asked(tmp_path: Path) -> None:
    log = filled(tmp_path, 10, 300_000)
    path = log_file(log)
    number = os.open(path, os.O_RDWR)
    try:
        assert is_cached(number, 0, 2 * MB)
        os.fsync(number)
        os.posix_fadvise(number, MB, MB, os.POSIX_FADV_DONTNEED)
        assert is_cached(number, 0, MB)
        assert not is_cached(number, 0, 2 * MB)
        assert not is_cached(number, MB + 5, 1)
    finally:
        os.close(number)
    file = RealDisk().open(str(path))
    assert file.stored(0, MB) is not None
    assert file.stored(MB // 2, MB) is None


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([10, 3_000, 30_000, 70_000, 200_000]), min_size=1, max_size=12),
    start=st.floats(0, 1),
    end=st.floats(0, 1),
    max_bytes=st.integers(0, 600_000),
    min_one=st.booleans(),
)
def test_a_range_has_the_bytes_that_a_copy_has(
    sizes: list[int], start: float, end: float, max_bytes: int, min_one: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = make_log(QuietDisk(), Path(folder), {"segment.bytes": "400000"})
        for size in sizes:
            append(log, 1, size=size)
        offset, end_offset = round(start * len(sizes)), round(end * len(sizes))
        found = to_send(log, offset, max_bytes, end_offset, min_one).to_bytes()
        copy = log.read(offset, max_bytes, end_offset, min_one, False).to_bytes()
        # Both may be cut, but at different places. Whole batches are the same.
        shorter = min(len(found), len(copy))
        assert found[:shorter] == copy[:shorter]
        assert offsets(RecordBytes(found, 0, len(found))) == offsets(RecordBytes(copy, 0, len(copy)))
        log.release()


def test_a_range_is_sent_and_read_from_any_place(file: File) -> None:
    stored = range_of(file, 1000, 5000)
    expected = (bytes(range(256)) * 1024)[1000:6000]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert stored.send(ours.fileno(), 4000, 700) == 700
        assert stored.send(ours.fileno(), 4700, 9999) == 300
        assert theirs.recv(9999, socket.MSG_WAITALL | socket.MSG_DONTWAIT) == expected[4000:]
    assert stored.read() == expected
    assert stored.read(4000) == expected[4000:]
    assert len(stored) == 5000


def test_a_range_outlives_its_file(file: File, tmp_path: Path) -> None:
    stored = range_of(file, 0, 1000)
    file.rename(str(tmp_path / "g"))
    file.retire()
    os.unlink(tmp_path / "g")
    assert stored.read() == (bytes(range(256)) * 4)[:1000]


@pytest.mark.parametrize("grows_again", [False, True])
def test_a_range_of_a_truncated_file_is_an_error(file: File, grows_again: bool) -> None:
    """Otherwise a reader would get the rest of other records behind the beginning of the old ones."""
    stored = range_of(file, 0, 100_000)
    file.truncate(50_000)
    if grows_again:
        file.append([bytes(200_000)])
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(DiskError, match="up to position 100000 were truncated meanwhile"):
        stored.send(ours.fileno(), 50_000, 50_000)
    with pytest.raises(DiskError, match="up to position 100000 were truncated meanwhile"):
        stored.read()
    assert file.stored(0, 50_000) is not None


def test_a_part_that_the_page_cache_has_lost_is_not_sent(file: File, tmp_path: Path) -> None:
    """The kernel would read it from the disk meanwhile, and the event loop would have to wait."""
    stored = range_of(file, 0, 200_000)
    file.sync()
    with open(tmp_path / "f", "rb") as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert stored.send(ours.fileno(), 100_000, 50_000) == 0
        assert stored.read_nowait(100_000, 50_000) is None
        stored.read(100_000, 50_000)
        assert stored.send(ours.fileno(), 100_000, 50_000) == 50_000


def test_a_writer_adds_a_range_by_reference(file: File) -> None:
    stored = range_of(file, 0, 100_000)
    writer = Writer()
    writer.begin_frame()
    writer.write_compact_records(RecordBytes(b"", 0, 100_000, stored))
    writer.write_int32(7)
    writer.end_frame()
    whole = writer.to_bytes()
    chunks = writer.finish()
    assert chunks[1] is stored
    assert int.from_bytes(whole[:4]) == len(whole) - 4
    assert whole == b"".join(bytes(c) if not isinstance(c, Stored) else c.read() for c in chunks)
