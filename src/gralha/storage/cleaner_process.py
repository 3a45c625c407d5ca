"""Compaction in a process of its own, so that the event loop goes on: both ends of it.

Jobs go in as lines of JSON, what happens comes back as lines of JSON:

    ["group", [...]]      a `CleanedGroup`, ready to be swapped in
    ["result", [...]]     the job is done
    ["disk", [...]]       a `DiskError`: action, path, reason
    ["error", "..."]      anything else

The process is started for the first job and told to end when no other follows: an idle broker has none. It
ends by itself when its input does, so it does not outlive the broker: two must never write the same file.
It runs with low priority; the broker's clients come first.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import sys
import threading
import time
from typing import Final

from gralha.storage.cleaning import CleaningError, TakeGroup
from gralha.storage.compaction import CleanedGroup, CleaningJob, CleaningResult, Compaction
from gralha.storage.disk import DiskError, RealDisk

# -P: a file in the working folder that has the name of a module must not take its place.
_COMMAND: Final = (sys.executable, "-P", "-m", __name__)
_NICENESS: Final = 10
_MESSAGE_MAX: Final = 2000


class CleanerProcess:
    """The broker's end: a `CleaningWorker`."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def clean(self, job: CleaningJob, take: TakeGroup) -> CleaningResult:
        try:
            return await self._clean(job, take)
        except BaseException:
            # Whatever it was, nothing may be written any more when this returns.
            await self._kill()
            raise

    async def _clean(self, job: CleaningJob, take: TakeGroup) -> CleaningResult:
        process = await self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(job).encode() + b"\n")
        while True:
            line = await process.stdout.readline()
            if not line:
                raise CleaningError(f"the compacting process ended with {await process.wait()}")
            kind, content = json.loads(line)
            if kind == "group":
                await take(CleanedGroup(*content))
            elif kind == "result":
                return CleaningResult(*content)
            elif kind == "disk":
                raise DiskError(*content)
            else:
                raise CleaningError(content)

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *_COMMAND,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    # Ctrl-C is for the broker, which then ends this one.
                    start_new_session=True,
                )
            except OSError as error:
                raise CleaningError(f"the compacting process cannot be started: {error}") from error
        return self._process

    async def close(self) -> None:
        process = self._process
        self._process = None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            await process.wait()

    async def _kill(self) -> None:
        process = self._process
        self._process = None
        if process is not None:
            if process.returncode is None:
                process.kill()
            await process.wait()


# The other end


class _Pace:
    """Keeps to so many bytes per second, by waiting."""

    def __init__(self, bytes_per_second: float) -> None:
        self.bytes_per_second = bytes_per_second
        self.due_s = time.monotonic()

    def __call__(self, size_bytes: int) -> None:
        now_s = time.monotonic()
        self.due_s = max(self.due_s, now_s) + size_bytes / self.bytes_per_second
        if self.due_s > now_s:
            time.sleep(self.due_s - now_s)


def _run(job: CleaningJob) -> None:
    compaction = Compaction(RealDisk(), job, _Pace(job.max_bytes_per_second))
    compaction.build_map()
    for group in compaction.groups():
        _say("group", compaction.clean(group))
    _say("result", compaction.result())


def _say(kind: str, content: object) -> None:
    sys.stdout.write(json.dumps([kind, content]) + "\n")
    sys.stdout.flush()


def _read_jobs(jobs: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        jobs.put(line)
    # The broker has no more work, or is no more.
    os._exit(0)


def main() -> None:
    os.nice(_NICENESS)
    jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read_jobs, args=[jobs], daemon=True).start()
    while True:
        job = CleaningJob(*json.loads(jobs.get()))
        try:
            _run(job)
        except DiskError as error:
            _say("disk", [error.action, error.path, error.reason])
        except Exception as error:
            _say("error", f"{type(error).__name__}: {error}"[:_MESSAGE_MAX])


if __name__ == "__main__":
    main()
