"""OffsetDelete, and the offsets of topics that are deleted."""

import pytest
from tests.groups.offset_room import FakeTopics, OffsetMachine, commit_request

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)


@pytest.fixture
def topics() -> FakeTopics:
    return FakeTopics("a", "b")


@pytest.fixture
def machine(topics: FakeTopics) -> OffsetMachine:
    machine = OffsetMachine(topics)
    machine.commit(commit_request("a", {0: 10, 1: 11}))
    machine.commit(commit_request("b", {0: 20}))
    return machine


def delete(machine: OffsetMachine, group_id: str, topic: str, *partitions: int) -> int | list[int]:
    """The error code of the request, or those of its partitions."""
    indexes = [OffsetDeleteRequestPartition(partition) for partition in partitions]
    request = OffsetDeleteRequest(group_id, [OffsetDeleteRequestTopic(topic, indexes)])
    reply = machine.ask(lambda room: room.offsets.delete(request))
    if reply.error is not None:
        return reply.error.code
    assert isinstance(reply.response, OffsetDeleteResponse)
    return [partition.error_code for topic in reply.response.topics for partition in topic.partitions]


def test_deleted_offsets_are_gone_for_good(machine: OffsetMachine) -> None:
    assert delete(machine, "g", "a", 0) == [0]
    assert machine.fetched("g") == {("a", 1): (11, ""), ("b", 0): (20, "")}
    machine.reload()
    assert machine.fetched("g") == {("a", 1): (11, ""), ("b", 0): (20, "")}


def test_offset_that_was_never_committed_writes_nothing(machine: OffsetMachine) -> None:
    written = len(machine.log)
    assert delete(machine, "g", "a", 2) == [0]
    assert len(machine.log) == written


def test_unknown_topics_and_partitions(machine: OffsetMachine) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert delete(machine, "g", "a", -1, 0, 3) == [unknown, 0, unknown]
    assert delete(machine, "g", "none", 0) == [unknown]


def test_groups_that_cannot_be(machine: OffsetMachine) -> None:
    assert delete(machine, "", "a", 0) == ErrorCode.INVALID_GROUP_ID
    assert delete(machine, "h", "a", 0) == ErrorCode.GROUP_ID_NOT_FOUND


def test_subscribed_topics_keep_their_offsets(machine: OffsetMachine) -> None:
    machine.join("g", "m", topics="a")
    assert delete(machine, "g", "a", 0, 9) == [
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert delete(machine, "g", "b", 0) == [0]
    assert set(machine.fetched("g")) == {("a", 0), ("a", 1)}


def test_members_that_are_no_consumers_keep_everything(machine: OffsetMachine) -> None:
    machine.join("g", "m", kind="connect")
    assert delete(machine, "g", "b", 0) == ErrorCode.NON_EMPTY_GROUP
    machine.join("g", kind="connect")
    assert delete(machine, "g", "b", 0) == [0]


def test_last_offset_deleted_leaves_the_group(machine: OffsetMachine) -> None:
    delete(machine, "g", "a", 0, 1)
    delete(machine, "g", "b", 0)
    assert machine.fetched("g") == {}
    assert "g" in machine.room.groups


def test_offsets_of_a_deleted_topic_go_with_it_in_all_groups(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {2: 1}, group_id="h"))
    machine.delete_topic("a")
    assert machine.fetched("g") == {("b", 0): (20, "")}
    assert machine.fetched("h") == {}


def test_offsets_of_the_topic_that_was_made_in_its_place_stay(
    machine: OffsetMachine, topics: FakeTopics
) -> None:
    before = topics.delete("a")
    topics.create("a")
    machine.commit(commit_request("a", {0: 1}))
    records = machine.room.offsets.topics_deleted([(before.name, before.id)])
    machine.write(*records)
    assert machine.fetched("g") == {("a", 0): (1, ""), ("b", 0): (20, "")}


def test_offsets_without_topic_id_go_with_any_topic_of_the_name(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1}, retention_time_ms=1000), version=4)
    machine.reload()
    machine.delete_topic("a")
    assert machine.fetched("g") == {("b", 0): (20, "")}
