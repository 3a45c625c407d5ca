"""Error codes of transactions for clients of different ages, and for producers."""

from typing import Final

from gralha.protocol.errors import (
    ErrorCode,
    InvalidTxnStateError,
    KafkaError,
    NotEnoughReplicasError,
    error_for,
)

# From these versions on, clients know PRODUCER_FENCED (KIP-588).
INIT_PRODUCER_ID_FENCED: Final = 4
TRANSACTION_FENCED: Final = 2

# From these versions of Produce on, clients know TRANSACTION_ABORTABLE, and have partitions added.
PRODUCE_ABORTABLE: Final = 11
PRODUCE_ADDS: Final = 12

# The coordinator could not be asked. All clients repeat a Produce request after NOT_ENOUGH_REPLICAS.
_NOT_ASKED: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def fenced_as(error: KafkaError, api_version: int, knows_fenced_from: int) -> int:
    """The code of an error. Older clients know INVALID_PRODUCER_EPOCH instead of PRODUCER_FENCED."""
    if error.code == ErrorCode.PRODUCER_FENCED and api_version < knows_fenced_from:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error.code


def verification_error(code: int, knows_abortable: bool, adds: bool) -> KafkaError:
    """The error for a producer whose transaction may not write to a partition."""
    if code in _NOT_ASKED or (code == ErrorCode.CONCURRENT_TRANSACTIONS and not adds):
        return NotEnoughReplicasError(
            "Unable to verify the partition has been added to the transaction. Underlying error: "
            f"{error_for(code).message}"
        )
    if code == ErrorCode.PRODUCER_FENCED:
        return error_for(ErrorCode.INVALID_PRODUCER_EPOCH)
    if code == ErrorCode.TRANSACTION_ABORTABLE and not knows_abortable:
        code = ErrorCode.INVALID_TXN_STATE
    if code == ErrorCode.INVALID_TXN_STATE:
        return InvalidTxnStateError("Partition was not added to the transaction")
    return error_for(code)
