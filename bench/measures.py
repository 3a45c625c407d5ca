"""The measures of one broker.

Both brokers run all the time, and one is idle during a round of the other (`rounds.py`). A broker's CPU time
is the user and system time of all threads of its process. The time of a start begins when the process is
spawned, and ends with the first acknowledged record. Apache Kafka's data folder is formatted before that.
Gralha formats its folder during the start.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from tests.apache.cluster import ApacheCluster
from tests.apache.kafka import BROKER_FLAGS, ApacheKafka

from bench.calls import new_producer_id
from bench.frames import Frame, batch, create_topic, delete_topic, fetch_frame, produce_frame, produce_once
from bench.load import Load, run_load
from bench.payloads import event_batch
from bench.rounds import PAIRS, Results, alternate, merge, warm_up_or_say
from gralha.protocol import compression
from gralha.testing import GralhaCluster, ServerProcess

Broker = GralhaCluster | ApacheKafka
Cluster = Broker | ApacheCluster
C = TypeVar("C", bound=GralhaCluster | ApacheKafka | ApacheCluster)
Makers = Mapping[str, Callable[..., Broker]]


class Say(Protocol):
    """Reports the progress of the bench. A line with `on_page` is also printed below the tables."""

    def __call__(self, text: str, on_page: bool = False) -> None: ...


TITLES = {"apache": "Apache Kafka", "gralha": "Gralha"}
CONNECTIONS = 4
UNBATCHED_IN_FLIGHT = 20
BATCHED_IN_FLIGHT = 5  # a producer's default
WARM_UP_SHARE = 4  # a window of the warm-up is this part of a round
TOPIC_ALREADY_EXISTS = 36
MB = 1e6
GB = 1e9
TOUCHED_BYTES = 1 << 30
# The files of one measure must be removed before the next one writes.
REMOVE_SOON = {"log.segment.delete.delay.ms": "1000"}


@dataclass(frozen=True)
class Shape:
    """A kind of produce request: the records of a batch, and the number of batches in a round."""

    name: str  # in the results
    records: int
    value_bytes: int
    requests: int
    in_flight: int
    idempotent: bool = False  # with producer id, epoch and sequences, as clients send by default
    codec: int = compression.NONE

    def batch(self, connection: socket.socket) -> bytes:
        """A batch. An idempotent batch belongs to a new producer. A compressed batch has events in JSON."""
        if self.codec != compression.NONE:
            return event_batch(self.records, self.value_bytes, self.codec)
        producer = new_producer_id(connection) if self.idempotent else None
        return batch(self.records, self.value_bytes, producer)


SHAPES = [
    Shape("unbatched", 1, 100, 100_000, UNBATCHED_IN_FLIGHT),
    Shape("unbatched_idempotent", 1, 100, 100_000, UNBATCHED_IN_FLIGHT, idempotent=True),
    Shape("small_batches", 16, 1000, 30_000, BATCHED_IN_FLIGHT),
    Shape("small_batches_idempotent", 16, 1000, 30_000, BATCHED_IN_FLIGHT, idempotent=True),
    Shape("large_batches", 100, 1000, 6_000, BATCHED_IN_FLIGHT),
    Shape("lz4_batches", 100, 1000, 10_000, BATCHED_IN_FLIGHT, codec=compression.LZ4),
    Shape("zstd_batches", 100, 1000, 10_000, BATCHED_IN_FLIGHT, codec=compression.ZSTD),
]
FETCHED = "large_batches"  # the shape that is read again afterwards
FETCHES = 2_000
REQUESTS_ONE_AT_A_TIME = 6_000


def apache_kafka(config: Mapping[str, str] | None = None) -> ApacheKafka:
    """Apache Kafka with the options of its start script, not with those of the tests for a quick start."""
    return ApacheKafka(config, BROKER_FLAGS)


def measure_records(makers: Makers, say: Say, scale: float = 1.0) -> dict[str, Results]:
    """Take all measures of single brokers, except those of groups and scale. `scale` shortens the rounds."""
    results = alternate(makers, start_and_memory)
    tell(say, results)
    with running(makers, REMOVE_SOON) as brokers:
        for shape in SHAPES:
            taken = produce(say, brokers, shape, scale)
            tell(say, taken)
            merge(results, taken)
        taken = one_at_a_time(say, brokers, scale)
        tell(say, taken)
        merge(results, taken)
    return results


def tell(say: Say, results: Mapping[str, Results]) -> None:
    for name, taken in results.items():
        say(f"{name}: " + ", ".join(f"{measure} {value:.4g}" for measure, value in taken.items()))


def start_and_memory(make_broker: Callable[..., Broker]) -> Results:
    with contextlib.closing(make_broker()) as broker:
        if isinstance(broker, ApacheKafka):
            broker.format()
        start_s = start_seconds(broker)
        time.sleep(1)  # let the last work of the start end before its memory is measured
        return {"start_s": start_s, "idle_memory_mb": broker.process().memory_bytes() / MB}


def start_seconds(broker: Broker) -> float:
    """Spawn the broker. Returns the seconds until a first record is acknowledged."""
    records = batch(1, 100)
    started = time.perf_counter()
    broker.spawn()
    while True:
        if not broker.process().alive:
            raise RuntimeError(f"the broker ended:\n{broker.process().log_tail()}")
        if time.perf_counter() - started > 60:
            raise RuntimeError(f"no record acknowledged within a minute:\n{broker.process().log_tail()}")
        with contextlib.suppress(OSError), connect(broker) as connection:
            while create_topic(connection, "first", 1) not in (0, TOPIC_ALREADY_EXISTS):
                time.sleep(0.001)
            while produce_once(connection, "first", 0, records) != 0:
                time.sleep(0.001)
            return time.perf_counter() - started
        time.sleep(0.002)


@contextlib.contextmanager
def running(makers: Makers, config: Mapping[str, str]) -> Iterator[dict[str, Broker]]:
    """One broker of each kind."""
    brokers = {name: make(config=config) for name, make in makers.items()}
    with contextlib.ExitStack() as stack:
        for broker in brokers.values():
            stack.enter_context(broker)
        yield brokers


def port_of(broker: Broker) -> int:
    return int(broker.bootstrap.rpartition(":")[2])


def connect(broker: Broker) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port_of(broker)), timeout=30)


def cpu_seconds(cluster: Cluster) -> float:
    return sum(cluster.process(node_id).cpu_seconds() for node_id in cluster.node_ids)


def cpu_nanoseconds(process: ServerProcess) -> int:
    """The CPU time of the threads of a process. Its clock is finer than that of `cpu_seconds`."""
    threads = Path(f"/proc/{process.pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)


@contextlib.contextmanager
def topic_with_partitions(broker: Broker, topic: str, partitions: int, records: bytes) -> Iterator[str]:
    """A topic for one measure. It is deleted afterwards, so that the disk does not fill."""
    make_topic(broker, topic, partitions, records)
    yield topic
    with connect(broker) as connection:
        delete_topic(connection, topic)


def make_topic(broker: Broker, topic: str, partitions: int, records: bytes) -> None:
    """Create a topic with one batch in each partition."""
    with connect(broker) as connection:
        code = create_topic(connection, topic, partitions)
        if code != 0:
            raise RuntimeError(f"creation of {topic} failed with error code {code}")
        for partition in range(partitions):  # their leaders come shortly after the topic
            while produce_once(connection, topic, partition, records) != 0:
                time.sleep(0.01)


@contextlib.contextmanager
def topic_on_each(
    brokers: Mapping[str, Broker], topic: str, partitions: int, records: bytes
) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for broker in brokers.values():
            stack.enter_context(topic_with_partitions(broker, topic, partitions, records))
        yield


def compared(
    say: Say,
    measure: str,
    brokers: Mapping[str, C],
    run: Callable[[C, int], Load],
    requests: int,
    scale: float,
    results_of: Callable[[Load, float], Results],
) -> dict[str, Results]:
    """Warm up all brokers, then let them take turns under the load `run(broker, requests)`.

    `results_of` gets the results of the load, and the broker's CPU seconds during the load. If a broker does
    not become warm, the page says so and names the measure.
    """

    def window(broker: C) -> float:
        # Never scaled, because the comparison with a cold broker would not be fair.
        load = run(broker, requests // WARM_UP_SHARE)
        return load.requests / load.seconds

    def take(broker: C) -> Results:
        os.sync()  # dirty pages of earlier rounds must not be written to disk during this round
        touch_memory()
        before = cpu_seconds(broker)
        load = run(broker, int(requests * scale))
        return results_of(load, cpu_seconds(broker) - before)

    for name, broker in brokers.items():
        warm_up_or_say(say, TITLES[name], measure, partial(window, broker))
    return alternate(brokers, take, PAIRS if scale == 1 else 1)


def touch_memory() -> None:
    """Use as much memory as a round will write, and free it.

    The host of a virtual machine allocates a page at its first use. That costs more than the broker's whole
    work for the bytes in the page. Without this the result would depend on how many new pages the page cache
    got.
    """
    pages, page_size = os.sysconf("SC_AVPHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    used = b"\1" * min(TOUCHED_BYTES, pages * page_size // 2)
    del used


def produce(say: Say, brokers: Mapping[str, Broker], shape: Shape, scale: float) -> dict[str, Results]:
    """Send produce requests of one shape. If it is the shape to read again, also fetch its records."""
    records = batch(shape.records, shape.value_bytes)
    topic = shape.name.replace("_", "-")

    def run(broker: Broker, requests: int) -> Load:
        with connect(broker) as connection:
            frames = [
                produce_frame(topic, partition, shape.batch(connection)) for partition in range(CONNECTIONS)
            ]
        return run_load(port_of(broker), frames, requests, shape.in_flight, sequence_step=shape.records)

    def results_of(load: Load, cpu_s: float) -> Results:
        sent_bytes = load.requests * len(records)
        return {
            f"{shape.name}_per_s": load.requests / load.seconds,
            f"{shape.name}_per_cpu_s": load.requests / cpu_s,
            f"{shape.name}_mb_s": sent_bytes / MB / load.seconds,
            f"{shape.name}_cpu_s_gb": cpu_s / (sent_bytes / GB),
        }

    with topic_on_each(brokers, topic, CONNECTIONS, records):
        results = compared(say, shape.name, brokers, run, shape.requests, scale, results_of)
        if shape.name == FETCHED:
            merge(results, fetch(say, brokers, topic, len(records), shape, scale))
    return results


def fetch(
    say: Say, brokers: Mapping[str, Broker], topic: str, batch_bytes: int, shape: Shape, scale: float
) -> dict[str, Results]:
    """Read the records that were just written as a consumer does: one request at a time, up to 1 MB each.

    Only whole batches count, because a reader cannot use a cut one.
    """
    frames = [fetch_frame(topic, partition) for partition in range(CONNECTIONS)]
    batches_per_fetch = (1 << 20) // batch_bytes
    step = batches_per_fetch * shape.records
    # The last round alone has written this many.
    batches = int(shape.requests * scale) // CONNECTIONS
    limit = (batches // batches_per_fetch - 1) * step

    def run(broker: Broker, requests: int) -> Load:
        return run_load(port_of(broker), frames, requests, 1, offset_step=step, offset_limit=limit)

    def results_of(load: Load, cpu_s: float) -> Results:
        usable_bytes = load.requests * batches_per_fetch * batch_bytes
        if load.received_bytes < usable_bytes:
            raise RuntimeError(f"only {load.received_bytes} bytes came where {usable_bytes} should")
        return {
            "fetch_gb_s": usable_bytes / GB / load.seconds,
            "fetch_cpu_s_gb": cpu_s / (usable_bytes / GB),
        }

    return compared(say, "fetch", brokers, run, FETCHES, scale, results_of)


def one_at_a_time(say: Say, brokers: Mapping[str, Broker], scale: float) -> dict[str, Results]:
    frame: Frame = produce_frame("one-at-a-time", 0, batch(1, 100))

    def run(broker: Broker, requests: int) -> Load:
        return run_load(port_of(broker), [frame], requests, 1)

    def results_of(load: Load, _: float) -> Results:
        return {"one_at_a_time_p50_ms": load.p50_ms, "one_at_a_time_p99_ms": load.p99_ms}

    with topic_on_each(brokers, "one-at-a-time", 1, batch(1, 100)):
        return compared(say, "one request at a time", brokers, run, REQUESTS_ONE_AT_A_TIME, scale, results_of)
