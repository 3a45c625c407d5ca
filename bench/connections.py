"""Many connections to one broker: its memory, and the time for a request on each connection.

All requests are sent at once, and the time ends with the last response. The first such round is not
measured. Memory is resident memory (RSS) afterwards, while all connections stay open.
"""

from __future__ import annotations

import contextlib
import socket
import statistics
import time
from collections.abc import Callable

from bench.calls import read_response
from bench.frames import METADATA_VERSION, batch, frame_of
from bench.measures import MB, Broker, Makers, Say, connect, tell, topic_with_partitions
from bench.rounds import Results, alternate
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

COUNTS = (1_000, 5_000)
ROUNDS = 3
TOPIC = "connections"
# This many connections at once need a longer queue than Kafka's default of 50.
CONFIG = {
    "max.connections": "20000",
    "max.connections.per.ip": "20000",
    "socket.listen.backlog.size": "4096",
}


def measure_connections(makers: Makers, say: Say, scale: float = 1.0) -> dict[str, Results]:
    results = alternate(makers, measured, 1)
    tell(say, results)
    return results


def measured(make_broker: Callable[..., Broker]) -> Results:
    results: Results = {}
    with contextlib.ExitStack() as stack:
        broker: Broker = make_broker(config=CONFIG)
        stack.enter_context(broker)
        stack.enter_context(topic_with_partitions(broker, TOPIC, 1, batch(1, 100)))
        connections: list[socket.socket] = []
        for count in COUNTS:
            while len(connections) < count:
                connections.append(stack.enter_context(connect(broker)))
            seconds = [request_on_each(connections) for _ in range(1 + ROUNDS)][1:]
            results[f"connections_{count}_memory_mb"] = broker.process().memory_bytes() / MB
            results[f"connections_{count}_requests_ms"] = 1000 * statistics.median(seconds)
    return results


def request_on_each(connections: list[socket.socket]) -> float:
    """Ask for the metadata of a topic on every connection. Returns the seconds until the last response."""
    frame = frame_of(MetadataRequest([MetadataRequestTopic(name=TOPIC)]), METADATA_VERSION)
    started = time.perf_counter()
    for connection in connections:
        connection.sendall(frame)
    for connection in connections:
        read_response(connection)
    return time.perf_counter() - started
