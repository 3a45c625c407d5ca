"""Flushes that are asked for happen, in whatever order the event loop runs its callbacks."""

import asyncio
import threading
from pathlib import Path

from gralha.storage.flusher import Flusher
from tests.storage.disks import QuietDisk
from tests.storage.logs import append, make_log


async def test_a_late_start_does_not_drop_what_was_asked_for_meanwhile(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = make_log(disk, tmp_path)
    flusher = Flusher()
    go_on = threading.Event()
    disk.before = lambda action, path: go_on.wait(10) if action == "sync" else None  # type: ignore[assignment]
    append(log)
    flusher.request(log, log.log_end_offset)  # plans a start for the next turn of the loop
    await flusher.wait(0)  # the manager's tick starts it first
    append(log)
    second = flusher.flush_soon(log)  # while the first runs, and before the planned start comes
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait_for(second, 10)
    assert log.flushed_offset == log.log_end_offset == 2
    flusher.close()
    log.release()
