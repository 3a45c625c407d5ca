"""LeaveGroup, and sessions that end without it."""

import pytest
from tests.groups.classic_room import DELAY_MS, SESSION_MS, Classic, Joined

from gralha.protocol.errors import ErrorCode, NotCoordinatorError
from gralha.protocol.messages.leave_group import MemberIdentity


def codes(reply):
    return [member.error_code for member in reply.response.members]


def test_who_leaves_is_gone_and_the_others_rebalance():
    room = Classic()
    leader, follower = room.stable(2)
    reply = room.leave(MemberIdentity(member_id=leader.member_id))
    assert (reply.code, codes(reply)) == (0, [0])
    assert reply.response.members[0].member_id == leader.member_id
    assert room.state == "PreparingRebalance"
    assert room.heartbeat(leader.member_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.heartbeat(follower.member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    joined = Joined(room.join(follower.member_id))
    assert (joined.generation, joined.leads) == (2, True)


def test_the_last_one_leaves_an_empty_generation_behind():
    room = Classic()
    (only,) = room.stable(1)
    assert codes(room.leave(MemberIdentity(member_id=only.member_id))) == [0]
    value = room.last_value
    assert (value.generation, value.protocol_type, value.protocol, value.leader) == (
        2,
        "consumer",
        None,
        None,
    )
    assert (value.members, value.current_state_timestamp) == ([], room.machine.now_ms)
    assert (room.state, room.group.generation) == ("Empty", 2)
    reply = room.join(version=3)
    room.advance(DELAY_MS)
    assert Joined(reply).generation == 3


def test_a_leave_that_cannot_be_written_is_answered_with_the_error():
    room = Classic()
    (only,) = room.stable(1)
    room.machine.append_error = NotCoordinatorError()
    reply = room.leave(MemberIdentity(member_id=only.member_id))
    assert reply.code == ErrorCode.NOT_COORDINATOR
    assert room.machine.loaded().groups["g"].state_name == "Stable"


def test_many_may_leave_at_once():
    room = Classic()
    members = room.stable_static("a", "b", "c")
    reply = room.leave(
        MemberIdentity(member_id="", group_instance_id="a"),
        MemberIdentity(member_id=members[1].member_id, group_instance_id="b"),
        MemberIdentity(member_id=members[1].member_id, group_instance_id="b"),
        MemberIdentity(member_id=members[1].member_id, group_instance_id="c"),
        MemberIdentity(member_id="stranger"),
        MemberIdentity(member_id="", group_instance_id="nobody"),
        MemberIdentity(member_id=""),
    )
    assert codes(reply) == [
        0,
        0,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert [each.group_instance_id for each in reply.response.members][:2] == ["a", "b"]
    assert reply.response.members[0].member_id == ""
    assert set(room.group.members) == {members[2].member_id}
    assert room.state == "PreparingRebalance"


def test_if_nobody_leaves_nobody_rebalances():
    room = Classic()
    room.stable(2)
    assert codes(room.leave(MemberIdentity(member_id="stranger"))) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert codes(room.leave()) == []
    assert room.state == "Stable"


@pytest.mark.parametrize("version", [0, 2])
def test_before_version_3_there_is_one_member_and_one_error(version):
    room = Classic()
    (only,) = room.stable(1)
    stranger = room.leave(MemberIdentity(member_id="stranger"), version=version)
    assert (stranger.code, stranger.response.members) == (ErrorCode.UNKNOWN_MEMBER_ID, [])
    reply = room.leave(MemberIdentity(member_id=only.member_id), version=version)
    assert (reply.code, reply.response.members) == (0, [])
    assert room.state == "Empty"


def test_nobody_leaves_a_group_that_is_not_there():
    room = Classic()
    reply = room.leave(MemberIdentity(member_id="m"), MemberIdentity(member_id="", group_instance_id="i"))
    assert (reply.code, codes(reply)) == (0, [ErrorCode.UNKNOWN_MEMBER_ID] * 2)
    assert room.leave(MemberIdentity(member_id="m"), group_id="").code == ErrorCode.INVALID_GROUP_ID
    assert room.leave(MemberIdentity(member_id="m"), version=1).code == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_leaves_is_not_waited_for():
    room = Classic()
    leader, follower = room.stable(2)
    reply = room.join(leader.member_id)
    room.leave(MemberIdentity(member_id=follower.member_id))
    assert Joined(reply).generation == 2


def test_a_join_that_waits_is_answered_when_its_member_leaves():
    room = Classic()
    leader, _ = room.stable(2)
    reply = room.join(leader.member_id)
    room.leave(MemberIdentity(member_id=leader.member_id))
    assert reply.code == ErrorCode.UNKNOWN_MEMBER_ID


def test_leaving_does_not_shorten_the_first_rebalance():
    room = Classic()
    stays, goes = room.new_id_for(), room.new_id_for()
    reply = room.join(stays)
    room.join(goes)
    room.leave(MemberIdentity(member_id=goes))
    assert not reply.answered
    room.advance(2 * DELAY_MS)
    assert Joined(reply).generation == 1


def test_all_who_joined_first_may_leave_again():
    room = Classic()
    member_id = room.new_id_for()
    room.join(member_id)
    room.leave(MemberIdentity(member_id=member_id))
    assert room.state == "PreparingRebalance"
    room.advance(DELAY_MS)
    assert (room.state, room.group.generation) == ("Empty", 1)


# Sessions


@pytest.mark.parametrize("settle", [False, True])
def test_who_is_silent_for_a_session_is_gone(settle):
    room = Classic()
    leader, follower = room.stable(2) if settle else room.completing(2)
    room.advance(SESSION_MS - 1)
    assert room.heartbeat(follower.member_id, 1) in (0, ErrorCode.NONE)
    room.advance(1)
    assert room.state == "PreparingRebalance"
    assert room.heartbeat(leader.member_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert Joined(room.join(follower.member_id)).generation == 2


def test_when_all_are_silent_the_group_is_empty():
    room = Classic()
    room.stable(3)
    room.advance(SESSION_MS)
    assert (room.state, room.group.generation) == ("Empty", 2)
    assert room.last_value.generation == 2


def test_who_waits_for_an_answer_is_not_silent():
    room = Classic()
    leader, follower = room.stable(2)
    reply = room.join(leader.member_id)
    for _ in range(3):
        room.advance(SESSION_MS - 1)
        room.heartbeat(follower.member_id, 1)
    assert not reply.answered
    assert leader.member_id in room.group.members
    joined = Joined(room.join(follower.member_id))
    waiting = room.sync(joined.member_id, 2)
    for _ in range(3):
        room.advance(SESSION_MS - 1)
        assert room.heartbeat(leader.member_id, 2) == ErrorCode.NONE
    assert not waiting.answered
    assert follower.member_id in room.group.members


def test_the_session_starts_with_the_answer():
    room = Classic()
    leader, follower = room.stable(2)
    room.join(leader.member_id)
    room.advance(SESSION_MS - 1)
    room.join(follower.member_id)
    assert room.state == "CompletingRebalance"
    room.advance(SESSION_MS - 1)
    assert set(room.group.members) == {leader.member_id, follower.member_id}
    room.sync(follower.member_id, 2)
    room.heartbeat(leader.member_id, 2)
    room.advance(SESSION_MS - 2)
    room.sync(leader.member_id, 2, {})
    room.advance(SESSION_MS - 1)
    assert room.state == "Stable", "an assignment that was awaited starts the session, too"
    assert follower.member_id in room.group.members


def test_in_a_rebalance_a_silent_member_is_not_waited_for_beyond_its_session():
    room = Classic()
    leader, _ = room.stable(2)
    reply = room.join(leader.member_id)
    room.advance(SESSION_MS - 1)
    assert not reply.answered
    room.advance(1)
    assert Joined(reply).generation == 2
