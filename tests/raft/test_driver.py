"""The driver: commits, group commit, restart, crash, snapshots, failure. Records are plain texts here."""

import asyncio
import threading
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.raft.inline_loop import run_inline
from tests.raft.memory_disk import MemoryDisk
from tests.raft.memory_network import CODEC

from gralha.protocol.control_records import KRAFT_VERSION, KRAFT_VOTERS
from gralha.protocol.messages.raft_records import KRaftVersionRecord, Voter, VotersRecord
from gralha.raft.driver import NotLeaderError, QuorumError, QuorumSettings, RaftDriver
from gralha.raft.log import MetadataLogConfig
from gralha.raft.quorum_state import QuorumStateError, read_quorum_state
from gralha.raft.snapshots import (
    SnapshotError,
    SnapshotId,
    encode_message,
    read_snapshot,
    write_snapshot,
)
from gralha.storage.disk import DiskError

FOLDER = "/d/__cluster_metadata-0"


class Listener:
    """Keeps all records; what it was told is in `calls`."""

    def __init__(self):
        self.records = []
        self.calls = []
        self.next_offset = 0
        self.snapshot_offset = None
        self.leader_epoch = None
        self.refuse = None

    def on_snapshot(self, end_offset, epoch, records):
        self.calls.append("snapshot")
        self.records = list(records)
        self.next_offset = self.snapshot_offset = end_offset

    def on_commit(self, base_offset, next_offset, epoch, records):
        assert base_offset == self.next_offset
        if self.refuse is not None:
            raise self.refuse
        self.calls.append(records)
        self.records += records
        self.next_offset = next_offset

    def on_caught_up(self):
        self.seen = list(self.records)

    def on_leader(self, epoch):
        self.calls.append("leader")
        self.leader_epoch = epoch

    def on_resigned(self):
        self.calls.append("resigned")
        self.leader_epoch = None

    def snapshot_records(self):
        return list(self.records)


class Node:
    """A driver with its listener on a disk in memory."""

    def __init__(self, disk=None, **config):
        self.disk = disk or MemoryDisk()
        self.listener = Listener()
        self.failures: list[BaseException] = []
        self.now_ms = 1_000_000
        self.driver = RaftDriver(
            QuorumSettings(
                1,
                [1],
                "/d",
                self.disk,
                lambda: self.now_ms,
                self.failures.append,
                log_config=MetadataLogConfig(**config),
            ),
            CODEC,
            self.listener,
        )

    @classmethod
    async def started(cls, disk=None, **config):
        node = cls(disk, **config)
        await node.driver.start()
        return node

    def log_syncs(self):
        return [path for action, path in self.disk.operations if action == "sync" and path.endswith(".log")]

    def files(self, suffix):
        return [name for name in self.disk.list_folder(FOLDER) if name.endswith(suffix)]

    async def snapshot_done(self):
        await self.driver._snapshotter.settled()


async def test_a_new_quorum_of_one_leads_epoch_1_after_few_syncs():
    node = await Node.started()
    assert node.listener.leader_epoch == node.driver.epoch == 1
    assert node.listener.calls == [[], "leader"]
    assert node.driver.high_watermark == node.driver.end_offset == 1
    syncs = [path for action, path in node.disk.operations if action == "sync"]
    assert len(syncs) <= 9, syncs
    await node.driver.close()


async def test_an_append_is_on_the_device_when_it_returns():
    node = await Node.started()
    assert await node.driver.append(["a", "b"]) == 2
    assert node.listener.records == ["a", "b"]
    for seed in range(20):
        after = await Node.started(node.disk.crash(Random(seed)))
        assert after.listener.records == ["a", "b"]
        assert after.driver.epoch == 2
        await after.driver.close()
    await node.driver.close()


async def test_appends_of_one_turn_share_a_sync():
    node = await Node.started()
    before = len(node.log_syncs())
    offsets = await asyncio.gather(*(node.driver.append([str(number)]) for number in range(50)))
    assert offsets == list(range(1, 51))
    assert len(node.log_syncs()) == before + 1
    await node.driver.close()


async def test_appends_during_a_sync_share_the_next_one():
    node = await Node.started()
    before = len(node.log_syncs())
    begun, go_on = threading.Event(), threading.Event()

    def hold(path):
        if path.endswith(".log"):
            begun.set()
            assert go_on.wait(10)

    node.disk.syncing = hold
    first = node.driver.schedule_append(["a"])
    await asyncio.get_running_loop().run_in_executor(None, begun.wait)
    others = [node.driver.schedule_append([name]) for name in "bcd"]
    assert not first.committed.done()
    go_on.set()
    await first.committed
    assert node.listener.records == ["a"]
    assert not others[0].committed.done()
    await asyncio.gather(*(other.committed for other in others))
    assert node.listener.calls[-4:] == [["a"], ["b"], ["c"], ["d"]]
    assert len(node.log_syncs()) == before + 2
    await node.driver.close()


async def test_closing_commits_what_was_appended():
    node = await Node.started()
    append = node.driver.schedule_append(["a"])
    await node.driver.close()
    assert append.committed.result() == 1
    with pytest.raises(NotLeaderError):
        await node.driver.append(["b"])
    after = await Node.started(node.disk)
    assert after.listener.records == ["a"]
    await after.driver.close()


async def test_a_start_that_is_broken_off_leaves_a_log_that_can_be_closed(monkeypatch):
    before = await Node.started()
    await before.driver.append(["a"])
    await before.driver.close()
    node = Node(before.disk)
    reading = asyncio.get_running_loop().create_future()

    async def never(action):
        if "read_quorum_state" in repr(action):
            await reading
        return action()

    monkeypatch.setattr(node.driver, "_in_thread", never)
    starting = asyncio.ensure_future(node.driver.start())
    await asyncio.sleep(0.01)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    await node.driver.close()
    assert node.failures == []
    after = await Node.started(node.disk)
    assert after.listener.records == ["a"]
    await after.driver.close()


async def test_a_waiter_that_gives_up_disturbs_nobody():
    node = await Node.started()
    append = node.driver.schedule_append(["a"])
    append.committed.cancel()
    await node.driver.append(["b"])
    assert node.listener.records == ["a", "b"]
    await node.driver.close()


async def test_each_start_has_its_epoch_and_remembers_it():
    disk = MemoryDisk()
    for epoch in range(1, 5):
        node = await Node.started(disk)
        assert node.driver.epoch == epoch
        assert read_quorum_state(disk, FOLDER) == (epoch, 1, -1, bytes(16))
        await node.driver.append([str(epoch)])
        await node.driver.close()
    assert node.listener.records == ["1", "2", "3", "4"]


async def test_a_disk_error_ends_the_driver():
    node = await Node.started()
    node.disk.fail_at = len(node.disk.operations) + 2
    with pytest.raises(DiskError):
        await node.driver.append(["a"])
    assert len(node.failures) == 1
    assert not node.driver.is_leader
    with pytest.raises(NotLeaderError):
        await node.driver.append(["b"])
    await node.driver.close()


async def test_an_error_of_the_listener_ends_the_driver():
    node = await Node.started()
    node.listener.refuse = ValueError("no")
    first, second = node.driver.schedule_append(["a"]), node.driver.schedule_append(["b"])
    for append in (first, second):
        with pytest.raises(ValueError, match="no"):
            await append.committed
    assert node.failures == [node.listener.refuse]
    await node.driver.close()


async def test_an_unreadable_quorum_state_stops_the_start():
    node = await Node.started()
    await node.driver.close()
    node.disk.write_file(f"{FOLDER}/quorum-state", b"")
    with pytest.raises(QuorumStateError):
        await Node.started(node.disk)


async def test_several_voters_need_a_way_to_each_other():
    with pytest.raises(QuorumError, match="connections to the other nodes"):
        RaftDriver(QuorumSettings(1, [1, 2], "/d", MemoryDisk(), int, print), CODEC, Listener())


# Snapshots


async def test_a_snapshot_takes_the_place_of_the_log():
    node = await Node.started(max_record_bytes_between_snapshots=100, max_retention_bytes=1)
    for number in range(60):
        await node.driver.append([f"record {number}"])
    await node.snapshot_done()
    (name,) = node.files(".checkpoint")
    assert int(name[:20]) > 50
    # The log goes on while a snapshot is written, so the segment with its end may remain.
    assert len(node.files(".log")) <= 2
    assert int(node.files(".log")[0][:20]) > 20
    expected = node.listener.records
    await node.driver.close()
    after = await Node.started(node.disk)
    assert after.listener.calls[0] == "snapshot"
    assert after.listener.snapshot_offset == int(name[:20])
    assert after.listener.records == expected
    assert after.driver.epoch == 2
    await after.driver.close()


async def test_old_snapshots_and_their_log_are_kept_within_the_limits():
    node = await Node.started(max_record_bytes_between_snapshots=100)
    for number in range(60):
        await node.driver.append([f"record {number}"])
    await node.snapshot_done()
    assert len(node.files(".checkpoint")) > 2
    assert node.driver.log.log.log_start_offset == int(node.files(".checkpoint")[0][:20])
    node.now_ms += 8 * 24 * 3_600_000
    await node.driver.append(["x" * 100])
    await node.snapshot_done()
    assert len(node.files(".checkpoint")) == 1
    await node.driver.close()


async def test_time_brings_a_snapshot_when_something_was_written():
    node = await Node.started(max_snapshot_interval_ms=1000)
    await node.driver.append(["a"])
    await node.snapshot_done()
    assert node.files(".checkpoint") == []
    node.now_ms += 1000
    await node.driver.append(["b"])
    await node.snapshot_done()
    assert node.files(".checkpoint") == ["00000000000000000003-0000000001.checkpoint"]
    node.now_ms += 999
    await node.driver.append(["c"])
    await node.snapshot_done()
    assert len(node.files(".checkpoint")) == 1
    await node.driver.close()


async def test_no_snapshot_is_taken_while_the_listener_is_being_told(monkeypatch):
    node = await Node.started(max_record_bytes_between_snapshots=100)
    monkeypatch.setattr(type(node.driver._delivery), "is_caught_up", False)
    await node.driver.append(["x" * 200])
    await node.snapshot_done()
    assert node.files(".checkpoint") == []
    monkeypatch.undo()
    await node.driver.append(["y"])
    await node.snapshot_done()
    assert len(node.files(".checkpoint")) == 1
    await node.driver.close()


async def test_zero_means_no_snapshots_by_time():
    node = await Node.started(max_snapshot_interval_ms=0)
    node.now_ms += 10**12
    await node.driver.append(["b"])
    await node.snapshot_done()
    assert node.files(".checkpoint") == []
    await node.driver.close()


async def test_a_damaged_snapshot_stops_the_start():
    node = await Node.started(max_record_bytes_between_snapshots=1)
    await node.driver.append(["a"])
    await node.snapshot_done()
    await node.driver.close()
    path = f"{FOLDER}/{node.files('.checkpoint')[0]}"
    node.disk.entries[path].data[-10] ^= 1
    with pytest.raises(SnapshotError):
        await Node.started(node.disk)


async def test_a_failing_snapshot_ends_the_driver():
    node = await Node.started(max_record_bytes_between_snapshots=1)

    def fail():
        raise ValueError("no")

    node.listener.snapshot_records = fail
    await node.driver.append(["a"])
    await node.snapshot_done()
    assert [str(failure) for failure in node.failures] == ["no"]
    await node.driver.close()


async def test_leftovers_of_a_crash_are_removed():
    node = await Node.started()
    await node.driver.close()
    node.disk.write_file(f"{FOLDER}/00000000000000000003-0000000001.checkpoint.part", b"x")
    node.disk.write_file(f"{FOLDER}/quorum-state.tmp", b"x")
    after = await Node.started(node.disk)
    assert node.files(".part") == node.files(".tmp") == []
    await after.driver.close()


# Dynamic quorums (KIP-853)


VERSION_1 = encode_message(KRaftVersionRecord(kraft_version=1))


def voters_record(*ids):
    return encode_message(VotersRecord(voters=[Voter(voter_id=id_) for id_ in ids]))


def formatted_disk(*voters):
    disk = MemoryDisk()
    disk.make_folder(FOLDER)
    quorum = {KRAFT_VERSION: VERSION_1, KRAFT_VOTERS: voters_record(*voters)}
    write_snapshot(disk, FOLDER, SnapshotId(0, 0), [], 0, 0, quorum)
    return disk


async def test_what_a_dynamic_quorum_recorded_stays_in_the_next_snapshot():
    node = await Node.started(formatted_disk(1), max_record_bytes_between_snapshots=1, max_retention_bytes=1)
    await node.driver.append(["a"])
    await node.snapshot_done()
    (name,) = node.files(".checkpoint")
    assert name != SnapshotId(0, 0).file_name
    snapshot = read_snapshot(node.disk, f"{FOLDER}/{name}")
    assert snapshot.values == [b"a"]
    assert snapshot.quorum_records == {KRAFT_VERSION: VERSION_1, KRAFT_VOTERS: voters_record(1)}
    await node.driver.close()


async def test_the_voters_in_the_log_count_not_the_configured_ones():
    node = await Node.started(formatted_disk(1, 2, 3))
    assert not node.driver.is_leader
    assert node.driver.state.voters.latest.ids == (1, 2, 3)
    await node.driver.close()


# Crashes


async def live_and_crash(disk, counter, fail_at, config):
    """Append until the disk fails. Returns the acknowledged records, and those that may have been written."""
    disk.fail_at = fail_at
    acknowledged, attempted = [], []
    try:
        node = Node(disk, **config)
        await node.driver.start()
        for _ in range(12):
            batch: list[Any] = [f"{next(counter)} and some more text" for _ in range(2)]
            attempted += batch
            await node.driver.append(batch)
            acknowledged += batch
        await node.driver.close()
    except (DiskError, NotLeaderError):
        await node.driver.close()
        await node.snapshot_done()
    return acknowledged, attempted, node


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(1, 120), min_size=1, max_size=4),
    st.sampled_from([1, 150, 10**6]),
    st.sampled_from([1, 10**6]),
    st.integers(0, 2**32),
)
def test_no_crash_takes_what_was_acknowledged(fail_points, snapshot_bytes, retention_bytes, seed):
    config = {
        "max_record_bytes_between_snapshots": snapshot_bytes,
        "max_retention_bytes": retention_bytes,
    }

    async def run():
        disk = MemoryDisk()
        random = Random(seed)
        counter = iter(range(10**6))
        known: list[str] = []
        last_epoch = 0
        for fail_at in fail_points:
            acknowledged, attempted, node = await live_and_crash(disk, counter, fail_at, config)
            if node.listener.leader_epoch is not None:
                assert node.driver.epoch > last_epoch
                last_epoch = node.driver.epoch
            disk = disk.crash(random)
            after = await Node.started(disk, **config)
            assert after.driver.epoch > last_epoch
            last_epoch = after.driver.epoch
            found = after.listener.records
            # Everything that was acknowledged, then perhaps whole batches that were not, in order.
            assert found[: len(known) + len(acknowledged)] == known + acknowledged
            assert (known + attempted)[: len(found)] == found
            assert len(found) % 2 == 0
            known = found
            await after.driver.close()

    run_inline(run())
