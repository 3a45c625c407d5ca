"""Files and folders that nobody uses any more. They are removed after `file.delete.delay.ms`, in a thread.

One thread at a time does that, beside the other work of the log manager: to remove the folder of a large
partition may take seconds. A removal that fails is tried again later.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, NamedTuple

from gralha.storage.disk import Disk, DiskError

logger: Final = logging.getLogger(__name__)

_RETRY_MS: Final = 60_000


class _Doomed(NamedTuple):
    due_ms: int
    path: str
    is_folder: bool


class Removals:
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._doomed: list[_Doomed] = []
        self._running: asyncio.Future[list[_Doomed]] | None = None

    def add(self, path: str, due_ms: int, *, is_folder: bool = False) -> None:
        self._doomed.append(_Doomed(due_ms, path, is_folder))

    def begin_due(self, now_ms: int) -> None:
        """Begin to remove what is due, unless a thread is at work already. Raises the error of a thread."""
        if self._running is not None:
            if not self._running.done():
                return
            self._doomed += self._running.result()
            self._running = None
        due = [one for one in self._doomed if one.due_ms <= now_ms]
        if due:
            self._doomed = [one for one in self._doomed if one.due_ms > now_ms]
            self._running = asyncio.get_running_loop().run_in_executor(None, self._remove, due, now_ms)

    async def done(self) -> None:
        """Wait until no thread is at work."""
        if self._running is not None:
            await asyncio.wait([self._running])

    def _remove(self, due: list[_Doomed], now_ms: int) -> list[_Doomed]:
        """Remove files. Returns those that have to be tried again."""
        left: list[_Doomed] = []
        for one in due:
            try:
                if one.is_folder:
                    self._disk.remove_folder(one.path)
                else:
                    self._disk.remove(one.path)
            except DiskError as error:
                logger.error("%s. The next try is in a minute.", error)
                left.append(one._replace(due_ms=now_ms + _RETRY_MS))
        return left
