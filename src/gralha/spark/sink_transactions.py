"""The transactions of one sink, as its driver sees them: how they stand, and how they end."""

import logging
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from typing import Final

from gralha.client.cluster import Cluster
from gralha.client.errors import (
    ClientError,
    ErrorCode,
    KafkaError,
    TransactionError,
    TransactionUnfinishedError,
)
from gralha.client.settings import ClientSettings
from gralha.client.transaction_calls import TransactionCalls
from gralha.client.transaction_outcomes import PATIENCE_S, LoggedOutcome, OutcomeReader
from gralha.client.transaction_state import TransactionHandle
from gralha.client.transaction_values import TransactionDescription, TransactionListing
from gralha.client.transactional_calls import TransactionalCalls
from gralha.spark.decisions import TaskTransaction
from gralha.spark.transactional_ids import VERSIONS, SinkKey

logger = logging.getLogger(__name__)

# How many transactions are looked up at the same time.
LOOK_UPS_AT_ONCE: Final = 16
ONGOING: Final = "Ongoing"
_ABORTED_STATES: Final = ("PrepareAbort", "CompleteAbort")
_COMPLETE_STATES: Final = ("CompleteCommit", "CompleteAbort")


class CommitResult(Enum):
    """How a transaction has ended that should have been committed."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    # The cluster did not answer in time. Another attempt may tell.
    UNFINISHED = "unfinished"
    # The coordinator has forgotten the transaction, and the partitions have lost its records.
    UNKNOWN = "unknown"


_LOGGED: Final = {
    LoggedOutcome.COMMITTED: CommitResult.COMMITTED,
    LoggedOutcome.ABORTED: CommitResult.ABORTED,
}


class SinkTransactions:
    """Calls about the transactions of one sink."""

    def __init__(self, settings: ClientSettings, key: SinkKey) -> None:
        self._key = key
        self._settings = settings
        self._cluster = self._new_cluster()
        self._ending = TransactionalCalls(self._cluster)
        self._looking = TransactionCalls(self._cluster)

    def _new_cluster(self) -> Cluster:
        settings = self._settings
        return Cluster.of(
            settings, api_timeout_ms=settings.default_api_timeout_ms, waits_for_first_answer=True
        )

    def close(self) -> None:
        """Closes the connections."""
        self._cluster.close()

    # Looking

    def describe(self, ids: Iterable[str]) -> Mapping[str, TransactionDescription | KafkaError]:
        """What the coordinators know of these ids."""
        return self._looking.describe_transactions(ids)

    def open_for_longer(self, than_ms: int, coordinators: Iterable[int]) -> set[str] | None:
        """The ids of the sink whose transaction is open for longer, by the clocks of their coordinators.

        These clocks also decide about timeouts. None if a coordinator is too old to tell.
        """
        found = self._listed(sorted(set(coordinators)), duration_ms=than_ms, is_patient=True)
        for answer in found.values():
            if isinstance(answer, KafkaError):
                if answer.code == ErrorCode.UNSUPPORTED_VERSION:
                    return None
                raise answer
        return set(self._tasks(found.values()))

    def ongoing(self) -> list[str]:
        """The ids of the sink's tasks with an open transaction. Brokers that do not answer are left out."""
        found = self._listed(sorted(self._cluster.once(self._cluster.brokers)), is_patient=False)
        for broker, answer in found.items():
            if isinstance(answer, KafkaError):
                logger.warning(
                    "Broker %d does not list its transactions, the next batch asks again: %s", broker, answer
                )
        return self._tasks(found.values())

    def _listed(
        self, brokers: Sequence[int], *, duration_ms: int = -1, is_patient: bool
    ) -> dict[int, list[TransactionListing] | KafkaError]:
        """Asks for the ids of the sink only. Brokers without this filter (KIP-1152) list all open ones."""

        def ask(some: Sequence[int], pattern: str | None) -> dict[int, list[TransactionListing] | KafkaError]:
            return self._looking.list_transactions_on(
                some, states=[ONGOING], duration_ms=duration_ms, pattern=pattern, is_patient=is_patient
            )

        found = ask(brokers, re.escape(self._key.prefix) + ".*")
        older = [
            broker
            for broker, answer in found.items()
            if isinstance(answer, KafkaError) and answer.code == ErrorCode.UNSUPPORTED_VERSION
        ]
        return {**found, **(ask(older, None) if older else {})}

    def _tasks(self, answers: Iterable[list[TransactionListing] | KafkaError]) -> list[str]:
        return sorted(
            one.transactional_id
            for answer in answers
            if not isinstance(answer, KafkaError)
            for one in answer
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

    # Ending

    def commit(self, tasks: Sequence[TaskTransaction]) -> dict[TaskTransaction, CommitResult]:
        """Commits transactions. Those that are committed already stay so."""
        results = self._ending.end_transactions([one.handle for one in tasks], committed=True)
        refused = [
            one
            for one in tasks
            if isinstance(result := results[one.handle], TransactionError)
            and not isinstance(result, TransactionUnfinishedError)
        ]
        outcomes = {
            one: CommitResult.UNFINISHED
            if isinstance(results[one.handle], TransactionError)
            else CommitResult.COMMITTED
            for one in tasks
        }
        return {**outcomes, **self._looked_up(refused)}

    def _looked_up(self, tasks: Sequence[TaskTransaction]) -> dict[TaskTransaction, CommitResult]:
        """How transactions have ended that cannot be committed, by their partitions.

        The coordinator may know only a later transaction of the id, or nothing. It is asked if no partition
        can tell.
        """
        if not tasks:
            return {}
        # Markers come a moment after the end of a transaction, and all of these have ended by now.
        deadline = time.monotonic() + PATIENCE_S
        with ThreadPoolExecutor(min(len(tasks), LOOK_UPS_AT_ONCE)) as threads:
            outcomes = threads.map(lambda one: self._in_partitions(one, deadline), tasks)
            found = dict(zip(tasks, outcomes, strict=True))
        unknown = [one for one, outcome in found.items() if outcome not in _LOGGED.values()]
        described = self.describe([one.handle.transactional_id for one in unknown]) if unknown else {}
        for one in unknown:
            if self._is_aborted(one.handle, described[one.handle.transactional_id]):
                found[one] = CommitResult.ABORTED
        return found

    def _in_partitions(self, task: TaskTransaction, deadline: float) -> CommitResult:
        """A transaction ends in all of its partitions in the same way, so one that knows is enough.

        UNFINISHED if another attempt may tell more, UNKNOWN if not. A cluster is used from one thread, so
        each look-up has connections of its own.
        """
        answer = CommitResult.UNKNOWN
        with self._new_cluster() as cluster, OutcomeReader(cluster, self._settings, deadline) as reader:
            for first in task.first_records:
                try:
                    found = reader.outcome(task.handle, first.partition, first.offset)
                except (ClientError, KafkaError) as error:
                    logger.warning("The end of the transaction of %s cannot be looked up: %s", task, error)
                    answer = CommitResult.UNFINISHED
                    continue
                if found in _LOGGED:
                    return _LOGGED[found]
                if found is LoggedOutcome.OPEN:
                    answer = CommitResult.UNFINISHED
        return answer

    def _is_aborted(self, handle: TransactionHandle, found: TransactionDescription | KafkaError) -> bool:
        """Returns True if the coordinator still knows the transaction, and has aborted it.

        A timeout aborts with the next epoch (v1) or with the one after that (v2). The ids of batch writes may
        have had another transaction since then, so there only the same epoch tells.
        """
        if isinstance(found, KafkaError) or found.state not in _ABORTED_STATES:
            return False
        is_batch_write = handle.transactional_id.startswith(f"{self._key.prefix}{VERSIONS}.")
        newer = found.producer_epoch - handle.producer_epoch
        return found.producer_id == handle.producer_id and 0 <= newer <= (0 if is_batch_write else 2)

    def abort(self, handles: Sequence[TransactionHandle]) -> list[str]:
        """Aborts transactions. Returns sentences about those that could not be aborted."""
        results = self._ending.end_transactions(handles, committed=False)
        # If somebody else has ended one, it needs no end.
        return [str(result) for result in results.values() if isinstance(result, TransactionUnfinishedError)]

    def fence(self, transactional_id: str) -> None:
        """Aborts the transaction of an id, and fences the task that writes it."""
        self._looking.fence_producer(transactional_id)


def has_ended(handle: TransactionHandle, found: TransactionDescription | KafkaError) -> bool:
    """Returns True if the last transaction of an id is over, so that its only user may use the id again.

    A coordinator that has lost its partition without knowing it may tell an older state. That one has an
    older epoch, or it is the same epoch before the transaction began.
    """
    if isinstance(found, KafkaError) or found.producer_id != handle.producer_id:
        return False
    if found.producer_epoch == handle.producer_epoch:
        return found.state in _COMPLETE_STATES
    return found.producer_epoch > handle.producer_epoch and found.state in (*_COMPLETE_STATES, "Empty")
