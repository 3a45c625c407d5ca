"""Quotas as client libraries see them: throttle times, a rate that is held, and others that do not wait."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, ThrottleEvent
from kafka import KafkaProducer

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.values import NewTopic
from gralha.protocol.client_quotas import quota_entity
from gralha.testing import GralhaCluster
from tests.apache.kafka import run_tool
from tests.client.live import eventually

# Three windows of a second: a burst of two seconds, and then the rate.
WINDOWS = {"quota.window.num": "3", "quota.window.size.seconds": "1"}
RATE = 100_000
RECORD = bytes(10_000)
RECORDS = 60
LONGEST_S = 120


@pytest.fixture(scope="module")
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster(config=WINDOWS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def admin(cluster: GralhaCluster) -> Iterator[Admin]:
    with Admin(Cluster(cluster.bootstrap)) as admin:
        admin.create_topics([NewTopic("t", partitions=1)])
        yield admin


def limit(admin: Admin, client_id: str, **values: float) -> None:
    entity = quota_entity([("client-id", client_id)])
    admin.alter_quotas(entity, values)
    assert eventually(lambda: entity in admin.describe_quotas(dict(entity)))


def send_all(producer: Producer) -> None:
    for _ in range(RECORDS):
        producer.produce("t", RECORD)


def producer_of(cluster: GralhaCluster, client_id: str, throttled: list[ThrottleEvent]) -> Producer:
    return Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "client.id": client_id,
            "batch.size": 2 * len(RECORD),
            "linger.ms": 0,
            "throttle_cb": throttled.append,
        }
    )


def test_a_producer_keeps_to_its_rate(cluster: GralhaCluster, admin: Admin) -> None:
    limit(admin, "limited", producer_byte_rate=RATE)
    throttled: list[ThrottleEvent] = []
    limited = producer_of(cluster, "limited", throttled)
    began_s = time.monotonic()
    send_all(limited)
    assert limited.flush(LONGEST_S) == 0
    # A burst of three windows, and at least half of the time that the rest needs at the rate.
    assert time.monotonic() - began_s > (RECORDS * len(RECORD) - 3 * RATE) / RATE / 2
    assert any(event.throttle_time > 0 for event in throttled)


def test_another_client_does_not_wait(cluster: GralhaCluster, admin: Admin) -> None:
    # The slow client would need ten minutes.
    limit(admin, "slow", producer_byte_rate=RATE / 100)
    throttled: list[ThrottleEvent] = []
    slow, free = producer_of(cluster, "slow", throttled), producer_of(cluster, "free", throttled)
    send_all(slow)
    assert eventually(lambda: slow.poll(0) is not None and throttled != [])
    send_all(free)
    assert free.flush(LONGEST_S) == 0
    assert len(slow) > 0
    slow.purge()


def test_a_consumer_keeps_to_its_rate(cluster: GralhaCluster, admin: Admin) -> None:
    limit(admin, "reader", consumer_byte_rate=RATE)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "batch.size": 2 * len(RECORD)})
    send_all(producer)
    assert producer.flush(LONGEST_S) == 0
    throttled: list[ThrottleEvent] = []
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "client.id": "reader",
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "throttle_cb": throttled.append,
        }
    )
    consumer.subscribe(["t"])
    began_s = time.monotonic()
    received = 0
    while received < RECORDS and time.monotonic() - began_s < LONGEST_S:
        received += sum(message.error() is None for message in consumer.consume(RECORDS - received, 1.0))
    elapsed_s = time.monotonic() - began_s
    consumer.close()
    assert received == RECORDS
    assert elapsed_s > (RECORDS * len(RECORD) - 3 * RATE) / RATE / 2
    assert any(event.throttle_time > 0 for event in throttled)


def test_kafka_python_sees_the_throttle_time(
    cluster: GralhaCluster, admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    limit(admin, "python", producer_byte_rate=RATE)
    producer = KafkaProducer(
        bootstrap_servers=cluster.bootstrap, client_id="python", batch_size=2 * len(RECORD)
    )
    for _ in range(RECORDS):
        producer.send("t", RECORD)
    producer.flush(LONGEST_S)
    producer.close()
    assert "ProduceResponse throttled by broker" in caplog.text


def test_java_sees_the_throttle_time(cluster: GralhaCluster, admin: Admin) -> None:
    limit(admin, "java", producer_byte_rate=RATE)
    arguments = ["--topic", "t", "--num-records", str(RECORDS), "--record-size", str(len(RECORD))]
    settings = [f"bootstrap.servers={cluster.bootstrap}", "client.id=java", "batch.size=20000"]
    done = run_tool(
        "kafka-producer-perf-test",
        *arguments,
        "--throughput",
        "-1",
        "--print-metrics",
        "--producer-props",
        *settings,
    )
    (line,) = [one for one in done.stdout.splitlines() if "produce-throttle-time-max" in one]
    assert float(line.rpartition(":")[2]) > 0
