"""Gives every committed batch to the listener, once and in order.

Batches that this node appended itself wait here and are given from memory when they are committed. All other
batches are read from the log. `on_caught_up` is called when the listener has seen everything up to the high
watermark, so that the listener can take many batches together.

When this node stops leading, the next leader may commit what this one has appended. The log tells later: an
append is committed if the batch at its offset has its epoch. It is lost if the log is truncated, or has
another batch there. The append is answered when that is known.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from gralha.raft.log import LogBatch, MetadataLog
from gralha.raft.settings import Append, NotLeaderError, RaftListener, RecordCodec
from gralha.raft.snapshots import Snapshot, SnapshotId

_NO_BOUND: Final = 2**63 - 1


class Delivery:
    """The position of the listener in the log. `on_progress` is called after each step forward."""

    def __init__(
        self,
        log: MetadataLog,
        codec: RecordCodec,
        listener: RaftListener,
        clock: Callable[[], int],
        on_progress: Callable[[], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        # The listener has seen the log up to here.
        self.position = SnapshotId(0, 0)
        self.timestamp_ms = 0
        self.bytes_since_snapshot = 0
        self.pending: deque[Append] = deque()
        # Appends of this node from before it ceased to lead, and those of them that turned out committed.
        self._orphans: deque[Append] = deque()
        self._committed_orphans: list[Append] = []
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
        """The offset of the next record for the listener."""
        return self.position.end_offset

    @property
    def is_caught_up(self) -> bool:
        """True if no batches are being read for the listener."""
        return self._reading is None

    def load(self, snapshot_id: SnapshotId, snapshot: Snapshot) -> None:
        """Gives the listener a snapshot, which replaces the log before it."""
        self._listener.on_snapshot(*snapshot_id, [self._codec.decode(value) for value in snapshot.values])
        # Nobody can tell whether the snapshot contains them.
        self._lose_orphans(lambda orphan: orphan.base_offset < snapshot_id.end_offset)
        self.position = snapshot_id
        self.timestamp_ms = snapshot.last_contained_log_timestamp
        self.bytes_since_snapshot = 0

    def advance(self, high_watermark: int) -> None:
        """Delivers everything below the high watermark."""
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
        committed, self._committed_orphans = self._committed_orphans, []
        for orphan in committed:
            _commit(orphan)
        self._on_progress()

    def _deliver_pending(self) -> None:
        now_ms = self._clock()
        pending = self.pending
        while pending and pending[0].base_offset == self.offset and pending[0].next_offset <= self._target:
            append = pending[0]
            self._listener.on_commit(append.base_offset, append.next_offset, append.epoch, append.records)
            pending.popleft()
            self._note(append.next_offset, append.epoch, now_ms, append.size_bytes)
            _commit(append)

    async def _read(self) -> None:
        """Reads up to the high watermark, or to the first batch that waits in memory."""
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
        self._settle_orphans(batch)
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
        """Waits until no batches are being read."""
        while self._reading is not None:
            await asyncio.wait([self._reading])

    # Appends that outlive the leadership of this node

    def orphan_pending(self) -> None:
        """This node does not lead any more. The log tells later which of its appends are committed."""
        self._orphans += self.pending
        self.pending.clear()

    def truncated(self, end_offset: int) -> None:
        """The log was truncated: appends beyond its end are lost."""
        self._lose_orphans(lambda orphan: orphan.next_offset > end_offset)

    def _settle_orphans(self, batch: LogBatch) -> None:
        """A committed batch decides about the appends at its offsets."""
        while self._orphans and self._orphans[0].base_offset < batch.next_offset:
            orphan = self._orphans.popleft()
            if (orphan.base_offset, orphan.epoch) == (batch.base_offset, batch.epoch):
                self._committed_orphans.append(orphan)
            else:
                _fail(orphan, NotLeaderError())

    def _lose_orphans(self, is_lost: Callable[[Append], bool]) -> None:
        for orphan in self._orphans:
            if is_lost(orphan):
                _fail(orphan, NotLeaderError())
        self._orphans = deque(orphan for orphan in self._orphans if not is_lost(orphan))

    def fail_all(self, error: BaseException) -> None:
        """Ends all waiting appends with an error: nobody knows which of them will be committed."""
        for append in [*self.pending, *self._orphans, *self._committed_orphans]:
            _fail(append, error)
        self.pending.clear()
        self._orphans.clear()
        self._committed_orphans.clear()


def _commit(append: Append) -> None:
    if not append.committed.done():
        append.committed.set_result(append.next_offset - 1)


def _fail(append: Append, error: BaseException) -> None:
    if not append.committed.done():
        append.committed.set_exception(error)
        # If nobody waits for the future, asyncio must not complain about the exception.
        append.committed.exception()
