"""Static members (KIP-345): a member that restarts within its session keeps its place."""

import pytest
from tests.groups.classic_room import DELAY_MS, REBALANCE_MS, SESSION_MS, Classic, Joined, subscription

from gralha.protocol.errors import ErrorCode, KafkaStorageError
from gralha.protocol.messages.leave_group import LeaveGroupResponse, MemberIdentity
from gralha.protocol.messages.sync_group import SyncGroupResponse


def test_a_static_member_needs_no_second_request():
    room = Classic()
    reply = room.join(instance_id="i")
    room.advance(DELAY_MS)
    joined = Joined(reply)
    assert joined.member_id == "i-1"
    assert joined.response.members[0].group_instance_id == "i"


@pytest.mark.parametrize("version", [5, 8, 9])
def test_a_follower_that_starts_again_keeps_its_assignment_without_a_rebalance(version):
    room = Classic()
    leader, follower = room.stable_static("a", "b")
    response = Joined(room.join(instance_id="b", version=version)).response
    assert response.member_id not in (leader.member_id, follower.member_id)
    assert (response.generation_id, response.leader) == (1, leader.member_id)
    assert (response.members, response.skip_assignment) == ([], False)
    assert room.state == "Stable"
    assert room.sync(response.member_id, 1, instance_id="b").sent(SyncGroupResponse).assignment == (
        follower.member_id.encode()
    )
    assert room.heartbeat(leader.member_id, 1, instance_id="a") == ErrorCode.NONE


def test_a_leader_that_starts_again_is_told_not_to_assign():
    room = Classic()
    leader, _ = room.stable_static("a", "b")
    response = Joined(room.join(instance_id="a", version=9)).response
    assert response.leader == response.member_id == room.group.leader_id != leader.member_id
    assert response.skip_assignment
    assert len(response.members) == 2


def test_an_older_leader_that_starts_again_takes_itself_for_a_follower():
    room = Classic()
    leader, _ = room.stable_static("a", "b")
    response = Joined(room.join(instance_id="a", version=8)).response
    assert response.leader == leader.member_id != response.member_id
    assert room.group.leader_id == response.member_id
    assert (response.members, response.skip_assignment) == ([], False)


def test_the_new_id_is_written():
    room = Classic()
    _, follower = room.stable_static("a", "b")
    joined = Joined(
        room.join(instance_id="b", session_timeout_ms=20_000, protocols={"range": subscription("u")})
    )
    stored = {member.group_instance_id: member for member in room.last_value.members}
    assert room.last_value.generation == 1
    assert stored["b"].member_id == joined.member_id
    assert stored["b"].assignment == follower.member_id.encode()
    assert (stored["b"].session_timeout, stored["b"].subscription) == (20_000, subscription("u"))


@pytest.mark.parametrize("instance_id", ["a", "b"])
def test_what_cannot_be_written_has_not_happened(instance_id):
    room = Classic()
    members = room.stable_static("a", "b")
    room.machine.append_error = KafkaStorageError()
    reply = room.join(
        instance_id=instance_id, session_timeout_ms=20_000, protocols={"range": subscription("u")}
    )
    assert reply.code == ErrorCode.NOT_COORDINATOR
    assert room.group.leader_id == members[0].member_id
    for member in members:
        assert room.heartbeat(member.member_id, 1, instance_id=member.instance_id) == ErrorCode.NONE
        kept = room.group.members[member.member_id]
        assert (kept.session_timeout_ms, kept.protocols) == (SESSION_MS, {"range": subscription("t")})
        assert kept.assignment == member.member_id.encode()
    room.machine.append_error = None
    room.advance(SESSION_MS)
    assert room.group.members == {}


def test_the_old_id_is_fenced():
    room = Classic()
    _, follower = room.stable_static("a", "b")
    room.join(instance_id="b")
    old = follower.member_id
    assert room.heartbeat(old, 1, instance_id="b") == ErrorCode.FENCED_INSTANCE_ID
    assert room.sync(old, 1, instance_id="b").code == ErrorCode.FENCED_INSTANCE_ID
    assert room.join(old, instance_id="b").code == ErrorCode.FENCED_INSTANCE_ID
    left = room.leave(MemberIdentity(member_id=old, group_instance_id="b"))
    assert left.sent(LeaveGroupResponse).members[0].error_code == ErrorCode.FENCED_INSTANCE_ID
    assert room.heartbeat(old, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_unknown_instance_is_an_unknown_member():
    room = Classic()
    leader, _ = room.stable_static("a", "b")
    assert room.heartbeat(leader.member_id, 1, instance_id="c") == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.join(leader.member_id, instance_id="c").code == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.heartbeat(leader.member_id, 1, instance_id="b") == ErrorCode.FENCED_INSTANCE_ID


def test_another_protocol_rebalances():
    room = Classic()
    both = {"range": subscription("t"), "sticky": subscription("t")}
    reply_a = room.join(instance_id="a", protocols=both)
    reply_b = room.join(instance_id="b", protocols=both)
    room.advance(2 * DELAY_MS)
    room.settle([Joined(reply_a), Joined(reply_b)])
    reply = room.join(instance_id="b", protocols={"sticky": subscription("t")})
    assert not reply.answered
    assert room.state == "PreparingRebalance"
    assert room.join(instance_id="b", protocols={"other": b""}).code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_starting_again_while_the_others_wait_for_the_leader_rebalances():
    room = Classic()
    replies = [room.join(instance_id="a"), room.join(instance_id="b")]
    room.advance(2 * DELAY_MS)
    leader, follower = (Joined(reply) for reply in replies)
    waiting = room.sync(follower.member_id, 1, instance_id="b")
    reply = room.join(instance_id="b")
    assert waiting.code == ErrorCode.FENCED_INSTANCE_ID
    assert not reply.answered
    assert room.state == "PreparingRebalance"
    again = room.join(leader.member_id, instance_id="a")
    assert Joined(reply).generation == Joined(again).generation == 2


@pytest.mark.parametrize("phase", ["PreparingRebalance", "CompletingRebalance"])
def test_a_new_id_that_was_told_in_a_rebalance_is_known_to_the_next_coordinator(phase):
    """Otherwise the member would be fenced, which ends its process."""
    room = Classic()
    leader, _, other = room.stable_static("a", "b", "c")
    room.join(leader.member_id, instance_id="a", protocols={"range": subscription("u")})
    reply = room.join(instance_id="b")
    if phase == "CompletingRebalance":
        room.join(other.member_id, instance_id="c")
        assert Joined(reply).member_id == room.group.static_members["b"]
    assert room.state == phase
    ids = dict(room.group.static_members)
    room.machine.reload()
    assert (room.group.static_members, room.state) == (ids, "PreparingRebalance")
    replies = [room.join(member_id, instance_id=instance_id) for instance_id, member_id in ids.items()]
    assert [Joined(each).member_id for each in replies] == list(ids.values())


def test_starting_again_during_a_rebalance_fences_the_join_that_waits():
    room = Classic()
    leader, follower = room.stable_static("a", "b")
    room.join(leader.member_id, instance_id="a", protocols={"range": subscription("u")})
    waiting = room.join(leader.member_id, instance_id="a")
    reply = room.join(instance_id="a")
    assert waiting.code == ErrorCode.FENCED_INSTANCE_ID
    assert not reply.answered
    assert Joined(room.join(follower.member_id, instance_id="b")).generation == 2
    assert Joined(reply).leads


def test_starting_again_in_the_first_rebalance_waits_for_its_end():
    room = Classic()
    first = room.join(instance_id="a")
    second = room.join(instance_id="a")
    assert first.code == ErrorCode.FENCED_INSTANCE_ID
    assert not second.answered
    room.advance(DELAY_MS)
    assert Joined(second).generation == 1


def test_starting_again_before_the_first_sync_does_not_rebalance_later():
    room = Classic()
    replies = [room.join(instance_id=each, session_timeout_ms=2 * REBALANCE_MS) for each in "ab"]
    room.advance(2 * DELAY_MS)
    leader = Joined(replies[0])
    room.sync(leader.member_id, 1, {})
    again = Joined(room.join(instance_id="b", session_timeout_ms=2 * REBALANCE_MS))
    assert room.sync(again.member_id, 1, instance_id="b").code == 0
    room.advance(REBALANCE_MS)
    assert room.state == "Stable"


def test_a_static_member_that_does_not_join_stays_until_its_session_ends():
    room = Classic()
    leader, away = room.stable_static("a", "b", session_timeout_ms=3 * REBALANCE_MS)
    reply = room.join(leader.member_id, instance_id="a", session_timeout_ms=3 * REBALANCE_MS)
    room.advance(REBALANCE_MS)
    joined = Joined(reply)
    assert joined.generation == 2
    assert {member.member_id for member in joined.response.members} == {leader.member_id, away.member_id}


def test_a_leader_that_is_away_leads_no_longer():
    room = Classic()
    leader, other = room.stable_static("a", "b", session_timeout_ms=3 * REBALANCE_MS)
    reply = room.join(other.member_id, instance_id="b", protocols={"range": subscription("u")})
    room.advance(REBALANCE_MS)
    assert Joined(reply).leads
    assert leader.member_id in room.group.members


def test_when_all_static_members_are_away_the_rebalance_waits_for_one():
    room = Classic()
    leader, other = room.stable_static("a", "b", session_timeout_ms=3 * REBALANCE_MS)
    reply = room.join(leader.member_id, instance_id="a", session_timeout_ms=3 * REBALANCE_MS)
    room.leave(MemberIdentity(member_id="", group_instance_id="a"))
    assert reply.code == ErrorCode.UNKNOWN_MEMBER_ID
    room.advance(REBALANCE_MS)
    assert room.state == "PreparingRebalance"
    assert Joined(room.join(other.member_id, instance_id="b")).generation == 2


def test_static_members_that_allow_no_time_are_not_waited_for_without_a_break():
    room = Classic()
    room.stable_static("a", "b")
    for instance_id in ("a", "b"):
        assert room.join(instance_id=instance_id, rebalance_timeout_ms=0).code == 0
    room.leave(MemberIdentity("", "b"))
    assert room.state == "PreparingRebalance"
    assert room.machine.timers.pop_due(room.machine.now_ms) is None
    room.advance(SESSION_MS)
    assert room.state == "Empty"


def test_the_session_of_a_static_member_ends_too():
    room = Classic()
    leader, other = room.stable_static("a", "b")
    room.advance(SESSION_MS - 1)
    room.heartbeat(leader.member_id, 1, instance_id="a")
    room.advance(1)
    assert set(room.group.members) == {leader.member_id}
    assert room.group.static_members == {"a": leader.member_id}
    reply = room.join(other.member_id, instance_id="b")
    assert reply.code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_session_goes_on_with_the_new_id():
    room = Classic()
    room.stable_static("a")
    room.advance(SESSION_MS - 1)
    joined = Joined(room.join(instance_id="a"))
    room.advance(SESSION_MS - 1)
    assert set(room.group.members) == {joined.member_id}
    room.advance(1)
    assert room.state == "Empty"


def test_a_full_group_has_no_room_for_a_member_without_an_id_even_if_it_had_a_place():
    room = Classic(group_max_size=2)
    _, other = room.stable_static("a", "b")
    assert room.join(instance_id="b").code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert room.heartbeat(other.member_id, 1, instance_id="b") == ErrorCode.NONE
