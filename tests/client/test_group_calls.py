"""Calls about groups go to their coordinators, also on old brokers."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.group_values import CommittedOffset, GroupDescription, GroupListing
from gralha.client.values import TopicPartition
from gralha.protocol.apis import APIS, ApiKey
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.message import Message
from gralha.protocol.messages import consumer_group_describe as new
from gralha.protocol.messages import describe_groups as old
from gralha.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from gralha.protocol.messages.consumer_protocol import TopicPartition as Assigned
from gralha.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from gralha.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from gralha.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from gralha.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from gralha.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from gralha.protocol.primitives import Writer
from tests.client.fake_broker import FakeBroker, Handler, metadata

PARTITION = TopicPartition("t", 0)
CURRENT_VERSIONS = {key: (api.min_version, api.max_version) for key, api in APIS.items()}


class Brokers:
    """Two brokers with the same metadata. The test decides which one coordinates a group."""

    def __init__(self, stack: ExitStack) -> None:
        self.coordinators: dict[str, list[int | ErrorCode]] = {}
        self.pauses = 0
        self.message = ""
        self.brokers = {number: stack.enter_context(FakeBroker()) for number in (1, 2)}
        for broker in self.brokers.values():
            broker.handlers[ApiKey.METADATA] = lambda request, version: metadata(self.brokers)
            broker.handlers[ApiKey.FIND_COORDINATOR] = self._find
        self.admin = stack.enter_context(Admin(Cluster(self.brokers[1].address, sleep=self._pause)))

    def _pause(self, seconds: float) -> None:
        self.pauses += 1

    def coordinates(self, group_id: str, *answers: int | ErrorCode) -> None:
        """The answers to requests for a coordinator, one after another. The last one stays."""
        self.coordinators[group_id] = list(answers)

    def _find(self, request: Message, version: int) -> Message:
        assert isinstance(request, FindCoordinatorRequest)
        if version < 4:
            node_id, code = self._next(request.key)
            return FindCoordinatorResponse(error_code=code, node_id=node_id, error_message=self.message)
        found = {key: self._next(key) for key in request.coordinator_keys}
        return FindCoordinatorResponse(
            coordinators=[
                Coordinator(key, node_id, error_code=code, error_message=self.message)
                for key, (node_id, code) in found.items()
            ]
        )

    def _next(self, group_id: str) -> tuple[int, int]:
        answers = self.coordinators[group_id]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return (-1, answer) if isinstance(answer, ErrorCode) else (answer, 0)


@pytest.fixture
def brokers() -> Iterator[Brokers]:
    with ExitStack() as stack:
        yield Brokers(stack)


def deleting(*codes: int) -> Handler:
    """Answers deletions with these codes, one after another."""
    remaining = list(codes)

    def answer(request: Message, version: int) -> Message:
        assert isinstance(request, DeleteGroupsRequest)
        code = remaining.pop(0)
        return DeleteGroupsResponse(
            results=[DeletableGroupResult(group_id, code) for group_id in request.groups_names]
        )

    return answer


def code_of(result: object) -> int:
    assert isinstance(result, KafkaError), result
    return result.code


def test_each_group_is_asked_for_where_it_is_coordinated(brokers: Brokers) -> None:
    brokers.coordinates("a", 1)
    brokers.coordinates("b", 2)
    brokers.brokers[1].handlers[ApiKey.DELETE_GROUPS] = deleting(0)
    brokers.brokers[2].handlers[ApiKey.DELETE_GROUPS] = deleting(ErrorCode.NON_EMPTY_GROUP)
    results = brokers.admin.delete_groups(["a", "b"])
    assert results["a"] is None
    assert code_of(results["b"]) == ErrorCode.NON_EMPTY_GROUP
    assert brokers.pauses == 0


@pytest.mark.parametrize("refusal", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS])
def test_a_change_is_repeated_when_nobody_has_made_it(brokers: Brokers, refusal: ErrorCode) -> None:
    brokers.coordinates("a", ErrorCode.COORDINATOR_NOT_AVAILABLE, 1, 2)
    brokers.brokers[1].handlers[ApiKey.DELETE_GROUPS] = deleting(refusal)
    brokers.brokers[2].handlers[ApiKey.DELETE_GROUPS] = deleting(0)
    assert brokers.admin.delete_groups(["a"]) == {"a": None}
    assert brokers.pauses == 2


def test_a_change_is_not_repeated_when_it_may_have_been_made(brokers: Brokers) -> None:
    brokers.coordinates("a", 2)
    brokers.brokers[2].handlers[ApiKey.DELETE_GROUPS] = lambda request, version: None
    assert code_of(brokers.admin.delete_groups(["a"])["a"]) == ErrorCode.NETWORK_EXCEPTION
    assert brokers.pauses == 0


@pytest.mark.parametrize("waits", [False, True])
def test_coordinators_that_the_cluster_cannot_have_are_waited_for_only_if_a_program_wants_that(
    brokers: Brokers, waits: bool
) -> None:
    brokers.message = "__consumer_offsets cannot be created: Start more brokers"
    brokers.coordinates("a", ErrorCode.COORDINATOR_NOT_AVAILABLE, 1)
    brokers.brokers[1].handlers[ApiKey.DELETE_GROUPS] = deleting(0)
    brokers.admin.cluster.waits_for_first_answer = waits
    result = brokers.admin.delete_groups(["a"])["a"]
    assert result is None if waits else str(result) == brokers.message
    assert brokers.pauses == (1 if waits else 0)


def test_a_coordinator_that_is_away_is_looked_for_again(brokers: Brokers) -> None:
    brokers.coordinates("a", 2, 1)
    brokers.brokers[2].stop()
    brokers.brokers[1].handlers[ApiKey.DELETE_GROUPS] = deleting(0)
    assert brokers.admin.delete_groups(["a"]) == {"a": None}
    assert brokers.pauses == 1


def listing(groups: list[ListedGroup], code: int = 0) -> Handler:
    return lambda request, version: ListGroupsResponse(error_code=code, groups=groups)


def test_groups_of_all_brokers_are_listed(brokers: Brokers) -> None:
    brokers.brokers[1].handlers[ApiKey.LIST_GROUPS] = listing(
        [ListedGroup("b", "consumer", "Stable", "classic")]
    )
    brokers.brokers[2].handlers[ApiKey.LIST_GROUPS] = listing([ListedGroup("a", "", "Empty", "Consumer")])
    assert brokers.admin.list_groups() == [
        GroupListing("a", "", "Empty", "Consumer"),
        GroupListing("b", "consumer", "Stable", "Classic"),
    ]
    brokers.brokers[2].handlers[ApiKey.LIST_GROUPS] = listing([], ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaError, match="Error listing groups on broker 2: "):
        brokers.admin.list_groups()


def test_a_broker_too_old_for_types_has_classic_groups_only(brokers: Brokers) -> None:
    asked: list[ListGroupsRequest] = []

    def answer(request: Message, version: int) -> Message:
        assert isinstance(request, ListGroupsRequest)
        asked.append(request)
        return ListGroupsResponse(groups=[ListedGroup("a", "consumer")])

    for broker in brokers.brokers.values():
        broker.versions = CURRENT_VERSIONS | {ApiKey.LIST_GROUPS: (0, 3)}
        broker.handlers[ApiKey.LIST_GROUPS] = answer
    assert brokers.admin.list_groups(types=["Consumer"]) == []
    assert asked == []
    assert brokers.admin.list_groups(types=["Classic", "Consumer"]) == [GroupListing("a", "consumer", "", "")]
    with pytest.raises(KafkaError, match="too old to list groups by state"):
        brokers.admin.list_groups(states=["Stable"])


def assignment_bytes(version: int, *partitions: int) -> bytes:
    writer = Writer()
    writer.write_int16(version)
    assignment = ConsumerProtocolAssignment(assigned_partitions=[Assigned("t", list(partitions))])
    assignment.encode(writer, min(version, ConsumerProtocolAssignment.MAX_VERSION))
    return writer.to_bytes()


def classic(**fields: object) -> Callable[[str], old.DescribedGroup]:
    def group(group_id: str) -> old.DescribedGroup:
        values = {"group_state": "Stable", "protocol_type": "consumer", "protocol_data": "range", **fields}
        return old.DescribedGroup(group_id=group_id, **values)  # type: ignore[arg-type]

    return group


def describing(make: Callable[[str], old.DescribedGroup]) -> Handler:
    def answer(request: Message, version: int) -> Message:
        assert isinstance(request, old.DescribeGroupsRequest)
        return old.DescribeGroupsResponse(groups=[make(group_id) for group_id in request.groups])

    return answer


def not_new(request: Message, version: int) -> Message:
    """A broker's answer to ConsumerGroupDescribe for classic and for unknown groups."""
    assert isinstance(request, new.ConsumerGroupDescribeRequest)
    return new.ConsumerGroupDescribeResponse(
        groups=[
            new.DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.", group_id)
            for group_id in request.group_ids
        ]
    )


def described(brokers: Brokers, group_id: str) -> GroupDescription | KafkaError:
    brokers.coordinates(group_id, 1)
    return brokers.admin.describe_groups([group_id])[group_id]


@pytest.mark.parametrize("version", [0, 3, 9])
def test_a_classic_group_is_described_with_its_assignments(brokers: Brokers, version: int) -> None:
    member = old.DescribedGroupMember("m", "i", "c", "/h", b"", assignment_bytes(version, 2, 0))
    joining = old.DescribedGroupMember("n", None, "c", "/h", b"", b"")
    broker = brokers.brokers[1]
    broker.handlers[ApiKey.CONSUMER_GROUP_DESCRIBE] = not_new
    broker.handlers[ApiKey.DESCRIBE_GROUPS] = describing(classic(members=[member, joining]))
    group = described(brokers, "a")
    assert isinstance(group, GroupDescription)
    assert (group.type, group.state, group.assignor, group.coordinator.id) == (
        "Classic",
        "Stable",
        "range",
        1,
    )
    assert [one.assignment for one in group.members] == [[TopicPartition("t", 2), PARTITION], []]
    assert (group.members[0].instance_id, group.members[0].epoch) == ("i", None)


def test_a_group_that_is_not_there(brokers: Brokers) -> None:
    broker = brokers.brokers[1]
    broker.handlers[ApiKey.CONSUMER_GROUP_DESCRIBE] = not_new
    broker.handlers[ApiKey.DESCRIBE_GROUPS] = describing(classic(error_code=ErrorCode.GROUP_ID_NOT_FOUND))
    missing = described(brokers, "a")
    assert code_of(missing) == ErrorCode.GROUP_ID_NOT_FOUND
    assert str(missing) == "Group a not found."


def test_groups_that_are_not_of_consumers(brokers: Brokers) -> None:
    broker = brokers.brokers[1]
    broker.versions = {key: value for key, value in CURRENT_VERSIONS.items() if key != 69}
    broker.handlers[ApiKey.DESCRIBE_GROUPS] = describing(classic(protocol_type="connect"))
    assert str(described(brokers, "a")) == "GroupId a is not a consumer group (connect)."
    odd = old.DescribedGroupMember("m", None, "c", "/h", b"", b"\x00\x00\x7f")
    broker.handlers[ApiKey.DESCRIBE_GROUPS] = describing(classic(members=[odd]))
    assert str(described(brokers, "a")).startswith("An assignment in group a is not a consumer's: ")


def test_a_consumer_group_is_described_with_its_epochs(brokers: Brokers) -> None:
    assignment = new.Assignment([new.TopicPartitions(bytes(16), "t", [0])])

    def answer(request: Message, version: int) -> Message:
        member = new.Member(
            "m", None, None, 3, "c", "/h", ["t"], None, assignment, new.Assignment(), member_type=0
        )
        group = new.DescribedGroup(0, None, "a", "Reconciling", 4, 3, "uniform", [member])
        return new.ConsumerGroupDescribeResponse(groups=[group])

    brokers.brokers[1].handlers[ApiKey.CONSUMER_GROUP_DESCRIBE] = answer
    group = described(brokers, "a")
    assert isinstance(group, GroupDescription)
    assert (group.type, group.epoch, group.assignment_epoch) == ("Consumer", 4, 3)
    (member,) = group.members
    assert (member.assignment, member.target_assignment) == ([PARTITION], [])
    assert (member.epoch, member.is_upgraded) == (3, False)


def fetched(request: Message, version: int) -> Message:
    """Answers with offset 7 for every group, in the format of the version."""
    assert isinstance(request, OffsetFetchRequest)
    if version < 8:
        assert request.topics is None
        partitions = [
            OffsetFetchResponsePartition(0, 7, 2, "m"),
            OffsetFetchResponsePartition(1, -1, -1, None),
        ]
        return OffsetFetchResponse(topics=[OffsetFetchResponseTopic("t", partitions)])
    assert version == 9
    topic = OffsetFetchResponseTopics(
        "t", bytes(16), [OffsetFetchResponsePartitions(0, 7, 2, "m"), OffsetFetchResponsePartitions(1, -1)]
    )
    return OffsetFetchResponse(
        groups=[OffsetFetchResponseGroup(group.group_id, [topic]) for group in request.groups]
    )


@pytest.mark.parametrize(
    ("versions", "requests"),
    [
        ({}, [(ApiKey.FIND_COORDINATOR, 6), (ApiKey.OFFSET_FETCH, 9)]),
        (
            {ApiKey.FIND_COORDINATOR: (0, 3), ApiKey.OFFSET_FETCH: (0, 7)},
            [(ApiKey.FIND_COORDINATOR, 3)] * 2 + [(ApiKey.OFFSET_FETCH, 7)] * 2,
        ),
    ],
    ids=["many at once", "one by one"],
)
def test_offsets_of_groups(
    brokers: Brokers, versions: dict[int, tuple[int, int]], requests: list[tuple[int, int]]
) -> None:
    broker = brokers.brokers[1]
    broker.versions = CURRENT_VERSIONS | versions
    broker.handlers[ApiKey.OFFSET_FETCH] = fetched
    brokers.coordinates("a", 1)
    brokers.coordinates("b", 1)
    expected = {PARTITION: CommittedOffset(7, 2, "m")}
    assert brokers.admin.group_offsets(["a", "b"]) == {"a": expected, "b": expected}
    asked = (ApiKey.FIND_COORDINATOR, ApiKey.OFFSET_FETCH)
    assert [request for request in broker.requests if request[0] in asked] == requests


def committing(*codes: int) -> Handler:
    remaining = list(codes)

    def answer(request: Message, version: int) -> Message:
        assert isinstance(request, OffsetCommitRequest)
        assert (version, request.member_id, request.generation_id_or_member_epoch) == (9, "", -1)
        code = remaining.pop(0)
        return OffsetCommitResponse(
            topics=[
                OffsetCommitResponseTopic(
                    topic.name,
                    partitions=[
                        OffsetCommitResponsePartition(partition.partition_index, code)
                        for partition in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    return answer


def test_offsets_are_committed_in_the_end(brokers: Brokers) -> None:
    brokers.coordinates("a", 1)
    brokers.brokers[1].handlers[ApiKey.OFFSET_COMMIT] = committing(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 0)
    assert brokers.admin.commit_group_offsets("a", {PARTITION: CommittedOffset(3)}) == {PARTITION: None}
    brokers.brokers[1].handlers[ApiKey.OFFSET_COMMIT] = committing(ErrorCode.UNKNOWN_MEMBER_ID)
    refused = brokers.admin.commit_group_offsets("a", {PARTITION: CommittedOffset(3)})
    assert code_of(refused[PARTITION]) == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_deletion_of_offsets_raises_what_is_wrong_with_the_group(brokers: Brokers) -> None:
    codes = [ErrorCode.NOT_COORDINATOR, ErrorCode.GROUP_ID_NOT_FOUND]

    def answer(request: Message, version: int) -> Message:
        assert isinstance(request, OffsetDeleteRequest)
        return OffsetDeleteResponse(error_code=codes.pop(0))

    brokers.coordinates("a", 1)
    brokers.brokers[1].handlers[ApiKey.OFFSET_DELETE] = answer
    with pytest.raises(KafkaError) as caught:
        brokers.admin.delete_group_offsets("a", [PARTITION])
    assert caught.value.code == ErrorCode.GROUP_ID_NOT_FOUND
    assert brokers.pauses == 1
