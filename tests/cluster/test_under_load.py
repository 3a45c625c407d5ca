"""What happens to a cluster on purpose, or by a crash, while clients write and read: nobody notices."""

import time
from collections.abc import Callable, Iterator

import pytest
from tests.cluster.chaos import active_controller
from tests.cluster.chaos_clients import TOPIC, Clients

from gralha.client.addresses import Address
from gralha.client.connection import Connection
from gralha.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from gralha.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from gralha.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from gralha.testing import GralhaCluster

PATIENCE_S = 60.0
PREFERRED = 0
pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster(3) as cluster:
        yield cluster


def check(clients: Clients) -> None:
    """Check that nothing is lost or duplicated, and that an application would have seen no error."""
    assert (clients.anomalies(), clients.notes.errors, clients.unanswered) == ([], [], 0)


def wait_for(what: Callable[[], object], wanted: object) -> None:
    """A broker that is asked may hear a little later than others of what was decided."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := what()) != wanted:
        assert time.monotonic() < deadline, f"{found}, not {wanted}"
        time.sleep(0.05)


def connect(cluster: GralhaCluster) -> Connection:
    return Connection.open(Address("127.0.0.1", cluster.ports[1]))


def reassign(cluster: GralhaCluster, partition: int, replicas: list[int]) -> None:
    """Move a partition and wait until that is done."""
    topic = ReassignableTopic(TOPIC, [ReassignablePartition(partition, replicas)])
    deadline = time.monotonic() + PATIENCE_S
    with connect(cluster) as connection:
        asked = connection.send(
            AlterPartitionReassignmentsRequest(topics=[topic]), AlterPartitionReassignmentsResponse
        )
        assert (asked.error_code, asked.responses[0].partitions[0].error_code) == (0, 0)
        while True:
            going_on = connection.send(
                ListPartitionReassignmentsRequest(topics=None), ListPartitionReassignmentsResponse
            )
            assert going_on.error_code == 0
            if not going_on.topics:
                return
            assert time.monotonic() < deadline, going_on.topics
            time.sleep(0.05)


def elect_preferred(cluster: GralhaCluster, partition: int) -> None:
    request = ElectLeadersRequest(PREFERRED, [TopicPartitions(TOPIC, [partition])])
    with connect(cluster) as connection:
        answer = connection.send(request, ElectLeadersResponse)
    assert answer.error_code == 0
    results = answer.replica_election_results
    assert [one.error_code for result in results for one in result.partition_result] == [0]


@pytest.mark.parametrize("victim", ["leader", "controller"])
def test_a_kill_is_noticed_without_any_timeout(victim: str) -> None:
    """With timeouts of minutes only the lost connections can tell. How long it takes, `make soak` prints."""
    minutes = {
        "broker.session.timeout.ms": "300000",
        "controller.quorum.fetch.timeout.ms": "300000",
        "replica.lag.time.max.ms": "300000",
    }
    with GralhaCluster(3, minutes) as cluster:
        with Clients(cluster.bootstrap) as clients:
            clients.progress(20, PATIENCE_S)
            controller = active_controller(cluster)
            assert controller is not None
            # A leader that is no controller, so that each case shows one thing.
            leaders = [leader for leader in clients.leaders().values() if leader != controller]
            cluster.kill(controller if victim == "controller" else leaders[0])
            clients.progress(20, PATIENCE_S)
            cluster.start()
            clients.progress(20, PATIENCE_S)
        check(clients)


def test_a_rolling_restart(cluster: GralhaCluster) -> None:
    with Clients(cluster.bootstrap) as clients:
        for node_id in list(cluster.node_ids):
            clients.progress(20, PATIENCE_S)
            cluster.stop(node_id)
            clients.progress(20, PATIENCE_S)
            cluster.start()
        clients.progress(20, PATIENCE_S)
    check(clients)


def test_another_preferred_leader(cluster: GralhaCluster) -> None:
    with Clients(cluster.bootstrap) as clients:
        clients.progress(20, PATIENCE_S)
        before, _ = clients.replicas(0)
        assert clients.leaders()[0] == before[0]
        after = [*before[1:], before[0]]
        reassign(cluster, 0, after)
        wait_for(lambda: clients.replicas(0)[0], after)
        elect_preferred(cluster, 0)
        clients.progress(20, PATIENCE_S)
        wait_for(lambda: clients.leaders()[0], after[0])
    check(clients)


def test_a_fourth_broker_takes_over_a_partition(cluster: GralhaCluster) -> None:
    with Clients(cluster.bootstrap) as clients:
        clients.progress(20, PATIENCE_S)
        fourth = cluster.add_broker()
        before, _ = clients.replicas(0)
        after = [fourth, *before[1:]]
        reassign(cluster, 0, after)
        clients.progress(20, PATIENCE_S)
        wait_for(lambda: clients.replicas(0), (after, set(after)))
        # Its leader has gone from the list, so the first of the list leads.
        wait_for(lambda: clients.leaders()[0], fourth)
        wait_for((cluster.data_folder(before[0]) / f"{TOPIC}-0").exists, False)
    check(clients)
