"""All logs of a node. The manager loads, flushes, trims, checkpoints and closes them.

The event loop appends. Work that waits for the disk runs in threads, which the task `run` starts and awaits.
A failed sync in a thread ends `run` and the node, because nobody knows then what is on the device. A failed
write, as on a full disk, is logged and tried again later.

A log has one flush at a time. All calls of `flush_soon` before a flush begins return the same future. With
`flush.messages=1`, acknowledgements wait for that future.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random
from typing import Final, NamedTuple

from gralha.protocol.errors import KafkaStorageError
from gralha.protocol.primitives import ZERO_UUID
from gralha.storage.checkpointing import Checkpoints
from gralha.storage.checkpoints import (
    PartitionKey,
    read_clean_shutdown,
    remove_clean_shutdown,
    write_clean_shutdown,
)
from gralha.storage.cleaning import Cleaner, CleanerSettings, CleaningWorker, InlineWorker
from gralha.storage.config import LONG_MAX, LogConfig
from gralha.storage.disk import Disk, DiskError, FolderLock
from gralha.storage.flusher import Flusher
from gralha.storage.log import Log
from gralha.storage.opening import PRODUCER_EXPIRATION_MS, open_log
from gralha.storage.removals import Removals

logger: Final = logging.getLogger(__name__)

_FOLDER: Final = re.compile(r"(.+)-(\d+)")
_DELETED_FOLDER: Final = re.compile(r".+-\d+\.\w+-delete")
_NAME_BYTES_MAX: Final = 255
_TICK_MS: Final = 1000
_INITIAL_DELAY_MS: Final = 30_000
_PRODUCER_CHECK_INTERVAL_MS: Final = 600_000
_IDLE_FILES_INTERVAL_MS: Final = 60_000
# The manager lets other tasks run after it has looked at this many logs.
_LOGS_PER_TURN: Final = 64
_CLOSING_THREADS: Final = 8

METADATA_TOPIC: Final = "__cluster_metadata"


class FolderLockedError(Exception):
    """Another process uses a data folder."""


class _LeftFolder(NamedTuple):
    """The folder of a partition that is not served any more, and how to move it."""

    path: str
    delay_ms: int
    move: Callable[[], None]


class LogManager:
    def __init__(
        self,
        disk: Disk,
        folders: list[str],
        defaults: LogConfig,
        *,
        random: Random | None = None,
        retention_check_interval_ms: int = 300_000,
        checkpoint_interval_ms: int = 60_000,
        high_watermark_checkpoint_interval_ms: int = 5_000,
        producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
        cleaner_settings: CleanerSettings | None = None,
        cleaning_worker: CleaningWorker | None = None,
    ) -> None:
        self.disk = disk
        self.folders = folders
        self.defaults = defaults
        self.logs: dict[PartitionKey, Log] = {}
        # Partitions that are not served because their records are damaged, and the reason.
        self.offline: dict[PartitionKey, Exception] = {}
        self._offline_folders: dict[PartitionKey, str] = {}
        self._random = random or Random(0)
        self._retention_check_interval_ms = retention_check_interval_ms
        self._checkpoint_interval_ms = checkpoint_interval_ms
        self._high_watermark_checkpoint_interval_ms = high_watermark_checkpoint_interval_ms
        self._producer_expiration_ms = producer_expiration_ms
        self._checkpoints = Checkpoints(disk, folders)
        self._flusher = Flusher()
        self.cleaner = Cleaner(
            self.logs,
            self._checkpoints,
            cleaning_worker or InlineWorker(disk),
            cleaner_settings or CleanerSettings(),
            self._remove_later,
        )
        self._locks: list[FolderLock] = []
        # Folders that get no new partitions, unless all folders are cordoned.
        self.cordoned: frozenset[str] = frozenset()
        # How many logs each folder has, with those that are being created.
        self._counts = dict.fromkeys(folders, 0)
        self.removals = Removals(disk)
        self._flushed_ms: dict[PartitionKey, int] = {}
        self._retention_due_ms = LONG_MAX
        self._checkpoint_due_ms = LONG_MAX
        self._high_watermark_due_ms = LONG_MAX
        self._producers_due_ms = LONG_MAX
        self._idle_files_due_ms = LONG_MAX

    # Starting

    def lock(self) -> None:
        """Lock the data folders. Call this before anything in them is read or written. May wait."""
        for folder in self.folders:
            self.disk.make_folder(folder)
            lock = self.disk.lock_folder(folder)
            if lock is None:
                raise FolderLockedError(f"{folder} is in use by another broker")
            self._locks.append(lock)

    def clean_shutdown_epoch(self) -> int:
        """The broker epoch in all clean shutdown files; -1 if one is missing or differs. May wait."""
        epochs = {read_clean_shutdown(self.disk, folder) for folder in self.folders}
        epoch = epochs.pop()
        return -1 if epochs or epoch is None else epoch

    def load(self, now_ms: int, configs_for: Callable[[str], Mapping[str, str]]) -> None:
        """Lock the data folders, unless they are locked, and open every partition in them. May wait."""
        configs: dict[str, LogConfig] = {}
        if not self._locks:
            self.lock()
        for folder in self.folders:
            clean = read_clean_shutdown(self.disk, folder) is not None
            if clean:
                remove_clean_shutdown(self.disk, folder)
            self._checkpoints.read(folder)
            for name in self.disk.list_folders(folder):
                self._load_folder(folder, name, clean, now_ms, configs_for, configs)
        # Loading has used all files, so the first call closes none. The second one closes them.
        self.disk.close_idle_files()
        self.disk.close_idle_files()

    def _load_folder(
        self,
        folder: str,
        name: str,
        clean: bool,
        now_ms: int,
        configs_for: Callable[[str], Mapping[str, str]],
        configs: dict[str, LogConfig],
    ) -> None:
        if _DELETED_FOLDER.fullmatch(name):
            self.removals.add(f"{folder}/{name}", now_ms, is_folder=True)
            return
        match = _FOLDER.fullmatch(name)
        if match is None or name.startswith(METADATA_TOPIC + "-"):
            return
        key = (match[1], int(match[2]))
        if key in self.logs:
            logger.error(
                "%s/%s is left alone: %s has that partition too", folder, name, self.logs[key].folder
            )
            return
        if key[0] not in configs:
            configs[key[0]] = self.defaults.with_overrides(configs_for(key[0]))
        try:
            self._add(self._open(folder, key, ZERO_UUID, configs[key[0]], clean, now_ms))
        except DiskError:
            raise
        except Exception as error:
            logger.exception("The partition %s is offline", name)
            self.offline[key] = error
            self._offline_folders[key] = f"{folder}/{name}"
            self._checkpoints.offline.add(key)

    def _open(
        self, folder: str, key: PartitionKey, topic_id: bytes, config: LogConfig, clean: bool, now_ms: int
    ) -> Log:
        log = open_log(
            self.disk,
            f"{folder}/{key[0]}-{key[1]}",
            key[0],
            key[1],
            config,
            now_ms=now_ms,
            topic_id=topic_id,
            log_start_offset=self._checkpoints.log_start_offset(folder, key),
            recovery_point=self._checkpoints.recovery_point(folder, key),
            first_dirty_offset=self._checkpoints.first_dirty_offset(folder, key),
            clean=clean,
            random=self._random,
            producer_expiration_ms=self._producer_expiration_ms,
        )
        log.high_watermark = self._checkpoints.high_watermark(folder, key)
        return log

    def _add(self, log: Log) -> None:
        log.request_flush = self._flusher.request
        self.logs[log.topic, log.partition] = log
        self._counts[log.data_folder] += 1

    # Creating and deleting

    def get_or_create(
        self, topic: str, partition: int, topic_id: bytes, config: LogConfig, now_ms: int
    ) -> Log:
        """The partition's log. A new log goes to the data folder with the fewest partitions that takes new
        ones. May wait.
        """
        log = self._find(topic, partition, topic_id)
        if log is None:
            folder = self._emptiest_folder()
            forget = self._checkpoints.forget(folder, (topic, partition), self.logs)
            log = self._create(folder, (topic, partition), topic_id, config, now_ms, forget)
            self._add(log)
        return log

    async def get_or_create_in_thread(
        self, topic: str, partition: int, topic_id: bytes, config: LogConfig, now_ms: int
    ) -> Log:
        """As `get_or_create`, but a thread creates the files. One call per partition at a time."""
        log = self._find(topic, partition, topic_id)
        if log is None:
            folder = self._emptiest_folder()
            forget = self._checkpoints.forget(folder, (topic, partition), self.logs)
            self._counts[folder] += 1
            try:
                log = await asyncio.get_running_loop().run_in_executor(
                    None, self._create, folder, (topic, partition), topic_id, config, now_ms, forget
                )
            finally:
                self._counts[folder] -= 1
            self._add(log)
        return log

    def _find(self, topic: str, partition: int, topic_id: bytes) -> Log | None:
        key = (topic, partition)
        log = self.logs.get(key)
        if log is not None and log.topic_id == ZERO_UUID:
            log.set_topic_id(topic_id)
        if log is None and key in self.offline:
            raise KafkaStorageError(f"{topic}-{partition} is offline: {self.offline[key]}")
        return log

    def _create(
        self,
        folder: str,
        key: PartitionKey,
        topic_id: bytes,
        config: LogConfig,
        now_ms: int,
        forget: Callable[[], None],
    ) -> Log:
        # The checkpoints may still list a deleted partition with that name. Its offsets must not count here.
        forget()
        return self._open(folder, key, topic_id, config, False, now_ms)

    def expire_producers_after(self, expiration_ms: int) -> None:
        """Changes how long all partitions remember an idempotent producer that does not write."""
        self._producer_expiration_ms = expiration_ms
        for log in self.logs.values():
            log.producer_expiration_ms = expiration_ms

    def _emptiest_folder(self) -> str:
        open_to_new = [folder for folder in self.folders if folder not in self.cordoned]
        return min(open_to_new or self.folders, key=self._counts.__getitem__)

    def delete(self, topic: str, partition: int, now_ms: int) -> None:
        """Delete a partition: rename its folder now, and remove it after file.delete.delay.ms. May wait."""
        left = self._leave(topic, partition, "delete")
        if left is not None:
            left.move()
            self.removals.add(left.path, now_ms + left.delay_ms, is_folder=True)

    async def delete_in_thread(self, topic: str, partition: int, now_ms: int) -> None:
        """As `delete`, but a thread renames the folder, which may wait for a flush."""
        left = self._leave(topic, partition, "delete")
        if left is not None:
            await self._in_thread(left.move)
            self.removals.add(left.path, now_ms + left.delay_ms, is_folder=True)

    async def set_aside_in_thread(self, topic: str, partition: int) -> str | None:
        """Rename the folder of a partition that does not belong here, and keep it. Returns the new path."""
        left = self._leave(topic, partition, "stray")
        if left is None:
            return None
        await self._in_thread(left.move)
        return left.path

    def _leave(self, topic: str, partition: int, suffix: str) -> _LeftFolder | None:
        """Stop serving a partition. The caller then moves its folder."""
        key = (topic, partition)
        log = self.logs.pop(key, None)
        folder = self._offline_folders.pop(key, None) if log is None else log.folder
        if folder is None:
            return None
        if log is not None:
            self._counts[log.data_folder] -= 1
        self.offline.pop(key, None)
        self._checkpoints.offline.discard(key)
        self._checkpoints.outdated = True
        self._flushed_ms.pop(key, None)
        ending = f"-{partition}.{self._random.getrandbits(128):032x}-{suffix}"
        path = f"{folder.rpartition('/')[0]}/{topic[: _NAME_BYTES_MAX - len(ending)]}{ending}"
        if log is None:
            return _LeftFolder(
                path, self.defaults.file_delete_delay_ms, partial(self.disk.rename, folder, path)
            )
        log.closed = True
        self.cleaner.abandon(log)
        return _LeftFolder(path, log.config.file_delete_delay_ms, partial(log.delete, path))

    async def truncate_in_thread(self, log: Log, offset: int) -> None:
        """Lower the recovery point, then truncate. Otherwise the log could look damaged after a crash."""
        # If the offset is inside of a batch, the log ends before the offset, but not before its segment.
        await self._truncate(log, log.segment_base(offset), partial(log.truncate_to, offset))

    async def truncate_fully_in_thread(self, log: Log, offset: int) -> None:
        """As `truncate_in_thread`, for `Log.truncate_fully_and_start_at`."""
        await self._truncate(log, 0, partial(log.truncate_fully_and_start_at, offset))

    async def _truncate(self, log: Log, recovery_point: int, truncate: Callable[[], object]) -> None:
        log.is_being_truncated = True
        try:
            async with self.cleaner.paused(log):
                await self._truncate_unhindered(log, recovery_point, truncate)
        finally:
            log.is_being_truncated = False

    async def _truncate_unhindered(
        self, log: Log, recovery_point: int, truncate: Callable[[], object]
    ) -> None:
        key = (log.topic, log.partition)
        checkpoints = self._checkpoints
        lowers = recovery_point < log.flushed_offset
        # A checkpoint during the truncation must not write the old recovery point.
        checkpoints.lowered[key] = recovery_point
        log.first_dirty_offset = min(log.first_dirty_offset, recovery_point)
        if lowers:
            checkpoints.collect(self.logs)
            checkpoints.collect_first_dirty_offsets(self.logs)

        def work() -> None:
            if lowers:
                checkpoints.write_now()
            truncate()

        try:
            await self._in_thread(work)
        finally:
            del checkpoints.lowered[key]

    # Running

    def flush_soon(self, log: Log) -> asyncio.Future[None]:
        """A future that is done when all batches in the log now are on the device. Callers may share it."""
        return self._flusher.flush_soon(log)

    async def run(self, clock: Callable[[], int]) -> None:
        """Do the background work until this task is cancelled or the disk fails."""
        self.begin(clock())
        cleaning = asyncio.ensure_future(self.cleaner.run(clock))
        try:
            while not cleaning.done():
                await self._flusher.wait(_TICK_MS / 1000)
                await self.turn(clock())
            await cleaning
        finally:
            cleaning.cancel()
            await asyncio.wait([cleaning])

    def begin(self, now_ms: int) -> None:
        """Start the intervals. Retention does not begin while a node starts."""
        self._retention_due_ms = now_ms + min(self._retention_check_interval_ms, _INITIAL_DELAY_MS)
        self._checkpoint_due_ms = now_ms + self._checkpoint_interval_ms
        self._high_watermark_due_ms = now_ms + self._high_watermark_checkpoint_interval_ms
        self._producers_due_ms = now_ms + _PRODUCER_CHECK_INTERVAL_MS
        self._idle_files_due_ms = now_ms + _IDLE_FILES_INTERVAL_MS

    async def turn(self, now_ms: int) -> None:
        """Do the work that is due at that time."""
        self._flush_overdue(now_ms)
        self.removals.begin_due(now_ms)
        if now_ms >= self._retention_due_ms:
            self._retention_due_ms = now_ms + self._retention_check_interval_ms
            await self.apply_retention(now_ms)
        if now_ms >= self._checkpoint_due_ms or self._checkpoints.outdated:
            self._checkpoint_due_ms = now_ms + self._checkpoint_interval_ms
            await self._in_thread(self._checkpoints.collect(self.logs))
            unsaved = [log for log in self.logs.values() if log.active.offset_index.has_unsaved()]
            await self._in_thread(partial(_save_indexes, unsaved))
            for log in self.logs.values():
                if log.save_error is not None:
                    self._flusher.request(log, 0)
        if now_ms >= self._high_watermark_due_ms:
            self._high_watermark_due_ms = now_ms + self._high_watermark_checkpoint_interval_ms
            await self._in_thread(self._checkpoints.collect_high_watermarks(self.logs))
        if now_ms >= self._producers_due_ms:
            self._producers_due_ms = now_ms + _PRODUCER_CHECK_INTERVAL_MS
            for log in self.logs.values():
                log.remove_expired_producers(now_ms)
        if now_ms >= self._idle_files_due_ms:
            self._idle_files_due_ms = now_ms + _IDLE_FILES_INTERVAL_MS
            await self._in_thread(self.disk.close_idle_files)

    async def _in_thread(self, work: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(None, work)

    def _flush_overdue(self, now_ms: int) -> None:
        """Flush the logs that were not flushed for flush.ms."""
        for key, log in self.logs.items():
            if log.config.flush_ms == LONG_MAX or log.flushed_offset >= log.log_end_offset:
                continue
            if now_ms - self._flushed_ms.setdefault(key, now_ms) >= log.config.flush_ms:
                self._flusher.request(log, log.log_end_offset)
                self._flushed_ms[key] = now_ms

    async def apply_retention(self, now_ms: int) -> int:
        """Delete segments as the topics' retention settings say. Returns how many."""
        deleted = 0
        logs = list(self.logs.values())
        for start in range(0, len(logs), _LOGS_PER_TURN):
            turn = logs[start : start + _LOGS_PER_TURN]
            if any(log.timestamps_unknown() for log in turn):
                await self._in_thread(partial(_load_timestamps, turn))
            for log in turn:
                deleted += await self._apply_retention(log, now_ms)
            await asyncio.sleep(0)
        return deleted

    async def _apply_retention(self, log: Log, now_ms: int) -> int:
        count = -1
        while count < 0 and not log.closed and not self.cleaner.is_cleaning(log):
            try:
                count = log.apply_retention(now_ms)
            except DiskError as error:
                if error.is_fatal:
                    raise
                logger.error("Retention of %s is put off: %s", log.name, error)
                count = 0
            if count < 0:
                await self._flusher.flush_soon(log)
        self._remove_later(log, now_ms)
        return max(count, 0)

    def _remove_later(self, log: Log, now_ms: int) -> None:
        due_ms = now_ms + log.config.file_delete_delay_ms
        for path in log.doomed_files:
            self.removals.add(path, due_ms)
        log.doomed_files = []

    # Stopping

    def close(self, broker_epoch: int = -1) -> None:
        """Flush and close all logs, write the checkpoints and the marker of a clean shutdown. May wait.

        On a full disk there is no marker, and the next start checks the logs.
        """
        self._flusher.close()
        try:
            self._close_logs()
            self._checkpoints.collect(self.logs)
            self._checkpoints.collect_high_watermarks(self.logs)
            self._checkpoints.write_now()
            # Without the marker the next start checks all logs, and finds the damage again.
            if not self.offline:
                for folder in self.folders:
                    write_clean_shutdown(self.disk, folder, broker_epoch)
        except DiskError as error:
            if error.is_fatal:
                raise
            logger.error("The next start has to check the logs: %s", error)
        self.release()

    def _close_logs(self) -> None:
        # One sync of a data folder serves all new logs in it.
        for folder in sorted({log.data_folder for log in self.logs.values() if log.parent_unsynced}):
            try:
                self.disk.sync_folder(folder)
            except DiskError:
                continue  # each of its logs tries that again, and raises the error
            for log in self.logs.values():
                log.parent_unsynced = log.parent_unsynced and log.data_folder != folder
        with ThreadPoolExecutor(_CLOSING_THREADS) as threads:
            closing = [threads.submit(log.close) for log in self.logs.values()]
        # All logs are closed before the first failure is raised.
        for closed in closing:
            closed.result()

    def release(self) -> None:
        """Close and unlock everything without writing. After a disk error this is called alone."""
        self._flusher.close()
        for log in self.logs.values():
            log.release()
        for lock in self._locks:
            lock.release()
        self._locks = []


def _save_indexes(logs: list[Log]) -> None:
    for log in logs:
        log.save_indexes()


def _load_timestamps(logs: list[Log]) -> None:
    for log in logs:
        try:
            log.load_timestamps()
        except DiskError:
            # The files of a deleted log have moved.
            if not log.deleted:
                raise
