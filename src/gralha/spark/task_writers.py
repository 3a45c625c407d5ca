"""The part of the sink that runs in tasks. Both writers are sent to executors, so they have references to
secrets and no secrets.

`TaskWriter` is an idempotent producer: a repeated task writes again. `TransactionalTaskWriter` writes in a
transaction of its own and leaves it open. The driver decides how it ends.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import StructType

from gralha.client.bulk_writer import BulkWriter
from gralha.client.errors import ClientError, DeliveryError, ErrorCode, KafkaError, ProducerFencedError
from gralha.client.transaction_state import TransactionHandle
from gralha.spark import worker_process
from gralha.spark.decision_log import DecisionLog
from gralha.spark.decisions import (
    ExactlyOnceError,
    TaskTransaction,
    TaskWritten,
    first_records,
    is_decided,
)
from gralha.spark.secrets import client_settings
from gralha.spark.sink_options import ExactlyOnceOptions, kafka_settings
from gralha.spark.sink_schema import columns_to_write
from gralha.spark.sink_transactions import SinkTransactions, has_ended
from gralha.spark.transactional_ids import VERSIONS, BatchIdentity, SinkKey, ids_of_this_process

# Spark sets these for the tasks of a streaming query. The job group is the id of the run.
QUERY_PROPERTY = "sql.streaming.queryId"
BATCH_PROPERTY = "streaming.sql.batchId"
RUN_PROPERTY = "spark.jobGroup.id"
# For tests: told what a task or a driver has just done.
Reached = Callable[[str], None]


def nothing(step: str) -> None:
    """The default of `Reached`."""


class TaskWriter:
    """Writes the rows of a task at least once."""

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

    def _connected(
        self, transactional_id: str | None = None, *, two_phase_commit: bool = False
    ) -> BulkWriter:
        return BulkWriter(
            client_settings(self._kafka),
            topic=self._topic,
            waits_for_first_answer=True,
            transactional_id=transactional_id,
            two_phase_commit=two_phase_commit,
        )


class TransactionalTaskWriter(TaskWriter):
    """Writes the rows of a task in a transaction that stays open."""

    def __init__(
        self,
        options: Mapping[str, str],
        schema: StructType,
        exactly_once: ExactlyOnceOptions,
        run: str,
        reached: Reached = nothing,
    ) -> None:
        super().__init__(options, schema)
        self._exactly_once = exactly_once
        self._run = run
        self._reached = reached

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskWritten:
        """Writes all rows of a task. If an earlier run has written the batch, the rows are left out."""
        worker_process.settle()
        context = TaskContext.get()
        identity = batch_identity(self._exactly_once, self._run, context)
        first = next((batch for batch in iterator if batch.num_rows), None)
        if first is None:
            return TaskWritten(identity=identity)
        if self._may_repeat(identity) and self._is_decided(identity):
            for _ in iterator:
                pass  # Spark reuses a worker only if it has read all rows.
            return TaskWritten(identity=identity, is_repeated=True)
        task = -1 if context is None else context.partitionId()
        return self._write_in_transaction(first, iterator, identity, task)

    def _write_in_transaction(
        self, first: pa.RecordBatch, others: Iterator[pa.RecordBatch], identity: BatchIdentity, task: int
    ) -> TaskWritten:
        started_ms = int(time.time() * 1000)
        writer = self._connected(
            self._take_id(identity), two_phase_commit=self._exactly_once.two_phase_commit
        )
        try:
            writer.begin()
            if identity.is_batch_write:
                ids_of_this_process().ended.used(identity.key, writer.identity)
            writer.write(first.select(self._columns))
            self._reached("began to write")
            for batch in others:
                if batch.num_rows:
                    writer.write(batch.select(self._columns))
            written = _finish(writer)
            handle = writer.transaction
            assert handle is not None
            self._reached("has written")
        except BaseException as error:
            # If this fails, the driver's sweep or the timeout ends the transaction.
            with contextlib.suppress(ClientError, KafkaError, OSError):
                writer.abort()
            if _is_fenced(error):
                raise _explained(error) from error
            raise
        finally:
            writer.close()
        partitions = tuple(sorted(map(str, written.offsets)))
        return TaskWritten(
            producer_id=handle.producer_id,
            producer_epoch=handle.producer_epoch,
            records=written.records,
            size_bytes=written.size_bytes,
            offsets=written.offsets,
            identity=identity,
            transaction=TaskTransaction(handle, task, started_ms, partitions, first_records(written.offsets)),
        )

    def _take_id(self, identity: BatchIdentity) -> str:
        ids = ids_of_this_process()
        if identity.is_batch_write:
            return ids.ended.take(identity, partial(self._ended, identity.key))
        return ids.slots.take(identity)

    def _ended(self, key: SinkKey, handles: Iterable[TransactionHandle]) -> list[str]:
        """The ids whose last transaction is over."""
        transactions = SinkTransactions(client_settings(self._kafka), key)
        try:
            last = {handle.transactional_id: handle for handle in handles}
            found = transactions.describe(last)
            return [one for one, handle in last.items() if has_ended(handle, found[one])]
        finally:
            transactions.close()

    def _may_repeat(self, identity: BatchIdentity) -> bool:
        return identity.is_batch_write or ids_of_this_process().slots.may_repeat(identity)

    def _is_decided(self, identity: BatchIdentity) -> bool:
        """A look that saves work. The driver looks again, and then it counts."""
        log = DecisionLog(client_settings(self._kafka), identity.key, self._exactly_once.decision_topic)
        try:
            return is_decided(log.peek(), identity.batch)
        finally:
            log.close()


def batch_identity(exactly_once: ExactlyOnceOptions, run: str, context: TaskContext | None) -> BatchIdentity:
    """The batch of a task: by the options, or by the properties that Spark gives to tasks of a stream."""
    if exactly_once.application is not None and exactly_once.version is not None:
        key = SinkKey(exactly_once.application, exactly_once.sink)
        return BatchIdentity(key, exactly_once.version, VERSIONS)
    query = None if context is None else context.getLocalProperty(QUERY_PROPERTY)
    batch = None if context is None else context.getLocalProperty(BATCH_PROPERTY)
    if context is None or query is None or batch is None:
        raise ExactlyOnceError("Spark does not tell this task its query and its batch.")
    return BatchIdentity(
        SinkKey(query, exactly_once.sink), int(batch), context.getLocalProperty(RUN_PROPERTY) or run
    )


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


def _is_fenced(error: BaseException) -> bool:
    if isinstance(error, DeliveryError):
        return error.code in (
            ErrorCode.INVALID_PRODUCER_EPOCH,
            ErrorCode.PRODUCER_FENCED,
            ErrorCode.INVALID_TXN_STATE,
        )
    return isinstance(error, ProducerFencedError)


def _explained(error: BaseException) -> ExactlyOnceError:
    return ExactlyOnceError(
        "The cluster has ended the transaction of this task: it was open for longer than the brokers allow "
        "(transaction.max.timeout.ms), or another driver has taken over. Smaller batches take less time. "
        f"{error}"
    )
