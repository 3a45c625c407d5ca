"""What tests of the transaction coordinator share: a machine that applies decisions like its runtime.

    machine = Machine()
    producer = machine.begin()
    machine.add(producer, ("a", 0))
    machine.end(producer)
    machine.write_markers()          # answers all markers that are owed, so transactions are completed
    machine.advance(60_000)          # runs the timers that fall due
    machine.state()                  # the Transaction of the id "t"

The log has the bytes of records. `append_error` makes appends fail. With `holds_commits` nothing is committed
until `commit()`: answers and what follows a commit wait, and `reload(loses_uncommitted=True)` loses it.
"""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from gralha.coordination.appending import answer_to
from gralha.coordination.decision import Decision
from gralha.coordination.runtime import TIMER_RETRY_MS
from gralha.protocol.batches import NO_PRODUCER_EPOCH
from gralha.protocol.errors import KafkaError, NotCoordinatorError
from gralha.transactions.config import TransactionsConfig
from gralha.transactions.deciding import ProducerIdentity
from gralha.transactions.records import decode_record, encode_record
from gralha.transactions.shard import TransactionShard
from gralha.transactions.transaction import Partition, Transaction

START_MS = 1_000_000
TIMEOUT_MS = 60_000
A0: Partition = ("a", 0)
A1: Partition = ("a", 1)


class Waiting(NamedTuple):
    """An answer, or what follows a commit, and the length of the log that must be committed before."""

    length: int
    action: Callable[[], None]
    answer: "Answer | None"


class Answer:
    """What a client gets. `code` is None while it waits."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.response: Any = None

    def give(self, response: Any) -> None:
        self.response = response
        self.code = int(getattr(response, "error_code", 0))

    def refuse(self, error: KafkaError) -> None:
        self.code = int(error.code)

    @property
    def producer(self) -> ProducerIdentity:
        """The id and the epoch in the answer."""
        return ProducerIdentity(self.response.producer_id, self.response.producer_epoch)

    @property
    def ongoing(self) -> ProducerIdentity:
        """The id and the epoch of the transaction that was kept."""
        return ProducerIdentity(
            self.response.ongoing_txn_producer_id, self.response.ongoing_txn_producer_epoch
        )

    @property
    def codes(self) -> dict[Partition, int]:
        """The codes in an answer to AddPartitionsToTxn."""
        return {
            (topic.name, one.partition_index): one.partition_error_code
            for topic in self.response.topic_results
            for one in topic.results_by_partition
        }


class Machine:
    def __init__(self, config: TransactionsConfig | None = None, version: int = 2) -> None:
        self.config = config or TransactionsConfig()
        self.version = version  # the level of the feature transaction.version
        self.now_ms = START_MS
        self.log: list[tuple[bytes, bytes | None]] = []
        self.committed = 0
        self.holds_commits = False
        self.append_error: KafkaError | None = None
        self.owed: list[Transaction] = []  # decided transactions whose markers have to be written
        self._waiting: list[Waiting] = []
        self._numbers = itertools.count(1000)
        self.new_producer_id: Callable[[], int] = lambda: next(self._numbers)
        self.shard = self._new_shard()
        self.shard.on_loaded(self.now_ms)

    def _new_shard(self) -> TransactionShard:
        return TransactionShard(
            self.config, lambda: self.version, lambda: self.new_producer_id(), self.owed.append
        )

    # Requests

    def ask(self, decide: Callable[[TransactionShard], Decision[Any]]) -> Answer:
        """Have the shard decide, and apply the decision. Errors become the answer."""
        answer = Answer()
        try:
            response = self._apply(decide(self.shard))
        except KafkaError as error:
            answer.refuse(error)
        else:
            self._when_committed(lambda: answer.give(response), answer)
        return answer

    def init(
        self,
        expected: ProducerIdentity | None = None,
        timeout_ms: int = TIMEOUT_MS,
        name: str = "t",
        enables_2pc: bool = False,
    ) -> Answer:
        return self.ask(lambda shard: shard.begin(name, timeout_ms, expected, self.now_ms, enables_2pc))

    def keep(self, name: str = "t", enables_2pc: bool = False) -> Answer:
        """A producer takes over an open transaction (KIP-939)."""
        return self.ask(
            lambda shard: shard.begin(name, TIMEOUT_MS, None, self.now_ms, enables_2pc, keeps_prepared=True)
        )

    def begin(self, timeout_ms: int = TIMEOUT_MS, name: str = "t") -> ProducerIdentity:
        """A new producer, whose request must succeed."""
        answer = self.init(None, timeout_ms, name)
        assert answer.code == 0
        return answer.producer

    def add(
        self, producer: ProducerIdentity, *partitions: Partition, version: int = 2, name: str = "t"
    ) -> Answer:
        return self.ask(lambda shard: shard.add_partitions(name, producer, partitions, version, self.now_ms))

    def verify(self, producer: ProducerIdentity, *partitions: Partition, name: str = "t") -> Answer:
        return self.ask(lambda shard: shard.verify_partitions(name, producer, partitions))

    def end(
        self, producer: ProducerIdentity, is_commit: bool = True, version: int = 2, name: str = "t"
    ) -> Answer:
        return self.ask(lambda shard: shard.end(name, producer, is_commit, version, self.now_ms))

    def state(self, name: str = "t") -> Transaction:
        return self.shard.transactions[name]

    def write_markers(self) -> None:
        """All markers that are owed are written."""
        while self.owed:
            prepared = self.owed.pop(0)
            self.ask(lambda shard, prepared=prepared: shard.complete(prepared, self.now_ms))  # type: ignore[misc]

    # Time

    def set_clock(self, by_ms: int) -> None:
        """Somebody sets the clock. The runtime notices, and moves all deadlines."""
        self.now_ms += by_ms
        self.shard.timers.shift(by_ms)

    def advance(self, milliseconds: int) -> None:
        """Let time pass. Every timer that falls due runs at its deadline."""
        end_ms = self.now_ms + milliseconds
        timers = self.shard.timers
        while (next_ms := timers.next_deadline_ms()) is not None and next_ms <= end_ms:
            self.now_ms = max(self.now_ms, next_ms)
            self._run_due()
        self.now_ms = end_ms

    def _run_due(self) -> None:
        timers = self.shard.timers
        while (due := timers.pop_due(self.now_ms)) is not None:
            key, action = due
            decision = action(self.now_ms)
            try:
                if decision is not None:
                    self._apply(decision)
            except KafkaError:
                if timers.deadline_ms(key) is None:
                    timers.schedule(key, self.now_ms + TIMER_RETRY_MS, action)

    # The log

    def commit(self) -> None:
        """Everything in the log is committed."""
        self.committed = len(self.log)
        ready = [one for one in self._waiting if one.length <= self.committed]
        self._waiting = [one for one in self._waiting if one.length > self.committed]
        for one in ready:
            one.action()

    def reload(self, loses_uncommitted: bool = False) -> None:
        """The leadership is lost and gained again: a new shard is loaded from the log."""
        for one in self._waiting:
            if one.answer is not None:
                one.answer.refuse(NotCoordinatorError())
        self._waiting.clear()
        if loses_uncommitted:
            del self.log[self.committed :]
        self.committed = len(self.log)
        self.owed.clear()
        self.shard = self.loaded()
        self.shard.on_loaded(self.now_ms)
        self._run_due()

    def loaded(self) -> TransactionShard:
        """A shard as it would be loaded from the log now."""
        shard = self._new_shard()
        for key, value in self.log:
            record = decode_record(key, value)
            assert record is not None
            shard.replay(record)
        return shard

    def _apply(self, decision: Decision[Any]) -> Any:
        if decision.records and self.append_error is not None:
            raise answer_to(self.append_error)
        for record in decision.records:
            written = encode_record(record)
            self.log.append(written)
            self.shard.replay(record)
        if decision.on_committed is not None:
            self._when_committed(decision.on_committed)
        return decision.response

    def _when_committed(self, action: Callable[[], None], answer: Answer | None = None) -> None:
        if not self.holds_commits:
            self.committed = len(self.log)
        if self.committed >= len(self.log):
            action()
        else:
            self._waiting.append(Waiting(len(self.log), action, answer))


def recorded(shard: TransactionShard) -> dict[str, Transaction]:
    """All that is in records. The last epoch is not."""
    return {name: one._replace(last_epoch=NO_PRODUCER_EPOCH) for name, one in shard.transactions.items()}
