"""Managers of logs for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from gralha.storage.config import LogConfig
from gralha.storage.disk import DiskError
from gralha.storage.log import Log
from gralha.storage.manager import LogManager
from tests.storage.disks import QuietDisk
from tests.storage.logs import NOW, TOPIC_ID

NO_CONFIG: Callable[[str], Mapping[str, str]] = lambda _: {}  # noqa: E731
FLUSH_EACH = LogConfig({"flush.messages": "1"})
PATIENCE_S = 60


def loaded(folder: Path, disk: QuietDisk | None = None, **options: int) -> LogManager:
    manager = LogManager(disk or QuietDisk(), [str(folder)], LogConfig(), **options)  # type: ignore[arg-type]
    manager.load(NOW, NO_CONFIG)
    return manager


def make(manager: LogManager, topic: str, partition: int = 0, config: LogConfig | None = None) -> Log:
    return manager.get_or_create(topic, partition, TOPIC_ID, config or LogConfig(), NOW)


def full(action: str, path: str) -> None:
    """For `QuietDisk.before`: a disk without room."""
    if action in ("append", "write"):
        raise DiskError(action, path, "No space left on device")


@asynccontextmanager
async def running(manager: LogManager) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(manager.run(lambda: NOW))
    await asyncio.sleep(0)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], bool]) -> None:
    """Run the event loop until the condition holds. The test's timeout ends the wait otherwise."""
    while not condition():
        await asyncio.sleep(0)
