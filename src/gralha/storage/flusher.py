"""Flushes in threads. A log has one flush at a time, which serves all requests that came before it began."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from gralha.storage.log_state import LogState

_THREADS: Final = 4


class _Flush:
    """The next flush of a log: the offset that it has to reach, and the requests that wait for it."""

    def __init__(self, end_offset: int) -> None:
        self.end_offset = end_offset
        self.future: asyncio.Future[None] | None = None


class Flusher:
    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="gralha-flush")
        self._next: dict[LogState, _Flush] = {}
        self._running: dict[LogState, _Flush] = {}
        self._failure: BaseException | None = None
        self._wake: asyncio.Event | None = None

    def request(self, log: LogState, end_offset: int) -> None:
        """Ask for a flush that nobody waits for."""
        self._schedule(log, end_offset)

    def flush_soon(self, log: LogState) -> asyncio.Future[None]:
        flush = self._schedule(log, log.log_end_offset)
        if flush.future is None:
            flush.future = asyncio.get_running_loop().create_future()
        if self._failure is not None and not flush.future.done():
            flush.future.set_exception(self._failure)
        return flush.future

    def _schedule(self, log: LogState, end_offset: int) -> _Flush:
        flush = self._next.get(log)
        if flush is None:
            flush = _Flush(end_offset)
            self._next[log] = flush
            if log not in self._running:
                self._call_soon(log)
        flush.end_offset = max(flush.end_offset, end_offset)
        return flush

    def _call_soon(self, log: LogState) -> None:
        # After this turn of the event loop, so that all appends of the turn share one flush.
        # Without a running loop, `wait` starts it.
        with suppress(RuntimeError):
            asyncio.get_running_loop().call_soon(self._start, log)

    def _start(self, log: LogState) -> None:
        if log in self._running or self._failure is not None:
            return  # the end of the running flush starts the one in `_next`
        flush = self._next.pop(log, None)
        if flush is None:
            return
        self._running[log] = flush
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._threads, log.flush, flush.end_offset)
        done.add_done_callback(lambda done: self._finish(log, flush, done))

    def _finish(self, log: LogState, flush: _Flush, done: asyncio.Future[None]) -> None:
        del self._running[log]
        error = None if done.cancelled() else done.exception()
        if error is not None and not log.deleted:
            self._fail(error)
        if error is None and log.on_flushed is not None:
            log.on_flushed()
        if flush.future is not None and not flush.future.done():
            if error is not None and not log.deleted:
                flush.future.set_exception(error)
            else:
                flush.future.set_result(None)
        if log in self._next:
            self._start(log)

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        if self._wake is not None:
            self._wake.set()
        for flush in self._next.values():
            if flush.future is not None and not flush.future.done():
                flush.future.set_exception(error)

    async def wait(self, timeout_s: float) -> None:
        """Let some time pass. Raises the error of a flush that failed."""
        for log in list(self._next):
            self._start(log)
        if self._wake is None:
            self._wake = asyncio.Event()
        if self._failure is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), timeout_s)
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Wait for the flushes under way; begin no more."""
        self._threads.shutdown(wait=True)
