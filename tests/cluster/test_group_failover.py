"""Groups on three brokers: their coordinator is killed, and no committed offset goes back."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from gralha.testing import GralhaCluster

TOPIC = "work"
GROUP = "workers"
RECORDS = 150
TIMEOUT_S = 60.0


@pytest.fixture
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster(brokers=3) as cluster:
        yield cluster


def admin(cluster: GralhaCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap})


def fill(cluster: GralhaCluster) -> None:
    topic = NewTopic(TOPIC, 1, 3, config={"min.insync.replicas": "2"})
    client = admin(cluster)
    client.create_topics([topic])[TOPIC].result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(RECORDS):
        producer.produce(TOPIC, str(number))
    assert producer.flush(TIMEOUT_S) == 0


def coordinator_of(cluster: GralhaCluster) -> int:
    # Each time a new client: librdkafka keeps a group's coordinator in mind after that broker has left its
    # metadata, and a second call may then wait for a connection that it has closed for good.
    client = admin(cluster)
    description = client.describe_consumer_groups([GROUP])[GROUP].result(TIMEOUT_S)
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
                self.values.append(message.value().decode())
                self._commit(message.offset() + 1)

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
        """What the group's coordinator, whoever that is now, knows of it."""
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
