"""The exactly-once sink beside the at-least-once sink: a stream copies a topic in batches of 250,000 rows.

Both are ours, so the columns mean something else here: on the left the stream delivers at least once, on the
right exactly once. The rate comes from Spark's progress reports, without the first batch.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

COLUMNS = {"apache": "at-least-once", "gralha": "exactly-once"}
PARTITIONS = 4
ROWS_PER_BATCH = 250_000
BATCHES = 8
ROUNDS = 3
TIMEOUT_S = 60.0


def measure_guarantees(
    session: SparkSession, bootstrap: str, folder: Path, say: Callable[[str], None], scale: float = 1.0
) -> dict[str, float]:
    """Rows a second at least once ("apache") and exactly once ("gralha")."""
    bench = GuaranteeBench(session, bootstrap, folder, int(ROWS_PER_BATCH * scale))
    rates: dict[str, list[float]] = {column: [] for column in COLUMNS}
    for _ in range(1 + ROUNDS):
        for column, guarantee in COLUMNS.items():
            rates[column].append(bench.copied(guarantee))
    found = {column: statistics.median(taken[1:]) for column, taken in rates.items()}
    say("spark_exactly_once: " + ", ".join(f"{COLUMNS[name]} {found[name]:,.0f}" for name in COLUMNS))
    return found


class GuaranteeBench:
    """The topic to copy, and a new one for each copy."""

    def __init__(self, session: SparkSession, bootstrap: str, folder: Path, rows_per_batch: int) -> None:
        self._session = session
        self._options = {"kafka.bootstrap.servers": bootstrap}
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._folder = folder
        self._rows_per_batch = rows_per_batch
        self._numbers = itertools.count()
        self._source = self._new_topic()
        rows = session.range(0, rows_per_batch * BATCHES, numPartitions=2).selectExpr(
            "cast(lpad(id, 16, '0') AS binary) AS key", "cast(rpad(id, 184, 'gralha ') AS binary) AS value"
        )
        rows.write.format("gralha").options(**self._options, topic=self._source).mode("append").save()

    def copied(self, guarantee: str) -> float:
        """Copies the topic. Returns the rows a second."""
        target = self._new_topic()
        source = {"subscribe": self._source, "startingOffsets": "earliest"}
        query = (
            self._session.readStream.format("gralha")
            .options(**self._options, **source, maxOffsetsPerTrigger=str(self._rows_per_batch))
            .load()
            .select("key", "value")
            .writeStream.format("gralha")
            .options(**self._options, topic=target, deliveryGuarantee=guarantee)
            .option("checkpointLocation", str(self._folder / target))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        batches = [batch for batch in query.recentProgress if batch["numInputRows"]][1:]
        self._admin.delete_topics([target])[target].result(TIMEOUT_S)
        seconds = sum(batch["durationMs"]["triggerExecution"] for batch in batches) / 1000
        return float(sum(batch["numInputRows"] for batch in batches) / seconds)

    def _new_topic(self) -> str:
        name = f"guarantee-{next(self._numbers)}"
        self._admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(TIMEOUT_S)
        return name
