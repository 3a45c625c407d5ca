"""Three real broker processes that log in to each other: nothing acknowledged is lost when one is killed."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.received import place_of, value_of
from tests.sasl_cluster import MECHANISMS, PASSWORD, USER, SaslCluster

TIMEOUT_S = 60.0
TOPIC = "kept"
COUNT = 2_000


@pytest.fixture
def cluster() -> Iterator[SaslCluster]:
    # Nodes and clients log in again every few hundred milliseconds.
    with SaslCluster(brokers=3, config={"connections.max.reauth.ms": "1500"}) as cluster:
        yield cluster


def client(cluster: SaslCluster, mechanism: str) -> dict[str, str | int | float | bool]:
    return {
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": USER,
        "sasl.password": PASSWORD,
    }


def test_records_survive_a_killed_broker(cluster: SaslCluster) -> None:
    admin = AdminClient(client(cluster, "PLAIN"))
    topic = NewTopic(TOPIC, 3, 3, config={"min.insync.replicas": "2"})
    admin.create_topics([topic])[TOPIC].result(TIMEOUT_S)
    acknowledged: dict[tuple[int, int], bytes] = {}
    errors: list[object] = []

    def delivered(error: object, message: object) -> None:
        if error is not None:
            errors.append(error)
        else:
            place = (message.partition(), message.offset())  # type: ignore[attr-defined]
            acknowledged[place] = message.value()  # type: ignore[attr-defined]

    producer = Producer(
        {**client(cluster, "SCRAM-SHA-256"), "acks": "all", "enable.idempotence": True, "linger.ms": 0}
    )
    leader = admin.list_topics(TOPIC, TIMEOUT_S).topics[TOPIC].partitions[0].leader
    for number in range(COUNT):
        producer.produce(TOPIC, str(number).encode(), partition=number % 3, on_delivery=delivered)
        while len(producer) > 50:
            producer.poll(0.01)
        if number == COUNT // 3:
            cluster.kill(leader)
        if number == 2 * COUNT // 3:
            cluster.start()
    assert producer.flush(TIMEOUT_S) == 0
    assert errors == []
    assert len(acknowledged) == COUNT
    assert _consumed(cluster) == acknowledged
    assert not [line for line in _logs(cluster) if "could not log in" in line]


def _consumed(cluster: SaslCluster) -> dict[tuple[int, int], bytes]:
    consumer = Consumer(
        {**client(cluster, MECHANISMS[2]), "group.id": "all", "auto.offset.reset": "earliest"}
    )
    consumer.assign([TopicPartition(TOPIC, index, 0) for index in range(3)])
    found: dict[tuple[int, int], bytes] = {}
    while len(found) < COUNT:
        messages = consumer.consume(500, TIMEOUT_S)
        assert messages, f"{len(found)} of {COUNT} records"
        for message in messages:
            assert message.error() is None
            found[place_of(message)] = value_of(message)
    consumer.close()
    return found


def _logs(cluster: SaslCluster) -> list[str]:
    return [
        line
        for node_id in cluster.node_ids
        for line in (cluster.folder / f"node-{node_id}" / "server.log").read_text().splitlines()
    ]


def test_a_node_with_another_password_does_not_join(cluster: SaslCluster) -> None:
    """Its requests for the quorum are refused, so the others go on without it."""
    cluster.stop(3)
    properties = cluster.folder / "node-3" / "server.properties"
    properties.write_text(properties.read_text().replace('password="x"', 'password="y"'))
    timeouts = "initial.broker.registration.timeout.ms=10000"
    ended = subprocess.run(
        [sys.executable, "-m", "gralha", "server", "--config", str(properties), "--override", timeouts],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ended.returncode == 1
    assert "refuses this node: the login with PLAIN has failed" in ended.stderr + ended.stdout
    with_json = json.dumps(_logs(cluster))
    assert "could not log in on the listener CONTROLLER with PLAIN: Authentication failed" in with_json
    assert 'password=\\"' not in with_json
