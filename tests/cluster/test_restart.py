"""A broker process that ends, well or badly, and comes back with everything it acknowledged."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from tests.received import place_of, value_of

from gralha.client.addresses import parse_address
from gralha.client.connection import Connection
from gralha.client.errors import ClientError
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from gralha.testing import GralhaCluster

TOPIC = "kept"
TIMEOUT_S = 20.0


@pytest.fixture
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster() as cluster:
        yield cluster


def admin(cluster: GralhaCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap})


def create(cluster: GralhaCluster, **config: str) -> None:
    settings = {name.replace("_", "."): value for name, value in config.items()}
    # A name for the client: its calls end with it.
    client = admin(cluster)
    client.create_topics([NewTopic(TOPIC, 1, 1, config=settings)])[TOPIC].result(TIMEOUT_S)


def new_producer(cluster: GralhaCluster, **settings: object) -> Producer:
    return Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", **settings})


def new_producer_id(cluster: GralhaCluster) -> int:
    with Connection.open(parse_address(cluster.bootstrap)) as connection:
        response = connection.send(InitProducerIdRequest(transactional_id=None), InitProducerIdResponse)
    assert response.error_code == 0
    return response.producer_id


class Deliveries:
    """The values that the broker has acknowledged, by offset."""

    def __init__(self) -> None:
        self.values: dict[int, bytes] = {}
        self.errors: list[object] = []

    def __call__(self, error: object, message: object) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            self.values[message.offset()] = message.value()  # type: ignore[attr-defined]


def read_all(cluster: GralhaCluster) -> dict[int, bytes]:
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "reader", "enable.auto.commit": False}
    )
    try:
        partition = TopicPartition(TOPIC, 0, 0)
        _, end = consumer.get_watermark_offsets(partition, TIMEOUT_S)
        consumer.assign([partition])
        found: dict[int, bytes] = {}
        while len(found) < end:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"{len(found)} of {end} records within {TIMEOUT_S} s"
            assert message.error() is None, message.error()
            _, offset = place_of(message)
            found[offset] = value_of(message)
        return found
    finally:
        consumer.close()


def test_sigkill_loses_no_acknowledged_record(cluster: GralhaCluster) -> None:
    create(cluster, segment_bytes="1048576")
    delivered = Deliveries()
    for life in range(3):
        producer = new_producer(cluster, **{"linger.ms": 0, "message.timeout.ms": 3000})
        number = 0
        # Kill it while requests are under way: some are acknowledged, some are not.
        while len(delivered.values) < 2000 * (life + 1):
            producer.produce(TOPIC, f"{life}-{number}".encode() * 50, on_delivery=delivered)
            producer.poll(0 if number % 100 else 0.01)
            number += 1
        cluster.kill()
        acknowledged = dict(delivered.values)
        cluster.start()
        found = read_all(cluster)
        assert {offset: found.get(offset) for offset in acknowledged} == acknowledged
        producer.flush(TIMEOUT_S)


def test_a_torn_tail_is_cut(cluster: GralhaCluster) -> None:
    create(cluster)
    delivered = Deliveries()
    producer = new_producer(cluster)
    for number in range(10):
        producer.produce(TOPIC, str(number).encode(), on_delivery=delivered)
    assert producer.flush(TIMEOUT_S) == 0
    cluster.kill()
    segment = cluster.data_folder() / f"{TOPIC}-0" / f"{0:020d}.log"
    whole = segment.read_bytes()
    segment.write_bytes(whole + whole[:100])
    cluster.start()
    assert read_all(cluster) == delivered.values
    assert segment.stat().st_size == len(whole)


def test_an_idempotent_producer_goes_on_after_a_kill_without_a_duplicate(cluster: GralhaCluster) -> None:
    create(cluster)
    delivered = Deliveries()
    producer = new_producer(cluster, **{"enable.idempotence": True, "linger.ms": 0})
    for number in range(300):
        producer.produce(TOPIC, str(number).encode(), on_delivery=delivered)
        if number in (100, 200):
            producer.poll(0.05)
            cluster.kill()
            cluster.start()
    assert producer.flush(30) == 0
    assert delivered.errors == []
    assert list(read_all(cluster).values()) == [str(number).encode() for number in range(300)]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_topics_configs_and_producer_ids_survive(cluster: GralhaCluster, end: str) -> None:
    create(cluster, retention_ms="123456")
    producer_ids = [new_producer_id(cluster)]
    before = admin(cluster).list_topics(timeout=TIMEOUT_S)
    getattr(cluster, end)()
    cluster.start()
    after = admin(cluster).list_topics(timeout=TIMEOUT_S)
    assert after.cluster_id == before.cluster_id
    assert set(after.topics) == set(before.topics)
    resource = ConfigResource(ResourceType.TOPIC, TOPIC)
    client = admin(cluster)
    configs = client.describe_configs([resource])[resource].result(TIMEOUT_S)
    assert configs["retention.ms"].value == "123456"
    producer_ids += [new_producer_id(cluster), new_producer_id(cluster)]
    assert producer_ids == sorted(set(producer_ids))


def test_a_clean_stop_needs_no_recovery_and_no_new_leader_epoch(cluster: GralhaCluster) -> None:
    create(cluster)
    delivered = Deliveries()
    for _ in range(2):
        producer = new_producer(cluster)
        producer.produce(TOPIC, b"value", on_delivery=delivered)
        assert producer.flush(TIMEOUT_S) == 0
        assert cluster.process().stop() == 0
        assert (cluster.data_folder() / ".kafka_cleanshutdown").exists()
        cluster.start()
        assert not (cluster.data_folder() / ".kafka_cleanshutdown").exists()
    assert read_all(cluster) == {0: b"value", 1: b"value"}
    epochs = (cluster.data_folder() / f"{TOPIC}-0" / "leader-epoch-checkpoint").read_text()
    assert epochs.split() == ["0", "1", "0", "0"]


def test_flush_messages_1_is_served(cluster: GralhaCluster) -> None:
    create(cluster, flush_messages="1")
    delivered = Deliveries()
    producer = new_producer(cluster)
    for number in range(200):
        producer.produce(TOPIC, str(number).encode(), on_delivery=delivered)
    assert producer.flush(TIMEOUT_S) == 0
    assert read_all(cluster) == {number: str(number).encode() for number in range(200)}


def test_a_deleted_topic_is_gone_after_a_restart(cluster: GralhaCluster) -> None:
    create(cluster)
    client = admin(cluster)
    client.delete_topics([TOPIC])[TOPIC].result(TIMEOUT_S)
    cluster.kill()
    cluster.start()
    assert TOPIC not in admin(cluster).list_topics(timeout=TIMEOUT_S).topics
    create(cluster)
    assert read_all(cluster) == {}


def test_a_second_broker_on_the_same_folder_or_port_says_what_to_do(
    cluster: GralhaCluster, tmp_path: Path
) -> None:
    def start(port: int, folder: Path) -> str:
        properties = tmp_path / "server.properties"
        properties.write_text(
            f"process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:{port}\n"
            f"log.dirs={folder}\n"
        )
        command = [sys.executable, "-m", "gralha", "server", "--config", str(properties)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 1
        return done.stderr

    assert "is in use by another broker. Stop that one, or choose another folder" in start(
        0, cluster.data_folder()
    )
    used = start(cluster.ports[1], tmp_path / "other")
    assert "Stop the program that uses the port, or choose another port in listeners." in used


def test_the_limit_of_connections_can_be_changed_while_it_runs(cluster: GralhaCluster) -> None:
    client = admin(cluster)
    entry = ConfigEntry("max.connections.per.ip", "3", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    client.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)
    # The admin client holds one or two; this many more are too many for sure.
    with contextlib.ExitStack() as stack, pytest.raises(ClientError):
        connect_often(cluster, stack, 4)


def connect_often(cluster: GralhaCluster, stack: contextlib.ExitStack, times: int) -> None:
    for _ in range(times):
        stack.enter_context(Connection.open(parse_address(cluster.bootstrap)))
