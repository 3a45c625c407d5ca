"""Which offsets the checkpoint files of the data folders hold, and when they must be written.

The event loop's thread collects what is to be written (`collect...`), a thread writes it. A partition that is
created again under the name of a deleted one must not inherit its offsets after a crash: `forget` sees to it
that the files do not list it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final

from gralha.storage.checkpoints import (
    HIGH_WATERMARK_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    CheckpointError,
    PartitionKey,
    read_offsets,
    write_offsets,
)
from gralha.storage.disk import Disk
from gralha.storage.log import Log

logger: Final = logging.getLogger(__name__)

_Offsets = dict[PartitionKey, int]


class Checkpoints:
    def __init__(self, disk: Disk, folders: list[str]) -> None:
        self.disk = disk
        # Set when the files list a partition that is gone.
        self.outdated = False
        # Partitions that are offline: what the files say of them stays.
        self.offline: set[PartitionKey] = set()
        # What each file holds, or is about to hold.
        self._written: dict[str, _Offsets] = {
            f"{folder}/{name}": {}
            for folder in folders
            for name in (RECOVERY_POINT_FILE, LOG_START_OFFSET_FILE, HIGH_WATERMARK_FILE)
        }
        self._lock = threading.Lock()

    def read(self, folder: str) -> None:
        for name in (RECOVERY_POINT_FILE, LOG_START_OFFSET_FILE, HIGH_WATERMARK_FILE):
            path = f"{folder}/{name}"
            try:
                self._written[path] = read_offsets(self.disk, path)
            except CheckpointError as error:
                # Kafka goes on in this case as well: more is checked, nothing is lost.
                logger.error("Going on without a checkpoint: %s", error)

    def recovery_point(self, folder: str, key: PartitionKey) -> int:
        return self._written[f"{folder}/{RECOVERY_POINT_FILE}"].get(key, 0)

    def log_start_offset(self, folder: str, key: PartitionKey) -> int:
        return self._written[f"{folder}/{LOG_START_OFFSET_FILE}"].get(key, 0)

    def high_watermark(self, folder: str, key: PartitionKey) -> int:
        return self._written[f"{folder}/{HIGH_WATERMARK_FILE}"].get(key, 0)

    def collect(self, logs: Mapping[PartitionKey, Log]) -> Callable[[], None]:
        """Recovery points and start offsets as they are now; the result writes them."""
        self.outdated = False
        offsets = self._of_offline_partitions()
        for key, log in logs.items():
            folder = log.folder.rpartition("/")[0]
            offsets[f"{folder}/{RECOVERY_POINT_FILE}"][key] = int(log.recovery_point)
            # Where the first segment begins tells the start offset as well.
            if log.log_start_offset > log.segments[0].base_offset:
                offsets[f"{folder}/{LOG_START_OFFSET_FILE}"][key] = int(log.log_start_offset)
        return self._writer(offsets, (RECOVERY_POINT_FILE, LOG_START_OFFSET_FILE))

    def _of_offline_partitions(self) -> dict[str, _Offsets]:
        return {
            path: {key: offset for key, offset in entries.items() if key in self.offline}
            for path, entries in self._written.items()
        }

    def collect_high_watermarks(self, logs: Mapping[PartitionKey, Log]) -> Callable[[], None]:
        offsets = self._of_offline_partitions()
        for key, log in logs.items():
            folder = log.folder.rpartition("/")[0]
            offsets[f"{folder}/{HIGH_WATERMARK_FILE}"][key] = int(log.high_watermark)
        return self._writer(offsets, (HIGH_WATERMARK_FILE,))

    def _writer(self, offsets: dict[str, _Offsets], names: tuple[str, ...]) -> Callable[[], None]:
        changed = {
            path: entries
            for path, entries in offsets.items()
            if path.endswith(names) and entries != self._written[path]
        }
        self._written.update(changed)
        return lambda: self._write(changed)

    def _write(self, changed: dict[str, _Offsets]) -> None:
        with self._lock:
            for path, entries in changed.items():
                # A later collection may have been written first.
                if self._written[path] is entries:
                    write_offsets(self.disk, path, entries)

    def forget(self, folder: str, key: PartitionKey, logs: Mapping[PartitionKey, Log]) -> None:
        """Make sure that the files do not list a partition that is about to be created. May wait, rarely."""
        if self.recovery_point(folder, key) or self.log_start_offset(folder, key):
            self.collect(logs)()
        path = f"{folder}/{HIGH_WATERMARK_FILE}"
        if key in self._written[path]:
            self._written[path] = {
                other: offset for other, offset in self._written[path].items() if other != key
            }

    def lower_recovery_point(self, log: Log, offset: int, logs: Mapping[PartitionKey, Log]) -> None:
        """Write a recovery point that truncation will bring about."""
        self.collect(logs)()
        path = f"{log.folder.rpartition('/')[0]}/{RECOVERY_POINT_FILE}"
        lowered = {**self._written[path], (log.topic, log.partition): offset}
        self._written[path] = lowered
        self._write({path: lowered})
