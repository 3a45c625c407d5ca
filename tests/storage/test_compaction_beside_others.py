"""Compaction beside readers, retention, truncation and deletion, and the cleaner of a manager."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from gralha.protocol.records import Record, crc_is_valid, decode_records, read_header
from gralha.storage.checkpoints import CLEANER_OFFSET_FILE, read_offsets
from gralha.storage.cleaning import CleaningWorker
from gralha.storage.disk import DiskError
from gralha.storage.real_disk import RealDisk
from tests.storage.compacted import ROOT, Compacted, raw_batches
from tests.storage.compaction_cases import DAY, filled, left, new
from tests.storage.disks import QuietDisk
from tests.storage.logs import NOW, offsets


async def test_how_far_it_got_survives_and_is_forgotten_with_the_partition() -> None:
    log = filled()
    await log.clean()
    path = f"{ROOT}/{CLEANER_OFFSET_FILE}"
    assert read_offsets(log.disk, path) == {("t", 0): 40}
    log.manager.close()
    again = Compacted(log.disk)
    assert again.log.first_dirty_offset == 40
    again.manager.delete("t", 0, NOW)
    assert again.manager.get_or_create("t", 0, bytes(16), log.config, NOW).first_dirty_offset == 0
    assert read_offsets(log.disk, path) == {}


async def test_gaps_stay_gaps_when_the_topic_is_compacted_no_more() -> None:
    """Recovery cuts a log whose segment lacks its end, because that was lost; this one was compacted."""
    log = new()
    for number in range(40):
        log.put(b"k", b"%d" % number)
    await log.clean()
    log.put(b"k", b"last")
    log.log.flush()
    disk = log.disk
    log.manager.release()
    disk.remove(f"{ROOT}/recovery-point-offset-checkpoint")
    again = Compacted(disk, {"cleanup.policy": "delete"})
    assert left(again) == [(39, b"k", b"39"), (40, b"k", b"last")]
    assert again.log.log_end_offset == 41


class HeldWorker:
    """Waits before it cleans, and again before each group is taken."""

    def __init__(self, worker: CleaningWorker) -> None:
        self.worker = worker
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    async def clean(self, job, take):
        self.begun.set()
        await self.go_on.wait()
        return await self.worker.clean(job, take)

    async def close(self) -> None:
        pass


def held(log: Compacted) -> HeldWorker:
    worker = HeldWorker(log.worker)
    log.manager.cleaner._worker = worker
    return worker


async def test_readers_go_on_while_segments_are_swapped(tmp_path: Path) -> None:
    """Threads that read all the time get whole batches from where they asked, through any number of swaps."""
    log = Compacted(RealDisk(), root=str(tmp_path))
    done = threading.Event()
    reads = 0

    def read(seed: int) -> None:
        nonlocal reads
        random = Random(seed)
        while not done.is_set():
            offset = random.randrange(int(log.log.log_end_offset) + 1)
            found = log.log.read(offset, 500, int(log.log.log_end_offset), True, True)
            position = found.start
            while found.end - position >= 61:
                header = read_header(found.data, position)
                assert header.last_offset >= offset
                assert crc_is_valid(found.data, position, header)
                offset = int(header.next_offset)
                position += int(header.size_bytes)
            reads += 1

    with ThreadPoolExecutor(2) as threads:
        readers = [threads.submit(read, seed) for seed in range(2)]
        try:
            for number in range(5):
                for key in range(30):
                    log.put(b"%d" % (key % 7), b"%d" % number * key)
                before = reads
                await log.clean()
                # The replaced files are removed at once (file.delete.delay.ms=0).
                await log.manager.turn(NOW + number)
                while reads < before + 3 and not any(reader.done() for reader in readers):
                    await asyncio.sleep(0)
        finally:
            done.set()
        for reader in readers:
            reader.result()
    assert len(left(log)) == 7
    log.manager.close()


def test_a_reader_whose_segment_is_gone_looks_again(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = Compacted(disk, root=str(tmp_path))
    log.put(b"k", b"v")
    failures = [True, False]

    def before(action: str, path: str) -> None:
        if action == "read" and failures:
            if failures.pop(0):
                log.log._set_segments(list(log.log.segments))
            raise DiskError("read", path, "the test says so")

    disk.before = before
    # First the segments are other ones afterwards, then they are the same.
    with pytest.raises(DiskError):
        log.log.read(0, 100, 1, True, True)
    assert failures == []
    failures.append(True)
    assert offsets(log.log.read(0, 100, 1, True, True)) == [(0, 0)]


async def test_retention_waits_for_the_end_of_cleaning() -> None:
    log = filled({"cleanup.policy": "compact,delete", "retention.ms": "1"})
    worker = held(log)
    turn = asyncio.ensure_future(log.clean())
    await worker.begun.wait()
    assert await log.manager.apply_retention(NOW + DAY) == 0
    worker.go_on.set()
    await turn
    assert await log.manager.apply_retention(NOW + DAY) > 0


async def test_truncation_ends_the_cleaning_first() -> None:
    log = filled()
    await log.clean()
    for number in range(20):
        log.put(b"%d" % number, b"x" * 50)
    worker = held(log)
    turn = asyncio.ensure_future(log.clean())
    await worker.begun.wait()
    await log.manager.truncate_in_thread(log.log, 30)
    await turn
    assert log.log.log_end_offset == 30
    assert log.log.first_dirty_offset <= 30
    assert read_offsets(log.disk, f"{ROOT}/{CLEANER_OFFSET_FILE}")["t", 0] <= 30
    worker.go_on.set()
    await log.clean()
    assert len(left(log)) == 30


async def test_a_deleted_log_is_not_cleaned_any_more(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    log = filled()
    worker = held(log)
    turn = asyncio.ensure_future(log.clean())
    await worker.begun.wait()
    await log.manager.delete_in_thread("t", 0, NOW)
    await turn
    assert log.log.first_dirty_offset == 0
    assert caplog.text == ""


async def test_the_manager_runs_the_cleaner_and_ends_with_it() -> None:
    log = filled()
    worker = held(log)
    running = asyncio.ensure_future(log.manager.run(lambda: NOW))
    await worker.begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not log.manager.cleaner.is_cleaning(log.log)
    worker.go_on.set()
    running = asyncio.ensure_future(log.manager.run(lambda: NOW))
    while log.log.first_dirty_offset < 40:
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_new_settings_count_at_once() -> None:
    log = filled()
    log.manager.cleaner.settings = log.manager.cleaner.settings._replace(enabled=False, backoff_ms=DAY)
    running = asyncio.ensure_future(log.manager.cleaner.run(lambda: NOW))
    await asyncio.sleep(0)
    log.manager.cleaner.configure(log.manager.cleaner.settings._replace(enabled=True))
    while log.log.first_dirty_offset < 40:
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_fatal_disk_error_of_the_cleaner_ends_the_manager() -> None:
    log = filled()

    class Broken(HeldWorker):
        async def clean(self, job, take):
            raise DiskError("sync", "/d", "the test says so")

    log.manager.cleaner._worker = Broken(log.worker)
    log.manager._flusher.wait = lambda _seconds: asyncio.sleep(0)  # type: ignore[method-assign,assignment]
    with pytest.raises(DiskError, match="the test says so"):
        await log.manager.run(lambda: NOW)


async def test_records_decode_after_all_of_this() -> None:
    """Every batch that was written anew has the right CRC, count and bytes, in every compression."""
    for compression in range(5):
        log = new()
        for number in range(20):
            log.append(
                Record(b"%d" % (number % 4), b"v" * number or None, NOW - number, [("h", b"%d" % number)]),
                Record(b"x", None, NOW),
                compression=compression,
            )
        await log.clean()
        found = [
            record
            for data, position in raw_batches(log.log)
            for record in decode_records(data, position, read_header(data, position))
        ]
        assert [(record.offset, record.timestamp, record.headers) for record in found[-2:]] == [
            (38, NOW - 19, [("h", b"19")]),
            (39, NOW, []),
        ]
        assert len(found) == 5
