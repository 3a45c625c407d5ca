"""One partition of a coordinator's topic at work: its shard, which is loaded from the log and written to it.

    LOADING   The runtime replays every record of the log. Requests are told to come back.
    ACTIVE    Requests and timers decide. Records are appended and replayed; answers wait for the commit.
    CLOSED    Leadership is lost. The runtime forgets everything and sends clients to the next coordinator.

A *step* is one request or one timer. Steps run on the event loop, one after the other, from the decision to
the append and the replay, with no await in between. So the state machines need no locks, and the order of
decisions is the order of the log. Only the answers wait (see answers.py).

A runtime belongs to one leader epoch. The next epoch gets a new runtime, which loads from the log.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Executor
from enum import Enum, auto
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from gralha.coordination.answers import Answers, Call
from gralha.coordination.appending import Appender, LogBrokenError, answer_to
from gralha.coordination.decision import NOTHING, Decision, Reply
from gralha.coordination.loading import read_chunk
from gralha.coordination.producer import EndMarker
from gralha.coordination.shard import Shard
from gralha.coordination.timers import Action
from gralha.protocol.errors import (
    CoordinatorLoadInProgressError,
    KafkaError,
    KafkaStorageError,
    NotCoordinatorError,
    UnknownServerError,
)
from gralha.protocol.message import Struct
from gralha.replication.partition import Partition

log = logging.getLogger("gralha.coordination")

AnyShard = TypeVar("AnyShard", bound=Shard[Any])
Answer = TypeVar("Answer", bound=Struct)
Decide = Callable[[AnyShard, Reply, int], Decision[Any]]

LOAD_RETRY_S: Final = 5.0
REPLAYED_AT_ONCE: Final = 100
TIMERS_AT_ONCE_S: Final = 0.01
# A timer whose decision could not be written decides again after this pause.
TIMER_RETRY_MS: Final = 500
# A decision that need not be atomic is written in batches of this many records.
BATCH_RECORDS: Final = 1000
CLOCK_JUMP_MS: Final = 1000
# A timer that comes later than this was held up by a pause of the process.
PAUSE_MS: Final = 1000


class State(Enum):
    LOADING = auto()
    ACTIVE = auto()
    CLOSED = auto()


class CoordinatorPorts(NamedTuple, Generic[AnyShard]):
    """The parts of the broker that a coordinator needs."""

    new_shard: Callable[[], AnyShard]
    # Wall-clock time in milliseconds.
    clock: Callable[[], int]
    # The threads that read the log.
    readers: Executor
    # An answer that is not committed after this time is COORDINATOR_NOT_AVAILABLE.
    commit_timeout_ms: int
    # Learns of an append that failed in an unexpected way. The state is loaded again in any case.
    on_log_broken: Callable[[BaseException], None]


class Runtime(Generic[AnyShard]):
    def __init__(
        self, partition: Partition, ports: CoordinatorPorts[AnyShard], loading_turn: asyncio.Semaphore
    ) -> None:
        """All runtimes share `loading_turn`, so that a broker that starts can hear its clients meanwhile."""
        self.state = State.LOADING
        self.shard = ports.new_shard()
        self._partition = partition
        self._ports = ports
        self._loading_turn = loading_turn
        self._loop = asyncio.get_running_loop()
        self._drift_ms = ports.clock() - self._steady_ms()
        self._answers = Answers(partition, ports.commit_timeout_ms, self.close)
        self._appender = Appender(partition, self.shard.codec)
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_ms = 0  # by the steady clock
        self._loading: asyncio.Task[None] | None = None
        self._load(shard_is_new=True)

    # Loading

    def _load(self, shard_is_new: bool) -> None:
        self.state = State.LOADING
        self._loading = self._loop.create_task(self._load_until_it_works(shard_is_new))

    async def _load_until_it_works(self, shard_is_new: bool) -> None:
        while True:
            try:
                if not shard_is_new:
                    self.shard = self._ports.new_shard()
                await self._replay_log()
                self.shard.on_loaded(self._now_ms())
                self._arm_timer(self._now_ms())
            except Exception:
                # Damaged records, a disk that does not answer, or a bug. The other partitions go on.
                log.exception("%s cannot be loaded; the next try is in %d s", self._name, LOAD_RETRY_S)
                self._stop_timer()
                await asyncio.sleep(LOAD_RETRY_S)
                shard_is_new = False
            else:
                self.state = State.ACTIVE
                self._loading = None
                log.debug("%s is loaded", self._name)
                return

    async def _replay_log(self) -> None:
        """Read in threads and replay on the event loop, a few records at a time."""
        partition_log = self._partition.log
        offset, end_offset = partition_log.log_start_offset, partition_log.log_end_offset
        while offset < end_offset:
            async with self._loading_turn:
                loaded, offset = await self._loop.run_in_executor(
                    self._ports.readers, read_chunk, self._partition, self.shard.codec, offset, end_offset
                )
                for number, entry in enumerate(loaded, start=1):
                    entry.replay(self.shard)
                    if number % REPLAYED_AT_ONCE == 0:
                        await asyncio.sleep(0)

    # Requests

    @property
    def is_open(self) -> bool:
        """Whether this broker is still the coordinator."""
        return self.state is not State.CLOSED

    def call(
        self, decide: Decide[AnyShard], failed: Callable[[KafkaError], Answer]
    ) -> Answer | Awaitable[Answer]:
        """Let the shard decide on a request. The answer comes at once if it need not wait for anything."""
        if self.state is not State.ACTIVE:
            loading = self.state is State.LOADING
            return failed(CoordinatorLoadInProgressError() if loading else NotCoordinatorError())
        call = Call(self._answers, failed)
        self._step(decide, call)
        # A shard answers a request with the response of that request.
        return cast(Answer | Awaitable[Answer], call.answer())

    def run(self, decide: Callable[[AnyShard, int], Decision[Any]]) -> None:
        """Let the shard decide on something that nobody waits for."""
        if self.state is State.ACTIVE:
            self._run_action(decide, lambda now_ms: decide(self.shard, now_ms))

    # One step

    def _step(self, decide: Decide[AnyShard], call: Call | None) -> KafkaError | None:
        """Decide, append, replay, answer. Returns the error if that was refused."""
        now_ms = self._now_ms()
        try:
            error = self._decide_and_write(decide, call or _NOBODY, now_ms)
        except LogBrokenError as broken:
            log.exception("%s: an append failed; the state is loaded again from the log", self._name)
            self._ports.on_log_broken(broken.reason)
            self._start_again(call, answer_to(KafkaStorageError(str(broken.reason))))
            return None
        except Exception:
            log.exception("%s: a state machine failed; the state is loaded again from the log", self._name)
            self._start_again(call, UnknownServerError())
            return None
        self._answers.release()
        self._arm_timer(now_ms)
        return error

    def _decide_and_write(self, decide: Decide[AnyShard], reply: Reply, now_ms: int) -> KafkaError | None:
        try:
            decision = decide(self.shard, reply, now_ms)
        except KafkaError as error:
            if reply is _NOBODY:
                log.warning("%s refuses one of its timers: %s", self._name, error.message)
            reply.fail(error)
            return error
        refusal = self._write(decision, now_ms)
        if refusal is not None:
            if decision.on_failed is not None:
                decision.on_failed(refusal)
            reply.fail(refusal)
            return refusal
        if decision.then is not None:
            decision.then()
        if decision.on_committed is not None:
            self._answers.when_committed(decision.on_committed)
        if decision.response is not None:
            reply.send(decision.response)
        return None

    def _write(self, decision: Decision[Any], now_ms: int) -> KafkaError | None:
        """Append and replay. A decision that is not atomic may be refused in the middle."""
        if decision.marker is not None:
            return self._write_marker(decision.marker, now_ms)
        if decision.proof is not None:
            return self._appender.append_proof(decision.proof, now_ms)
        return self._write_records(decision, now_ms) if decision.records else None

    def _write_marker(self, marker: EndMarker, now_ms: int) -> KafkaError | None:
        refusal = self._appender.append_marker(marker, now_ms)
        if refusal is None:
            self.shard.replay_end_of_transaction(marker.producer, marker.is_commit)
        return refusal

    def _write_records(self, decision: Decision[Any], now_ms: int) -> KafkaError | None:
        records, producer = decision.records, decision.producer
        is_atomic = decision.is_atomic or producer is not None
        size = len(records) if is_atomic else BATCH_RECORDS
        for start in range(0, len(records), size):
            batch = records[start : start + size]
            refusal = self._appender.append(batch, producer, now_ms)
            if refusal is not None:
                return refusal
            for record in batch:
                self.shard.replay(record, producer)
        return None

    def _start_again(self, call: Call | None, error: KafkaError) -> None:
        """Load the shard again: memory may be wrong, but the log is not."""
        if call is not None:
            call.leave_with(error)
        if self.state is State.CLOSED:
            return
        self._stop_timer()
        self._answers.fail_all(CoordinatorLoadInProgressError())
        self._load(shard_is_new=False)

    # Time

    def _steady_ms(self) -> int:
        return int(self._loop.time() * 1000)

    def _now_ms(self) -> int:
        """The wall clock, which goes into records.

        If somebody sets the clock, all deadlines move with it. Otherwise a laptop that wakes up would find
        that all sessions have expired.
        """
        now_ms = self._ports.clock()
        drift_ms = now_ms - self._steady_ms()
        if abs(drift_ms - self._drift_ms) > CLOCK_JUMP_MS:
            self.shard.timers.shift(drift_ms - self._drift_ms)
            self._drift_ms = drift_ms
        return now_ms

    def _arm_timer(self, now_ms: int) -> None:
        next_ms = self.shard.timers.next_deadline_ms()
        if next_ms is None:
            return
        # The steady clock counts from now on. If the wall clock is slower, the timer comes too early and is
        # armed again for the rest.
        at_ms = self._steady_ms() + max(next_ms - now_ms, 0)
        if self._timer is not None:
            if self._timer_at_ms <= at_ms:
                return
            self._timer.cancel()
        self._timer_at_ms = at_ms
        self._timer = self._loop.call_at(at_ms / 1000, self._timers_due)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _timers_due(self) -> None:
        """Run the timers that are due, but only for a moment at a time.

        When many sessions expire at once, the heartbeats of healthy members must still be read: otherwise
        their sessions would expire, too.
        """
        self._timer = None
        self._note_pause(self._steady_ms() - self._timer_at_ms)
        until_s = self._loop.time() + TIMERS_AT_ONCE_S
        while self.state is State.ACTIVE:
            now_ms = self._now_ms()
            due = None if self._loop.time() > until_s else self.shard.timers.pop_due(now_ms)
            if due is None:
                self._arm_timer(now_ms)
                return
            self._run_action(*due)

    def _note_pause(self, late_ms: int) -> None:
        """Move all deadlines if this process did not run for a while (SIGSTOP, a suspended machine).

        Heartbeats lie in the sockets, unread. The members get a moment to be heard.
        """
        if late_ms > PAUSE_MS:
            self.shard.timers.shift(late_ms + PAUSE_MS)

    def _run_action(self, key: Hashable, action: Action) -> None:
        """Run a step that nobody waits for. If it is refused, it runs again after a pause.

        The action reads the state again then. Whatever has happened meanwhile counts: a member that has sent
        a heartbeat has a new session timer, which replaces this one.
        """
        error = self._step(lambda _shard, _reply, now_ms: action(now_ms) or NOTHING, None)
        timers = self.shard.timers
        if error is not None and self.state is State.ACTIVE and timers.deadline_ms(key) is None:
            log.debug("%s: timer %s is tried again: %s", self._name, key, error.message)
            now_ms = self._now_ms()
            timers.schedule(key, now_ms + TIMER_RETRY_MS, action)
            self._arm_timer(now_ms)

    # The end

    def close(self) -> None:
        """Leadership is lost, or the broker stops."""
        if self.state is not State.CLOSED:
            self.state = State.CLOSED
            if self._loading is not None:
                self._loading.cancel()
            self._stop_timer()
            self._answers.close()
            self._answers.fail_all(NotCoordinatorError())

    @property
    def _name(self) -> str:
        return f"{self._partition.topic}-{self._partition.index}"


class _Nobody(Reply):
    """Takes the answers to timers, for which nobody waits."""

    __slots__ = ()

    def send(self, response: Struct) -> None:
        pass

    def fail(self, error: KafkaError) -> None:
        pass


_NOBODY: Final = _Nobody()
