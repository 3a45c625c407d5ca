"""Three brokers on one machine, replication factor 3, acks=all: throughput, and one request at a time.

Every partition's requests go to its leader, on a connection of their own. Apache Kafka's three have a heap of
512 MB each. The cores are shared by three brokers and the load, so this measures work, not waiting.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator

from tests.apache.cluster import ApacheCluster

from bench.frames import batch, create_topic, delete_topic, leader_ports, produce_frame, produce_once
from bench.load import Load, run_load
from bench.measures import BATCHED_IN_FLIGHT, MB, Broker, Results, apache_kafka, touch_memory
from gralha.testing import GralhaCluster

BROKERS = 3
PARTITIONS = 3
TIMEOUT_S = 60.0

Cluster = GralhaCluster | ApacheCluster


def measure_replication(
    make_broker: Callable[[], Broker], say: Callable[[str], None], scale: float = 1.0
) -> Results:
    """Take all measures of three brokers of one kind."""
    cluster: Cluster = ApacheCluster(BROKERS) if make_broker is apache_kafka else GralhaCluster(BROKERS)
    results: Results = {}
    if isinstance(cluster, ApacheCluster):
        cluster.format()
    begun = time.perf_counter()
    with cluster:
        results["cluster_start_s"] = time.perf_counter() - begun
        time.sleep(1)
        memory = sum(cluster.process(node_id).memory_bytes() for node_id in cluster.node_ids)
        results["cluster_idle_memory_mb"] = memory / MB
        say(f"three brokers: start {results['cluster_start_s']:.2f} s, memory {memory / MB:.0f} MB")
        for take in (small_records, large_records, one_at_a_time):
            taken = take(cluster, scale)
            results.update(taken)
            say(", ".join(f"{name} {value:.4g}" for name, value in taken.items()))
    return results


@contextlib.contextmanager
def replicated_topic(cluster: Cluster, topic: str, partitions: int) -> Iterator[list[int]]:
    """A topic for one measure; the ports of its leaders, by partition."""
    port = int(cluster.bootstrap.split(",")[0].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
        code = create_topic(connection, topic, partitions, BROKERS)
        if code != 0:
            raise RuntimeError(f"creation of {topic} failed with error code {code}")
        while (ports := leader_ports(connection, topic)) is None:
            time.sleep(0.05)
        records = batch(1, 10)
        for partition, leader in enumerate(ports):
            with socket.create_connection(("127.0.0.1", leader), timeout=TIMEOUT_S) as to_leader:
                while produce_once(to_leader, topic, partition, records) != 0:
                    time.sleep(0.05)
        yield ports
        delete_topic(connection, topic)


def loaded(
    cluster: Cluster, topic: str, records: bytes, partitions: int, requests: int, scale: float, in_flight: int
) -> Load:
    with replicated_topic(cluster, topic, partitions) as ports:
        frames = [produce_frame(topic, partition, records) for partition in range(partitions)]
        # Never scaled: Java compiles what has run often.
        run_load(ports, frames, requests // 2, in_flight)
        touch_memory()
        return run_load(ports, frames, int(requests * scale), in_flight)


def small_records(cluster: Cluster, scale: float) -> Results:
    records_per_batch = 100
    records = batch(records_per_batch, 100)
    load = loaded(cluster, "small-records", records, PARTITIONS, 30_000, scale, BATCHED_IN_FLIGHT)
    return {"replicated_100b_per_s": load.requests * records_per_batch / load.seconds}


def large_records(cluster: Cluster, scale: float) -> Results:
    records = batch(16, 1000)
    load = loaded(cluster, "large-records", records, PARTITIONS, 30_000, scale, BATCHED_IN_FLIGHT)
    return {"replicated_1kb_mb_s": load.requests * len(records) / MB / load.seconds}


def one_at_a_time(cluster: Cluster, scale: float) -> Results:
    load = loaded(cluster, "one-record", batch(1, 100), 1, 10_000, scale, 1)
    return {"replicated_p50_ms": load.p50_ms, "replicated_p99_ms": load.p99_ms}
