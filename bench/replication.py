"""Three brokers on one machine, replication factor 3, acks=all: throughput, and latency of single requests.

The requests of each partition go to its leader, on their own connection. Each of Apache Kafka's brokers has a
heap of 512 MB. Three brokers and the load share the cores, so this measures work, not waiting. Both clusters
run all the time, and one is idle during a round of the other.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from tests.apache.cluster import ApacheCluster

from bench.calls import new_producer_id
from bench.frames import Frame, batch, create_topic, delete_topic, leader_ports, produce_frame, produce_once
from bench.load import Load, run_load
from bench.measures import BATCHED_IN_FLIGHT, MB, REMOVE_SOON, Cluster, Makers, Say, compared, tell
from bench.rounds import Results, merge
from gralha.testing import GralhaCluster

BROKERS = 3
PARTITIONS = 3
TIMEOUT_S = 60.0
REQUESTS = 10_000
REQUESTS_ONE_AT_A_TIME = 3_000

CLUSTERS: dict[str, Callable[[], ApacheCluster | GralhaCluster]] = {
    "apache": lambda: ApacheCluster(BROKERS, config=REMOVE_SOON),
    "gralha": lambda: GralhaCluster(BROKERS, config=REMOVE_SOON),
}


def measure_replication(makers: Makers, say: Say, scale: float = 1.0) -> dict[str, Results]:
    """Take all measures of three brokers."""
    results: dict[str, Results] = {}
    clusters: dict[str, Cluster] = {}
    with contextlib.ExitStack() as stack:
        for name in makers:
            cluster = CLUSTERS[name]()
            if isinstance(cluster, ApacheCluster):
                cluster.format()
            begun = time.perf_counter()
            stack.enter_context(cluster)
            clusters[name] = cluster
            results[name] = {"cluster_start_s": time.perf_counter() - begun}
            time.sleep(1)
            memory = sum(cluster.process(node_id).memory_bytes() for node_id in cluster.node_ids)
            results[name]["cluster_idle_memory_mb"] = memory / MB
        tell(say, results)
        for take in (
            partial(small_records, idempotent=False),
            partial(small_records, idempotent=True),
            partial(large_records, idempotent=False),
            partial(large_records, idempotent=True),
            one_at_a_time,
        ):
            taken = take(say, clusters, scale)
            tell(say, taken)
            merge(results, taken)
    return results


@contextlib.contextmanager
def replicated_topic(
    cluster: Cluster, topic: str, partitions: int, replicas: int = BROKERS
) -> Iterator[list[int]]:
    """A topic for one measure, with one record in each partition. Yields the ports of its leaders."""
    port = int(cluster.bootstrap.split(",")[0].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
        code = create_topic(connection, topic, partitions, replicas)
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
    say: Say,
    clusters: Mapping[str, Cluster],
    topic: str,
    shape: tuple[int, int],
    idempotent: bool,
    partitions: int,
    requests: int,
    scale: float,
    in_flight: int,
    results_of: Callable[[Load, float], Results],
) -> dict[str, Results]:
    """`shape` is the number of records of a batch, and the size of a record.

    Idempotent batches have a producer id and sequences, as clients send them by default.
    """

    def frame(port: int, partition: int) -> Frame:
        producer = None
        if idempotent:
            with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
                producer = new_producer_id(connection)
        return produce_frame(topic, partition, batch(*shape, producer))

    with contextlib.ExitStack() as stack:
        ports = {
            id(cluster): stack.enter_context(replicated_topic(cluster, topic, partitions))
            for cluster in clusters.values()
        }

        def run(cluster: Cluster, requests: int) -> Load:
            leaders = ports[id(cluster)]
            frames = [frame(leaders[partition], partition) for partition in range(partitions)]
            return run_load(leaders, frames, requests, in_flight, sequence_step=shape[0])

        return compared(say, topic, clusters, run, requests, scale, results_of)


def small_records(
    say: Say, clusters: Mapping[str, Cluster], scale: float, idempotent: bool
) -> dict[str, Results]:
    shape, suffix = (100, 100), "_idempotent" * idempotent
    topic = f"small-records{suffix.replace('_', '-')}"

    def results_of(load: Load, _: float) -> Results:
        return {f"replicated_100b{suffix}_per_s": load.requests * shape[0] / load.seconds}

    return loaded(
        say, clusters, topic, shape, idempotent, PARTITIONS, REQUESTS, scale, BATCHED_IN_FLIGHT, results_of
    )


def large_records(
    say: Say, clusters: Mapping[str, Cluster], scale: float, idempotent: bool
) -> dict[str, Results]:
    shape, suffix = (16, 1000), "_idempotent" * idempotent
    topic, batch_bytes = f"large-records{suffix.replace('_', '-')}", len(batch(*shape))

    def results_of(load: Load, cpu_s: float) -> Results:
        sent_bytes = load.requests * batch_bytes
        return {
            f"replicated_1kb{suffix}_mb_s": sent_bytes / MB / load.seconds,
            f"replicated_1kb{suffix}_cpu_s_gb": cpu_s / (sent_bytes / 1e9),
        }

    return loaded(
        say, clusters, topic, shape, idempotent, PARTITIONS, REQUESTS, scale, BATCHED_IN_FLIGHT, results_of
    )


def one_at_a_time(say: Say, clusters: Mapping[str, Cluster], scale: float) -> dict[str, Results]:
    def results_of(load: Load, _: float) -> Results:
        return {"replicated_p50_ms": load.p50_ms, "replicated_p99_ms": load.p99_ms}

    return loaded(
        say, clusters, "one-record", (1, 100), False, 1, REQUESTS_ONE_AT_A_TIME, scale, 1, results_of
    )
