"""Runs of an exactly-once sink without Spark: tasks and a driver, as Spark would call them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import StringType, StructField, StructType

from gralha.client.admin import Admin
from gralha.client.bulk_reader import BulkReader
from gralha.client.bulk_writer import BulkWriter
from gralha.client.cluster import Cluster
from gralha.client.settings import ClientSettings
from gralha.client.transaction_values import TransactionDescription
from gralha.client.values import LATEST, ListedOffset, OffsetRange, TopicPartition
from gralha.spark import decision_log, transactional_ids
from gralha.spark.decisions import Decision, TaskTransaction, TaskWritten, first_records
from gralha.spark.sink import ExactlyOnceStreamWriter, ExactlyOnceWriter, batch_writer, stream_writer
from gralha.spark.task_writers import BATCH_PROPERTY, QUERY_PROPERTY, RUN_PROPERTY
from gralha.spark.transactional_ids import SinkKey

VALUE = StructType([StructField("value", StringType())])


class Died(BaseException):
    """A process ends here. Nothing in it can catch that and go on."""


def dies_when(point: str) -> Callable[[str], None]:
    """A hook that ends the process when it has done something."""

    def reached(step: str) -> None:
        if step == point:
            raise Died

    return reached


@dataclass
class Run:
    """One run of a query: its driver and its worker processes."""

    bootstrap: str
    topic: str
    query: str
    reached: Callable[[str], None] = lambda step: None
    run: str = field(default_factory=lambda: uuid.uuid4().hex)
    # More options of the sink.
    options: dict[str, str] = field(default_factory=dict)
    # True if all tasks run in one worker process.
    keeps_worker: bool = False

    @property
    def key(self) -> SinkKey:
        return SinkKey(self.query, self.topic)

    def sink_options(self) -> dict[str, str]:
        return {
            "kafka.bootstrap.servers": self.bootstrap,
            "kafka.delivery.timeout.ms": "20000",
            "kafka.default.api.timeout.ms": "20000",
            "topic": self.topic,
            "deliveryGuarantee": "exactly-once",
            **self.options,
        }

    def writer(self, batch: int) -> ExactlyOnceStreamWriter | ExactlyOnceWriter:
        """The writer of a batch."""
        writer = stream_writer(self.sink_options(), VALUE, False, self.reached)
        assert isinstance(writer, ExactlyOnceStreamWriter)
        return writer

    def task(self, batch: int, task: int, *values: str) -> TaskWritten:
        """A task in a worker process of its own."""
        if not self.keeps_worker:
            transactional_ids._ids.clear()
        context = TaskContext._getOrCreate()
        context._partitionId = task
        context._localProperties = {
            QUERY_PROPERTY: self.query,
            BATCH_PROPERTY: str(batch),
            RUN_PROPERTY: self.run,
        }
        try:
            rows = pa.record_batch({"value": pa.array(values, pa.string())})
            written = self.writer(batch).write(iter([rows.slice(0, 1), rows.slice(1)]))
        finally:
            TaskContext._setTaskContext(None)
        assert isinstance(written, TaskWritten)
        return written

    def tasks(self, batch: int) -> list[TaskWritten]:
        """Two tasks with rows and one without."""
        rows = rows_of(batch)
        return [self.task(batch, 0, *rows[:2]), self.task(batch, 1, *rows[2:]), self.task(batch, 2)]

    def commit(self, batch: int, written: list[TaskWritten]) -> None:
        decision_log._known.clear()
        writer = self.writer(batch)
        assert isinstance(writer, ExactlyOnceStreamWriter)
        writer.commit(list(written), batch)

    def abort(self, batch: int, written: list[TaskWritten | None]) -> None:
        decision_log._known.clear()
        writer = self.writer(batch)
        assert isinstance(writer, ExactlyOnceStreamWriter)
        writer.abort(list(written), batch)

    def batch(self, batch: int) -> None:
        """A whole batch, as Spark runs it."""
        written = self.tasks(batch)
        try:
            self.commit(batch, written)
        except Exception:
            self.abort(batch, [*written])
            raise


def rows_of(batch: int) -> list[str]:
    """The rows of a batch."""
    return [f"{batch}-{number}" for number in range(4)]


def committed(bootstrap: str, topic: str) -> list[str]:
    """All rows that readers of committed records see once every transaction has ended."""
    with Admin(Cluster(bootstrap)) as admin:
        numbers = [one.partition for one in admin.describe_topics([topic])[topic].partitions]  # type: ignore[union-attr]
        places = {TopicPartition(topic, number): LATEST for number in numbers}
        ends = admin.list_offsets(places)
    found: list[str] = []
    settings = ClientSettings(bootstrap, isolation_level="read_committed", fetch_max_wait_ms=50)
    with BulkReader(settings) as reader:
        for place, end in ends.items():
            assert isinstance(end, ListedOffset)
            for rows in reader.read(OffsetRange(place.topic, place.partition, 0, end.offset)):
                found += [value.decode() for value in rows.column("value").to_pylist()]
    return sorted(found)


def states(bootstrap: str, written: list[TaskWritten]) -> list[str]:
    """The states of the transactions of tasks."""
    ids = [task.transaction.handle.transactional_id for task in written if task.transaction is not None]
    with Admin(Cluster(bootstrap)) as admin:
        found = admin.describe_transactions(ids)
    assert all(isinstance(one, TransactionDescription) for one in found.values())
    return [one.state for one in found.values()]  # type: ignore[union-attr]


def newest_decision(run: Run) -> Decision | None:
    """The newest decision of a run's sink. Waits for the marker of one that was just committed."""
    decision_log._known.clear()
    log = decision_log.DecisionLog(ClientSettings(run.bootstrap), run.key)
    try:
        return log.read()
    finally:
        log.close()


def with_short_timeout(run: Run, written: TaskWritten, *values: str) -> TaskWritten:
    """The message of a task whose transaction times out soon: the same rows under another id."""
    assert written.transaction is not None
    transactional_id = f"{run.key.prefix}{run.run}.short.{uuid.uuid4().hex}"
    with BulkWriter(
        ClientSettings(run.bootstrap),
        topic=run.topic,
        transactional_id=transactional_id,
        # Long enough for the rows on a busy machine, and short enough to wait for.
        transaction_timeout_ms=2_000,
    ) as writer:
        writer.write(pa.record_batch({"value": pa.array(values, pa.string())}))
        writer.flush()
        handle, offsets = writer.transaction, writer.report.offsets
    assert handle is not None
    before = written.transaction
    partitions = tuple(sorted(map(str, offsets)))
    transaction = TaskTransaction(handle, before.task, before.started_ms, partitions, first_records(offsets))
    return TaskWritten(identity=written.identity, transaction=transaction)


@dataclass
class Program(Run):
    """One run of a program that writes batches with a version. Its tasks run in one worker process."""

    keeps_worker: bool = True

    def writer(self, batch: int) -> ExactlyOnceWriter:
        names = {"txnAppId": self.query, "txnVersion": str(batch)}
        writer = batch_writer({**self.sink_options(), **names}, VALUE, False, self.reached)
        assert isinstance(writer, ExactlyOnceWriter)
        return writer

    def commit(self, batch: int, written: list[TaskWritten]) -> None:
        decision_log._known.clear()
        self.writer(batch).commit(list(written))

    def abort(self, batch: int, written: list[TaskWritten | None]) -> None:
        decision_log._known.clear()
        self.writer(batch).abort(list(written))
