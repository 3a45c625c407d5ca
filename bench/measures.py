"""What is measured of a broker, and how.

Every load is warmed up by the same load before. The broker's CPU time is that of its process, all
threads, user and system. Start counts from the moment the process is spawned to the first
acknowledged record; Apache Kafka's data folder is formatted before that, Gralha formats its own
within it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from tests.apache.kafka import BROKER_FLAGS, ApacheKafka

from bench.frames import Frame, batch, create_topic, delete_topic, fetch_frame, produce_frame, produce_once
from bench.load import Load, run_load
from bench.payloads import event_batch
from gralha.protocol import compression
from gralha.testing import GralhaCluster

Broker = GralhaCluster | ApacheKafka
Results = dict[str, float]

CONNECTIONS = 4
UNBATCHED_IN_FLIGHT = 20
BATCHED_IN_FLIGHT = 5  # a producer's default
COMPRESSED_RECORDS = 100
STARTS = 3
TOPIC_ALREADY_EXISTS = 36
MB = 1e6
GB = 1e9
TOUCHED_BYTES = 3 << 30


def apache_kafka(config: Mapping[str, str] | None = None) -> ApacheKafka:
    """As Kafka's start script runs it, and not as tests do, which start it quickly."""
    return ApacheKafka(config, BROKER_FLAGS)


def measure_records(
    make_broker: Callable[[], Broker], say: Callable[[str], None], scale: float = 1.0
) -> Results:
    """Take all measures of one kind of broker but those of groups. `scale` shortens the loads."""
    results: Results = {}
    starts = []
    with contextlib.ExitStack() as stack:
        for number in range(STARTS):
            broker = stack.enter_context(contextlib.closing(make_broker()))
            if isinstance(broker, ApacheKafka):
                broker.format()
            starts.append(start_seconds(broker))
            if number < STARTS - 1:
                broker.close()
        results["start_s"] = statistics.median(starts)
        time.sleep(1)  # let the start's last work end before its memory is looked at
        results["idle_memory_mb"] = broker.process().memory_bytes() / MB
        say(f"start {results['start_s']:.2f} s, idle memory {results['idle_memory_mb']:.0f} MB")
        for take in (unbatched, small_batches, large_batches_and_fetch, compressed_batches, one_at_a_time):
            taken = take(broker, scale)
            results.update(taken)
            say(", ".join(f"{name} {value:.4g}" for name, value in taken.items()))
    return results


def start_seconds(broker: Broker) -> float:
    """Spawn the broker and count the time until a first record is acknowledged."""
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


def port_of(broker: Broker) -> int:
    return int(broker.bootstrap.rpartition(":")[2])


def connect(broker: Broker) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port_of(broker)), timeout=30)


@contextlib.contextmanager
def topic_with_partitions(broker: Broker, topic: str, partitions: int) -> Iterator[str]:
    """A topic for one measure, gone afterwards so that the disk does not fill."""
    with connect(broker) as connection:
        code = create_topic(connection, topic, partitions)
        if code != 0:
            raise RuntimeError(f"creation of {topic} failed with error code {code}")
        records = batch(1, 10)
        for partition in range(partitions):  # each has its leader a moment after the topic is there
            while produce_once(connection, topic, partition, records) != 0:
                time.sleep(0.01)
        yield topic
        delete_topic(connection, topic)


def loaded(
    broker: Broker, frames: Sequence[Frame], requests: int, scale: float, in_flight: int, **offsets: int
) -> tuple[Load, float]:
    """Warm up, then run the load; returns what it saw and the broker's CPU seconds meanwhile."""
    # Never scaled: Java compiles what has run often, and a cold broker would be no fair comparison.
    run_load(port_of(broker), frames, requests // 2, in_flight, **offsets)
    os.sync()  # what was written before must not be written out at the cost of this measure
    touch_memory()
    before = broker.process().cpu_seconds()
    load = run_load(port_of(broker), frames, int(requests * scale), in_flight, **offsets)
    return load, broker.process().cpu_seconds() - before


def touch_memory() -> None:
    """Use as much memory as a load will write, and give it back.

    On a virtual machine the host backs a page when it is first used, which costs more than all that a broker
    does for the bytes in it: without this, a measure says how much fresh memory the page cache came by.
    """
    pages, page_size = os.sysconf("SC_AVPHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    used = b"\1" * min(TOUCHED_BYTES, pages * page_size // 2)
    del used


def unbatched(broker: Broker, scale: float) -> Results:
    records = batch(1, 100)
    with topic_with_partitions(broker, "unbatched", CONNECTIONS) as topic:
        frames = [produce_frame(topic, partition, records) for partition in range(CONNECTIONS)]
        load, cpu_s = loaded(broker, frames, 300_000, scale, UNBATCHED_IN_FLIGHT)
    return {
        "unbatched_per_cpu_s": load.requests / cpu_s,
        "unbatched_per_s": load.requests / load.seconds,
    }


def small_batches(broker: Broker, scale: float) -> Results:
    records = batch(16, 1000)
    with topic_with_partitions(broker, "small-batches", CONNECTIONS) as topic:
        frames = [produce_frame(topic, partition, records) for partition in range(CONNECTIONS)]
        load, cpu_s = loaded(broker, frames, 100_000, scale, BATCHED_IN_FLIGHT)
    sent_bytes = load.requests * len(records)
    return {
        "small_batches_mb_s": sent_bytes / MB / load.seconds,
        "small_batches_cpu_s_gb": cpu_s / (sent_bytes / GB),
    }


def large_batches_and_fetch(broker: Broker, scale: float) -> Results:
    records = batch(100, 1000)
    with topic_with_partitions(broker, "large-batches", CONNECTIONS) as topic:
        frames = [produce_frame(topic, partition, records) for partition in range(CONNECTIONS)]
        load, _ = loaded(broker, frames, 20_000, scale, BATCHED_IN_FLIGHT)
        written = {"large_batches_mb_s": load.requests * len(records) / MB / load.seconds}
        return written | fetch(broker, topic, len(records), load.requests // CONNECTIONS, scale)


def fetch(broker: Broker, topic: str, batch_bytes: int, batches: int, scale: float) -> Results:
    """Read what was just written, up to 1 MB at a time and one request at a time, as a consumer does.

    Only whole batches count, because a reader can use nothing else.
    """
    frames = [fetch_frame(topic, partition) for partition in range(CONNECTIONS)]
    batches_per_fetch = (1 << 20) // batch_bytes
    step = batches_per_fetch * 100
    limit = (batches // batches_per_fetch - 1) * step
    load, cpu_s = loaded(broker, frames, 4_000, scale, 1, offset_step=step, offset_limit=limit)
    usable_bytes = load.requests * batches_per_fetch * batch_bytes
    if load.received_bytes < usable_bytes:
        raise RuntimeError(f"only {load.received_bytes} bytes came where {usable_bytes} should")
    return {
        "fetch_gb_s": usable_bytes / GB / load.seconds,
        "fetch_cpu_s_gb": cpu_s / (usable_bytes / GB),
    }


def compressed_batches(broker: Broker, scale: float) -> Results:
    """Brokers decompress what producers compressed, because they check every record."""
    results: Results = {}
    for codec in (compression.LZ4, compression.ZSTD):
        name = compression.NAMES[codec]
        records = event_batch(COMPRESSED_RECORDS, 1000, codec)
        with topic_with_partitions(broker, f"{name}-batches", CONNECTIONS) as topic:
            frames = [produce_frame(topic, partition, records) for partition in range(CONNECTIONS)]
            load, cpu_s = loaded(broker, frames, 20_000, scale, BATCHED_IN_FLIGHT)
        results[f"{name}_batches_records_s"] = load.requests * COMPRESSED_RECORDS / load.seconds
        results[f"{name}_batches_records_cpu_s"] = load.requests * COMPRESSED_RECORDS / cpu_s
    return results


def one_at_a_time(broker: Broker, scale: float) -> Results:
    with topic_with_partitions(broker, "one-at-a-time", 1) as topic:
        load, _ = loaded(broker, [produce_frame(topic, 0, batch(1, 100))], 20_000, scale, 1)
    return {"one_at_a_time_p50_ms": load.p50_ms, "one_at_a_time_p99_ms": load.p99_ms}
