"""The reassignments of a run, and the check that the partitions have the requested replicas at the end."""

import asyncio

from gralha.simulation.cluster import FINISHING_S, TOPIC, SimulatedCluster
from gralha.simulation.reassigner import Reassigner


class Reassignments:
    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.client = Reassigner(
            cluster.bootstrap(), TOPIC, cluster.world.random("reassigner"), list(cluster.nodes)
        )
        self.client.replication_factor = cluster.settings.replication_factor
        self.tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        if self.cluster.settings.reassigns:
            self.tasks.append(self.cluster.run_client(self.client.run))

    def finish(self) -> None:
        """After the faults: the last reassignment must soon be complete on all brokers."""
        self.client.is_stopping = True
        for task in self.tasks:
            if not self.cluster.run_until(task.done, FINISHING_S, "the partitions are moved"):
                wanted, found = self.client.wanted, self.client.found
                self.cluster.world.fail(f"wrong-replicas: asked for {wanted}, found {found}")
