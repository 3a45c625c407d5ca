"""Logs that are deleted, set aside or truncated."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from gralha.protocol.errors import KafkaStorageError
from gralha.storage.config import LogConfig
from gralha.storage.disk import DiskError
from tests.storage.disks import QuietDisk
from tests.storage.logs import NOW, TOPIC_ID, append
from tests.storage.managers import full, loaded, make, running, until


class TestDeleting:
    async def test_a_deleted_partition_is_renamed_then_removed(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path)
        log = make(manager, "a", config=LogConfig({"file.delete.delay.ms": "100"}))
        append(log)
        manager.delete("a", 0, NOW)
        manager.delete("never", 0, NOW)
        assert manager.logs == {}
        (name,) = [entry for entry in os.listdir(tmp_path) if entry.startswith("a-0")]
        assert name.endswith("-delete")
        assert len(name) == len("a-0.") + 32 + len("-delete")
        with pytest.raises(KafkaStorageError):
            append(log)
        await manager.turn(NOW + 99)
        assert (tmp_path / name).exists()
        await manager.turn(NOW + 100)
        await manager.removals.done()
        assert not (tmp_path / name).exists()
        manager.close()

    def test_names_stay_within_the_limit(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path)
        topic = "t" * 249
        make(manager, topic)
        manager.delete(topic, 0, NOW)
        assert max(len(name) for name in os.listdir(tmp_path)) == 255
        manager.close()

    async def test_what_was_deleted_before_a_crash_is_removed(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path)
        make(manager, "a")
        manager.delete("a", 0, NOW)
        manager.release()
        manager = loaded(tmp_path)
        assert manager.logs == {}
        await manager.turn(NOW)
        await manager.removals.done()
        assert not any(name.endswith("-delete") for name in os.listdir(tmp_path))
        manager.close()

    def test_a_new_partition_inherits_nothing_from_a_deleted_one(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path)
        log = make(manager, "a")
        append(log, 10)
        log.high_watermark = 10
        log.increment_log_start_offset(8)
        manager.close()
        manager = loaded(tmp_path)
        manager.delete("a", 0, NOW)
        log = make(manager, "a")
        append(log, 3)
        assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (0, 3, 0)
        manager.release()
        log = loaded(tmp_path).logs["a", 0]
        assert (log.log_start_offset, log.log_end_offset) == (0, 3)

    async def test_a_deleted_name_is_forgotten_in_a_thread(self, tmp_path: Path) -> None:
        disk = QuietDisk()
        manager = loaded(tmp_path, disk)
        for partition in range(3):
            append(make(manager, "a", partition), 10)
        manager.close()
        manager = loaded(tmp_path, disk)
        for partition in range(3):
            manager.delete("a", partition, NOW)
        threads: set[threading.Thread] = set()
        disk.before = lambda action, path: (
            threads.add(threading.current_thread()) if path.endswith("checkpoint.tmp") else None
        )
        creations = [
            manager.get_or_create_in_thread("a", partition, TOPIC_ID, LogConfig(), NOW)
            for partition in range(3)
        ]
        for log in await asyncio.gather(*creations):
            append(log, 3)
        assert threads
        assert threading.main_thread() not in threads
        manager.release()
        assert [int(log.log_end_offset) for log in loaded(tmp_path).logs.values()] == [3, 3, 3]

    async def test_what_was_not_written_is_not_forgotten(self, tmp_path: Path) -> None:
        """A checkpoint that still lists a deleted partition would make the new one look damaged."""
        disk = QuietDisk()
        manager = loaded(tmp_path, disk)
        append(make(manager, "a"), 10)
        manager.close()
        manager = loaded(tmp_path, disk)
        manager.delete("a", 0, NOW)
        disk.before = full
        await manager.turn(NOW)
        with pytest.raises(DiskError):
            await manager.get_or_create_in_thread("a", 0, TOPIC_ID, LogConfig(), NOW)
        disk.before = None
        append(await manager.get_or_create_in_thread("a", 0, TOPIC_ID, LogConfig(), NOW), 3)
        manager.release()
        again = loaded(tmp_path)
        assert again.offline == {}
        assert again.logs["a", 0].log_end_offset == 3

    async def test_a_flush_never_touches_the_next_log_of_that_name(self, tmp_path: Path) -> None:
        disk = QuietDisk()
        manager = loaded(tmp_path, disk)
        log = make(manager, "a")
        append(log, epoch=7)
        append(log, epoch=8)
        future = manager.flush_soon(log)
        manager.delete("a", 0, NOW)
        new = make(manager, "a")
        before = sorted(os.listdir(new.folder))
        await future
        log.flush()
        log.save_indexes()
        assert sorted(os.listdir(new.folder)) == before
        async with running(manager) as task:
            await manager.turn(NOW)
            assert not task.done()
        manager.close()

    async def test_deletion_waits_for_a_flush_under_way(self, tmp_path: Path) -> None:
        disk = QuietDisk()
        manager = loaded(tmp_path, disk)
        log = make(manager, "a")
        append(log)
        begun, go_on = threading.Event(), threading.Event()

        def hold(action: str, path: str) -> None:
            if action == "sync" and path.endswith(".log"):
                begun.set()
                go_on.wait(10)

        disk.before = hold
        future = manager.flush_soon(log)
        await asyncio.get_running_loop().run_in_executor(None, begun.wait)
        deleting = asyncio.get_running_loop().run_in_executor(None, manager.delete, "a", 0, NOW)
        assert (tmp_path / "a-0").exists()
        go_on.set()
        await asyncio.gather(future, deleting)
        assert not (tmp_path / "a-0").exists()
        manager.close()

    def test_reads_of_a_deleted_log_say_so(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path)
        log = make(manager, "a")
        append(log)
        manager.delete("a", 0, NOW)
        with pytest.raises(KafkaStorageError):
            log.read(0, 1000, 1, True, True)
        manager.close()


async def test_a_crash_after_truncation_is_no_damage(tmp_path: Path) -> None:
    manager = loaded(tmp_path)
    log = make(manager, "a")
    for _ in range(10):
        append(log)
    log.flush()
    manager.close()
    manager = loaded(tmp_path)
    log = manager.logs["a", 0]
    assert log.recovery_point == 10
    await manager.truncate_in_thread(log, 4)
    append(log, 2)
    manager.release()
    manager = loaded(tmp_path)
    assert manager.offline == {}
    log = manager.logs["a", 0]
    assert log.log_end_offset == 6
    await manager.truncate_fully_in_thread(log, 100)
    manager.release()
    assert loaded(tmp_path).logs["a", 0].log_end_offset == 100


async def test_a_collection_during_truncation_does_not_raise_the_recovery_point(tmp_path: Path) -> None:
    disk = QuietDisk()
    manager = loaded(tmp_path, disk, checkpoint_interval_ms=10)
    log = make(manager, "a")
    for _ in range(10):
        append(log)
    log.flush()
    manager.begin(NOW)
    await manager.turn(NOW + 10)
    checkpoint = tmp_path / "recovery-point-offset-checkpoint"
    assert checkpoint.read_text() == "0\n1\na 0 10\n"
    with log.flush_lock:
        truncation = asyncio.create_task(manager.truncate_in_thread(log, 4))
        await until(lambda: checkpoint.read_text() == "0\n1\na 0 0\n")
        make(manager, "b")
        await manager.turn(NOW + 20)
        assert checkpoint.read_text() == "0\n2\na 0 0\nb 0 0\n"
    await truncation
    assert (log.log_end_offset, log.recovery_point) == (4, 4)
    manager.close()
