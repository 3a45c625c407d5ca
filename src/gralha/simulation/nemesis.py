"""Faults: which one comes next, where, and for how long. All are drawn from the seed.

A fault is a function that does something bad. It returns the number of seconds after which another function
undoes it. Several faults may be active at once.
"""

import math
from collections.abc import Callable
from typing import Final

from gralha.simulation.cluster import SimulatedCluster, SimulatedNode
from gralha.simulation.disk import IO_ERROR

Undo = tuple[float, Callable[[], None]]

# The shortest and the longest jump of a clock. Short ones are as likely as long ones.
CLOCK_JUMP_S: Final = (1, 4 * 3600)


class Nemesis:
    def __init__(self, cluster: SimulatedCluster, until: float) -> None:
        self.cluster = cluster
        self.random = cluster.world.random("nemesis")
        self.struck: dict[str, int] = {}
        self._until = until
        self._plan()

    def _plan(self) -> None:
        world, settings = self.cluster.world, self.cluster.settings
        wait_s = self.random.expovariate(1 / settings.fault_interval_s)
        if settings.faults and world.now + wait_s < self._until:
            world.call_later(wait_s, self._strike)

    def _strike(self) -> None:
        name = self.random.choice(self.cluster.settings.faults)
        self.struck[name] = self.struck.get(name, 0) + 1
        self.cluster.world.note(f"fault {name}")
        undo_s, undo = FAULTS[name](self)
        if name not in HARMLESS:
            self.cluster.note_trouble(undo_s)
        self.cluster.world.call_later(undo_s, undo)
        self._plan()

    def victim(self) -> SimulatedNode:
        return self.random.choice(list(self.cluster.nodes.values()))

    def seconds(self, least: float, most: float) -> float:
        return self.random.uniform(least, most)


def kill(nemesis: Nemesis) -> Undo:
    victim = nemesis.victim()
    victim.kill()
    return nemesis.seconds(0.05, 8), victim.start


def power_cut(nemesis: Nemesis) -> Undo:
    victim = nemesis.victim()
    victim.lose_power()
    return nemesis.seconds(0.5, 8), victim.start


def power_cut_everywhere(nemesis: Nemesis) -> Undo:
    for node in nemesis.cluster.nodes.values():
        node.lose_power()

    def start_all() -> None:
        for node in nemesis.cluster.nodes.values():
            node.start()

    return nemesis.seconds(0.5, 5), start_all


def stop(nemesis: Nemesis) -> Undo:
    """A clean shutdown. The supervisor starts the node again."""
    nemesis.victim().stop()
    return 0, _nothing


def stop_everywhere(nemesis: Nemesis) -> Undo:
    """A clean shutdown of all nodes at the same time."""
    for node in nemesis.cluster.nodes.values():
        node.stop()
    return 0, _nothing


def roll(nemesis: Nemesis) -> Undo:
    """A rolling restart: a clean shutdown of each node, soon after the node before it is ready again."""
    ids = list(nemesis.cluster.nodes)
    nemesis.random.shuffle(ids)
    waits_s = [nemesis.seconds(0, 1) for _ in ids]
    world = nemesis.cluster.world

    def stop_next() -> None:
        if not nemesis.cluster.all_ready:
            world.call_later(0.05, stop_next)
        elif ids:
            nemesis.cluster.nodes[ids.pop()].stop()
            world.call_later(waits_s.pop(), stop_next)

    stop_next()
    return 0, _nothing


def freeze(nemesis: Nemesis) -> Undo:
    victim = nemesis.victim()
    victim.freeze()
    return nemesis.seconds(0.1, 15), victim.thaw


def full_disk(nemesis: Nemesis) -> Undo:
    disk = nemesis.victim()
    disk.disk.is_full = True
    disk.had_disk_faults = True

    def free() -> None:
        disk.disk.is_full = False

    return nemesis.seconds(0.5, 8), free


def failing_sync(nemesis: Nemesis) -> Undo:
    return _fail(nemesis, "sync")


def failing_write(nemesis: Nemesis) -> Undo:
    return _fail(nemesis, nemesis.random.choice(("append to", "write", "rename", "open")))


def failing_read(nemesis: Nemesis) -> Undo:
    return _fail(nemesis, "read")


def _fail(nemesis: Nemesis, action: str) -> Undo:
    node = nemesis.victim()
    node.disk.failing[action] = IO_ERROR
    node.had_disk_faults = True

    def work_again() -> None:
        node.disk.failing.pop(action, None)

    return nemesis.seconds(0.01, 3), work_again


def partition(nemesis: Nemesis) -> Undo:
    """The nodes are in two parts that cannot reach each other. Clients reach all nodes."""
    ids = list(nemesis.cluster.nodes)
    nemesis.random.shuffle(ids)
    middle = nemesis.random.randint(1, max(1, len(ids) - 1))
    return _cut(nemesis, [(one, other) for one in ids[:middle] for other in ids[middle:]], both_ways=True)


def one_way_cut(nemesis: Nemesis) -> Undo:
    """Messages from one node to some others do not arrive."""
    victim = nemesis.victim().node_id
    others = [one for one in nemesis.cluster.nodes if one != victim]
    chosen = nemesis.random.sample(others, nemesis.random.randint(min(1, len(others)), len(others)))
    pairs = [(victim, other) for other in chosen]
    if nemesis.random.random() < 0.5:
        pairs = [(other, victim) for victim, other in pairs]
    return _cut(nemesis, pairs, both_ways=False)


def isolate(nemesis: Nemesis) -> Undo:
    """One node cannot reach any other node or client."""
    network, victim = nemesis.cluster.network, nemesis.victim().host.address
    for address in list(network.hosts):
        if address != victim:
            network.cut(victim, address)
            network.cut(address, victim)
    return nemesis.seconds(0.5, 15), network.heal


def _cut(nemesis: Nemesis, pairs: list[tuple[int, int]], both_ways: bool) -> Undo:
    cluster = nemesis.cluster
    for one, other in pairs:
        near, far = cluster.nodes[one].host.address, cluster.nodes[other].host.address
        cluster.network.cut(near, far)
        if both_ways:
            cluster.network.cut(far, near)
    return nemesis.seconds(0.5, 15), cluster.network.heal


def reset(nemesis: Nemesis) -> Undo:
    """All connections of a node break."""
    network, victim = nemesis.cluster.network, nemesis.victim().host.address
    for address in list(network.hosts):
        network.reset_connections(victim, address)
    return 0, _nothing


def bad_network(nemesis: Nemesis) -> Undo:
    """Messages are lost and slow everywhere."""
    quality = nemesis.cluster.network.quality
    quality.loss_chance, quality.slow_chance = 0.02, 0.2

    def better() -> None:
        quality.loss_chance, quality.slow_chance = 0.0, 0.01

    return nemesis.seconds(1, 10), better


def clock_jump(nemesis: Nemesis) -> Undo:
    """Somebody sets the wall clock of a node, by seconds to hours, and later sets it right."""
    victim = nemesis.victim()
    seconds = math.exp(nemesis.seconds(*map(math.log, CLOCK_JUMP_S)))
    cluster = nemesis.cluster
    cluster.set_clock(victim, int(1000 * nemesis.random.choice((seconds, -seconds))))

    def set_right() -> None:
        cluster.set_clock(victim, 0)

    return nemesis.seconds(0.5, 30), set_right


def _nothing() -> None:
    pass


FAULTS: Final[dict[str, Callable[[Nemesis], Undo]]] = {
    fault.__name__: fault
    for fault in (
        kill,
        power_cut,
        power_cut_everywhere,
        stop,
        stop_everywhere,
        roll,
        freeze,
        full_disk,
        failing_sync,
        failing_write,
        failing_read,
        partition,
        one_way_cut,
        isolate,
        reset,
        bad_network,
        clock_jump,
    )
}
# These faults must not fence a broker or cause an election.
HARMLESS: Final = ("reset", "clock_jump")
