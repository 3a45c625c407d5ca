"""One partition of `__consumer_offsets` at work: its shard of groups, fed from the log and written to it.

    LOADING   every record of the log is replayed; requests are told to come back
    ACTIVE    requests and timers decide, their records are appended and replayed, answers wait for the commit
    CLOSED    leadership is lost: everything is forgotten, whoever waits is sent to the new coordinator

A *step* is one request or one timer. Steps run on the event loop, one after the other, from the decision to
the append and the replay, with no await in between: that is why the state machines need no locks, and why
the order of decisions is the order of the log. Only the answers wait: each for the high watermark to pass
what was in the log at the end of its step. Usually it has passed already, and the answer leaves at once.

A runtime belongs to one leader epoch. When the epoch changes there is a new one, which loads anew.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast

from gralha.groups.loading import read_records
from gralha.groups.outcome import Outcome, Reply
from gralha.groups.records import GroupRecord, encode_record
from gralha.protocol.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    ErrorCode,
    KafkaError,
    KafkaStorageError,
    NotCoordinatorError,
    UnknownServerError,
    error_for,
)
from gralha.protocol.message import Struct
from gralha.protocol.primitives import ProtocolError, RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.replication.partition import Partition, Waiter

if TYPE_CHECKING:
    # A broker that has no groups need not load all the code for them.
    from gralha.groups.shard import Shard

log = logging.getLogger("gralha.groups")

Decide = Callable[["Shard", Reply, int], Outcome]
Failed = Callable[[KafkaError], Struct]
Answer = TypeVar("Answer", bound=Struct)

LOAD_RETRY_S: Final = 5.0
REPLAYED_AT_ONCE: Final = 100
TIMERS_AT_ONCE_S: Final = 0.01
PART_RECORDS: Final = 1000  # of an outcome that may be written in parts
CLOCK_JUMP_MS: Final = 1000

# What the log says, and what that means to a client of the coordinator.
_ANSWERED_AS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}

# These say that nothing at all can be written for now.
_OUTAGES: Final = frozenset({ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_ENOUGH_REPLICAS})


class _LogBrokeError(Exception):
    """An append failed in a way that is no answer. The records may be in the log, or not."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


class State(Enum):
    LOADING = auto()
    ACTIVE = auto()
    CLOSED = auto()


class Call(Reply):
    """One request inside a runtime, until its answer leaves."""

    def __init__(self, runtime: "Runtime", failed: Failed) -> None:
        self._runtime = runtime
        self._failed = failed
        self._sent = False
        self._response: Struct | None = None
        self._future: asyncio.Future[Struct] | None = None

    def send(self, response: Struct) -> None:
        """Answer, once what is written so far is committed."""
        if not self._sent:
            self._sent = True
            self._runtime.hold(self, response)

    def fail(self, error: KafkaError) -> None:
        """Answer with an error."""
        self.send(self.failure(error))

    def failure(self, error: KafkaError) -> Struct:
        """This request's answer in case of an error."""
        return self._failed(error)

    def leave(self, response: Struct) -> None:
        """The answer may leave."""
        self._sent = True
        self._response = response
        if self._future is not None and not self._future.done():
            self._future.set_result(response)

    def answer(self) -> Struct | Awaitable[Struct]:
        """The answer, now or later."""
        if self._response is not None:
            return self._response
        self._future = asyncio.get_running_loop().create_future()
        self._future.add_done_callback(lambda _: self._runtime.forget(self))
        self._runtime.remember(self)
        return self._future


class _Held(NamedTuple):
    """An answer that waits for the high watermark to reach an offset, but not for ever."""

    end_offset: int
    deadline_ms: int  # by the steady clock
    call: Call
    response: Struct


class Runtime(Waiter):
    def __init__(
        self,
        partition: Partition,
        new_shard: "Callable[[], Shard]",
        clock: Callable[[], int],
        readers: Executor,
        loading_turn: asyncio.Semaphore,
        commit_timeout_ms: int,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        """`loading_turn` is shared: a broker that starts has many partitions to load, and clients to hear.

        `on_failure` is told when an append fails in a way that is no answer.
        """
        super().__init__()
        self.state = State.LOADING
        self.shard = new_shard()
        self._new_shard = new_shard
        self._partition = partition
        self._leader_epoch = partition.leader_epoch
        self._clock = clock
        self._readers = readers
        self._loading_turn = loading_turn
        self._commit_timeout_ms = commit_timeout_ms
        self._on_failure = on_failure
        self._cannot_write: int | None = None  # the error code of the last append
        self._loop = asyncio.get_running_loop()
        self._drift_ms = clock() - self._steady_ms()
        self._sent: list[tuple[Call, Struct]] = []  # in the step that runs
        self._held: deque[_Held] = deque()
        self._open: dict[Call, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_ms = 0  # by the steady clock
        self._commit_timer: asyncio.TimerHandle | None = None
        self._loading: asyncio.Task[None] | None = None
        partition.add_waiter(self)
        self._load()

    # Loading

    def _load(self) -> None:
        self.state = State.LOADING
        self._loading = self._loop.create_task(self._load_until_it_works())

    async def _load_until_it_works(self) -> None:
        while True:
            try:
                await self._replay_log()
            except Exception:
                # Damaged records or a disk that does not answer. The groups wait; the other partitions go on.
                log.exception("%s cannot be loaded; next try in %d s", self._name, LOAD_RETRY_S)
                await asyncio.sleep(LOAD_RETRY_S)
                self.shard = self._new_shard()
            else:
                self._activate()
                return

    async def _replay_log(self) -> None:
        """Read in threads, replay on the loop, a little at a time."""
        partition_log = self._partition.log
        offset, end_offset = partition_log.log_start_offset, partition_log.log_end_offset
        while offset < end_offset:
            async with self._loading_turn:
                records, offset = await self._loop.run_in_executor(
                    self._readers, read_records, self._partition, offset, end_offset
                )
                for number, record in enumerate(records, start=1):
                    self.shard.replay(record)
                    if number % REPLAYED_AT_ONCE == 0:
                        await asyncio.sleep(0)

    def _activate(self) -> None:
        self.state = State.ACTIVE
        self._loading = None
        log.debug("%s is loaded: %d groups", self._name, len(self.shard.groups))
        self._step(lambda shard, _reply, now_ms: shard.on_loaded(now_ms), None)

    # Requests and timers

    @property
    def is_open(self) -> bool:
        """Is this broker still the coordinator?"""
        return self.state is not State.CLOSED

    def call(self, decide: Decide, failed: Callable[[KafkaError], Answer]) -> Answer | Awaitable[Answer]:
        """Have a request decided; the answer comes at once if nothing has to be waited for."""
        if self.state is not State.ACTIVE:
            loading = self.state is State.LOADING
            return failed(CoordinatorLoadInProgressError() if loading else NotCoordinatorError())
        call = Call(self, failed)
        self._step(decide, call)
        # A shard answers a request with the response of that request.
        return cast(Answer | Awaitable[Answer], call.answer())

    def run(self, decide: "Callable[[Shard, int], Outcome]") -> None:
        """Have something decided that nobody waits for."""
        if self.state is State.ACTIVE:
            self._step(lambda shard, _reply, now_ms: decide(shard, now_ms), None)

    def _step(self, decide: Decide, call: Call | None) -> None:
        now_ms = self._now_ms()
        try:
            outcome = decide(self.shard, call or _Nobody(), now_ms)
            self._write(outcome, now_ms)
            if call is not None and outcome.response is not None:
                call.send(outcome.response)
        except KafkaError as error:
            if call is not None:
                call.fail(_as_answered(error))
        except _LogBrokeError as broken:
            self._on_failure(broken.reason)
            self._start_again(call, _as_answered(KafkaStorageError(str(broken.reason))))
            return
        except Exception:
            log.exception("%s: a request failed; the groups are loaded anew", self._name)
            self._start_again(call, UnknownServerError())
            return
        self._release_sent()
        self._arm_timer(now_ms)

    def _write(self, outcome: Outcome, now_ms: int) -> None:
        records = outcome.records
        at_once = PART_RECORDS if outcome.in_parts else len(records)
        for start in range(0, len(records), at_once or 1):
            part = records[start : start + at_once]
            try:
                self._append(part, now_ms)
            except KafkaError as error:
                if outcome.on_failed is not None:
                    outcome.on_failed(_as_answered(error))
                raise
            if outcome.on_appended is None:
                for record in part:
                    self.shard.replay(record)
        if outcome.on_appended is not None:
            outcome.on_appended()

    def _append(self, records: Sequence[GroupRecord], now_ms: int) -> None:
        try:
            batch = encode_batch([_stored(record, now_ms) for record in records])
        except ProtocolError as error:
            # An id that a client made so long that a record has no room for it.
            raise UnknownServerError(f"A record cannot be written: {error}") from error
        try:
            self._partition.append_own(RecordBytes(batch, 0, len(batch)), now_ms)
        except KafkaError as refusal:
            self._note_refusal(refusal)
            raise
        except Exception as error:
            log.exception("%s: an append failed; the groups are loaded anew", self._name)
            raise _LogBrokeError(error) from error
        if self._cannot_write is not None:
            self._cannot_write = None
            log.info("%s can be written again", self._name)

    def _note_refusal(self, error: KafkaError) -> None:
        """Say once why the partition cannot be written, not with each request that fails for that reason."""
        if error.code in _OUTAGES:
            if self._cannot_write != error.code:
                self._cannot_write = error.code
                log.error("%s cannot be written: %s", self._name, error.message)
        elif error.code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
            log.warning("%s: the log refuses a record: %s", self._name, error.message)

    def _start_again(self, call: Call | None, error: KafkaError) -> None:
        """What is in memory may be wrong, what is in the log is not."""
        if call is not None:
            call.leave(call.failure(error))
        self._forget_everything(CoordinatorLoadInProgressError())
        self.shard = self._new_shard()
        self._load()

    # Answers

    def hold(self, call: Call, response: Struct) -> None:
        """An answer of the step that runs now."""
        self._sent.append((call, response))

    def remember(self, call: Call) -> None:
        """Its client waits."""
        self._open[call] = None

    def forget(self, call: Call) -> None:
        """Its client has the answer, or is gone."""
        self._open.pop(call, None)

    def _release_sent(self) -> None:
        if not self._sent:
            return
        sent, self._sent = self._sent, []
        end_offset = self._partition.log.log_end_offset
        if end_offset <= self._partition.log.high_watermark:
            for call, response in sent:
                call.leave(response)
            return
        deadline_ms = self._steady_ms() + self._commit_timeout_ms
        self._held.extend(_Held(end_offset, deadline_ms, call, response) for call, response in sent)
        if self._commit_timer is None:
            self._commit_timer = self._loop.call_later(self._commit_timeout_ms / 1000, self._commit_is_late)

    def partition_changed(self, partition: Partition, new_bytes: int) -> bool:
        """The high watermark has moved, or the leader has changed."""
        if self.state is State.CLOSED:
            return True
        if not partition.is_leader() or partition.leader_epoch != self._leader_epoch:
            self.close()
            return True
        high_watermark = partition.log.high_watermark
        while self._held and self._held[0].end_offset <= high_watermark:
            held = self._held.popleft()
            held.call.leave(held.response)
        return False

    def _commit_is_late(self) -> None:
        """The records stay in the log and will be committed one day; the client may ask again."""
        self._commit_timer = None
        steady_ms = self._steady_ms()
        while self._held and self._held[0].deadline_ms <= steady_ms:
            held = self._held.popleft()
            held.call.leave(held.call.failure(CoordinatorNotAvailableError()))
        if self._held:
            delay_ms = self._held[0].deadline_ms - steady_ms
            self._commit_timer = self._loop.call_later(delay_ms / 1000, self._commit_is_late)

    # Time

    def _steady_ms(self) -> int:
        return int(self._loop.time() * 1000)

    def _now_ms(self) -> int:
        """The wall clock, which goes into records.

        When it is set, deadlines move with it: a laptop that wakes up must not find all its sessions expired.
        """
        now_ms = self._clock()
        drift_ms = now_ms - self._steady_ms()
        if abs(drift_ms - self._drift_ms) > CLOCK_JUMP_MS:
            self.shard.timers.shift(drift_ms - self._drift_ms)
            self._drift_ms = drift_ms
        return now_ms

    def _arm_timer(self, now_ms: int) -> None:
        next_ms = self.shard.timers.next_deadline_ms()
        if next_ms is None:
            return
        # From now on, by the steady clock. Where the wall clock goes more slowly, the timer comes too early
        # and is armed again for the rest.
        at_ms = self._steady_ms() + max(next_ms - now_ms, 0)
        if self._timer is not None:
            if self._timer_at_ms <= at_ms:
                return
            self._timer.cancel()
        self._timer_at_ms = at_ms
        self._timer = self._loop.call_at(at_ms / 1000, self._timers_due)

    def _timers_due(self) -> None:
        """A little at a time: when many members are gone at once, those who are there must still be heard.

        Else the sessions of healthy members would end because their heartbeats are not read.
        """
        self._timer = None
        until_s = self._loop.time() + TIMERS_AT_ONCE_S
        while self.state is State.ACTIVE:
            now_ms = self._now_ms()
            action = None if self._loop.time() > until_s else self.shard.timers.pop_due(now_ms)
            if action is None:
                self._arm_timer(now_ms)
                return
            self._step(_timed(action), None)

    # The end

    def close(self) -> None:
        """Leadership is lost, or the broker stops."""
        if self.state is not State.CLOSED:
            self.state = State.CLOSED
            if self._loading is not None:
                self._loading.cancel()
            self._partition.remove_waiter(self)
            self._forget_everything(NotCoordinatorError())

    def _forget_everything(self, error: KafkaError) -> None:
        for timer in (self._timer, self._commit_timer):
            if timer is not None:
                timer.cancel()
        self._timer = self._commit_timer = None
        self._sent.clear()
        self._held.clear()
        for call in list(self._open):
            call.leave(call.failure(error))
        self._open.clear()

    @property
    def _name(self) -> str:
        return f"{self._partition.topic}-{self._partition.index}"


class _Nobody(Reply):
    """Nobody waits for what a timer decides."""

    def send(self, response: Struct) -> None:
        pass

    def fail(self, error: KafkaError) -> None:
        pass


def _timed(action: Callable[[int], Outcome | None]) -> Decide:
    return lambda _shard, _reply, now_ms: action(now_ms) or Outcome()


def _stored(record: GroupRecord, now_ms: int) -> Record:
    key, value = encode_record(record)
    return Record(key, value, now_ms)


def _as_answered(error: KafkaError) -> KafkaError:
    code = _ANSWERED_AS.get(ErrorCode(error.code))
    return error if code is None else error_for(code, error.message)
