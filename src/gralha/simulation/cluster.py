"""A cluster of real nodes in virtual time: hosts with disks, the processes on them, and clients.

The nodes are `gralha.broker.node.Node`, unchanged. A supervisor restarts a process that has ended. `Settings`
says how many nodes there are. `run.py` makes a whole run: it creates a topic, writes and injects faults for a
while, and ends all faults. Then the producers finish, the consumers read to the end, and the history is
checked.
"""

import asyncio
import gc
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from gralha.broker.config import NodeConfig
from gralha.broker.node import Node
from gralha.broker.start_error import StartError
from gralha.metadata.formatting import FormatPlan, format_folders, random_uuid
from gralha.protocol.primitives import uuid_to_string
from gralha.simulation import secured
from gralha.simulation.cleaner import SteppedCleaner
from gralha.simulation.clients import Bootstrap, Client
from gralha.simulation.consumer import Consumer
from gralha.simulation.disk import HostDisk
from gralha.simulation.history import Anomaly, Event, summary
from gralha.simulation.loop import START_MS, ProcessLoop, World
from gralha.simulation.network import Host, Network
from gralha.simulation.producer import Producer
from gralha.simulation.shapes import Shapes
from gralha.storage.disk import DiskError

TOPIC: Final = "load"
# A topic that nobody writes to. Its replicas must be in sync as well.
IDLE_TOPIC: Final = "idle"
IDLE_PARTITIONS: Final = 6
DATA_FOLDER: Final = "/data"
CLIENT_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
RESTART_S: Final = (0.1, 2.0)
CLOCK_SKEW_MS: Final = 500
# The time after a fault until all sessions are as they were before.
RECOVERY_S: Final = 20.0
# The longest virtual times to start, and to finish after the faults.
STARTING_S: Final = 60.0
FINISHING_S: Final = 120.0


@dataclass(frozen=True)
class Settings:
    """The settings of a run. `faults` are names of `gralha.simulation.nemesis.FAULTS`."""

    brokers: int = 1
    partitions: int = 2
    producers: int = 2
    consumers: int = 2
    # The members of a group of each kind. They join and leave all the time.
    classic_members: int = 0
    consumer_members: int = 0
    # How many keys a partition of a compacted topic has. 0: the topic is not compacted.
    keys: int = 0
    # How long the records of a topic with retention.ms stay at least.
    retention_s: float | None = None
    # How many transactional ids write to the topic. A reader of committed records is among the consumers.
    transactional_ids: int = 0
    # Whether each partition of the topic is an input of consume-transform-produce.
    transforms: bool = False
    # If there are any, these members of a group do that together.
    transform_members: int = 0
    # Whether partitions move to other brokers all the time.
    reassigns: bool = False
    # The length of sessions. If it is not 0, all listeners of the nodes use SASL, and there are rights,
    # guests, an administrator and a stranger (`guests.py`).
    session_s: float = 0.0
    # The average pause of a producer between two sends to a partition.
    pause_s: float = 0.25
    seconds: float = 60.0
    fault_interval_s: float = 5.0
    faults: tuple[str, ...] = ()
    topic_configs: dict[str, str] = field(default_factory=dict)
    node_configs: dict[str, str] = field(default_factory=dict)
    # Whether acknowledged records may be lost (a single node without flushes loses them in a power cut).
    may_lose: bool = False

    @property
    def replication_factor(self) -> int:
        return min(3, self.brokers)


class SimulatedNode:
    """A host, its disk, and the process that runs on it now."""

    def __init__(self, cluster: "SimulatedCluster", node_id: int) -> None:
        self.cluster = cluster
        self.node_id = node_id
        self.host: Host = cluster.network.add_host(f"10.0.0.{node_id}")
        self.random = cluster.world.random(f"node {node_id}")
        self.skew_ms = self.random.randint(-CLOCK_SKEW_MS, CLOCK_SKEW_MS)
        # How far the wall clock was set ahead by a fault. The loop's steady clock goes on as before.
        self.clock_ahead_ms = 0
        self.disk = HostDisk(
            cluster.world.random(f"disk {node_id}"),
            self.clock,
            lambda text, data: cluster.world.note(f"{node_id}: {text}", data),
            cluster.world.threads,
        )
        self.node: Node | None = None
        self.is_ready = False
        self.incarnation = 0
        # Whether the process may end because of a disk fault.
        self.had_disk_faults = False
        self.stays_down = False
        self._stop: asyncio.Event | None = None

    def clock(self) -> int:
        return START_MS + int(self.cluster.world.now * 1000) + self.skew_ms + self.clock_ahead_ms

    @property
    def is_running(self) -> bool:
        return self.host.loop is not None and not self.host.loop.is_dead

    @property
    def is_frozen(self) -> bool:
        return self.host.loop is not None and self.host.loop.is_frozen

    @property
    def address(self) -> tuple[str, int]:
        return self.host.address, CLIENT_PORT

    # Faults

    def start(self) -> None:
        if self.is_running:
            return
        self.incarnation += 1
        self.cluster.note_trouble()
        self.stays_down = False
        self.had_disk_faults = bool(self.disk.failing or self.disk.is_full)
        self.cluster.world.note(f"start {self.node_id}")
        loop = self.host.start_process(f"node {self.node_id}.{self.incarnation}")
        # Created inside of the process, because its parts ask for the running loop.
        loop.call_soon(self._begin, loop)

    def _begin(self, loop: ProcessLoop) -> None:
        self._stop = asyncio.Event()
        disk = self.disk.mount()
        self.node = Node(
            self.cluster.node_config(self.node_id),
            disk,
            self.clock,
            self.cluster.world.random(f"node {self.node_id}.{self.incarnation}"),
            SteppedCleaner(disk),
        )
        loop.create_task(self._live(self.node, self._stop))

    async def _live(self, node: Node, stop: asyncio.Event) -> None:
        error: Exception | None = None
        try:
            await node.run(stop, self._ready)
        except Exception as raised:
            error = raised
        self.cluster.ended(self, error)

    def _ready(self, _node: Node) -> None:
        self.is_ready = True
        self.cluster.world.note(f"ready {self.node_id}")

    def stop(self) -> None:
        """SIGTERM."""
        if self.is_running and self._stop is not None:
            assert self.host.loop is not None
            self.cluster.world.note(f"stop {self.node_id}")
            self.is_ready = False
            self.host.loop.call_soon(self._stop.set)

    def kill(self) -> None:
        """SIGKILL."""
        self.cluster.world.note(f"kill {self.node_id}")
        self.is_ready = False
        self.node = None
        self.host.kill_process()
        self.disk.process_died()

    def lose_power(self) -> None:
        self.cluster.world.note(f"power {self.node_id}")
        self.is_ready = False
        self.node = None
        self.host.lose_power()
        self.disk.lose_power()

    def freeze(self) -> None:
        if self.is_running:
            assert self.host.loop is not None
            self.cluster.world.note(f"freeze {self.node_id}")
            self.host.loop.freeze()

    def thaw(self) -> None:
        if self.host.loop is not None and self.host.loop.is_frozen:
            self.cluster.world.note(f"thaw {self.node_id}")
            self.host.loop.thaw()


class SimulatedCluster:
    def __init__(self, seed: int, settings: Settings) -> None:
        self.settings = settings
        self.world = World(seed)
        self.network = Network(self.world)
        self.random = self.world.random("cluster")
        self.history: list[Event] = []
        self.cluster_id = uuid_to_string(random_uuid(self.random))
        self.nodes = {node_id: SimulatedNode(self, node_id) for node_id in range(1, settings.brokers + 1)}
        # Until this time brokers may be fenced and leaders elected because of a fault.
        self.trouble_until = 0.0
        self._clients = 0
        self._clocks_set_right_at = -1.0

    def note_trouble(self, seconds: float = 0) -> None:
        """A fault lasts this long."""
        self.trouble_until = max(self.trouble_until, self.world.now + seconds + RECOVERY_S)

    def set_clock(self, node: SimulatedNode, ahead_ms: int) -> None:
        """Set the wall clock of a node: that far ahead of the right time, or, with 0, right."""
        node.clock_ahead_ms = ahead_ms
        if ahead_ms == 0:
            self._clocks_set_right_at = self.world.now

    def clocks_agree_since(self, at: float) -> bool:
        """Whether all wall clocks have been about right since then."""
        is_right = all(node.clock_ahead_ms == 0 for node in self.nodes.values())
        return is_right and self._clocks_set_right_at < at

    # Nodes

    def node_config(self, node_id: int) -> NodeConfig:
        """The node's configuration, as its server.properties would have it."""
        host = self.nodes[node_id].host.address
        lines = {
            "process.roles": "broker,controller",
            "node.id": str(node_id),
            "log.dirs": DATA_FOLDER,
            "listeners": f"PLAINTEXT://{host}:{CLIENT_PORT}",
            **self.settings.node_configs,
        }
        if self.settings.session_s:
            lines |= secured.node_lines(host, CLIENT_PORT, CONTROLLER_PORT)
            lines["connections.max.reauth.ms"] = str(int(self.settings.session_s * 1000))
        elif self.settings.brokers > 1:
            lines["listeners"] += f",CONTROLLER://{host}:{CONTROLLER_PORT}"
            lines["controller.listener.names"] = "CONTROLLER"
        if self.settings.brokers > 1:
            lines["controller.quorum.voters"] = ",".join(
                f"{node.node_id}@{node.host.address}:{CONTROLLER_PORT}" for node in self.nodes.values()
            )
        text = "".join(f"{name}={value}\n" for name, value in lines.items())
        return NodeConfig.parse(text, "server.properties", lambda: host)[0]

    def format(self) -> None:
        """Format the data folders of all nodes, as `kafka-storage format` does."""
        records = secured.first_records(self.world.random("users")) if self.settings.session_s else []
        for node in self.nodes.values():
            plan = FormatPlan(self.cluster_id, node.node_id, [DATA_FOLDER], DATA_FOLDER, records=records)
            disk = node.disk.mount()
            for _ in format_folders(disk, plan, node.clock(), node.random):
                pass
            disk.sync_folder("/")
            node.disk.process_died()

    def ended(self, node: SimulatedNode, error: BaseException | None) -> None:
        """A node's process has ended. The supervisor will start another one."""
        self.world.note(f"end {node.node_id}: {error!r}")
        expected = isinstance(error, DiskError | StartError) and node.had_disk_faults
        if error is not None and not expected:
            self.world.fail(f"node {node.node_id} ended: {error!r}")
        self.world.call_later(0, self._clear_away, node, node.incarnation)

    def _clear_away(self, node: SimulatedNode, incarnation: int) -> None:
        if node.incarnation == incarnation and node.is_running:
            node.kill()
            if not node.stays_down:
                self.world.call_later(self.random.uniform(*RESTART_S), node.start)

    # Clients

    def client_loop(self) -> ProcessLoop:
        self._clients += 1
        host = self.network.add_host(f"10.0.1.{self._clients}")
        return host.start_process(f"client {self._clients}")

    def bootstrap(self) -> Bootstrap:
        login = secured.login_of(secured.LOAD) if self.settings.session_s else None
        return Bootstrap([node.address for node in self.nodes.values()], login)

    def run_client(self, work: Callable[[], Coroutine[Any, Any, None]]) -> "asyncio.Task[None]":
        """Run a client on its own host."""
        return self.client_loop().create_task(work())

    def new_client(self, name: str, topic: str = TOPIC) -> Client:
        return Client(name, self.bootstrap(), topic, self.world.random(name))

    def new_producer(self, name: str) -> Producer:
        producer = Producer(
            name,
            self.bootstrap(),
            TOPIC,
            self.world.random(name),
            self.history.append,
            self._client_clock,
            self.world.fail,
        )
        producer.pause_s = self.settings.pause_s
        producer.keys = self.settings.keys
        producer.shapes = Shapes(self.world.random(f"{name} shapes"))
        return producer

    def new_consumer(self, name: str, topic: str = TOPIC, reads_committed: bool = False) -> Consumer:
        return Consumer(
            name,
            self.bootstrap(),
            topic,
            self.world.random(name),
            self.history.append,
            self.world.fail,
            reads_committed,
        )

    def _client_clock(self) -> int:
        return START_MS + int(self.world.now * 1000)

    # Time

    def run_until(self, is_done: Callable[[], bool], seconds: float, what: str) -> bool:
        if self.world.run(is_done, self.world.now + seconds):
            return True
        self.world.fail(f"not within {seconds:g} s: {what}")
        return False

    def run_for(self, seconds: float) -> None:
        self.world.run(lambda: False, self.world.now + seconds)

    def mend(self) -> None:
        """End all faults."""
        self.world.note("mend")
        self.note_trouble()
        self.network.quality.loss_chance = 0.0
        self.network.heal()
        for node in self.nodes.values():
            node.disk.heal()
            if node.clock_ahead_ms:
                self.set_clock(node, 0)
            node.stays_down = False
            node.thaw()
            node.start()

    @property
    def all_ready(self) -> bool:
        return all(node.is_ready for node in self.nodes.values())

    @property
    def all_in_sync(self) -> bool:
        """Whether every replica of every partition is in sync, as far as all nodes know."""
        controllers = [node.node._controller for node in self.nodes.values() if node.node is not None]
        return all(
            len(partition.isr) == len(partition.replicas)
            for controller in controllers
            if controller is not None
            for topic in controller.image.topics.values()
            for partition in topic.partitions.values()
        )


@dataclass(frozen=True)
class Report:
    """The result of a run."""

    seed: int
    anomalies: list[Anomaly]
    failures: list[str]
    acknowledged: int
    sent: int
    faults: dict[str, int]
    longest_silence_s: float
    virtual_s: float
    digest: str
    trace: list[str]
    # How many offsets groups committed, and how many transactions were committed.
    commits: int = 0
    transactions: int = 0
    # How many requests of guests were allowed, and how many of guests and strangers were refused.
    allowed: int = 0
    refused: int = 0

    @property
    def is_good(self) -> bool:
        return not self.anomalies and not self.failures

    def __str__(self) -> str:
        faults = ", ".join(f"{count} {name}" for name, count in self.faults.items()) or "no faults"
        found = [*map(str, self.anomalies[:5]), *self.failures[:5]]
        return (
            f"seed {self.seed}: {self.acknowledged} of {self.sent} records acknowledged, "
            f"{self.commits} offsets and {self.transactions} transactions committed "
            + (f"{self.allowed} requests of guests allowed, {self.refused} refused " if self.refused else "")
            + f"in {self.virtual_s:.0f} s with {faults}; "
            f"{summary(self.anomalies)}, "
            f"{len(self.failures)} failures" + "".join(f"\n  {line}" for line in found)
        )


@contextmanager
def quiet() -> Iterator[None]:
    """Turn off the garbage collector, because its moments are not deterministic, and the nodes' logging."""
    logger = logging.getLogger("gralha")
    level, collects = logger.level, gc.isenabled()
    logger.setLevel(logging.CRITICAL + 1)
    gc.disable()
    try:
        yield
    finally:
        logger.setLevel(level)
        if collects:
            gc.enable()
