"""The records of `__transaction_state`: a transactional id and its newest transaction.

They have Kafka's format, so Apache Kafka's tools read them. Version 1 has fields for KIP-890. It is written
from `transaction.version` 1 on, because older brokers read version 0 only.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from gralha.coordination.decision import Decision
from gralha.coordination.shard import Codec
from gralha.protocol import coordinator_records
from gralha.protocol.coordinator_records import TRANSACTION_RECORDS, UnknownKindError
from gralha.protocol.messages.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from gralha.transactions.partitions import by_topic
from gralha.transactions.transaction import Partition, State, Transaction

# The coordinator remembers the bytes of the last keys, except for very long ids.
KNOWN_KEYS: Final = 10_000
KNOWN_KEY_LENGTH: Final = 200


class TransactionRecord(NamedTuple):
    """The newest state of an id. Without one the record is a tombstone: the id is forgotten."""

    transactional_id: str
    transaction: Transaction | None
    version: int = 1


# The result of a request to the coordinator, or of one of its timers.
TransactionDecision = Decision[TransactionRecord]


def _key(transactional_id: str) -> bytes:
    return coordinator_records.encode_key(TransactionLogKey(transactional_id))


# A transaction writes three records or more, all with the same key.
_known_key = lru_cache(KNOWN_KEYS)(_key)


def encode_record(record: TransactionRecord) -> tuple[bytes, bytes | None]:
    """The bytes of key and value."""
    is_short = len(record.transactional_id) <= KNOWN_KEY_LENGTH
    key = (_known_key if is_short else _key)(record.transactional_id)
    transaction = record.transaction
    if transaction is None:
        return key, None
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None if transaction.state is State.EMPTY else _by_topic(transaction),
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
    )
    if record.version >= 1:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.version
        value.next_producer_epoch = transaction.next_epoch
    return key, coordinator_records.encode_value(value, record.version)


def _by_topic(transaction: Transaction) -> list[PartitionsSchema]:
    return [PartitionsSchema(topic, indexes) for topic, indexes in by_topic(transaction.partitions).items()]


def decode_record(key: bytes, value: bytes | None) -> TransactionRecord | None:
    """The record in these bytes, or None if its kind is unknown here."""
    try:
        decoded = coordinator_records.decode(TRANSACTION_RECORDS, key, value)
    except UnknownKindError:
        return None
    assert isinstance(decoded.key, TransactionLogKey)
    transactional_id = decoded.key.transactional_id
    stored = decoded.value
    if not isinstance(stored, TransactionLogValue):
        return TransactionRecord(transactional_id, None)
    return TransactionRecord(
        transactional_id,
        Transaction(
            transactional_id,
            stored.producer_id,
            stored.producer_epoch,
            stored.transaction_timeout_ms,
            stored.transaction_last_update_timestamp_ms,
            State(stored.transaction_status),
            _partitions(stored),
            stored.transaction_start_timestamp_ms,
            stored.previous_producer_id,
            stored.next_producer_id,
            stored.client_transaction_version,
            next_epoch=stored.next_producer_epoch,
        ),
    )


def _partitions(stored: TransactionLogValue) -> frozenset[Partition]:
    topics = stored.transaction_partitions or []
    return frozenset((topic.topic, index) for topic in topics for index in topic.partition_ids)


TRANSACTION_CODEC: Final = Codec(encode_record, decode_record)
