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
    asked: list[asyncio.Future[None]] = []

    def append_and_ask() -> None:
        append(log)
        asked.append(flusher.flush_soon(log))

    # One turn of the loop: an append plans a start for the next turn, the manager's tick starts the flush at
    # once, another append asks for the next one. Then the planned start comes, and finds one running.
    loop = asyncio.get_running_loop()
    loop.call_soon(append_and_ask)
    ticking = asyncio.ensure_future(flusher.wait(10))
    loop.call_soon(append_and_ask)
    while len(asked) < 2:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait_for(asyncio.gather(*asked), 10)
    assert log.flushed_offset == log.log_end_offset == 2
    ticking.cancel()
    flusher.close()
    log.release()
