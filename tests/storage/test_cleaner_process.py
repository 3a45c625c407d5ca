"""Compaction in a process of its own: it answers, it fails, it is killed, and it never stays."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from gralha.protocol.batches import BatchHeader, read_header
from gralha.storage.cleaner_process import _COMMAND, CleanerProcess
from gralha.storage.cleaner_worker import Pace
from gralha.storage.cleaning import CleaningError, look_at
from gralha.storage.compaction import CleaningJob
from gralha.storage.disk import DiskError
from gralha.storage.real_disk import RealDisk
from tests.storage.compacted import Compacted, raw_batches
from tests.storage.logs import NOW

TIMEOUT_S = 30.0


@pytest.fixture
async def process() -> AsyncIterator[CleanerProcess]:
    process = CleanerProcess()
    yield process
    await process.close()


def filled(tmp_path: Path, process: CleanerProcess, values: int = 30) -> Compacted:
    log = Compacted(RealDisk(), root=str(tmp_path))
    log.manager.cleaner._worker = process
    for number in range(values):
        log.put(b"k", b"%d" % number)
    log.log.roll(NOW)
    log.log.flush()
    return log


def pid_of(process: CleanerProcess) -> int:
    assert process._running is not None
    return process._running.process.pid


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def test_logs_are_cleaned_by_one_process_that_is_gone_afterwards(
    tmp_path: Path, process: CleanerProcess
) -> None:
    log = filled(tmp_path, process)
    other = log.manager.get_or_create("u", 0, bytes(16), log.config, NOW)
    other.append_as_follower(log.log.read(0, 10_000, 30, True, True))
    other.high_watermark = end_offset = other.log_end_offset
    other.roll(NOW)
    other.flush()
    pids = set()
    clean = process.clean

    async def watched(job, take):
        result = await clean(job, take)
        pids.add(pid_of(process))
        return result

    process.clean = watched  # type: ignore[method-assign]
    assert await log.clean() == 2
    assert log.values() == {b"k": b"29"}
    assert (log.log.first_dirty_offset, other.first_dirty_offset) == (30, end_offset)
    [pid] = pids
    assert not is_alive(pid)
    log.manager.close()


async def refuse(_group: object) -> None:
    pytest.fail("there is nothing to take")


def job_of(log: Compacted) -> CleaningJob:
    return log.manager.cleaner._job(look_at(log.log, NOW), log.log.segments, [], NOW)


async def test_producers_and_transactions_are_told(tmp_path: Path, process: CleanerProcess) -> None:
    log = filled(tmp_path, process, 1)
    for sequence in range(2):
        options = {"producer_id": 5, "producer_epoch": 0, "base_sequence": sequence, "transactional": True}
        log.put(b"k", b"in a transaction", **options)
        log.end_transaction(5, commit=False)
    log.put(b"other", b"v")
    assert await log.clean() == 1
    assert log.values() == {b"k": b"0", b"other": b"v"}
    assert log.log.aborted_transactions(0, 6, True) == [(5, 1), (5, 3)]
    counts = {header.base_offset: header.record_count for header in map(header_of, raw_batches(log.log))}
    assert counts == {0: 1, 2: 1, 3: 0, 4: 1, 5: 1}


def header_of(place: tuple[bytes, int]) -> BatchHeader:
    return read_header(*place)


async def test_a_failed_write_is_a_disk_error(tmp_path: Path, process: CleanerProcess) -> None:
    log = filled(tmp_path, process)
    (tmp_path / "t-0" / "00000000000000000000.log.cleaned").mkdir()
    with pytest.raises(DiskError, match=r"Cannot open .*cleaned: Is a directory"):
        await process.clean(job_of(log), refuse)


async def test_damage_is_an_error_that_says_where(tmp_path: Path, process: CleanerProcess) -> None:
    log = filled(tmp_path, process)
    log.log.segments[0].file.write_at(66, b"\xff")
    with pytest.raises(CleaningError, match=r"CorruptMessageError: The batch at 0 of .*log is damaged"):
        await process.clean(job_of(log), refuse)


async def test_a_process_that_dies_is_an_error_and_the_next_one_cleans(
    tmp_path: Path, process: CleanerProcess
) -> None:
    log = filled(tmp_path, process)
    cleaning = asyncio.ensure_future(process.clean(job_of(log)._replace(max_bytes_per_second=1.0), refuse))
    await wait_until(lambda: process._running is not None)
    os.kill(pid_of(process), signal.SIGKILL)
    with pytest.raises(CleaningError, match="ended before its job was done"):
        await cleaning
    assert await log.clean() == 1
    assert log.values() == {b"k": b"29"}


async def test_who_gives_up_leaves_no_process_that_writes(tmp_path: Path, process: CleanerProcess) -> None:
    log = filled(tmp_path, process)
    log.manager.cleaner.settings = log.manager.cleaner.settings._replace(io_max_bytes_per_second=1.0)
    cleaning = asyncio.ensure_future(log.clean())
    await wait_until(lambda: process._running is not None)
    pid = pid_of(process)
    await log.manager.truncate_in_thread(log.log, 10)
    assert not is_alive(pid)
    await cleaning
    # Now the broker ends.
    cleaning = asyncio.ensure_future(log.clean())
    await wait_until(lambda: process._running is not None)
    pid = pid_of(process)
    cleaning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cleaning
    assert not is_alive(pid)
    assert not list(tmp_path.glob("t-0/*.cleaned"))


def test_the_process_ends_with_its_input(tmp_path: Path) -> None:
    """As when the broker is killed; even in the middle of a job."""
    log = filled(tmp_path, CleanerProcess())
    job = job_of(log)._replace(max_bytes_per_second=1.0)
    process = subprocess.Popen(_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.communicate(json.dumps(job).encode() + b"\n", timeout=TIMEOUT_S)
    assert process.returncode == 0


def test_pace() -> None:
    pace = Pace(1_000_000.0)
    start_s = time.monotonic()
    for _ in range(10):
        pace(2000)
    assert time.monotonic() - start_s >= 0.02
