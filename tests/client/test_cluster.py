from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster, Retry, may_pass
from gralha.client.errors import ClientError, ConnectionFailedError, UnansweredError
from gralha.client.values import ListedOffset, NewTopic, TopicPartition
from gralha.protocol.apis import ApiKey
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.message import Message
from gralha.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from gralha.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.client.fake_broker import FakeBroker, Handler, metadata


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


class Pauses:
    """Notes how long it should sleep, instead of sleeping."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def create_topics_answering(code: int) -> Handler:
    def answer(request: Message, version: int) -> Message:
        assert isinstance(request, CreateTopicsRequest)
        return CreateTopicsResponse(
            topics=[CreatableTopicResult(name=topic.name, error_code=code) for topic in request.topics]
        )

    return answer


def offsets_answering(offset: int, code: int = ErrorCode.NONE) -> Handler:
    def answer(request: Message, version: int) -> Message:
        assert isinstance(request, ListOffsetsRequest)
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    topic.name,
                    [
                        ListOffsetsPartitionResponse(partition.partition_index, code, offset=offset)
                        for partition in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    return answer


def test_the_next_bootstrap_server_is_tried(stack: ExitStack) -> None:
    gone = FakeBroker()
    gone.stop()
    broker = stack.enter_context(FakeBroker())
    broker.handlers[ApiKey.METADATA] = lambda request, version: metadata({1: broker})
    cluster = stack.enter_context(Cluster(f"{gone.address},{broker.address}"))
    assert cluster.brokers()[1].port == broker.port


def test_without_any_bootstrap_server_the_failure_is_immediate_and_names_them(stack: ExitStack) -> None:
    first, second = FakeBroker(), FakeBroker()
    first.stop()
    second.stop()
    pauses = Pauses()
    cluster = stack.enter_context(Cluster(f"{first.address},{second.address}", sleep=pauses))
    with pytest.raises(ConnectionFailedError, match=f"{first.address}.*{second.address}"):
        Admin(cluster).list_topics()
    assert pauses.seconds == []


def test_a_request_to_the_wrong_controller_is_sent_to_the_right_one(stack: ExitStack) -> None:
    old, new = stack.enter_context(FakeBroker()), stack.enter_context(FakeBroker())
    controllers = iter([1, 2, 2])
    for broker in (old, new):
        broker.handlers[ApiKey.METADATA] = lambda request, version: metadata(
            {1: old, 2: new}, controller=next(controllers)
        )
    old.handlers[ApiKey.CREATE_TOPICS] = create_topics_answering(ErrorCode.NOT_CONTROLLER)
    new.handlers[ApiKey.CREATE_TOPICS] = create_topics_answering(ErrorCode.NONE)
    admin = Admin(stack.enter_context(Cluster(old.address, sleep=Pauses())))
    assert admin.create_topics([NewTopic("orders")]) == {"orders": None}
    assert (ApiKey.CREATE_TOPICS, 7) in old.requests
    assert (ApiKey.CREATE_TOPICS, 7) in new.requests


def test_the_controllers_refusal_is_not_asked_for_twice(stack: ExitStack) -> None:
    broker = stack.enter_context(FakeBroker())
    broker.handlers[ApiKey.METADATA] = lambda request, version: metadata({1: broker})
    broker.handlers[ApiKey.CREATE_TOPICS] = create_topics_answering(ErrorCode.REQUEST_TIMED_OUT)
    admin = Admin(stack.enter_context(Cluster(broker.address, sleep=Pauses())))
    error = admin.create_topics([NewTopic("orders")])["orders"]
    assert error is not None
    assert error.code == ErrorCode.REQUEST_TIMED_OUT
    assert broker.requests.count((ApiKey.CREATE_TOPICS, 7)) == 1


def test_a_partition_whose_leader_moved_is_asked_for_at_its_new_leader(stack: ExitStack) -> None:
    old, new = stack.enter_context(FakeBroker()), stack.enter_context(FakeBroker())
    leaders = iter([1, 2])
    for broker in (old, new):
        broker.handlers[ApiKey.METADATA] = lambda request, version: metadata(
            {1: old, 2: new}, leaders={("t", 0): next(leaders), ("t", 1): 1}
        )
    old.handlers[ApiKey.LIST_OFFSETS] = lambda request, version: ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                "t",
                [
                    ListOffsetsPartitionResponse(0, ErrorCode.NOT_LEADER_OR_FOLLOWER),
                    ListOffsetsPartitionResponse(1, ErrorCode.NONE, offset=11),
                ],
            )
        ]
    )
    new.handlers[ApiKey.LIST_OFFSETS] = offsets_answering(22)
    admin = Admin(stack.enter_context(Cluster(old.address, sleep=Pauses())))
    found = admin.list_offsets({TopicPartition("t", 0): -1, TopicPartition("t", 1): -1})
    assert found == {
        TopicPartition("t", 0): ListedOffset(22, -1, -1),
        TopicPartition("t", 1): ListedOffset(11, -1, -1),
    }
    assert sum(key == ApiKey.LIST_OFFSETS for key, _ in new.requests) == 1


def test_a_leader_that_died_is_looked_for_again(stack: ExitStack) -> None:
    dead, alive = FakeBroker(), stack.enter_context(FakeBroker())
    dead.stop()
    leaders = iter([1, 2])
    alive.handlers[ApiKey.METADATA] = lambda request, version: metadata(
        {1: dead, 2: alive}, leaders={("t", 0): next(leaders)}
    )
    alive.handlers[ApiKey.LIST_OFFSETS] = offsets_answering(5)
    pauses = Pauses()
    admin = Admin(stack.enter_context(Cluster(alive.address, sleep=pauses)))
    assert admin.list_offsets({TopicPartition("t", 0): -1}) == {
        TopicPartition("t", 0): ListedOffset(5, -1, -1)
    }
    assert pauses.seconds == [0.05]


def test_a_connection_that_broke_is_opened_again(stack: ExitStack) -> None:
    broker = stack.enter_context(FakeBroker())
    answers = iter([metadata({1: broker}), None, metadata({1: broker}), metadata({1: broker})])
    broker.handlers[ApiKey.METADATA] = lambda request, version: next(answers)
    cluster = stack.enter_context(Cluster(broker.address, sleep=Pauses()))
    cluster.brokers()
    assert cluster.once(lambda: cluster.metadata([])).controller_id == 1


def test_the_results_keep_the_order_of_the_items_and_each_is_answered(stack: ExitStack) -> None:
    cluster = stack.enter_context(Cluster("localhost:1", sleep=Pauses()))
    first_round = iter([True, False])

    def attempt(items: list[str]) -> dict[str, int | KafkaError]:
        if next(first_round):
            assert items == ["c", "a", "b"]
            return {"a": 1, "c": error_for(ErrorCode.LEADER_NOT_AVAILABLE)}
        assert items == ["c"]
        return {"c": 3}

    results = cluster.each(["c", "a", "b", "a"], attempt)
    assert list(results) == ["c", "a", "b"]
    assert (results["c"], results["a"]) == (3, 1)
    assert isinstance(results["b"], KafkaError)
    assert "does not mention it" in str(results["b"])


def test_when_the_time_is_over_the_last_error_stays(stack: ExitStack) -> None:
    cluster = stack.enter_context(Cluster("localhost:1", api_timeout_ms=0, sleep=Pauses()))

    def attempt() -> int:
        raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, "still electing")

    with pytest.raises(KafkaError, match="still electing"):
        cluster.once(attempt)


def test_pauses_grow_up_to_a_second() -> None:
    pauses = Pauses()
    retry = Retry(60_000, pauses)
    assert all(retry.pause() for _ in range(7))
    assert pauses.seconds == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_which_errors_may_pass() -> None:
    passing = {
        code for code in ErrorCode for is_change in (False, True) if may_pass(error_for(code), is_change)
    }
    assert {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_CONTROLLER} <= passing
    assert not {ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.TOPIC_AUTHORIZATION_FAILED} & passing
    assert [code for code in ErrorCode if may_pass(error_for(code), is_change=True)] == [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_CONTROLLER,
    ]


def test_a_change_without_an_answer_is_not_made_twice(stack: ExitStack) -> None:
    broker = stack.enter_context(FakeBroker())
    broker.handlers[ApiKey.METADATA] = lambda request, version: metadata({1: broker})
    broker.handlers[ApiKey.CREATE_TOPICS] = lambda request, version: None
    admin = Admin(stack.enter_context(Cluster(broker.address, sleep=Pauses())))
    with pytest.raises(UnansweredError, match="closed the connection"):
        admin.create_topics([NewTopic("orders")])
    assert broker.requests.count((ApiKey.CREATE_TOPICS, 7)) == 1


def test_an_advertised_address_that_leads_nowhere_is_called_so(stack: ExitStack) -> None:
    broker, unreachable = stack.enter_context(FakeBroker()), FakeBroker()
    unreachable.stop()
    broker.handlers[ApiKey.METADATA] = lambda request, version: metadata({7: unreachable})
    cluster = stack.enter_context(Cluster(broker.address))
    with pytest.raises(
        ConnectionFailedError, match=f"Broker 7 advertises {unreachable.address}, which cannot"
    ):
        cluster.connection_to(7)


def test_a_broker_that_joined_later_is_found(stack: ExitStack) -> None:
    first, second = stack.enter_context(FakeBroker()), stack.enter_context(FakeBroker())
    answers = iter([metadata({1: first}), metadata({1: first, 2: second})])
    first.handlers[ApiKey.METADATA] = lambda request, version: next(answers)
    cluster = stack.enter_context(Cluster(first.address))
    assert list(cluster.brokers()) == [1]
    assert cluster.connection_to(2).address.port == second.port


def test_a_broker_that_the_cluster_lacks_is_named(stack: ExitStack) -> None:
    broker = stack.enter_context(FakeBroker())
    broker.handlers[ApiKey.METADATA] = lambda request, version: metadata({1: broker, 3: broker})
    cluster = stack.enter_context(Cluster(broker.address))
    with pytest.raises(ClientError, match="no broker 2; its brokers are: 1, 3"):
        cluster.connection_to(2)
