"""Takes snapshots: after many committed bytes, or after some bytes and a long time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Final

from gralha.protocol.message import Message
from gralha.raft.delivery import Delivery
from gralha.raft.log import MetadataLog
from gralha.raft.settings import RaftListener, RecordCodec
from gralha.raft.snapshots import SnapshotId

log = logging.getLogger("gralha.raft")

_RECORDS_PER_TURN: Final = 50


class Snapshotter:
    """Writes what the listener has seen, one snapshot at a time. `wait_for_log` waits for a busy log."""

    def __init__(
        self,
        metadata_log: MetadataLog,
        delivery: Delivery,
        codec: RecordCodec,
        listener: RaftListener,
        clock: Callable[[], int],
        wait_for_log: Callable[[], Awaitable[None]],
        on_taken: Callable[[], None],
        on_done: Callable[[], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self.task: asyncio.Task[None] | None = None
        self._log = metadata_log
        self._delivery = delivery
        self._codec = codec
        self._listener = listener
        self._clock = clock
        self._wait_for_log = wait_for_log
        self._on_taken = on_taken
        self._on_done = on_done
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._last_ms = 0

    def begin(self) -> None:
        """The interval until the next snapshot begins now."""
        self._last_ms = self._clock()

    def maybe_take(self) -> None:
        """Takes a snapshot if it is due."""
        if self.task is not None:
            return
        config = self._log.config
        interval_ms = config.max_snapshot_interval_ms
        due = interval_ms > 0 and self._clock() - self._last_ms >= interval_ms
        size_bytes = self._delivery.bytes_since_snapshot
        if size_bytes > 0 and (due or size_bytes >= config.max_record_bytes_between_snapshots):
            # The next batch changes all these values, so they are read now.
            work = self._take(
                self._delivery.position,
                self._delivery.timestamp_ms,
                dict(self._log.quorum_records),
                self._listener.snapshot_records(),
            )
            self._delivery.bytes_since_snapshot = 0
            self._last_ms = self._clock()
            self.task = self._loop.create_task(work)
            self.task.add_done_callback(self._done)

    async def _take(
        self,
        snapshot_id: SnapshotId,
        timestamp_ms: int,
        quorum_records: Mapping[int, bytes],
        records: Iterable[Message],
    ) -> None:
        values = await self._encode_slowly(records)
        # A snapshot promises that the log up to it is on the device, and the log of an observer may not be.
        await self._loop.run_in_executor(None, self._log.flush, snapshot_id.end_offset)
        write = partial(self._log.write_snapshot, snapshot_id, values, timestamp_ms, quorum_records)
        written = await self._loop.run_in_executor(None, write)
        await self._wait_for_log()
        if self._log.snapshots and self._log.snapshots[-1].id >= snapshot_id:
            # A newer snapshot has come from the leader meanwhile.
            await self._loop.run_in_executor(None, self._log.remove_snapshots, [written])
            return
        superfluous = self._log.add_snapshot(written)
        self._on_taken()
        await self._loop.run_in_executor(None, self._log.remove_snapshots, superfluous)
        log.info("A snapshot of the metadata was written at offset %d", snapshot_id.end_offset)
        # The new segment must survive a crash before the old ones are removed.
        await self._loop.run_in_executor(None, self._log.flush, snapshot_id.end_offset)
        while not self._log.forget_old_log():
            await self._wait_for_log()
        await self._loop.run_in_executor(None, self._log.remove_old_segments)

    async def _encode_slowly(self, records: Iterable[Message]) -> list[bytes]:
        """Encodes a few records in each turn of the loop, so that requests are not delayed.

        A thread would not be better: while it encodes, the loop waits for the interpreter's lock.
        """
        values: list[bytes] = []
        for record in records:
            values.append(self._codec.encode(record))
            if len(values) % _RECORDS_PER_TURN == 0:
                await asyncio.sleep(0)
        return values

    def _done(self, task: "asyncio.Task[None]") -> None:
        self.task = None
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        try:
            if error is not None:
                raise error
            # Enough for another snapshot may have been committed meanwhile.
            self._on_done()
        except BaseException as failure:
            self._on_failure(failure)

    async def settled(self) -> None:
        """Waits until no snapshot is being taken."""
        while self.task is not None:
            await asyncio.wait([self.task])
