"""Three real broker processes: leaders die, brokers restart, and nothing acknowledged is lost."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.received import place_of, value_of

from gralha.testing import GralhaCluster

TOPIC = "kept"
PARTITIONS = 3
TIMEOUT_S = 60.0


@pytest.fixture
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster(brokers=3) as cluster:
        yield cluster


def create(cluster: GralhaCluster) -> AdminClient:
    client = AdminClient({"bootstrap.servers": cluster.bootstrap})
    topic = NewTopic(TOPIC, PARTITIONS, 3, config={"min.insync.replicas": "2"})
    client.create_topics([topic])[TOPIC].result(TIMEOUT_S)
    return client


def leaders(client: AdminClient) -> dict[int, int]:
    topic = client.list_topics(TOPIC, TIMEOUT_S).topics[TOPIC]
    return {index: partition.leader for index, partition in topic.partitions.items()}


class Writer:
    """Writes numbers, idempotent and acks=all, and keeps what was acknowledged by partition and offset."""

    def __init__(self, cluster: GralhaCluster) -> None:
        self.acknowledged: dict[tuple[int, int], bytes] = {}
        self.errors: list[object] = []
        self.longest_pause_s = 0.0
        self._last = time.monotonic()
        self._number = 0
        self._producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 0,
                "message.timeout.ms": int(TIMEOUT_S * 1000),
            }
        )

    def _delivered(self, error: object, message: object) -> None:
        if error is not None:
            self.errors.append(error)
            return
        now = time.monotonic()
        self.longest_pause_s = max(self.longest_pause_s, now - self._last)
        self._last = now
        self.acknowledged[message.partition(), message.offset()] = message.value()  # type: ignore[attr-defined]

    def write(self, count: int) -> None:
        """Send so many more, at most a few hundred ahead of their acknowledgements."""
        for _ in range(count):
            value = str(self._number).encode()
            self._producer.produce(
                TOPIC, value, partition=self._number % PARTITIONS, on_delivery=self._delivered
            )
            self._number += 1
            self._producer.poll(0)
            while len(self._producer) > 300:
                self._producer.poll(0.01)

    def write_until(self, count: int) -> None:
        """Go on until so many are acknowledged."""
        deadline = time.monotonic() + TIMEOUT_S
        while len(self.acknowledged) < count:
            assert time.monotonic() < deadline, f"{len(self.acknowledged)} of {count} within {TIMEOUT_S} s"
            self.write(10)
            self._producer.poll(0.01)

    def finish(self) -> None:
        assert self._producer.flush(TIMEOUT_S) == 0
        assert self.errors == []


def read_all(cluster: GralhaCluster) -> dict[tuple[int, int], bytes]:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "reader"})
    try:
        partitions = [TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)]
        total = sum(consumer.get_watermark_offsets(one, TIMEOUT_S)[1] for one in partitions)
        consumer.assign(partitions)
        found: dict[tuple[int, int], bytes] = {}
        while len(found) < total:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"{len(found)} of {total} records within {TIMEOUT_S} s"
            if message.error() is None:
                found[place_of(message)] = value_of(message)
        return found
    finally:
        consumer.close()


def check(cluster: GralhaCluster, writer: Writer) -> None:
    """Everything acknowledged is there, once."""
    writer.finish()
    found = read_all(cluster)
    lost = {place: value for place, value in writer.acknowledged.items() if found.get(place) != value}
    assert lost == {}
    values = list(found.values())
    assert len(values) == len(set(values))


def test_partitions_are_spread_and_replicated(cluster: GralhaCluster) -> None:
    client = create(cluster)
    assert set(leaders(client).values()) == {1, 2, 3}
    topic = client.list_topics(TOPIC, TIMEOUT_S).topics[TOPIC]
    assert all(sorted(partition.isrs) == [1, 2, 3] for partition in topic.partitions.values())
    writer = Writer(cluster)
    writer.write_until(300)
    check(cluster, writer)


def test_a_leader_that_is_killed_is_replaced_and_nothing_is_lost(cluster: GralhaCluster) -> None:
    client = create(cluster)
    writer = Writer(cluster)
    writer.write_until(300)
    victim = leaders(client)[0]
    cluster.kill(victim)
    writer.write_until(900)
    assert victim not in leaders(client).values()
    cluster.restart(victim)
    writer.write_until(1200)
    check(cluster, writer)


def test_a_rolling_restart_loses_nothing(cluster: GralhaCluster) -> None:
    create(cluster)
    writer = Writer(cluster)
    for round_number, node_id in enumerate(cluster.node_ids, start=1):
        writer.write_until(200 * round_number)
        cluster.stop(node_id)
        writer.write_until(200 * round_number + 100)
        cluster.restart(node_id)
    writer.write_until(900)
    check(cluster, writer)
