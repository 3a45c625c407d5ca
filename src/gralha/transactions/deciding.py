"""What a transactional id does with each request. The functions are pure: they return the next `Transaction`.

A refusal is raised as a KafkaError. The tables in docs/TRANSACTIONS.md show all states and requests.

The order of the checks is Kafka's, and clients depend on it: first the producer id
(INVALID_PRODUCER_ID_MAPPING), then the epoch (PRODUCER_FENCED), then the state. A transaction that is being
completed comes before all of them (CONCURRENT_TRANSACTIONS): with transactions v2 the producer may already
have the epoch, or the producer id, of after the completion.
"""

from collections.abc import Callable
from typing import NamedTuple

from gralha.protocol.batches import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from gralha.protocol.errors import ErrorCode, InvalidTxnStateError, KafkaError
from gralha.transactions.transaction import (
    COMPLETE,
    EPOCH_PER_TRANSACTION,
    LAST_EPOCH,
    PREPARED,
    Partition,
    State,
    Transaction,
)

NewProducerId = Callable[[], int]


class ProducerIdentity(NamedTuple):
    """The producer id and the epoch that a client has."""

    id: int
    epoch: int


class Begun(NamedTuple):
    """The result of InitProducerId. If a transaction had to be aborted first, the client asks again."""

    transaction: Transaction
    is_abort: bool


# InitProducerId


def begin(
    known: Transaction,
    expected: ProducerIdentity | None,
    timeout_ms: int,
    fence_version: int,
    new_producer_id: NewProducerId,
    now_ms: int,
) -> Begun:
    """A producer begins. It names the id and the epoch that it had if it goes on after an error (KIP-360)."""
    if known.state in PREPARED:
        raise concurrent(known)
    if expected is not None and not _may_go_on(known, expected):
        raise fenced(known)
    if known.state is State.ONGOING:
        if expected is not None and expected != known.owner:
            # Only a producer that has the newest epoch begins a transaction. So this is another one.
            raise fenced(known)
        return Begun(abort(known, fence_version, new_producer_id, now_ms), True)
    if known.is_exhausted and (expected is None or expected.epoch == known.epoch):
        last_epoch = NO_PRODUCER_EPOCH if expected is None else known.epoch
        return Begun(known.with_new_producer(new_producer_id(), last_epoch, timeout_ms, now_ms), False)
    epoch, last_epoch = _next_epoch(known, expected)
    return Begun(known.initialised(epoch, last_epoch, timeout_ms, now_ms), False)


def keep(
    known: Transaction, timeout_ms: int, fence_version: int, new_producer_id: NewProducerId, now_ms: int
) -> Transaction:
    """A producer takes over the open transaction, and will decide on it (KIP-939).

    The earlier producer is fenced. The transaction keeps the producer id and the epoch of its records.
    """
    if fence_version < EPOCH_PER_TRANSACTION:
        raise KafkaError(
            f"A transaction can only be kept with the feature transaction.version={EPOCH_PER_TRANSACTION}",
            ErrorCode.UNSUPPORTED_VERSION,
        )
    return known.kept(_next_id(known, new_producer_id), timeout_ms, now_ms)


def _may_go_on(known: Transaction, expected: ProducerIdentity) -> bool:
    """Whether the producer is the newest one, or the one before a change of the producer id."""
    if known.epoch == NO_PRODUCER_EPOCH or expected.id == known.owner[0]:
        return True
    return expected.id == known.previous_producer_id and expected.epoch >= LAST_EPOCH


def _next_epoch(known: Transaction, expected: ProducerIdentity | None) -> tuple[int, int]:
    """The next epoch and the one before it. A repeated request gets the epoch that the first one got."""
    if expected is None:
        return known.epoch + 1, NO_PRODUCER_EPOCH
    if known.epoch in (NO_PRODUCER_EPOCH, expected.epoch):
        return known.epoch + 1, known.epoch
    if expected.epoch == known.last_epoch:
        return known.epoch, known.last_epoch
    raise fenced(known)


def abort(known: Transaction, fence_version: int, new_producer_id: NewProducerId, now_ms: int) -> Transaction:
    """Abort an open transaction that its producer did not end: a time-out, or a new producer."""
    if fence_version < EPOCH_PER_TRANSACTION and not known.is_kept:
        return known.fenced(now_ms)
    return known.prepared(False, fence_version, _next_id(known, new_producer_id), now_ms)


# AddPartitionsToTxn, AddOffsetsToTxn


def add(
    known: Transaction,
    producer: ProducerIdentity,
    partitions: frozenset[Partition],
    version: int,
    now_ms: int,
) -> Transaction | None:
    """Add partitions to the transaction. Returns None if it has them."""
    if known.state in PREPARED:
        raise concurrent(known)
    _check_producer(known, producer)
    if known.is_kept:
        raise InvalidTxnStateError(
            f"The transaction of {known.transactional_id} was kept: it can only be committed or aborted"
        )
    if known.state is State.ONGOING and partitions <= known.partitions:
        return None
    return known.with_partitions(partitions, version, now_ms)


def verify(known: Transaction, producer: ProducerIdentity) -> frozenset[Partition]:
    """The partitions of the producer's transaction. No other partition may have its records."""
    _check_producer(known, producer)
    if known.state in PREPARED:
        raise concurrent(known)
    return known.partitions


def _check_producer(known: Transaction, producer: ProducerIdentity) -> None:
    producer_id, epoch = known.owner
    if producer_id != producer.id:
        raise other_producer(known.transactional_id)
    if epoch != producer.epoch:
        raise fenced(known)


# EndTxn


def end(
    known: Transaction,
    producer: ProducerIdentity,
    is_commit: bool,
    version: int,
    new_producer_id: NewProducerId,
    now_ms: int,
) -> Transaction | None:
    """Commit or abort. Returns None if the producer repeats a request that has taken effect."""
    if version < EPOCH_PER_TRANSACTION and not known.is_kept:
        # A transaction that was kept has ended with the next epoch, also if its owner has an older client. An
        # abort looks like that after a timeout, too. Then the producer is fenced, as in Kafka.
        has_new_epoch = known.state is State.COMPLETE_COMMIT and known.version == EPOCH_PER_TRANSACTION
        if has_new_epoch and is_commit and _is_repeated_end(known, producer):
            return None
        return _end_with_epoch_kept(known, producer, is_commit, now_ms)
    if known.state in PREPARED:
        raise concurrent(known)
    is_repeated = producer != known.owner and _is_repeated_end(known, producer)
    producer_id, epoch = known.owner
    if producer_id != producer.id and not is_repeated:
        raise other_producer(known.transactional_id)
    if epoch != producer.epoch and not (is_repeated and known.state in COMPLETE):
        raise fenced(known)
    if is_repeated:
        _check_repeated(known, is_commit)
        return None
    if known.state is not State.ONGOING and is_commit:
        raise _wrong_state(known, is_commit)
    return known.prepared(is_commit, version, _next_id(known, new_producer_id), now_ms)


def _end_with_epoch_kept(
    known: Transaction, producer: ProducerIdentity, is_commit: bool, now_ms: int
) -> Transaction | None:
    _check_producer(known, producer)
    if known.state in PREPARED:
        raise concurrent(known)
    if known.state is State.ONGOING:
        return known.prepared(is_commit, 0, NO_PRODUCER_ID, now_ms)
    _check_repeated(known, is_commit)
    return None


def _is_repeated_end(known: Transaction, producer: ProducerIdentity) -> bool:
    """Whether the producer has the epoch of before the last end: the end was not heard of."""
    if known.producer_id == producer.id and known.epoch == producer.epoch + 1:
        return True
    is_of_last_epoch = producer.epoch == LAST_EPOCH and known.epoch == 0
    return is_of_last_epoch and known.previous_producer_id == producer.id


def _check_repeated(known: Transaction, is_commit: bool) -> None:
    """Refuse a request that would end the transaction in another way."""
    if known.state is State.EMPTY or known.is_commit != is_commit:
        raise _wrong_state(known, is_commit)


def _next_id(known: Transaction, new_producer_id: NewProducerId) -> int:
    """The producer id after this transaction, if its end takes the last epoch."""
    return new_producer_id() if known.is_exhausted else NO_PRODUCER_ID


# Refusals


def other_producer(transactional_id: str) -> KafkaError:
    return KafkaError(
        f"The producer id is not the newest one of the transactional id {transactional_id}",
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    )


def fenced(known: Transaction) -> KafkaError:
    return KafkaError(
        f"Another producer with the transactional id {known.transactional_id} has the epoch {known.owner[1]}",
        ErrorCode.PRODUCER_FENCED,
    )


def concurrent(known: Transaction) -> KafkaError:
    return KafkaError(
        f"The last transaction of {known.transactional_id} is being completed",
        ErrorCode.CONCURRENT_TRANSACTIONS,
    )


def _wrong_state(known: Transaction, is_commit: bool) -> KafkaError:
    return InvalidTxnStateError(
        f"The transaction of {known.transactional_id} is {known.state.kafka_name}: it cannot be "
        f"{'committed' if is_commit else 'aborted'}"
    )
