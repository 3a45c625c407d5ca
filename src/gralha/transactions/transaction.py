"""The state of a transactional id: its producer, and its newest transaction.

A `Transaction` never changes. A request decides on the next one, whose record goes into the log, and a replay
of the record puts it in place of the last one. The functions here make the next one from the last one. They
are the arrows of the diagram in docs/TRANSACTIONS.md:

    initialised                     -> Empty            a producer begins with a new epoch
    kept                            -> Ongoing          a producer takes over an open transaction (KIP-939)
    with_partitions                 -> Ongoing          a partition is added
    prepared                        -> PrepareCommit, PrepareAbort
    completed                       -> CompleteCommit, CompleteAbort
"""

from enum import IntEnum
from typing import Final, NamedTuple

from gralha.protocol.batches import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

NO_TIME: Final = -1

# By the rules of this version, the epoch changes with every transaction (KIP-890).
EPOCH_PER_TRANSACTION: Final = 2

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
    # The producer id after this transaction, if the epochs of this one are used up. If the transaction was
    # kept, this is the producer id of its new producer.
    next_producer_id: int = NO_PRODUCER_ID
    # The rules by which the transaction began: 0, or 2 for KIP-890.
    version: int = 0
    # The epoch before the last change of the epoch. As in Kafka it is in no record, so it is lost with the
    # coordinator. Then a producer that repeats InitProducerId is fenced.
    last_epoch: int = NO_PRODUCER_EPOCH
    # The epoch of the producer that took over the open transaction (KIP-939). `producer_id` and `epoch` stay
    # those with which the transaction was written, because the markers need them.
    next_epoch: int = NO_PRODUCER_EPOCH

    @property
    def is_kept(self) -> bool:
        """Whether another producer than the one that wrote the transaction will end it (KIP-939)."""
        return self.next_epoch != NO_PRODUCER_EPOCH

    @property
    def owner(self) -> tuple[int, int]:
        """The producer id and the epoch of the newest producer, who may end the transaction."""
        if self.is_kept:
            return self.next_producer_id, self.next_epoch
        return self.producer_id, self.epoch

    @property
    def timeout_since_ms(self) -> int:
        """When the timeout of the open transaction began: at its begin, or when its owner took it over."""
        return self.updated_ms if self.is_kept else self.started_ms

    @property
    def is_exhausted(self) -> bool:
        """Whether the newest producer's id cannot have another epoch."""
        return self.owner[1] >= LAST_EPOCH

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

    def kept(self, new_producer_id: int, timeout_ms: int, now_ms: int) -> "Transaction":
        """A producer takes over the open transaction, with the next epoch or with a new producer id.

        From now on its own timeout counts.
        """
        return self._with_next_owner(new_producer_id)._replace(timeout_ms=timeout_ms, updated_ms=now_ms)

    def _with_next_owner(self, new_producer_id: int) -> "Transaction":
        producer_id, epoch = self.owner
        if new_producer_id != NO_PRODUCER_ID:
            producer_id, epoch = new_producer_id, NO_PRODUCER_EPOCH
        return self._replace(next_producer_id=producer_id, next_epoch=epoch + 1)

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
        """The transaction is decided. With version 2 its end has the next epoch (KIP-890).

        A kept transaction always ends in this way. Its owner gets the next epoch as well: otherwise a request
        that was delayed could end the next transaction.
        """
        version = EPOCH_PER_TRANSACTION if self.is_kept else version
        decided = self._replace(
            state=State.PREPARE_COMMIT if is_commit else State.PREPARE_ABORT,
            # A producer may abort a transaction that the coordinator has not seen begin.
            started_ms=self.started_ms if self.state is State.ONGOING else now_ms,
            updated_ms=now_ms,
            version=version,
            previous_producer_id=self.owner[0],
        )
        if version < EPOCH_PER_TRANSACTION:
            return decided
        if self.is_kept:
            decided = decided._with_next_owner(next_producer_id)
            return decided._replace(epoch=self._epoch_after(), last_epoch=NO_PRODUCER_EPOCH)
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
            previous_producer_id=self.previous_producer_id if self.is_kept else self.producer_id,
            next_producer_id=NO_PRODUCER_ID,
            next_epoch=NO_PRODUCER_EPOCH,
        )
        if self.is_kept:
            producer_id, epoch = self.owner
            return complete._replace(producer_id=producer_id, epoch=epoch)
        if self.version < EPOCH_PER_TRANSACTION or self.next_producer_id == NO_PRODUCER_ID:
            return complete
        return complete._replace(producer_id=self.next_producer_id, epoch=0)
