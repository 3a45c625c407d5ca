"""ListGroups and DeleteGroups."""

import pytest
from tests.groups.offset_room import FakeTopics, OffsetMachine, commit_request

from gralha.groups.deletion import delete_groups
from gralha.groups.group import GroupType
from gralha.groups.listing import list_groups
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from gralha.protocol.messages.list_groups import ListedGroup


@pytest.fixture
def machine() -> OffsetMachine:
    """A simple group, an empty one, a stable one and one that speaks the new protocol."""
    machine = OffsetMachine(FakeTopics("a", "b"))
    machine.commit(commit_request("a", {0: 1}, group_id="simple"))
    machine.join("empty")
    machine.join("stable", "m", kind="connect")
    machine.join("new", "m")
    machine.room.groups["new"].type = GroupType.CONSUMER
    return machine


def listed(machine: OffsetMachine, states: list[str], types: list[str]) -> list[str]:
    return [group.group_id for group in list_groups(machine.room.groups.values(), states, types)]


def test_everything_about_a_group(machine: OffsetMachine) -> None:
    assert list_groups(machine.room.groups.values(), [], []) == [
        ListedGroup("simple", "", "Empty", "classic"),
        ListedGroup("empty", "consumer", "Empty", "classic"),
        ListedGroup("stable", "connect", "Stable", "classic"),
        ListedGroup("new", "consumer", "Stable", "consumer"),
    ]


@pytest.mark.parametrize(
    ("states", "types", "expected"),
    [
        (["Stable"], [], ["stable", "new"]),
        ([" sTABLE "], ["CLASSIC"], ["stable"]),
        (["Empty", "stable"], ["consumer"], ["new"]),
        (["Dead"], [], []),
        ([], ["share"], []),
        ([], ["?"], []),
        ([], ["Consumer", "?"], ["new"]),
    ],
)
def test_filters(machine: OffsetMachine, states: list[str], types: list[str], expected: list[str]) -> None:
    assert listed(machine, states, types) == expected


def delete(machine: OffsetMachine, *group_ids: str) -> list[DeletableGroupResult]:
    reply = machine.ask(lambda room: delete_groups(room.groups, room.offsets, group_ids))
    assert isinstance(reply.response, DeleteGroupsResponse)
    return reply.response.results


def test_groups_go_with_their_offsets(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1, 2: 1}, group_id="empty"))
    machine.commit(commit_request("b", {1: 1}, group_id="empty"))
    assert delete(machine, "empty") == [DeletableGroupResult("empty", 0)]
    for _ in range(2):
        assert machine.fetched("empty") == {}
        assert "empty" not in machine.room.groups
        assert machine.fetched("simple") == {("a", 0): (1, "")}
        machine.reload()


def test_each_group_has_its_own_result(machine: OffsetMachine) -> None:
    assert delete(machine, "stable", "simple", "none", "simple", "") == [
        DeletableGroupResult("stable", ErrorCode.NON_EMPTY_GROUP),
        DeletableGroupResult("simple", 0),
        DeletableGroupResult("none", ErrorCode.GROUP_ID_NOT_FOUND),
        DeletableGroupResult("", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    assert set(machine.room.groups) == {"empty", "stable", "new"}
