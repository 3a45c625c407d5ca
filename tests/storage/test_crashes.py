"""Power cuts at any moment: the disk forgets what was not synced, in files and in folders."""

from __future__ import annotations

from random import Random

import pytest

from gralha.storage import checkpointing
from gralha.storage.checkpointing import Checkpoints
from gralha.storage.config import LogConfig
from gralha.storage.disk import FolderLock
from gralha.storage.log import Log
from gralha.storage.manager import LogManager
from tests.raft.memory_disk import MemoryDisk
from tests.storage.logs import NOW, TOPIC_ID, all_offsets, append

CONFIG = {"segment.bytes": "600", "index.interval.bytes": "150"}
ROOT = "/d"


class Lock(FolderLock):
    def release(self) -> None:
        pass


class ForgetfulDisk(MemoryDisk):
    def lock_folder(self, path: str) -> FolderLock:
        return Lock()

    def crash(self, random: Random) -> ForgetfulDisk:
        survivor = super().crash(random)
        after = ForgetfulDisk(self.root)
        after.entries, after.durable = survivor.entries, survivor.durable
        return after


class OfflineError(Exception):
    """A log is taken for damaged, though it has everything that was synced."""


def started(disk: ForgetfulDisk) -> LogManager:
    manager = LogManager(disk, [ROOT], LogConfig(CONFIG))
    manager.load(NOW, lambda _: {})
    if manager.offline:
        raise OfflineError(*manager.offline.values())
    return manager


def opened(manager: LogManager) -> Log:
    log = manager.get_or_create("t", 0, TOPIC_ID, LogConfig(CONFIG), NOW)
    # Flushes come when the test says so.
    log.request_flush = None
    return log


def records(log: Log, end_offset: int) -> bytes:
    return b"".join(
        log.read(first, 1, log.log_end_offset, True, True).to_bytes()
        for first, last in all_offsets(log)
        if last < end_offset
    )


async def work(random: Random, manager: LogManager) -> tuple[int, bytes]:
    """Do this and that; up to where the log must survive, and its records up to there."""
    log = opened(manager)
    for _ in range(random.randrange(25)):
        match random.randrange(8):
            case 0:
                log.flush()
            case 1:
                manager._checkpoints.collect(manager.logs)()
            case 2:
                log.save_indexes()
            case 3:
                log.roll(NOW)
            case 4 if log.log_end_offset:
                await manager.truncate_in_thread(log, random.randrange(int(log.log_end_offset)))
            case _:
                append(log, random.randint(1, 3), epoch=max(log.latest_epoch, 0) + random.randrange(2))
    safe = int(log.flushed_offset)
    return safe, records(log, safe)


@pytest.mark.parametrize("seed", range(60))
async def test_what_was_flushed_survives(seed: int) -> None:
    await live_through_power_cuts(seed)


async def live_through_power_cuts(seed: int) -> None:
    random = Random(seed)
    disk = ForgetfulDisk(ROOT)
    for _ in range(4):
        manager = started(disk)
        safe, kept = await work(random, manager)
        disk = disk.crash(random)
        manager = started(disk)
        if safe:
            log = manager.logs["t", 0]
            assert log.log_end_offset >= safe
            assert records(log, safe) == kept
        manager.release()


@pytest.mark.parametrize("seed", range(60))
async def test_a_clean_end_survives_whole(seed: int) -> None:
    """Whatever the next start trusts without a look must be on the device before the mark says so."""
    random = Random(seed)
    disk = ForgetfulDisk(ROOT)
    manager = started(disk)
    await work(random, manager)
    log = opened(manager)
    last = append(log, timestamp=NOW + 5).last_offset
    end, kept = int(log.log_end_offset), records(log, int(log.log_end_offset))
    manager.close()
    indexes = index_files(disk)
    disk = disk.crash(random)
    assert index_files(disk) == indexes
    manager = started(disk)
    log = manager.logs["t", 0]
    assert (log.log_end_offset, log.topic_id, records(log, end)) == (end, TOPIC_ID, kept)
    assert log.offset_of_max_timestamp() == (NOW + 5, last, log.latest_epoch)
    manager.release()


def index_files(disk: ForgetfulDisk) -> dict[str, bytes]:
    return {
        path: bytes(inode.data)
        for path, inode in disk.entries.items()
        if path.endswith(("index", "snapshot"))
    }


async def live_through_many_power_cuts() -> None:
    for seed in range(60):
        await live_through_power_cuts(seed)


class TooFar:
    """A log whose recovery point is its end, although the end may not be synced."""

    def __init__(self, log: Log) -> None:
        self.data_folder, self.base_offsets = log.data_folder, log.base_offsets
        self.recovery_point, self.log_start_offset = log.log_end_offset, log.log_start_offset


if not checkpointing.__file__.endswith(".so"):  # compiled classes cannot be patched

    async def test_a_recovery_point_that_is_too_far_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
        """The bug put back: the log ends before its recovery point, or is damaged, and goes offline."""
        collect = Checkpoints.collect
        monkeypatch.setattr(
            Checkpoints,
            "collect",
            lambda self, logs: collect(self, {key: TooFar(log) for key, log in logs.items()}),  # type: ignore[misc]
        )
        with pytest.raises(OfflineError, match="was on the device up to"):
            await live_through_many_power_cuts()
