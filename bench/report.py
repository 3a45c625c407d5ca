"""The table of results: absolute values side by side, the ratio, and whether it meets its target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Column = tuple[str, Mapping[str, float] | None]  # its heading, and the results


@dataclass(frozen=True)
class Measure:
    name: str  # in the results
    text: str
    unit: str
    target: float | None = None  # of the ratio of ours to theirs
    more_is_better: bool = True
    at_most: float | None = None  # an absolute limit besides the ratio

    def met(self, ours: float, theirs: float) -> bool:
        if self.at_most is not None and ours > self.at_most:
            return False
        ratio = ours / theirs
        return self.target is None or (ratio >= self.target if self.more_is_better else ratio <= self.target)

    def target_text(self) -> str:
        texts = []
        if self.target is not None:
            texts.append(f"{'>=' if self.more_is_better else '<='} {self.target:g}")
        if self.at_most is not None:
            texts.append(f"{'' if texts else '<= '}{self.at_most:g} {self.unit}")
        return ", ".join(texts)


MEASURES = [
    Measure("unbatched_per_cpu_s", "unbatched produce (100 B, 4 connections, 20 in flight)", "/ CPU s", 3.0),
    Measure("unbatched_per_s", "  the same by the clock", "/ s"),
    Measure("small_batches_mb_s", "batches of 16 x 1 KB, 4 connections", "MB/s", 1.5),
    Measure("small_batches_cpu_s_gb", "  broker CPU for that", "s/GB", 0.5, more_is_better=False),
    Measure("large_batches_mb_s", "batches of 100 x 1 KB, 4 connections", "MB/s", 1.5),
    Measure("lz4_batches_records_s", "batches of 100 x 1 KB, lz4, 4 connections", "/ s", 1.5),
    Measure("lz4_batches_records_cpu_s", "  the same by the broker's CPU", "/ CPU s"),
    Measure("zstd_batches_records_s", "batches of 100 x 1 KB, zstd, 4 connections", "/ s", 1.5),
    Measure("zstd_batches_records_cpu_s", "  the same by the broker's CPU", "/ CPU s"),
    Measure("fetch_gb_s", "fetch of that from the page cache, 4 connections", "GB/s", 1.0),
    Measure("fetch_cpu_s_gb", "  broker CPU for that", "s/GB", more_is_better=False),
    Measure("one_at_a_time_p50_ms", "one request at a time, acks=all: p50", "ms", more_is_better=False),
    Measure("one_at_a_time_p99_ms", "one request at a time, acks=all: p99", "ms", 0.7, more_is_better=False),
    Measure("heartbeat_p50_ms", "heartbeats of 1,000 groups of 3 members: p50", "ms", more_is_better=False),
    Measure("heartbeat_p99_ms", "  the same: p99", "ms", more_is_better=False, at_most=50),
    Measure("replicated_100b_per_s", "3 brokers, 3 replicas, acks=all: 100 x 100 B", "/ s", 1.5),
    Measure("replicated_1kb_mb_s", "  batches of 16 x 1 KB", "MB/s", 1.5),
    Measure("replicated_p50_ms", "  one request at a time: p50", "ms", more_is_better=False),
    Measure("replicated_p99_ms", "  one request at a time: p99", "ms", 0.7, more_is_better=False),
    Measure("cluster_start_s", "  start until all three serve", "s", more_is_better=False, at_most=4),
    Measure("cluster_idle_memory_mb", "  idle memory of the three", "MB", more_is_better=False, at_most=300),
    Measure("start_s", "start to the first acknowledged record", "s", 0.4, more_is_better=False, at_most=1.2),
    Measure("idle_memory_mb", "idle memory", "MB", 0.2, more_is_better=False),
]
# Of Spark, on a Gralha broker both times.
SPARK_MEASURES = [
    Measure("spark_read_rows_s", "batch read, rows of 200 B, 4 partitions", "rows/s", 1.5),
    Measure("spark_stream_rows_s", "stream of the same, in 8 batches", "rows/s", 1.2),
    Measure("spark_write_rows_s", "batch write, rows of 200 B, 4 partitions", "rows/s", 1.0),
]


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def tables(apache: Mapping[str, float] | None, gralha: Mapping[str, float] | None) -> str:
    brokers = table("the broker", MEASURES, ("Apache Kafka", apache), ("Gralha", gralha))
    spark = table("Spark", SPARK_MEASURES, ("its connector", apache), ("Gralha", gralha))
    return f"{brokers}\n\n{spark}"


def table(title: str, measures: Sequence[Measure], their: Column, our: Column) -> str:
    (their_name, apache), (our_name, gralha) = their, our
    rows = [(title, "unit", their_name, our_name, "ratio", "target", "")]
    for measure in measures:
        theirs = apache.get(measure.name) if apache else None
        ours = gralha.get(measure.name) if gralha else None
        ratio = verdict = ""
        if theirs is not None and ours is not None:
            ratio = f"{ours / theirs:.2f}"
            if measure.target_text():
                verdict = "PASS" if measure.met(ours, theirs) else "below"
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
