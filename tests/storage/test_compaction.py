"""What compaction keeps and drops, case by case."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from pathlib import Path

import pytest

from gralha.protocol.records import Record
from gralha.storage.cleaning import look_at
from gralha.storage.config import LogConfig
from gralha.storage.disk import DiskError
from tests.storage.compacted import CONFIG, ROOT, Compacted, committed
from tests.storage.compaction_cases import DAY, headers, left, new
from tests.storage.disks import QuietDisk, failing
from tests.storage.logs import NOW, offsets

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
