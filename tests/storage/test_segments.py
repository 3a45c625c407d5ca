"""When segments roll, and which of them retention lets go."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from random import Random

import pytest

from gralha.protocol.errors import OffsetOutOfRangeError
from gralha.protocol.primitives import RecordBytes
from gralha.storage.disk import DiskError
from gralha.storage.log import Log
from tests.storage.disks import QuietDisk, failing
from tests.storage.logs import (
    NOW,
    all_offsets,
    append,
    as_records,
    batch,
    crash,
    end_transaction,
    idempotent,
    make_log,
    reopen,
)

SIZE = len(batch(1))
DAY = 86_400_000


def bases(log: Log) -> list[int]:
    return [int(segment.base_offset) for segment in log.segments]


def segmented(tmp_path: Path, config: dict[str, str] | None = None, count: int = 10) -> Log:
    """Two batches of one record per segment: 0, 2, 4, ..."""
    log = make_log(QuietDisk(), tmp_path, {"segment.bytes": str(2 * SIZE), **(config or {})})
    for number in range(count):
        append(log, timestamp=NOW - (count - number) * DAY)
    assert bases(log) == list(range(0, count, 2))
    return log


def test_roll_by_size(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path, {"segment.bytes": str(3 * SIZE)})
    for _ in range(7):
        append(log)
    assert bases(log) == [0, 3, 6]


def test_roll_by_time_of_the_records(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path, {"segment.ms": "1000"})
    for timestamp in (0, 500, 1000, 1001, 1500, 2001, 2002, 5000):
        append(log, timestamp=NOW - 100_000 + timestamp)
    assert bases(log) == [0, 3, 6, 7]


def test_roll_by_time_of_the_clock_without_timestamps(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path, {"segment.ms": "1000"})
    for now_ms in (NOW, NOW + 1000, NOW + 1001, NOW + 2002):
        log.append_as_leader(as_records(batch(1, timestamp=-1)), 0, now_ms)
    assert bases(log) == [0, 2, 3]


def test_roll_with_jitter(tmp_path: Path) -> None:
    config = {"segment.ms": "1000", "segment.jitter.ms": "900"}
    log = make_log(QuietDisk(), tmp_path, config, random=Random(5))
    for timestamp in range(0, 20_000, 10):
        append(log, timestamp=NOW - 100_000 + timestamp)
    waited = {later - earlier for earlier, later in zip(bases(log)[1:], bases(log)[2:], strict=False)}
    assert len(waited) > 3
    assert all(10 < records <= 101 for records in waited)


def test_roll_by_index_size(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path, {"segment.index.bytes": "24", "index.interval.bytes": "0"})
    for _ in range(12):
        append(log)
    assert len(log.segments) > 2


def test_roll_when_offsets_no_longer_fit_the_index(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    for base_offset in (5, 2**31 - 1 + 5, 2**31 + 10, 2**33):
        data = batch(1, base_offset=base_offset, leader_epoch=0)
        log.append_as_follower(RecordBytes(data, 0, len(data)))
    assert bases(log) == [0, 6, 2**31 + 5, 2**33]
    assert [first for first, _ in all_offsets(log)] == [5, 2**31 + 4, 2**31 + 10, 2**33]


def test_rolling_an_empty_segment_does_nothing(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    log.roll(NOW)
    append(log)
    log.roll(NOW)
    log.roll(NOW)
    assert bases(log) == [0, 1]


def test_retention_by_time(tmp_path: Path) -> None:
    log = segmented(tmp_path, {"retention.ms": str(5 * DAY)})  # ages: 10, 9 | 8, 7 | 6, 5 | 4, 3 | 2, 1 days
    log.high_watermark = 10
    assert log.apply_retention(NOW) == 2
    assert (bases(log), log.log_start_offset) == ([4, 6, 8], 4)
    assert log.apply_retention(NOW + 1) == 1
    assert log.apply_retention(NOW + 1) == 0
    assert log.apply_retention(NOW + 100 * DAY) == 2  # the active one is rolled first
    assert (bases(log), log.log_start_offset, log.log_end_offset) == ([10], 10, 10)
    assert append(log).first_offset == 10


def test_retention_by_size(tmp_path: Path) -> None:
    log = segmented(tmp_path, {"retention.bytes": str(5 * SIZE), "retention.ms": "-1"})
    log.high_watermark = 10
    assert log.apply_retention(NOW) == 2  # with three fewer segments it would be smaller than allowed
    assert log.size_bytes() == 6 * SIZE


def test_retention_stops_at_the_high_watermark(tmp_path: Path) -> None:
    log = segmented(tmp_path, {"retention.ms": "0"})
    for high_watermark, start in ((0, 0), (1, 0), (2, 2), (5, 4), (9, 8), (10, 10)):
        log.high_watermark = high_watermark
        log.apply_retention(NOW + DAY)
        assert log.log_start_offset == start


def test_deleted_records_go_with_whole_segments(tmp_path: Path) -> None:
    log = segmented(tmp_path, {"retention.ms": "-1", "cleanup.policy": "compact"})
    log.high_watermark = 10
    with pytest.raises(OffsetOutOfRangeError):
        log.increment_log_start_offset(11)
    for start, expected in ((1, [0, 2, 4, 6, 8]), (5, [4, 6, 8]), (10, [8])):
        log.increment_log_start_offset(start)
        log.apply_retention(NOW)
        assert bases(log) == expected
    assert log.log_start_offset == 10


def test_deleted_files_are_renamed_first_and_readable_still(tmp_path: Path) -> None:
    log = segmented(tmp_path, {"retention.ms": str(5 * DAY)})
    log.flush()
    log.high_watermark = 10
    first = log.segments[0]
    log.apply_retention(NOW)
    names = {path.name for path in (tmp_path / "t-0").iterdir()}
    assert {f"{0:020d}{suffix}.deleted" for suffix in (".log", ".index", ".timeindex")} <= names
    assert sorted(log.doomed_files) == sorted(str(path) for path in (tmp_path / "t-0").glob("*.deleted"))
    found = first.read(0, 1000, int(first.size_bytes), True, True)
    assert found is not None
    assert found.size() == 2 * SIZE


@pytest.mark.parametrize("number", [0, 1, 2])
def test_retention_leaves_no_gap_if_a_rename_fails(tmp_path: Path, number: int) -> None:
    """Behind a gap, recovery would take the newer segments for damaged and remove them."""
    log = segmented(tmp_path, {"retention.ms": str(4 * DAY)})
    log.flush()
    log.high_watermark = 10
    disk = log.disk
    assert isinstance(disk, QuietDisk)
    disk.before = failing("rename", f"{2 * number:020d}.log")
    with pytest.raises(DiskError):
        log.apply_retention(NOW)
    disk.before = None
    assert bases(log) == list(range(2 * number, 10, 2))
    append(log)
    log = crash(disk, log)
    assert bases(log) == list(range(2 * number, 12, 2))
    assert log.log_end_offset == 11
    log.high_watermark = 10
    assert log.apply_retention(NOW) == 3 - number
    assert bases(log) == [6, 8, 10]


def test_retention_forgets_a_segment_whose_index_cannot_be_renamed(tmp_path: Path) -> None:
    log = segmented(tmp_path, {"retention.ms": str(5 * DAY)})
    log.flush()
    log.high_watermark = 10
    disk = log.disk
    assert isinstance(disk, QuietDisk)
    disk.before = failing("rename", f"{0:020d}.index")
    with pytest.raises(DiskError):
        log.apply_retention(NOW)
    disk.before = None
    assert bases(log) == [2, 4, 6, 8]
    assert all(os.path.exists(path) for path in log.doomed_files)
    log = crash(disk, log)
    assert bases(log) == [2, 4, 6, 8]
    assert not (tmp_path / "t-0" / f"{0:020d}.index").exists()


@pytest.mark.parametrize("how", ["truncation", "a new start"])
@pytest.mark.parametrize("ending", [f"{number:020d}.log" for number in (8, 6, 4)])
def test_a_truncation_that_fails_ends_the_broker(tmp_path: Path, how: str, ending: str) -> None:
    """The log in memory is half truncated then. The next start finds a log without a gap."""
    log = segmented(tmp_path)
    log.flush()
    disk = log.disk
    assert isinstance(disk, QuietDisk)
    disk.before = failing("rename", ending)
    truncate = (
        partial(log.truncate_to, 1) if how == "truncation" else partial(log.truncate_fully_and_start_at, 50)
    )
    with pytest.raises(DiskError) as raised:
        truncate()
    assert raised.value.is_fatal
    disk.before = None
    # `LogManager` lowers the recovery point before it truncates.
    log = crash(disk, log, recovery_point=0)
    end = int(ending[:20]) + 2
    assert bases(log) == list(range(0, end, 2))
    assert all_offsets(log) == [(offset, offset) for offset in range(end)]


def test_a_truncation_succeeds_on_a_full_disk(tmp_path: Path) -> None:
    log = segmented(tmp_path)
    log.flush()
    disk = log.disk
    assert isinstance(disk, QuietDisk)
    disk.before = failing("write", ".snapshot")
    assert log.truncate_to(5)
    assert log.log_end_offset == 5
    assert log.save_error is not None


@pytest.mark.parametrize("how", ["retention", "truncation", "a new start"])
def test_removed_files_hold_no_space(tmp_path: Path, how: str) -> None:
    """A descriptor of a removed file keeps its bytes on the disk."""
    log = segmented(tmp_path, {"retention.ms": "0"})
    log.flush()
    log.high_watermark = 10
    gone = log.segments[2]
    if how == "retention":
        log.apply_retention(NOW)
    elif how == "truncation":
        log.truncate_to(1)
    else:
        log.truncate_fully_and_start_at(50)
    # A reader in a thread that found the segment before may come late.
    assert gone.read(4, 1000, int(gone.size_bytes), True, True) is not None
    for path in log.doomed_files:
        log.disk.remove(path)
    held = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if os.path.lexists(link)]
    assert [name for name in held if name.startswith(str(tmp_path)) and "deleted" in name] == []
    log.release()


@pytest.mark.parametrize("how", ["truncation", "a new start"])
def test_truncated_segments_are_gone_for_good(tmp_path: Path, how: str) -> None:
    log = segmented(tmp_path)
    log.flush()
    disk = log.disk
    assert isinstance(disk, QuietDisk)
    disk.events.clear()
    if how == "truncation":
        log.truncate_to(5)
    else:
        log.truncate_fully_and_start_at(50)
    renames = [number for number, event in enumerate(disk.events) if event[0] == "rename"]
    syncs = [number for number, event in enumerate(disk.events) if event[:2] == ("sync", log.folder)]
    assert max(renames) < max(syncs)


def test_retention_needs_no_records_read_after_a_restart(tmp_path: Path) -> None:
    log = segmented(tmp_path, {"retention.ms": str(5 * DAY)})
    log = reopen(log.disk, log)
    log.high_watermark = 10
    disk = log.disk
    assert isinstance(disk, QuietDisk)
    assert log.timestamps_unknown()
    log.load_timestamps()
    disk.events.clear()
    assert not log.timestamps_unknown()
    assert log.apply_retention(NOW) == 2
    assert disk.reads() == []


def test_retention_waits_for_a_flush(tmp_path: Path) -> None:
    log = segmented(tmp_path, {"retention.ms": "0"})
    log.high_watermark = 10
    with log.flush_lock:
        assert log.apply_retention(NOW) == -1
    assert log.apply_retention(NOW) == 5


def test_truncation(tmp_path: Path) -> None:
    log = segmented(tmp_path)
    assert not log.truncate_to(10)
    assert log.truncate_to(7)
    assert (bases(log), log.log_end_offset) == ([0, 2, 4, 6], 7)
    assert log.truncate_to(4)
    assert (bases(log), log.log_end_offset) == ([0, 2, 4], 4)
    assert append(log).first_offset == 4
    log.truncate_fully_and_start_at(100)
    assert (bases(log), log.log_start_offset, log.log_end_offset) == ([100], 100, 100)
    assert append(log).first_offset == 100
    assert log.truncate_to(50)
    assert (bases(log), log.log_start_offset, log.log_end_offset) == ([50], 50, 50)


def test_a_log_may_start_anew_where_it_started_before(tmp_path: Path) -> None:
    """The new segment has the names of the old one. The old one has aborted transactions in a file."""
    log = make_log(QuietDisk(), tmp_path)
    idempotent(log, 0, transactional=True)
    end_transaction(log, 7, commit=False)
    log.flush()
    assert log.active.transaction_index.exists
    log.truncate_fully_and_start_at(0)
    assert (bases(log), log.log_end_offset) == ([0], 0)
    assert all(os.path.exists(path) for path in log.doomed_files)
    append(log, 2)
    log = crash(log.disk, log)
    assert all_offsets(log) == [(0, 1)]
    assert log.aborted_transactions(0, 2, True) == []


def test_truncation_inside_a_batch_drops_the_batch(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    append(log, 3)
    append(log, 3, timestamp=NOW + 5)
    log.truncate_to(4)
    assert log.log_end_offset == 3
    assert all_offsets(log) == [(0, 2)]
    assert log.offset_of_max_timestamp() == (NOW, 0, 0)
    assert append(log).first_offset == 3


def test_truncation_never_ends_before_the_start(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    append(log, 5)
    log.high_watermark = 5
    log.increment_log_start_offset(2)
    log.truncate_to(4)
    assert (log.log_start_offset, log.log_end_offset, all_offsets(log)) == (2, 2, [])
    assert reopen(log.disk, log).log_end_offset == 2


def test_index_files_come_with_entries(tmp_path: Path) -> None:
    """A partition without records has no index files: most partitions of a large cluster are like that."""
    log = make_log(QuietDisk(), tmp_path, {"index.interval.bytes": "50"})
    assert sorted(path.name for path in (tmp_path / "t-0").iterdir()) == [
        f"{0:020d}.log",
        "partition.metadata",
    ]
    for number in range(4):
        append(log, timestamp=NOW + number)
    log.save_indexes()
    sizes = {path.suffix: path.stat().st_size for path in (tmp_path / "t-0").glob("*index")}
    assert sizes == {".index": 3 * 8, ".timeindex": 3 * 12}
    append(log)
    log.save_indexes()
    assert (tmp_path / "t-0" / f"{0:020d}.index").stat().st_size == 4 * 8
