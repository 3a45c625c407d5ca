"""Transactional ids as ListTransactions and DescribeTransactions show them (KIP-664, KIP-994, KIP-1152)."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages import describe_transactions, list_transactions
from gralha.transactions.partitions import by_topic
from gralha.transactions.transaction import State, Transaction

NO_DURATION: Final = -1
# Names of states in Kafka that an id never has here. A filter may name them.
_OTHER_STATES: Final = frozenset({"Dead", "PrepareEpochFence"})
_STATES: Final = {state.kafka_name: state for state in State}


class Filter(NamedTuple):
    """What a ListTransactions request asks for."""

    states: frozenset[State] | None  # None: all
    producer_ids: frozenset[int]  # empty: all
    duration_ms: int
    pattern: "re.Pattern[str] | None"

    def takes(self, transaction: Transaction, now_ms: int) -> bool:
        """Whether the request asks for this id."""
        if self.producer_ids and transaction.producer_id not in self.producer_ids:
            return False
        if self.states is not None and transaction.state not in self.states:
            return False
        if self.duration_ms >= 0 and now_ms - transaction.started_ms <= self.duration_ms:
            return False
        return self.pattern is None or self.pattern.fullmatch(transaction.transactional_id) is not None


def unknown_states(names: Sequence[str]) -> list[str]:
    """The names that are not names of states."""
    return [name for name in names if name not in _STATES and name not in _OTHER_STATES]


def wanted(
    states: Sequence[str], producer_ids: Sequence[int], duration_ms: int, pattern: str | None
) -> Filter:
    """The filter of a request. Raises INVALID_REGULAR_EXPRESSION."""
    return Filter(
        frozenset(_STATES[name] for name in states if name in _STATES) if states else None,
        frozenset(producer_ids),
        duration_ms,
        _compiled(pattern) if pattern else None,
    )


def _compiled(pattern: str) -> "re.Pattern[str]":
    try:
        return re.compile(pattern)
    except re.error as error:
        raise KafkaError(
            f"Transaction ID pattern `{pattern}` is not a valid regular expression: {error}.",
            ErrorCode.INVALID_REGULAR_EXPRESSION,
        ) from None


def listed(transaction: Transaction) -> list_transactions.TransactionState:
    """One id in a list."""
    return list_transactions.TransactionState(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        transaction_state=transaction.state.kafka_name,
    )


def described(transaction: Transaction) -> describe_transactions.TransactionState:
    """All that the coordinator knows of one id."""
    return describe_transactions.TransactionState(
        transactional_id=transaction.transactional_id,
        transaction_state=transaction.state.kafka_name,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        topics=[
            describe_transactions.TopicData(topic, indexes)
            for topic, indexes in by_topic(transaction.partitions).items()
        ],
    )
