"""What compaction keeps and drops, case by case; which log it chooses, and when."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gralha.protocol.batches import BatchHeader
from gralha.protocol.records import Record, crc_is_valid, decode_records, read_header
from gralha.storage.checkpoints import CLEANER_OFFSET_FILE, read_offsets
from gralha.storage.cleaning import CleaningWorker, LogToClean, look_at
from gralha.storage.config import LogConfig
from gralha.storage.disk import DiskError
from gralha.storage.real_disk import RealDisk
from tests.storage.compacted import CONFIG, ROOT, Compacted, committed, raw_batches
from tests.storage.disks import QuietDisk, failing
from tests.storage.logs import NOW, offsets
from tests.storage.test_crashes import ForgetfulDisk

DAY = 86_400_000


def new(config: dict[str, str] | None = None, **settings: Any) -> Compacted:
    return Compacted(ForgetfulDisk(ROOT), config, **settings)


def headers(log: Compacted) -> list[BatchHeader]:
    return [read_header(data, position) for data, position in raw_batches(log.log)]


def left(log: Compacted) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(int(record.offset), record.key, record.value) for record in committed(log.log)]


# Records


async def test_the_newest_value_of_each_key_stays_where_it_is() -> None:
    log = new()
    for number in range(30):
        log.put(b"%d" % (number % 3), b"%d" % number)
    assert await log.clean() == 1
    assert left(log) == [(27, b"0", b"27"), (28, b"1", b"28"), (29, b"2", b"29")]
    assert (log.log.log_start_offset, log.log.log_end_offset) == (0, 30)
    assert await log.clean() == 0


async def test_the_active_segment_stays_as_it_is() -> None:
    log = new()
    log.put(b"k", b"old")
    log.log.roll(NOW)
    log.put(b"k", b"new")
    log.put(b"k", b"newer")
    assert await log.clean(roll=False) == 1
    assert left(log) == [(0, b"k", b"old"), (1, b"k", b"new"), (2, b"k", b"newer")]


async def test_records_without_a_key_from_times_without_compaction_go() -> None:
    log = new({"cleanup.policy": "delete"})
    log.append(Record(None, b"keyless", NOW), Record(b"k", b"v", NOW))
    log.log.config = log.config = LogConfig(CONFIG)
    await log.clean()
    assert left(log) == [(1, b"k", b"v")]


async def test_log_append_time_stays_when_a_batch_is_written_anew() -> None:
    log = new({"message.timestamp.type": "LogAppendTime"})
    log.append(Record(b"a", b"1", NOW - 50), Record(b"b", None, NOW - 40))
    log.append(Record(b"a", b"2", NOW - 30))
    await log.clean()
    assert [(record.key, record.timestamp) for record in committed(log.log)] == [(b"b", NOW), (b"a", NOW)]


async def test_a_batch_knows_the_largest_of_the_timestamps_left() -> None:
    log = new()
    log.append(Record(b"a", b"", NOW - 9), Record(b"b", b"", NOW - 1), Record(b"c", b"", NOW - 5))
    log.put(b"b", b"")
    await log.clean()
    assert [header.max_timestamp for header in headers(log)] == [NOW - 5, NOW]
    assert log.log.offset_for_timestamp(NOW - 4) == (NOW, 3, 0)


# Tombstones


async def test_a_tombstone_stays_until_its_horizon() -> None:
    log = new({"delete.retention.ms": str(DAY)})
    log.put(b"k", b"v")
    log.put(b"k", None)
    await log.clean(NOW)
    for hours in (1, 23):
        log.put(b"other", b"")
        await log.clean(NOW + hours * DAY // 24)
        assert (1, b"k", None) in left(log)
    log.put(b"other", b"")
    await log.clean(NOW + DAY)
    assert left(log) == [(4, b"other", b"")]


async def test_the_time_counts_from_when_all_of_the_batch_was_cleaned() -> None:
    """The map has room for one key per pass, so the second pass is the first that knows of the tombstone."""
    log = new(dedupe_buffer_bytes=1)
    log.put(b"k", b"v")
    log.append(Record(b"a", b"", NOW), Record(b"k", None, NOW))
    assert await log.clean(NOW) == 3
    jobs = [job.first_dirty_offset for job, _ in log.worker.passes]
    assert jobs == [0, 1, 2]
    assert left(log) == [(1, b"a", b""), (2, b"k", None)]
    [whole] = [header for header in headers(log) if header.record_count]
    assert (whole.has_delete_horizon, whole.base_timestamp) == (True, NOW + 1000)


async def test_a_tombstone_gets_no_horizon_while_older_values_are_left() -> None:
    log = new(dedupe_buffer_bytes=1)
    log.put(b"k", b"v")
    log.append(Record(b"a", b"", NOW), Record(b"k", None, NOW))
    log.log.roll(NOW)
    log.log.flush()
    found = look_at(log.log, NOW)
    # One pass that ends inside of the batch.
    job = log.manager.cleaner._job(found, log.log.segments, [], NOW)
    sources = log.log.segments
    for end_offset in (1, 2):
        result = await log.worker.clean(
            job._replace(first_dirty_offset=end_offset - 1),
            partial(log.manager.cleaner._swap, log.log, sources, lambda: NOW),
        )
        assert result.end_offset == end_offset
        sources = log.log.segments
        assert not any(header.has_delete_horizon for header in headers(log))


# Producers and transactions


async def test_the_last_batch_of_a_producer_stays_without_records() -> None:
    log = new()
    for sequence in range(3):
        log.put(b"k", b"%d" % sequence, producer_id=7, producer_epoch=0, base_sequence=sequence)
    log.put(b"k", b"last")
    await log.clean()
    assert [(header.base_offset, header.record_count, header.base_sequence) for header in headers(log)] == [
        (2, 0, 2),
        (3, 1, -1),
    ]
    assert left(log) == [(3, b"k", b"last")]


async def test_a_producer_known_by_a_marker_alone_keeps_that_marker() -> None:
    log = new()
    log.end_transaction(7, commit=True, epoch=3)
    for _ in range(3):
        log.put(b"k", b"")
        await log.clean(NOW + 10 * DAY)
    kept = headers(log)[0]
    assert (kept.is_control, kept.record_count, kept.producer_epoch) == (True, 1, 3)
    log.put(b"k", b"")
    await log.clean(NOW + 20 * DAY)
    emptied = headers(log)[0]
    assert (emptied.is_control, emptied.record_count, emptied.producer_epoch) == (True, 0, 3)


def transactional(log: Compacted, key: bytes, value: bytes, sequence: int) -> None:
    log.put(key, value, producer_id=5, producer_epoch=0, base_sequence=sequence, transactional=True)


async def test_the_last_batch_before_what_is_not_cleaned_stays() -> None:
    """Without records if need be: else whoever reads there would not learn where the log goes on."""
    log = new()
    log.put(b"k", b"v")
    transactional(log, b"k", b"aborted", 0)
    log.log.roll(NOW)
    log.end_transaction(5, commit=False)
    transactional(log, b"k", b"new", 1)
    log.end_transaction(5, commit=True)
    assert await log.clean(roll=False) == 1
    assert [(header.base_offset, header.record_count) for header in headers(log)] == [
        (0, 1),
        (1, 0),
        (2, 1),
        (3, 1),
        (4, 1),
    ]
    # Once compaction has gone on, it has no more use.
    await log.clean()
    assert [header.base_offset for header in headers(log)] == [2, 3, 4]


async def test_an_aborted_transaction_goes_at_once_and_its_marker_after_its_horizon() -> None:
    log = new()
    log.put(b"k", b"committed")
    transactional(log, b"k", b"aborted", 0)
    log.end_transaction(5, commit=False)
    transactional(log, b"later", b"", 1)
    log.end_transaction(5, commit=True)
    await log.clean(NOW)
    assert left(log) == [(0, b"k", b"committed"), (3, b"later", b"")]
    # A consumer that has read the aborted record still finds that it was aborted.
    assert log.log.aborted_transactions(0, 5, True) == [(5, 1)]
    assert [int(header.base_offset) for header in headers(log)] == [0, 2, 3, 4]
    log.put(b"dirt", b"")
    await log.clean(NOW + 1)
    assert log.log.aborted_transactions(0, 5, True) == []
    assert [int(header.base_offset) for header in headers(log)] == [0, 2, 3, 4, 5]
    log.put(b"dirt", b"")
    await log.clean(NOW + 1000)
    assert 2 in [int(header.base_offset) for header in headers(log)]
    log.put(b"dirt", b"")
    await log.clean(NOW + 1001)
    assert [int(header.base_offset) for header in headers(log)] == [0, 3, 4, 7]


async def test_an_abort_does_not_taint_a_later_transaction_of_the_producer() -> None:
    log = new()
    transactional(log, b"k", b"aborted", 0)
    log.end_transaction(5, commit=False)
    log.put(b"k", b"old")
    await log.clean()
    transactional(log, b"k", b"new", 1)
    log.end_transaction(5, commit=True)
    await log.clean()
    assert left(log) == [(3, b"k", b"new")]


async def test_a_marker_in_a_later_segment_tells_of_an_abort() -> None:
    log = new()
    log.put(b"k", b"committed")
    transactional(log, b"k", b"aborted", 0)
    log.put(b"other", b"", producer_id=6, producer_epoch=0, base_sequence=0, transactional=True)
    log.log.roll(NOW)
    log.put(b"x", b"", producer_id=6, producer_epoch=0, base_sequence=1, transactional=True)
    log.end_transaction(5, commit=False)
    # The other transaction is open: nothing after its first record may be cleaned.
    assert await log.clean(roll=False) == 0
    log.end_transaction(6, commit=True)
    assert await log.clean(roll=False) == 1
    assert [record.value for record in committed(log.log) if record.key == b"k"] == [b"committed"]


# Segments


async def test_segments_that_have_become_small_become_one() -> None:
    log = new()
    for number in range(40):
        log.put(b"k", b"%d" % number)
        log.log.roll(NOW)
    old = log.log.segments
    await log.clean()
    assert len(log.log.segments) < 10
    assert log.log.producers.snapshots == log.log.base_offsets[1:]
    # A reader of an old segment can go on.
    found = old[3].read(3, 1000, old[3].size_bytes, True, True)
    assert found is not None
    assert offsets(found) == [(3, 3)]


async def test_replaced_files_are_removed_later() -> None:
    log = new({"file.delete.delay.ms": "500"})
    for number in range(40):
        log.put(b"k", b"%d" % number)
    await log.clean()
    folder = f"{ROOT}/t-0"
    assert any(name.endswith(".log.deleted") for name in log.disk.list_folder(folder))
    await log.manager.turn(NOW + 499)
    assert any(name.endswith(".log.deleted") for name in log.disk.list_folder(folder))
    await log.manager.turn(NOW + 500)
    await log.manager.removals.done()
    names = log.disk.list_folder(folder)
    assert not any(name.endswith((".deleted", ".cleaned", ".swap")) for name in names)
    assert [name for name in names if name.endswith(".log")] == [
        f"{base:020d}.log" for base in log.log.base_offsets
    ]


async def test_damage_is_not_written_anew_as_if_it_were_sound(caplog: pytest.LogCaptureFixture) -> None:
    log = new()
    log.put(b"k", b"value")
    log.put(b"k", b"newer")
    log.log.segments[0].file.write_at(66, b"\xff")
    before = headers(log)
    assert await log.clean() == 1
    assert "is damaged" in caplog.text
    assert [header.crc for header in headers(log)] == [header.crc for header in before]
    # The cleaner tries again, but not at once.
    assert await log.clean(NOW + 59_999) == 0
    assert await log.clean(NOW + 60_000) == 1
    assert await log.clean(NOW + 60_000 + 119_999) == 0


async def test_without_room_on_the_disk_the_log_stays_as_it_is(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = Compacted(disk, root=str(tmp_path))
    log.put(b"first", b"v")
    for number in range(30):
        log.put(b"k", b"%d" % number)
    disk.before = failing("append", ".cleaned")
    await log.clean()
    assert len(left(log)) == 31
    assert not any(name.endswith(".cleaned") for name in disk.list_folder(log.log.folder))
    disk.before = None
    await log.clean(NOW + 60_000)
    assert len(left(log)) == 2


async def test_a_failed_swap_before_the_decision_is_undone(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = Compacted(disk, root=str(tmp_path))
    for number in range(30):
        log.put(b"k", b"%d" % number)
    disk.before = failing("rename", ".log.cleaned")
    await log.clean()
    assert len(left(log)) == 30
    assert not any(name.endswith((".cleaned", ".swap")) for name in disk.list_folder(log.log.folder))


async def test_a_failed_swap_after_the_decision_ends_the_broker(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = Compacted(disk, root=str(tmp_path))
    for number in range(30):
        log.put(b"k", b"%d" % number)
    disk.before = failing("rename", ".log.swap")
    with pytest.raises(DiskError):
        await log.clean()
    disk.before = None
    log.manager.release()
    again = Compacted(disk, root=str(tmp_path))
    assert left(again)[-1] == (29, b"k", b"29")
    await again.clean()
    assert len(left(again)) == 1


async def test_a_swap_that_fails_while_cleaning_is_given_up_is_not_undone(tmp_path: Path) -> None:
    """Beyond the decision the new segment may be all there is."""
    disk = QuietDisk()
    log = Compacted(disk, root=str(tmp_path))
    for number in range(30):
        log.put(b"k", b"%d" % number)
    loop = asyncio.get_running_loop()
    given_up = threading.Event()

    def give_up() -> None:
        log.manager.cleaner.abandon(log.log)
        given_up.set()

    def before(action: str, path: str) -> None:
        if action == "rename" and path.endswith(".log.swap"):
            loop.call_soon_threadsafe(give_up)
            given_up.wait()
            raise DiskError("rename", path, "the test says so")

    disk.before = before
    with pytest.raises(DiskError):
        await log.clean()
    assert any(name.endswith(".log.swap") for name in disk.list_folder(log.log.folder))
    disk.before = None
    log.manager.release()
    assert left(Compacted(disk, root=str(tmp_path)))[-1] == (29, b"k", b"29")


# Choosing


def filled(config: dict[str, str] | None = None) -> Compacted:
    log = new(config)
    for number in range(40):
        log.put(b"%d" % number, b"x" * 50)
    log.log.roll(NOW)
    log.log.flush()
    return log


def seen(log: Compacted, now_ms: int = NOW) -> LogToClean:
    return look_at(log.log, now_ms)


def test_everything_is_dirty_at_first() -> None:
    log = filled()
    found = seen(log)
    assert (found.first_dirty_offset, found.first_uncleanable_offset) == (0, 40)
    assert (found.dirty_ratio, found.cleanable_bytes) == (1.0, log.log.size_bytes())


async def test_min_cleanable_dirty_ratio() -> None:
    log = filled({"min.cleanable.dirty.ratio": "0.5"})
    assert await log.clean() == 1
    size_bytes = log.log.size_bytes()
    number = 0
    while log.log.size_bytes() <= 2 * size_bytes:
        assert await log.clean() == 0
        log.put(b"new %d" % number, b"x" * 50)
        number += 1
    assert await log.clean() == 1


async def test_what_is_not_flushed_or_not_replicated_is_not_cleaned() -> None:
    log = new()
    for number in range(40):
        log.put(b"%d" % number, b"x" * 50)
    log.log.roll(NOW)
    assert seen(log).cleanable_bytes == 0
    log.log.flush()
    log.log._high_watermark = 20
    bases = log.log.base_offsets
    assert seen(log).first_uncleanable_offset == max(base for base in bases if base <= 20)


def test_min_compaction_lag() -> None:
    log = new({"min.compaction.lag.ms": "100"})
    for number in range(20):
        log.append(Record(b"k", b"x" * 150, NOW + number))
    log.log.roll(NOW)
    log.log.flush()
    segments = log.log.segments
    assert seen(log, NOW + 100).first_uncleanable_offset == 0
    assert seen(log, NOW + 1000).first_uncleanable_offset == 20
    third = segments[3]
    assert seen(log, NOW + 100 + third.base_offset - 1).first_uncleanable_offset == third.base_offset
    log.log.first_dirty_offset = third.base_offset
    assert seen(log, NOW).first_uncleanable_offset == third.base_offset
    assert seen(log, NOW).cleanable_bytes == 0


async def test_max_compaction_lag_overrules_the_ratio() -> None:
    log = new({"min.cleanable.dirty.ratio": "1", "max.compaction.lag.ms": "1000"})
    for number in range(20):
        log.put(b"%d" % number, b"")
    assert await log.clean(NOW + 1000) == 0
    assert await log.clean(NOW + 1001) == 1
    assert await log.clean(NOW + 5000) == 0


async def test_a_checkpoint_that_does_not_fit_the_log_counts_as_none() -> None:
    log = filled()
    log.log.first_dirty_offset = 41
    assert seen(log).first_dirty_offset == 0
    log.log.increment_log_start_offset(10)
    log.log.first_dirty_offset = 5
    assert seen(log).first_dirty_offset == 10
    await log.clean()
    assert log.log.first_dirty_offset == 40


async def test_the_filthiest_log_comes_first() -> None:
    log = filled()
    other = log.manager.get_or_create("u", 0, bytes(16), log.config, NOW)
    other.request_flush = None
    await log.clean()
    for number in range(10):
        log.put(b"%d" % number, b"")
    other.append_as_leader(log.log.read(0, 1, 1, True, True), 0, NOW)
    other.high_watermark = 1
    other.roll(NOW)
    other.flush()
    assert await log.clean() == 2
    assert [job.folder for job, _ in log.worker.passes] == [f"{ROOT}/u-0", f"{ROOT}/t-0"]


async def test_only_compacted_logs_are_cleaned_and_only_if_the_cleaner_is_enabled() -> None:
    assert await filled({"cleanup.policy": "delete"}).clean() == 0
    assert await filled({"cleanup.policy": "compact,delete"}).clean() == 1
    log = filled()
    log.manager.cleaner.settings = log.manager.cleaner.settings._replace(enabled=False)
    assert await log.clean() == 0


# Beside others


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
