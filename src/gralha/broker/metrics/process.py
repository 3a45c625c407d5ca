"""The process of a node, with the names that Prometheus's clients use, and the delay of its event loop."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from gralha.broker.metrics.exposition import (
    Distribution,
    Pieces,
    Sample,
    counter,
    family_text,
    gauge,
    histogram,
    histogram_text,
    labels,
)
from gralha.broker.request_meters import LIMITS_MS, Durations

BEAT_S: Final = 0.25
CPU: Final = counter("process_cpu_seconds_total", "CPU time of this process, in user and system mode.")
RESIDENT: Final = gauge("process_resident_memory_bytes", "Memory of this process that is in RAM.")
VIRTUAL: Final = gauge("process_virtual_memory_bytes", "Address space of this process.")
OPEN_FILES: Final = gauge("process_open_fds", "Open files and sockets.")
MAX_FILES: Final = gauge("process_max_fds", "How many files and sockets the process may open.")
STARTED: Final = gauge("process_start_time_seconds", "When the process started, in seconds since 1970.")
LOOP_DELAY: Final = histogram(
    "gralha_event_loop_delay_seconds",
    "How late a timer of the event loop was. Every request of the node waits that long.",
)
NODE: Final = gauge("gralha_node_info", "1, with the identity of this node.")


class ProcessUsage(NamedTuple):
    """What the operating system knows of this process. None if it does not say."""

    cpu_seconds: float | None = None
    resident_bytes: int | None = None
    virtual_bytes: int | None = None
    open_files: int | None = None
    max_files: int | None = None
    start_time_seconds: float | None = None


class LoopDelay:
    """Measures the delay of the event loop with a timer. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.durations = Durations()
        self._clock = clock

    async def run(self) -> None:
        """The owner's task. Never returns."""
        while True:
            begun = self._clock()
            await asyncio.sleep(BEAT_S)
            self.durations.add(max(self._clock() - begun - BEAT_S, 0))


def process_metrics(usage: ProcessUsage) -> Pieces:
    values = (
        (CPU, usage.cpu_seconds),
        (RESIDENT, usage.resident_bytes),
        (VIRTUAL, usage.virtual_bytes),
        (OPEN_FILES, usage.open_files),
        (MAX_FILES, usage.max_files),
        (STARTED, usage.start_time_seconds),
    )
    for family, value in values:
        yield from family_text(family, _known(value))


def _known(value: float | None) -> Iterator[Sample]:
    if value is not None:
        yield "", value


def loop_delay_metrics(durations: Durations) -> Pieces:
    limits_s = [limit / 1000 for limit in LIMITS_MS]
    yield from histogram_text(LOOP_DELAY, [Distribution("", limits_s, durations.counts(), durations.sum_s)])


def node_metrics(node_id: int, cluster_id: str, roles: list[str], version: str) -> Pieces:
    identity = labels(node_id=node_id, cluster_id=cluster_id, roles=",".join(roles), version=version)
    yield from family_text(NODE, [(identity, 1)])
