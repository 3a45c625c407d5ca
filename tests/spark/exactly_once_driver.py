"""The driver of the exactly-once kill test, a program of its own: copies one topic to another, exactly once.

python exactly_once_driver.py MASTER BOOTSTRAP FOLDER ROWS_PER_BATCH

Its sink stops at a step that the test has armed, until the test kills something or lets it go on. The class
is defined here, in the main module, so that Spark sends it to the workers.
"""

import sys
import time
from pathlib import Path

from pyspark.sql.datasource import DataSourceStreamArrowWriter
from pyspark.sql.types import StructType

from gralha.client.transactional_calls import TransactionalCalls
from gralha.spark.data_source import GralhaDataSource
from gralha.spark.session import session
from gralha.spark.sink import stream_writer

SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Points:
    """Steps at which a process can be stopped: files in a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __call__(self, step: str) -> None:
        import os

        armed = Path(self._folder) / step
        reached = armed.with_suffix(".reached")
        try:
            # Only one process can do this, and only it stops.
            armed.rename(reached)
        except FileNotFoundError:
            return
        armed.with_suffix(".pid").write_text(str(os.getpid()))
        while reached.exists():
            time.sleep(0.01)


def end_one_by_one(points: Points) -> None:
    """Commits transactions one after another, with a step in between, not all at the same time."""
    if hasattr(TransactionalCalls, "sends"):
        return
    TransactionalCalls.sends = sends = TransactionalCalls._end_on  # type: ignore[attr-defined]

    def end_on(calls, broker, handles, committed):
        answers = {}
        for handle in handles:
            answers.update(sends(calls, broker, [handle], committed))
            if committed and not handle.transactional_id.endswith(".driver"):
                points("has committed one task")
        return answers

    TransactionalCalls._end_on = end_on  # type: ignore[method-assign]


class PointedSource(GralhaDataSource):
    """`format("gralha")` with the option `points`, a folder."""

    @classmethod
    def name(cls) -> str:
        return "gralha-with-points"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802
        points = Points(self.options["points"])
        end_one_by_one(points)
        return stream_writer(self.options, schema, overwrite, points)


def main(master: str, bootstrap: str, folder: str, rows_per_batch: str) -> None:
    config = {
        # One core on each of two workers, so that two drivers fit.
        "spark.cores.max": "2",
        # On a busy machine a Python process may take longer than Spark's 15 s to start.
        "spark.python.authenticate.socketTimeout": "120s",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.driver.extraJavaOptions": SMALL,
        "spark.executor.extraJavaOptions": SMALL,
        "spark.sql.warehouse.dir": str(Path(folder) / "warehouse"),
    }
    spark = session(master, "exactly-once kill test", config)
    spark.dataSource.register(PointedSource)
    query = (
        spark.readStream.format("gralha")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", "input")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", rows_per_batch)
        .load()
        .select("value")
        .writeStream.format("gralha-with-points")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", "output")
        .option("deliveryGuarantee", "exactly-once")
        .option("groupId", "copied")
        .option("points", str(Path(folder) / "points"))
        .option("checkpointLocation", str(Path(folder) / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
