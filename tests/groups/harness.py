"""What tests of groups share: a Reply that remembers, a Machine that applies decisions like the coordinator.

    machine = Machine(lambda timers: ClassicProtocol({}, timers, config, new_id), replay)
    reply = Recorder()
    machine.ask(lambda room: room.join_group(caller, request, reply, machine.now_ms), reply)
    machine.advance(3_000)          # runs the timers that fall due, each at its own time
    reply.response                  # the answer, whichever way it came

A "room" is any object whose methods return a Decision. The machine keeps the log, appends to it (or fails to,
if told so), replays, and can throw the room away and load a new one from the log.
A decision with a producer is written in a transaction, which `machine.end(producer, is_commit)` ends.
A timer whose decision cannot be written runs again after a pause, as in the coordinator's runtime.
Records go through their bytes, so that nothing in the log is shared with the state that wrote it.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from gralha.coordination.appending import answer_to
from gralha.coordination.decision import NOTHING, Decision, Reply
from gralha.coordination.loading import LoadedMarker, LoadedRecord
from gralha.coordination.producer import Producer
from gralha.coordination.runtime import TIMER_RETRY_MS
from gralha.coordination.timers import Timers
from gralha.groups.records import GroupDecision, GroupRecord, decode_record, encode_record
from gralha.protocol.errors import KafkaError, NotCoordinatorError
from gralha.protocol.message import Struct

Room = TypeVar("Room")
Response = TypeVar("Response", bound=Struct)
START_MS = 1_000_000


class Recorder(Reply):
    """Keeps the first answer. `code` is the answer's error code, also of an error that was raised."""

    def __init__(self) -> None:
        self.response: Struct | None = None
        self.error: KafkaError | None = None

    def send(self, response: Struct) -> None:
        if not self.answered:
            self.response = response

    def fail(self, error: KafkaError) -> None:
        if not self.answered:
            self.error = error

    def sent(self, kind: type[Response]) -> Response:
        """The answer, which must be of this kind."""
        assert isinstance(self.response, kind), self.error
        return self.response

    @property
    def answered(self) -> bool:
        return self.response is not None or self.error is not None

    @property
    def code(self) -> int | None:
        if self.error is not None:
            return int(self.error.code)
        if self.response is None:
            return None
        return int(getattr(self.response, "error_code", 0))


class Machine(Generic[Room]):
    """One shard's room, log and clock.

    `append_error`: while it is set, the log refuses every append with it (KAFKA_STORAGE_ERROR if the disk is
    full). Decisions and clients get the answer to that error. `failed_appends` counts such appends.
    `log`: GroupRecords; in transactions, what is loaded from the log (LoadedRecord, LoadedMarker).
    """

    def __init__(
        self,
        build: Callable[[Timers], Room],
        replay: Callable[[Room, GroupRecord], None],
        on_loaded: Callable[[Room, int], None] | None = None,
        now_ms: int = START_MS,
    ) -> None:
        self._build = build
        self._replay = replay
        self._on_loaded = on_loaded
        self.now_ms = now_ms
        self.log: list[Any] = []
        self.append_error: KafkaError | None = None
        self.failed_appends = 0
        self.open: list[Recorder] = []  # replies that wait for a later step
        self.timers = Timers()
        self.room = build(self.timers)

    def ask(self, decide: Callable[[Room], GroupDecision], reply: Recorder | None = None) -> Recorder:
        """Have the room decide on a request, and apply the decision; errors become the answer."""
        reply = reply or Recorder()
        self.open.append(reply)
        try:
            decision = decide(self.room)
            self._apply(decision)
            if decision.response is not None:
                reply.send(decision.response)
        except KafkaError as error:
            reply.fail(error)
        self._forget_answered()
        return reply

    def advance(self, milliseconds: int) -> None:
        """Let time pass; every timer that falls due runs at its deadline, in order."""
        end_ms = self.now_ms + milliseconds
        while (next_ms := self.timers.next_deadline_ms()) is not None and next_ms <= end_ms:
            self.now_ms = max(self.now_ms, next_ms)
            self._run_due()
        self.now_ms = end_ms

    def jump(self, milliseconds: int) -> None:
        """Let time pass unnoticed, as when the process was stopped: what was due runs late, at the end."""
        self.now_ms += milliseconds
        self._run_due()

    def reload(self) -> None:
        """Lose the leadership and gain it again: open replies fail, a new room is loaded from the log."""
        for reply in self.open:
            reply.fail(NotCoordinatorError())
        self.open.clear()
        self.timers = Timers()
        self.room = self.loaded(self.timers)
        if self._on_loaded is not None:
            self._on_loaded(self.room, self.now_ms)

    def loaded(self, timers: Timers | None = None) -> Room:
        """A room as it would be loaded from the log now; this machine's own is left alone."""
        room = self._build(timers or Timers())
        for entry in self.log:
            self._replay_entry(room, entry)
        return room

    def end(self, producer: Producer, is_commit: bool) -> None:
        """Write the marker that ends a producer's transaction."""
        marker: LoadedMarker[GroupRecord] = LoadedMarker(producer, is_commit)
        self.log.append(marker)
        self._replay_entry(self.room, marker)

    def _replay_entry(self, room: Room, entry: Any) -> None:
        if isinstance(entry, GroupRecord):
            self._replay(room, entry)
        else:
            entry.replay(room)

    def _run_due(self) -> None:
        while (due := self.timers.pop_due(self.now_ms)) is not None:
            key, action = due
            try:
                self._apply(action(self.now_ms) or NOTHING)
            except KafkaError:
                if self.timers.deadline_ms(key) is None:
                    self.timers.schedule(key, self.now_ms + TIMER_RETRY_MS, action)
        self._forget_answered()

    def _forget_answered(self) -> None:
        self.open = [reply for reply in self.open if not reply.answered]

    def _apply(self, decision: Decision) -> None:
        """As the coordinator does it: append all or nothing, then replay, then do what follows."""
        records: list[Any] = [round_trip(record) for record in decision.records]
        if decision.producer is not None:
            records = [LoadedRecord(record, decision.producer) for record in records]
        if records and self.append_error is not None:
            self.failed_appends += 1
            refusal = answer_to(self.append_error)
            if decision.on_failed is not None:
                decision.on_failed(refusal)
            raise refusal
        self.log += records
        for record in records:
            self._replay_entry(self.room, record)
        if decision.then is not None:
            decision.then()


def round_trip(record: GroupRecord) -> GroupRecord:
    """The record as it comes back from the log."""
    copy = decode_record(*encode_record(record))
    assert copy is not None
    return copy


def numbered_ids() -> Callable[[], str]:
    """Ids that are easy to read in a failed test: 1, 2, 3, ..."""
    numbers: Iterator[int] = itertools.count(1)
    return lambda: str(next(numbers))
