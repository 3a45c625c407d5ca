"""A follower's fetch session with its leader: each side says, and looks at, what has changed, no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gralha.broker.fetching.long_poll import LongPoll
from gralha.broker.fetching.session import FollowerSession
from gralha.broker.fetching.sessions import EVICTION_MS, READ_ALL_MS
from gralha.broker.handlers import fetch
from gralha.broker.pipeline import Deferred, RequestContext
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ReplicaState,
)
from tests.replication.pair import FOLLOWER, LAG_TIME_MAX_MS, LEADER, NOW_MS, PARTITIONS, PEER, TOPIC_ID, Pair
from tests.replication.parts import waiting_for_end, waiting_for_high_watermark
from tests.storage.disks import QuietDisk


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    pair = Pair(tmp_path)
    yield pair
    pair.close()


def test_only_what_has_changed_is_named(pair: Pair) -> None:
    everything = list(range(PARTITIONS))
    assert pair.round() == (everything, everything)
    assert pair.round() == ([], [])
    pair.append(7)
    assert pair.round() == ([], [7])
    assert pair.followed[7].log.log_end_offset == 1
    # It tells the leader that it has it; the high watermark moves, and the answer says so.
    assert pair.round() == ([7], [7])
    assert (pair.led[7].log.high_watermark, pair.followed[7].log.high_watermark) == (1, 1)
    assert pair.round() == ([], [])


def test_what_does_not_fit_into_a_response_comes_with_the_next(pair: Pair) -> None:
    """The first batch of partition 2 is larger than what is left of the response, which is not nothing."""
    pair.round()
    pair.append(1, 100)
    pair.append(2, 15_000)
    pair.append(3, 100)
    assert pair.round() == ([], [1, 3])
    assert pair.round() == ([1, 3], [2, 1, 3])
    assert [pair.followed[index].log.log_end_offset for index in (1, 2, 3)] == [1, 1, 1]


async def test_a_leader_whose_epoch_ends_during_a_read_in_a_thread_sends_nothing(pair: Pair) -> None:
    """Its log may have records of the next leader by then."""
    pair.round()
    pair.append(0)
    led = pair.led[0]
    disk = led.log.disk
    assert isinstance(disk, QuietDisk)

    def lose_leadership(path: str) -> None:
        disk.after_read = None
        led.change_leader(FOLLOWER, 2, [LEADER, FOLLOWER], [FOLLOWER], 2)

    disk.cold, disk.after_read = True, lose_leadership
    answer = fetch.handle(pair.broker, RequestContext(PEER, 18, None), pair.ask().request)  # type: ignore[arg-type]
    assert isinstance(answer, Deferred)
    response = await answer
    assert isinstance(response, FetchResponse)
    (topic,) = response.responses
    assert [(data.partition_index, data.error_code) for data in topic.partitions] == [
        (0, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    ]


def test_the_leader_looks_at_no_other_partition(pair: Pair) -> None:
    pair.round()
    pair.append(3)
    looked_at = pair.session().changed
    assert [wanted.index for wanted in looked_at] == [3]


def test_a_session_that_the_leader_has_lost_is_made_anew_at_once(pair: Pair) -> None:
    pair.round()
    pair.sessions.end(pair.session().id)
    pair.append(3)
    poll = pair.ask()
    response = pair.serve(poll.request)
    assert response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert pair.state.answered(poll, response, 0, NOW_MS) == []
    asked, told = pair.round()
    assert (len(asked), len(told)) == (PARTITIONS, PARTITIONS)
    assert pair.followed[3].log.log_end_offset == 1


def test_after_a_lost_answer_the_old_session_ends_with_the_next_request(pair: Pair) -> None:
    pair.round()
    poll = pair.ask()
    pair.append(3)
    pair.serve(poll.request)
    pair.state.failed(poll, pair.now_ms)
    pair.now_ms += 100
    asked, _ = pair.round()
    assert len(asked) == PARTITIONS
    assert len(pair.sessions) == 1
    assert pair.followed[3].log.log_end_offset == 1
    assert [waiting_for_end(partition) for partition in pair.led.values()] == [1] * PARTITIONS


def test_without_room_for_a_session_all_are_named_each_time(pair: Pair) -> None:
    pair.sessions._max_sessions = 0
    for _ in range(2):
        asked, told = pair.round()
        assert (len(asked), len(told)) == (PARTITIONS, PARTITIONS)


def test_a_follower_takes_the_place_of_a_consumer_and_not_the_other_way_round(pair: Pair) -> None:
    pair.sessions._max_sessions = 1
    topics = [FetchTopic("t", TOPIC_ID, [FetchPartition(index) for index in range(PARTITIONS)])]
    consumer = FetchRequest(session_epoch=0, max_wait_ms=0, topics=topics)
    assert pair.serve(consumer).session_id != 0
    pair.round()
    assert pair.session().replica_id == FOLLOWER
    pair.now_ms += EVICTION_MS
    pair.round()
    assert pair.serve(consumer).session_id == 0
    assert pair.session().replica_id == FOLLOWER


def test_a_partition_that_is_forgotten_leaves_the_session(pair: Pair) -> None:
    pair.round()
    pair.state.forget(pair.followed[5])
    poll = pair.ask()
    assert [topic.partitions for topic in poll.request.forgotten_topics_data] == [[5]]
    pair.state.answered(poll, pair.serve(poll.request), 0, NOW_MS)
    assert (waiting_for_end(pair.led[5]), waiting_for_high_watermark(pair.led[5])) == (0, 0)
    pair.append(5)
    assert pair.round() == ([], [])


def test_after_an_error_it_is_left_out_and_comes_back(pair: Pair) -> None:
    pair.round()
    pair.led[5].change_leader(LEADER, 2, [LEADER, FOLLOWER], [LEADER, FOLLOWER], 2)
    assert pair.round() == ([], [5])
    poll = pair.ask()
    assert [topic.partitions for topic in poll.request.forgotten_topics_data] == [[5]]
    pair.state.answered(poll, pair.serve(poll.request), 0, NOW_MS)
    pair.followed[5].change_leader(LEADER, 2, [LEADER, FOLLOWER], [LEADER, FOLLOWER], 2)
    pair.state.follow(pair.followed[5])
    assert pair.round() == ([5], [5])
    pair.append(5)
    assert pair.round() == ([], [5])


def test_a_new_epoch_that_the_follower_hears_of_first_replaces_what_the_session_has(pair: Pair) -> None:
    pair.round()
    pair.followed[5].change_leader(LEADER, 2, [LEADER, FOLLOWER], [LEADER, FOLLOWER], 2)
    pair.state.follow(pair.followed[5])
    pair.led[5].change_leader(LEADER, 2, [LEADER, FOLLOWER], [LEADER, FOLLOWER], 2)
    poll = pair.ask()
    assert poll.request.forgotten_topics_data == []
    assert [one.current_leader_epoch for one in poll.request.topics[0].partitions] == [2]
    pair.state.answered(poll, pair.serve(poll.request), 0, NOW_MS)
    pair.append(5)
    assert pair.round() == ([], [5])


def test_who_fetches_in_a_session_has_caught_up_with_idle_partitions(pair: Pair) -> None:
    pair.round()
    for _ in range(10):
        pair.now_ms += LAG_TIME_MAX_MS
        pair.round()
    pair.append(4)
    pair.now_ms += LAG_TIME_MAX_MS
    follower = pair.led[4].led().followers[FOLLOWER]
    assert follower.is_caught_up(1, pair.now_ms, LAG_TIME_MAX_MS)
    assert not follower.is_caught_up(1, pair.now_ms + 1, LAG_TIME_MAX_MS)


def test_a_session_does_not_vouch_for_a_partition_that_has_left_it(pair: Pair) -> None:
    pair.round()
    pair.state.forget(pair.followed[4])
    pair.round()
    pair.now_ms += LAG_TIME_MAX_MS
    pair.round()
    pair.append(4)
    pair.now_ms += 1
    assert not pair.led[4].led().followers[FOLLOWER].is_caught_up(1, pair.now_ms, LAG_TIME_MAX_MS)
    pair.append(6)
    assert pair.led[6].led().followers[FOLLOWER].is_caught_up(1, pair.now_ms, LAG_TIME_MAX_MS)


def test_a_follower_that_was_registered_anew_is_noted_for_all_its_partitions(pair: Pair) -> None:
    pair.round()
    pair.epoch = 11
    pair.round()
    assert {partition.led().followers[FOLLOWER].broker_epoch for partition in pair.led.values()} == {11}


def test_the_start_of_a_log_is_told_before_long(pair: Pair) -> None:
    for _ in range(2):
        pair.append(2)
    pair.round()
    pair.round()
    pair.led[2].log.increment_log_start_offset(1)
    pair.now_ms += READ_ALL_MS + 1
    assert pair.round() == ([], [2])
    assert pair.followed[2].log.log_start_offset == 1
    assert pair.round()[0] == [2]
    assert pair.led[2].led().low_watermark() == 1


async def test_a_waiting_request_is_woken_by_records_and_not_by_the_high_watermark(pair: Pair) -> None:
    pair.round()
    poll = pair.ask()
    poll.request.max_wait_ms = 10_000
    answer = fetch.handle(pair.broker, RequestContext(PEER, 18, None), poll.request)  # type: ignore[arg-type]
    assert isinstance(answer, Deferred)
    session = pair.session()
    waiting = session.waiting
    assert isinstance(waiting, LongPoll)
    pair.led[9].set_high_watermark(0)
    assert [one.index for one in session.changed] == [9]
    awake = [waiting.is_awake]
    pair.append(8)
    assert [*awake, waiting.is_awake] == [False, True]
    response = await answer
    assert isinstance(response, FetchResponse)
    assert [one.partition_index for one in response.responses[0].partitions] == [8]


async def test_a_follower_that_hangs_up_leaves_nothing_behind(pair: Pair) -> None:
    pair.round()
    poll = pair.ask()
    poll.request.max_wait_ms = 10_000
    answer = fetch.handle(pair.broker, RequestContext(PEER, 18, None), poll.request)  # type: ignore[arg-type]
    assert isinstance(answer, Deferred)
    answer.abandon()
    assert len(pair.sessions) == 0
    assert not any(waiting_for_end(partition) for partition in pair.led.values())
    assert not any(waiting_for_high_watermark(partition) for partition in pair.led.values())


def test_a_consumer_is_no_follower(pair: Pair) -> None:
    request = FetchRequest(
        session_epoch=0,
        max_wait_ms=0,
        replica_state=ReplicaState(-1, -1),
        topics=[FetchTopic("t", TOPIC_ID, [FetchPartition(0)])],
    )
    assert pair.serve(request).session_id != 0
    (session,) = pair.sessions._sessions.values()
    assert not isinstance(session, FollowerSession)
    assert (waiting_for_end(pair.led[0]), waiting_for_high_watermark(pair.led[0])) == (0, 0)
