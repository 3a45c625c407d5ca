"""Without faults no broker may be fenced and no leader replaced, however long the run is."""

from dataclasses import replace

import pytest

from gralha.simulation.clients import Client
from gralha.simulation.cluster import Settings, SimulatedCluster, quiet
from gralha.simulation.loop import no_threads
from tests.full_size import IS_FULL

THREE = Settings(brokers=3, topic_configs={"min.insync.replicas": "2"})


def create_topics_everywhere(cluster: SimulatedCluster, name: str) -> None:
    """Each broker is asked once, so that each forwards to the active controller."""
    for node in cluster.nodes.values():
        bootstrap = cluster.bootstrap()._replace(addresses=[node.address])
        client = Client(f"admin-{name}", bootstrap, f"{name}-{node.node_id}", cluster.random)
        made = cluster.run_client(lambda client=client: client.create_topic(1, 3, {}))  # type: ignore[misc]
        assert cluster.run_until(made.done, 30, "a topic is made")


def leaders(cluster: SimulatedCluster) -> dict[str, tuple[int, ...]]:
    """The leaders of the quorum and the partitions, with their epochs; the brokers that are not fenced."""
    node = cluster.nodes[1].node
    assert node is not None
    assert node._controller is not None
    image = node._controller.image
    found: dict[str, tuple[int, ...]] = {
        f"{topic.name}-{index}": (partition.leader, partition.leader_epoch)
        for topic in image.topics.values()
        for index, partition in topic.partitions.items()
    }
    found["quorum"] = (node._controller.leader_id, node._controller.epoch)
    found["brokers"] = tuple(sorted(broker.id for broker in image.brokers.values() if not broker.fenced))
    return found


@pytest.mark.parametrize(
    ("idle_ms", "seed", "quiet_s", "session_s"),
    [
        (8_000, 0, 20, 0),
        (8_000, 1, 20, 0),
        (8_000, 2, 20, 0),
        (8_000, 4, 20, 3),
        # The default, and more than three hours in all if the tests have their full size. They take a minute
        # of CPU, and other work may have the cores.
        pytest.param(600_000, 3, 3_620 if IS_FULL else 1_220, 0, marks=pytest.mark.timeout(1800)),
        pytest.param(600_000, 5, 3_620 if IS_FULL else 620, 120, marks=pytest.mark.timeout(1800)),
    ],
)
def test_connections_that_are_closed_because_they_were_idle_harm_nobody(
    idle_ms: int, seed: int, quiet_s: float, session_s: float
) -> None:
    """With a length of sessions the nodes also log in again and again."""
    settings = replace(THREE, node_configs={"connections.max.idle.ms": str(idle_ms)}, session_s=session_s)
    with quiet(), no_threads():
        cluster = SimulatedCluster(seed, settings)
        cluster.format()
        for node in cluster.nodes.values():
            node.start()
        assert cluster.run_until(lambda: cluster.all_ready, 60, "all nodes are ready")
        for number in range(3):
            create_topics_everywhere(cluster, f"t{number}")
            cluster.run_for(1)  # until all nodes have followed
            before = leaders(cluster)
            assert before["brokers"] == (1, 2, 3)
            cluster.run_for(quiet_s)
            assert leaders(cluster) == before
        assert cluster.world.failures == []
        cluster.world.bury()


@pytest.mark.parametrize(("interval_ms", "moves"), [(500, True), (0, False)])
def test_the_high_watermark_of_an_idle_quorum_moves(interval_ms: int, moves: bool) -> None:
    """The controller writes empty records (metadata.max.idle.interval.ms), so that lag can be measured."""
    settings = replace(THREE, node_configs={"metadata.max.idle.interval.ms": str(interval_ms)})
    with quiet(), no_threads():
        cluster = SimulatedCluster(4, settings)
        cluster.format()
        for node in cluster.nodes.values():
            node.start()
        assert cluster.run_until(lambda: cluster.all_ready, 60, "all nodes are ready")
        cluster.run_for(5)  # until all brokers are in the metadata of all
        before = high_watermarks(cluster)
        cluster.run_for(60)
        after = high_watermarks(cluster)
        # An interval is without records if two checks, one interval apart, find the same end of the log.
        least = 60_000 // interval_ms // 2 - 1 if moves else 0
        assert all(after[node_id] - before[node_id] >= least for node_id in before), (before, after)
        if not moves:
            assert after == before
        cluster.world.bury()


def high_watermarks(cluster: SimulatedCluster) -> dict[int, int]:
    """The high watermarks of the metadata log, by node."""
    found = {}
    for node_id, simulated in cluster.nodes.items():
        assert simulated.node is not None
        assert simulated.node._controller is not None
        found[node_id] = simulated.node._controller.driver.high_watermark
    return found
