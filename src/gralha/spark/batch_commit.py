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
from gralha.spark.input_progress import InputProgress
from gralha.spark.sink_transactions import ONGOING, CommitResult, SinkTransactions
from gralha.spark.sweep import Sweep
from gralha.spark.transactional_ids import BatchIdentity

logger = logging.getLogger(__name__)

# How much of its timeout a transaction may have used when it is decided. The rest is for its commit.
USABLE: Final = 0.5
# The timeout of a transaction with two-phase commit (KIP-939), as coordinators tell it.
NO_TIMEOUT_MS: Final = 2**31 - 1


class Log(Protocol):
    """The log of decisions, as the protocol uses it."""

    def own(self) -> None: ...
    def read(self) -> Decision | None: ...
    def prepare(self, decision: Decision, after: Decision | None) -> None: ...
    def commit(self) -> None: ...


class BatchCommit:
    """Commits or aborts one batch of one sink."""

    def __init__(
        self,
        log: Log,
        transactions: SinkTransactions,
        identity: BatchIdentity,
        *,
        progress: Callable[[int], InputProgress | None] = lambda batch: None,
        reached: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._log = log
        self._transactions = transactions
        self._identity = identity
        self._progress = progress
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
                decision = self._prepare(new, newest)
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
        else:
            self._reached("finishes")
        self._finish(decision)
        self._reached("has committed")
        self._close(decision)
        return verdict

    def abort(self, written: Sequence[TaskWritten]) -> None:
        """Ends the transactions of a batch whose commit was never called."""
        self._abort(transactions_of(written))
        if not self._identity.is_batch_write:
            self._sweep.of_own_run(None)

    # Deciding

    def _read(self) -> Decision | None:
        self._log.own()
        self._reached("owns the log")
        newest = self._log.read()
        self._reached("has read the log")
        if newest is not None and newest.swept:
            # An earlier owner may be about to abort them. Afterwards it can do no harm.
            problems = self._transactions.abort(newest.swept)
            if problems:
                raise ExactlyOnceError(
                    f"Batch {self._identity.batch} has to be repeated: transactions of lost tasks could "
                    f"not be ended: {problems[0]}"
                )
        return newest

    def _prepare(self, new: tuple[TaskTransaction, ...], newest: Decision | None) -> Decision:
        """Writes a decision, without committing it. The decision before it is done by then."""
        if newest is not None and not newest.is_finished:
            self._finish(newest)
        self._check_open(new)
        progress = self._progress(self._identity.batch)
        decision = Decision(self._identity.batch, self._identity.run, new, progress=progress)
        self._log.prepare(decision, newest)
        self._reached("has prepared the decision")
        return decision

    def _check_open(self, transactions: Sequence[TaskTransaction]) -> None:
        """Refuses a batch whose transactions could time out before they are committed."""
        found = self._transactions.describe([one.handle.transactional_id for one in transactions])
        states: list[tuple[TaskTransaction, TransactionDescription]] = []
        for one in transactions:
            state = found[one.handle.transactional_id]
            if isinstance(state, KafkaError):
                raise ExactlyOnceError(f"The coordinator does not know the transaction of {one}: {state}")
            if not _is_open(one, state):
                raise ExactlyOnceError(
                    f"Batch {self._identity.batch} has to be repeated: the transaction of {one} was ended by "
                    f"its timeout ({state.timeout_ms} ms), or by another driver."
                )
            states.append((one, state))
        for timeout_ms in sorted({state.timeout_ms for _one, state in states} - {NO_TIMEOUT_MS}):
            self._check_age(timeout_ms, [pair for pair in states if pair[1].timeout_ms == timeout_ms])

    def _check_age(
        self, timeout_ms: int, states: Sequence[tuple[TaskTransaction, TransactionDescription]]
    ) -> None:
        """Coordinators say which transactions are open for too long, by the clocks that end them."""
        usable_ms = int(USABLE * timeout_ms)
        too_old = self._transactions.open_for_longer(usable_ms, [state.coordinator_id for _, state in states])
        if too_old is None:
            # Brokers before version 3.8. The clocks of this machine, the task and the broker may differ.
            now_ms = int(self._clock() * 1000)
            too_old = {
                one.handle.transactional_id
                for one, state in states
                if now_ms - min(one.started_ms, state.start_time_ms or one.started_ms) > usable_ms
            }
        for one, _state in states:
            if one.handle.transactional_id in too_old:
                raise ExactlyOnceError(
                    f"Batch {self._identity.batch} has to be repeated: the transaction of {one} is open for "
                    f"more than {usable_ms} ms, half of its timeout. Make batches smaller "
                    "(maxOffsetsPerTrigger, targetBatchDuration), or raise the brokers' "
                    "transaction.max.timeout.ms."
                )

    # Ending

    def _finish(self, decision: Decision) -> None:
        """Commits the transactions of a decision, or finds that it cannot be kept."""
        if not decision.transactions or decision.is_finished:
            return
        outcomes = self._transactions.commit(decision.transactions)
        by_outcome = {
            outcome: [one for one in decision.transactions if outcomes[one] is outcome]
            for outcome in CommitResult
        }
        if by_outcome[CommitResult.UNFINISHED]:
            raise ExactlyOnceError(
                f"Batch {decision.batch} is decided, but the cluster did not confirm all of its "
                "transactions in time. Start the query again soon: it commits the rest, before they time out."
            )
        if len(by_outcome[CommitResult.ABORTED]) == len(decision.transactions):
            self._log.prepare(decision.revoked(), decision)
            self._log.commit()
            raise ExactlyOnceError(
                f"All transactions of batch {decision.batch} timed out before they were committed. No row of "
                f"it is visible. The decision is revoked: {self._repeated(decision.batch)}"
            )
        if by_outcome[CommitResult.ABORTED] or by_outcome[CommitResult.UNKNOWN]:
            raise _partly(decision, by_outcome)

    def _repeated(self, batch: int) -> str:
        """How to have a batch repeated, for a person."""
        if self._identity.is_batch_write:
            return f"write txnVersion {batch} again, before any later one."
        return "start the query again, and it repeats the batch."

    def _close(self, decision: Decision) -> None:
        """Records that a decision is done, and sweeps. The next owner of the log does it after an error."""
        lost = self._sweep.open_handles(self._sweep.of_own_run(decision))
        if decision.is_finished and not lost:
            return
        try:
            self._log.prepare(decision.done(lost), decision)
            self._log.commit()
        except (ClientError, KafkaError, OSError) as error:
            logger.warning("Batch %d is committed, but that could not be recorded: %s", decision.batch, error)
            return
        self._reached("has announced the sweep")
        self._sweep.of_others(lost)

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
    """Returns True if all that the task has written is in an open transaction.

    In transactions v1 an abort leaves the epoch. A task that does not know of it could begin another
    transaction with the rest of its rows. That one lacks the partitions that were written before.
    """
    is_same = (found.producer_id, found.producer_epoch) == (one.handle.producer_id, one.handle.producer_epoch)
    return found.state == ONGOING and is_same and set(one.partitions) <= set(map(str, found.partitions))


def _partly(decision: Decision, by_outcome: dict[CommitResult, list[TaskTransaction]]) -> ExactlyOnceError:
    def listed(outcome: CommitResult) -> str:
        return ", ".join(map(str, by_outcome[outcome])) or "none"

    if not by_outcome[CommitResult.ABORTED]:
        return ExactlyOnceError(
            f"Nobody knows how some transactions of batch {decision.batch} ended: the coordinators have "
            "forgotten them (transactional.id.expiration.ms), and the topics have deleted their records. "
            f"Committed: {listed(CommitResult.COMMITTED)}. Not known: {listed(CommitResult.UNKNOWN)}. "
            "To go on without a loss and perhaps with duplicates, run the query with "
            "deliveryGuarantee=at-least-once until it has repeated this batch, then set it back. "
            "To go on without duplicates and perhaps with a loss, "
            "begin with a new checkpoint after this batch."
        )
    return ExactlyOnceError(
        f"Batch {decision.batch} is only partly visible, because some of its transactions timed out before "
        f"they were committed. Committed: {listed(CommitResult.COMMITTED)}. "
        f"Missing: {listed(CommitResult.ABORTED)}. Not known any more: {listed(CommitResult.UNKNOWN)}. "
        "To go on with duplicates and without a loss, run the query with "
        "deliveryGuarantee=at-least-once until it has repeated this batch, then set it back."
    )
