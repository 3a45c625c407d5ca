"""Decisions about batches: which transactions of which batch count. Pure; `decision_log` stores them.

A decision is the newest record of its key (query and sink) in the topic of decisions. `judge` compares it
with a batch that has been written, and says what the driver has to do.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple, Self

from pyspark.sql.datasource import WriterCommitMessage

from gralha.client.bulk_writer import WrittenOffsets
from gralha.client.errors import ClientError
from gralha.client.transaction_state import TransactionHandle
from gralha.client.values import TopicPartition
from gralha.spark.input_progress import InputProgress
from gralha.spark.option_values import PartitionOffsets
from gralha.spark.transactional_ids import BatchIdentity, SinkKey

DECIDED: Final = "decided"
DONE: Final = "done"
REVOKED: Final = "revoked"
# Enough to look up how a transaction has ended, also if a partition has lost old records.
FIRST_RECORDS_MAX: Final = 3


class ExactlyOnceError(ClientError):
    """A batch cannot be written exactly once at the moment, or any more. The message says what to do."""


class FirstRecord(NamedTuple):
    """The first record of a transaction in a partition."""

    partition: TopicPartition
    offset: int


@dataclass(frozen=True)
class TaskTransaction:
    """The open transaction of a task that has written all of its rows."""

    handle: TransactionHandle
    task: int
    # By the clock of the task's machine, from before the transaction began.
    started_ms: int
    partitions: tuple[str, ...] = ()
    # Its first records in some partitions. These partitions know how it ended.
    first_records: tuple[FirstRecord, ...] = ()

    def __str__(self) -> str:
        return f"task {self.task} ({', '.join(self.partitions)})"


@dataclass(frozen=True)
class TaskWritten(WriterCommitMessage):
    """The records of one task: the first and last offset of each partition, and its producer."""

    producer_id: int = -1
    producer_epoch: int = -1
    records: int = 0
    size_bytes: int = 0
    offsets: Mapping[TopicPartition, WrittenOffsets] = field(default_factory=dict)
    # Only with transactions:
    identity: BatchIdentity | None = None
    transaction: TaskTransaction | None = None
    # True if the task has left its rows out, because an earlier run has written them.
    is_repeated: bool = False


@dataclass(frozen=True)
class Decision:
    """The transactions of a batch that are to be committed. A revoked decision counts as none."""

    batch: int
    run: str
    transactions: tuple[TaskTransaction, ...]
    state: str = DECIDED
    progress: InputProgress | None = None
    # Open transactions of lost tasks, which the writer of this record has begun to abort.
    swept: tuple[TransactionHandle, ...] = ()

    @property
    def is_revoked(self) -> bool:
        return self.state == REVOKED

    @property
    def is_finished(self) -> bool:
        """Returns True if all transactions have ended as they should."""
        return self.state != DECIDED

    @property
    def group_offsets(self) -> PartitionOffsets:
        """The offsets that the consumer group gets with this decision."""
        if self.progress is None or self.state == DONE:
            return {}
        return self.progress.begin if self.is_revoked else self.progress.end

    def revoked(self) -> Self:
        """The same decision, taken back: all of its transactions were aborted."""
        return type(self)(self.batch, self.run, self.transactions, REVOKED, self.progress)

    def done(self, swept: Iterable[TransactionHandle]) -> Self:
        """The same decision, after all of its transactions were committed."""
        return type(self)(self.batch, self.run, (), DONE, swept=tuple(swept))

    def to_json(self) -> bytes:
        """The value of the record."""
        value: dict[str, Any] = {
            "batch": self.batch,
            "run": self.run,
            "state": self.state,
            "transactions": [_task_to_json(one) for one in self.transactions],
        }
        if self.progress is not None:
            value["progress"] = self.progress.to_json()
        if self.swept:
            value["swept"] = [_handle_to_json(one) for one in self.swept]
        return json.dumps(value, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, value: bytes) -> Self:
        """The decision of a record."""
        found: dict[str, Any] = json.loads(value)
        progress = found.get("progress")
        return cls(
            found["batch"],
            found["run"],
            tuple(map(_task_from_json, found["transactions"])),
            found["state"],
            None if progress is None else InputProgress.from_json(progress),
            tuple(map(_handle_from_json, found.get("swept", ()))),
        )


def _handle_to_json(handle: TransactionHandle) -> dict[str, Any]:
    return {
        "id": handle.transactional_id,
        "producerId": handle.producer_id,
        "epoch": handle.producer_epoch,
        "v2": handle.is_v2,
    }


def _handle_from_json(found: dict[str, Any]) -> TransactionHandle:
    return TransactionHandle(found["id"], found["producerId"], found["epoch"], found["v2"])


def _task_to_json(one: TaskTransaction) -> dict[str, Any]:
    return {
        **_handle_to_json(one.handle),
        "task": one.task,
        "startedMs": one.started_ms,
        "partitions": list(one.partitions),
        "first": [[*first.partition, first.offset] for first in one.first_records],
    }


def _task_from_json(found: dict[str, Any]) -> TaskTransaction:
    return TaskTransaction(
        _handle_from_json(found),
        found["task"],
        found["startedMs"],
        tuple(found["partitions"]),
        tuple(
            FirstRecord(TopicPartition(topic, partition), offset)
            for topic, partition, offset in found.get("first", ())
        ),
    )


def first_records(offsets: Mapping[TopicPartition, WrittenOffsets]) -> tuple[FirstRecord, ...]:
    """The first records of a transaction, in a few of its partitions."""
    known = [
        FirstRecord(place, offsets[place].first) for place in sorted(offsets) if offsets[place].first >= 0
    ]
    return tuple(known[:FIRST_RECORDS_MAX])


def key_to_json(key: SinkKey) -> bytes:
    """The key of the record."""
    return json.dumps({"query": key.query, "sink": key.sink}, separators=(",", ":")).encode()


class Verdict(Enum):
    """The driver's next steps for a batch that was written."""

    DECIDE = "the batch is not decided: decide, and commit its transactions"
    FINISH = "the batch is decided: commit the recorded transactions if that is not done, abort the new ones"
    LEAVE = "a later batch is decided: abort the new transactions"


def judge(newest: Decision | None, identity: BatchIdentity, written: Iterable[TaskWritten]) -> Verdict:
    """Compares a written batch with the newest decision. Raises if neither way is right."""
    if newest is not None and newest.batch > identity.batch:
        return Verdict.LEAVE
    if newest is not None and newest.batch == identity.batch and not newest.is_revoked:
        return Verdict.FINISH
    if any(task.is_repeated for task in written):
        # They found a decision that was revoked since then. Without their rows the batch is not complete.
        raise ExactlyOnceError(
            f"The decision about batch {identity.batch} was revoked while its tasks ran: repeat the batch."
        )
    return Verdict.DECIDE


def is_decided(newest: Decision | None, batch: int) -> bool:
    """Returns True if the rows of a batch need not be written again."""
    if newest is None or newest.batch < batch:
        return False
    return newest.batch > batch or not newest.is_revoked


def transactions_of(written: Iterable[TaskWritten]) -> tuple[TaskTransaction, ...]:
    """The transactions of all tasks that had rows."""
    return tuple(task.transaction for task in written if task.transaction is not None)


def identity_of(written: Sequence[TaskWritten]) -> BatchIdentity | None:
    """The batch of the messages, or None without messages."""
    identities = {task.identity for task in written if task.identity is not None}
    if len(identities) > 1:
        raise ExactlyOnceError(f"The tasks of one batch name different batches: {identities}.")
    return next(iter(identities), None)
