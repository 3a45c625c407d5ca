"""Compaction in the simulation: the code of the compacting process, run as work of threads.

A real broker compacts in another process. Here each part of the job may happen in steps, with appends, reads,
truncations and crashes between them.
"""

import asyncio

from gralha.storage.cleaning import TakeGroup
from gralha.storage.compaction import CleaningJob, CleaningResult, Compaction
from gralha.storage.disk import Disk


class SteppedCleaner:
    """A `CleaningWorker`."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    async def clean(self, job: CleaningJob, take: TakeGroup) -> CleaningResult:
        loop = asyncio.get_running_loop()
        compaction = Compaction(self._disk, job, lambda _bytes: None)
        await loop.run_in_executor(None, compaction.build_map)
        for group in compaction.groups():
            await take(await loop.run_in_executor(None, compaction.clean, group))
        return compaction.result()

    async def close(self) -> None:
        """There is no process to end."""
