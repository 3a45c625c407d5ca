"""A partition of `__transaction_state` with very many ids: no step of the event loop looks at all of them."""

from typing import Any

import pytest
from tests.transactions.harness import A0, TIMEOUT_MS, Machine

from gralha.transactions.listing import NO_DURATION, Filter, wanted
from gralha.transactions.records import TransactionRecord
from gralha.transactions.shard import IDS_AT_ONCE, NEXT_EXPIRY
from gralha.transactions.transaction import State, Transaction

MANY = 50_000
STEPS = MANY // IDS_AT_ONCE + 1
EXPIRY_MS = 7 * 24 * 3600 * 1000


class CountingDict(dict[str, Transaction]):
    """Counts how often a transaction is looked at."""

    looked = 0

    def get(self, *key: Any) -> Any:
        self.looked += 1
        return super().get(*key)

    def __getitem__(self, key: str) -> Transaction:
        self.looked += 1
        return super().__getitem__(key)

    def values(self) -> Any:
        for key in self:
            yield self[key]


@pytest.fixture
def machine() -> Machine:
    machine = Machine()
    machine.shard.transactions = CountingDict()
    return machine


def fill(machine: Machine) -> None:
    for number in range(MANY):
        known = Transaction(f"t{number}", number, 0, TIMEOUT_MS, machine.now_ms, State.EMPTY)
        machine.shard.replay(TransactionRecord(known.transactional_id, known))
    looks(machine)


def looks(machine: Machine) -> int:
    """The transactions that were looked at since the last call."""
    counting = machine.shard.transactions
    assert isinstance(counting, CountingDict)
    count, counting.looked = counting.looked, 0
    return count


def everything() -> Filter:
    return wanted([], [], NO_DURATION, None)


def test_a_list_is_made_in_steps(machine: Machine) -> None:
    fill(machine)
    listed, more, looked = [], [], []
    for answer, has_more in machine.shard.list(everything(), machine.now_ms):
        listed += [one.transactional_id for one in answer.transaction_states]
        more.append(has_more)
        looked.append(looks(machine))
    assert max(looked) == IDS_AT_ONCE
    assert more == [True] * (STEPS - 1) + [False]
    assert listed == [f"t{number}" for number in range(MANY)]


def test_ids_that_come_and_go_between_two_steps(machine: Machine) -> None:
    fill(machine)
    steps = machine.shard.list(everything(), machine.now_ms)
    next(steps)
    machine.shard.replay(TransactionRecord(f"t{MANY - 1}", None))
    machine.begin(name="new")
    listed = [one.transactional_id for answer, _ in steps for one in answer.transaction_states]
    assert len(listed) == MANY - IDS_AT_ONCE - 1


def test_open_transactions_are_found_without_a_look_at_the_others(machine: Machine) -> None:
    fill(machine)
    machine.add(machine.begin(name="open"), A0, name="open")
    looks(machine)
    ((answer, has_more),) = machine.shard.list(wanted(["Ongoing"], [], -1, None), machine.now_ms)
    assert [one.transactional_id for one in answer.transaction_states] == ["open"]
    assert not has_more
    assert looks(machine) == 1


def test_ids_are_forgotten_in_steps(machine: Machine) -> None:
    fill(machine)
    machine.now_ms += EXPIRY_MS
    used = machine.begin(name="t7")
    assert used.epoch == 1
    looks(machine)
    timers, steps, looked = machine.shard.timers, 0, []
    while (due := timers.pop_due(machine.now_ms)) is not None:
        decision = due[1](machine.now_ms)
        looked.append(looks(machine))
        assert decision is not None
        assert len(decision.records) <= IDS_AT_ONCE
        machine._apply(decision)
        looks(machine)
        steps += 1
        assert (timers.deadline_ms(NEXT_EXPIRY) is not None) == (steps < STEPS)
    assert steps == STEPS
    assert max(looked) == IDS_AT_ONCE
    assert list(machine.shard.transactions) == ["t7"]


def test_a_new_coordinator_looks_only_at_what_is_owed(machine: Machine) -> None:
    fill(machine)
    producer = machine.begin(name="owed")
    machine.add(producer, A0, name="owed")
    machine.end(producer, name="owed")
    machine.owed.clear()
    looks(machine)
    machine.shard.on_loaded(machine.now_ms)
    assert looks(machine) == 1
    machine.advance(1)
    assert [one.transactional_id for one in machine.owed] == ["owed"]
