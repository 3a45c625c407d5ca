"""The state of a transactional producer: pure, without I/O.

A producer has an id and an epoch. Batches of a partition have consecutive sequence numbers within an epoch.
In transactions v1 a partition is added to the transaction before its first batch. In transactions v2
(KIP-890) the broker adds it with that batch, and the end of a transaction gives the producer its next epoch.
"""

from collections.abc import Iterable
from typing import NamedTuple

from gralha.client.transaction_values import ProducerIdentity
from gralha.client.values import TopicPartition
from gralha.protocol.batches import increment_sequence


class TransactionHandle(NamedTuple):
    """An open transaction. With this, another process can end it: only the coordinator checks who asks."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    # A transaction ends by the rules with which it began.
    is_v2: bool


class KeptTransaction(NamedTuple):
    """What a producer learns that takes over a transactional id and keeps its open transaction (KIP-939)."""

    # Commits or aborts the transaction that was kept.
    handle: TransactionHandle
    # The producer that wrote the transaction. None if there was no open transaction.
    written_by: ProducerIdentity | None


class TransactionState:
    """The state of one producer."""

    def __init__(self, transactional_id: str, identity: ProducerIdentity, *, is_v2: bool) -> None:
        self.transactional_id = transactional_id
        self.identity = identity
        self.is_v2 = is_v2
        self.has_begun = False
        self._added: set[TopicPartition] = set()
        self._sequences: dict[TopicPartition, int] = {}

    @property
    def handle(self) -> TransactionHandle:
        """The current transaction."""
        return TransactionHandle(
            self.transactional_id, self.identity.producer_id, self.identity.producer_epoch, self.is_v2
        )

    def to_add(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """The partitions that must be added before they are written to. In v2 there are none."""
        return [] if self.is_v2 else [one for one in partitions if one not in self._added]

    def added(self, partitions: Iterable[TopicPartition]) -> None:
        """The coordinator has added these partitions."""
        self._added.update(partitions)

    def next_sequence(self, partition: TopicPartition, records: int) -> int:
        """The first sequence number of the next batch of a partition."""
        self.has_begun = True
        sequence = self._sequences.get(partition, 0)
        self._sequences[partition] = increment_sequence(sequence, records)
        return sequence

    def ended(self, identity: ProducerIdentity) -> None:
        """The transaction has ended. The next one has this identity; a new epoch begins with sequence 0."""
        if identity != self.identity:
            self._sequences.clear()
        self.identity = identity
        self.has_begun = False
        self._added.clear()
