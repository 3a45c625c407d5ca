"""The process that compacts: `python -m gralha.storage.cleaner_worker`. `cleaner_process.py` starts it.

The process reads jobs and writes events, each as a line of JSON. The events:

    ["group", [...]]      a `CleanedGroup`, ready to be swapped in
    ["result", [...]]     the job is done: a `CleaningResult`
    ["disk", [...]]       a `DiskError`: action, path, reason
    ["error", "..."]      anything else

The process ends when its input ends, so it does not outlive the broker: two processes must never write the
same file. It has a low priority, because the broker's clients come first.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from typing import Final

from gralha.storage.compaction import CleaningJob, Compaction
from gralha.storage.disk import DiskError
from gralha.storage.real_disk import RealDisk

_NICENESS: Final = 10
_MESSAGE_MAX: Final = 2000


class Pace:
    """Limits the bytes per second by waiting."""

    def __init__(self, bytes_per_second: float) -> None:
        self.bytes_per_second = bytes_per_second
        self.due_s = time.monotonic()

    def __call__(self, size_bytes: int) -> None:
        now_s = time.monotonic()
        self.due_s = max(self.due_s, now_s) + size_bytes / self.bytes_per_second
        if self.due_s > now_s:
            time.sleep(self.due_s - now_s)


def _decode(line: str) -> CleaningJob:
    job = CleaningJob(*json.loads(line))
    # JSON has no tuples.
    return job._replace(
        producers=[(producer_id, offset, epoch) for producer_id, offset, epoch in job.producers],
        aborted=[(producer_id, first, last, stable) for producer_id, first, last, stable in job.aborted],
    )


def _run(job: CleaningJob) -> None:
    compaction = Compaction(RealDisk(), job, Pace(job.max_bytes_per_second))
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
    # The broker has no more work, or has ended.
    os._exit(0)


def main() -> None:
    os.nice(_NICENESS)
    jobs: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read_jobs, args=[jobs], daemon=True).start()
    while True:
        line = jobs.get()
        try:
            _run(_decode(line))
        except DiskError as error:
            _say("disk", [error.action, error.path, error.reason])
        except Exception as error:
            _say("error", f"{type(error).__name__}: {error}"[:_MESSAGE_MAX])


if __name__ == "__main__":
    main()
