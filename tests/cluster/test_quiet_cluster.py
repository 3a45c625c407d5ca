"""Three real brokers to which nothing bad happens, or so little that nobody outside may notice."""

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.testing import GralhaCluster

TIMEOUT_S = 60.0
STOPPED_S = 5.0


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[GralhaCluster]:
    with GralhaCluster(brokers=3, config=getattr(request, "param", {})) as cluster:
        yield cluster


def admin_of(cluster: GralhaCluster, node_id: int) -> AdminClient:
    address = f"127.0.0.1:{cluster.ports[node_id]}"
    return AdminClient({"bootstrap.servers": address, "log_level": 0})


def create(client: AdminClient, name: str) -> "Future[None]":
    return client.create_topics([NewTopic(name, 1, 3)], request_timeout=TIMEOUT_S)[name]


def wait_until(is_true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not is_true():
        assert time.monotonic() < deadline, f"not within {TIMEOUT_S:g} s: {what}"
        time.sleep(0.05)


def quorum_leader(cluster: GralhaCluster) -> tuple[int, int]:
    with Admin(Cluster(cluster.bootstrap)) as admin:
        quorum = admin.describe_quorum()
        return quorum.leader_id, quorum.leader_epoch


def deaths_noted(cluster: GralhaCluster) -> list[str]:
    """The lines of all logs about a process that has ended."""
    logs = [cluster.process(node_id).log_file.read_text() for node_id in cluster.node_ids]
    return [
        line
        for log in logs
        for line in log.splitlines()
        if re.search(r"the process of node \d+ has ended", line)
    ]


def idle_closes(cluster: GralhaCluster) -> int:
    """How many connections have been closed because nobody used them."""
    logs = [cluster.process(node_id).log_file.read_text() for node_id in cluster.node_ids]
    return sum(log.count("it was idle (connections.max.idle.ms)") for log in logs)


@pytest.mark.parametrize("cluster", [{"connections.max.idle.ms": "1000"}], indirect=True)
def test_idle_connections_between_brokers_are_closed_and_nobody_is_fenced(cluster: GralhaCluster) -> None:
    clients = {node_id: admin_of(cluster, node_id) for node_id in cluster.node_ids}
    leader = quorum_leader(cluster)
    for number in range(2):
        before = idle_closes(cluster)
        for node_id, client in clients.items():
            create(client, f"t-{number}-{node_id}").result(TIMEOUT_S)
        # The two that are not the controller have forwarded: their connections for that are idle now.
        wait_until(lambda before=before: idle_closes(cluster) >= before + 2, "idle connections are closed")  # type: ignore[misc]
    assert quorum_leader(cluster) == leader
    topics = clients[1].list_topics(timeout=TIMEOUT_S).topics
    assert all(len(topic.partitions[0].isrs) == 3 for topic in topics.values())
    assert deaths_noted(cluster) == []
    # A broker that is killed now is noticed: its connections are lost, and its addresses refuse.
    cluster.kill(3)
    wait_until(lambda: len(deaths_noted(cluster)) == 2, "both other brokers note the death of the third")
    assert all("the process of node 3 has ended" in line for line in deaths_noted(cluster))


def test_a_topic_is_created_although_the_followers_of_the_quorum_are_stopped_for_a_while(
    cluster: GralhaCluster,
) -> None:
    leader_id, _ = quorum_leader(cluster)
    client = admin_of(cluster, leader_id)
    client.list_topics(timeout=TIMEOUT_S)
    others = [cluster.process(node_id).pid for node_id in cluster.node_ids if node_id != leader_id]
    for pid in others:
        os.kill(pid, signal.SIGSTOP)
    try:
        created = create(client, "t")
        time.sleep(STOPPED_S)  # the leader of the quorum resigns meanwhile
    finally:
        for pid in others:
            os.kill(pid, signal.SIGCONT)
    created.result(TIMEOUT_S)


def test_a_topic_that_is_deleted_while_a_broker_is_down_is_set_aside_there(cluster: GralhaCluster) -> None:
    client = admin_of(cluster, 1)
    create(client, "doomed").result(TIMEOUT_S)
    create(client, "kept").result(TIMEOUT_S)
    folder = cluster.data_folder(3)
    wait_until((folder / "doomed-0").exists, "the third broker has its replica")
    cluster.kill(3)
    client.delete_topics(["doomed"], request_timeout=TIMEOUT_S)["doomed"].result(TIMEOUT_S)
    cluster.restart(3)
    assert not (folder / "doomed-0").exists()
    assert len(list(folder.glob("doomed-0.*-stray"))) == 1
    assert (folder / "kept-0").exists()
    with Admin(Cluster(cluster.bootstrap)) as admin:
        (described,) = admin.describe_log_dirs(3)
        assert "doomed" not in {replica.partition.topic for replica in described.replicas}
