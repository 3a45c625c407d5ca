"""The sink of format("gralha"): rows of a DataFrame become records of topics.

Spark hands a task's rows over as Arrow batches; a `BulkWriter` turns them into record batches and sends them,
as an idempotent producer of its own, so that no retry inside of a task repeats a record. A task that Spark
runs again writes again: delivery is at least once. What a task wrote, and as which producer, goes to the
driver in its commit message, which is all that a transaction over several tasks will need.
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
    """What one task wrote: for each partition the first and last offset, and as which producer."""

    producer_id: int = -1
    producer_epoch: int = -1
    records: int = 0
    size_bytes: int = 0
    offsets: Mapping[TopicPartition, WrittenOffsets] = field(default_factory=dict)


class TaskWriter:
    """What both writers do in a task; pickled to the executors, so it holds references and no secret."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._topic = options.get("topic")
        self._kafka = kafka_settings(options)
        self._columns = columns_to_write(schema, self._topic)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskWritten:
        """Write all rows of a task and return when the brokers have them."""
        worker_process.settle()
        writer: BulkWriter | None = None
        try:
            for batch in iterator:
                if batch.num_rows:
                    # A task without rows makes no connection.
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
        logger.warning("The write failed; other tasks have written already: %s", _summary(messages))


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
            "Batch %d failed and will be written again; tasks have written already: %s",
            batchId,
            _summary(messages),
        )


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> TopicWriter:
    """The writer of a batch query; raises an OptionError in a sentence before any task runs."""
    if overwrite:
        raise OptionError(
            'A topic cannot be overwritten: write with mode("append"); to begin anew, delete the topic first '
            "(kafka-topics --delete)."
        )
    return TopicWriter(TaskWriter(options, schema))


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> TopicStreamWriter:
    """The writer of a streaming query. In complete mode the whole result is written after each batch."""
    return TopicStreamWriter(TaskWriter(options, schema))


def check_reachable(options: Mapping[str, str]) -> None:
    """Tell a wrong address before a task waits for it; unless the settings are known to the workers only."""
    kafka = kafka_settings(options)
    if any(map(has_reference, kafka.values())):
        return
    settings = client_settings(kafka)
    with Cluster.of(settings, api_timeout_ms=settings.default_api_timeout_ms) as cluster:
        cluster.brokers()


def write_each_batch(options: Mapping[str, str]) -> "Callable[[DataFrame, int], None]":
    """For foreachBatch, where Spark lets no Python sink in: in update mode.

    `df.writeStream.outputMode("update").foreachBatch(write_each_batch({"topic": "totals", ...}))`
    """

    def write(batch: "DataFrame", _batch_id: int) -> None:
        batch.write.format("gralha").options(**options).mode("append").save()

    return write


def kafka_settings(options: Mapping[str, str]) -> dict[str, str]:
    """The producer's settings, as Kafka names them; checked as far as they hold no references to secrets."""
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
                f"Option 'kafka.{name}' cannot be set: keys and values are written as they are, as binary or "
                "UTF-8 strings. Turn them into that with DataFrame operations."
            )
    # The address itself may be a reference.
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
