"""After a failed sync: the page cache may have data that never reaches the device, and later syncs succeed.

After a failed sync Linux treats the pages as written. The broker stops, but the next process would find the
records in the page cache and sync them without an error, although a power cut would lose them. So the broker
that stops leaves a mark in its folders. The next process then writes all data again that was not known to be
on the device, at the same place, which makes the pages dirty, and syncs it. The mark itself need not be on
the device: after a power cut there is no page cache to mistrust.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Final

from gralha.storage.checkpoints import RECOVERY_POINT_FILE, CheckpointError, read_offsets
from gralha.storage.disk import Disk, DiskError
from gralha.storage.segment import LOG_SUFFIX

logger: Final = logging.getLogger(__name__)

MARK: Final = ".gralha_failed_sync"
_CHUNK_BYTES: Final = 1024 * 1024
# Rebuilt by the recovery that follows.
_INDEXES: Final = (".index", ".timeindex", ".txnindex")


def mark_failed_sync(disk: Disk, folders: list[str]) -> None:
    for folder in folders:
        with suppress(DiskError):
            disk.write_file(f"{folder}/{MARK}", b"")


def write_unsynced_again(disk: Disk, folders: list[str]) -> None:
    """Write again what may not be on the device, in folders with the mark of a failed sync. May wait."""
    for folder in folders:
        if disk.exists(f"{folder}/{MARK}"):
            logger.warning("A sync had failed in %s: writing again what may not be on the device", folder)
            points = _recovery_points(disk, folder)
            for name in disk.list_folders(folder):
                for path in _doubtful(disk, f"{folder}/{name}", points.get(name, 0)):
                    _write_again(disk, path)
            disk.remove(f"{folder}/{MARK}")


def _recovery_points(disk: Disk, folder: str) -> dict[str, int]:
    """Up to which offset each partition's log was on the device, by the name of its folder."""
    try:
        offsets = read_offsets(disk, f"{folder}/{RECOVERY_POINT_FILE}")
    except CheckpointError:
        return {}
    return {f"{topic}-{partition}": offset for (topic, partition), offset in offsets.items()}


def _doubtful(disk: Disk, folder: str, recovery_point: int) -> list[str]:
    """The files that may not be on the device: all but indexes and what is before the recovery point."""
    folders = set(disk.list_folders(folder))
    names = [name for name in disk.list_folder(folder) if name not in folders and not name.endswith(_INDEXES)]
    bases = sorted(int(name[:20]) for name in names if _is_segment(name))
    first = max((base for base in bases if base <= recovery_point), default=0)
    return [f"{folder}/{name}" for name in names if not (_is_segment(name) and int(name[:20]) < first)]


def _is_segment(name: str) -> bool:
    return name.endswith(LOG_SUFFIX) and name[: -len(LOG_SUFFIX)].isdecimal()


def _write_again(disk: Disk, path: str) -> None:
    file = disk.open(path)
    try:
        for position in range(0, file.size(), _CHUNK_BYTES):
            file.write_at(position, file.read(position, _CHUNK_BYTES))
        file.sync()
    finally:
        file.close()
