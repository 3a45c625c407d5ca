"""The state of a transactional id: its producer, and its newest transaction.

A `Transaction` never changes. A request decides on the next one, whose record goes into the log, and a replay
of the record puts it in place of the last one. The functions here make the next one from the last one. They
are the arrows of the diagram in docs/TRANSACTIONS.md:

    initialised                     -> Empty            a producer begins with a new epoch
    with_partitions                 -> Ongoing          a partition is added
    prepared                        -> PrepareCommit, PrepareAbort
    completed                       -> CompleteCommit, CompleteAbort
"""

from enum import IntEnum
from typing import Final, NamedTuple

from gralha.protocol.batches import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

NO_TIME: Final = -1

# The last epoch that a producer may have. The coordinator can still take the next one to fence it.
LAST_EPOCH: Final = 32_766

# A transaction with this timeout takes part in a two-phase commit, and never times out (KIP-939).
NO_TIMEOUT_MS: Final = (1 << 31) - 1

Partition = tuple[str, int]


class State(IntEnum):
    """The states, with the numbers that they have in records."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5

    @property
    def kafka_name(self) -> str:
        """The name in Kafka's tools, like "PrepareCommit"."""
        return _KAFKA_NAMES[self]


_KAFKA_NAMES: Final = {state: state.name.title().replace("_", "") for state in State}
PREPARED: Final = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})
COMPLETE: Final = frozenset({State.COMPLETE_COMMIT, State.COMPLETE_ABORT})


class Transaction(NamedTuple):
    """A transactional id and its newest transaction."""

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    updated_ms: int
    state: State = State.EMPTY
    partitions: frozenset[Partition] = frozenset()
    started_ms: int = NO_TIME
    # The producer id before the last change of the state. It differs only after the change of the id.
    previous_producer_id: int = NO_PRODUCER_ID
    # The producer id after this transaction, if the epochs of this one are used up.
    next_producer_id: int = NO_PRODUCER_ID
    # The rules by which the transaction began: 0, or 2 for KIP-890.
    version: int = 0
    # The epoch before the last change of the epoch. As in Kafka it is in no record, so it is lost with the
    # coordinator. Then a producer that repeats InitProducerId is fenced.
    last_epoch: int = NO_PRODUCER_EPOCH

    @property
    def is_exhausted(self) -> bool:
        """Whether a producer with this id cannot have another epoch."""
        return self.epoch >= LAST_EPOCH

    @property
    def is_commit(self) -> bool:
        """Whether the transaction was committed."""
        return self.state in (State.PREPARE_COMMIT, State.COMPLETE_COMMIT)

    def initialised(self, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int) -> "Transaction":
        """The id after InitProducerId, with the same producer id."""
        return self._replace(
            epoch=epoch,
            last_epoch=last_epoch,
            timeout_ms=timeout_ms,
            updated_ms=now_ms,
            state=State.EMPTY,
            partitions=frozenset(),
            started_ms=NO_TIME,
            previous_producer_id=self.producer_id,
        )

    def with_new_producer(
        self, producer_id: int, last_epoch: int, timeout_ms: int, now_ms: int
    ) -> "Transaction":
        """The id after InitProducerId, with a new producer id, because the epochs were used up."""
        return self.initialised(0, last_epoch, timeout_ms, now_ms)._replace(
            producer_id=producer_id, previous_producer_id=self.producer_id
        )

    def with_partitions(self, added: frozenset[Partition], version: int, now_ms: int) -> "Transaction":
        """The transaction with more partitions. The first ones begin it."""
        is_new = self.state is not State.ONGOING
        return self._replace(
            state=State.ONGOING,
            partitions=added if is_new else self.partitions | added,
            started_ms=now_ms if is_new else self.started_ms,
            updated_ms=now_ms,
            version=version,
            previous_producer_id=self.producer_id,
        )

    def prepared(self, is_commit: bool, version: int, next_producer_id: int, now_ms: int) -> "Transaction":
        """The transaction is decided. With version 2 its end has the next epoch (KIP-890)."""
        decided = self._replace(
            state=State.PREPARE_COMMIT if is_commit else State.PREPARE_ABORT,
            # A producer may abort a transaction that the coordinator has not seen begin.
            started_ms=self.started_ms if self.state is State.ONGOING else now_ms,
            updated_ms=now_ms,
            version=version,
            previous_producer_id=self.producer_id,
        )
        if version < 2:
            return decided
        return decided._replace(
            epoch=self._epoch_after(), last_epoch=self.epoch, next_producer_id=next_producer_id
        )

    def fenced(self, now_ms: int) -> "Transaction":
        """The transaction is aborted by the rules of version 1, and its producer loses its epoch."""
        aborted = self.prepared(False, 0, NO_PRODUCER_ID, now_ms)
        return aborted._replace(epoch=self._epoch_after(), last_epoch=NO_PRODUCER_EPOCH)

    def _epoch_after(self) -> int:
        return min(self.epoch + 1, LAST_EPOCH + 1)

    def completed(self, now_ms: int) -> "Transaction":
        """All partitions have their markers."""
        complete = self._replace(
            state=State.COMPLETE_COMMIT if self.is_commit else State.COMPLETE_ABORT,
            partitions=frozenset(),
            updated_ms=now_ms,
            previous_producer_id=self.producer_id,
            next_producer_id=NO_PRODUCER_ID,
        )
        if self.version < 2 or self.next_producer_id == NO_PRODUCER_ID:
            return complete
        return complete._replace(producer_id=self.next_producer_id, epoch=0)
