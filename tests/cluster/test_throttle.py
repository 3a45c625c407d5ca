"""A throttled move between real processes stands still while another one is done, until it is let go."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from gralha.client.addresses import Address
from gralha.client.connection import Connection
from gralha.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from gralha.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from gralha.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from gralha.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from gralha.testing import GralhaCluster

THROTTLED, FREE = "throttled", "free"
RECORDS = 150
RECORD_BYTES = 100_000  # fifteen times as much in all as one answer to a follower holds
SLOW = "1000"
PATIENCE_S = 60.0
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
SET, DELETE = 0, 1


@pytest.fixture
def connection(cluster: GralhaCluster) -> Iterator[Connection]:
    with Connection.open(Address("127.0.0.1", cluster.ports[1])) as connection:
        yield connection


@pytest.fixture
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster(3) as cluster:
        yield cluster


def configure(connection: Connection, kind: int, name: str, values: dict[str, str | None]) -> None:
    configs = [AlterableConfig(key, DELETE if value is None else SET, value) for key, value in values.items()]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, configs)])
    response = connection.send(request, IncrementalAlterConfigsResponse)
    assert [one.error_code for one in response.responses] == [0]


def moving(connection: Connection) -> set[str]:
    request = ListPartitionReassignmentsRequest(topics=None)
    return {topic.name for topic in connection.send(request, ListPartitionReassignmentsResponse).topics}


def wait_for_move(connection: Connection, topic: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while topic in moving(connection):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def copied_bytes(cluster: GralhaCluster, topic: str) -> int:
    return sum(file.stat().st_size for file in (cluster.data_folder(3) / f"{topic}-0").glob("*.log"))


def fill(cluster: GralhaCluster, connection: Connection, topic: str) -> None:
    new = CreatableTopic(topic, -1, -1, [CreatableReplicaAssignment(0, [1, 2])])
    created = connection.send(CreateTopicsRequest([new], 30_000), CreateTopicsResponse)
    assert created.topics[0].error_code == 0
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for _ in range(RECORDS):
        producer.produce(topic, bytes(RECORD_BYTES))
    assert producer.flush(PATIENCE_S) == 0


def chill(folder: Path) -> None:
    """Let the page cache forget the records: a follower's fetch then reads them in a thread."""
    for path in folder.glob("*.log"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_throttled_move_waits(cluster: GralhaCluster, connection: Connection, side: str) -> None:
    for topic in (THROTTLED, FREE):
        fill(cluster, connection, topic)
        chill(cluster.data_folder(1) / f"{topic}-0")
    replicas, rate = f"{side}.replication.throttled.replicas", f"{side}.replication.throttled.rate"
    configure(connection, TOPIC_RESOURCE, THROTTLED, {replicas: "*"})
    configure(connection, BROKER_RESOURCE, "", {rate: SLOW})
    moves = [ReassignableTopic(topic, [ReassignablePartition(0, [1, 2, 3])]) for topic in (THROTTLED, FREE)]
    begun = connection.send(
        AlterPartitionReassignmentsRequest(topics=moves), AlterPartitionReassignmentsResponse
    )
    assert begun.error_code == 0
    wait_for_move(connection, FREE)
    # Its first answer came before there was a rate; after that there was one, and it was too high.
    assert copied_bytes(cluster, THROTTLED) < RECORDS * RECORD_BYTES
    assert moving(connection) == {THROTTLED}
    configure(connection, BROKER_RESOURCE, "", {rate: None})
    wait_for_move(connection, THROTTLED)
    assert copied_bytes(cluster, THROTTLED) > RECORDS * RECORD_BYTES
    assert " ERROR " not in cluster.process(1).log_file.read_text()
