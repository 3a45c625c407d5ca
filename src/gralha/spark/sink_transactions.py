"""The transactions of one sink, as its driver sees them: how they stand, and how they end."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

from gralha.client.cluster import Cluster
from gralha.client.errors import ErrorCode, KafkaError, TransactionError, TransactionUnfinishedError
from gralha.client.settings import ClientSettings
from gralha.client.transaction_calls import TransactionCalls
from gralha.client.transaction_state import TransactionHandle
from gralha.client.transaction_values import TransactionDescription
from gralha.client.transactional_calls import TransactionalCalls
from gralha.spark.transactional_ids import SinkKey

ONGOING: Final = "Ongoing"
_ABORTED_STATES: Final = ("PrepareAbort", "CompleteAbort")


class CommitResult(Enum):
    """How a transaction has ended that should have been committed."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    # The cluster did not answer in time. Another attempt may tell.
    UNFINISHED = "unfinished"
    # The coordinator has forgotten the id, or something else has used it.
    UNKNOWN = "unknown"


class SinkTransactions:
    """Calls about the transactions of one sink."""

    def __init__(self, settings: ClientSettings, key: SinkKey) -> None:
        self._key = key
        self._cluster = Cluster.of(
            settings, api_timeout_ms=settings.default_api_timeout_ms, waits_for_first_answer=True
        )
        self._ending = TransactionalCalls(self._cluster)
        self._looking = TransactionCalls(self._cluster)

    def close(self) -> None:
        """Closes the connections."""
        self._cluster.close()

    def describe(self, ids: Iterable[str]) -> Mapping[str, TransactionDescription | KafkaError]:
        """What the coordinators know of these ids."""
        return self._looking.describe_transactions(ids)

    def commit(self, handles: Sequence[TransactionHandle]) -> dict[TransactionHandle, CommitResult]:
        """Commits transactions. Those that are committed already stay so."""
        results = self._ending.end_transactions(handles, committed=True)
        refused = [
            handle
            for handle, result in results.items()
            if isinstance(result, TransactionError) and not isinstance(result, TransactionUnfinishedError)
        ]
        reasons = self.describe([handle.transactional_id for handle in refused]) if refused else {}
        return {
            handle: CommitResult.COMMITTED
            if not isinstance(result, TransactionError)
            else _result(handle, reasons[handle.transactional_id])
            if handle in refused
            else CommitResult.UNFINISHED
            for handle, result in results.items()
        }

    def abort(self, handles: Sequence[TransactionHandle]) -> list[str]:
        """Aborts transactions. Returns sentences about those that could not be aborted."""
        results = self._ending.end_transactions(handles, committed=False)
        # If somebody else has ended one, it needs no end.
        return [str(result) for result in results.values() if isinstance(result, TransactionUnfinishedError)]

    def fence(self, transactional_id: str) -> None:
        """Aborts the transaction of an id, and fences the task that writes it."""
        self._looking.fence_producer(transactional_id)

    def ongoing(self) -> list[str]:
        """The ids of the sink's tasks with an open transaction, from all brokers."""
        listings = self._looking.list_transactions(states=[ONGOING])
        return sorted(
            one.transactional_id
            for found in listings.values()
            for one in found
            if one.transactional_id.startswith(self._key.prefix)
            and one.transactional_id != self._key.driver_id
        )

    def handle_of(self, description: TransactionDescription) -> TransactionHandle:
        """The handle of a transaction that a coordinator has described."""
        return TransactionHandle(
            description.transactional_id,
            description.producer_id,
            description.producer_epoch,
            self._ending.uses_v2(),
        )


def _result(handle: TransactionHandle, found: TransactionDescription | KafkaError) -> CommitResult:
    """Why a commit was refused. A timeout aborts with the next epoch (v1) or with the one after that (v2)."""
    if isinstance(found, KafkaError):
        is_gone = found.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        return CommitResult.UNKNOWN if is_gone else CommitResult.UNFINISHED
    is_same = found.producer_id == handle.producer_id
    newer = found.producer_epoch - handle.producer_epoch
    if is_same and 0 <= newer <= 2 and found.state in _ABORTED_STATES:
        return CommitResult.ABORTED
    return CommitResult.UNKNOWN
