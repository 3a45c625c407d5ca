"""Spark's own Kafka connector and format("gralha"), in one session, on one Gralha broker, over the same rows.

A row has a key and a value of 200 B in total. Spark computes the rows that it writes. Rows that it reads go
to Spark's `noop` sink with all columns. Both formats take turns, after a round that warms up the Java
compiler, and the median of the rounds counts.

The rate of a stream comes from Spark's progress reports, without the first batch: a query runs for days, so
its start does not matter.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession
from tests.spark.shared_session import session_config

from bench.exactly_once import measure_guarantees
from gralha.spark.session import prepare_environment
from gralha.testing import GralhaCluster

Results = dict[str, float]
Measure = Callable[[str], float]  # of a format, in rows a second

FORMATS = {"apache": "kafka", "gralha": "gralha"}
PARTITIONS = 4
READ_ROWS = 3_000_000
WRITTEN_ROWS = 1_500_000
BATCHES = 8
ROUNDS = 3
TIMEOUT_S = 60.0


def measure_spark(say: Callable[[str], None], scale: float = 1.0) -> dict[str, Results]:
    """Rows a second through the connector ("apache") and through ours ("gralha")."""
    with (
        GralhaCluster() as broker,
        tempfile.TemporaryDirectory(prefix="bench-spark-") as folder,
        spark_session(Path(folder)) as session,
    ):
        results = SparkBench(session, broker.bootstrap, Path(folder)).measured(say, scale)
        for column, rate in measure_guarantees(session, broker.bootstrap, Path(folder), say, scale).items():
            results[column]["spark_exactly_once_rows_s"] = rate
        return results


@contextlib.contextmanager
def spark_session(folder: Path) -> Iterator[SparkSession]:
    config = {
        **session_config(folder),
        "spark.driver.extraJavaOptions": "",  # use the optimising compiler for the bench
        "spark.driver.memory": "2g",
        "spark.log.level": "ERROR",
    }
    prepare_environment(config["spark.master"])
    builder = SparkSession.builder.appName("gralha bench")
    for name, value in config.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


class SparkBench:
    """One session, one broker, and the topics to read and write."""

    def __init__(self, session: SparkSession, bootstrap: str, folder: Path) -> None:
        self._session = session
        self._options = {"kafka.bootstrap.servers": bootstrap}
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._folder = folder
        self._runs = 0

    def measured(self, say: Callable[[str], None], scale: float) -> dict[str, Results]:
        results: dict[str, Results] = {name: {} for name in FORMATS}
        read_rows, written_rows = int(READ_ROWS * scale), int(WRITTEN_ROWS * scale)
        with self._topic() as topic:
            self._write("kafka", topic, read_rows)
            for measure, name in (
                (self._reading(topic, read_rows), "spark_read_rows_s"),
                (self._streaming(topic, read_rows), "spark_stream_rows_s"),
                (self._writing(written_rows), "spark_write_rows_s"),
            ):
                for column, rate in self._taking_turns(measure).items():
                    results[column][name] = rate
                say(f"{name}: " + ", ".join(f"{column} {results[column][name]:,.0f}" for column in FORMATS))
        return results

    def _taking_turns(self, measure: Measure) -> dict[str, float]:
        rates: dict[str, list[float]] = {column: [] for column in FORMATS}
        for _ in range(1 + ROUNDS):
            for column, name in FORMATS.items():
                rates[column].append(measure(name))
        return {column: statistics.median(taken[1:]) for column, taken in rates.items()}

    def _reading(self, topic: str, rows: int) -> Measure:
        def measure(name: str) -> float:
            started = time.perf_counter()
            frame = self._session.read.format(name).options(**self._options, subscribe=topic).load()
            frame.write.format("noop").mode("overwrite").save()
            return rows / (time.perf_counter() - started)

        return measure

    def _streaming(self, topic: str, rows: int) -> Measure:
        def measure(name: str) -> float:
            options = {**self._options, "subscribe": topic, "startingOffsets": "earliest"}
            options["maxOffsetsPerTrigger"] = str(rows // BATCHES)
            frame = self._session.readStream.format(name).options(**options).load()
            writer = frame.writeStream.format("noop").option("checkpointLocation", self._new_path())
            query = writer.trigger(availableNow=True).start()
            query.awaitTermination()
            batches = [batch for batch in query.recentProgress if batch["numInputRows"]][1:]
            seconds = sum(batch["durationMs"]["triggerExecution"] for batch in batches) / 1000
            return float(sum(batch["numInputRows"] for batch in batches) / seconds)

        return measure

    def _writing(self, rows: int) -> Measure:
        def measure(name: str) -> float:
            with self._topic() as topic:
                started = time.perf_counter()
                self._write(name, topic, rows)
                return rows / (time.perf_counter() - started)

        return measure

    def _write(self, name: str, topic: str, rows: int) -> None:
        frame = self._rows(rows)
        frame.write.format(name).options(**self._options, topic=topic).mode("append").save()

    def _rows(self, count: int) -> DataFrame:
        return self._session.range(0, count, numPartitions=2).selectExpr(
            "cast(lpad(id, 16, '0') AS binary) AS key", "cast(rpad(id, 184, 'gralha ') AS binary) AS value"
        )

    @contextlib.contextmanager
    def _topic(self) -> Iterator[str]:
        """A new topic. It is deleted afterwards, so that the disk does not fill."""
        self._runs += 1
        name = f"bench-{self._runs}"
        self._admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(TIMEOUT_S)
        yield name
        self._admin.delete_topics([name])[name].result(TIMEOUT_S)

    def _new_path(self) -> str:
        self._runs += 1
        return str(self._folder / f"query-{self._runs}")
