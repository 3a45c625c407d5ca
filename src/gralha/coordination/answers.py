"""Answers that wait for the commit of the records that they depend on.

A client must not learn of a record that the next coordinator might not have. So the answers of a step leave
when the high watermark has passed everything that was in the log at the end of the step, also if the step
itself wrote nothing. Usually the high watermark is there already, and the answers leave at once.

An answer counts only in the leader epoch of its decision, because another leader may have replaced the
records of that epoch. When the epoch ends, all clients that wait get NOT_COORDINATOR.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from gralha.coordination.decision import Reply
from gralha.protocol.errors import CoordinatorNotAvailableError, KafkaError
from gralha.protocol.message import Struct
from gralha.replication.partition import Partition
from gralha.replication.subscriptions import HIGH_WATERMARK_MOVED, Subscriber

Failed = Callable[[KafkaError], Struct]


class Call(Reply):
    """One request, from its decision until its answer leaves."""

    __slots__ = ("_answers", "_failed", "_future", "_response", "_sent")

    def __init__(self, answers: "Answers", failed: Failed) -> None:
        """`failed` makes the response for an error."""
        self._answers = answers
        self._failed = failed
        self._sent = False
        self._response: Struct | None = None
        self._future: asyncio.Future[Struct] | None = None

    def send(self, response: Struct) -> None:
        """Answer as soon as everything that is written so far is committed."""
        if not self._sent:
            self._sent = True
            self._answers.hold(self, response)

    def fail(self, error: KafkaError) -> None:
        """Answer with an error."""
        self.send(self._failed(error))

    def leave(self, response: Struct) -> None:
        """Send the answer to the client now."""
        self._sent = True
        self._response = response
        if self._future is not None and not self._future.done():
            self._future.set_result(response)

    def leave_with(self, error: KafkaError) -> None:
        """Send an error to the client now."""
        self.leave(self._failed(error))

    def answer(self) -> Struct | Awaitable[Struct]:
        """The answer if it has left, otherwise a future."""
        if self._response is not None:
            return self._response
        self._future = asyncio.get_running_loop().create_future()
        self._future.add_done_callback(lambda _: self._answers.forget(self))
        self._answers.remember(self)
        return self._future


class _Held(NamedTuple):
    """An answer that waits until the high watermark has reached an offset, or the deadline has come."""

    end_offset: int
    deadline_s: float  # by the clock of the event loop
    call: Call
    response: Struct


class Answers(Subscriber):
    """The answers of one partition in one leader epoch."""

    def __init__(self, partition: Partition, commit_timeout_ms: int, on_lost: Callable[[], None]) -> None:
        """`on_lost` is called when the leader epoch has ended."""
        super().__init__()
        self._partition = partition
        self._leader_epoch = partition.leader_epoch
        self._commit_timeout_s = commit_timeout_ms / 1000
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._sent: list[tuple[Call, Struct]] = []  # in the present step
        self._held: deque[_Held] = deque()
        # Calls to make when the high watermark has reached an offset. They have no deadline.
        self._after_commit: deque[tuple[int, Callable[[], None]]] = deque()
        self._waiting: dict[Call, None] = {}  # calls whose clients wait
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        partition.subscribe(self, HIGH_WATERMARK_MOVED)

    # A step

    def hold(self, call: Call, response: Struct) -> None:
        """Keep an answer until the present step has ended and its records are committed."""
        self._sent.append((call, response))

    def release(self) -> None:
        """The step has ended. Its answers leave when the high watermark has passed the end of the log."""
        if not self._sent:
            return
        sent, self._sent = self._sent, []
        end_offset = self._partition.log.log_end_offset
        if end_offset <= self._partition.log.high_watermark:
            for call, response in sent:
                call.leave(response)
            return
        deadline_s = self._loop.time() + self._commit_timeout_s
        self._held.extend(_Held(end_offset, deadline_s, call, response) for call, response in sent)
        if self._timer is None:
            self._timer = self._loop.call_at(deadline_s, self._commit_is_late)

    def when_committed(self, action: Callable[[], None]) -> None:
        """Call `action` when everything that is in the log now is committed in this leader epoch."""
        end_offset = self._partition.log.log_end_offset
        if end_offset <= self._partition.log.high_watermark:
            action()
        else:
            self._after_commit.append((end_offset, action))

    # Clients that wait

    def remember(self, call: Call) -> None:
        """A client waits for the answer to its call."""
        self._waiting[call] = None

    def forget(self, call: Call) -> None:
        """A client has its answer, or has gone."""
        self._waiting.pop(call, None)

    # The partition

    def partition_changed(self, partition: Partition, event: int, new_bytes: int) -> bool:
        """The high watermark has moved, or the leader has changed."""
        if not self._is_closed and (
            not partition.is_leader() or partition.leader_epoch != self._leader_epoch
        ):
            self._on_lost()
        if self._is_closed:
            return True
        high_watermark = partition.log.high_watermark
        while self._held and self._held[0].end_offset <= high_watermark:
            held = self._held.popleft()
            held.call.leave(held.response)
        while self._after_commit and self._after_commit[0][0] <= high_watermark:
            self._after_commit.popleft()[1]()
        return False

    def _commit_is_late(self) -> None:
        """The records stay in the log, and may still be committed. The client may ask again."""
        self._timer = None
        now_s = self._loop.time()
        while self._held and self._held[0].deadline_s <= now_s:
            self._held.popleft().call.leave_with(CoordinatorNotAvailableError())
        if self._held:
            self._timer = self._loop.call_at(self._held[0].deadline_s, self._commit_is_late)

    # The end

    def close(self) -> None:
        """Stop listening to the partition."""
        self._is_closed = True
        self._partition.unsubscribe(self, HIGH_WATERMARK_MOVED)

    def fail_all(self, error: KafkaError) -> None:
        """Answer all clients that wait with an error, at once."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._sent.clear()
        self._held.clear()
        self._after_commit.clear()
        for call in list(self._waiting):
            call.leave_with(error)
        self._waiting.clear()
