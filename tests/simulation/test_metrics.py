"""Metrics in virtual time: nodes serve them through the loop, like everything else."""

import asyncio
from functools import partial

from gralha.simulation.cluster import Settings, SimulatedCluster, quiet
from gralha.simulation.loop import no_threads
from tests.scrape import Scrape, parse

PORT = 9308
SETTINGS = Settings(brokers=3, node_configs={"gralha.metrics.listener": f"http://localhost:{PORT}"})


async def scrape(address: str, found: list[Scrape]) -> None:
    reader, writer = await asyncio.open_connection(address, PORT)
    writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
    answer = await reader.read()
    writer.close()
    head, _, body = answer.decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 200 OK")
    found.append(parse(body))


def test_simulated_nodes_are_scraped() -> None:
    with quiet(), no_threads():
        cluster = SimulatedCluster(1, SETTINGS)
        cluster.format()
        for node in cluster.nodes.values():
            node.start()
        assert cluster.run_until(lambda: cluster.all_ready, 60, "all nodes are ready")
        cluster.run_for(5)
        scrapes: list[Scrape] = []
        for node in cluster.nodes.values():
            cluster.run_client(partial(scrape, node.host.address, scrapes))
        assert cluster.run_until(lambda: len(scrapes) == 3, 30, "all are scraped")
        active = [one.value("kafka_controller_kafkacontroller_activecontrollercount") for one in scrapes]
        assert sorted(active) == [0, 0, 1]
        assert {one.value("kafka_server_raft_metrics_current_leader") for one in scrapes} <= {1.0, 2.0, 3.0}
        # Time stands still while code runs, so no timer is late.
        assert all(one.value("gralha_event_loop_delay_seconds_count") > 10 for one in scrapes)
        assert cluster.world.failures == []
        cluster.world.bury()
