"""Snapshot files."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.raft.memory_disk import MemoryDisk

from gralha.protocol.control_records import KRAFT_VERSION, KRAFT_VOTERS
from gralha.protocol.records import batches
from gralha.raft.snapshots import (
    Snapshot,
    SnapshotError,
    SnapshotId,
    decode_snapshot,
    encode_snapshot,
    read_snapshot,
    write_snapshot,
)

VALUES = st.lists(st.binary(max_size=20), max_size=20)


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**31 - 1))
def test_names_are_kafkas_and_come_back(offset, epoch):
    name = SnapshotId(offset, epoch).file_name
    assert len(name) == 20 + 1 + 10 + len(".checkpoint")
    assert SnapshotId.from_file_name(name) == (offset, epoch)


@pytest.mark.parametrize(
    "name",
    [
        "bootstrap.checkpoint",
        "00000000000000000064-0000000001.checkpoint.part",
        "00000000000000000064-0000000001.checkpoint.deleted",
        "00000000000000000064.log",
        "00000000000000000064-0000000001",
        "0000000000000000006x-0000000001.checkpoint",
        "64-1.checkpoint",
        "leader-epoch-checkpoint",
    ],
)
def test_other_files_are_no_snapshots(name):
    assert SnapshotId.from_file_name(name) is None


@given(
    VALUES,
    st.integers(0, 9),
    st.integers(0, 2**40),
    st.integers(0, 2**40),
    st.dictionaries(st.sampled_from([KRAFT_VERSION, KRAFT_VOTERS]), st.binary(max_size=9)),
)
def test_what_is_written_is_read(values, epoch, now_ms, timestamp_ms, quorum):
    data = b"".join(encode_snapshot(values, epoch, now_ms, timestamp_ms, quorum))
    assert decode_snapshot(data) == Snapshot(timestamp_ms, values, quorum)
    next_offset = 0
    for _, header in batches(data, 0, len(data)):
        assert header.base_offset == next_offset
        assert header.partition_leader_epoch == epoch
        next_offset = header.next_offset
    assert next_offset == len(values) + len(quorum) + 2


def test_many_values_come_in_several_batches():
    values = [bytes(1000)] * 1000
    data = b"".join(encode_snapshot(values, 1, 2, 3))
    assert len(batches(data, 0, len(data))) > 4
    assert decode_snapshot(data).values == values


@given(VALUES, st.data())
def test_a_cut_or_damaged_snapshot_is_noticed(values, data):
    whole = b"".join(encode_snapshot(values, 1, 2, 3))
    cut = data.draw(st.integers(0, len(whole) - 1))
    # The offset and the leader epoch of a batch are not covered by its checksum.
    at, header = data.draw(st.sampled_from(batches(whole, 0, len(whole))))
    flipped = bytearray(whole)
    flipped[data.draw(st.integers(at + 16, at + header.size_bytes - 1))] ^= 1 << data.draw(st.integers(0, 7))
    disk = MemoryDisk()
    for damaged in (whole[:cut], bytes(flipped), whole + b"x", whole + whole):
        disk.write_file("/d/x", damaged)
        with pytest.raises(SnapshotError, match="/d/x is damaged"):
            read_snapshot(disk, "/d/x")


def test_a_missing_snapshot_is_noticed():
    with pytest.raises(SnapshotError):
        read_snapshot(MemoryDisk(), "/d/x")


@given(VALUES, st.integers(1, 12), st.integers(0, 2**32).map(Random))
def test_after_a_crash_a_snapshot_is_whole_or_not_there(values, fail_at, random):
    disk = MemoryDisk()
    disk.fail_at = fail_at
    written = False
    try:
        write_snapshot(disk, "/d", SnapshotId(5, 1), values, 2, 3)
        written = True
    except Exception:
        assert len(disk.operations) >= fail_at
    after = disk.crash(random)
    path = f"/d/{SnapshotId(5, 1).file_name}"
    assert after.exists(path) or not written
    if after.exists(path):
        assert read_snapshot(after, path).values == values
