"""Decisions about batches: which transactions of which batch count. Pure; `decision_log` stores them.

A decision is the newest record of its key (query and sink) in the topic of decisions. `judge` compares it
with a batch that has been written, and says what the driver has to do.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Self

from pyspark.sql.datasource import WriterCommitMessage

from gralha.client.bulk_writer import WrittenOffsets
from gralha.client.errors import ClientError
from gralha.client.transaction_state import TransactionHandle
from gralha.client.values import TopicPartition
from gralha.spark.transactional_ids import BatchIdentity, SinkKey

DECIDED: Final = "decided"
REVOKED: Final = "revoked"


class ExactlyOnceError(ClientError):
    """A batch cannot be written exactly once at the moment, or any more. The message says what to do."""


@dataclass(frozen=True)
class TaskTransaction:
    """The open transaction of a task that has written all of its rows."""

    handle: TransactionHandle
    task: int
    # By the clock of the task's machine, from before the transaction began.
    started_ms: int
    partitions: tuple[str, ...] = ()

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

    @property
    def is_revoked(self) -> bool:
        return self.state == REVOKED

    def revoked(self) -> Self:
        """The same decision, taken back: all of its transactions were aborted."""
        return type(self)(self.batch, self.run, self.transactions, REVOKED)

    def to_json(self) -> bytes:
        """The value of the record."""
        transactions = [
            {
                "id": one.handle.transactional_id,
                "producerId": one.handle.producer_id,
                "epoch": one.handle.producer_epoch,
                "v2": one.handle.is_v2,
                "task": one.task,
                "startedMs": one.started_ms,
                "partitions": list(one.partitions),
            }
            for one in self.transactions
        ]
        value = {"batch": self.batch, "run": self.run, "state": self.state, "transactions": transactions}
        return json.dumps(value, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, value: bytes) -> Self:
        """The decision of a record."""
        found: dict[str, Any] = json.loads(value)
        return cls(
            found["batch"],
            found["run"],
            tuple(
                TaskTransaction(
                    TransactionHandle(one["id"], one["producerId"], one["epoch"], one["v2"]),
                    one["task"],
                    one["startedMs"],
                    tuple(one["partitions"]),
                )
                for one in found["transactions"]
            ),
            found["state"],
        )


def key_to_json(key: SinkKey) -> bytes:
    """The key of the record."""
    return json.dumps({"query": key.query, "sink": key.sink}, separators=(",", ":")).encode()


class Verdict(Enum):
    """The driver's next steps for a batch that was written."""

    DECIDE = "the batch is not decided: decide, and commit its transactions"
    FINISH = "the batch is decided: commit the recorded transactions, abort the new ones"
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
