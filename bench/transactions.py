"""Transactions of 100 records, of which one in ten is aborted, on one broker and on three (three replicas).

They come from 1 and from 8 producers: confluent-kafka, and raw frames of transactions v1 and v2. The time of
a commit is that of EndTxn (confluent-kafka: of `commit_transaction`, after all records are acknowledged). The
time of a whole transaction includes what comes before it, also the wait until the last one is complete.

After each measure all records are read back. The number of committed ones must be what was committed, and the
number of aborted ones what was aborted. Last, a log with aborted transactions is fetched with both isolation
levels in turns.
"""

from __future__ import annotations

import contextlib
import gc
import os
import socket
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tests.apache.cluster import ApacheCluster
from tests.apache.kafka import ApacheKafka

from bench.committed import count_records
from bench.frames import READ_COMMITTED, READ_UNCOMMITTED, fetch_frame
from bench.load import run_load
from bench.measures import GB, REMOVE_SOON, TITLES, Cluster, Makers, Say, cpu_seconds, tell, touch_memory
from bench.replication import BROKERS, CLUSTERS, replicated_topic
from bench.rounds import PAIRS, Results, alternate, merge, warm_up_or_say
from bench.transaction_frames import transactional_batch
from bench.transaction_load import (
    RECORDS,
    ConfluentLoad,
    GoesOn,
    Load,
    RawLoad,
    Run,
    for_seconds,
    this_many,
    values,
)

PRODUCERS = (1, 8)
WINDOW_S = 1.0  # of the warm-up
ROUND_S = 4.0
FIRST_RECORDS = 1  # in each partition, when its topic is made

LOG_PARTITIONS = 4
LOG_TRANSACTIONS = 1_000  # in each partition
MARKER_BYTES = 78
FETCHES = 2_000


@dataclass(frozen=True)
class Subject:
    """A system with a topic and its producers."""

    cluster: Cluster
    topic: str
    leaders: Sequence[int]  # ports, by partition
    load: Load
    expected: list[Run]  # what was written so far

    def run(self, goes_on: GoesOn) -> Run:
        run = self.load.run(goes_on)
        self.expected.append(run)
        return run

    def check(self) -> None:
        """Read all records back and compare them with what was written."""
        for number, leader in enumerate(self.leaders):
            committed = FIRST_RECORDS + RECORDS * sum(run.committed[number] for run in self.expected)
            aborted = RECORDS * sum(run.aborted[number] for run in self.expected)
            with socket.create_connection(("127.0.0.1", leader), timeout=60) as connection:
                counted = count_records(connection, self.topic, number)
            if (counted.committed, counted.aborted) != (committed, aborted):
                raise RuntimeError(
                    f"{self.topic}-{number} has {counted.committed:,} committed records, not {committed:,}, "
                    f"and {counted.aborted:,} aborted ones, not {aborted:,}"
                )


def raw(version: int) -> Callable[[Cluster, str, Sequence[int]], Load]:
    return lambda cluster, topic, leaders: RawLoad(version, topic, leaders)


def confluent(cluster: Cluster, topic: str, leaders: Sequence[int]) -> Load:
    return ConfluentLoad(cluster.bootstrap, topic, len(leaders))


LOADS = {"confluent": confluent, "v1": raw(1), "v2": raw(2)}


def measure_transactions(makers: Makers, say: Say, scale: float = 1.0) -> dict[str, Results]:
    """Take all measures of transactions. `scale` shortens the rounds."""
    results: dict[str, Results] = {}
    for brokers in (1, BROKERS):
        with running(makers, brokers) as clusters:
            for kind in LOADS:
                for producers in PRODUCERS:
                    taken = transactions(say, clusters, brokers, kind, producers, scale)
                    tell(say, taken)
                    merge(results, taken)
            if brokers == 1:
                taken = fetches(say, clusters, scale)
                tell(say, taken)
                merge(results, taken)
    return results


@contextlib.contextmanager
def running(makers: Makers, brokers: int) -> Iterator[dict[str, Cluster]]:
    """One broker of each kind, or a cluster of each kind."""
    with contextlib.ExitStack() as stack:
        clusters: dict[str, Cluster] = {}
        for name, make in makers.items():
            cluster = make(config=REMOVE_SOON) if brokers == 1 else CLUSTERS[name]()
            if isinstance(cluster, (ApacheCluster, ApacheKafka)):
                cluster.format()
            stack.enter_context(cluster)
            clusters[name] = cluster
        yield clusters


@contextlib.contextmanager
def subjects(
    clusters: Mapping[str, Cluster], topic: str, partitions: int, replicas: int, kind: str
) -> Iterator[dict[str, Subject]]:
    """A topic and producers on each system. At the end all records are checked."""
    with contextlib.ExitStack() as stack:
        made = {}
        for name, cluster in clusters.items():
            leaders = stack.enter_context(replicated_topic(cluster, topic, partitions, replicas))
            load = stack.enter_context(contextlib.closing(LOADS[kind](cluster, topic, leaders)))
            made[name] = Subject(cluster, topic, leaders, load, [])
        yield made
        for subject in made.values():
            subject.check()


def transactions(
    say: Say, clusters: Mapping[str, Cluster], brokers: int, kind: str, producers: int, scale: float
) -> dict[str, Results]:
    """The systems take turns with rounds of transactions from that many producers."""
    name = f"transactions_{brokers}_{kind}_{producers}"

    def window(subject: Subject) -> float:
        run = subject.run(for_seconds(WINDOW_S))
        return run.transactions / run.seconds

    def take(subject: Subject) -> Results:
        os.sync()
        touch_memory()
        gc.collect()
        before = cpu_seconds(subject.cluster)
        run = subject.run(for_seconds(ROUND_S * scale))
        cpu_s = cpu_seconds(subject.cluster) - before
        return {
            f"{name}_per_s": run.transactions / run.seconds,
            f"{name}_commit_p99_ms": 1000 * p99(run.commit_s),
            f"{name}_whole_p99_ms": 1000 * p99(run.whole_s),
            f"{name}_cpu_ms": 1000 * cpu_s / run.transactions,
        }

    with subjects(clusters, name.replace("_", "-"), producers, brokers, kind) as made, no_collections():
        for system, subject in made.items():
            warm_up_or_say(say, TITLES[system], name, partial(window, subject))
        return alternate(made, take, PAIRS if scale == 1 else 1)


@contextlib.contextmanager
def no_collections() -> Iterator[None]:
    """A collection in this program would count as latency of a broker."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def p99(taken: Sequence[float]) -> float:
    return sorted(taken)[len(taken) * 99 // 100]


def fetches(
    say: Say,
    clusters: Mapping[str, Cluster],
    scale: float,
    log_transactions: int = LOG_TRANSACTIONS,
    fetch_count: int = FETCHES,
) -> dict[str, Results]:
    """Fetch one log with read_uncommitted and with read_committed, as `measures.fetch` does."""
    with subjects(clusters, "fetch-committed", LOG_PARTITIONS, 1, "v1") as made:
        for subject in made.values():
            subject.run(this_many(log_transactions))
        requests = int(fetch_count * scale)

        def take(subject: Subject) -> Results:
            order = [READ_UNCOMMITTED, READ_COMMITTED, READ_COMMITTED, READ_UNCOMMITTED]
            rates = [fetch_rate(subject, level, log_transactions, requests) for level in order]
            uncommitted, committed = statistics.mean(rates[::3]), statistics.mean(rates[1:3])
            return {
                "read_uncommitted_gb_s": uncommitted,
                "read_committed_gb_s": committed,
                "read_committed_share": committed / uncommitted,
            }

        def committed_rate(subject: Subject) -> float:
            return take(subject)["read_committed_gb_s"]

        for system, subject in made.items():
            warm_up_or_say(say, TITLES[system], "fetch with read_committed", partial(committed_rate, subject))
        return alternate(made, take, PAIRS if scale == 1 else 1)


def fetch_rate(subject: Subject, isolation_level: int, log_transactions: int, requests: int) -> float:
    """Read the log over and over, up to 1 MB with each request. Returns GB/s."""
    frames = [fetch_frame(subject.topic, number, isolation_level) for number in range(LOG_PARTITIONS)]
    transaction_bytes = len(transactional_batch(values(), 0)) + MARKER_BYTES
    per_fetch = (1 << 20) // transaction_bytes
    step = per_fetch * (RECORDS + 1)  # the marker has an offset, too
    limit = (log_transactions // per_fetch - 1) * step
    load = run_load(subject.leaders, frames, requests, 1, offset_step=step, offset_limit=limit)
    usable_bytes = load.requests * per_fetch * transaction_bytes
    if load.received_bytes < usable_bytes:
        raise RuntimeError(f"only {load.received_bytes} bytes came where {usable_bytes} should")
    return usable_bytes / GB / load.seconds
