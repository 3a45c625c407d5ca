"""The tables of results: the values of both brokers, the ratio, and whether the ratio meets its target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Column = tuple[str, Mapping[str, float] | None]  # its heading, and the results


@dataclass(frozen=True)
class Measure:
    name: str  # in the results
    text: str
    unit: str
    target: float | None = None  # for the ratio of Gralha to Apache Kafka
    more_is_better: bool = True
    at_most: float | None = None  # an absolute limit, in addition to the ratio if there is one
    at_least: float | None = None

    def met(self, ours: float, theirs: float) -> bool:
        if self.at_most is not None and ours > self.at_most:
            return False
        if self.at_least is not None and ours < self.at_least:
            return False
        if self.target is None:
            return True
        ratio = ours / theirs
        return ratio >= self.target if self.more_is_better else ratio <= self.target

    def verdict(self, ours: float | None, theirs: float | None) -> str:
        """Whether the target is met. A limit that is only absolute needs no result of Apache Kafka."""
        if ours is None or not self.target_text() or (theirs is None and self.target is not None):
            return ""
        return "PASS" if self.met(ours, ours if theirs is None else theirs) else "below"

    def target_text(self) -> str:
        texts = []
        if self.target is not None:
            texts.append(f"{'>=' if self.more_is_better else '<='} {self.target:g}")
        if self.at_most is not None:
            texts.append(f"{'' if texts else '<= '}{self.at_most:g} {self.unit}")
        if self.at_least is not None:
            texts.append(f">= {self.at_least:g} {self.unit}".rstrip())
        return ", ".join(texts)


MEASURES = [
    Measure("unbatched_per_cpu_s", "unbatched produce (100 B, 4 connections, 20 in flight)", "/ CPU s", 3.0),
    Measure("unbatched_idempotent_per_cpu_s", "  idempotent", "/ CPU s"),
    Measure("unbatched_per_s", "  by the clock", "/ s"),
    Measure("small_batches_mb_s", "batches of 16 x 1 KB, 4 connections", "MB/s", 1.8),
    Measure("small_batches_cpu_s_gb", "  broker CPU for that", "s/GB", 0.4, more_is_better=False),
    Measure("small_batches_idempotent_mb_s", "  idempotent", "MB/s", 1.8),
    Measure("small_batches_idempotent_cpu_s_gb", "  broker CPU for that", "s/GB", 0.4, more_is_better=False),
    Measure("large_batches_mb_s", "batches of 100 x 1 KB, 4 connections", "MB/s", 1.5),
    Measure("large_batches_cpu_s_gb", "  broker CPU for that", "s/GB", more_is_better=False),
    Measure("fetch_gb_s", "fetch of that from the page cache, 4 connections", "GB/s", 1.0),
    Measure("fetch_cpu_s_gb", "  broker CPU for that", "s/GB", 0.6, more_is_better=False),
    Measure("lz4_batches_per_s", "batches of 100 x 1 KB, lz4, 4 connections", "/ s", 1.5),
    Measure("lz4_batches_per_cpu_s", "  the same by the broker's CPU", "/ CPU s"),
    Measure("zstd_batches_per_s", "batches of 100 x 1 KB, zstd, 4 connections", "/ s", 1.5),
    Measure("zstd_batches_per_cpu_s", "  the same by the broker's CPU", "/ CPU s"),
    Measure("one_at_a_time_p50_ms", "one request at a time, acks=all: p50", "ms", more_is_better=False),
    Measure("one_at_a_time_p99_ms", "one request at a time, acks=all: p99", "ms", 0.7, more_is_better=False),
    Measure("heartbeat_p50_ms", "heartbeats of 1,000 groups of 3 members: p50", "ms", more_is_better=False),
    Measure("heartbeat_p99_ms", "  the same: p99", "ms", more_is_better=False, at_most=50),
    Measure("replicated_100b_per_s", "3 brokers, 3 replicas, acks=all: 100 x 100 B", "/ s", 1.5),
    Measure("replicated_100b_idempotent_per_s", "  the same, idempotent", "/ s"),
    Measure("replicated_1kb_mb_s", "  batches of 16 x 1 KB", "MB/s", 1.5),
    Measure("replicated_1kb_cpu_s_gb", "  CPU of all three for that", "s/GB", more_is_better=False),
    Measure("replicated_1kb_idempotent_mb_s", "  batches of 16 x 1 KB, idempotent", "MB/s"),
    Measure(
        "replicated_1kb_idempotent_cpu_s_gb", "  CPU of all three for that", "s/GB", more_is_better=False
    ),
    Measure("replicated_p50_ms", "  one request at a time: p50", "ms", more_is_better=False),
    Measure("replicated_p99_ms", "  one request at a time: p99", "ms", 0.7, more_is_better=False),
    Measure("cluster_start_s", "  start until all three serve", "s", more_is_better=False, at_most=4),
    Measure("cluster_idle_memory_mb", "  idle memory of the three", "MB", more_is_better=False, at_most=300),
    Measure(
        "meters_unbatched_percent", "share of the metrics in the CPU: 100 B, 20 in flight", "%", at_most=2
    ),
    Measure("meters_one_at_a_time_percent", "  100 B, one request at a time", "%", at_most=2),
    Measure("meters_small_batches_percent", "  batches of 16 x 1 KB, 5 in flight", "%", at_most=2),
    Measure("meters_fetches_percent", "  fetch of a small batch, one request at a time", "%", at_most=2),
    Measure("start_s", "start to the first acknowledged record", "s", 0.4, more_is_better=False, at_most=1.2),
    Measure("idle_memory_mb", "idle memory", "MB", 0.2, more_is_better=False),
]


def partition_measures(count: int, start: float | None, memory: float | None) -> list[Measure]:
    """The rows for one number of partitions. Two of them have targets."""
    prefix = f"partitions_{count}"
    return [
        Measure(
            f"{prefix}_create_s", f"{count:,} partitions: create, and a record in each", "s", None, False
        ),
        Measure(f"{prefix}_stop_s", "  clean stop", "s", None, False),
        Measure(f"{prefix}_start_clean_s", "  start after that", "s", None, False),
        Measure(f"{prefix}_start_killed_s", "  start after SIGKILL", "s", start, False),
        Measure(f"{prefix}_memory_mb", "  memory", "MB", memory, False),
        Measure(f"{prefix}_open_files", "  open files", "", None, False),
        Measure(f"{prefix}_metadata_ms", "  Metadata of all topics", "ms", None, False),
    ]


def transaction_measures(brokers: int, kind: str, producers: int) -> list[Measure]:
    prefix = f"transactions_{brokers}_{kind}_{producers}"
    where = f"{brokers} broker{'s' if brokers > 1 else ''}"
    how = {"confluent": "confluent-kafka", "v1": "raw frames, v1", "v2": "raw frames, v2"}[kind]
    count = f"{producers} producer{'s' if producers > 1 else ''}"
    return [
        Measure(f"{prefix}_per_s", f"{where}, {how}, {count}", "/ s", 2.0),
        Measure(f"{prefix}_commit_p99_ms", "  a commit: p99", "ms", 0.6, False),
        Measure(f"{prefix}_whole_p99_ms", "  a whole transaction: p99", "ms", 0.6, False),
        Measure(f"{prefix}_cpu_ms", "  broker CPU for a transaction", "ms", None, False),
    ]


TRANSACTION_MEASURES = [
    *[
        measure
        for brokers in (1, 3)
        for kind in ("confluent", "v1", "v2")
        for producers in (1, 8)
        for measure in transaction_measures(brokers, kind, producers)
    ],
    Measure("read_uncommitted_gb_s", "fetch of a log with 10% aborted ones, read_uncommitted", "GB/s"),
    Measure("read_committed_gb_s", "  the same, read_committed", "GB/s"),
    Measure("read_committed_share", "  read_committed / read_uncommitted", "", at_least=0.9),
]
SCALE_MEASURES = [
    *partition_measures(1_000, None, None),
    *partition_measures(3_000, None, None),
    *partition_measures(10_000, 0.1, 0.2),
    *partition_measures(20_000, None, None),
    Measure("partitions_most", "as many partitions as it gets to", ""),
    Measure("partitions_most_memory_mb", "  memory", "MB", None, False),
    Measure("partitions_most_metadata_ms", "  Metadata of all topics", "ms", None, False),
    Measure("partitions_most_start_killed_s", "  start after SIGKILL", "s", None, False),
    Measure("connections_1000_memory_mb", "1,000 connections: memory", "MB", None, False),
    Measure("connections_1000_requests_ms", "  a request on each", "ms", None, False),
    Measure("connections_5000_memory_mb", "5,000 connections: memory", "MB", 0.2, False),
    Measure("connections_5000_requests_ms", "  a request on each", "ms", None, False),
    Measure("fan_out_mb_s", "one producer, 50 consumers: all that they read", "MB/s", 1.5),
    Measure("fan_out_cpu_s_gb", "  broker CPU for that", "s/GB", None, False),
    Measure("large_group_stable_s", "a group of 500 members: until it is stable", "s", None, False),
    Measure("large_group_heartbeat_p99_ms", "  its heartbeats: p99", "ms", None, False),
    Measure("large_log_gb", "a large log", "GB"),
    Measure("large_log_start_killed_s", "  start after SIGKILL", "s", None, False),
]
SECURITY_MEASURES = [
    Measure("tls_small_batches_mb_s", "TLS: batches of 16 x 1 KB, 4 connections", "MB/s", 1.0),
    Measure("tls_small_batches_cpu_s_gb", "  broker CPU for that", "s/GB", 0.7, more_is_better=False),
    Measure("tls_large_batches_mb_s", "TLS: batches of 100 x 1 KB, 4 connections", "MB/s", 1.0),
    Measure("tls_large_batches_cpu_s_gb", "  broker CPU for that", "s/GB", 0.7, more_is_better=False),
    Measure("tls_fetch_mb_s", "TLS: fetch of that from the page cache", "MB/s", 1.0),
    Measure("tls_fetch_cpu_s_gb", "  broker CPU for that", "s/GB", 0.7, more_is_better=False),
    Measure("logins_plain_per_s", "SASL_SSL: connections that log in, PLAIN", "/ s", 1.0),
    Measure("logins_plain_cpu_ms", "  broker CPU for a connection", "ms", more_is_better=False),
    Measure("logins_scram_sha_512_per_s", "SASL_SSL: connections that log in, SCRAM-SHA-512", "/ s", 1.0),
    Measure("logins_scram_sha_512_cpu_ms", "  broker CPU for a connection", "ms", more_is_better=False),
    Measure("idle_logins_5000_memory_mb", "memory with 5,000 idle ones", "MB", 0.3, more_is_better=False),
    Measure("acls_produce_share", "10,000 ACLs / no authorizer: produce per CPU s", "", at_least=0.9),
    Measure("acls_fetch_share", "  fetch", "", at_least=0.9),
    Measure("acls_metadata_share", "  metadata", "", at_least=0.9),
]
# The measures of Spark. Both connectors use a Gralha broker.
SPARK_MEASURES = [
    Measure("spark_read_rows_s", "batch read, rows of 200 B, 4 partitions", "rows/s", 1.5),
    Measure("spark_stream_rows_s", "stream of the same, in 8 batches", "rows/s", 1.2),
    Measure("spark_write_rows_s", "batch write, rows of 200 B, 4 partitions", "rows/s", 1.0),
    Measure(
        "spark_exactly_once_rows_s",
        "our stream at least once, and exactly once, in batches of 250,000 rows",
        "rows/s",
        0.8,
    ),
]


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


METHOD = """\
What is compared: Apache Kafka 4.3 on Java with a heap of 1 GB (three brokers: 512 MB each) and Gralha. Both
run on this machine with their default settings. The same program sends the same bytes to both over loopback,
with acks=all, and checks every response for errors. Both are warmed up until their rate has stopped rising;
a line below the tables names each measure for which that took too long.
Then they take turns (Apache, Gralha, Gralha, Apache, and again). The median of each one's rounds is shown;
the other is idle meanwhile. Partitions and the large log are measured once. CPU is the time of the broker's
process, memory is its resident memory. Idempotent batches have a producer id and sequences, as clients send
them by default. What the metrics of requests cost is measured on one Gralha broker: one of its listeners
counts, the other does not. A transaction has 100 records of 100 B, and one in ten is aborted. All records
are read back with read_committed and counted. Under TLS both have the same RSA key of 2048 bits, and the
load allows only TLS 1.3 with AES-256-GCM and X25519, and no resumption. The load encrypts and decrypts on one
of the cores; a line names each measure in which that was the limit. ACLs are measured on two Gralha brokers.
The ratio is Gralha's value divided by Apache Kafka's."""


def page(apache: Mapping[str, float] | None, gralha: Mapping[str, float] | None, notes: Sequence[str]) -> str:
    """The whole page: the tables, and their explanations."""
    theirs, ours = ("Apache Kafka", apache), ("Gralha", gralha)
    parts = [
        METHOD,
        table("the broker", measured(MEASURES, apache, gralha), theirs, ours),
        table("transactions", measured(TRANSACTION_MEASURES, apache, gralha), theirs, ours),
        table("security", measured(SECURITY_MEASURES, apache, gralha), theirs, ours),
        table("scale", measured(SCALE_MEASURES, apache, gralha), theirs, ours),
        table("Spark", measured(SPARK_MEASURES, apache, gralha), ("its connector", apache), ours),
        "\n".join(notes),
    ]
    return "\n\n".join(part for part in parts if part)


def measured(measures: Sequence[Measure], *results: Mapping[str, float] | None) -> list[Measure]:
    """The measures that have results."""
    return [measure for measure in measures if any(taken and measure.name in taken for taken in results)]


def table(title: str, measures: Sequence[Measure], their: Column, our: Column) -> str:
    if not measures:
        return ""
    (their_name, apache), (our_name, gralha) = their, our
    rows = [(title, "unit", their_name, our_name, "ratio", "target", "")]
    for measure in measures:
        theirs = apache.get(measure.name) if apache else None
        ours = gralha.get(measure.name) if gralha else None
        ratio = f"{ours / theirs:.2f}" if theirs is not None and ours is not None else ""
        verdict = measure.verdict(ours, theirs)
        rows.append(
            (measure.text, measure.unit, number(theirs), number(ours), ratio, measure.target_text(), verdict)
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in (0, 1, 5, 6) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
