"""The sink of format("gralha"): writes rows of a DataFrame to topics.

Spark gives the rows of a task as Arrow batches. A `BulkWriter` makes record batches of them and sends them as
an idempotent producer, so no retry inside a task repeats a record. A repeated task writes again: delivery is
at least once. The commit message of a task has its offsets and its producer id for the driver. A transaction
over several tasks will need no more than that.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from gralha.client.bulk_writer import BulkWriter, WrittenOffsets
from gralha.client.cluster import Cluster
from gralha.client.settings import ClientSettings
from gralha.client.values import TopicPartition
from gralha.spark import worker_process
from gralha.spark.option_values import OptionError
from gralha.spark.secrets import client_settings, has_reference, without_references
from gralha.spark.sink_schema import columns_to_write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

logger = logging.getLogger(__name__)

KAFKA_PREFIX: Final = "kafka."
REFUSED: Final = ("key.serializer", "value.serializer")


@dataclass(frozen=True)
class TaskWritten(WriterCommitMessage):
    """What one task has written: the first and last offset of each partition, and its producer."""

    producer_id: int = -1
    producer_epoch: int = -1
    records: int = 0
    size_bytes: int = 0
    offsets: Mapping[TopicPartition, WrittenOffsets] = field(default_factory=dict)


class TaskWriter:
    """The common part of both writers in a task. It is sent to executors, so it has references and no
    secrets.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._topic = options.get("topic")
        self._kafka = kafka_settings(options)
        self._columns = columns_to_write(schema, self._topic)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskWritten:
        """Writes all rows of a task. Returns when the brokers have acknowledged them."""
        worker_process.settle()
        writer: BulkWriter | None = None
        try:
            for batch in iterator:
                if batch.num_rows:
                    # A task without rows does not connect.
                    writer = writer or self._connected()
                    writer.write(batch.select(self._columns))
            return TaskWritten() if writer is None else _finish(writer)
        finally:
            if writer is not None:
                writer.close()

    def _connected(self) -> BulkWriter:
        return BulkWriter(client_settings(self._kafka), topic=self._topic, waits_for_first_answer=True)


class TopicWriter(DataSourceArrowWriter):
    """`df.write.format("gralha")`."""

    def __init__(self, task: TaskWriter) -> None:
        self._task = task

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._task.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        logger.info("%s", _summary(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        logger.warning("The write failed, but some tasks have written already: %s", _summary(messages))


class TopicStreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream.format("gralha")`."""

    def __init__(self, task: TaskWriter) -> None:
        self._task = task

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._task.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        logger.info("Batch %d: %s", batchId, _summary(messages))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        logger.warning(
            "Batch %d failed and will be repeated, but some tasks have written already: %s",
            batchId,
            _summary(messages),
        )


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> TopicWriter:
    """The writer of a batch query. Raises OptionError before any task runs."""
    if overwrite:
        raise OptionError(
            'A topic cannot be overwritten: use mode("append"). To replace it, delete the topic first '
            "(kafka-topics --delete)."
        )
    return TopicWriter(TaskWriter(options, schema))


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> TopicStreamWriter:
    """The writer of a streaming query. In complete mode it writes the whole result after each batch."""
    return TopicStreamWriter(TaskWriter(options, schema))


def check_reachable(options: Mapping[str, str]) -> None:
    """Fails before any task runs if the cluster cannot be reached. Secrets are known only to workers, so with
    references this does nothing.
    """
    kafka = kafka_settings(options)
    if any(map(has_reference, kafka.values())):
        return
    settings = client_settings(kafka)
    with Cluster.of(settings, api_timeout_ms=settings.default_api_timeout_ms) as cluster:
        cluster.brokers()


def write_each_batch(options: Mapping[str, str]) -> "Callable[[DataFrame, int], None]":
    """For foreachBatch in update mode, in which Spark does not accept a sink in Python.

    `df.writeStream.outputMode("update").foreachBatch(write_each_batch({"topic": "totals", ...}))`
    """

    def write(batch: "DataFrame", _batch_id: int) -> None:
        batch.write.format("gralha").options(**options).mode("append").save()

    return write


def kafka_settings(options: Mapping[str, str]) -> dict[str, str]:
    """The producer's settings, with Kafka's names. Settings without references to secrets are checked."""
    kafka = {
        name.lower().removeprefix(KAFKA_PREFIX): value
        for name, value in options.items()
        if name.lower().startswith(KAFKA_PREFIX)
    }
    if not kafka.get("bootstrap.servers", "").strip():
        raise OptionError(
            "Option 'kafka.bootstrap.servers' is not set: write the address of a broker, "
            "for example localhost:9092."
        )
    for name in REFUSED:
        if name in kafka:
            raise OptionError(
                f"Option 'kafka.{name}' cannot be set: keys and values are written as binary or UTF-8 "
                "strings. Convert them with DataFrame operations."
            )
    # The address may be a reference, too.
    checked = {"bootstrap.servers": "localhost:9092", **without_references(kafka)}
    for name in ClientSettings.from_kafka(checked).unknown:
        logger.warning("Option 'kafka.%s' is not known to Kafka's clients and has no effect.", name)
    return kafka


def _finish(writer: BulkWriter) -> TaskWritten:
    writer.flush()
    report = writer.report
    return TaskWritten(
        producer_id=report.producer_id,
        producer_epoch=report.producer_epoch,
        records=report.records,
        size_bytes=report.size_bytes,
        offsets=report.offsets,
    )


def _summary(messages: list[WriterCommitMessage | None]) -> str:
    written = [message for message in messages if isinstance(message, TaskWritten)]
    return (
        f"{sum(task.records for task in written)} records, {sum(task.size_bytes for task in written)} bytes "
        f"in {len({partition for task in written for partition in task.offsets})} partitions"
    )
