"""The model of `test_model.py` works: bugs that are put back are noticed, by the check that must notice them.

Each bug has a few steps that show it. Without the bug nothing is noticed in these steps.
"""

import traceback
from collections.abc import Callable
from typing import Any

import pytest
from tests.transactions import harness, test_model
from tests.transactions.harness import A0, TIMEOUT_MS
from tests.transactions.test_model import Fate, TransactionsModel

from gralha.coordination.decision import Decision
from gralha.transactions import deciding, records
from gralha.transactions.deciding import ProducerIdentity
from gralha.transactions.shard import TransactionShard
from gralha.transactions.transaction import PREPARED, State, Transaction

PutBack = Callable[[pytest.MonkeyPatch], None]
Step = Callable[[TransactionsModel], None]
OLD, NEWEST = 2, -1  # the producers of the model: the first one, and the one that has begun last


def begin(model: TransactionsModel) -> None:
    model.begin(0, False, False, Fate.ANSWERED)


def keep(model: TransactionsModel) -> None:
    model.keep(1, Fate.ANSWERED)


def begin_with_two_phases(model: TransactionsModel) -> None:
    model.begin(1, False, True, Fate.ANSWERED)


def add(model: TransactionsModel, number: int = NEWEST) -> None:
    model.add(number, (A0,), Fate.ANSWERED)


def commit(model: TransactionsModel, number: int = NEWEST, fate: Fate = Fate.ANSWERED) -> None:
    model.end(number, True, fate)


def write_markers(model: TransactionsModel) -> None:
    model.write_markers(1)


def commit_again(model: TransactionsModel) -> None:
    model.end_again(model.clients[OLD], False)


def complete_again(model: TransactionsModel) -> None:
    model.complete_again(model.sent[0])


def move(model: TransactionsModel) -> None:
    model.move()


def wait(model: TransactionsModel) -> None:
    model.time_passes(3 * TIMEOUT_MS, False)


def zombie(step: Callable[[TransactionsModel, int], None]) -> Step:
    """A step of the producer that was there first."""
    return lambda model: step(model, OLD)


def commit_while_the_log_takes_nothing(model: TransactionsModel) -> None:
    commit(model, fate=Fate.REFUSED)


INVARIANTS: list[Step] = [
    TransactionsModel.the_log_has_the_state,
    TransactionsModel.decisions_stand,
    TransactionsModel.owed_markers_are_decided_and_committed,
    TransactionsModel.decided_transactions_have_owners,
    TransactionsModel.no_transaction_is_open_past_its_timeout,
]
DONE = [add, commit, write_markers]


def check_that_notices(steps: list[Step]) -> str:
    """Run the steps. Returns the name of the check that failed."""
    model = TransactionsModel()
    model.start(2, 0)
    try:
        for step in steps:
            step(model)
            for always in INVARIANTS:
                always(model)
        model.teardown()
    except AssertionError as error:
        frames = traceback.extract_tb(error.__traceback__)
        return [frame.name for frame in frames if frame.filename == test_model.__file__][-1]
    return "nothing"


def refuse_ends_that_took_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that repeats EndTxn, because the answer is lost, is told that it failed (Redpanda 3616)."""
    monkeypatch.setattr(deciding, "_is_repeated_end", lambda known, producer: False)


def end_transactions_of_a_later_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """An EndTxn that was delayed ends the next transaction of its producer (KIP-890)."""
    end = deciding.end

    def end_any(known: Transaction, producer: ProducerIdentity, *rest: Any) -> Transaction | None:
        if known.state is State.ONGOING and producer == (known.producer_id, known.epoch - 1):
            producer = ProducerIdentity(known.producer_id, known.epoch)
        return end(known, producer, *rest)

    monkeypatch.setattr(deciding, "end", end_any)


def let_zombies_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator does not look at the epoch of a producer that adds partitions."""

    def add(known: Transaction, producer: ProducerIdentity, *rest: Any) -> Transaction | None:
        return original(known, ProducerIdentity(known.producer_id, known.epoch), *rest)

    original = deciding.add
    monkeypatch.setattr(deciding, "add", add)


def let_zombies_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator does not look at the epoch of a producer that commits or aborts."""

    def end(known: Transaction, producer: ProducerIdentity, *rest: Any) -> Transaction | None:
        return original(known, ProducerIdentity(known.producer_id, known.epoch), *rest)

    original = deciding.end
    monkeypatch.setattr(deciding, "end", end)


def keep_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next transaction has the same epoch, so a delayed EndTxn of the last one ends it (KIP-890)."""
    monkeypatch.setattr(Transaction, "_epoch_after", lambda self: self.epoch)


def abort_what_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer that begins aborts a transaction that was committed, because its markers are still owed."""

    def begin(known: Transaction, *rest: Any) -> Any:
        is_prepared = known.state in PREPARED
        return original(known._replace(state=State.ONGOING) if is_prepared else known, *rest)

    original = deciding.begin
    monkeypatch.setattr(deciding, "begin", begin)


def fence_who_is_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """While markers are owed, a producer may not use the epoch that the answer to EndTxn has told it."""

    def refuse(known: Transaction) -> Exception:
        return deciding.fenced(known)

    monkeypatch.setattr(deciding, "concurrent", refuse)


def send_markers_before_the_decision_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator that dies after that forgets the decision, and the next one decides otherwise."""

    def decided(self: Any, prepared: Transaction) -> Any:
        self._on_prepared(prepared)
        return Decision(records=[self._record(prepared)])

    monkeypatch.setattr(TransactionShard, "_decided", decided)


def leave_prepared_transactions_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new coordinator does not send the markers of transactions that are decided already."""
    monkeypatch.setattr(TransactionShard, "on_loaded", lambda self, now_ms: self._arm_expiry(now_ms))


def complete_what_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator that hears late that all markers are written completes a later transaction."""

    def complete(self: Any, prepared: Transaction, now_ms: int) -> Any:
        return Decision(records=[self._record(prepared.completed(now_ms))])

    monkeypatch.setattr(TransactionShard, "complete", complete)


def never_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction whose producer has died stays open for ever."""
    monkeypatch.setattr(TransactionShard, "_arm_time_out", lambda self, known, started_ms: None)


def forget_timeouts_in_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction that was open when its coordinator moved never times out."""
    replay = TransactionShard.replay

    def replay_silently(self: Any, record: Any, producer: Any = None) -> None:
        replay(self, record, producer)
        self.timers.cancel(("timeout", record.transactional_id))

    def on_loaded(self: Any, now_ms: int) -> None:
        monkeypatch.setattr(TransactionShard, "replay", replay)
        loaded(self, now_ms)
        monkeypatch.setattr(TransactionShard, "replay", replay_silently)

    loaded = TransactionShard.on_loaded
    monkeypatch.setattr(TransactionShard, "on_loaded", on_loaded)
    monkeypatch.setattr(TransactionShard, "replay", replay_silently)


def keep_the_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer that takes over a transaction gets the epoch of the earlier one, which is not fenced."""
    monkeypatch.setattr(Transaction, "kept", lambda self, new_producer_id, timeout_ms, now_ms: self)


def forget_the_owner_in_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next coordinator does not know that the transaction was taken over."""
    encode = records.encode_record

    def encode_without(record: Any) -> Any:
        known = record.transaction
        return encode(record if known is None else record._replace(transaction=known._replace(next_epoch=-1)))

    monkeypatch.setattr(harness, "encode_record", encode_without)


@pytest.mark.parametrize(
    ("put_back", "steps", "notices"),
    [
        (refuse_ends_that_took_effect, [*DONE, commit_again], "end_again"),
        (end_transactions_of_a_later_epoch, [*DONE, add, commit_again], "end_again"),
        (let_zombies_write, [begin, zombie(add)], "add"),
        (let_zombies_end, [begin, add, zombie(commit)], "end"),
        (keep_the_epoch, [*DONE, add, commit_again], "end_again"),
        (keep_the_owner, [add, keep], "keep"),
        (forget_the_owner_in_records, [begin_with_two_phases, add, keep, commit], "the_log_has_the_state"),
        (abort_what_is_decided, [add, commit, begin], "decisions_stand"),
        (fence_who_is_early, [add, commit, add], "is_told_to_come_back"),
        (
            send_markers_before_the_decision_is_committed,
            [add, commit_while_the_log_takes_nothing],
            "owed_markers_are_decided_and_committed",
        ),
        (leave_prepared_transactions_to_nobody, [add, commit, move], "decided_transactions_have_owners"),
        (complete_what_is_not_decided, [*DONE, add, complete_again], "complete_again"),
        (never_time_out, [add, wait], "no_transaction_is_open_past_its_timeout"),
        (forget_timeouts_in_a_move, [add, move, wait], "no_transaction_is_open_past_its_timeout"),
    ],
)
def test_a_bug_that_is_put_back_is_noticed(
    put_back: PutBack, steps: list[Step], notices: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_that_notices(steps) == "nothing"
    put_back(monkeypatch)
    assert check_that_notices(steps) == notices
