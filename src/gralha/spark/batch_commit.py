"""The driver's part of exactly-once delivery: decides about a batch, and ends its transactions.

docs/SPARK.md has the protocol and its proof. In short: the newest driver owns the log of decisions. Only
transactions in a committed decision are ever committed, and a batch gets a second decision only if all
transactions of the first one were aborted. Spark builds a new writer for each commit and each abort, so
nothing is remembered here: all of it is in the log and in the coordinators.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from gralha.client.errors import ClientError, KafkaError
from gralha.client.transaction_values import TransactionDescription
from gralha.spark.decisions import (
    Decision,
    ExactlyOnceError,
    TaskTransaction,
    TaskWritten,
    Verdict,
    identity_of,
    judge,
    transactions_of,
)
from gralha.spark.sink_transactions import ONGOING, CommitResult, SinkTransactions
from gralha.spark.sweep import Sweep
from gralha.spark.transactional_ids import BatchIdentity

logger = logging.getLogger(__name__)

# How much of its timeout a transaction may have used when it is decided. The rest is for its commit.
USABLE: Final = 0.5


class Log(Protocol):
    """The log of decisions, as the protocol uses it."""

    def own(self) -> None: ...
    def read(self) -> Decision | None: ...
    def prepare(self, decision: Decision, after: Decision | None) -> None: ...
    def commit(self) -> None: ...
    def still_owns(self) -> bool: ...


class BatchCommit:
    """Commits or aborts one batch of one sink."""

    def __init__(
        self,
        log: Log,
        transactions: SinkTransactions,
        identity: BatchIdentity,
        *,
        reached: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._log = log
        self._transactions = transactions
        self._identity = identity
        self._reached = reached
        self._clock = clock
        self._sweep = Sweep(transactions, identity)

    def commit(self, written: Sequence[TaskWritten]) -> Verdict:
        """Makes the rows of a batch visible, once. Raises if the batch has to be repeated."""
        new = transactions_of(written)
        try:
            newest = self._read()
            verdict = judge(newest, self._identity, written)
            decision = newest
            if verdict is Verdict.DECIDE:
                self._check_open(new)
                decision = Decision(self._identity.batch, self._identity.run, new)
                self._log.prepare(decision, newest)
        except Exception:
            # Nothing is decided, and only this driver could decide on its transactions.
            self._abort(new)
            raise
        if verdict is not Verdict.DECIDE:
            self._abort(new)
        if verdict is Verdict.LEAVE:
            return verdict
        assert decision is not None
        if verdict is Verdict.DECIDE:
            # After an error here, nobody but the next owner of the log knows the decision.
            self._log.commit()
            self._reached("has decided")
        self._finish(decision)
        self._reached("has committed")
        self._sweep.after(decision, self._log.still_owns if verdict is Verdict.DECIDE else None)
        return verdict

    def abort(self, written: Sequence[TaskWritten]) -> None:
        """Ends the transactions of a batch whose commit was never called."""
        self._abort(transactions_of(written))
        self._sweep.after(None, None)

    # Deciding

    def _read(self) -> Decision | None:
        self._log.own()
        self._reached("owns the log")
        newest = self._log.read()
        self._reached("has read the log")
        return newest

    def _check_open(self, transactions: Sequence[TaskTransaction]) -> None:
        """Refuses a batch whose transactions could time out before they are committed."""
        found = self._transactions.describe([one.handle.transactional_id for one in transactions])
        now_ms = int(self._clock() * 1000)
        for one in transactions:
            state = found[one.handle.transactional_id]
            if isinstance(state, KafkaError):
                raise ExactlyOnceError(f"The coordinator does not know the transaction of {one}: {state}")
            if not _is_open(one, state):
                raise ExactlyOnceError(
                    f"Batch {self._identity.batch} has to be repeated: the transaction of {one} was ended by "
                    f"its timeout ({state.timeout_ms} ms), or by another driver."
                )
            # Clocks differ, so the earlier start counts.
            used_ms = now_ms - min(one.started_ms, state.start_time_ms or one.started_ms)
            if used_ms > USABLE * state.timeout_ms:
                raise ExactlyOnceError(
                    f"Batch {self._identity.batch} has to be repeated: the transaction of {one} is open for "
                    f"{used_ms} ms, more than half of its timeout of {state.timeout_ms} ms. Make batches "
                    "smaller (maxOffsetsPerTrigger, targetBatchDuration), or raise the brokers' "
                    "transaction.max.timeout.ms."
                )

    # Ending

    def _finish(self, decision: Decision) -> None:
        """Commits the transactions of a decision, or finds that it cannot be kept."""
        if not decision.transactions:
            return
        results = self._transactions.commit([one.handle for one in decision.transactions])
        by_result = {
            result: [one for one in decision.transactions if results[one.handle] is result]
            for result in CommitResult
        }
        if by_result[CommitResult.UNFINISHED]:
            raise ExactlyOnceError(
                f"Batch {decision.batch} is decided, but the cluster did not confirm all of its "
                "transactions in time. Start the query again soon: it commits the rest, before they time out."
            )
        if len(by_result[CommitResult.ABORTED]) == len(decision.transactions):
            self._log.prepare(decision.revoked(), decision)
            self._log.commit()
            raise ExactlyOnceError(
                f"All transactions of batch {decision.batch} timed out before they were committed. No row of "
                "it is visible. The decision is revoked: start the query again, and it repeats the batch."
            )
        if by_result[CommitResult.ABORTED] or by_result[CommitResult.UNKNOWN]:
            raise _partly(decision, by_result)

    def _abort(self, transactions: Sequence[TaskTransaction]) -> None:
        """Aborts transactions that are not decided. Errors are only logged: others can end them, too."""
        try:
            handles = [one.handle for one in transactions]
            problems = self._transactions.abort(handles) if handles else []
        except (ClientError, KafkaError, OSError) as error:
            problems = [str(error)]
        for problem in problems:
            logger.warning("A transaction ends with its timeout, or with the next sweep: %s", problem)


def written_batch(messages: Sequence[object]) -> tuple[list[TaskWritten], BatchIdentity | None]:
    """The messages of tasks that have not failed, and their batch."""
    written = [message for message in messages if isinstance(message, TaskWritten)]
    return written, identity_of(written)


def _is_open(one: TaskTransaction, found: TransactionDescription) -> bool:
    return found.state == ONGOING and (found.producer_id, found.producer_epoch) == (
        one.handle.producer_id,
        one.handle.producer_epoch,
    )


def _partly(decision: Decision, by_result: dict[CommitResult, list[TaskTransaction]]) -> ExactlyOnceError:
    def listed(outcome: CommitResult) -> str:
        return ", ".join(map(str, by_result[outcome])) or "none"

    return ExactlyOnceError(
        f"Batch {decision.batch} is only partly visible, because some of its transactions timed out before "
        f"they were committed. Committed: {listed(CommitResult.COMMITTED)}. "
        f"Missing: {listed(CommitResult.ABORTED)}. Not known any more: {listed(CommitResult.UNKNOWN)}. "
        "To go on with duplicates and without a loss, run the query with "
        "deliveryGuarantee=at-least-once until it has repeated this batch, then set it back."
    )
