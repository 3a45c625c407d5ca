"""Waits until a record that the leader has appended is committed."""

import asyncio

from gralha.protocol.errors import ErrorCode
from gralha.replication.leading import Leading
from gralha.replication.partition import Partition
from gralha.replication.subscriptions import HIGH_WATERMARK_MOVED, Subscriber


class _Commit(Subscriber):
    """One offset, in the leader epoch that has appended it."""

    def __init__(self, leading: Leading, offset: int, timeout_ms: int) -> None:
        self._leading = leading
        self._offset = offset
        loop = asyncio.get_running_loop()
        self.future: asyncio.Future[int] = loop.create_future()
        self._timer = loop.call_later(timeout_ms / 1000, self._end, ErrorCode.REQUEST_TIMED_OUT)
        # Also if whoever waits has gone.
        self.future.add_done_callback(self._stop)
        leading.partition.subscribe(self, HIGH_WATERMARK_MOVED)

    def partition_changed(self, partition: Partition, event: int, new_bytes: int) -> bool:
        if partition.leading is not self._leading:
            self._end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return True
        if partition.log.high_watermark <= self._offset:
            return False
        self._end(ErrorCode.NONE)
        return True

    def _end(self, code: int) -> None:
        if not self.future.done():
            self.future.set_result(code)

    def _stop(self, _: "asyncio.Future[int]") -> None:
        self._timer.cancel()
        self._leading.partition.unsubscribe(self, HIGH_WATERMARK_MOVED)


def committed(leading: Leading, offset: int, timeout_ms: int) -> asyncio.Future[int]:
    """An error code when the high watermark has passed the offset, or cannot pass it in this leader epoch."""
    return _Commit(leading, offset, timeout_ms).future
