"""The timing of rebalances: the delay of the first one, and the rebalance timeout."""

from tests.groups.classic_room import DELAY_MS, REBALANCE_MS, Classic, Joined, subscription

from gralha.coordination.runtime import TIMER_RETRY_MS
from gralha.protocol.errors import ErrorCode, KafkaStorageError


def test_the_first_rebalance_is_put_off_while_new_members_come():
    room = Classic()
    replies = []
    for _ in range(4):
        replies.append(room.join(version=3))
        room.advance(DELAY_MS - 100)
    assert not any(reply.answered for reply in replies)
    room.advance(DELAY_MS)
    assert {Joined(reply).generation for reply in replies} == {1}


def test_but_for_no_longer_than_the_rebalance_timeout():
    room = Classic(group_initial_rebalance_delay_ms=4_000)
    first = room.join(version=3, rebalance_timeout_ms=10_000)
    waited_ms = 0
    while not first.answered:
        room.join(version=3, rebalance_timeout_ms=10_000)
        room.advance(500)
        waited_ms += 500
    assert waited_ms == 10_000


def test_without_a_delay_it_starts_at_once():
    room = Classic(group_initial_rebalance_delay_ms=0)
    reply = room.join(version=3)
    room.advance(0)
    assert Joined(reply).generation == 1


def test_nobody_new_means_no_longer_delay():
    room = Classic()
    first, second = room.join(version=3), room.join(version=3)
    room.advance(2 * DELAY_MS - 1)
    assert not first.answered
    room.advance(1)
    assert Joined(first).generation == Joined(second).generation == 1


def test_who_does_not_join_again_in_time_is_removed():
    room = Classic()
    leader, late = room.stable(2, session_timeout_ms=2 * REBALANCE_MS)
    reply = room.join(leader.member_id, session_timeout_ms=2 * REBALANCE_MS)
    room.advance(REBALANCE_MS - 1)
    assert not reply.answered
    room.advance(1)
    joined = Joined(reply)
    assert joined.generation == 2
    assert [member.member_id for member in joined.response.members] == [leader.member_id]
    assert room.heartbeat(late.member_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.join(late.member_id).code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_that_does_not_join_again_loses_the_lead():
    room = Classic()
    leader, follower = room.stable(2, session_timeout_ms=2 * REBALANCE_MS)
    reply = room.join(follower.member_id, protocols={"range": subscription("u")})
    room.advance(REBALANCE_MS)
    assert Joined(reply).leads
    assert leader.member_id not in room.group.members


def test_the_slowest_member_sets_the_time():
    room = Classic()
    replies = [
        room.join(version=3, rebalance_timeout_ms=timeout_ms, session_timeout_ms=200_000)
        for timeout_ms in (20_000, 100_000, 50_000)
    ]
    room.advance(2 * DELAY_MS)
    room.settle(sorted((Joined(reply) for reply in replies), key=lambda each: not each.leads))
    leader_id = room.group.leader_id
    assert leader_id is not None
    reply = room.join(leader_id, rebalance_timeout_ms=20_000, session_timeout_ms=200_000)
    room.advance(99_999)
    assert not reply.answered
    room.advance(1)
    assert Joined(reply).generation == 2


def test_if_nobody_joins_again_nobody_is_left():
    room = Classic()
    leader, *_ = room.stable(3, session_timeout_ms=2 * REBALANCE_MS)
    newcomer = room.join(version=3, session_timeout_ms=2 * REBALANCE_MS)
    room.advance(REBALANCE_MS)
    assert Joined(newcomer).leads
    assert set(room.group.members) == {Joined(newcomer).member_id}
    assert leader.member_id not in room.group.members


def test_timers_that_run_late_still_run_once():
    room = Classic()
    room.stable(2)
    before = len(room.machine.log)
    room.machine.jump(100 * REBALANCE_MS)
    assert (room.state, room.group.generation) == ("Empty", 2)
    assert len(room.machine.log) == before + 2
    room.machine.jump(100 * REBALANCE_MS)
    assert len(room.machine.log) == before + 2


def test_joins_wait_until_late_members_can_be_removed():
    room = Classic()
    leader, late = room.stable(2, session_timeout_ms=3 * REBALANCE_MS)
    reply = room.join(leader.member_id, session_timeout_ms=3 * REBALANCE_MS)
    room.machine.append_error = KafkaStorageError()
    room.advance(REBALANCE_MS + 10_000)
    assert not reply.answered
    assert late.member_id in room.group.members
    room.machine.append_error = None
    room.advance(TIMER_RETRY_MS)
    assert Joined(reply).generation == 2
    room.machine.reload()
    assert set(room.group.members) == {leader.member_id}


def test_members_that_do_not_sync_go_when_that_can_be_written():
    room = Classic()
    leader, *_ = room.stable(2, session_timeout_ms=3 * REBALANCE_MS)
    for member_id in list(room.group.members):
        room.join(member_id, session_timeout_ms=3 * REBALANCE_MS)
    room.sync(leader.member_id, 2, {})
    room.machine.append_error = KafkaStorageError()
    room.advance(REBALANCE_MS + 10_000)
    assert (room.state, len(room.group.members)) == ("Stable", 2)
    room.machine.append_error = None
    room.advance(TIMER_RETRY_MS)
    assert (room.state, set(room.group.members)) == ("PreparingRebalance", {leader.member_id})
    room.machine.reload()
    assert (room.state, set(room.group.members)) == ("PreparingRebalance", {leader.member_id})


def test_an_id_that_nobody_uses_does_not_cut_the_delay_short():
    room = Classic(group_initial_rebalance_delay_ms=20_000)
    reply = room.join(version=3)
    room.new_id_for(session_timeout_ms=6_000)
    room.advance(19_999)
    assert not reply.answered
    room.advance(1)
    assert Joined(reply).generation == 1
