"""OffsetCommit: who may commit what, and what is written."""

from collections.abc import Callable

import pytest
from tests.groups.harness import START_MS
from tests.groups.offset_room import FakeGroup, FakeTopics, OffsetMachine, commit_request

from gralha.groups.group import GroupType
from gralha.groups.records import GroupRecord
from gralha.protocol.errors import ErrorCode, KafkaStorageError, NotCoordinatorError, StaleMemberEpochError
from gralha.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from gralha.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from gralha.protocol.primitives import ZERO_UUID


@pytest.fixture
def topics() -> FakeTopics:
    return FakeTopics("a", "b")


@pytest.fixture
def machine(topics: FakeTopics) -> OffsetMachine:
    return OffsetMachine(topics)


def test_commit_is_fetched(machine: OffsetMachine) -> None:
    assert machine.commit(commit_request("a", {0: 10, 2: 12}, metadata="m")) == [0, 0]
    assert machine.fetched("g") == {("a", 0): (10, "m"), ("a", 2): (12, "m")}


def test_simple_consumer_makes_an_empty_group_by_its_first_record(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 10}))
    assert machine.room.groups["g"].is_empty
    assert [type(record.key) for record in machine.log] == [OffsetCommitKey]


def test_refused_commit_makes_no_group(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 10}, metadata="x" * 21))
    assert machine.room.groups == {}


def test_record_says_everything_about_the_commit(machine: OffsetMachine, topics: FakeTopics) -> None:
    topic = topics.by_name("a")
    assert topic is not None
    machine.commit(commit_request("a", {1: 10}, leader_epoch=7, metadata="m"))
    assert machine.log == [
        GroupRecord(
            OffsetCommitKey(group="g", topic="a", partition=1),
            OffsetCommitValue(
                offset=10, leader_epoch=7, metadata="m", commit_timestamp=START_MS, topic_id=topic.id
            ),
        )
    ]


def test_last_of_two_commits_to_a_partition_counts(machine: OffsetMachine) -> None:
    request = OffsetCommitRequest(
        group_id="g",
        topics=[
            OffsetCommitRequestTopic(
                name="a",
                partitions=[OffsetCommitRequestPartition(0, 5), OffsetCommitRequestPartition(0, 3)],
            )
        ],
    )
    assert machine.commit(request) == [0, 0]
    assert machine.fetched("g") == {("a", 0): (3, "")}


def test_null_metadata_is_kept_as_none_at_all(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 10}, metadata=None))
    assert machine.fetched("g") == {("a", 0): (10, "")}


@pytest.mark.parametrize("metadata", ["x" * 20, "é" * 20, "🐦" * 10])
def test_metadata_up_to_the_limit_in_characters_of_java(machine: OffsetMachine, metadata: str) -> None:
    assert machine.commit(commit_request("a", {0: 10}, metadata=metadata)) == [0]
    too_large = commit_request("a", {0: 11}, metadata=metadata + "x")
    assert machine.commit(too_large) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert machine.fetched("g") == {("a", 0): (10, metadata)}


def test_too_much_metadata_concerns_its_partition_only(machine: OffsetMachine) -> None:
    request = commit_request("a", {0: 10, 1: 11})
    request.topics[0].partitions[0].committed_metadata = "x" * 21
    assert machine.commit(request) == [ErrorCode.OFFSET_METADATA_TOO_LARGE, 0]
    assert machine.fetched("g") == {("a", 1): (11, "")}


# Topics


def test_unknown_topics_and_partitions_do_not_stop_the_others(machine: OffsetMachine) -> None:
    request = commit_request("a", {-1: 1, 0: 2, 3: 3})
    request.topics += commit_request("none", {0: 4}).topics
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert machine.commit(request) == [unknown, 0, unknown, unknown]
    assert machine.fetched("g") == {("a", 0): (2, "")}


def test_topics_by_id_from_version_10_on(machine: OffsetMachine, topics: FakeTopics) -> None:
    topic = topics.by_name("b")
    assert topic is not None
    request = commit_request("", {0: 1, 3: 2}, topic_id=topic.id)
    request.topics += commit_request("", {0: 3}, topic_id=b"?" * 16).topics
    request.topics += commit_request("b", {0: 4}, topic_id=ZERO_UUID).topics
    codes = [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID]
    assert machine.commit(request, version=10) == codes
    assert machine.fetched("g") == {("b", 0): (1, "")}


def test_group_is_not_asked_about_topics_that_do_not_exist(machine: OffsetMachine) -> None:
    request = commit_request("none", {0: 1}, generation=5)
    assert machine.commit(request) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


# Members


def test_generation_of_an_unknown_group(machine: OffsetMachine) -> None:
    request = commit_request("a", {0: 1}, member_id="m", generation=0)
    assert machine.commit(request, version=8) == [ErrorCode.ILLEGAL_GENERATION]
    assert machine.commit(request, version=9) == [ErrorCode.GROUP_ID_NOT_FOUND]
    assert machine.log == []


def test_members_commit_in_their_generation(machine: OffsetMachine) -> None:
    machine.join("g", "m", generation=4)
    assert machine.commit(commit_request("a", {0: 1}, member_id="m", generation=4)) == [0]
    stale = commit_request("a", {0: 2}, member_id="m", generation=3)
    assert machine.commit(stale) == [ErrorCode.ILLEGAL_GENERATION]
    unknown = commit_request("a", {0: 3}, member_id="n", generation=4)
    assert machine.commit(unknown) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert machine.commit(commit_request("a", {0: 4})) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert machine.fetched("g") == {("a", 0): (1, "")}


def test_error_of_the_group_does_not_hide_unknown_topics(machine: OffsetMachine) -> None:
    machine.join("g", "m", generation=4)
    request = commit_request("a", {0: 1, 1: 1}, member_id="m", generation=3)
    request.topics[0].partitions[0].committed_metadata = "x" * 21
    request.topics += commit_request("none", {0: 1}).topics
    stale = ErrorCode.ILLEGAL_GENERATION
    assert machine.commit(request) == [stale, stale, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_commit_counts_as_a_heartbeat(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1}))
    machine.join("g", "m", generation=4)
    machine.commit(commit_request("a", {0: 1}, member_id="m", generation=3))
    machine.advance(5)
    machine.commit(commit_request("a", {0: 1}, member_id="m", generation=4))
    assert machine.room.touched == [("g", "m", START_MS + 5)]


def test_commit_to_a_consumer_group_is_no_heartbeat(machine: OffsetMachine) -> None:
    machine.join("g", "m")
    machine.room.groups["g"].type = GroupType.CONSUMER
    machine.commit(commit_request("a", {0: 1}, member_id="m", generation=1))
    assert machine.room.touched == []


class PickyGroup(FakeGroup):
    """Lets a member commit to partition 0 of each topic only, as a consumer group does after a revocation."""

    def check_offset_commit(self, *_: object) -> Callable[[str, bytes, int], None]:
        return self._check_partition

    def _check_partition(self, topic: str, topic_id: bytes, partition: int) -> None:
        assert (topic, topic_id) == ("b", (2).to_bytes(16, "big"))
        if partition != 0:
            raise StaleMemberEpochError


@pytest.mark.parametrize(
    ("name", "topic_id", "version"), [("b", ZERO_UUID, 9), ("", (2).to_bytes(16, "big"), 10)]
)
def test_group_may_refuse_single_partitions_and_then_all_fail(
    machine: OffsetMachine, name: str, topic_id: bytes, version: int
) -> None:
    machine.room.groups["g"] = PickyGroup("g")
    assert machine.commit(commit_request(name, {0: 1}, topic_id=topic_id), version) == [0]
    refused = commit_request(name, {0: 2, 1: 2}, topic_id=topic_id)
    assert machine.commit(refused, version) == [ErrorCode.STALE_MEMBER_EPOCH] * 2
    assert machine.fetched("g") == {("b", 0): (1, "")}


# The log


def test_failed_append_leaves_what_was_committed(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1}))
    machine.append_error = KafkaStorageError()
    with pytest.raises(NotCoordinatorError):
        machine.commit(commit_request("a", {0: 2, 1: 2}))
    with pytest.raises(NotCoordinatorError):
        machine.commit(commit_request("a", {0: 2}, group_id="h"))
    assert machine.fetched("g") == {("a", 0): (1, "")}
    assert "h" not in machine.room.groups


def test_offsets_come_back_after_a_reload(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1, 1: 1}, metadata="m"))
    machine.commit(commit_request("a", {0: 2}, group_id="h"))
    machine.commit(commit_request("a", {0: 3}))
    machine.reload()
    assert machine.fetched("g") == {("a", 0): (3, ""), ("a", 1): (1, "m")}
    assert machine.fetched("h") == {("a", 0): (2, "")}
    assert machine.room.groups["g"].is_empty


def test_offsets_of_a_topic_that_is_gone_are_loaded_nevertheless(
    machine: OffsetMachine, topics: FakeTopics
) -> None:
    machine.commit(commit_request("a", {0: 1}))
    topics.delete("a")
    machine.reload()
    assert machine.fetched("g") == {("a", 0): (1, "")}


def test_loaded_offsets_share_the_id_of_their_topic(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1, 1: 1}))
    machine.commit(commit_request("a", {0: 1}, group_id="h"))
    machine.reload()
    found = [
        machine.room.offsets.committed(*where) for where in [("g", "a", 0), ("g", "a", 1), ("h", "a", 0)]
    ]
    assert len({id(each.topic_id) for each in found if each is not None}) == 1


def test_tombstone_of_an_unknown_offset_is_passed_over(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1}))
    for group, topic, partition in [("g", "a", 1), ("g", "b", 0), ("h", "a", 0)]:
        machine.write(GroupRecord(OffsetCommitKey(group, topic, partition), None))
    assert machine.fetched("g") == {("a", 0): (1, "")}
    assert "h" not in machine.room.groups


def test_retention_time_of_old_clients_is_written_down(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1}, retention_time_ms=500), version=4)
    machine.commit(commit_request("a", {1: 1}, retention_time_ms=(1 << 63) - 1), version=4)
    machine.reload()
    kept = [machine.room.offsets.committed("g", "a", partition) for partition in (0, 1)]
    assert [found and found.expire_timestamp_ms for found in kept] == [START_MS + 500, (1 << 63) - 1]
