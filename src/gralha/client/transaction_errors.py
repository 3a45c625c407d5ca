"""Sorts the errors of transactions by what a producer can do about them.

| kind | what helps | error |
|---|---|---|
| retriable | the same request again | TransactionUnfinishedError, once the time is over |
| abortable | an abort, then a new transaction | TransactionAbortableError |
| fenced | nothing: this producer's epoch is old | ProducerFencedError |
| fatal | nothing: access is denied, or the request is wrong | TransactionError |
"""

from enum import Enum
from typing import Final

from gralha.client.denials import how_to_allow
from gralha.client.errors import (
    ProducerFencedError,
    TransactionAbortableError,
    TransactionError,
    TransactionUnfinishedError,
)
from gralha.client.security import ClientSecurity
from gralha.protocol.errors import ErrorCode, KafkaError, error_for


class ErrorKind(Enum):
    """What a producer can do about an error."""

    RETRIABLE = "retriable"
    ABORTABLE = "abortable"
    FENCED = "fenced"
    FATAL = "fatal"


_ERRORS: Final[dict[ErrorKind, type[TransactionError]]] = {
    ErrorKind.RETRIABLE: TransactionUnfinishedError,
    ErrorKind.ABORTABLE: TransactionAbortableError,
    ErrorKind.FENCED: ProducerFencedError,
    ErrorKind.FATAL: TransactionError,
}

# Coordinators say PRODUCER_FENCED; those before version 2.7 and partitions say INVALID_PRODUCER_EPOCH.
_FENCED: Final = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
_ABORTABLE: Final = (
    ErrorCode.TRANSACTION_ABORTABLE,
    ErrorCode.INVALID_TXN_STATE,
    # The coordinator has forgotten the id, or gave it another producer id.
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.OPERATION_NOT_ATTEMPTED,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)


def kind_of(code: int) -> ErrorKind:
    """The kind of an error that a broker answered with."""
    if code in _FENCED:
        return ErrorKind.FENCED
    if code in _ABORTABLE:
        return ErrorKind.ABORTABLE
    return ErrorKind.RETRIABLE if error_for(code).retriable else ErrorKind.FATAL


def transaction_error(
    transactional_id: str, doing: str, error: KafkaError, security: ClientSecurity | None = None
) -> TransactionError:
    """The error of a call about a transactional id. `doing` continues "could not ..."."""
    advice = how_to_allow(error.code, transactional_id, "WRITE", security)
    return _ERRORS[kind_of(error.code)](transactional_id, doing, f"{error}{advice}", error.code)
