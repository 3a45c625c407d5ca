"""OffsetFetch: the offsets that members and other clients get."""

import pytest
from tests.groups.offset_room import FakeGroup, FakeTopics, OffsetMachine, commit_request, fetch_request

from gralha.protocol.errors import ErrorCode, StaleMemberEpochError
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

UNKNOWN_ID = b"?" * 16


@pytest.fixture
def topics() -> FakeTopics:
    return FakeTopics("a", "b")


@pytest.fixture
def machine(topics: FakeTopics) -> OffsetMachine:
    machine = OffsetMachine(topics)
    machine.commit(commit_request("a", {0: 10, 1: 11}, leader_epoch=3, metadata="m"))
    return machine


def id_of(topics: FakeTopics, name: str) -> bytes:
    topic = topics.by_name(name)
    assert topic is not None
    return topic.id


def nothing(partition: int, code: int = 0) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(partition, -1, -1, "", code)


def test_requested_partitions(machine: OffsetMachine) -> None:
    request = fetch_request("a", 1, 2)
    request.topics = [*(request.topics or []), *(fetch_request("none", 0).topics or [])]
    assert machine.fetch(request) == OffsetFetchResponseGroup(
        group_id="g",
        topics=[
            OffsetFetchResponseTopics(
                name="a", partitions=[OffsetFetchResponsePartitions(1, 11, 3, "m"), nothing(2)]
            ),
            OffsetFetchResponseTopics(name="none", partitions=[nothing(0)]),
        ],
    )


def test_all_partitions(machine: OffsetMachine) -> None:
    machine.commit(commit_request("b", {2: 12}))
    assert machine.fetched("g") == {("a", 0): (10, "m"), ("a", 1): (11, "m"), ("b", 2): (12, "")}


def test_no_topics_is_not_all_topics(machine: OffsetMachine) -> None:
    assert machine.fetch(OffsetFetchRequestGroup(group_id="g", topics=[])).topics == []


def test_unknown_group_has_no_offsets(machine: OffsetMachine) -> None:
    assert machine.fetched("h") == {}
    response = machine.fetch(fetch_request("a", 0, group_id="h"))
    assert response.error_code == 0
    assert response.topics[0].partitions == [nothing(0)]


def test_group_without_offsets(machine: OffsetMachine) -> None:
    machine.join("h", "m")
    assert machine.fetched("h") == {}
    assert machine.fetch(fetch_request("a", 0, group_id="h")).topics[0].partitions == [nothing(0)]


def test_by_topic_id(machine: OffsetMachine, topics: FakeTopics) -> None:
    response = machine.fetch(fetch_request("", 0, topic_id=id_of(topics, "a")), version=10)
    assert response.topics[0].topic_id == id_of(topics, "a")
    assert response.topics[0].partitions == [OffsetFetchResponsePartitions(0, 10, 3, "m")]


def test_unknown_topic_id(machine: OffsetMachine) -> None:
    response = machine.fetch(fetch_request("a", 0, topic_id=UNKNOWN_ID), version=10)
    assert response.error_code == 0
    assert response.topics[0].topic_id == UNKNOWN_ID
    assert response.topics[0].partitions == [nothing(0, ErrorCode.UNKNOWN_TOPIC_ID)]


def test_id_tells_a_topic_from_an_earlier_one_of_its_name(machine: OffsetMachine, topics: FakeTopics) -> None:
    topics.delete("a")  # and the coordinator did not hear of it
    topics.create("a")
    request = fetch_request("", 0, topic_id=id_of(topics, "a"))
    assert machine.fetch(request, version=10).topics[0].partitions == [nothing(0)]


def test_offset_of_a_record_without_topic_id_serves_any_topic_of_the_name(
    machine: OffsetMachine, topics: FakeTopics
) -> None:
    machine.commit(commit_request("b", {0: 5}, retention_time_ms=1000), version=4)
    machine.reload()
    response = machine.fetch(fetch_request("", 0, topic_id=id_of(topics, "b")), version=10)
    assert response.topics[0].partitions == [OffsetFetchResponsePartitions(0, 5, -1, "")]


def test_all_by_id_leaves_out_topics_that_are_gone(machine: OffsetMachine, topics: FakeTopics) -> None:
    machine.commit(commit_request("b", {0: 1}))
    topics.delete("a")
    response = machine.fetch(OffsetFetchRequestGroup(group_id="g", topics=None), version=10)
    assert [(topic.name, topic.topic_id) for topic in response.topics] == [("b", id_of(topics, "b"))]
    assert set(machine.fetched("g")) == {("a", 0), ("a", 1), ("b", 0)}


class EpochGroup(FakeGroup):
    """Asks members for their epoch, as consumer groups do."""

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        if (member_id, member_epoch) not in ((None, -1), ("m", 7)):
            raise StaleMemberEpochError


@pytest.mark.parametrize("asked", [None, fetch_request("a", 0).topics])
def test_epoch_of_a_member_is_checked(
    machine: OffsetMachine, asked: list[OffsetFetchRequestTopics] | None
) -> None:
    machine.room.groups["g"] = EpochGroup("g")
    for member_id, epoch in [(None, -1), ("m", 7)]:
        request = OffsetFetchRequestGroup("g", member_id, epoch, asked)
        assert machine.fetch(request, version=9).topics[0].partitions[0].committed_offset == 10
    with pytest.raises(StaleMemberEpochError):
        machine.fetch(OffsetFetchRequestGroup("g", "m", 6, asked), version=9)
