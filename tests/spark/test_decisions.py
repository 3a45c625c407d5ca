"""The pure parts of exactly-once delivery: ids and decisions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.client.transaction_state import TransactionHandle
from gralha.client.transaction_values import TransactionDescription
from gralha.client.values import TopicPartition
from gralha.protocol.errors import ErrorCode, error_for
from gralha.spark.decisions import (
    Decision,
    ExactlyOnceError,
    FirstRecord,
    TaskTransaction,
    TaskWritten,
    Verdict,
    identity_of,
    is_decided,
    judge,
)
from gralha.spark.input_progress import InputProgress
from gralha.spark.sink_transactions import has_ended
from gralha.spark.transactional_ids import (
    VERSIONS,
    BatchIdentity,
    EndedIds,
    LateTaskError,
    SinkKey,
    Slots,
)

KEY = SinkKey("query", "totals")


def batch(number: int, run: str = "run") -> BatchIdentity:
    return BatchIdentity(KEY, number, run)


# Ids


def test_ids_have_the_query_the_sink_the_run_and_the_slot() -> None:
    slots = Slots("p1")
    assert [slots.take(batch(4)) for _ in range(2)] == [
        "gralha.query.totals.run.p1.0.0",
        "gralha.query.totals.run.p1.0.1",
    ]
    assert slots.take(batch(5)) == "gralha.query.totals.run.p1.1.0"
    assert slots.take(batch(6)) == "gralha.query.totals.run.p1.0.0"
    assert slots.take(batch(6, "other")) == "gralha.query.totals.other.p1.0.0"


@given(st.lists(st.integers(0, 6), max_size=40))
def test_an_id_is_used_again_only_when_the_batch_between_has_a_decision(batches: list[int]) -> None:
    slots = Slots("p")
    used: dict[str, int] = {}
    newest = -1
    for number in batches:
        if number < newest:
            with pytest.raises(LateTaskError, match=f"belongs to batch {number}, but batch {newest}"):
                slots.take(batch(number))
            continue
        newest = number
        transactional_id = slots.take(batch(number))
        assert used.get(transactional_id, -2) <= number - 2
        used[transactional_id] = number


def test_only_the_first_batch_of_a_run_may_be_a_repeated_one() -> None:
    slots = Slots("p")
    assert slots.may_repeat(batch(7))
    slots.take(batch(7))
    assert slots.may_repeat(batch(7))
    assert not slots.may_repeat(batch(8))
    assert slots.may_repeat(batch(8, "other"))


name = st.text("ab.%*", min_size=1, max_size=4)


@given(st.tuples(name, name), st.tuples(name, name))
def test_no_prefix_of_a_sink_begins_an_id_of_another_one(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    first, second = SinkKey(*one), SinkKey(*other)
    assert first == second or not second.driver_id.startswith(first.prefix)


def test_batch_writes_use_an_id_again_when_its_transaction_has_ended() -> None:
    ids, identity = EndedIds("p"), batch(3, VERSIONS)
    assert identity.is_batch_write
    assert not batch(3).is_batch_write

    def take(*ended: str) -> str:
        chosen = ids.take(identity, lambda last: {one.transactional_id for one in last} & set(ended))
        ids.used(KEY, TransactionHandle(chosen, 1, 0, True))
        return chosen

    first, second = take(), take()
    assert [first, second] == ["gralha.query.totals.versions.p.0", "gralha.query.totals.versions.p.1"]
    assert take(second) == second
    assert take() == "gralha.query.totals.versions.p.2"


HANDLE = TransactionHandle("id", producer_id=7, producer_epoch=3, is_v2=True)


@pytest.mark.parametrize(
    ("producer_id", "epoch", "state", "is_over"),
    [
        (7, 3, "CompleteCommit", True),
        (7, 4, "CompleteAbort", True),
        (7, 4, "Empty", True),
        (7, 3, "Ongoing", False),
        (7, 3, "PrepareCommit", False),
        # An old coordinator that does not know of the transaction yet.
        (7, 3, "Empty", False),
        (7, 2, "CompleteCommit", False),
        (6, 9, "CompleteCommit", False),
    ],
)
def test_a_transaction_has_ended_if_the_coordinator_knows_it(
    producer_id: int, epoch: int, state: str, is_over: bool
) -> None:
    found = TransactionDescription(1, "id", producer_id, epoch, state, 1000, None, [])
    assert has_ended(HANDLE, found) is is_over
    assert not has_ended(HANDLE, error_for(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND))


# Decisions


def transaction(task: int) -> TaskTransaction:
    return TaskTransaction(
        TransactionHandle(f"id-{task}", 7, 3, True),
        task,
        1_700_000_000_000,
        ("t-0", "t-1"),
        (FirstRecord(TopicPartition("t", 0), 12),),
    )


PROGRESS = InputProgress("group", {TopicPartition("s", 0): 5}, {TopicPartition("s", 0): 9})


DECISION = Decision(3, "run", (transaction(0), transaction(4)), progress=PROGRESS)


def test_a_decision_survives_its_record() -> None:
    for decision in (DECISION, DECISION.revoked(), DECISION.done([HANDLE]), Decision(0, "run", ())):
        assert Decision.from_json(decision.to_json()) == decision
    assert str(transaction(4)) == "task 4 (t-0, t-1)"


def test_the_group_moves_with_a_decision_and_back_if_it_is_revoked() -> None:
    assert DECISION.group_offsets == PROGRESS.end
    assert DECISION.revoked().group_offsets == PROGRESS.begin
    assert DECISION.done(()).group_offsets == {}


@pytest.mark.parametrize(
    ("newest", "verdict"),
    [
        (None, Verdict.DECIDE),
        (Decision(2, "run", ()), Verdict.DECIDE),
        (DECISION, Verdict.FINISH),
        (DECISION.done(()), Verdict.FINISH),
        (DECISION.revoked(), Verdict.DECIDE),
        (Decision(4, "run", ()), Verdict.LEAVE),
        (Decision(4, "run", (), "revoked"), Verdict.LEAVE),
    ],
)
def test_the_verdict_about_a_batch(newest: Decision | None, verdict: Verdict) -> None:
    written = [TaskWritten(identity=batch(3))]
    assert judge(newest, batch(3), written) is verdict
    assert is_decided(newest, 3) == (verdict is not Verdict.DECIDE)
    repeated = [*written, TaskWritten(identity=batch(3), is_repeated=True)]
    if verdict is Verdict.DECIDE:
        with pytest.raises(ExactlyOnceError, match="was revoked while its tasks ran"):
            judge(newest, batch(3), repeated)
    else:
        assert judge(newest, batch(3), repeated) is verdict


def test_tasks_of_one_batch_agree_on_it() -> None:
    assert identity_of([]) is None
    assert identity_of([TaskWritten(identity=batch(1)), TaskWritten(identity=batch(1))]) == batch(1)
    with pytest.raises(ExactlyOnceError, match="name different batches"):
        identity_of([TaskWritten(identity=batch(1)), TaskWritten(identity=batch(2))])
