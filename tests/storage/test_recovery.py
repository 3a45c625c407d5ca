"""After a crash: missing synced records are an error; unsynced ones are cut at the first bad batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import batches
from gralha.storage.log import Log
from gralha.storage.recovery import CorruptLogError
from tests.storage.disks import QuietDisk
from tests.storage.logs import (
    NOW,
    all_offsets,
    append,
    batch,
    crash,
    end_transaction,
    idempotent,
    log_file,
    make_log,
    reopen,
)

SMALL = {"segment.bytes": "1000", "index.interval.bytes": "200"}


def files(log: Log, ending: str = "") -> list[str]:
    return sorted(path.name for path in Path(log.folder).iterdir() if path.name.endswith(ending))


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x40
    path.write_bytes(data)


@pytest.fixture
def disk() -> QuietDisk:
    return QuietDisk()


def test_a_torn_tail_is_cut_wherever_it_tore(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path)
    for _ in range(3):
        append(log, 2)
    whole = log_file(log).read_bytes()
    last = batches(whole, 0, len(whole))[-1][0]
    for size in range(last, len(whole)):
        log_file(log).write_bytes(whole[:size])
        log = crash(disk, log)
        assert (log.log_end_offset, log_file(log).stat().st_size) == (4, last)
        assert all_offsets(log) == [(0, 1), (2, 3)]
    append(log, 2)
    assert all_offsets(log) == [(0, 1), (2, 3), (4, 5)]


@pytest.mark.parametrize("tail", [b"\0" * 5000, b"\xff" * 100, b"x", batch(3)[:-1], batch(1, base_offset=2)])
def test_garbage_after_the_end_is_cut(disk: QuietDisk, tmp_path: Path, tail: bytes) -> None:
    log = make_log(disk, tmp_path)
    append(log, 3)
    size = log_file(log).stat().st_size
    log_file(log).write_bytes(log_file(log).read_bytes() + tail)
    log = crash(disk, log)
    assert (log.log_end_offset, log_file(log).stat().st_size) == (3, size)


def test_any_flipped_bit_above_the_recovery_point_cuts_there(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path, SMALL)
    for _ in range(3):
        append(log)
    log.flush()
    for _ in range(3):
        append(log)
    whole = log_file(log).read_bytes()
    fifth = batches(whole, 0, len(whole))[4][0]
    step = batches(whole, 0, len(whole))[1][0]
    # The leader epoch (bytes 12 to 15) is not covered by the CRC, nor are the low bits of the offset.
    for position in [*range(8, 12), 16, *range(17, step)]:
        log_file(log).write_bytes(whole)
        flip(log_file(log), fifth + position)
        log = crash(disk, log)
        assert log.log_end_offset == 4
        assert all_offsets(log) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_a_bad_batch_takes_all_later_segments_with_it(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path, SMALL)
    for _ in range(40):
        append(log)
    assert len(log.segments) > 3
    second = int(log.segments[1].base_offset)
    flip(log_file(log, 1), 90)
    log = crash(disk, log)
    assert log.log_end_offset == second
    assert files(log, ".log") == [f"{0:020d}.log", f"{second:020d}.log"]
    assert all(int(name[:20]) <= second for name in files(log, ".snapshot"))
    append(log)
    assert all_offsets(log)[-1] == (second, second)


def test_whole_batches_missing_between_segments_end_the_log(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path, SMALL)
    for _ in range(40):
        append(log)
    whole = log_file(log, 0).read_bytes()
    log_file(log, 0).write_bytes(whole[: batches(whole, 0, len(whole))[3][0]])
    disk.events.clear()
    log = crash(disk, log)
    assert (log.log_end_offset, len(log.segments)) == (3, 1)
    # Another crash must not bring the removed segments back.
    removals = [number for number, event in enumerate(disk.events) if event[1].endswith(".log.deleted")]
    syncs = [number for number, event in enumerate(disk.events) if event[:2] == ("sync", log.folder)]
    assert max(removals) < max(syncs, default=-1)


@pytest.mark.parametrize("gap", [1, 5, 2**31 + 10])
def test_gaps_that_a_follower_copied_are_no_loss(disk: QuietDisk, tmp_path: Path, gap: int) -> None:
    """The topic was compacted once. A replica that is made later has the gaps, and has never compacted."""
    log = make_log(disk, tmp_path, SMALL)
    written = []
    for _ in range(40):
        offset = int(log.log_end_offset) + gap
        data = batch(2, base_offset=offset, leader_epoch=0)
        log.append_as_follower(RecordBytes(data, 0, len(data)))
        written.append((offset, offset + 1))
    assert len(log.segments) > 3
    log = crash(disk, log)
    assert all_offsets(log) == written


def test_batches_that_are_missing_are_noticed_in_a_log_with_gaps(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path, SMALL)
    for _ in range(40):
        data = batch(2, base_offset=int(log.log_end_offset) + 3, leader_epoch=0)
        log.append_as_follower(RecordBytes(data, 0, len(data)))
    whole = log_file(log, 1).read_bytes()
    log_file(log, 1).write_bytes(whole[: batches(whole, 0, len(whole))[-1][0]])
    lost = int(batches(whole, 0, len(whole))[-1][1].base_offset)
    log = crash(disk, log)
    assert log.log_end_offset < lost


def test_damage_below_the_recovery_point_is_not_cut(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path)
    for _ in range(5):
        append(log)
    log.flush()
    append(log)
    whole = log_file(log).read_bytes()
    for position in (80, len(whole) // 6 * 5 - 1):
        log_file(log).write_bytes(whole)
        flip(log_file(log), position)
        damaged = log_file(log).read_bytes()
        with pytest.raises(CorruptLogError, match="t-0"):
            crash(disk, log)
        assert log_file(log).read_bytes() == damaged


def test_a_log_shorter_than_its_recovery_point_is_damaged(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path)
    for _ in range(4):
        append(log)
    log.flush()
    whole = log_file(log).read_bytes()
    log_file(log).write_bytes(whole[: batches(whole, 0, len(whole))[3][0]])
    with pytest.raises(CorruptLogError, match="up to 4"):
        crash(disk, log)


def test_segments_below_the_recovery_point_are_not_read(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path, SMALL)
    for _ in range(40):
        append(log)
    log.flush()
    old = [str(log_file(log, number)) for number in range(len(log.segments) - 1)]
    disk.events.clear()
    log = crash(disk, log)
    assert log.log_end_offset == 40
    assert not {path for path, _ in disk.reads()} & set(old)


def test_a_clean_start_reads_little(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path, {"index.interval.bytes": "4096"})
    for _ in range(2000):
        append(log, size=1000)
    log.close()
    disk.events.clear()
    log = make_log(disk, tmp_path, clean=True)
    assert log.log_end_offset == 2000
    assert sum(length for _, length in disk.reads()) < 10_000
    assert log.recovery_point == 2000


def test_the_first_append_after_a_start_reads_nothing(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path, {"index.interval.bytes": "50"})
    for number in range(2000):
        append(log, timestamp=NOW + number)
    log = reopen(disk, log)
    disk.events.clear()
    append(log, timestamp=NOW + 5000)
    log.roll(NOW)
    assert disk.reads() == []
    assert len(log.segments) == 2
    log = reopen(disk, log)
    assert len(all_offsets(log)) == 2001
    assert log.offset_for_timestamp(NOW + 1000) == (NOW + 1000, 1000, 0)
    assert log.offset_of_max_timestamp() == (NOW + 5000, 2000, 0)


def test_a_clean_end_leaves_everything_on_the_device(disk: QuietDisk, tmp_path: Path) -> None:
    """The next start trusts the indexes, also those of the active segment."""
    log = make_log(disk, tmp_path, {"index.interval.bytes": "50"})
    for number in range(3):
        idempotent(log, number, transactional=True)
    end_transaction(log, 7, commit=False)
    log.flush()
    log.save_indexes()
    disk.events.clear()
    log.close()
    unsynced: set[str] = set()
    for action, path, _ in disk.events:
        if action in ("append", "write"):
            unsynced |= {path, log.folder}
        elif action == "sync":
            unsynced.discard(path)
    assert unsynced == set()
    synced = {Path(path).suffix for action, path, _ in disk.events if action == "sync"}
    assert {".index", ".timeindex", ".txnindex", ".snapshot"} <= synced
    log = make_log(disk, tmp_path, clean=True)
    disk.events.clear()
    log.close()
    assert [event for event in disk.events if event[0] in ("sync", "append", "write")] == []


@pytest.mark.parametrize("damage", ["zeros", "short", "empty", "odd", "last"])
def test_implausible_indexes_are_built_anew(disk: QuietDisk, tmp_path: Path, damage: str) -> None:
    """What a broker left whose indexes never reached the device; retention would delete by their times."""
    log = make_log(disk, tmp_path, {"index.interval.bytes": "50", "retention.ms": "1000"})
    for number in range(20):
        append(log, timestamp=NOW + number)
    log.close()
    for ending in (".index", ".timeindex"):
        path = tmp_path / "t-0" / f"{0:020d}{ending}"
        right = path.read_bytes()
        changed = {
            "zeros": bytes(len(right)),
            "short": bytes(8 if ending == ".index" else 12),
            "empty": b"",
            "odd": right[:-1],
            "last": right[:-8] + bytes(8),
        }[damage]
        path.write_bytes(changed)
    log = make_log(disk, tmp_path, {"index.interval.bytes": "50", "retention.ms": "1000"}, clean=True)
    log.high_watermark = log.log_end_offset
    assert log.log_end_offset == 20
    assert log.apply_retention(NOW + 500) == 0
    assert log.offset_of_max_timestamp() == (NOW + 19, 19, 0)
    log.close()
    assert path.read_bytes() == right


def test_indexes_are_built_anew(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path, SMALL)
    for number in range(40):
        append(log, timestamp=NOW + number)
    log = reopen(disk, log)
    log.close()
    right = {name: (tmp_path / "t-0" / name).read_bytes() for name in files(log) if "index" in name}
    assert sum(len(data) for data in right.values()) > 0
    for name in right:
        (tmp_path / "t-0" / name).write_bytes(b"rubbish")
    log = crash(disk, log, recovery_point=0)
    log.close()
    for name, data in right.items():
        assert (tmp_path / "t-0" / name).read_bytes() == data, name
        (tmp_path / "t-0" / name).unlink()
    log = make_log(disk, tmp_path, SMALL, clean=True)
    log.close()
    for name, data in right.items():
        assert (tmp_path / "t-0" / name).read_bytes() == data, name


def test_leftovers_are_removed(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path)
    append(log)
    log.close()
    kept = files(log)
    strays = [
        "00000000000000000005.log.deleted",
        "00000000000000000007.index",
        "00000000000000000007.timeindex",
        "00000000000000000007.txnindex",
        "00000000000000000000.log.cleaned",
        "leader-epoch-checkpoint.tmp",
    ]
    foreign = ["00000000000000000005-0000000001.checkpoint.deleted", "quorum-state"]
    for name in strays + foreign:
        (tmp_path / "t-0" / name).write_bytes(b"x")
    log = make_log(disk, tmp_path, clean=True)
    assert files(log) == sorted(kept + foreign)


def test_leader_epochs_come_from_the_batches(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path, SMALL)
    for number in range(30):
        append(log, epoch=number // 10)
        if number == 14:
            log.flush()
    assert files(log, "leader-epoch-checkpoint")
    log.assign_epoch_start(9, 30)
    expected = [(0, 0), (1, 10), (2, 20)]
    log = crash(disk, log)
    assert log.epochs.entries == expected
    log = crash(disk, log)
    log.assign_epoch_start(9, 30)
    log = reopen(disk, log)
    assert log.epochs.entries == expected  # epoch 9 has no record


def test_epochs_of_truncated_batches_do_not_come_back(disk: QuietDisk, tmp_path: Path) -> None:
    """The checkpoint still has epoch 5. A replica with batches of epoch 5 would be told that they agree."""
    log = make_log(disk, tmp_path)
    append(log, 10, epoch=4)
    append(log, 5, epoch=5)
    log.flush()
    log.truncate_to(10)
    follow = batch(5, base_offset=10, leader_epoch=4)
    log.append_as_follower(RecordBytes(follow, 0, len(follow)))
    assert log.epochs.entries == [(4, 0)]
    log = crash(disk, log)
    assert log.epochs.entries == [(4, 0)]
    assert log.end_offset_for_epoch(5) == (-1, -1)


def test_an_epoch_begins_where_its_batches_do_after_a_crash(disk: QuietDisk, tmp_path: Path) -> None:
    """The checkpoint says offset 2 for epoch 1, but the log was truncated since."""
    log = make_log(disk, tmp_path)
    append(log, 1, epoch=0)
    append(log, 1, epoch=0)
    append(log, 1, epoch=1)
    log.flush()
    log.truncate_to(1)
    append(log, 2, epoch=1)
    log = crash(disk, log)
    assert log.epochs.entries == [(0, 0), (1, 1)]


@pytest.mark.parametrize("roll", [False, True])
def test_an_epoch_keeps_its_start_if_its_first_batches_were_compacted(
    disk: QuietDisk, tmp_path: Path, roll: bool
) -> None:
    log = make_log(disk, tmp_path, {"cleanup.policy": "compact"})
    append(log, 2, epoch=0)
    log.assign_epoch_start(1, 2)
    if roll:
        log.roll(NOW, 4)
    follow = batch(1, base_offset=5, leader_epoch=1)
    log.append_as_follower(RecordBytes(follow, 0, len(follow)))
    log.flush()
    log = crash(disk, log, recovery_point=0)
    assert log.epochs.entries == [(0, 0), (1, 2)]


@pytest.mark.parametrize("damage", ["none", "last", "all", "missing"])
def test_producers_come_from_snapshots_and_batches(disk: QuietDisk, tmp_path: Path, damage: str) -> None:
    log = make_log(disk, tmp_path, SMALL)
    for number in range(40):
        idempotent(log, number // 2, producer_id=number % 2)
    log.flush()
    snapshots = sorted((tmp_path / "t-0").glob("*.snapshot"))
    assert len(snapshots) > 2
    for path in snapshots if damage in ("all", "missing") else snapshots[-1:]:
        if damage == "missing":
            path.unlink()
        elif damage != "none":
            flip(path, 7)
    log = crash(disk, log)
    for number in (38, 39):
        result = idempotent(log, number // 2, producer_id=number % 2)
        assert (result.duplicate, result.first_offset) == (True, number)
    assert idempotent(log, 20, producer_id=0).first_offset == 40


def test_aborted_transactions_are_found_again(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path, SMALL)
    for number in range(12):
        idempotent(log, number, producer_id=1, transactional=True)
        end_transaction(log, 1, commit=number % 3 > 0)
    expected = log.aborted_transactions(0, 24, True)
    assert len(expected) == 4
    log.flush()
    names = files(log, ".txnindex")
    right = [(tmp_path / "t-0" / name).read_bytes() for name in names]
    for name in names:
        (tmp_path / "t-0" / name).write_bytes(b"rubbish" * 10)
    log = crash(disk, log, recovery_point=0)
    assert log.aborted_transactions(0, 24, True) == expected
    log.flush()
    assert [(tmp_path / "t-0" / name).read_bytes() for name in names] == right


def test_aborted_transactions_outlive_a_lost_index(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path)
    idempotent(log, 0, producer_id=5, transactional=True)
    end_transaction(log, 5, commit=False)
    log.roll(NOW)
    append(log)
    log.close()
    (Path(log.folder) / f"{0:020d}.index").unlink()
    log = reopen(disk, log)
    assert log.aborted_transactions(0, 3, True) == [(5, 0)]


def test_a_start_offset_beyond_the_end_begins_anew(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path)
    append(log, 5)
    log = crash(disk, log, log_start_offset=12)
    assert (log.log_start_offset, log.log_end_offset, all_offsets(log)) == (12, 12, [])
    assert append(log).first_offset == 12
    assert files(log, ".log") == ["00000000000000000012.log"]


def test_the_start_offset_is_kept(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path)
    for _ in range(5):
        append(log, 2)
    log.high_watermark = 10
    log.increment_log_start_offset(3)
    for restart in (crash, reopen):
        log = restart(disk, log)
        assert (log.log_start_offset, log.log_end_offset) == (3, 10)
        assert all_offsets(log)[0] == (2, 3)


def test_everything_is_on_the_device_before_the_recovery_point_moves(disk: QuietDisk, tmp_path: Path) -> None:
    # The first segment's index gets an entry for the second batch. An index without entries is not synced.
    log = make_log(disk, tmp_path, {"index.interval.bytes": "1"})
    idempotent(log, 0)
    idempotent(log, 1)
    log.roll(NOW)
    idempotent(log, 2)
    points: list[tuple[str, int]] = []
    disk.before = lambda action, path: (
        points.append((path, int(log.recovery_point))) if action == "sync" else None
    )
    log.flush(2)
    synced = {path for path, _ in points}
    assert all(point == 0 for _, point in points)
    assert log.recovery_point == 2
    folder = log.folder
    first = f"{folder}/{0:020d}"
    expected = {f"{first}.log", f"{first}.index", f"{first}.timeindex", f"{folder}/{2:020d}.snapshot", folder}
    expected |= {f"{folder}/leader-epoch-checkpoint.tmp", f"{folder}/partition.metadata", str(tmp_path)}
    assert synced == expected
    points.clear()
    log.flush()
    assert {path for path, _ in points} == {f"{folder}/{2:020d}.log"}
    assert log.recovery_point == 3


def test_a_rolled_segment_counts_as_unsafe_until_its_indexes_are(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path)
    append(log, 4)
    log.flush()
    assert (log.flushed_offset, log.recovery_point) == (4, 4)
    log.roll(NOW)
    assert (log.flushed_offset, log.recovery_point) == (4, 0)
    log.flush(4)
    assert (log.flushed_offset, log.recovery_point) == (4, 4)


def test_recovery_after_truncation(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path, SMALL)
    for number in range(40):
        append(log, epoch=number // 10)
    log.flush()
    log.truncate_to(17)
    assert log.recovery_point == 17
    for _ in range(3):
        append(log, epoch=7)
    log = crash(disk, log)
    assert log.log_end_offset == 20
    assert log.epochs.entries == [(0, 0), (1, 10), (7, 17)]


def test_offsets_that_do_not_rise_are_damage(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path)
    data = batch(2) + batch(2, base_offset=1)
    log_file(log).write_bytes(data)
    log = crash(disk, log)
    assert all_offsets(log) == [(0, 1)]
    follower = make_log(disk, tmp_path / "follower")
    gap = batch(2) + batch(2, base_offset=10)
    follower.append_as_follower(RecordBytes(gap, 0, len(gap)))
    assert all_offsets(crash(disk, follower)) == [(0, 1), (10, 11)]


def test_a_large_batch_is_recovered_across_chunks(disk: QuietDisk, tmp_path: Path) -> None:
    log = make_log(disk, tmp_path, {"max.message.bytes": "20000000"})
    for size in (100, 6_000_000, 100, 3_000_000, 2_000_000, 100):
        append(log, size=size)
    assert crash(disk, log).log_end_offset == 6
