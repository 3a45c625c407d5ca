"""The protocol of the exactly-once sink on a cluster, without Spark: drivers die at each step, two of them
are alive, transactions time out. Whatever happens, readers of committed records see each row once.

On our own brokers and on Apache Kafka 4.3, with transactions v1 and v2.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.errors import ClientError
from gralha.client.settings import ClientSettings
from gralha.client.transactional_calls import TransactionalCalls
from gralha.client.values import NewTopic
from gralha.spark import sink
from gralha.spark.batch_commit import BatchCommit
from gralha.spark.decision_log import DecisionLog
from gralha.spark.decisions import REVOKED, Decision, ExactlyOnceError, TaskWritten, transactions_of
from gralha.spark.sink_transactions import SinkTransactions
from gralha.spark.task_writers import nothing
from tests.client.live import eventually
from tests.client.test_transactional_writer import CLUSTERS, VERSIONS, downgrade
from tests.spark.exactly_once import (
    Died,
    Run,
    committed,
    dies_when,
    newest_decision,
    rows_of,
    states,
    with_short_timeout,
)

QUICK_TIMEOUTS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "50"}
NewRun = Callable[..., Run]


@pytest.fixture(
    scope="module", params=[(kind, version) for kind in CLUSTERS for version in VERSIONS], ids=str
)
def cluster(request: pytest.FixtureRequest) -> Iterator[str]:
    kind, version = request.param
    with CLUSTERS[kind](config=QUICK_TIMEOUTS) as running:
        if version == 1:
            downgrade(running.bootstrap)
        yield running.bootstrap


@pytest.fixture
def new_run(cluster: str, new_name: Callable[[str], str]) -> NewRun:
    """Runs of one query that writes to a topic of this test."""
    topic, query = new_name("output"), new_name("query")
    with Admin(Cluster(cluster)) as admin:
        assert admin.create_topics([NewTopic(topic, 2, 1)]) == {topic: None}

    def run(reached: Callable[[str], None] = nothing) -> Run:
        return Run(cluster, topic, query, reached)

    return run


def seen(run: Run) -> list[str]:
    return committed(run.bootstrap, run.topic)


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


@pytest.mark.parametrize("point", ["owns the log", "has read the log", "has decided", "has committed"])
def test_a_driver_dies(new_run: NewRun, point: str) -> None:
    first, second = new_run(dies_when(point)), new_run()
    lost = first.tasks(0)
    with pytest.raises(Died):
        first.commit(0, lost)
    second.batch(0)
    second.batch(1)
    assert seen(second) == rows_of(0) + rows_of(1)
    assert not {"Ongoing"} & set(states(second.bootstrap, lost))


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
                run.writer().commit(list(written[run.run, batch]), batch)
            except ClientError:
                run.writer().abort(list(written[run.run, batch]), batch)
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
    run = new_run()
    written = run.tasks(0)
    an_hour_later = functools.partial(BatchCommit, clock=lambda: time.time() + 3600)
    monkeypatch.setattr(sink, "BatchCommit", an_hour_later)
    with pytest.raises(
        ExactlyOnceError, match=r"is open for 3\d+ ms, more than half of its timeout of 900000 ms"
    ):
        run.commit(0, written)
    assert newest_decision(run) is None


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
    decision = Decision(0, run.run, transactions_of(short))
    log = DecisionLog(ClientSettings(run.bootstrap), run.key)
    log.own()
    log.prepare(decision, log.read())
    log.commit()
    log.close()
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


# Sweeps


def test_lost_tasks_are_swept(new_run: NewRun) -> None:
    dead, run = new_run(), new_run()
    speculative = run.task(0, 1, "speculative")
    of_a_dead_run = dead.tasks(0)
    run.batch(0)
    assert set(states(run.bootstrap, [speculative])) == {"Empty"}  # fenced
    assert set(states(run.bootstrap, of_a_dead_run)) <= {"PrepareAbort", "CompleteAbort"}
    assert seen(run) == rows_of(0)


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
