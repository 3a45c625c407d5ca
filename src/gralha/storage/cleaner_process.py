"""Compaction in a process of its own (`cleaner_worker.py`), so that the event loop goes on.

The process is started for the first job and told to end when no other follows: an idle broker has none. It
is started in a thread, because the loop's own way to do it copies the broker's page tables and stops all
clients for that long (20 ms with 300 MB), while `subprocess` borrows them (vfork).
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

# -P: a file in the working folder that has the name of a module must not take its place.
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
            # Whatever it was, nothing may be written any more when this returns.
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
    # That it has ended is seen where its answers are read.
    with suppress(BrokenPipeError):
        jobs.write(data)
        jobs.flush()


def _close(running: _Running) -> None:
    with suppress(BrokenPipeError):
        running.jobs.close()
    running.process.wait()
