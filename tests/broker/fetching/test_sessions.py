"""Fetch sessions (KIP-227): shorter requests, shorter responses, and the eviction of sessions."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from gralha.broker.fetching.sessions import (
    EVICTION_MS,
    FetchSessions,
    Plan,
)
from gralha.protocol.errors import ErrorCode
from gralha.protocol.fetch_numbers import FINAL_EPOCH, INITIAL_EPOCH
from gralha.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from gralha.protocol.primitives import RecordBytes

NOW_MS = 1_000_000


def request(
    session_id: int, epoch: int, partitions: dict[int, int], forgotten: list[int] | None = None
) -> FetchRequest:
    wanted = [FetchPartition(partition=index, fetch_offset=offset) for index, offset in partitions.items()]
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic(topic="t", partitions=wanted)] if wanted else [],
        forgotten_topics_data=[ForgottenTopic(topic="t", partitions=forgotten)] if forgotten else [],
    )


def offsets(plan: Plan) -> dict[int, int]:
    return {wanted.index: wanted.fetch_offset for wanted in plan.wanted}


def new_sessions(max_sessions: int = 10) -> FetchSessions:
    return FetchSessions(max_sessions, Random(1))


def test_an_incremental_request_names_only_what_changed() -> None:
    sessions = new_sessions()
    first = sessions.begin(request(0, INITIAL_EPOCH, {0: 5, 1: 6, 2: 7}), 12, NOW_MS)
    assert not first.incremental
    second = sessions.begin(request(first.session_id(), 1, {1: 60, 3: 0}, forgotten=[2]), 12, NOW_MS)
    assert second.incremental
    assert offsets(second) == {0: 5, 1: 60, 3: 0}
    assert offsets(sessions.begin(request(first.session_id(), 2, {}), 12, NOW_MS)) == {0: 5, 1: 60, 3: 0}


def test_a_wrong_epoch_an_unknown_session_and_another_naming_are_errors() -> None:
    sessions = new_sessions()
    plan = sessions.begin(request(0, INITIAL_EPOCH, {0: 0}), 12, NOW_MS)
    assert (
        sessions.begin(request(plan.session_id(), 2, {}), 12, NOW_MS).error_code
        == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    )
    assert sessions.begin(request(plan.session_id() ^ 1, 1, {}), 12, NOW_MS).error_code == (
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    )
    by_id = sessions.begin(request(plan.session_id(), 1, {}), 13, NOW_MS)
    assert by_id.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_the_final_epoch_ends_the_session_and_still_reads() -> None:
    sessions = new_sessions()
    plan = sessions.begin(request(0, INITIAL_EPOCH, {0: 0}), 12, NOW_MS)
    last = sessions.begin(request(plan.session_id(), FINAL_EPOCH, {0: 9}), 12, NOW_MS)
    assert (offsets(last), last.session_id(), len(sessions)) == ({0: 9}, 0, 0)


def test_a_session_without_partitions_is_dropped() -> None:
    sessions = new_sessions()
    plan = sessions.begin(request(0, INITIAL_EPOCH, {0: 0}), 12, NOW_MS)
    empty = sessions.begin(request(plan.session_id(), 1, {}, forgotten=[0]), 12, NOW_MS)
    assert (empty.error_code, empty.wanted, len(sessions)) == (0, [], 0)


def test_only_news_is_told() -> None:
    wanted = new_sessions().begin(request(0, INITIAL_EPOCH, {0: 0}), 12, NOW_MS).wanted[0]
    quiet = PartitionData(high_watermark=5, log_start_offset=0)
    assert wanted.has_news(quiet)
    assert not wanted.has_news(quiet)
    assert wanted.has_news(PartitionData(high_watermark=6, log_start_offset=0))
    assert wanted.has_news(PartitionData(high_watermark=6, log_start_offset=3))
    assert wanted.has_news(
        PartitionData(high_watermark=6, log_start_offset=3, records=RecordBytes(b"batch", 0, 5))
    )
    assert wanted.has_news(PartitionData(high_watermark=6, log_start_offset=3, error_code=6))
    # After an error even an unchanged partition is news, once.
    assert wanted.has_news(PartitionData(high_watermark=6, log_start_offset=3))
    assert not wanted.has_news(PartitionData(high_watermark=6, log_start_offset=3))


def test_partitions_that_were_served_go_last() -> None:
    sessions = new_sessions()
    plan = sessions.begin(request(0, INITIAL_EPOCH, {0: 0, 1: 0, 2: 0}), 12, NOW_MS)
    assert plan.session is not None
    plan.session.answered([plan.wanted[0]])
    again = sessions.begin(request(plan.session_id(), 1, {}), 12, NOW_MS)
    assert [wanted.index for wanted in again.wanted] == [1, 2, 0]


def test_a_full_cache_makes_room_only_for_good_reason() -> None:
    sessions = new_sessions(max_sessions=1)
    small = sessions.begin(request(0, INITIAL_EPOCH, {0: 0}), 12, NOW_MS)
    # The sessions are young and in use: the new client gets no session, but gets its records.
    refused = sessions.begin(request(0, INITIAL_EPOCH, {0: 0, 1: 0}), 12, NOW_MS + 1)
    assert (refused.session_id(), offsets(refused)) == (0, {0: 0, 1: 0})
    # Not young any more, in use, but smaller than the newcomer.
    later = NOW_MS + EVICTION_MS + 1
    sessions.begin(request(small.session_id(), 1, {}), 12, later)
    larger = sessions.begin(request(0, INITIAL_EPOCH, {0: 0, 1: 0}), 12, later)
    assert larger.session_id() != 0
    # A session that was unused for long is replaced by any new one.
    assert sessions.begin(request(0, INITIAL_EPOCH, {0: 0}), 12, later + EVICTION_MS + 1).session_id() != 0
    assert len(sessions) == 1


def test_all_sessions_together_remember_a_bounded_number_of_partitions() -> None:
    sessions = new_sessions(max_sessions=1000)
    first = sessions.begin(request(0, INITIAL_EPOCH, dict.fromkeys(range(150_000), 0)), 12, NOW_MS)
    assert first.session_id() != 0
    many = dict.fromkeys(range(60_000), 0)
    refused = sessions.begin(request(0, INITIAL_EPOCH, many), 12, NOW_MS)
    assert (refused.session_id(), len(refused.wanted)) == (0, 60_000)
    # The large one stays unused, and then makes room.
    later = sessions.begin(request(0, INITIAL_EPOCH, many), 12, NOW_MS + EVICTION_MS + 1)
    assert later.session_id() != 0
    assert len(sessions) == 1
    # A session cannot grow past the limit, either.
    grown = request(later.session_id(), 1, dict.fromkeys(range(60_000, 250_000), 0))
    assert (
        sessions.begin(grown, 12, NOW_MS + EVICTION_MS + 2).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    )
    assert len(sessions) == 0


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.integers(0, 5), st.integers(0, 9), max_size=4),
            st.sets(st.integers(0, 5), max_size=3),
        ),
        max_size=10,
    )
)
def test_a_session_remembers_as_a_dict_would(steps: list[tuple[dict[int, int], set[int]]]) -> None:
    sessions = new_sessions()
    model = {9: 1}
    plan = sessions.begin(request(0, INITIAL_EPOCH, model), 12, NOW_MS)
    session_id = plan.session_id()
    for epoch, (update, forget) in enumerate(steps, start=1):
        forget = forget - set(update)
        plan = sessions.begin(request(session_id, epoch, update, sorted(forget)), 12, NOW_MS)
        model = {index: offset for index, offset in {**model, **update}.items() if index not in forget}
        assert plan.error_code == 0
        assert offsets(plan) == model


def test_names_that_no_topic_can_have_are_not_kept() -> None:
    sessions = new_sessions()
    impossible = request(0, INITIAL_EPOCH, {0: 0})
    impossible.topics[0].topic = "t" * 250
    assert sessions.begin(impossible, 12, NOW_MS).session_id() == 0
    plan = sessions.begin(request(0, INITIAL_EPOCH, {0: 0}), 12, NOW_MS)
    impossible.session_id, impossible.session_epoch = plan.session_id(), 1
    assert sessions.begin(impossible, 12, NOW_MS).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(sessions) == 0
