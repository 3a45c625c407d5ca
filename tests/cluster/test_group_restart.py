"""A broker that is killed under its consumer groups: members go on, and no committed offset goes back."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.received import value_of

from gralha.testing import GralhaCluster

TOPIC = "work"
PARTITIONS = 2
RECORDS = 200
TIMEOUT_S = 30.0


@pytest.fixture
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster(config={"group.initial.rebalance.delay.ms": "0"}) as cluster:
        yield cluster


def fill(cluster: GralhaCluster) -> None:
    client = AdminClient({"bootstrap.servers": cluster.bootstrap})
    client.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(RECORDS):
        producer.produce(TOPIC, str(number), partition=number % PARTITIONS)
    assert producer.flush(TIMEOUT_S) == 0


def member(cluster: GralhaCluster, protocol: str) -> Consumer:
    settings = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": "workers",
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    consumer.subscribe([TOPIC])
    return consumer


def consume(consumer: Consumer, count: int) -> list[str]:
    """Read so many records, committing each before the next is asked for."""
    values: list[str] = []
    while len(values) < count:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, f"{len(values)} of {count} records within {TIMEOUT_S} s"
        error = message.error()
        if error is None:
            consumer.commit(message=message, asynchronous=False)
            values.append(value_of(message).decode())
        else:
            assert error.retriable(), error
    return values


def committed(consumer: Consumer) -> dict[int, int]:
    partitions = [TopicPartition(TOPIC, index) for index in range(PARTITIONS)]
    return {one.partition: one.offset for one in consumer.committed(partitions, TIMEOUT_S)}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_group_survives_its_coordinator(cluster: GralhaCluster, protocol: str, end: str) -> None:
    fill(cluster)
    consumer = member(cluster, protocol)
    try:
        first = consume(consumer, RECORDS // 2)
        before = committed(consumer)
        getattr(cluster, end)()
        cluster.start()
        after = committed(consumer)
        assert after == before
        second = consume(consumer, RECORDS // 2)
        # The member lived on, so it need not read anything twice; and it must not leave anything out.
        assert sorted(map(int, first + second)) == list(range(RECORDS))
        assert sum(committed(consumer).values()) == RECORDS
    finally:
        consumer.close()
