"""Three brokers with TLS on every listener: a broker is killed, and the others serve on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.client.live import eventually
from tests.received import value_of
from tests.tls_cluster import TlsCluster

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.security import ClientSecurity
from gralha.client.values import TopicDescription

TOPIC = "kept"
TIMEOUT_S = 60.0


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[TlsCluster]:
    with TlsCluster(tmp_path, brokers=3) as cluster:
        yield cluster


def write(cluster: TlsCluster, values: list[bytes]) -> None:
    errors: list[object] = []

    def delivered(error: object, _: object) -> None:
        if error is not None:
            errors.append(error)

    producer = Producer({**cluster.librdkafka, "acks": "all", "log_level": 0})
    for value in values:
        producer.produce(TOPIC, value, on_delivery=delivered)
    assert producer.flush(TIMEOUT_S) == 0
    assert errors == []


def read(cluster: TlsCluster, count: int) -> list[bytes]:
    settings = {**cluster.librdkafka, "group.id": "readers", "auto.offset.reset": "earliest", "log_level": 0}
    consumer = Consumer(settings)
    consumer.subscribe([TOPIC])
    found: list[bytes] = []
    while len(found) < count:
        batch = consumer.consume(count, TIMEOUT_S)
        assert batch, f"{len(found)} of {count} records within {TIMEOUT_S} s"
        found += [value_of(message) for message in batch]
    consumer.close()
    return sorted(found)


def in_sync_replicas(admin: Admin) -> set[frozenset[int]]:
    described = admin.describe_topics([TOPIC])[TOPIC]
    assert isinstance(described, TopicDescription)
    return {frozenset(partition.in_sync_replicas) for partition in described.partitions}


def test_a_killed_broker(cluster: TlsCluster) -> None:
    settings = ClientSecurity.from_kafka(cluster.properties)
    topic = NewTopic(TOPIC, 6, 3, config={"min.insync.replicas": "2"})
    creator = AdminClient({**cluster.librdkafka})
    creator.create_topics([topic])[TOPIC].result(TIMEOUT_S)
    values = [b"%06d" % number for number in range(3000)]
    write(cluster, values[:1500])
    # The broker that this client knows may be the one that is killed.
    with Admin(Cluster(cluster.bootstrap, security=settings, waits_for_first_answer=True)) as admin:
        victim = admin.describe_quorum().leader_id
        cluster.kill(victim)
        survivors = set(cluster.node_ids) - {victim}
        assert eventually(lambda: {node.id for node in admin.describe_cluster().nodes} == survivors)
        write(cluster, values[1500:])
        assert read(cluster, len(values)) == values
        cluster.start()
        assert eventually(lambda: in_sync_replicas(admin) == {frozenset(cluster.node_ids)})
    for node_id in survivors:
        log = cluster.process(node_id).log_tail(1_000_000)
        assert f"the process of node {victim} has ended" in log
        assert "TLS" not in log, log
