"""Several producers of one transactional id, with every kind of mistake and fault, against a model.

A producer does not know of the others, and repeats requests whose answers it has lost. Coordinators move,
with or without the records that were not committed yet. Appends fail. Markers are written late and twice.

The model is a partition of a topic, as readers of committed records see it, and what each producer was told:

- A decided transaction never changes its decision.
- A retry of EndTxn that took effect succeeds while no later producer has taken the id over.
- One producer epoch at a time can add partitions, commit and abort.
- While markers are owed, a producer is only told to come back, also with the epoch or the id of after that.
- The live state equals the state that is loaded from the log.
- No transaction is open for longer than its timeout. Those of a two-phase commit have none (KIP-939).
- A producer that takes over an open transaction leaves it as it is, and is the only one to end it.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.transactions.harness import A0, A1, TIMEOUT_MS, Answer, Machine, recorded

from gralha.coordination.decision import Decision
from gralha.coordination.runtime import TIMER_RETRY_MS
from gralha.protocol.errors import ErrorCode, KafkaStorageError, NotEnoughReplicasError
from gralha.transactions.config import TransactionsConfig
from gralha.transactions.deciding import ProducerIdentity
from gralha.transactions.records import TransactionRecord, decode_record
from gralha.transactions.transaction import (
    COMPLETE,
    LAST_EPOCH,
    NO_TIMEOUT_MS,
    PREPARED,
    State,
    Transaction,
)

CLIENTS = 3
COORDINATOR_ERRORS = {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}
PARTITIONS = st.sampled_from([(A0,), (A1,), (A0, A1), ()])
REFUSALS = {
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    *COORDINATOR_ERRORS,
}


class Fate(Enum):
    """What becomes of a request."""

    ANSWERED = auto()
    UNHEARD = auto()  # it took effect, but the answer is lost
    REFUSED = auto()  # the log takes no records
    LOST = auto()  # the coordinator moves, and the record is lost
    MOVED = auto()  # the coordinator moves, and the record stays


FATES = st.sampled_from([Fate.ANSWERED] * 6 + list(Fate))
# The producer that began last is asked most of the time, because the others are fenced.
CLIENT_NUMBERS = st.sampled_from([-1, -1, -1, *range(CLIENTS)])


class Ended(NamedTuple):
    """An EndTxn that has succeeded."""

    producer: ProducerIdentity
    is_commit: bool
    after: ProducerIdentity


class Client:
    """A producer, and what it believes."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.producer = ProducerIdentity(-1, -1)
        self.ended: Ended | None = None


class TransactionsModel(RuleBasedStateMachine):
    @initialize(level=st.sampled_from([1, 2, 2]), first_epoch=st.sampled_from([0, LAST_EPOCH - 1]))
    def start(self, level: int, first_epoch: int) -> None:
        config = TransactionsConfig(
            transactional_id_expiration_ms=10**12, transaction_two_phase_commit_enable=True
        )
        self.machine = Machine(config, version=level)
        self.clients = [Client(2 if level == 2 and index else 0) for index in range(CLIENTS)]
        self.newest = self.clients[-1]
        self.machine.begin()
        # The last epochs may be near, so that they are used up.
        near = self.machine.state()._replace(epoch=first_epoch)
        self.machine.ask(lambda _: Decision(records=[TransactionRecord("t", near)]))
        self.newest.producer = ProducerIdentity(near.producer_id, near.epoch)
        self.decisions: dict[tuple[int, int], bool] = {}  # by producer id and epoch, of all markers
        self.sent: list[Transaction] = []

    def _client(self, number: int) -> Client:
        return self.newest if number < 0 else self.clients[number]

    def _meets(self, fate: Fate, request: Callable[[], Answer]) -> Answer | None:
        """Send a request. Returns the answer if the client hears it."""
        machine = self.machine
        if fate is Fate.REFUSED:
            machine.append_error = NotEnoughReplicasError()
        machine.holds_commits = fate in (Fate.LOST, Fate.MOVED)
        answer = request()
        machine.append_error = None
        if machine.holds_commits:
            machine.holds_commits = False
            machine.reload(loses_uncommitted=fate is Fate.LOST)
        assert answer.code is not None
        assert answer.code == 0 or answer.code in REFUSALS
        self.answered = answer
        return None if fate is Fate.UNHEARD or answer.code != 0 else answer

    def is_told_to_come_back(self, before: Transaction, fate: Fate, version: int) -> None:
        if before.state in PREPARED and fate in (Fate.ANSWERED, Fate.UNHEARD) and version == 2:
            assert self.answered.code == ErrorCode.CONCURRENT_TRANSACTIONS

    # Producers

    @rule(number=CLIENT_NUMBERS, goes_on=st.booleans(), enables_2pc=st.booleans(), fate=FATES)
    def begin(self, number: int, goes_on: bool, enables_2pc: bool, fate: Fate) -> None:
        client = self._client(number)
        expected = client.producer if goes_on and client.producer.id >= 0 else None
        before = self.machine.state()
        answer = self._meets(fate, lambda: self.machine.init(expected, enables_2pc=enables_2pc))
        self.is_told_to_come_back(before, fate, 2)
        if answer is None:
            return
        assert before.state not in PREPARED
        assert before.state is not State.ONGOING
        now = answer.producer
        is_repeated = expected is not None and now == (before.producer_id, before.epoch)
        if not is_repeated:
            is_next = now == (before.producer_id, before.epoch + 1)
            assert is_next or (before.epoch >= LAST_EPOCH and now.epoch == 0 and now.id > before.producer_id)
        assert now.epoch <= LAST_EPOCH
        client.producer, client.ended = now, None
        self.newest = client

    @rule(number=CLIENT_NUMBERS, fate=FATES)
    def keep(self, number: int, fate: Fate) -> None:
        """A producer takes over what is open. Clients of transactions v1 cannot ask for it."""
        client = self._client(number)
        if client.version != 2:
            return
        before = self.machine.state()
        answer = self._meets(fate, self.machine.keep)
        self.is_told_to_come_back(before, fate, 2)
        if answer is None:
            return
        now = self.machine.state()
        assert now.owner == answer.producer
        assert now.owner > before.owner
        assert now.owner[1] <= LAST_EPOCH
        if before.state is State.ONGOING:
            assert answer.ongoing == (before.producer_id, before.epoch)
            assert (now.producer_id, now.epoch, now.partitions) == (*answer.ongoing, before.partitions)
        else:
            assert answer.ongoing == (-1, -1)
        client.producer, client.ended = answer.producer, None
        self.newest = client

    @rule(number=CLIENT_NUMBERS, partitions=PARTITIONS, fate=FATES)
    def add(self, number: int, partitions: tuple[tuple[str, int], ...], fate: Fate) -> None:
        client = self._client(number)
        before = self.machine.state()
        answer = self._meets(
            fate, lambda: self.machine.add(client.producer, *partitions, version=client.version)
        )
        self.is_told_to_come_back(before, fate, 2)
        if answer is not None:
            # Only the newest producer adds partitions, and not to a transaction that it took over.
            assert client.producer == (before.producer_id, before.epoch)
            assert not before.is_kept
            assert set(answer.codes) == set(partitions) <= self.machine.state().partitions

    @rule(number=CLIENT_NUMBERS, is_commit=st.booleans(), fate=FATES)
    def end(self, number: int, is_commit: bool, fate: Fate) -> None:
        client = self._client(number)
        before = self.machine.state()
        producer = client.producer
        answer = self._meets(fate, lambda: self.machine.end(producer, is_commit, client.version))
        self.is_told_to_come_back(before, fate, client.version)
        if answer is None:
            return
        # A coordinator that has moved does not know the last epoch.
        if self.machine.state() == before._replace(last_epoch=self.machine.state().last_epoch):  # a retry
            assert before.state is (State.COMPLETE_COMMIT if is_commit else State.COMPLETE_ABORT)
        else:
            # Only the newest producer ends transactions.
            assert producer == before.owner
            assert before.state is State.ONGOING or (client.version == 2 and not is_commit)
        client.ended = Ended(producer, is_commit, answer.producer)
        if client.version == 2:
            client.producer = answer.producer

    @precondition(lambda self: any(client.ended for client in self.clients))
    @rule(data=st.data(), flips=st.booleans())
    def repeat_end(self, data: st.DataObject, flips: bool) -> None:
        """The network repeats a request that took effect, or the opposite of it comes late."""
        self.end_again(data.draw(st.sampled_from([client for client in self.clients if client.ended])), flips)

    def end_again(self, client: Client, flips: bool) -> None:
        assert client.ended is not None
        producer, is_commit, after = client.ended
        before = self.machine.state()
        answer = self.machine.end(producer, is_commit ^ flips, client.version)
        if client.version == 2:
            assert self.machine.state() == before
        elif before.state is State.ONGOING:
            return  # with v1 nothing tells a late request from one that is wanted
        is_newest = before.owner == after
        is_ended = before.state is (State.COMPLETE_COMMIT if is_commit else State.COMPLETE_ABORT)
        if flips:
            assert answer.code != 0 or not is_newest or not is_ended
        elif is_newest and is_ended:
            assert answer.code == 0
            assert answer.producer == after
        elif is_newest and before.state in PREPARED:
            assert answer.code == ErrorCode.CONCURRENT_TRANSACTIONS

    # Markers

    @rule(count=st.integers(1, 2))
    def write_markers(self, count: int) -> None:
        """The partitions take the markers, and the coordinator learns it."""
        for prepared in list(self.machine.owed[:count]):
            self._mark(prepared)
            self.machine.owed.remove(prepared)
            self.machine.ask(
                lambda shard, prepared=prepared: shard.complete(prepared, self.machine.now_ms)  # type: ignore[misc]
            )

    @rule()
    def write_markers_unheard(self) -> None:
        """The partitions take the markers, and the coordinator does not learn it."""
        for prepared in self.machine.owed:
            self._mark(prepared)

    @precondition(lambda self: bool(self.sent))
    @rule(data=st.data())
    def complete_late(self, data: st.DataObject) -> None:
        """A coordinator hears for a second time that all markers are written."""
        self.complete_again(data.draw(st.sampled_from(self.sent)))

    def complete_again(self, prepared: Transaction) -> None:
        before = self.machine.state()
        self.machine.ask(lambda shard: shard.complete(prepared, self.machine.now_ms))
        if before.state not in PREPARED:
            assert self.machine.state() == before

    def _mark(self, prepared: Transaction) -> None:
        self.sent.append(prepared)
        if prepared.version == 2:  # with v1 an epoch has several transactions
            marked = (prepared.producer_id, prepared.epoch)
            assert self.decisions.setdefault(marked, prepared.is_commit) == prepared.is_commit

    # Faults

    @rule(
        milliseconds=st.sampled_from([1, TIMEOUT_MS // 2, TIMEOUT_MS, 3 * TIMEOUT_MS]),
        is_broken=st.booleans(),
    )
    def time_passes(self, milliseconds: int, is_broken: bool) -> None:
        """Perhaps the log takes no records meanwhile."""
        if is_broken:
            self.machine.append_error = KafkaStorageError("full")
        self.machine.advance(milliseconds)
        self.machine.append_error = None
        if is_broken:
            self.machine.advance(TIMER_RETRY_MS)

    @rule()
    def move(self) -> None:
        self.machine.reload()

    # What always holds

    @invariant()
    def the_log_has_the_state(self) -> None:
        assert recorded(self.machine.loaded()) == recorded(self.machine.shard)

    @invariant()
    def decisions_stand(self) -> None:
        """After PrepareCommit comes CompleteCommit and nothing else, in the log as well."""
        before: Transaction | None = None
        for key, value in self.machine.log:
            record = decode_record(key, value)
            assert record is not None
            now = record.transaction
            if before is not None and before.state in PREPARED:
                assert now is not None
                assert now == before.completed(now.updated_ms)._replace(last_epoch=now.last_epoch)
            if now is not None and now.state in COMPLETE:
                assert before is not None
                assert before.state in PREPARED
            before = now

    @invariant()
    def owed_markers_are_decided_and_committed(self) -> None:
        committed = [decode_record(key, value) for key, value in self.machine.log[: self.machine.committed]]
        decided = {one.transaction for one in committed if one is not None}
        for prepared in self.machine.owed:
            assert prepared._replace(last_epoch=-1) in decided

    @invariant()
    def decided_transactions_have_owners(self) -> None:
        """Their markers are owed, so that they do not stay prepared for ever."""
        known = self.machine.state()
        if known.state in PREPARED:
            assert [one for one in self.machine.owed if one.epoch == known.epoch]

    @invariant()
    def no_transaction_is_open_past_its_timeout(self) -> None:
        known = self.machine.state()
        if known.state is State.ONGOING:
            assert self.machine.now_ms - known.timeout_since_ms < known.timeout_ms

    def teardown(self) -> None:
        """When all faults are over, everything ends."""
        if not hasattr(self, "machine"):
            return
        self.machine.write_markers()
        self.machine.advance(TIMEOUT_MS)
        self.machine.write_markers()
        if self.machine.state().timeout_ms == NO_TIMEOUT_MS:
            self.machine.init()
            self.machine.write_markers()
        assert self.machine.state().state in COMPLETE | {State.EMPTY}
        assert self.machine.init().code == 0


TestTransactionsModel = TransactionsModel.TestCase
TestTransactionsModel.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
