"""The values of calls about transactions, independent of protocol versions."""

from typing import Final, NamedTuple

from gralha.client.values import TopicPartition

# The epoch of a coordinator in a marker that no other coordinator can have replaced.
FIRST_COORDINATOR_EPOCH: Final = 0


class TransactionListing(NamedTuple):
    """A transactional id of a coordinator. The state is spelled as brokers spell it."""

    transactional_id: str
    producer_id: int
    state: str


class TransactionDescription(NamedTuple):
    """A transactional id and its newest transaction.

    `partitions` are those of the open transaction. Once it ends, only those without a marker are left.
    """

    coordinator_id: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_time_ms: int | None
    partitions: list[TopicPartition]


class ProducerState(NamedTuple):
    """A producer that a partition remembers. Without an open transaction there is no start offset.

    The coordinator's epoch is that of the newest marker. It is None before the first one.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int | None
    transaction_start_offset: int | None


class TransactionToAbort(NamedTuple):
    """A transaction in one partition, for a marker that ends it there."""

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int = FIRST_COORDINATOR_EPOCH

    def __str__(self) -> str:
        return (
            f"AbortTransactionSpec(topicPartition={self.partition}, producerId={self.producer_id}, "
            f"producerEpoch={self.producer_epoch}, coordinatorEpoch={self.coordinator_epoch})"
        )


class ProducerIdentity(NamedTuple):
    """The producer id and the epoch that a coordinator gives to a producer."""

    producer_id: int
    producer_epoch: int
