"""What a follower asks its leader for, and what it makes of the answers; without a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.replication.fetch_state import (
    FetchSettings,
    FetchState,
    FindRange,
    Poll,
    Truncate,
    truncation_to_range,
)
from gralha.replication.partition import Partition
from gralha.storage.config import LogConfig
from tests.replication.parts import following
from tests.storage.disks import QuietDisk, failing
from tests.storage.logs import make_log

NOW_MS = 1_700_000_000_000
LEADER = 2


def new_partition(folder: Path, index: int = 0) -> Partition:
    partition = Partition(
        "t", bytes(range(16)), index, make_log(QuietDisk(), folder / f"folder{index}"), broker_id=1
    )
    follow_leader(partition, 1)
    return partition


def follow_leader(partition: Partition, epoch: int) -> None:
    partition.change_leader(LEADER, epoch, [1, 2], [1, 2], epoch)


@pytest.fixture
def partition(tmp_path: Path) -> Partition:
    return new_partition(tmp_path)


@pytest.fixture
def state(partition: Partition) -> FetchState:
    state = FetchState(1, lambda: 11, FetchSettings(backoff_ms=100), lanes=3)
    state.follow(partition)
    return state


def data(base_offset: int, count: int = 1, epoch: int = 1) -> PartitionData:
    sent = b"".join(
        encode_batch([Record(b"k", b"v", NOW_MS)], base_offset=base_offset + number, leader_epoch=epoch)
        for number in range(count)
    )
    return PartitionData(
        partition_index=0, high_watermark=99, log_start_offset=0, records=RecordBytes(sent, 0, len(sent))
    )


def answer(*partitions: PartitionData) -> FetchResponse:
    topic = FetchableTopicResponse(topic_id=bytes(range(16)), partitions=list(partitions))
    return FetchResponse(responses=[topic])


def asked(state: FetchState, now_ms: int = 0) -> Poll:
    poll = state.next_request(now_ms)
    assert poll is not None
    return poll


def test_it_asks_for_the_end_of_the_log_and_says_in_which_epoch_that_was_written(
    state: FetchState, partition: Partition
) -> None:
    assert state.answered(asked(state), answer(data(0, 3)), 0, NOW_MS) == []
    assert (partition.log.log_end_offset, partition.log.high_watermark) == (3, 3)
    follow_leader(partition, 4)
    state.follow(partition)
    request = asked(state).request
    assert request.replica_state is not None
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (1, 11)
    (wanted,) = request.topics[0].partitions
    assert (wanted.fetch_offset, wanted.last_fetched_epoch, wanted.current_leader_epoch) == (3, 1, 4)


def test_a_partition_is_in_one_request_at_a_time(state: FetchState, tmp_path: Path) -> None:
    first = asked(state)
    assert state.next_request(0) is None
    assert state.free_lane(0) is None
    state.follow(new_partition(tmp_path, 1))
    second = asked(state)
    assert [one.partition for one in second.request.topics[0].partitions] == [1]
    state.answered(first, answer(data(0)), 0, NOW_MS)
    assert list(asked(state).asked) == list(first.asked)


@pytest.mark.parametrize("event", ["a new epoch", "it leads itself", "it is forgotten"])
def test_an_answer_from_another_time_is_not_taken(
    state: FetchState, partition: Partition, event: str
) -> None:
    poll = asked(state)
    if event == "a new epoch":
        follow_leader(partition, 2)
        state.follow(partition)
    elif event == "it leads itself":
        partition.change_leader(1, 2, [1, 2], [1, 2], 2)
    else:
        state.forget(partition)
    diverging = PartitionData(diverging_epoch=EpochEndOffset(epoch=0, end_offset=0))
    for late in (data(0), diverging, PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)):
        assert state.answered(poll, answer(late), 0, NOW_MS) == []
    assert partition.log.log_end_offset == 0


def test_what_does_not_fit_the_end_of_the_log_is_not_appended(
    state: FetchState, partition: Partition
) -> None:
    poll = asked(state)
    following(partition).append(data(0).records, 0, 0, NOW_MS)
    state.answered(poll, answer(data(0, 2)), 0, NOW_MS)
    assert partition.log.log_end_offset == 1


def test_after_an_error_it_waits_longer_and_longer(state: FetchState) -> None:
    now_ms = 0
    pauses = []
    for _ in range(5):
        poll = asked(state, now_ms)
        refused = PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        state.answered(poll, answer(refused), now_ms, NOW_MS)
        resume_ms = state.next_resume_ms(now_ms)
        assert resume_ms is not None
        assert state.next_request(resume_ms - 1) is None
        pauses.append(resume_ms - now_ms)
        now_ms = resume_ms
    assert pauses == [20, 40, 80, 100, 100]
    state.answered(asked(state, now_ms), answer(data(0)), now_ms, NOW_MS)
    state.failed(asked(state, now_ms), now_ms)
    assert state.next_resume_ms(now_ms) == now_ms + 20


@pytest.mark.parametrize("response", [FetchResponse(error_code=ErrorCode.UNKNOWN_TOPIC_ID), answer()])
def test_without_an_answer_for_the_partition_it_tries_again_later(
    state: FetchState, response: FetchResponse
) -> None:
    assert state.answered(asked(state), response, 0, NOW_MS) == []
    assert state.next_request(0) is None
    assert state.next_request(20) is not None


def test_damaged_records_are_asked_for_again(state: FetchState, partition: Partition) -> None:
    damaged = data(0)
    assert damaged.records is not None
    damaged.records = RecordBytes(damaged.records.data[:-1] + b"x", 0, damaged.records.end)
    assert state.answered(asked(state), answer(damaged), 0, NOW_MS) == []
    assert partition.log.log_end_offset == 0
    assert state.next_request(20) is not None


def test_logs_that_part_are_cut_before_anything_else_is_asked(
    state: FetchState, partition: Partition
) -> None:
    state.answered(asked(state), answer(data(0, 3)), 0, NOW_MS)
    parted = data(3)
    parted.diverging_epoch = EpochEndOffset(epoch=1, end_offset=2)
    (work,) = state.answered(asked(state), answer(parted), 0, NOW_MS)
    assert isinstance(work, Truncate)
    assert work.offset == 2
    assert (partition.log.log_end_offset, state.next_request(0)) == (3, None)
    state.resumed(work.fetched, 0, True)
    assert state.next_request(0) is not None


def test_with_flush_messages_a_record_is_on_the_disk_before_the_next_is_asked_for(
    state: FetchState, partition: Partition
) -> None:
    partition.log.config = LogConfig({"flush.messages": "1"})
    woken: list[bool] = []
    following(partition).on_vouching = lambda: woken.append(state.free_lane(0) is not None)
    state.answered(asked(state), answer(data(0, 2)), 0, NOW_MS)
    assert state.next_request(0) is None
    partition.log.flush()
    assert partition.log.on_flushed is not None
    partition.log.on_flushed()
    assert woken == [True]
    assert asked(state).request.topics[0].partitions[0].fetch_offset == 2


def test_partitions_that_flush_share_a_lane_which_waits_for_their_flushes(tmp_path: Path) -> None:
    """If the lane asked for the others meanwhile, the flushed one would wait for the end of a long poll."""
    state = FetchState(1, lambda: 11, FetchSettings(), lanes=3)
    partitions = [new_partition(tmp_path, index) for index in range(4)]
    for partition in partitions[2:]:
        partition.log.config = LogConfig({"flush.messages": "1"})
    for partition in partitions:
        state.follow(partition)
    ordinary, flushing = asked(state), asked(state)
    assert [
        [one.partition for one in poll.request.topics[0].partitions] for poll in (ordinary, flushing)
    ] == [
        [0, 1],
        [2, 3],
    ]
    got = data(0, 2)
    got.partition_index = 2
    response = answer(got, PartitionData(partition_index=3))
    response.session_id = 5
    state.answered(flushing, response, 0, NOW_MS)
    assert state.next_request(0) is None
    partitions[2].log.flush()
    again = asked(state)
    assert again.lane is flushing.lane
    assert [(one.partition, one.fetch_offset) for one in again.request.topics[0].partitions] == [(2, 2)]


def test_a_lane_does_not_wait_for_a_partition_that_has_left_it(
    state: FetchState, partition: Partition
) -> None:
    partition.log.config = LogConfig({"flush.messages": "1"})
    state.answered(asked(state), answer(data(0, 2)), 0, NOW_MS)
    assert state.next_request(0) is None
    follow_leader(partition, 2)
    state.follow(partition)
    partition.log.flush()
    assert asked(state).request.topics[0].partitions[0].current_leader_epoch == 2


def test_who_is_out_of_range_asks_for_the_range(state: FetchState) -> None:
    out_of_range = PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    (work,) = state.answered(asked(state), answer(out_of_range), 0, NOW_MS)
    assert isinstance(work, FindRange)
    state.resumed(work.fetched, 0, False)
    assert state.next_request(0) is None
    assert state.next_request(20) is not None


def test_who_was_answered_with_records_goes_last(state: FetchState, tmp_path: Path) -> None:
    state.follow(new_partition(tmp_path, 1))
    quiet = PartitionData(partition_index=1, high_watermark=0)
    state.answered(asked(state), answer(data(0), quiet), 0, NOW_MS)
    assert [one.partition for one in asked(state).request.topics[0].partitions] == [1, 0]


@pytest.mark.parametrize(
    ("end", "leader_start", "leader_end", "cut"),
    [(10, 0, 7, (7, False)), (10, 12, 20, (12, True)), (10, 5, 20, (10, False)), (10, 10, 10, (10, False))],
)
def test_where_a_log_outside_of_the_leaders_is_cut(
    end: int, leader_start: int, leader_end: int, cut: tuple[int, bool]
) -> None:
    assert truncation_to_range(end, leader_start, leader_end) == cut


def corrupt(base_offset: int) -> PartitionData:
    found = data(base_offset)
    assert found.records is not None
    bytes_ = bytearray(found.records.to_bytes())
    bytes_[-1] ^= 1
    found.records = RecordBytes(bytes(bytes_), 0, len(bytes_))
    return found


def test_records_that_cannot_be_appended_are_told_of_once_and_asked_for_again(
    state: FetchState, partition: Partition, caplog: pytest.LogCaptureFixture
) -> None:
    now_ms = 0
    for _ in range(50):
        assert state.answered(asked(state, now_ms), answer(corrupt(0)), now_ms, NOW_MS) == []
        assert state.next_request(now_ms) is None, "it waits"
        now_ms += 100
    assert partition.log.log_end_offset == 0
    (line,) = caplog.messages
    assert "t-0 cannot append the records from offset 0 on that broker 2 sent" in line
    assert "Record is corrupt" in line
    state.answered(asked(state, now_ms), answer(data(0)), now_ms, NOW_MS)
    assert partition.log.log_end_offset == 1
    state.answered(asked(state, now_ms), answer(corrupt(1)), now_ms, NOW_MS)
    assert "from offset 1" in caplog.messages[-1], "the next trouble is news again"


def test_a_disk_that_fails_is_told_of(
    state: FetchState, partition: Partition, caplog: pytest.LogCaptureFixture
) -> None:
    disk = partition.log.disk
    assert isinstance(disk, QuietDisk)
    disk.before = failing("append", ".log")
    state.answered(asked(state), answer(data(0)), 0, NOW_MS)
    (line,) = caplog.messages
    assert "t-0 cannot append" in line
    assert "the test says so" in line
