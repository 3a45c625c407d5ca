"""JoinGroup: ids, protocols, leaders, and who may join."""

from typing import Any

import pytest
from tests.groups.classic_room import (
    DELAY_MS,
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    Classic,
    Joined,
    subscription,
)

from gralha.protocol.errors import ErrorCode, NotEnoughReplicasError
from gralha.protocol.messages.join_group import JoinGroupResponse
from gralha.protocol.messages.leave_group import LeaveGroupResponse, MemberIdentity

RANGE = {"range": subscription("t")}
STICKY = {"sticky": subscription("t")}


def test_a_first_member_is_given_an_id_and_joins_with_it():
    room = Classic()
    member_id = room.new_id_for(client_id="me")
    assert member_id == "me-1"
    assert room.state == "Empty"
    reply = room.join(member_id)
    assert not reply.answered
    assert room.state == "PreparingRebalance"
    room.advance(DELAY_MS - 1)
    assert not reply.answered
    room.advance(1)
    response = Joined(reply).response
    assert (response.generation_id, response.leader, response.member_id) == (1, member_id, member_id)
    assert (response.protocol_type, response.protocol_name, response.skip_assignment) == (
        "consumer",
        "range",
        False,
    )
    assert [(each.member_id, each.metadata) for each in response.members] == [(member_id, subscription("t"))]
    assert room.state == "CompletingRebalance"


def test_before_version_4_a_member_joins_at_once():
    room = Classic()
    reply = room.join(version=3)
    room.advance(DELAY_MS)
    assert Joined(reply).member_id == "client-1"


def test_version_0_has_the_session_timeout_for_rebalances():
    room = Classic()
    room.join(version=0, rebalance_timeout_ms=-1)
    assert room.group.rebalance_timeout_ms == SESSION_MS
    room.join(version=1, rebalance_timeout_ms=70_000)
    assert room.group.rebalance_timeout_ms == 70_000


def test_only_the_leader_is_told_who_the_members_are():
    room = Classic()
    leader, *followers = room.completing(3)
    assert len(leader.response.members) == 3
    assert len(followers) == 2
    for follower in followers:
        assert follower.response.members == []
        assert follower.response.leader == leader.member_id
        assert follower.generation == leader.generation


@pytest.mark.parametrize(
    ("join", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocols": {}}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_a_bad_first_join_makes_no_group(join, code):
    room = Classic()
    assert room.join(**join).code == code
    assert room.machine.room.groups == {}
    assert room.machine.log == []


@pytest.mark.parametrize("session_timeout_ms", [6_000, 1_800_000])
def test_the_bounds_of_the_session_timeout_are_allowed(session_timeout_ms):
    assert Classic().join(session_timeout_ms=session_timeout_ms).code == ErrorCode.MEMBER_ID_REQUIRED


@pytest.mark.parametrize("settle", [False, True])
def test_a_member_must_fit_its_group(settle):
    room = Classic()
    members = room.stable(2) if settle else room.completing(2)
    joins: list[dict[str, Any]] = [{"protocol_type": "connect"}, {"protocols": STICKY}, {"protocols": {}}]
    for member_id in ("", members[1].member_id):
        for join in joins:
            assert room.join(member_id, **join).code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert room.join("stranger").code == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.join(members[0].member_id, instance_id="i").code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_protocol_with_the_most_votes_among_those_that_all_support_is_chosen():
    room = Classic()
    preferences = [("a", "b", "c"), ("b", "a"), ("b", "a", "d")]
    replies = [
        room.join(room.new_id_for(protocols=protocols), protocols=protocols)
        for protocols in (dict.fromkeys(names, b"") for names in preferences)
    ]
    room.advance(2 * DELAY_MS)
    assert {Joined(reply).response.protocol_name for reply in replies} == {"b"}


def test_of_two_protocols_with_the_same_name_the_first_counts():
    room = Classic()
    room.join(version=3, protocols=[("range", b"first"), ("sticky", b""), ("range", b"second")])
    assert room.group.members["client-1"].protocols == {"range": b"first", "sticky": b""}


def test_a_leader_that_joins_again_rebalances_a_stable_group():
    room = Classic()
    leader, follower = room.stable(2)
    reply = room.join(leader.member_id)
    assert not reply.answered
    assert room.state == "PreparingRebalance"
    assert room.heartbeat(follower.member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    other = room.join(follower.member_id)
    assert Joined(reply).generation == Joined(other).generation == 2
    assert Joined(reply).leads


def test_a_follower_that_joins_again_as_it_is_does_not():
    room = Classic()
    leader, follower = room.stable(2)
    response = Joined(room.join(follower.member_id)).response
    assert (response.generation_id, response.leader, response.members) == (1, leader.member_id, [])
    assert room.state == "Stable"


@pytest.mark.parametrize("index", [0, 1])
def test_while_the_group_completes_its_rebalance_anybody_may_ask_again(index):
    room = Classic()
    members = room.completing(2)
    reply = room.join(members[index].member_id)
    assert reply.response == members[index].response
    assert room.state == "CompletingRebalance"


@pytest.mark.parametrize("settle", [False, True])
def test_a_follower_with_new_metadata_rebalances(settle):
    room = Classic()
    _, follower = room.stable(2) if settle else room.completing(2)
    reply = room.join(follower.member_id, protocols={"range": subscription("t", "u")})
    assert not reply.answered
    assert room.state == "PreparingRebalance"


def test_the_order_of_protocols_is_metadata_too():
    room = Classic()
    _, follower = room.stable(2, protocols=RANGE | STICKY)
    assert not room.join(follower.member_id, protocols=STICKY | RANGE).answered


def test_those_who_have_an_id_are_waited_for():
    room = Classic()
    leader, follower = room.stable(2)
    newcomer = room.new_id_for()
    assert room.state == "Stable"
    room.join(leader.member_id)
    last = room.join(follower.member_id)
    assert not last.answered
    assert Joined(room.join(newcomer)).generation == Joined(last).generation == 2


def test_an_id_is_forgotten_after_a_session_and_nobody_waits_any_longer():
    room = Classic()
    leader, follower = room.stable(2)
    newcomer = room.new_id_for()
    replies = [room.join(leader.member_id), room.join(follower.member_id)]
    room.advance(SESSION_MS - 1)
    assert not replies[0].answered
    room.advance(1)
    assert [Joined(reply).generation for reply in replies] == [2, 2]
    assert room.join(newcomer).code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_can_be_given_back():
    room = Classic()
    newcomer = room.new_id_for()
    reply = room.leave(MemberIdentity(member_id=newcomer))
    assert reply.sent(LeaveGroupResponse).members[0].error_code == 0
    assert room.join(newcomer).code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_join_that_was_sent_again_takes_the_place_of_the_first():
    room = Classic()
    member_id = room.new_id_for()
    first = room.join(member_id)
    second = room.join(member_id)
    assert first.code == ErrorCode.REBALANCE_IN_PROGRESS
    room.advance(2 * DELAY_MS)
    assert Joined(second).generation == 1


def test_a_new_member_is_given_up_when_it_waits_for_too_long():
    room = Classic(new_member_join_timeout_ms=20_000)
    leader, _ = room.stable(2, rebalance_timeout_ms=300_000, session_timeout_ms=200_000)
    new = room.join(room.new_id_for(), rebalance_timeout_ms=300_000)
    again = room.join(leader.member_id, rebalance_timeout_ms=300_000, session_timeout_ms=200_000)
    room.advance(19_999)
    assert not new.answered
    room.advance(1)
    assert new.code == ErrorCode.UNKNOWN_MEMBER_ID
    assert not again.answered, "an old member that waits is not given up"


# The size of a group


def full_group(**config: int) -> tuple[Classic, list[Joined]]:
    room = Classic(group_max_size=2, **config)
    return room, room.stable(2)


def test_a_stable_group_that_is_full_takes_nobody_in():
    room, members = full_group()
    assert room.join().code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert Joined(room.join(members[1].member_id)).generation == 1


def test_an_id_is_worth_nothing_when_the_group_is_full_by_then():
    room = Classic(group_max_size=2)
    ids = [room.new_id_for() for _ in range(3)]
    replies = [room.join(member_id) for member_id in ids]
    assert replies[2].code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert room.group.pending_members == set()
    room.advance(2 * DELAY_MS)
    assert [Joined(reply).generation for reply in replies[:2]] == [1, 1]
    assert room.join(ids[2]).code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_an_id_that_comes_too_late_does_not_disturb_a_stable_group():
    room = Classic(group_max_size=2)
    ids = [room.new_id_for() for _ in range(3)]
    replies = [room.join(member_id) for member_id in ids[:2]]
    room.advance(2 * DELAY_MS)
    room.settle(sorted(map(Joined, replies), key=lambda each: not each.leads))
    assert room.join(ids[2]).code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert (room.state, room.group.pending_members) == ("Stable", set())


def test_in_a_rebalance_the_first_to_join_have_the_places():
    room, (leader, follower) = full_group()
    room.join(leader.member_id)
    newcomer = room.new_id_for()
    replies = [room.join(newcomer), room.join(leader.member_id)]
    assert not any(reply.answered for reply in replies), "whoever has joined may join again"
    assert room.join(follower.member_id).code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert [Joined(reply).generation for reply in replies] == [2, 2]
    assert set(room.group.members) == {leader.member_id, newcomer}
    assert [member.member_id for member in room.last_value.members] == [leader.member_id]


# Writing


def test_a_new_group_is_written_empty():
    room = Classic()
    room.new_id_for()
    value = room.last_value
    assert (value.generation, value.protocol_type, value.protocol, value.leader) == (0, "", None, None)
    assert value.members == []
    assert value.current_state_timestamp == room.machine.now_ms
    assert len(room.machine.log) == 1
    room.new_id_for()
    assert len(room.machine.log) == 1


@pytest.mark.parametrize("version", [3, 9])
def test_a_group_that_cannot_be_written_is_not_made(version):
    room = Classic()
    room.machine.append_error = NotEnoughReplicasError()
    reply = room.join(version=version)
    assert reply.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert room.machine.room.groups == {}
    room.machine.append_error = None
    assert room.machine.open == []
    room.advance(10 * REBALANCE_MS)
    assert room.join(version=version).code in (None, ErrorCode.MEMBER_ID_REQUIRED)


def test_other_groups_are_other_groups():
    room = Classic()
    room.stable(1)
    reply = room.join(group_id="other", version=3, protocol_type="connect", protocols={"x": b""})
    room.advance(DELAY_MS)
    assert isinstance(reply.response, JoinGroupResponse)
    assert reply.response.generation_id == 1
    assert set(room.machine.room.groups) == {GROUP, "other"}
