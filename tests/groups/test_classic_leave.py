"""LeaveGroup, and sessions that end without it."""

import pytest
from tests.groups.classic_room import DELAY_MS, SESSION_MS, Classic, Joined, subscription

from gralha.coordination.runtime import TIMER_RETRY_MS
from gralha.groups.classic_rebalance import ClassicRebalance
from gralha.protocol.errors import (
    ErrorCode,
    KafkaStorageError,
    MessageTooLargeError,
)
from gralha.protocol.messages.leave_group import LeaveGroupResponse, MemberIdentity


def codes(reply):
    return [member.error_code for member in reply.sent(LeaveGroupResponse).members]


def test_who_leaves_is_gone_and_the_others_rebalance():
    room = Classic()
    leader, follower = room.stable(2)
    reply = room.leave(MemberIdentity(member_id=leader.member_id))
    assert (reply.code, codes(reply)) == (0, [0])
    assert reply.sent(LeaveGroupResponse).members[0].member_id == leader.member_id
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


@pytest.mark.parametrize("count", [1, 3])
def test_a_leave_that_cannot_be_written_has_not_happened(count):
    room = Classic()
    goes, *_ = room.stable(count)
    room.machine.append_error = KafkaStorageError()
    reply = room.leave(MemberIdentity(member_id=goes.member_id))
    assert reply.code == ErrorCode.NOT_COORDINATOR
    assert (room.state, len(room.group.members)) == ("Stable", count)
    assert room.heartbeat(goes.member_id, 1) == ErrorCode.NONE
    room.machine.append_error = None
    assert codes(room.leave(MemberIdentity(member_id=goes.member_id))) == [0]
    assert goes.member_id not in room.group.members


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
    assert [each.group_instance_id for each in reply.sent(LeaveGroupResponse).members][:2] == ["a", "b"]
    assert reply.sent(LeaveGroupResponse).members[0].member_id == ""
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
    assert (stranger.code, stranger.sent(LeaveGroupResponse).members) == (ErrorCode.UNKNOWN_MEMBER_ID, [])
    reply = room.leave(MemberIdentity(member_id=only.member_id), version=version)
    assert (reply.code, reply.sent(LeaveGroupResponse).members) == (0, [])
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
    assert (room.state, room.group.generation) == ("Empty", 1)
    room.advance(DELAY_MS)
    assert (room.state, room.group.generation) == ("Empty", 1)


def test_an_id_that_was_handed_out_does_not_keep_a_group_alive():
    room = Classic()
    (only,) = room.stable(1)
    newcomer = room.new_id_for()
    room.leave(MemberIdentity(member_id=only.member_id))
    assert room.state == "Empty"
    reply = room.join(newcomer)
    room.advance(DELAY_MS)
    assert Joined(reply).generation == 3


# The log knows who has gone


def leave(room, member):
    assert codes(room.leave(MemberIdentity(member_id=member.member_id))) == [0]


def fall_silent(room, member):
    others = [each for each in room.group.members if each != member.member_id]
    room.advance(SESSION_MS - 1)
    for other in others:
        room.heartbeat(other, room.group.generation)
    room.advance(1)


WAYS_TO_GO = pytest.mark.parametrize("go", [leave, fall_silent])


@WAYS_TO_GO
def test_the_next_coordinator_does_not_know_who_has_gone(go):
    room = Classic()
    goes, stays = room.stable(2)
    go(room, goes)
    assert [member.member_id for member in room.last_value.members] == [stays.member_id]
    assert (room.last_value.generation, room.last_value.leader) == (1, None)
    assert room.last_value.members[0].assignment == stays.member_id.encode()
    room.machine.reload()
    assert set(room.group.members) == {stays.member_id}
    assert room.state == "PreparingRebalance"
    assert room.heartbeat(stays.member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    assert Joined(room.join(stays.member_id)).generation == 2


@WAYS_TO_GO
def test_coordinators_that_end_again_and_again_do_not_put_off_the_rebalance(go):
    room = Classic()
    goes, *stay = room.stable(3)
    go(room, goes)
    for _ in range(10):
        room.machine.reload()
        room.advance(SESSION_MS // 2)
        room.join(stay[0].member_id)
    room.machine.reload()
    replies = [room.join(member.member_id) for member in stay]
    assert [Joined(reply).generation for reply in replies] == [2, 2]


def test_without_the_record_a_member_that_left_would_come_back(monkeypatch):
    """The bug put back: memory alone knew that members had gone. The ghost held up the next rebalance."""
    monkeypatch.setattr(ClassicRebalance, "_removal", lambda *_: [])
    room = Classic()
    goes, stays = room.stable(2)
    leave(room, goes)
    room.machine.reload()
    assert set(room.group.members) == {goes.member_id, stays.member_id}
    assert room.state == "Stable"


def test_a_member_that_leaves_a_rebalance_is_not_waited_for_after_a_reload():
    room = Classic()
    leader, goes, follower = room.stable(3)
    room.join(leader.member_id)
    leave(room, goes)
    assert (room.last_value.generation, len(room.last_value.members)) == (1, 2)
    room.machine.reload()
    replies = [room.join(member.member_id) for member in (leader, follower)]
    assert [Joined(reply).generation for reply in replies] == [2, 2]


def test_a_member_that_leaves_between_join_and_sync():
    room = Classic()
    leader, goes, follower = room.stable(3)
    joined = [room.join(member.member_id) for member in (leader, goes, follower)]
    waiting = room.sync(follower.member_id, 2)
    leave(room, goes)
    assert waiting.code == ErrorCode.REBALANCE_IN_PROGRESS
    assert (room.last_value.generation, room.last_value.leader) == (2, None)
    room.machine.reload()
    assert room.state == "PreparingRebalance"
    assert room.sync(follower.member_id, 2).code == ErrorCode.REBALANCE_IN_PROGRESS
    replies = [room.join(member.member_id) for member in (leader, follower)]
    assert [Joined(reply).generation for reply in joined] == [2, 2, 2]
    assert [Joined(reply).generation for reply in replies] == [3, 3]


def test_a_member_that_no_record_knows_leaves_none():
    room = Classic()
    leader, follower = room.stable(2)
    newcomer = room.new_id_for()
    handed_out = room.new_id_for()
    room.join(newcomer)
    before = len(room.machine.log)
    assert codes(room.leave(MemberIdentity(member_id=newcomer), MemberIdentity(member_id=handed_out))) == [
        0,
        0,
    ]
    assert len(room.machine.log) == before
    assert set(room.group.members) == {leader.member_id, follower.member_id}
    assert room.group.pending_members == set()


def test_members_that_no_record_knows_stay_when_all_others_leave():
    room = Classic()
    members = room.stable(2)
    newcomer = room.join(version=3)
    reply = room.leave(*(MemberIdentity(member_id=member.member_id) for member in members))
    assert codes(reply) == [0, 0]
    assert room.last_value.members == []
    joined = Joined(newcomer)
    assert (joined.generation, joined.leads) == (2, True)
    room.settle([joined])
    room.machine.reload()
    assert set(room.group.members) == {joined.member_id}


def test_members_that_have_changed_their_protocols_keep_them():
    """The record of a member that goes has the others as the log knows them, not as they join now."""
    room = Classic()
    both = {"range": subscription("t"), "sticky": subscription("t")}
    goes, *stay = room.stable(3, protocols=both)
    replies = [room.join(member.member_id, protocols={"sticky": subscription("u")}) for member in stay]
    leave(room, goes)
    assert [member.subscription for member in room.last_value.members] == [subscription("t")] * 2
    assert [Joined(reply).response.protocol_name for reply in replies] == ["sticky"] * 2


def test_the_leader_goes_on_to_lead_when_others_leave():
    room = Classic()
    leader, goes, follower = room.stable(3)
    leave(room, goes)
    replies = [room.join(follower.member_id), room.join(leader.member_id)]
    assert [Joined(reply).leads for reply in replies] == [False, True]


def test_topics_of_a_member_that_has_gone_are_not_subscribed_to():
    room = Classic()
    replies = [room.join(version=3, protocols={"range": subscription(topic)}) for topic in ("t", "u")]
    room.advance(2 * DELAY_MS)
    room.settle(sorted(map(Joined, replies), key=lambda each: not each.leads))
    assert room.group.is_subscribed_to("t")
    leave(room, Joined(replies[0]))
    assert not room.group.is_subscribed_to("t")
    assert room.group.is_subscribed_to("u")
    assert room.group.offsets_expire_from_ms(5) is None  # not while the group rebalances
    room.machine.reload()
    assert room.group.offsets_expire_from_ms(5) is None


def test_a_record_that_is_too_large_keeps_the_member():
    """The others' record cannot be larger than what was written before, unless the limit was lowered."""
    room = Classic()
    goes, _ = room.stable(2)
    room.machine.append_error = MessageTooLargeError()
    assert room.leave(MemberIdentity(member_id=goes.member_id)).code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert len(room.group.members) == 2
    room.advance(2 * SESSION_MS)
    assert len(room.group.members) == 2
    room.machine.append_error = None
    room.advance(TIMER_RETRY_MS)
    assert room.state == "Empty"


# Sessions


@pytest.mark.parametrize("count", [1, 2])
def test_a_session_that_ends_while_nothing_can_be_written_ends_afterwards(count):
    room = Classic()
    silent, *others = room.stable(count)
    room.machine.append_error = KafkaStorageError()
    for _ in range(30):
        room.advance(1_000)
        for other in others:
            assert room.heartbeat(other.member_id, 1) == ErrorCode.NONE
    assert (room.state, silent.member_id in room.group.members) == ("Stable", True)
    room.machine.append_error = None
    room.advance(TIMER_RETRY_MS)
    assert silent.member_id not in room.group.members
    room.machine.reload()
    assert silent.member_id not in room.group.members
    assert room.state == ("PreparingRebalance" if others else "Empty")


def test_a_member_that_is_heard_of_meanwhile_stays():
    room = Classic()
    silent, _ = room.stable(2)
    room.machine.append_error = KafkaStorageError()
    room.advance(SESSION_MS + 100)
    assert room.heartbeat(silent.member_id, 1) == ErrorCode.NONE
    room.machine.append_error = None
    room.advance(SESSION_MS - 1)
    assert set(room.group.members) == {silent.member_id}


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
