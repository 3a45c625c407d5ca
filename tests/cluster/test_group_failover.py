"""Groups on three brokers: their coordinator is killed.

No committed offset goes back, and no member that has left comes back.
"""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription, NewTopic
from tests.received import place_of, value_of

from gralha.testing import GralhaCluster

TOPIC = "work"
GROUP = "workers"
RECORDS = 150
TIMEOUT_S = 60.0
SESSION_S = 45.0
KILL_INTERVAL_S = 5.0


@pytest.fixture
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster(brokers=3) as cluster:
        yield cluster


def admin(cluster: GralhaCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap})


def create(cluster: GralhaCluster, partitions: int = 1) -> None:
    topic = NewTopic(TOPIC, partitions, 3, config={"min.insync.replicas": "2"})
    client = admin(cluster)
    client.create_topics([topic])[TOPIC].result(TIMEOUT_S)


def fill(cluster: GralhaCluster) -> None:
    create(cluster)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(RECORDS):
        producer.produce(TOPIC, str(number))
    assert producer.flush(TIMEOUT_S) == 0


def described(cluster: GralhaCluster) -> ConsumerGroupDescription:
    # Each time a new client: librdkafka keeps a group's coordinator in mind after that broker has left its
    # metadata, and a second call may then wait for a connection that it has closed for good.
    client = admin(cluster)
    description: ConsumerGroupDescription = client.describe_consumer_groups([GROUP])[GROUP].result(TIMEOUT_S)
    return description


def coordinator_of(cluster: GralhaCluster) -> int:
    description = described(cluster)
    assert description.state is ConsumerGroupState.STABLE
    return int(description.coordinator.id)


class Worker:
    """Reads one record after the other and commits each; keeps what the group was told of its place."""

    def __init__(self, cluster: GralhaCluster, protocol: str) -> None:
        self.committed: list[int] = []
        self.values: list[str] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": GROUP,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        self._consumer.subscribe([TOPIC])

    def work(self, count: int) -> None:
        """Until so many more commits are acknowledged."""
        wanted = len(self.committed) + count
        while len(self.committed) < wanted:
            message = self._consumer.poll(TIMEOUT_S)
            assert message is not None, f"{len(self.committed)} of {wanted} within {TIMEOUT_S} s"
            if message.error() is None:
                _, offset = place_of(message)
                self.values.append(value_of(message).decode())
                self._commit(offset + 1)

    def _commit(self, offset: int) -> None:
        """A commit may fail while the coordinator moves; then it is tried again, as applications do."""
        while True:
            try:
                self._consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
            except KafkaException as failure:
                if not failure.args[0].retriable():
                    raise
            else:
                self.committed.append(offset)
                return

    def place(self) -> int:
        """The committed offset, from the group's current coordinator."""
        (found,) = self._consumer.committed([TopicPartition(TOPIC, 0)], TIMEOUT_S)
        return int(found.offset)

    def close(self) -> None:
        self._consumer.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_committed_offset_outlives_its_coordinator(cluster: GralhaCluster, protocol: str) -> None:
    fill(cluster)
    worker = Worker(cluster, protocol)
    try:
        worker.work(50)
        coordinator = coordinator_of(cluster)
        cluster.kill(coordinator)
        assert worker.place() == worker.committed[-1]
        worker.work(50)
        assert coordinator_of(cluster) != coordinator
        cluster.restart(coordinator)
        worker.work(50)
        assert worker.place() == worker.committed[-1] == RECORDS
        # Each record once: the member lived on, so nothing was read again, and nothing was left out.
        assert worker.values == [str(number) for number in range(RECORDS)]
    finally:
        worker.close()


def classic_member(cluster: GralhaCluster) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": GROUP,
            "session.timeout.ms": int(1000 * SESSION_S),
            "heartbeat.interval.ms": 3000,
        }
    )
    consumer.subscribe([TOPIC])
    return consumer


def wait_for_partitions(members: list[Consumer], count: int) -> None:
    """Poll until each member owns so many partitions."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while any(len(member.assignment()) != count for member in members):
        assert time.monotonic() < deadline_s, [member.assignment() for member in members]
        for member in members:
            member.poll(0.1)


def test_a_member_that_has_left_does_not_come_back(cluster: GralhaCluster) -> None:
    """Its coordinator is killed at once, and so are the next ones, before any session can expire."""
    create(cluster, partitions=2)
    goes, stays = classic_member(cluster), classic_member(cluster)
    try:
        wait_for_partitions([goes, stays], 1)
        goes.close()
        while len((description := described(cluster)).members) == 2:
            pass  # LeaveGroup is still under way
        left_s = time.monotonic()
        killed = int(description.coordinator.id)
        cluster.kill(killed)
        killed_s = time.monotonic()
        while len(stays.assignment()) < 2:
            assert time.monotonic() < left_s + SESSION_S, "no rebalance within a session"
            stays.poll(0.1)
            if time.monotonic() > killed_s + KILL_INTERVAL_S:
                cluster.restart(killed)
                killed = int(described(cluster).coordinator.id)
                cluster.kill(killed)
                killed_s = time.monotonic()
    finally:
        stays.close()
