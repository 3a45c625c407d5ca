"""All nodes of a healthy cluster pause and go on together. That must not count as a failure."""

import pytest

from gralha.simulation.cluster import quiet
from gralha.simulation.loop import no_threads
from tests.simulation.test_failover import three_nodes
from tests.simulation.test_quiet import leaders


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pause_s", [2.3, 10, 60])
def test_a_quiet_cluster_that_was_paused_elects_nobody(pause_s: float, seed: int) -> None:
    with quiet(), no_threads():
        cluster = three_nodes(seed)
        cluster.run_for(15)
        before = leaders(cluster)
        assert before["brokers"] == (1, 2, 3)
        for node in cluster.nodes.values():
            node.freeze()
        cluster.run_for(pause_s)
        for node in cluster.nodes.values():
            node.thaw()
        cluster.run_for(60)
        assert leaders(cluster) == before
        assert cluster.world.failures == []
        cluster.world.bury()
