"""From the committed log to the listener: every batch once, in order.

Batches that this node appended itself wait here and are handed on from memory when they are committed. All
others are read from the log. `on_caught_up` follows when the listener has seen everything up to the high
watermark, so that it can take many batches together.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from gralha.raft.log import LogBatch, MetadataLog
from gralha.raft.settings import Append, RaftListener, RecordCodec
from gralha.raft.snapshots import Snapshot, SnapshotId

_NO_BOUND: Final = 2**63 - 1


class Delivery:
    """How far the listener is. `on_progress` hears of every step, `on_failure` of every error."""

    def __init__(
        self,
        log: MetadataLog,
        codec: RecordCodec,
        listener: RaftListener,
        clock: Callable[[], int],
        on_progress: Callable[[], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        # Up to here the listener has seen the log.
        self.position = SnapshotId(0, 0)
        self.timestamp_ms = 0
        self.bytes_since_snapshot = 0
        self.pending: deque[Append] = deque()
        self._log = log
        self._codec = codec
        self._listener = listener
        self._clock = clock
        self._on_progress = on_progress
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._target = 0
        self._reading: asyncio.Task[None] | None = None

    @property
    def offset(self) -> int:
        """The next offset that the listener gets."""
        return self.position.end_offset

    @property
    def is_caught_up(self) -> bool:
        """Has the listener been told of all that it was given?"""
        return self._reading is None

    def load(self, snapshot_id: SnapshotId, snapshot: Snapshot) -> None:
        """A snapshot instead of the log before it."""
        self._listener.on_snapshot(*snapshot_id, [self._codec.decode(value) for value in snapshot.values])
        self.position = snapshot_id
        self.timestamp_ms = snapshot.last_contained_log_timestamp
        self.bytes_since_snapshot = 0

    def advance(self, high_watermark: int) -> None:
        """Everything below the high watermark is to be delivered."""
        self._target = max(self._target, high_watermark)
        if self._reading is not None or self.offset >= self._target:
            return
        self._deliver_pending()
        if self.offset < self._target:
            self._reading = self._loop.create_task(self._read())
            self._reading.add_done_callback(self._read_done)
        else:
            self._caught_up()

    def _caught_up(self) -> None:
        self._listener.on_caught_up()
        self._on_progress()

    def _deliver_pending(self) -> None:
        now_ms = self._clock()
        pending = self.pending
        while pending and pending[0].base_offset == self.offset and pending[0].next_offset <= self._target:
            append = pending[0]
            self._listener.on_commit(append.base_offset, append.next_offset, append.epoch, append.records)
            pending.popleft()
            self._note(append.next_offset, append.epoch, now_ms, append.size_bytes)
            if not append.committed.done():
                append.committed.set_result(append.next_offset - 1)

    async def _read(self) -> None:
        """Up to what is known in memory, or to the high watermark."""
        while self.offset < (end := min(self._target, self._first_pending())):
            read = partial(self._log.read, self.offset, end)
            for batch in await self._loop.run_in_executor(None, read):
                self._deliver_batch(batch)

    def _first_pending(self) -> int:
        return self.pending[0].base_offset if self.pending else _NO_BOUND

    def _deliver_batch(self, batch: LogBatch) -> None:
        self._log.note_controls(batch.controls)
        records = [self._codec.decode(value) for value in batch.values]
        self._listener.on_commit(batch.base_offset, batch.next_offset, batch.epoch, records)
        self._note(batch.next_offset, batch.epoch, batch.timestamp_ms, batch.size_bytes)

    def _note(self, next_offset: int, epoch: int, timestamp_ms: int, size_bytes: int) -> None:
        self.position = SnapshotId(next_offset, epoch)
        self.timestamp_ms = timestamp_ms
        self.bytes_since_snapshot += size_bytes

    def _read_done(self, task: "asyncio.Task[None]") -> None:
        self._reading = None
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        try:
            if error is not None:
                raise error
            if self.offset < self._target:
                self.advance(self._target)
            else:
                self._caught_up()
        except BaseException as failure:
            self._on_failure(failure)

    async def settled(self) -> None:
        """Waits until nothing is being read."""
        while self._reading is not None:
            await asyncio.wait([self._reading])

    def fail_pending(self, error: BaseException) -> None:
        """Tells those who wait that nobody knows whether their records will be committed."""
        pending, self.pending = self.pending, deque()
        for append in pending:
            if not append.committed.done():
                append.committed.set_exception(error)
                # Nobody need be waiting; whoever is gets the error.
                append.committed.exception()
