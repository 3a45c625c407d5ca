"""The checkpoint files of the data folders: which offsets they have, and when they must be written.

The event loop's thread collects the offsets (`collect...`) and gets a function, which a thread calls to write
them. A new partition with the name of a deleted one must not get its offsets after a crash: `forget` removes
these from the files.

A write that fails (a full disk) leaves a file as it was. That is safe, because the next start only checks
more. The next collection writes the file again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from gralha.storage.checkpoints import (
    CLEANER_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    CheckpointError,
    PartitionKey,
    read_offsets,
    write_offsets,
)
from gralha.storage.disk import Disk, DiskError
from gralha.storage.log import Log

logger: Final = logging.getLogger(__name__)

_Offsets = dict[PartitionKey, int]
_FILES: Final = (RECOVERY_POINT_FILE, LOG_START_OFFSET_FILE, HIGH_WATERMARK_FILE, CLEANER_OFFSET_FILE)


class Checkpoints:
    def __init__(self, disk: Disk, folders: list[str]) -> None:
        self.disk = disk
        self._folders = folders
        # Set when the files list a partition that does not exist any more.
        self.outdated = False
        # Partitions that are offline. Their entries in the files stay.
        self.offline: set[PartitionKey] = set()
        # The recovery points of logs that are being truncated.
        self.lowered: _Offsets = {}
        # The entries that each file has, or will have.
        self._written: dict[str, _Offsets] = {f"{folder}/{name}": {} for folder in folders for name in _FILES}
        # Files that do not have these entries yet, and are not being written.
        self._unwritten: set[str] = set()
        self._failing = False
        self._lock = disk.new_lock()

    def read(self, folder: str) -> None:
        for name in _FILES:
            path = f"{folder}/{name}"
            try:
                self._written[path] = read_offsets(self.disk, path)
            except CheckpointError as error:
                # Kafka ignores such a file as well: the start checks more, and nothing is lost.
                logger.error("A checkpoint file is ignored: %s", error)

    def recovery_point(self, folder: str, key: PartitionKey) -> int:
        return self._written[f"{folder}/{RECOVERY_POINT_FILE}"].get(key, 0)

    def log_start_offset(self, folder: str, key: PartitionKey) -> int:
        return self._written[f"{folder}/{LOG_START_OFFSET_FILE}"].get(key, 0)

    def high_watermark(self, folder: str, key: PartitionKey) -> int:
        return self._written[f"{folder}/{HIGH_WATERMARK_FILE}"].get(key, 0)

    def first_dirty_offset(self, folder: str, key: PartitionKey) -> int:
        return self._written[f"{folder}/{CLEANER_OFFSET_FILE}"].get(key, 0)

    def collect(self, logs: Mapping[PartitionKey, Log]) -> Callable[[], None]:
        """Collect the recovery points and start offsets. Returns a function that writes them."""
        self.outdated = False
        offsets = self._of_offline_partitions()
        points = self._by_folder(offsets, RECOVERY_POINT_FILE)
        starts = self._by_folder(offsets, LOG_START_OFFSET_FILE)
        for key, log in logs.items():
            point = int(log.recovery_point)
            points[log.data_folder][key] = min(point, self.lowered.get(key, point))
            # Without an entry the log starts at its first segment.
            if log.log_start_offset > log.base_offsets[0]:
                starts[log.data_folder][key] = int(log.log_start_offset)
        return self._writer(offsets, (RECOVERY_POINT_FILE, LOG_START_OFFSET_FILE))

    def _by_folder(self, offsets: dict[str, _Offsets], name: str) -> dict[str, _Offsets]:
        """The entries of one file, by data folder."""
        return {folder: offsets[f"{folder}/{name}"] for folder in self._folders}

    def _of_offline_partitions(self) -> dict[str, _Offsets]:
        if not self.offline:
            return {path: {} for path in self._written}
        return {
            path: {key: offset for key, offset in entries.items() if key in self.offline}
            for path, entries in self._written.items()
        }

    def collect_high_watermarks(self, logs: Mapping[PartitionKey, Log]) -> Callable[[], None]:
        offsets = self._of_offline_partitions()
        high_watermarks = self._by_folder(offsets, HIGH_WATERMARK_FILE)
        for key, log in logs.items():
            high_watermarks[log.data_folder][key] = int(log.high_watermark)
        return self._writer(offsets, (HIGH_WATERMARK_FILE,))

    def collect_first_dirty_offsets(self, logs: Mapping[PartitionKey, Log]) -> Callable[[], None]:
        offsets = self._of_offline_partitions()
        first_dirty = self._by_folder(offsets, CLEANER_OFFSET_FILE)
        for key, log in logs.items():
            if log.first_dirty_offset > 0:
                first_dirty[log.data_folder][key] = int(log.first_dirty_offset)
        return self._writer(offsets, (CLEANER_OFFSET_FILE,))

    def _writer(self, offsets: dict[str, _Offsets], names: tuple[str, ...]) -> Callable[[], None]:
        paths = [path for path in offsets if path.endswith(names)]
        for path in paths:
            if offsets[path] != self._written[path]:
                self._change(path, offsets[path])
        return partial(self._write, paths)

    def _change(self, path: str, entries: _Offsets) -> None:
        # In this order: a thread that sees only the first change writes the new entries, at worst twice.
        self._written[path] = entries
        self._unwritten.add(path)

    def _write(self, paths: list[str]) -> None:
        """Write the files that are not up to date. A failed write is tried again later."""
        try:
            self.write_now(paths)
        except DiskError as error:
            if error.is_fatal:
                raise
            if not self._failing:
                logger.error("Checkpoints are not written until this succeeds: %s", error)
            self._failing = True
        else:
            self._failing = self._failing and bool(self._unwritten)

    def write_now(self, paths: list[str] | None = None) -> None:
        """As `_write` (all files if `paths` is None), but raises a disk error. Waits for other writers."""
        with self._lock:
            for path in list(self._written) if paths is None else paths:
                if path in self._unwritten:
                    # In this order: entries that are collected during the write must be written later.
                    self._unwritten.discard(path)
                    try:
                        write_offsets(self.disk, path, self._written[path])
                    except DiskError:
                        self._unwritten.add(path)
                        raise

    def forget(self, folder: str, key: PartitionKey, logs: Mapping[PartitionKey, Log]) -> Callable[[], None]:
        """Forget the offsets of a partition before it is created. Returns a function that updates the files.

        That function may wait, and raises a disk error.
        """
        if self.recovery_point(folder, key) or self.log_start_offset(folder, key):
            self.collect(logs)
        for path in (f"{folder}/{HIGH_WATERMARK_FILE}", f"{folder}/{CLEANER_OFFSET_FILE}"):
            if key in self._written[path]:
                entries = {other: offset for other, offset in self._written[path].items() if other != key}
                self._change(path, entries)
        return self.write_now
