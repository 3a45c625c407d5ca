"""What counting the requests costs: a listener with the broker's meters, and one whose meters do nothing.

Both are listeners of one broker, because the CPU time of two processes of the same program differs by more
than the meters cost. The load goes to one, to the other, to the other and to the first (A B B A), in short
rounds.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.frames import Frame, batch, fetch_frame, produce_frame
from bench.load import Load, run_load
from bench.measures import REMOVE_SOON, Say, cpu_nanoseconds, port_of, topic_with_partitions
from bench.rounds import Results, turns
from bench.silent_broker import SILENT_LISTENER
from gralha.testing import GralhaCluster
from gralha.testing.process import free_ports

FOURS = 30
COUNTING, SILENT = "counting", "silent"
CONNECTIONS = 4
Rounds = dict[str, list[float]]  # the CPU time of each round, by listener


class TwoListeners(GralhaCluster):
    """A broker with a second listener, on `silent_port`, whose meters do nothing."""

    def __init__(self, config: dict[str, str] | None = None) -> None:
        super().__init__(1, config)
        (self.silent_port,) = free_ports(1)

    def _node_config(self, node_id: int) -> dict[str, str]:
        config = super()._node_config(node_id)
        config["listeners"] += f",{SILENT_LISTENER}://127.0.0.1:{self.silent_port}"
        config["listener.security.protocol.map"] += f",{SILENT_LISTENER}:PLAINTEXT"
        return config

    def _command(self, properties: Path) -> list[str]:
        program = Path(__file__).with_name("silent_broker.py")
        return [sys.executable, str(program), "server", "--config", str(properties)]


@dataclass(frozen=True)
class Case:
    """A kind of request, and how many of them are in a round."""

    name: str
    records: int
    value_bytes: int
    requests: int
    in_flight: int
    is_fetch: bool = False

    def batch(self) -> bytes:
        return batch(self.records, self.value_bytes)

    def run(self, port: int, requests: int) -> Load:
        frames = [self._frame(partition) for partition in range(CONNECTIONS)]
        return run_load(port, frames, requests, self.in_flight)

    def _frame(self, partition: int) -> Frame:
        if self.is_fetch:
            return fetch_frame(self.name, partition)
        return produce_frame(self.name, partition, self.batch())


CASES = [
    Case("unbatched", 1, 100, 20_000, 20),
    Case("one-at-a-time", 1, 100, 8_000, 1),
    Case("small-batches", 16, 1000, 6_000, 5),
    Case("fetches", 1, 100, 8_000, 1, is_fetch=True),
]


def measure_meters(say: Say, scale: float = 1.0) -> Results:
    """What the meters add to the CPU time, in percent, by case."""
    results: Results = {}
    fours = max(4, int(FOURS * scale))
    with TwoListeners(REMOVE_SOON) as broker:
        ports = {COUNTING: port_of(broker), SILENT: broker.silent_port}
        for case in CASES:

            def take(name: str, case: Case = case) -> float:
                before = cpu_nanoseconds(broker.process())
                case.run(ports[name], case.requests)
                return cpu_nanoseconds(broker.process()) - before

            with topic_with_partitions(broker, case.name, CONNECTIONS, case.batch()):
                in_turns(take, 2)  # until the broker is warm
                rounds = in_turns(take, fours)
            percent = percent_more(rounds)
            results[f"meters_{case.name.replace('-', '_')}_percent"] = percent
            first, second = (percent_more(half) for half in halves(rounds))
            spread = f"each half of the rounds: {first:.1f}%, {second:.1f}%"
            say(f"metrics, {case.name}: {percent:.1f}% more CPU time ({spread})")
    return results


def in_turns(take: Callable[[str], float], fours: int) -> Rounds:
    rounds: Rounds = {COUNTING: [], SILENT: []}
    for name in turns([COUNTING, SILENT], fours):
        rounds[name].append(take(name))
    return rounds


def halves(rounds: Rounds) -> list[Rounds]:
    middle = len(rounds[COUNTING]) // 2
    return [
        {name: taken[part] for name, taken in rounds.items()} for part in (slice(middle), slice(middle, None))
    ]


def percent_more(rounds: Rounds) -> float:
    """Compares the lower quartiles, because other work on the machine only ever adds to the CPU time."""
    counting, silent = (statistics.quantiles(rounds[name])[0] for name in (COUNTING, SILENT))
    return 100 * (counting / silent - 1)
