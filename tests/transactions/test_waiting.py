"""A client that adds a partition while its last transaction is being completed waits for that."""

import pytest

from gralha.coordination.decision import Decision, Reply
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.message import Struct
from gralha.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResult
from gralha.transactions.config import TransactionsConfig
from gralha.transactions.deciding import ProducerIdentity
from gralha.transactions.partitions import error_codes
from gralha.transactions.records import TransactionRecord
from gralha.transactions.shard import COMPLETION_WAIT_MS, TransactionShard
from gralha.transactions.transaction import State, Transaction

NOW_MS = 1_000_000
PRODUCER = ProducerIdentity(7, 0)


class Told(Reply):
    """Remembers the answer of a client."""

    def __init__(self) -> None:
        self.answer: Struct | KafkaError | None = None

    def send(self, response: Struct) -> None:
        self.answer = self.answer or response

    def fail(self, error: KafkaError) -> None:
        self.answer = self.answer or error


class Coordinator:
    """A shard whose appends always work."""

    def __init__(self) -> None:
        self.prepared: list[Transaction] = []
        self.shard = TransactionShard(TransactionsConfig(), lambda: 2, lambda: 7, self.prepared.append)

    def take(self, decision: Decision[TransactionRecord]) -> None:
        for record in decision.records:
            self.shard.replay(record)
        for action in (decision.then, decision.on_committed):
            if action is not None:
                action()

    def run_timers(self, now_ms: int) -> None:
        while (due := self.shard.timers.pop_due(now_ms)) is not None:
            decision = due[1](now_ms)
            if decision is not None:
                self.take(decision)

    def add(self, index: int, now_ms: int = NOW_MS, producer: ProducerIdentity = PRODUCER) -> Told:
        told = Told()
        decision = self.shard.add_partitions_soon(told, "t", producer, [("a", index)], 0, now_ms)
        self.take(decision)
        if decision.response is not None:
            told.send(decision.response)
        return told


@pytest.fixture
def coordinator() -> Coordinator:
    """A coordinator with a transaction that is committed, and whose markers are not written yet."""
    made = Coordinator()
    made.take(made.shard.begin("t", 60_000, None, NOW_MS))
    assert made.add(0).answer is not None
    made.take(made.shard.end("t", PRODUCER, True, 0, NOW_MS))
    assert [one.state for one in made.prepared] == [State.PREPARE_COMMIT]
    return made


def test_the_answer_comes_with_the_end_of_the_last_transaction(coordinator: Coordinator) -> None:
    first, second = coordinator.add(1), coordinator.add(2)
    coordinator.run_timers(NOW_MS + COMPLETION_WAIT_MS - 1)
    assert first.answer is None
    coordinator.take(coordinator.shard.complete(coordinator.prepared[0], NOW_MS + 5))
    coordinator.run_timers(NOW_MS + 5)
    for told, index in ((first, 1), (second, 2)):
        assert isinstance(told.answer, AddPartitionsToTxnResult)
        assert error_codes(told.answer) == {("a", index): ErrorCode.NONE}
    known = coordinator.shard.transactions["t"]
    assert known.state is State.ONGOING
    assert known.partitions == {("a", 1), ("a", 2)}


def test_a_client_does_not_wait_for_ever(coordinator: Coordinator) -> None:
    told = coordinator.add(1)
    coordinator.run_timers(NOW_MS + COMPLETION_WAIT_MS)
    assert isinstance(told.answer, KafkaError)
    assert told.answer.code == ErrorCode.CONCURRENT_TRANSACTIONS
    coordinator.take(coordinator.shard.complete(coordinator.prepared[0], NOW_MS + 500))
    coordinator.run_timers(NOW_MS + 500)
    assert coordinator.shard.transactions["t"].state is State.COMPLETE_COMMIT


def test_an_old_producer_does_not_wait(coordinator: Coordinator) -> None:
    with pytest.raises(KafkaError) as refused:
        coordinator.add(1, producer=ProducerIdentity(7, -1))
    assert refused.value.code == ErrorCode.CONCURRENT_TRANSACTIONS


def test_a_producer_that_is_fenced_while_it_waits_is_refused(coordinator: Coordinator) -> None:
    told = coordinator.add(1)
    coordinator.take(coordinator.shard.complete(coordinator.prepared[0], NOW_MS + 5))
    coordinator.take(coordinator.shard.begin("t", 60_000, None, NOW_MS + 5))
    coordinator.run_timers(NOW_MS + 5)
    assert isinstance(told.answer, KafkaError)
    assert told.answer.code == ErrorCode.PRODUCER_FENCED
