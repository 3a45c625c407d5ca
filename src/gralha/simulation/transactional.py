"""The base of all simulated transactional producers: one life of a process with a transactional id.

A life begins with InitProducerId. Each transaction writes batches to several partitions, one batch at a time
to each, and ends with EndTxn. The life repeats a request until it has a definite answer, as real clients do.
After an error in a transaction it aborts. If it is fenced, it ends, and another life takes its place.

Sometimes a life stalls within a transaction, and the next life begins meanwhile. The stalled one does not
know that. It goes on as a zombie, with its old epoch. Sometimes a life just ends, within a transaction or
after it has sent EndTxn.

By the rules of version 1 the client adds partitions with AddPartitionsToTxn, and keeps its epoch. By those of
version 2 (KIP-890) Produce adds them, and each EndTxn returns the epoch for the next transaction. Each
transactional id has one of the two, drawn from the seed.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol, cast

from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from gralha.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record
from gralha.simulation.clients import Bootstrap, Client
from gralha.simulation.history import Event, Outcome, Send, TransactionEnd
from gralha.simulation.shapes import Shapes
from gralha.simulation.transaction_history import Began, Used

GROUP: Final = 0
TRANSACTION: Final = 1
# The errors of a producer that has lost its transaction, or its epoch.
FENCED: Final = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
)
COORDINATOR_MOVED: Final = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)
NO_ANSWER: Final = -2
ANSWER_TIMEOUT_MS: Final = (300, 4_000)
# By the rules of version 1 a request that is given up and comes in late may become a part of the next
# transaction, which has the same epoch. Real clients wait for 30 s as well.
LONG_TIMEOUT_MS: Final = 30_000
DELIVERY_S: Final = (1.0, 10.0)
RETRY_S: Final = (0.005, 0.05)
ABORT_CHANCE: Final = 0.2
STALL_CHANCE: Final = 0.06
VANISH_CHANCE: Final = 0.03
# The last transaction of a life.
LEFT_OPEN_CHANCE: Final = 0.5
STALL_S: Final = (0.2, 14.0)
PAUSE_S: Final = (0.0, 0.4)
# The clocks of two coordinators may differ by this much.
CLOCKS_S: Final = 1.5


@dataclass
class Identity:
    """The properties of a transactional id, which are the same in all its lives."""

    transactional_id: str
    has_new_epochs: bool  # the rules of version 2
    timeout_s: float
    # Whether an InitProducerId was not answered: it may come in late, and fence its own sender.
    has_lost_begin: bool = False


class TransactionWorld(Protocol):
    """Collects what transactional clients do and see."""

    def record(self, event: Event) -> None: ...

    def record_use(self, event: Began | Used) -> None: ...

    def complain(self, text: str) -> None: ...

    def clock(self) -> int: ...

    def clocks_agree_since(self, at: float) -> bool: ...


class FencedError(Exception):
    """The life has ended: its epoch is not the newest one, or its transaction is lost."""


class AbortError(Exception):
    """The transaction cannot be committed."""


class VanishError(Exception):
    """The process ends without another word."""


class Transaction:
    """The open transaction of a life."""

    def __init__(self, name: str, begun_at: float) -> None:
        self.name = name
        self.begun_at = begun_at
        self.added: set[tuple[str, int]] = set()


class TransactionalLife(Client):
    def __init__(
        self,
        identity: Identity,
        number: int,
        bootstrap: Bootstrap,
        topic: str,
        random: Random,
        world: TransactionWorld,
    ) -> None:
        super().__init__(f"{identity.transactional_id}.{number}", bootstrap, topic, random)
        self.identity = identity
        self.world = world
        # Whether the next life may have begun.
        self.is_superseded = False
        self.when_stalled: Callable[[], None] = lambda: None
        # After the faults: no stalls, and no sudden ends.
        self.is_careful = False
        self.committed = 0
        self.shapes = Shapes()
        self.producer_id = -1
        self.epoch = -1
        self.must_begin = True
        self._sequences: dict[int, int] = {}
        self._coordinators: dict[tuple[int, str], int] = {}
        self._transactions = 0
        self._values = 0

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def name_of(self, partition: int) -> str:
        return f"{self.topic}-{partition}"

    # The life

    async def run(self) -> None:
        while not self.leaders:
            await self.back_off()
        try:
            while not self.is_stopping:
                if self.must_begin:
                    await self._begin()
                    await self.begun()
                else:
                    await self._transact()
                    await asyncio.sleep(self.random.uniform(*PAUSE_S))
            if not self.must_begin:
                await self._transact()
        except (FencedError, VanishError):
            return

    async def begun(self) -> None:
        """The life has a new epoch."""

    async def fill(self, transaction: Transaction) -> bool:
        """Write the records of a transaction. Returns False if there was nothing to write.

        Raises AbortError if the transaction cannot be committed.
        """
        raise NotImplementedError

    def ended(self, is_commit: bool) -> None:
        """The transaction has ended."""

    async def _begin(self) -> None:
        """InitProducerId. A life that has an epoch already asks for the next one (KIP-360)."""
        request = InitProducerIdRequest(
            transactional_id=self.identity.transactional_id,
            transaction_timeout_ms=int(self.identity.timeout_s * 1000),
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
        )
        while True:
            answer = cast("InitProducerIdResponse | None", await self.ask_coordinator(request))
            code = NO_ANSWER if answer is None else answer.error_code
            if answer is not None and code == ErrorCode.NONE:
                break
            if code in FENCED:
                raise FencedError
            if code == NO_ANSWER:
                self.identity.has_lost_begin = True
            await self.wait_after(code, "InitProducerId")
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self._sequences.clear()
        self.must_begin = False
        self.world.record_use(
            Began(self.name, self.identity.transactional_id, self.producer_id, self.epoch, self.now)
        )

    async def _transact(self) -> None:
        self._transactions += 1
        leaves_open = self.random.random() < LEFT_OPEN_CHANCE
        transaction = Transaction(f"{self.name}/{self._transactions}", self.now)
        aborts = self.random.random() < ABORT_CHANCE
        try:
            if not await self.fill(transaction):
                return
            await self.stumble()
            if self.is_stopping and leaves_open:
                raise VanishError
        except AbortError:
            aborts = True
        except (FencedError, VanishError):
            self._note_end(transaction, False, self.now, Outcome.OK)
            raise
        if transaction.added:
            await self._end(transaction, not aborts)
        else:
            self._note_end(transaction, False, self.now, Outcome.OK)
            self.must_begin = True
            self.ended(False)

    async def stumble(self) -> None:
        """Sometimes the process stalls for long, or ends."""
        if self.is_careful:
            return
        draw = self.random.random()
        if draw < VANISH_CHANCE:
            raise VanishError
        if draw < VANISH_CHANCE + STALL_CHANCE:
            self.is_superseded = True
            self.when_stalled()
            await asyncio.sleep(self.random.uniform(*STALL_S))

    # Writing

    async def add(self, transaction: Transaction, partitions: list[tuple[str, int]]) -> None:
        """AddPartitionsToTxn, by the rules of version 1."""
        new = [one for one in partitions if one not in transaction.added]
        if self.identity.has_new_epochs or not new:
            transaction.added.update(new)
            return
        topics: dict[str, list[int]] = {}
        for topic, index in new:
            topics.setdefault(topic, []).append(index)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.identity.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(topic, indexes) for topic, indexes in topics.items()
            ],
        )
        while True:
            answer = cast("AddPartitionsToTxnResponse | None", await self.ask_coordinator(request, 3))
            codes = [NO_ANSWER]
            if answer is not None:
                results = answer.results_by_topic_v3_and_below
                codes = [one.partition_error_code for topic in results for one in topic.results_by_partition]
            code = next((code for code in codes if code), ErrorCode.NONE)
            if code == ErrorCode.NONE:
                transaction.added.update(new)
                return
            self.check_code(transaction, code, "AddPartitionsToTxn")
            await self.wait_after(code, "AddPartitionsToTxn")

    async def write(self, transaction: Transaction, partition: int, values: list[str]) -> None:
        """Write a batch. Raises AbortError if it is not acknowledged in time."""
        begun_at = self.now
        until = begun_at + self.random.uniform(*DELIVERY_S)
        first = self._sequences.get(partition, 0)
        self._sequences[partition] = first + len(values)
        request = self._produce(partition, values, first)
        used = Used(
            self.name, self.identity.transactional_id, self.producer_id, self.epoch, begun_at, "write"
        )
        outcome, offset = Outcome.UNKNOWN, -1
        try:
            while outcome is Outcome.UNKNOWN:
                code, place = await self._attempt(partition, request)
                if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    outcome, offset = Outcome.OK, place
                    self.world.record_use(used)
                elif self.now > until:
                    self.must_begin = True
                    raise AbortError
                else:
                    self.check_code(transaction, code, "Produce")
                    await self.wait_after(code, "Produce", partition)
        finally:
            for index, value in enumerate(values):
                at = offset + index if offset >= 0 else None
                self.world.record(
                    Send(
                        self.name,
                        self.name_of(partition),
                        value,
                        begun_at,
                        self.now,
                        outcome,
                        at,
                        transaction.name,
                    )
                )

    def _produce(self, partition: int, values: list[str], sequence: int) -> ProduceRequest:
        data = self.shapes.next().encode(
            [Record(None, value.encode(), self.world.clock()) for value in values],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        part = PartitionProduceData(partition, RecordBytes(data, 0, len(data)))
        return ProduceRequest(
            transactional_id=self.identity.transactional_id,
            acks=-1,
            timeout_ms=4_000,
            topic_data=[TopicProduceData(name=self.topic, partition_data=[part])],
        )

    async def _attempt(self, partition: int, request: ProduceRequest) -> tuple[int, int]:
        """Send a batch once. Returns the error code and the offset, or -1."""
        leader, _ = self.leaders[partition]
        if leader < 0:
            return NO_ANSWER, -1
        version = 12 if self.identity.has_new_epochs else 11
        response = await self.ask(leader, request, version, self.random.randint(*ANSWER_TIMEOUT_MS))
        if response is None:
            return NO_ANSWER, -1
        answer = cast(ProduceResponse, response).responses[0].partition_responses[0]
        return answer.error_code, answer.base_offset

    def check_code(self, transaction: Transaction, code: int, request: str) -> None:
        """Raise AbortError if the error ends the transaction."""
        if code == NO_ANSWER or ErrorCode(code).retriable:
            return
        if code not in (*FENCED, ErrorCode.TRANSACTION_ABORTABLE):
            self._complain(transaction, code, request)
        elif code != ErrorCode.TRANSACTION_ABORTABLE:
            self._look_at_fence(transaction, code, request)
        self.must_begin = True
        raise AbortError

    def _look_at_fence(self, transaction: Transaction, code: int, request: str) -> None:
        """Complain about the end of a transaction that was neither too old nor a zombie's."""
        is_zombie = self.is_superseded or self.identity.has_lost_begin
        # If clocks differ by hours, a new coordinator takes a new transaction for an old one, as in Kafka.
        is_young = (
            self.now - transaction.begun_at < self.identity.timeout_s - CLOCKS_S
            and self.world.clocks_agree_since(transaction.begun_at)
        )
        if is_young and not is_zombie:
            self._complain(transaction, code, request)

    def _complain(self, transaction: Transaction, code: int, request: str) -> None:
        told = f"{ErrorCode(code).name} for {request} at {self.now:.3f}"
        self.world.complain(f"needless-fence: {transaction.name} was told {told}")

    # The end

    async def _end(self, transaction: Transaction, is_commit: bool) -> None:
        begun_at = self.now
        request = EndTxnRequest(self.identity.transactional_id, self.producer_id, self.epoch, is_commit)
        used = Used(
            self.name, self.identity.transactional_id, self.producer_id, self.epoch, begun_at, "commit"
        )
        version = 5 if self.identity.has_new_epochs else 4
        may_have_happened = False
        vanishes = not self.is_careful and self.random.random() < VANISH_CHANCE
        while True:
            answer = cast(
                "EndTxnResponse | None",
                await self.ask_coordinator(request, version, must_not_come_late=True),
            )
            code = NO_ANSWER if answer is None else answer.error_code
            if vanishes and code not in FENCED:
                self._note_end(transaction, is_commit, begun_at, Outcome.UNKNOWN)
                raise VanishError
            if answer is not None and code == ErrorCode.NONE:
                break
            if code != NO_ANSWER and not ErrorCode(code).retriable:
                self._refused(transaction, is_commit and may_have_happened, begun_at, code)
            # After each of the other errors, too, the decision may be in the log.
            may_have_happened = True
            await self.wait_after(code, "EndTxn")
        if is_commit:
            self.committed += 1
            self.world.record_use(used)
        self._note_end(transaction, is_commit, begun_at, Outcome.OK)
        if self.identity.has_new_epochs:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self._sequences.clear()
            self.must_begin = False
        self.ended(is_commit)

    def _refused(self, transaction: Transaction, is_unclear: bool, begun_at: float, code: int) -> None:
        """The coordinator refuses to end the transaction in this way. It may have committed it before."""
        self._look_at_fence(transaction, code, "EndTxn")
        outcome = Outcome.UNKNOWN if is_unclear else Outcome.OK
        self._note_end(transaction, is_unclear, begun_at, outcome)
        raise FencedError

    def _note_end(self, transaction: Transaction, is_commit: bool, begun_at: float, outcome: Outcome) -> None:
        """Record the end. A transaction for which nobody has requested a commit counts as aborted."""
        if outcome is Outcome.UNKNOWN and not is_commit:
            outcome = Outcome.OK
        self.world.record(TransactionEnd(transaction.name, is_commit, begun_at, self.now, outcome))

    # The coordinator

    async def ask_coordinator(
        self,
        request: Message,
        version: int | None = None,
        kind: int = TRANSACTION,
        key: str = "",
        must_not_come_late: bool = False,
    ) -> Message | None:
        key = key or self.identity.transactional_id
        node_id = self._coordinators.get((kind, key))
        if node_id is None:
            node_id = await self._find_coordinator(kind, key)
        if node_id is None:
            return None
        timeout_ms = self.random.randint(*ANSWER_TIMEOUT_MS)
        if must_not_come_late and not self.identity.has_new_epochs:
            timeout_ms = LONG_TIMEOUT_MS
        answer = await self.ask(node_id, request, version, timeout_ms)
        if answer is None:
            self._coordinators.clear()
        return answer

    async def _find_coordinator(self, kind: int, key: str) -> int | None:
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        answer = cast("FindCoordinatorResponse | None", await self.ask(self.any_node(), request, None, 1_500))
        if answer is None or answer.coordinators[0].error_code:
            return None
        found = answer.coordinators[0]
        self.know_address(found.node_id, (found.host, found.port))
        self._coordinators[kind, key] = found.node_id
        return found.node_id

    async def wait_after(self, code: int, request: str, partition: int | None = None) -> None:
        """Wait before the request is repeated."""
        if code == ErrorCode.CONCURRENT_TRANSACTIONS:
            await asyncio.sleep(self.random.uniform(*RETRY_S))
            return
        if code != NO_ANSWER and not ErrorCode(code).retriable:
            self.world.complain(
                f"{self.name} was told {ErrorCode(code).name} for {request} at {self.now:.3f}"
            )
        if partition is None:
            self._coordinators.clear()
        await self.back_off()


class WriterLife(TransactionalLife):
    """Writes unique values to several partitions in each transaction."""

    async def fill(self, transaction: Transaction) -> bool:
        count = self.random.randint(1, min(3, len(self.leaders)))
        chosen = sorted(self.random.sample(sorted(self.leaders), count))
        late = chosen[1:] if self.random.random() < 0.5 else []
        early = [one for one in chosen if one not in late]
        for part in (early, late):
            if part:
                await self.write_all(transaction, {one: self.random.randint(1, 3) for one in part})
                await self.stumble()
        return True

    async def write_all(self, transaction: Transaction, batches: dict[int, int]) -> None:
        await self.add(transaction, [(self.topic, one) for one in batches])
        written = await asyncio.gather(
            *(self._write_batches(transaction, one, count) for one, count in batches.items()),
            return_exceptions=True,
        )
        for result in written:
            if result is not None:
                raise result

    async def _write_batches(self, transaction: Transaction, partition: int, count: int) -> None:
        for _ in range(count):
            await self.write(transaction, partition, self.new_values(transaction))

    def new_values(self, transaction: Transaction) -> list[str]:
        values = []
        for _ in range(self.random.randint(1, 3)):
            self._values += 1
            values.append(f"{transaction.name}:{self._values}")
        return values
