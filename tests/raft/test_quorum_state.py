"""The quorum-state file."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.raft.memory_disk import MemoryDisk

from gralha.raft.quorum_state import (
    ElectionState,
    QuorumStateError,
    check_static_voters,
    read_quorum_state,
    write_quorum_state,
)

PATH = "/d/quorum-state"
STATES = st.builds(
    ElectionState,
    st.integers(0, 2**31 - 1),
    st.integers(-1, 2**31 - 1),
    st.integers(-1, 2**31 - 1),
    st.binary(min_size=16, max_size=16),
)


@given(st.lists(STATES, min_size=1, max_size=3), st.integers(1, 20), st.integers(0, 2**32).map(Random))
def test_a_crash_leaves_the_last_saved_state_or_the_one_that_was_being_saved(states, fail_at, random):
    disk = MemoryDisk()
    disk.fail_at = fail_at
    saved = [None]
    try:
        for state in states:
            saved = [*saved[-1:], state]
            write_quorum_state(disk, "/d", state)
            saved = [state]
    except Exception:
        assert len(disk.operations) >= fail_at
    assert read_quorum_state(disk.crash(random), "/d") in saved


def test_the_file_is_kafkas():
    disk = MemoryDisk()
    assert read_quorum_state(disk, "/d") is None
    write_quorum_state(disk, "/d", ElectionState(3, 1, 2, bytes(15) + b"\x01"))
    assert json.loads(disk.read_file(PATH)) == {
        "leaderId": 1,
        "leaderEpoch": 3,
        "votedId": 2,
        "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAQ",
        "data_version": 1,
    }


def test_configured_voters_are_kept_as_kafka_keeps_them():
    disk, state = MemoryDisk(), ElectionState(3, 1, 2, b"d" * 16)
    check_static_voters(disk, "/d", (1, 2, 3))
    write_quorum_state(disk, "/d", state, (1, 2, 3))
    saved = json.loads(disk.read_file(PATH))
    assert (saved["data_version"], saved["clusterId"], saved["appliedOffset"]) == (0, "", 0)
    assert saved["currentVoters"] == [{"voterId": 1}, {"voterId": 2}, {"voterId": 3}]
    assert read_quorum_state(disk, "/d") == state
    check_static_voters(disk, "/d", (1, 2, 3))
    with pytest.raises(QuorumStateError, match=r"were 1, 2, 3 before .* and are 1 now.*Name the"):
        check_static_voters(disk, "/d", (1,))
    write_quorum_state(disk, "/d", state)
    check_static_voters(disk, "/d", (1,))


def test_kafkas_older_form_is_read_too():
    disk = MemoryDisk()
    disk.write_file(
        PATH,
        b'{"clusterId":"","leaderId":1,"leaderEpoch":9,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1}],"data_version":0}',
    )
    assert read_quorum_state(disk, "/d") == ElectionState(9, 1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"{}",
        b'{"leaderId":1,"leaderEpoch":9,"votedId":-1,"data_version":2}',
        b'{"leaderId":1,"leaderEpoch":9,"votedId":-1,"data_version":1}',
        b'{"leaderId":1,"leaderEpoch":"9","votedId":-1,"data_version":0}',
        b'{"leaderId":1,"leaderEpoch":9,"votedId":-1,"currentVoters":[{"voterId":"1"}],"data_version":0}',
        b'{"leaderId":1,"leaderEpoch":9,"votedId":-1,"currentVoters":[1],"data_version":0}',
        b'{"leaderId":1,"leaderEpoch":-9,"votedId":-1,"data_version":0}',
        b'{"leaderId":1,"leaderEpoch":9,"votedId":-1,"votedDirectoryId":"?","data_version":1}',
    ],
)
def test_a_file_that_cannot_be_read_stops_the_node(data):
    disk = MemoryDisk()
    disk.write_file(PATH, data)
    with pytest.raises(QuorumStateError, match="Restore it"):
        read_quorum_state(disk, "/d")
    assert disk.read_file(PATH) == data
