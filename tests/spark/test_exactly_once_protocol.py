"""The protocol of the exactly-once sink on a cluster, without Spark: drivers die at each step, two of them
are alive, transactions time out. Whatever happens, readers of committed records see each row once.

On our own brokers and on Apache Kafka 4.3, with transactions v1 and v2.
"""

from __future__ import annotations

import functools
import threading
import time
import uuid
from dataclasses import replace
from typing import Any

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Broker, Cluster
from gralha.client.errors import ClientError, ConnectionFailedError
from gralha.client.settings import ClientSettings
from gralha.client.transaction_calls import TransactionCalls
from gralha.client.transaction_outcomes import LoggedOutcome, OutcomeReader
from gralha.client.transaction_state import TransactionHandle
from gralha.client.transactional_calls import TransactionalCalls
from gralha.protocol.messages.list_transactions import ListTransactionsRequest
from gralha.spark import batch_commit, sink, transactional_ids
from gralha.spark.batch_commit import BatchCommit
from gralha.spark.decision_log import DecisionLog
from gralha.spark.decisions import (
    DONE,
    REVOKED,
    Decision,
    ExactlyOnceError,
    TaskTransaction,
    TaskWritten,
    transactions_of,
)
from gralha.spark.sink_transactions import SinkTransactions
from gralha.spark.sweep import Sweep
from gralha.spark.transactional_ids import SinkKey
from tests.client.live import eventually
from tests.spark.exactly_once import (
    Died,
    Run,
    dies_when,
    newest_decision,
    rows_of,
    states,
    with_short_timeout,
)
from tests.spark.protocol_stage import POINTS, NewRun, cluster, decide, new_program, new_run, seen

__all__ = ["cluster", "new_program", "new_run"]


def test_batches_without_a_failure(new_run: NewRun) -> None:
    run = new_run()
    for batch in range(5):
        run.batch(batch)
    assert seen(run) == sorted(row for batch in range(5) for row in rows_of(batch))


def test_a_batch_without_rows_is_decided_too(new_run: NewRun) -> None:
    run = new_run()
    run.commit(0, [run.task(0, 0)])
    assert eventually(lambda: newest_decision(run) is not None)
    newest = newest_decision(run)
    assert newest is not None
    assert (newest.batch, newest.transactions) == (0, ())


def test_a_repeated_batch_is_left_out(new_run: NewRun) -> None:
    new_run().batch(0)
    again = new_run()
    # The marker of the decision's transaction may come a moment later.
    assert eventually(lambda: newest_decision(again) is not None)
    written = again.tasks(0)
    assert [task.is_repeated for task in written] == [True, True, False]
    again.commit(0, written)
    again.batch(1)
    assert seen(again) == rows_of(0) + rows_of(1)


def test_a_failed_task_leaves_no_row(new_run: NewRun) -> None:
    failing = new_run(dies_when("has written"))
    with pytest.raises(Died):
        failing.task(0, 0, "lost", "lost")
    new_run().batch(0)
    assert seen(failing) == rows_of(0)


@pytest.mark.parametrize("point", POINTS)
def test_a_driver_dies(new_run: NewRun, point: str) -> None:
    first, second = new_run(dies_when(point)), new_run()
    lost = first.tasks(0)
    with pytest.raises(Died):
        first.commit(0, lost)
    second.batch(0)
    second.batch(1)
    assert seen(second) == rows_of(0) + rows_of(1)
    assert not {"Ongoing"} & set(states(second.bootstrap, lost))


def test_a_driver_dies_while_it_finishes_the_batch_of_another_one(new_run: NewRun) -> None:
    first, second, third = new_run(dies_when("has decided")), new_run(dies_when("finishes")), new_run()
    with pytest.raises(Died):
        first.batch(0)
    with pytest.raises(Died):
        second.batch(0)
    third.batch(0)
    assert seen(third) == rows_of(0)


def test_a_decision_is_finished_before_the_next_one(new_run: NewRun) -> None:
    """A program that does not repeat its last write must not leave it invisible."""
    first, second = new_run(dies_when("has decided")), new_run()
    with pytest.raises(Died):
        first.batch(0)
    second.batch(1)
    assert seen(second) == rows_of(0) + rows_of(1)


def test_a_driver_dies_between_two_commits(new_run: NewRun) -> None:
    first, second = new_run(dies_when("has decided")), new_run()
    written = first.tasks(0)
    with pytest.raises(Died):
        first.commit(0, written)
    calls = TransactionalCalls(Cluster(first.bootstrap))
    calls.end_transaction(transactions_of(written)[0].handle, committed=True)
    calls.cluster.close()
    second.batch(0)
    assert seen(second) == rows_of(0)


def test_two_drivers_of_one_query(new_run: NewRun) -> None:
    """The older one has read the log, but is slow. The newer one decides, and sweeps its transactions."""
    newer = new_run()
    newer_tasks = newer.tasks(0)
    older = new_run(lambda step: newer.commit(0, newer_tasks) if step == "has read the log" else None)
    with pytest.raises(ExactlyOnceError, match=r"Batch 0 has to be repeated.* or by another driver"):
        older.batch(0)
    newer.batch(1)
    assert seen(newer) == rows_of(0) + rows_of(1)


def test_the_older_driver_cannot_decide_any_more(new_run: NewRun) -> None:
    """The newer one dies right after its decision, so the transactions of the older one are still open."""
    newer, third = new_run(dies_when("has decided")), new_run()
    newer_tasks = newer.tasks(0)

    def newer_comes_between(step: str) -> None:
        if step == "has read the log":
            with pytest.raises(Died):
                newer.commit(0, newer_tasks)

    older = new_run(newer_comes_between)
    with pytest.raises(ClientError, match=r"newer (producer|epoch)"):
        older.batch(0)
    third.batch(0)
    third.batch(1)
    assert seen(third) == rows_of(0) + rows_of(1)


def test_two_drivers_and_the_newer_one_has_decided(new_run: NewRun) -> None:
    older, newer = new_run(), new_run()
    older_tasks = older.tasks(0)
    newer.batch(0)
    older.commit(0, older_tasks)
    assert seen(newer) == rows_of(0)
    newer.batch(1)
    with pytest.raises(ExactlyOnceError, match="Batch 0 was written already, and later ones, too"):
        older.batch(0)
    assert seen(newer) == rows_of(0) + rows_of(1)


def test_drivers_that_race(new_run: NewRun) -> None:
    """Three drivers commit the same batches at the same time, as fast as they can."""
    runs = [new_run() for _ in range(3)]
    done = []
    written = {(run.run, batch): run.tasks(batch) for batch in range(2) for run in runs}

    def drive(run: Run) -> None:
        for batch in range(2):
            try:
                run.commit(batch, written[run.run, batch])
            except ClientError:
                run.abort(batch, [*written[run.run, batch]])
                return
        done.append(run)

    threads = [threading.Thread(target=drive, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = new_run()
    newest = newest_decision(last)
    for batch in range(0 if newest is None else newest.batch, 3):
        last.batch(batch)
    assert seen(last) == [row for batch in range(3) for row in rows_of(batch)]


def test_a_decision_after_an_old_answer_is_not_committed(new_run: NewRun) -> None:
    """A broker that does not know yet that it leads no longer may answer with an old log."""
    run = new_run()
    run.batch(0)
    log = DecisionLog(ClientSettings(run.bootstrap), run.key)
    log.own()
    with pytest.raises(ClientError, match="was not up to date when batch 0 was about to be decided"):
        log.prepare(Decision(0, "other", ()), None)
    log.close()
    assert eventually(lambda: newest_decision(run) is not None)
    newest = newest_decision(run)
    assert newest is not None
    assert newest.run == run.run


# Failed commits


def test_a_failed_commit_aborts_its_transactions(new_run: NewRun) -> None:
    run = new_run()
    written = run.tasks(0)
    run.abort(0, [written[0], None, written[2]])
    # The other task has finished, but Spark did not hand over its message.
    assert "Ongoing" not in states(run.bootstrap, written)
    new_run().batch(0)
    assert seen(run) == rows_of(0)


def test_an_abort_leaves_decided_transactions_alone(new_run: NewRun) -> None:
    first = new_run(dies_when("has decided"))
    written = first.tasks(0)
    with pytest.raises(Died):
        first.commit(0, written)
    first.abort(0, [*written])
    assert states(first.bootstrap, written) == ["Ongoing", "Ongoing"]
    second = new_run()
    second.batch(0)
    assert seen(second) == rows_of(0)


# Time


def ended(run: Run, written: list[TaskWritten]) -> bool:
    return eventually(lambda: set(states(run.bootstrap, written)) == {"CompleteAbort"}, 30.0)


def test_a_transaction_that_timed_out_is_not_decided(new_run: NewRun) -> None:
    run = new_run()
    written = run.tasks(0)
    short = with_short_timeout(run, written[0], *rows_of(0)[:2])
    assert ended(run, [short])
    with pytest.raises(
        ExactlyOnceError, match=r"Batch 0 has to be repeated: the transaction of task 0 \(output"
    ):
        run.commit(0, [short, *written[1:]])
    run.abort(0, [short, *written[1:]])
    assert newest_decision(run) is None
    again = new_run()
    again.batch(0)
    assert seen(again) == rows_of(0)


def test_a_batch_that_took_half_of_the_timeout_is_not_decided(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinators know by their clocks how long a transaction is open. The driver's clock is wrong."""
    run = new_run()
    written = run.tasks(0)
    monkeypatch.setattr(batch_commit, "USABLE", 0.0)
    assert eventually(lambda: too_old(run) != [])
    monkeypatch.setattr(sink, "BatchCommit", functools.partial(BatchCommit, clock=lambda: 0.0))
    with pytest.raises(ExactlyOnceError, match=r"transaction of task 0 \(.*\) is open for more than 0 ms"):
        run.commit(0, written)
    assert newest_decision(run) is None


def too_old(run: Run) -> list[str]:
    """The ids whose transactions are open for longer than a millisecond."""
    transactions = SinkTransactions(ClientSettings(run.bootstrap), run.key)
    with Admin(Cluster(run.bootstrap)) as admin:
        brokers = admin.cluster.brokers()
    try:
        return sorted(transactions.open_for_longer(1, brokers) or ())
    finally:
        transactions.close()


def test_clocks_that_differ_do_not_matter(new_run: NewRun, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run()
    an_hour_later = functools.partial(BatchCommit, clock=lambda: time.time() + 3600)
    monkeypatch.setattr(sink, "BatchCommit", an_hour_later)
    run.batch(0)
    assert seen(run) == rows_of(0)


def decided_too_late(run: Run, *, all_of_them: bool) -> list[TaskWritten]:
    """A batch whose driver dies after the decision, and whose transactions then time out, some or all."""
    rows, written = rows_of(0), run.tasks(0)
    thrown_away = transactions_of(written[: 2 if all_of_them else 1])
    calls = TransactionalCalls(Cluster(run.bootstrap))
    calls.end_transactions([one.handle for one in thrown_away], committed=False)
    calls.cluster.close()
    short = [with_short_timeout(run, written[0], *rows[:2])]
    if all_of_them:
        short.append(with_short_timeout(run, written[1], *rows[2:]))
    else:
        short.append(written[1])
    identity = written[0].identity
    assert identity is not None
    decide(run, 0, transactions_of(short))
    assert ended(run, short[:1])
    return short


def test_a_decision_whose_transactions_all_timed_out_is_revoked(new_run: NewRun) -> None:
    first, second, third = new_run(), new_run(), new_run()
    assert ended(first, decided_too_late(first, all_of_them=True))
    written = second.tasks(0)
    assert [task.is_repeated for task in written] == [True, True, False]
    with pytest.raises(ExactlyOnceError, match="The decision is revoked: start the query again"):
        second.commit(0, written)
    # Readers see the record when its marker is written, a moment after the driver's commit.
    assert eventually(lambda: getattr(newest_decision(second), "state", None) == REVOKED)
    # Tasks that had found the decision before it was revoked must not be counted.
    with pytest.raises(ExactlyOnceError, match="was revoked while its tasks ran"):
        third.commit(0, written)
    third.batch(0)
    assert seen(third) == rows_of(0)


def test_a_decision_of_which_a_part_timed_out_is_an_error_that_names_it(new_run: NewRun) -> None:
    first, second = new_run(), new_run()
    decided_too_late(first, all_of_them=False)
    for _ in range(2):
        with pytest.raises(
            ExactlyOnceError,
            match=r"Batch 0 is only partly visible.*Committed: task 1 \(output.*Missing: task 0 \(output",
        ):
            second.batch(0)
    assert seen(first) == rows_of(0)[2:]


def repeated(run: Run) -> None:
    """Batch 0, as Spark repeats it. Its tasks may begin before they can see that the decision is revoked,
    because a coordinator answers before the markers are written.
    """
    try:
        run.batch(0)
    except ExactlyOnceError as error:
        if "was revoked while its tasks ran: repeat the batch" not in str(error):
            raise
        run.batch(0)


def test_a_decided_batch_that_was_terminated_by_force_is_revoked(new_run: NewRun) -> None:
    """As kafka-transactions does it: the ids are empty afterwards, with newer epochs."""
    first, second, third = new_run(dies_when("has decided")), new_run(), new_run()
    written = first.tasks(0)
    with pytest.raises(Died):
        first.commit(0, written)
    with Admin(Cluster(first.bootstrap)) as admin:
        for one in transactions_of(written):
            admin.fence_producer(one.handle.transactional_id)
    with pytest.raises(ExactlyOnceError, match="The decision is revoked"):
        second.batch(0)
    repeated(third)
    assert seen(third) == rows_of(0)


def test_a_decision_is_revoked_by_the_driver_that_made_it(new_run: NewRun) -> None:
    """Its transactions are terminated between the decision and their commit."""
    written: list[TaskWritten] = []

    def terminate(step: str) -> None:
        if step == "has decided":
            with Admin(Cluster(first.bootstrap)) as admin:
                for one in transactions_of(written):
                    admin.fence_producer(one.handle.transactional_id)

    first, second = new_run(terminate), new_run()
    written += first.tasks(0)
    with pytest.raises(ExactlyOnceError, match="The decision is revoked"):
        first.commit(0, written)
    first.abort(0, [*written])
    repeated(second)
    assert seen(second) == rows_of(0)


def forgotten(written: list[TaskWritten], **changes: Any) -> tuple[TaskTransaction, ...]:
    """The same transactions under ids that no coordinator knows, as if the real ones had expired."""
    return tuple(
        replace(one, handle=one.handle._replace(transactional_id=f"gone-{uuid.uuid4().hex}"), **changes)
        for one in transactions_of(written)
    )


@pytest.mark.parametrize("is_committed", [True, False])
def test_the_partitions_know_the_end_of_transactions_whose_ids_have_expired(
    new_run: NewRun, is_committed: bool
) -> None:
    first, second, third = new_run(), new_run(), new_run()
    written = first.tasks(0)
    calls = TransactionalCalls(Cluster(first.bootstrap))
    calls.end_transactions([one.handle for one in transactions_of(written)], committed=is_committed)
    calls.cluster.close()
    decide(first, 0, forgotten(written))
    if not is_committed:
        with pytest.raises(ExactlyOnceError, match="The decision is revoked"):
            second.batch(0)
    third.batch(0)
    assert seen(third) == rows_of(0)


@pytest.mark.parametrize("point", ["its coordinator", "nobody"])
def test_a_sink_that_may_not_read_its_topic_asks_the_coordinator(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """The right to read is not there, so the partitions cannot tell how the transactions ended."""
    first, second, third = new_run(), new_run(), new_run()
    short = decided_too_late(first, all_of_them=True)
    assert ended(first, short)

    def refused(*_arguments: object) -> LoggedOutcome:
        raise ClientError("Access to the topic is denied")

    monkeypatch.setattr(OutcomeReader, "outcome", refused)
    if point == "nobody":
        monkeypatch.setattr(SinkTransactions, "_is_aborted", lambda *_arguments: False)
        with pytest.raises(ExactlyOnceError, match="the cluster did not confirm all of its transactions"):
            second.batch(0)
        return
    with pytest.raises(ExactlyOnceError, match="The decision is revoked"):
        second.batch(0)
    third.batch(0)
    assert seen(third) == rows_of(0)


def test_a_terminated_version_has_to_be_written_again(new_program: NewRun) -> None:
    first, second, third = new_program(dies_when("has decided")), new_program(), new_program()
    written = first.tasks(1)
    with pytest.raises(Died):
        first.commit(1, written)
    with Admin(Cluster(first.bootstrap)) as admin:
        for one in transactions_of(written):
            admin.fence_producer(one.handle.transactional_id)
    with pytest.raises(ExactlyOnceError, match="write txnVersion 1 again, before any later one"):
        second.batch(2)
    third.batch(1)
    third.batch(2)
    assert seen(third) == rows_of(1) + rows_of(2)


def test_nobody_knows_the_end_of_a_transaction(new_run: NewRun) -> None:
    first, second = new_run(), new_run()
    written = first.tasks(0)
    decide(first, 0, forgotten(written, first_records=()))
    with pytest.raises(ExactlyOnceError, match=r"Nobody knows how .* of batch 0 ended.*Not known: task 0 \("):
        second.batch(0)


def test_a_batch_that_is_done_needs_no_coordinator(new_run: NewRun, monkeypatch: pytest.MonkeyPatch) -> None:
    run, again = new_run(), new_run()
    run.batch(0)
    newest = newest_decision(run)
    assert newest is not None
    assert (newest.state, newest.transactions) == (DONE, ())
    monkeypatch.setattr(TransactionalCalls, "end_transactions", None)
    again.commit(0, [again.task(0, 0)])
    assert seen(run) == rows_of(0)


# Batch writes


def ids_of(bootstrap: str, key: SinkKey) -> list[str]:
    with Admin(Cluster(bootstrap)) as admin:
        found = admin.list_transactions()
    return [
        one.transactional_id
        for listing in found.values()
        for one in listing
        if one.transactional_id.startswith(key.prefix) and one.transactional_id != key.driver_id
    ]


def test_batch_writes_use_their_ids_again(new_program: NewRun) -> None:
    transactional_ids._ids.clear()
    program = new_program()
    for version in range(6):
        program.batch(version)
    assert seen(program) == sorted(row for version in range(6) for row in rows_of(version))
    assert len(ids_of(program.bootstrap, program.key)) == 2


def test_a_batch_write_that_dies_is_finished_by_the_next_version(new_program: NewRun) -> None:
    first, second = new_program(dies_when("has decided")), new_program()
    with pytest.raises(Died):
        first.commit(1, first.tasks(1))
    second.batch(2)
    assert seen(second) == rows_of(1) + rows_of(2)


def test_a_task_of_a_batch_write_that_is_lost_is_swept(new_program: NewRun) -> None:
    transactional_ids._ids.clear()
    dead, program = new_program(), new_program()
    lost = dead.task(1, 0, "lost")
    program.batch(2)
    assert set(states(program.bootstrap, [lost])) <= {"PrepareAbort", "CompleteAbort"}
    assert seen(program) == rows_of(2)


# Sweeps


def test_lost_tasks_are_swept(new_run: NewRun) -> None:
    dead, run = new_run(), new_run()
    speculative = run.task(0, 1, "speculative")
    of_a_dead_run = dead.tasks(0)
    run.batch(0)
    assert set(states(run.bootstrap, [speculative])) == {"Empty"}  # fenced
    assert set(states(run.bootstrap, of_a_dead_run)) <= {"PrepareAbort", "CompleteAbort"}
    assert seen(run) == rows_of(0)


def test_a_sweep_that_was_announced_comes_late(new_run: NewRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has announced the transactions of a batch that is written at the same time, and then it hangs."""
    slow, other, last = new_run(), new_run(), new_run()
    written = other.tasks(1)
    late: list[list[TransactionHandle]] = []
    monkeypatch.setattr(Sweep, "of_others", lambda _self, announced: late.append(announced))
    slow.batch(0)
    monkeypatch.undo()
    assert len(late[0]) == 2
    # If this were decided, the late sweep would abort it.
    with pytest.raises(ExactlyOnceError, match=r"by its timeout .* or by another driver"):
        other.commit(1, written)
    last.batch(1)
    assert seen(last) == rows_of(0) + rows_of(1)


def test_a_broker_that_does_not_answer_does_not_stop_the_sweep(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = new_run()
    speculative = run.task(0, 1, "speculative")
    asking = TransactionCalls._list_transactions_on

    def ask(self: TransactionCalls, broker: int, request: ListTransactionsRequest) -> Any:
        if broker == 77:
            raise ConnectionFailedError("gone")
        return asking(self, broker, request)

    monkeypatch.setattr(TransactionCalls, "_list_transactions_on", ask)
    brokers = Cluster.brokers
    monkeypatch.setattr(Cluster, "brokers", lambda self: {**brokers(self), 77: Broker(77, "localhost", 1)})
    run.batch(0)
    assert set(states(run.bootstrap, [speculative])) == {"Empty"}
    assert "Broker 77 does not list its transactions" in caplog.text


def test_a_driver_that_lost_the_log_does_not_sweep_other_runs(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slow driver lists transactions, and another one owns the log before it goes on."""
    slow, other = new_run(), new_run()
    written = other.tasks(1)
    listing = SinkTransactions.ongoing

    def ongoing(self: SinkTransactions) -> list[str]:
        found = listing(self)
        monkeypatch.setattr(SinkTransactions, "ongoing", listing)
        with pytest.raises(Died):
            new_run(dies_when("owns the log")).commit(0, other.tasks(0))
        return found

    monkeypatch.setattr(SinkTransactions, "ongoing", ongoing)
    slow.batch(0)
    assert states(slow.bootstrap, written) == ["Ongoing", "Ongoing"]
