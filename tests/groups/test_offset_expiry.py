"""How long offsets are kept, and the groups that go with their last one."""

import pytest
from tests.groups.offset_room import RETENTION_MS, FakeGroup, FakeTopics, OffsetMachine, commit_request


@pytest.fixture
def machine() -> OffsetMachine:
    return OffsetMachine(FakeTopics("a", "b"))


def expire_after(machine: OffsetMachine, milliseconds: int) -> set[tuple[str, int]]:
    """The offsets of group g that are left after some time."""
    machine.advance(milliseconds)
    machine.expire()
    return set(machine.fetched("g"))


def test_retention_runs_from_the_commit_of_a_simple_consumer(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1, 1: 1}))
    assert expire_after(machine, RETENTION_MS - 1) == {("a", 0), ("a", 1)}
    machine.commit(commit_request("a", {1: 2}))
    assert expire_after(machine, 1) == {("a", 1)}
    assert "g" in machine.room.groups


def test_empty_group_disappears_with_its_last_offset(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1}))
    assert expire_after(machine, RETENTION_MS) == set()
    assert machine.room.groups == {}
    machine.reload()
    assert machine.room.groups == {}


def test_empty_group_without_offsets_disappears(machine: OffsetMachine) -> None:
    machine.join("g")
    machine.expire()
    assert machine.room.groups == {}


def test_group_with_members_stays_without_offsets(machine: OffsetMachine) -> None:
    machine.join("g", "m", topics="b")
    machine.commit(commit_request("a", {0: 1}, member_id="m", generation=1))
    assert expire_after(machine, RETENTION_MS) == set()
    assert "g" in machine.room.groups


def test_subscribed_topics_keep_their_offsets(machine: OffsetMachine) -> None:
    machine.join("g", "m", topics="a")
    for topic in "ab":
        machine.commit(commit_request(topic, {0: 1}, member_id="m", generation=1))
    assert expire_after(machine, 2 * RETENTION_MS) == {("a", 0)}


def test_retention_runs_from_the_end_of_the_last_member(machine: OffsetMachine) -> None:
    machine.join("g", "m", topics="a")
    machine.commit(commit_request("a", {0: 1}, member_id="m", generation=1))
    machine.advance(2 * RETENTION_MS)
    machine.join("g", generation=2)
    assert expire_after(machine, RETENTION_MS - 1) == {("a", 0)}
    assert expire_after(machine, 1) == set()


class KeepingGroup(FakeGroup):
    """A group in a rebalance: its subscriptions are not known."""

    def offsets_expire_from_ms(self, commit_timestamp_ms: int) -> int | None:
        return None


def test_group_may_keep_everything_for_now(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1}))
    machine.commit(commit_request("a", {1: 1}, retention_time_ms=1), version=4)
    machine.room.groups["g"] = KeepingGroup("g")
    assert expire_after(machine, 2 * RETENTION_MS) == {("a", 0), ("a", 1)}
    assert "g" in machine.room.groups


def test_retention_time_of_an_old_client_counts_instead(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1}, retention_time_ms=5), version=4)
    machine.commit(commit_request("a", {1: 1}, retention_time_ms=3 * RETENTION_MS), version=4)
    assert expire_after(machine, 4) == {("a", 0), ("a", 1)}
    assert expire_after(machine, 1) == {("a", 1)}
    assert expire_after(machine, 3 * RETENTION_MS - 6) == {("a", 1)}
    assert expire_after(machine, 1) == set()


def test_clock_that_was_set_back_expires_nothing(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1}))
    assert expire_after(machine, -3 * RETENTION_MS) == {("a", 0)}
