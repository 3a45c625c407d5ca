"""SyncGroup and Heartbeat: the assignment reaches everybody in its generation, and nobody else."""

from typing import Any

import pytest
from tests.groups.classic_room import REBALANCE_MS, SESSION_MS, Classic, Joined, subscription

from gralha.protocol.errors import ErrorCode, KafkaStorageError
from gralha.protocol.messages.leave_group import MemberIdentity
from gralha.protocol.messages.sync_group import SyncGroupResponse


def test_followers_wait_for_the_leader():
    room = Classic()
    leader, follower = room.completing(2)
    waiting = room.sync(follower.member_id, 1)
    assert not waiting.answered
    reply = room.sync(leader.member_id, 1, {leader.member_id: b"L", follower.member_id: b"F"})
    for each, assignment in ((reply, b"L"), (waiting, b"F")):
        response = each.sent(SyncGroupResponse)
        assert (each.code, response.assignment) == (0, assignment)
        assert (response.protocol_type, response.protocol_name) == ("consumer", "range")
    assert room.state == "Stable"


def test_who_syncs_later_gets_its_part_at_once_and_may_ask_again():
    room = Classic()
    leader, follower = room.completing(2)
    room.sync(leader.member_id, 1, {follower.member_id: b"F"})
    for _ in range(2):
        assert room.sync(follower.member_id, 1).sent(SyncGroupResponse).assignment == b"F"
    assert (
        room.sync(leader.member_id, 1, {leader.member_id: b"late"}).sent(SyncGroupResponse).assignment == b""
    )


def test_the_assignment_is_written_before_anybody_sees_it():
    room = Classic()
    leader, follower = room.completing(2)
    before = len(room.machine.log)
    waiting = room.sync(follower.member_id, 1)
    room.machine.append_error = KafkaStorageError()
    reply = room.sync(leader.member_id, 1, {follower.member_id: b"F"})
    assert reply.code == waiting.code == ErrorCode.NOT_COORDINATOR
    assert len(room.machine.log) == before
    assert room.state == "PreparingRebalance"
    assert {member.assignment for member in room.group.members.values()} == {b""}
    room.machine.append_error = None
    replies = [room.join(member.member_id) for member in (leader, follower)]
    assert {Joined(reply).generation for reply in replies} == {2}


def test_what_is_written():
    room = Classic()
    leader, follower = room.stable(2)
    value = room.last_value
    assert (value.generation, value.protocol_type, value.protocol) == (1, "consumer", "range")
    assert value.leader == leader.member_id
    assert {member.member_id: member.assignment for member in value.members} == {
        leader.member_id: leader.member_id.encode(),
        follower.member_id: follower.member_id.encode(),
    }
    member = value.members[0]
    assert (member.client_id, member.client_host, member.group_instance_id) == ("client", "/10.0.0.1", None)
    assert (member.rebalance_timeout, member.session_timeout) == (REBALANCE_MS, SESSION_MS)
    assert member.subscription == subscription("t")
    assert len(room.machine.log) == 2


@pytest.mark.parametrize("settle", [False, True])
def test_a_sync_must_fit_its_group(settle):
    room = Classic()
    member = (room.stable(2) if settle else room.completing(2))[1]
    assert room.sync("", 1, group_id="").code == ErrorCode.INVALID_GROUP_ID
    assert room.sync(member.member_id, 1, group_id="other").code == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.sync("stranger", 1).code == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.sync(member.member_id, 1, instance_id="i").code == ErrorCode.UNKNOWN_MEMBER_ID
    for generation in (0, 2, -1):
        assert room.sync(member.member_id, generation).code == ErrorCode.ILLEGAL_GENERATION
    wrongs: list[dict[str, Any]] = [{"protocol_type": "connect"}, {"protocol_name": "sticky"}]
    for wrong in wrongs:
        assert room.sync(member.member_id, 1, **wrong).code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    reply = room.sync(member.member_id, 1, protocol_type="consumer", protocol_name="range")
    assert reply.code == (0 if settle else None)


def test_a_sync_during_a_rebalance_must_join_again():
    room = Classic()
    leader, follower = room.stable(2)
    room.join(leader.member_id)
    assert room.sync(follower.member_id, 1).code == ErrorCode.REBALANCE_IN_PROGRESS
    assert room.sync(follower.member_id, 0).code == ErrorCode.ILLEGAL_GENERATION


def test_a_sync_of_an_empty_group_is_of_nobody():
    room = Classic()
    (only,) = room.stable(1)
    room.leave(MemberIdentity(member_id=only.member_id))
    assert room.state == "Empty"
    assert room.sync(only.member_id, 2).code == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.heartbeat(only.member_id, 2) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_interrupts_those_who_wait_for_the_leader():
    room = Classic()
    leader, follower = room.completing(2)
    waiting = room.sync(follower.member_id, 1)
    reply = room.join(follower.member_id, protocols={"range": subscription("t", "u")})
    assert waiting.code == ErrorCode.REBALANCE_IN_PROGRESS
    assert not reply.answered, "the member's own JoinGroup is not interrupted"
    assert room.sync(leader.member_id, 1, {}).code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_sync_that_was_sent_again_takes_the_place_of_the_first():
    room = Classic()
    leader, follower = room.completing(2)
    first = room.sync(follower.member_id, 1)
    second = room.sync(follower.member_id, 1)
    assert first.code == ErrorCode.REBALANCE_IN_PROGRESS
    room.sync(leader.member_id, 1, {follower.member_id: b"F"})
    assert second.sent(SyncGroupResponse).assignment == b"F"


def test_who_leaves_while_it_waits_is_answered():
    room = Classic()
    _, follower = room.completing(2)
    waiting = room.sync(follower.member_id, 1)
    room.leave(MemberIdentity(member_id=follower.member_id))
    assert waiting.code == ErrorCode.UNKNOWN_MEMBER_ID


# Those who do not sync


def test_members_that_do_not_sync_are_removed():
    room = Classic()
    leader, follower, silent = room.stable_but_one(session_timeout_ms=2 * REBALANCE_MS)
    room.advance(REBALANCE_MS - 1)
    assert room.state == "Stable"
    room.advance(1)
    assert room.state == "PreparingRebalance"
    assert set(room.group.members) == {leader.member_id, follower.member_id}
    assert room.heartbeat(silent.member_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_that_does_not_assign_is_removed():
    room = Classic()
    leader, follower = room.completing(2, session_timeout_ms=2 * REBALANCE_MS)
    waiting = room.sync(follower.member_id, 1)
    room.advance(REBALANCE_MS)
    assert waiting.code == ErrorCode.REBALANCE_IN_PROGRESS
    assert room.group.leader_id == follower.member_id
    assert Joined(room.join(follower.member_id)).leads
    assert room.join(leader.member_id).code == ErrorCode.UNKNOWN_MEMBER_ID


def test_when_nobody_syncs_nobody_is_left():
    room = Classic()
    room.completing(2, session_timeout_ms=2 * REBALANCE_MS)
    room.advance(REBALANCE_MS)
    assert room.state == "Empty"
    assert room.group.generation == room.last_value.generation == 2
    assert room.last_value.members == []
    assert room.last_value.protocol is None


# Heartbeats


@pytest.mark.parametrize("settle", [False, True])
def test_heartbeats(settle):
    room = Classic()
    leader, follower = room.stable(2) if settle else room.completing(2)
    assert room.heartbeat(leader.member_id, 1) == ErrorCode.NONE
    assert room.heartbeat(leader.member_id, 1, group_id="") == ErrorCode.INVALID_GROUP_ID
    assert room.heartbeat(leader.member_id, 1, group_id="other") == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.heartbeat("stranger", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.heartbeat(leader.member_id, 1, instance_id="i") == ErrorCode.UNKNOWN_MEMBER_ID
    for generation in (0, 2, -1):
        assert room.heartbeat(leader.member_id, generation) == ErrorCode.ILLEGAL_GENERATION
    room.join(follower.member_id, protocols={"range": subscription("u")})
    assert room.heartbeat(leader.member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    assert room.heartbeat(leader.member_id, 0) == ErrorCode.ILLEGAL_GENERATION


def test_heartbeats_keep_a_session_alive():
    room = Classic()
    leader, follower = room.stable(2)
    for _ in range(5):
        room.advance(SESSION_MS - 1)
        assert room.heartbeat(leader.member_id, 1) == ErrorCode.NONE
        room.machine.room.touch(room.group, follower.member_id, room.machine.now_ms)
    assert room.state == "Stable"
    room.advance(SESSION_MS - 1)
    room.heartbeat(follower.member_id, 1)
    room.advance(1)
    assert room.state == "PreparingRebalance"
    assert set(room.group.members) == {follower.member_id}


def test_heartbeats_during_a_rebalance_keep_a_session_alive_too():
    room = Classic()
    leader, follower = room.stable(2)
    room.join(leader.member_id)
    for _ in range(3):
        room.advance(SESSION_MS - 1)
        assert room.heartbeat(follower.member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    assert follower.member_id in room.group.members
