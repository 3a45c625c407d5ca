"""The sink of format("gralha"): writes rows of a DataFrame to topics.

Spark gives the rows of a task as Arrow batches. A `BulkWriter` makes record batches of them and sends them as
an idempotent producer, so no retry inside a task repeats a record (`task_writers.py`). A repeated task writes
again: delivery is at least once. With deliveryGuarantee=exactly-once each task writes in a transaction, and
the driver decides which transactions count (`batch_commit.py`).
"""

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from gralha.client.cluster import Cluster
from gralha.client.transactional_calls import TransactionalCalls
from gralha.spark.batch_commit import BatchCommit, written_batch
from gralha.spark.checkpoint_files import file_of_query
from gralha.spark.decision_log import DecisionLog
from gralha.spark.decisions import ExactlyOnceError, TaskWritten, Verdict
from gralha.spark.input_progress import progress_of, to_option
from gralha.spark.option_values import OptionError, boolean
from gralha.spark.secrets import SecretError, client_settings
from gralha.spark.sink_options import ExactlyOnceOptions, exactly_once_options, kafka_settings
from gralha.spark.sink_transactions import SinkTransactions
from gralha.spark.task_writers import (
    QUERY_PROPERTY,
    Reached,
    TaskWriter,
    TransactionalTaskWriter,
    nothing,
)
from gralha.spark.transactional_ids import VERSIONS, BatchIdentity

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

logger = logging.getLogger(__name__)

Messages = list[WriterCommitMessage | None]


class TopicWriter(DataSourceArrowWriter):
    """`df.write.format("gralha")`, at least once."""

    def __init__(self, task: TaskWriter) -> None:
        self._task = task

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._task.write(iterator)

    def commit(self, messages: Messages) -> None:
        logger.info("%s", _summary(messages))

    def abort(self, messages: Messages) -> None:
        logger.warning("The write failed, but some tasks have written already: %s", _summary(messages))


class TopicStreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream.format("gralha")`, at least once."""

    def __init__(self, task: TaskWriter) -> None:
        self._task = task

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._task.write(iterator)

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        logger.info("Batch %d: %s", batchId, _summary(messages))

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        logger.warning(
            "Batch %d failed and will be repeated, but some tasks have written already: %s",
            batchId,
            _summary(messages),
        )


class ExactlyOnceSink:
    """What the driver does for both writers below."""

    def __init__(
        self, kafka: Mapping[str, str], exactly_once: ExactlyOnceOptions, reached: Reached = nothing
    ) -> None:
        self._kafka = dict(kafka)
        self._exactly_once = exactly_once
        self._reached = reached

    def commit(self, messages: Messages) -> Verdict:
        """Makes the rows of all tasks visible, unless their batch is decided already."""
        written, identity = written_batch(messages)
        if identity is None:
            raise ExactlyOnceError("Spark commits a batch without a task.")
        with self._batch_commit(identity) as batch:
            verdict = batch.commit(written)
        logger.info("Batch %d of %s: %s. %s", identity.batch, identity.key, verdict.value, _summary(messages))
        return verdict

    def abort(self, messages: Messages) -> None:
        """Ends the transactions of a batch with a failed task.

        Spark calls this, too, after a commit that has failed. Then all messages are there. Such a commit has
        aborted the transactions itself, or it does not know whether they are decided.
        """
        written, identity = written_batch(messages)
        # If no task has finished, nothing is known about the batch.
        if identity is not None and any(message is None for message in messages):
            with self._batch_commit(identity) as batch:
                batch.abort(written)

    @contextmanager
    def _batch_commit(self, identity: BatchIdentity) -> Iterator[BatchCommit]:
        settings = client_settings(self._kafka)
        log = DecisionLog(settings, identity.key, self._exactly_once.decision_topic)
        transactions = SinkTransactions(settings, identity.key)
        try:
            yield BatchCommit(
                log,
                transactions,
                identity,
                progress=self._exactly_once.progress,
                reached=self._reached,
            )
        finally:
            log.close()
            transactions.close()


class ExactlyOnceWriter(DataSourceArrowWriter):
    """`df.write.format("gralha")`, exactly once for each txnAppId and txnVersion."""

    def __init__(self, task: TransactionalTaskWriter, sink: ExactlyOnceSink) -> None:
        self._task = task
        self._sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._task.write(iterator)

    def commit(self, messages: Messages) -> None:
        # As in Delta, a version that is not newer than the last one was written before.
        if self._sink.commit(messages) is not Verdict.DECIDE:
            logger.warning("This txnVersion of the txnAppId was written before, so nothing was written now.")

    def abort(self, messages: Messages) -> None:
        self._sink.abort(messages)


class ExactlyOnceStreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream.format("gralha")`, exactly once."""

    def __init__(self, task: TransactionalTaskWriter, sink: ExactlyOnceSink) -> None:
        self._task = task
        self._sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._task.write(iterator)

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        if self._sink.commit(messages) is Verdict.LEAVE:
            raise ExactlyOnceError(
                f"Batch {batchId} was written already, and later ones, too. Either another process runs the "
                "same query, or its checkpoint was replaced by an older copy. An older checkpoint may cut "
                "batches in another way, so its batches cannot be left out safely: use a new checkpoint."
            )

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        self._sink.abort(messages)


def batch_writer(
    options: Mapping[str, str], schema: StructType, overwrite: bool, reached: Reached = nothing
) -> TopicWriter | ExactlyOnceWriter:
    """The writer of a batch query. Raises OptionError before any task runs."""
    if overwrite:
        raise OptionError(
            'A topic cannot be overwritten: use mode("append"). To replace it, delete the topic first '
            "(kafka-topics --delete)."
        )
    exactly_once = exactly_once_options(options, streaming=False)
    if exactly_once is None:
        return TopicWriter(TaskWriter(options, schema))
    return ExactlyOnceWriter(
        TransactionalTaskWriter(options, schema, exactly_once, VERSIONS, reached),
        ExactlyOnceSink(kafka_settings(options), exactly_once, reached),
    )


def stream_writer(
    options: Mapping[str, str], schema: StructType, overwrite: bool, reached: Reached = nothing
) -> TopicStreamWriter | ExactlyOnceStreamWriter:
    """The writer of a streaming query. In complete mode it writes the whole result after each batch."""
    exactly_once = exactly_once_options(options, streaming=True)
    if exactly_once is None:
        return TopicStreamWriter(TaskWriter(options, schema))
    return ExactlyOnceStreamWriter(
        TransactionalTaskWriter(options, schema, exactly_once, uuid.uuid4().hex, reached),
        ExactlyOnceSink(kafka_settings(options), exactly_once, reached),
    )


def check_reachable(options: Mapping[str, str]) -> None:
    """Fails before any task runs if the cluster cannot be reached, or lacks what an option needs.

    If only the workers have the secrets, this does nothing.
    """
    try:
        settings = client_settings(kafka_settings(options))
    except SecretError:
        return
    with Cluster.of(settings, api_timeout_ms=settings.default_api_timeout_ms) as cluster:
        cluster.brokers()
        needs_it = boolean(options, "twoPhaseCommit", default=False)
        if needs_it and not TransactionalCalls(cluster).supports_two_phase_commit():
            raise OptionError(
                "Option 'twoPhaseCommit' needs brokers that allow two-phase commit (KIP-939): set "
                "transaction.two.phase.commit.enable=true on all of them and restart them. Apache Kafka 4.3 "
                "needs unstable.api.versions.enable=true, too."
            )


def write_each_batch(options: Mapping[str, str]) -> "Callable[[DataFrame, int], None]":
    """For foreachBatch in update mode, in which Spark does not accept a sink in Python.

    `df.writeStream.outputMode("update").foreachBatch(write_each_batch({"topic": "totals", ...}))`

    With deliveryGuarantee=exactly-once the query and the batch are those of the stream. With `groupId`, too,
    the consumer group gets the offsets of the batch.
    """
    checked = {"groupOffsets": "{}", **options} if "groupId" in options else options
    is_exactly_once = exactly_once_options(
        {**checked, "txnAppId": "query", "txnVersion": "0"}, streaming=False
    )

    def write(batch: "DataFrame", number: int) -> None:
        names = {}
        if is_exactly_once:
            session = batch.sparkSession
            query = session.sparkContext.getLocalProperty(QUERY_PROPERTY)
            names = {"txnAppId": query, "txnVersion": str(number)}
            if is_exactly_once.group is not None and query is not None:
                read = file_of_query(session, query)
                names["groupOffsets"] = to_option(progress_of(is_exactly_once.group, number, read))
        batch.write.format("gralha").options(**{**names, **options}).mode("append").save()

    return write


def _summary(messages: Sequence[WriterCommitMessage | None]) -> str:
    written = [message for message in messages if isinstance(message, TaskWritten)]
    return (
        f"{sum(task.records for task in written)} records, {sum(task.size_bytes for task in written)} bytes "
        f"in {len({partition for task in written for partition in task.offsets})} partitions"
    )
