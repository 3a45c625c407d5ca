"""All logs of a node: loading, coalesced flushes, fatal disk errors, retention, checkpoints."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from gralha.protocol.errors import InconsistentTopicIdError, KafkaStorageError
from gralha.protocol.primitives import ZERO_UUID
from gralha.storage.config import LogConfig
from gralha.storage.disk import DiskError
from gralha.storage.manager import FolderLockedError, LogManager
from gralha.storage.opening import open_log
from gralha.storage.recovery import CorruptLogError
from tests.storage.disks import QuietDisk, failing
from tests.storage.logs import NOW, TOPIC_ID, append, idempotent, log_file
from tests.storage.managers import FLUSH_EACH, NO_CONFIG, PATIENCE_S, full, loaded, make, running, until


class TestLoading:
    def test_logs_come_back(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path)
        for topic in ("a", "b.c-d"):
            for partition in (0, 11):
                append(make(manager, topic, partition), partition + 1)
        manager.logs["a", 11].high_watermark = 7
        manager.close(broker_epoch=5)
        assert (tmp_path / ".kafka_cleanshutdown").exists()
        again = loaded(tmp_path)
        assert not (tmp_path / ".kafka_cleanshutdown").exists()
        assert sorted(again.logs) == [("a", 0), ("a", 11), ("b.c-d", 0), ("b.c-d", 11)]
        log = again.logs["a", 11]
        assert (log.topic_id, log.log_end_offset, log.high_watermark) == (TOPIC_ID, 12, 7)
        assert make(again, "a", 11) is log
        again.release()

    def test_a_clean_stop_syncs_each_file_and_folder_once(self, tmp_path: Path) -> None:
        """A broker has thousands of logs, and all its syncs are in the way of a quick end."""
        disk = QuietDisk()
        manager = loaded(tmp_path, disk)
        for partition in range(3):
            append(make(manager, "a", partition), 1)
            manager.logs["a", partition].epochs.assign(0, 0)
        disk.events.clear()
        manager.close()
        synced = [path for action, path, _ in disk.events if action == "sync"]
        folder = str(tmp_path / "a-1")
        assert sorted(path for path in synced if path.startswith(folder)) == [
            folder,
            f"{folder}/00000000000000000000.log",
            f"{folder}/00000000000000000000.timeindex",
            f"{folder}/00000000000000000001.snapshot",
            f"{folder}/leader-epoch-checkpoint.tmp",
            f"{folder}/partition.metadata",
        ]
        before_logs = synced[: synced.index(next(path for path in synced if "/a-" in path))]
        assert before_logs == [str(tmp_path)]

    def test_topic_configs_are_asked_for(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path)
        make(manager, "a")
        make(manager, "b")
        manager.close()
        again = LogManager(QuietDisk(), [str(tmp_path)], LogConfig({"retention.ms": "5"}))
        again.load(NOW, lambda topic: {"retention.ms": "7"} if topic == "b" else {})
        assert [log.config.retention_ms for log in again.logs.values()] == [5, 7]
        again.release()

    def test_a_folder_has_one_owner(self, tmp_path: Path) -> None:
        first = loaded(tmp_path)
        with pytest.raises(FolderLockedError, match="in use"):
            loaded(tmp_path)
        first.close()
        loaded(tmp_path).close()

    def test_other_folders_are_left_alone(self, tmp_path: Path) -> None:
        for name in ("__cluster_metadata-0", "notes", "a-0.abc-future", "x-y"):
            (tmp_path / name).mkdir()
        assert loaded(tmp_path).logs == {}
        assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 4

    def test_new_logs_go_where_there_are_fewest(self, tmp_path: Path) -> None:
        folders = [str(tmp_path / name) for name in "xyz"]
        manager = LogManager(QuietDisk(), folders, LogConfig())
        manager.load(NOW, NO_CONFIG)
        for partition in range(7):
            make(manager, "t", partition)
        counts = sorted(len([p for p in Path(folder).iterdir() if p.is_dir()]) for folder in folders)
        assert counts == [2, 2, 3]
        manager.close()

    def test_a_damaged_partition_is_offline_and_stays_so(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path)
        for topic in "ab":
            append(make(manager, topic))
            append(make(manager, topic))
        manager.close()
        (tmp_path / ".kafka_cleanshutdown").unlink()
        path = tmp_path / "a-0" / f"{0:020d}.log"
        data = bytearray(path.read_bytes())
        data[70] ^= 1
        path.write_bytes(data)
        for _ in range(2):
            manager = loaded(tmp_path)
            assert list(manager.logs) == [("b", 0)]
            assert isinstance(manager.offline["a", 0], CorruptLogError)
            with pytest.raises(KafkaStorageError, match="offline"):
                make(manager, "a")
            manager.close()
            assert path.read_bytes() == data

    def test_a_topic_id_is_not_exchanged(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path)
        make(manager, "a")
        manager.close()
        with pytest.raises(InconsistentTopicIdError):
            open_log(
                QuietDisk(), f"{tmp_path}/a-0", "a", 0, LogConfig(), now_ms=NOW, topic_id=bytes(15) + b"x"
            )
        (tmp_path / "a-0" / "partition.metadata").unlink()
        manager = loaded(tmp_path)
        assert manager.logs["a", 0].topic_id == ZERO_UUID
        assert make(manager, "a").topic_id == TOPIC_ID
        manager.close()
        assert loaded(tmp_path).logs["a", 0].topic_id == TOPIC_ID

    @pytest.mark.parametrize("clean", [False, True])
    @pytest.mark.parametrize("damage", ["torn", "torn early", "half zeros", "zeros", "empty"])
    def test_a_lost_topic_id_is_given_again(self, tmp_path: Path, damage: str, clean: bool) -> None:
        """The file is not synced when a partition is created; its records are of more worth."""
        manager = loaded(tmp_path)
        append(make(manager, "a"), 5)
        manager.close() if clean else manager.release()
        path = tmp_path / "a-0" / "partition.metadata"
        right = path.read_bytes()
        left = {
            "torn": right[:-1],
            "torn early": right[:5],
            "half zeros": right[:30] + bytes(len(right) - 30),
            "zeros": bytes(len(right)),
            "empty": b"",
        }
        path.write_bytes(left[damage])
        manager = loaded(tmp_path)
        assert manager.offline == {}
        log = make(manager, "a")
        assert (log.topic_id, log.log_end_offset, path.read_bytes()) == (TOPIC_ID, 5, right)
        manager.close()

    def test_without_checkpoints_all_is_checked_and_found(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path)
        log = make(manager, "a")
        for number in range(5):
            idempotent(log, number)
        manager.close()
        (tmp_path / "recovery-point-offset-checkpoint").write_text("rubbish")
        (tmp_path / ".kafka_cleanshutdown").unlink()
        manager = loaded(tmp_path)
        assert manager.logs["a", 0].log_end_offset == 5
        assert idempotent(manager.logs["a", 0], 4).duplicate
        manager.close()


class TestFlushing:
    async def test_who_asks_before_it_begins_shares_a_flush(self, tmp_path: Path) -> None:
        disk = QuietDisk()
        manager = loaded(tmp_path, disk)
        log = make(manager, "a", config=FLUSH_EACH)
        append(log)
        first = manager.flush_soon(log)
        append(log)
        assert manager.flush_soon(log) is first
        await first
        assert (log.flushed_offset, log.log_end_offset) == (2, 2)
        assert [path for action, path, _ in disk.events if action == "sync"].count(str(log_file(log))) == 1
        manager.close()

    async def test_who_asks_while_it_runs_gets_the_next_one(self, tmp_path: Path) -> None:
        disk = QuietDisk()
        manager = loaded(tmp_path, disk)
        log = make(manager, "a")
        begun, go_on = threading.Event(), threading.Event()

        def hold(action: str, path: str) -> None:
            if action == "sync" and path.endswith(".log"):
                begun.set()
                go_on.wait(10)

        disk.before = hold
        append(log)
        first = manager.flush_soon(log)
        await asyncio.get_running_loop().run_in_executor(None, begun.wait)
        append(log)
        second = manager.flush_soon(log)
        assert second is not first
        assert (first.done(), log.flushed_offset) == (False, 0)
        go_on.set()
        await first
        assert log.flushed_offset >= 1
        await second
        assert log.flushed_offset == 2
        assert [path for action, path, _ in disk.events if action == "sync"].count(str(log_file(log))) == 2
        manager.close()

    async def test_flush_messages_is_honoured_without_asking(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path)
        log = make(manager, "a", config=LogConfig({"flush.messages": "3"}))
        append(log)
        append(log)
        for _ in range(5):
            await asyncio.sleep(0)
        assert log.flushed_offset == 0
        append(log)
        await until(lambda: log.flushed_offset == 3)
        manager.close()

    async def test_a_roll_seals_the_old_segment_only(self, tmp_path: Path) -> None:
        disk = QuietDisk()
        manager = loaded(tmp_path, disk)
        log = make(manager, "a")
        append(log, 3)
        log.roll(NOW)
        append(log)
        await until(lambda: log.recovery_point == 3)
        synced = {path for action, path, _ in disk.events if action == "sync"}
        assert str(log_file(log, 0)) in synced
        assert str(log_file(log, 1)) not in synced
        manager.close()

    async def test_flush_ms(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path)
        log = make(manager, "a", config=LogConfig({"flush.ms": "1000"}))
        manager.begin(NOW)
        append(log)
        for passed_ms in (0, 999):
            await manager.turn(NOW + passed_ms)
            await asyncio.sleep(0)
            assert log.flushed_offset == 0
        await manager.turn(NOW + 1000)
        await until(lambda: log.flushed_offset == 1)
        manager.close()

    async def test_a_sync_error_is_fatal(self, tmp_path: Path) -> None:
        disk = QuietDisk()
        manager = loaded(tmp_path, disk)
        log = make(manager, "a")
        async with running(manager) as task:
            append(log)
            disk.before = failing("sync", ".log")
            future = manager.flush_soon(log)
            with pytest.raises(DiskError):
                await task
            with pytest.raises(DiskError):
                await future
            with pytest.raises(DiskError):
                await manager.flush_soon(log)
            assert log.flushed_offset == 0
        disk.before = None
        manager.release()
        assert not (tmp_path / ".kafka_cleanshutdown").exists()

    async def test_a_sync_error_before_the_owner_runs_is_fatal_too(self, tmp_path: Path) -> None:
        disk = QuietDisk()
        manager = loaded(tmp_path, disk)
        log = make(manager, "a")
        append(log)
        disk.before = failing("sync", ".log")
        with pytest.raises(DiskError):
            await manager.flush_soon(log)
        with pytest.raises(DiskError):
            await manager.run(lambda: NOW)
        manager.release()


class TestBackground:
    async def test_retention_and_later_removal(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path, retention_check_interval_ms=1000)
        config = LogConfig({"retention.ms": "0", "file.delete.delay.ms": "500"})
        log = make(manager, "a", config=config)
        for _ in range(3):
            append(log)
            log.roll(NOW)
        await manager.flush_soon(log)
        log.high_watermark = 3
        manager.begin(NOW)
        await manager.turn(NOW + 999)
        assert log.log_start_offset == 0
        await manager.turn(NOW + 1000)
        assert log.log_start_offset == 3
        deleted = list((tmp_path / "a-0").glob("*.deleted"))
        assert len(deleted) == 9
        await manager.turn(NOW + 1499)
        assert all(path.exists() for path in deleted)
        await manager.turn(NOW + 1500)
        await manager.removals.done()
        assert not any(path.exists() for path in deleted)
        manager.close()

    async def test_a_removal_that_takes_long_holds_up_nothing(self, tmp_path: Path) -> None:
        disk = QuietDisk()
        manager = loaded(tmp_path, disk, high_watermark_checkpoint_interval_ms=10)
        make(manager, "a", config=LogConfig({"file.delete.delay.ms": "0"}))
        append(make(manager, "b"))
        manager.logs["b", 0].high_watermark = 1
        await manager.delete_in_thread("a", 0, NOW)
        manager.begin(NOW)
        go_on = threading.Event()
        waited: list[bool] = []

        def wait_in(kind: str, path: str) -> None:
            if kind == "remove" and path.endswith("-delete"):
                waited.append(go_on.wait(PATIENCE_S))

        disk.before = wait_in
        for passed_ms in (10, 20):
            await manager.turn(NOW + passed_ms)
        assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n1\nb 0 1\n"
        go_on.set()
        await manager.removals.done()
        assert waited == [True]
        assert not list(tmp_path.glob("a-0*"))
        manager.close()

    async def test_what_cannot_be_removed_is_tried_again(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        disk = QuietDisk()
        manager = loaded(tmp_path, disk)
        make(manager, "a", config=LogConfig({"file.delete.delay.ms": "0"}))
        await manager.delete_in_thread("a", 0, NOW)
        manager.begin(NOW)
        disk.before = failing("remove", "-delete")
        await manager.turn(NOW)
        await manager.removals.done()
        assert "Cannot remove" in caplog.text
        disk.before = None
        for passed_ms in (1, 59_999):
            await manager.turn(NOW + passed_ms)
            await manager.removals.done()
        assert list(tmp_path.glob("a-0*"))
        await manager.turn(NOW + 60_000)
        await manager.removals.done()
        assert not list(tmp_path.glob("a-0*"))
        manager.close()

    async def test_checkpoints_are_written(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path, checkpoint_interval_ms=10, high_watermark_checkpoint_interval_ms=10)
        log = make(manager, "a")
        append(log, 5)
        log.flush()
        log.high_watermark = 4
        log.increment_log_start_offset(2)
        manager.begin(NOW)
        await manager.turn(NOW + 9)
        assert not list(tmp_path.glob("*checkpoint"))
        await manager.turn(NOW + 10)
        assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\na 0 5\n"
        assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n1\na 0 2\n"
        assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n1\na 0 4\n"
        manager.release()
        again = loaded(tmp_path).logs["a", 0]
        assert (again.log_start_offset, again.high_watermark, again.recovery_point) == (2, 4, 5)

    async def test_a_full_disk_is_waited_out(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        disk = QuietDisk()
        manager = loaded(tmp_path, disk, checkpoint_interval_ms=10, high_watermark_checkpoint_interval_ms=10)
        config = LogConfig({"index.interval.bytes": "50", "segment.bytes": "300", "retention.ms": "0"})
        log = make(manager, "a", config=config)
        append(log, epoch=1)
        log.high_watermark = 1
        manager.begin(NOW)
        await manager.turn(NOW + 10)
        append(log, epoch=2)
        append(log, epoch=2)
        log.roll(NOW)
        log.high_watermark = 3
        disk.before = full
        await manager.flush_soon(log)
        for passed_ms in (20, 30, 40):
            await manager.turn(NOW + passed_ms)
            await asyncio.sleep(0)
        assert (log.flushed_offset, log.recovery_point) == (3, 0)
        assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n1\na 0 1\n"
        assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 2
        with pytest.raises(DiskError):
            append(log, epoch=2)
        disk.before = None
        await manager.turn(NOW + 50)
        await until(lambda: log.recovery_point == 3)
        await manager.turn(NOW + 60)
        for name in ("replication-offset", "recovery-point-offset"):
            assert (tmp_path / f"{name}-checkpoint").read_text() == "0\n1\na 0 3\n"
        append(log, epoch=2)
        manager.close()
        assert (tmp_path / ".kafka_cleanshutdown").exists()
        assert loaded(tmp_path).logs["a", 0].epochs.entries == [(1, 0), (2, 1)]

    async def test_a_failed_sync_of_a_checkpoint_is_fatal(self, tmp_path: Path) -> None:
        disk = QuietDisk()
        manager = loaded(tmp_path, disk, checkpoint_interval_ms=10)
        append(make(manager, "a"))
        manager.begin(NOW)
        disk.before = failing("sync", "checkpoint.tmp")
        with pytest.raises(DiskError):
            await manager.turn(NOW + 10)
        manager.release()

    @pytest.mark.parametrize("ending", [".snapshot", ".index", "-checkpoint.tmp", "cleanshutdown.tmp"])
    def test_without_room_there_is_no_mark_of_a_clean_end(self, tmp_path: Path, ending: str) -> None:
        disk = QuietDisk()
        manager = loaded(tmp_path, disk)
        log = make(manager, "a", config=LogConfig({"index.interval.bytes": "50"}))
        for _ in range(3):
            append(log)

        def before(action: str, path: str) -> None:
            if path.endswith(ending):
                full(action, path)

        disk.before = before
        manager.close()
        disk.before = None
        assert not (tmp_path / ".kafka_cleanshutdown").exists()
        manager = loaded(tmp_path, disk)
        assert manager.logs["a", 0].log_end_offset == 3
        manager.close()

    async def test_idle_producers_expire(self, tmp_path: Path) -> None:
        manager = loaded(tmp_path, producer_expiration_ms=1000)
        log = make(manager, "a")
        idempotent(log, 0)
        manager.begin(NOW)
        await manager.turn(NOW + 599_999)
        assert log.active_producers()
        await manager.turn(NOW + 600_000)
        assert not log.active_producers()
        manager.close()
