"""The consumer group protocol held against Apache Kafka: the same heartbeats get the same answers from both.

Members mostly do as they should, and sometimes do not: wrong epochs, wrong instance ids, partitions that they
do not have or no longer have. Left out are regular expressions, which Apache Kafka looks up some time later;
the assignor "uniform", which has a choice; and three things that are meant to differ:

- a static member may repeat its join (Apache Kafka says UNRELEASED_INSTANCE_ID);
- a member keeps its target when it first says its instance id after it has joined;
- who subscribes to nothing is assigned nothing (Apache Kafka may take it for a subscriber of all topics).
"""

import time
from collections.abc import Callable, Iterator
from random import Random
from typing import TypeVar

import pytest
from tests.apache.kafka import ApacheKafka
from tests.groups.consumer_room import REBALANCE_MS, Consumer, FakeTopics
from tests.groups.harness import Recorder

from gralha.client.addresses import Address
from gralha.client.connection import Connection
from gralha.groups.config import GroupsConfig
from gralha.groups.records import GroupRecord, encode_record
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from gralha.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from gralha.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch

Partitions = dict[bytes, list[int]]
Response = TypeVar("Response", ConsumerGroupHeartbeatResponse, DescribedGroup)

CLIENT_ID = "client"
PARTITION_COUNTS = {"t": 5, "u": 3}
SUBSCRIPTIONS = (["t"], ["u"], ["t", "u"], ["t", "missing"])
# c and d take turns as the same static member.
INSTANCE_IDS = {"a": None, "b": None, "c": "i", "d": "i", "e": "j"}
MAX_SIZE = 4
HEARTBEATS = 40


class Apache:
    def __init__(self, kafka: ApacheKafka) -> None:
        self._kafka = kafka
        self._connection = self._connect()
        topics = [CreatableTopic(name, count, 1) for name, count in PARTITION_COUNTS.items()]
        created = self._connection.send(
            CreateTopicsRequest(topics=topics, timeout_ms=10_000), CreateTopicsResponse
        )
        self.topic_ids = {topic.name: topic.topic_id for topic in created.topics}
        # This request creates the topic of the groups.
        self._connection.send(FindCoordinatorRequest(coordinator_keys=["g"]), FindCoordinatorResponse)

    def _connect(self, client_id: str = CLIENT_ID) -> Connection:
        host, port = self._kafka.bootstrap.split(":")
        return Connection.open(Address(host, int(port)), client_id=client_id, request_timeout_ms=30_000)

    def heartbeat(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        return retried(lambda: self._connection.send(request, ConsumerGroupHeartbeatResponse))

    def describe(self, group_id: str) -> DescribedGroup:
        request = ConsumerGroupDescribeRequest(group_ids=[group_id])
        return retried(lambda: self._connection.send(request, ConsumerGroupDescribeResponse).groups[0])

    def load(self, log: list[GroupRecord]) -> None:
        """Write records of groups to the broker's topic, and let it start again."""
        pairs = [encode_record(record) for record in log]
        batch = encode_batch([Record(key, value, 0) for key, value in pairs])
        partition = PartitionProduceData(0, RecordBytes(batch, 0, len(batch)))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData("__consumer_offsets", partition_data=[partition])],
        )
        # Nobody else may write to internal topics.
        with self._connect(client_id="__admin_client") as connection:
            produced = connection.send(request, ProduceResponse, max_version=12)
        assert produced.responses[0].partition_responses[0].error_code == 0
        self._kafka.restart()
        self._connection = self._connect()


def retried(ask: Callable[[], Response]) -> Response:
    """The answer, once the coordinator is there."""
    for _ in range(300):
        response = ask()
        if not ErrorCode(response.error_code).retriable:
            return response
        time.sleep(0.1)
    raise AssertionError("Apache Kafka has no coordinator")


@pytest.fixture(scope="module")
def apache() -> Iterator[Apache]:
    config = {
        "group.consumer.assignment.interval.ms": "0",
        "group.consumer.min.assignment.interval.ms": "0",
        "group.consumer.max.size": str(MAX_SIZE),
        "offsets.topic.num.partitions": "1",
    }
    with ApacheKafka(config) as kafka:
        yield Apache(kafka)


class Player:
    """Makes up heartbeats. It believes the answers that it gets."""

    def __init__(self, group_id: str, random: Random) -> None:
        self._group_id = group_id
        self._random = random
        self._epochs: dict[str, int] = {}
        self._owned: dict[str, Partitions] = {}

    def next_request(self) -> ConsumerGroupHeartbeatRequest:
        random = self._random
        member_id = random.choice(sorted(INSTANCE_IDS))
        instance_id = INSTANCE_IDS[member_id]
        request = ConsumerGroupHeartbeatRequest(self._group_id, member_id, instance_id=instance_id)
        if instance_id is not None and random.random() < 0.05:
            request.instance_id = random.choice((None, "i"))
        kind = random.random()
        if kind < 0.08:
            request.member_epoch = -1
        elif kind < 0.15:
            request.member_epoch = -2
        elif member_id in self._epochs and (kind > 0.35 or instance_id is not None):
            self._go_on(request)
        else:
            self._join(request)
        return request

    def _join(self, request: ConsumerGroupHeartbeatRequest) -> None:
        request.rebalance_timeout_ms = REBALANCE_MS if self._random.random() < 0.97 else -1
        request.subscribed_topic_names = self._random.choice(SUBSCRIPTIONS)
        request.server_assignor = "range"
        request.topic_partitions = []

    def _go_on(self, request: ConsumerGroupHeartbeatRequest) -> None:
        random = self._random
        epoch, owned = self._epochs[request.member_id], self._owned[request.member_id]
        request.member_epoch = max(1, epoch + random.choice((0,) * 8 + (-1, 1)))
        reported = random.choice(("nothing", "nothing", "all", "all", "all", "none", "some"))
        if reported != "nothing":
            end = {"all": None, "none": 0, "some": 1}[reported]
            request.topic_partitions = [TopicPartitions(each, owned[each][:end]) for each in owned]
        if random.random() < 0.2:
            request.subscribed_topic_names = random.choice(SUBSCRIPTIONS)
        if random.random() < 0.2:
            request.rebalance_timeout_ms = REBALANCE_MS
        if random.random() < 0.05:
            request.server_assignor = random.choice(("range", "missing"))

    def take(self, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse) -> None:
        if response.error_code:
            return
        if response.member_epoch < 0:
            self._epochs.pop(request.member_id, None)
            return
        self._epochs[request.member_id] = response.member_epoch
        self._owned.setdefault(request.member_id, {})
        if response.assignment is not None:
            self._owned[request.member_id] = assigned(response) or {}


def assigned(response: ConsumerGroupHeartbeatResponse) -> Partitions | None:
    if response.assignment is None:
        return None
    return {each.topic_id: sorted(each.partitions) for each in response.assignment.topic_partitions}


def answer_of_apache(response: ConsumerGroupHeartbeatResponse) -> tuple[object, ...]:
    if response.error_code:
        return (ErrorCode(response.error_code).name,)
    return ("NONE", response.member_id, response.member_epoch, assigned(response))


def answer_of_ours(reply: Recorder) -> tuple[object, ...]:
    if reply.error is not None:
        return (ErrorCode(reply.error.code).name,)
    assert isinstance(reply.response, ConsumerGroupHeartbeatResponse)
    return answer_of_apache(reply.response)


def described(group: DescribedGroup) -> object:
    """All that is described, without the orders that mean nothing."""

    def partitions(assignment: Assignment) -> dict[str, list[int]]:
        return {each.topic_name: sorted(each.partitions) for each in assignment.topic_partitions}

    members = {
        each.member_id: (
            each.instance_id,
            each.member_epoch,
            each.client_id,
            each.client_host,
            sorted(each.subscribed_topic_names),
            each.subscribed_topic_regex,
            each.member_type,
            partitions(each.assignment),
            partitions(each.target_assignment),
        )
        for each in group.members
    }
    return group.group_state, group.group_epoch, group.assignment_epoch, group.assignor_name, members


def room_with_topics_of(apache: Apache) -> Consumer:
    topics = FakeTopics(**PARTITION_COUNTS)
    for name, topic_id in apache.topic_ids.items():
        topics.topics[name] = topics.topics[name]._replace(id=topic_id)
    return Consumer(topics, GroupsConfig(consumer_max_size=MAX_SIZE))


@pytest.mark.parametrize("seed", range(30))
def test_the_same_answers(apache: Apache, seed: int) -> None:
    group_id = f"g{seed}"
    ours = room_with_topics_of(apache)
    player = Player(group_id, Random(seed))
    for _ in range(HEARTBEATS):
        request = player.next_request()
        response = apache.heartbeat(request)
        assert answer_of_ours(ours.heartbeat(request)) == answer_of_apache(response), request
        player.take(request, response)
    assert described(ours.room.describe(group_id)) == described(apache.describe(group_id))


def test_apache_kafka_goes_on_with_our_groups(apache: Apache) -> None:
    ours = room_with_topics_of(apache)
    group_ids = [f"ours{number}" for number in range(30)]
    for number, group_id in enumerate(group_ids):
        player = Player(group_id, Random(number))
        for _ in range(HEARTBEATS):
            request = player.next_request()
            reply = ours.heartbeat(request)
            if isinstance(reply.response, ConsumerGroupHeartbeatResponse):
                player.take(request, reply.response)
    apache.load(ours.log)
    for group_id in group_ids:
        assert described(apache.describe(group_id)) == described(ours.room.describe(group_id))
