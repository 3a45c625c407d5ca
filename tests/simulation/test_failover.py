"""How long clients wait when one of three nodes fails. In virtual time, so the numbers are exact."""

import itertools
from collections import defaultdict
from collections.abc import Callable

import pytest

from gralha.simulation.cluster import Settings, SimulatedCluster, SimulatedNode, quiet
from gralha.simulation.history import Outcome, Send
from gralha.simulation.loop import no_threads
from gralha.storage.disk import DiskError

SETTINGS = Settings(
    brokers=3, partitions=3, pause_s=0.05, topic_configs={"min.insync.replicas": "2"}, producers=1
)


def longest_silence(cluster: SimulatedCluster, since: float) -> float:
    """The longest time of a partition without an acknowledgement."""
    times: dict[str, list[float]] = defaultdict(lambda: [since])
    for event in cluster.history:
        if isinstance(event, Send) and event.outcome is Outcome.OK and event.completed_at > since:
            times[event.partition].append(event.completed_at)
    assert len(times) == SETTINGS.partitions
    return max(
        later - earlier
        for moments in times.values()
        for earlier, later in zip(moments, [*moments[1:], cluster.world.now], strict=True)
    )


def three_nodes(seed: int) -> SimulatedCluster:
    """A cluster of three nodes with the topic, without producers."""
    cluster = SimulatedCluster(seed, SETTINGS)
    cluster.format()
    for node in cluster.nodes.values():
        node.start()
    admin = cluster.new_client("admin")
    made = cluster.run_client(lambda: admin.create_topic(3, 3, SETTINGS.topic_configs))
    assert cluster.run_until(made.done, 60, "the topic is made")
    return cluster


def silences(
    seed: int, fault: Callable[[SimulatedNode], None], mend: Callable[[SimulatedNode], None]
) -> list[float]:
    """Apply the fault to each node once. One of them is the controller."""
    found = []
    with quiet(), no_threads():
        cluster = three_nodes(seed)
        cluster.run_client(cluster.new_producer("p").run)
        cluster.run_for(5)
        for node in cluster.nodes.values():
            struck_at = cluster.world.now
            fault(node)
            cluster.run_for(12)
            found.append(longest_silence(cluster, struck_at))
            mend(node)
            cluster.run_for(6)
            assert cluster.all_ready
        assert cluster.world.failures == []
        cluster.world.bury()
    return found


@pytest.mark.parametrize("seed", range(4))
def test_writes_go_on_within_two_seconds_of_a_kill(seed: int) -> None:
    assert max(silences(seed, SimulatedNode.kill, SimulatedNode.start)) < 2


@pytest.mark.parametrize("seed", range(2))
def test_a_clean_stop_is_hardly_felt(seed: int) -> None:
    assert max(silences(seed, SimulatedNode.stop, SimulatedNode.start)) < 1.5


def test_a_clean_stop_does_not_wait_for_the_next_heartbeats_of_the_others() -> None:
    with quiet(), no_threads():
        cluster = three_nodes(1)
        cluster.run_for(5)
        for node in cluster.nodes.values():
            node.stop()
            node.stays_down = True
            assert cluster.run_until(lambda node=node: not node.is_running, 0.5, "it ends")  # type: ignore[misc]
            node.start()
            assert cluster.run_until(lambda: cluster.all_ready, 10, "it is back")
            cluster.run_for(2.5)
        cluster.world.bury()


@pytest.mark.parametrize("seed", [8, 13, 15, 16])
def test_a_whole_cluster_that_is_stopped_ends_soon(seed: int) -> None:
    """The last broker does not wait for a controller, because the others have stopped before it."""
    with quiet(), no_threads():
        cluster = three_nodes(seed)
        cluster.run_for(5)
        for node in cluster.nodes.values():
            node.stays_down = True
            node.stop()
        assert cluster.run_until(
            lambda: not any(node.is_running for node in cluster.nodes.values()), 4, "all have ended"
        )
        assert cluster.world.failures == []
        cluster.world.bury()


@pytest.mark.parametrize("seed", range(3))
def test_a_connection_that_breaks_fences_nobody(seed: int) -> None:
    with quiet(), no_threads():
        cluster = three_nodes(seed)
        cluster.run_for(5)
        addresses = [node.host.address for node in cluster.nodes.values()]

        def someone_is_fenced() -> bool:
            controllers = [node.node._controller for node in cluster.nodes.values() if node.node is not None]
            images = [controller.image for controller in controllers if controller is not None]
            return any(broker.fenced for image in images for broker in image.brokers.values())

        for one, other in itertools.combinations(addresses, 2):
            # Between two heartbeats, at other times each.
            cluster.run_for(2.3)
            cluster.network.reset_connections(one, other)
            assert not cluster.world.run(someone_is_fenced, cluster.world.now + 2)
        assert cluster.world.failures == []
        cluster.world.bury()


@pytest.mark.parametrize("seed", range(2))
def test_writes_go_on_soon_after_all_were_killed_and_started_again(seed: int) -> None:
    def kill_all(node: SimulatedNode) -> None:
        for one in node.cluster.nodes.values():
            one.kill()
        for one in node.cluster.nodes.values():
            one.start()

    assert max(silences(seed, kill_all, lambda _: None)) < 2


def test_who_fails_while_it_stops_does_not_wait_to_be_relieved() -> None:
    with quiet(), no_threads():
        cluster = three_nodes(1)
        cluster.run_for(5)
        node = cluster.nodes[1]
        for other in (2, 3):
            cluster.network.cut(node.host.address, cluster.nodes[other].host.address)
        node.stays_down = node.had_disk_faults = True
        node.stop()
        cluster.run_for(0.2)
        assert node.is_running, "it hands over what it leads, and nobody hears of it"
        assert node.node is not None
        node.node._fail(DiskError("sync", "/data", "an error of the device"))
        assert cluster.run_until(lambda: not node.is_running, 1, "it ends")
        assert cluster.world.failures == []
        cluster.world.bury()
