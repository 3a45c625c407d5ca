"""The guests of a secured cluster, the administrator that changes their rights, and a stranger."""

import asyncio

from gralha.simulation.administrator import Administrator
from gralha.simulation.cluster import CONTROLLER_PORT, FINISHING_S, SimulatedCluster
from gralha.simulation.guest import Guest
from gralha.simulation.secured import ADMINISTRATOR, login_of
from gralha.simulation.stranger import STRANGE_TOPIC, Stranger


class SimulatedGuests:
    """There are none if the cluster is not secured."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.tasks: list[asyncio.Task[None]] = []
        world = cluster.world
        bootstrap = cluster.bootstrap()._replace(login=login_of(ADMINISTRATOR))
        self.administrator = Administrator(bootstrap, world.random(ADMINISTRATOR))
        self.guests = [
            Guest(
                node,
                self.administrator,
                world.random(f"guest {node.node_id}"),
                cluster.settings.session_s,
                lambda: world.now,
                world.fail,
            )
            for node in (cluster.nodes.values() if cluster.settings.session_s else ())
        ]
        nodes = cluster.nodes.values()
        self.stranger = Stranger(
            [node.address for node in nodes],
            [(node.host.address, CONTROLLER_PORT) for node in nodes],
            world.random("stranger"),
            world.fail,
        )

    @property
    def acted(self) -> int:
        return sum(guest.acted for guest in self.guests)

    @property
    def refused(self) -> int:
        return sum(guest.refused for guest in self.guests) + self.stranger.turned_away

    def start(self) -> None:
        if self.guests:
            runs = [self.administrator.run, self.stranger.run, *(guest.run for guest in self.guests)]
            self.tasks = [self.cluster.run_client(run) for run in runs]

    def finish(self) -> None:
        """After the faults: the administrator gives the guests a right, and each can use it on its broker."""
        self.administrator.is_stopping = self.stranger.is_stopping = True
        what = "the guests can use their right"
        self.cluster.run_until(lambda: all(task.done() for task in self.tasks), FINISHING_S, what)
        for node in self.cluster.nodes.values():
            controller = None if node.node is None else node.node._controller
            if controller is not None and STRANGE_TOPIC in controller.image.topics:
                self.cluster.world.fail(f"stranger-served: node {node.node_id} knows {STRANGE_TOPIC}")
