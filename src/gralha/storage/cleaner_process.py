"""Compaction in a process of its own (`cleaner_worker.py`), so that the event loop goes on.

The process starts with the first job and ends when no other follows, so an idle broker has none. A thread
starts it through `subprocess`, which shares the broker's page tables (vfork). asyncio would copy them on the
event loop, and all clients would wait (20 ms with 300 MB).
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import suppress
from functools import partial
from typing import IO, Final, NamedTuple

from gralha.storage.cleaning import CleaningError, TakeGroup, in_thread
from gralha.storage.compaction import CleanedGroup, CleaningJob, CleaningResult
from gralha.storage.disk import DiskError

# -P: Python must not import a file in the working folder that has the name of a module.
_COMMAND: Final = (sys.executable, "-P", "-m", "gralha.storage.cleaner_worker")


class _Running(NamedTuple):
    process: subprocess.Popen[bytes]
    jobs: IO[bytes]
    answers: asyncio.StreamReader
    answers_end: asyncio.ReadTransport


class CleanerProcess:
    """A `CleaningWorker`."""

    def __init__(self) -> None:
        self._running: _Running | None = None

    async def clean(self, job: CleaningJob, take: TakeGroup) -> CleaningResult:
        try:
            return await self._clean(job, take)
        except BaseException:
            # Whatever went wrong, nothing may be written after this returns.
            await self._end(kill=True)
            raise

    async def _clean(self, job: CleaningJob, take: TakeGroup) -> CleaningResult:
        running = await self._started()
        await in_thread(partial(_write, running.jobs, json.dumps(job).encode() + b"\n"))
        while True:
            line = await running.answers.readline()
            if not line:
                raise CleaningError("the compacting process ended before its job was done")
            kind, content = json.loads(line)
            if kind == "group":
                await take(CleanedGroup(*content))
            elif kind == "result":
                return CleaningResult(*content)
            elif kind == "disk":
                raise DiskError(*content)
            else:
                raise CleaningError(content)

    async def _started(self) -> _Running:
        if self._running is None:
            starting = asyncio.ensure_future(self._start())
            try:
                await asyncio.shield(starting)
            except asyncio.CancelledError:
                await asyncio.wait([starting])
                raise
            assert self._running is not None
        return self._running

    async def _start(self) -> None:
        try:
            process = await in_thread(_spawn)
        except OSError as error:
            raise CleaningError(f"the compacting process cannot be started: {error}") from error
        assert process.stdin is not None
        assert process.stdout is not None
        answers = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(answers), process.stdout
        )
        self._running = _Running(process, process.stdin, answers, transport)

    async def close(self) -> None:
        await self._end(kill=False)

    async def _end(self, kill: bool) -> None:
        running = self._running
        self._running = None
        if running is not None:
            if kill:
                running.process.kill()
            running.answers_end.close()
            await in_thread(partial(_close, running))


def _spawn() -> subprocess.Popen[bytes]:
    # In a session of its own: Ctrl-C is for the broker, which then ends this one.
    return subprocess.Popen(_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


def _write(jobs: IO[bytes], data: bytes) -> None:
    # `_read` notices that the process has ended.
    with suppress(BrokenPipeError):
        jobs.write(data)
        jobs.flush()


def _close(running: _Running) -> None:
    with suppress(BrokenPipeError):
        running.jobs.close()
    running.process.wait()
