"""How a cleaned segment replaces others on disk, also if the power fails at any moment.

    N.log.cleaned   being written; the old segments count             a start removes it
    N.log.swap      complete and synced; the old segments may go      a start removes them and renames it
    N.log           the old segments are gone

The same holds for N.index, N.timeindex and N.txnindex. The renames from `.cleaned` to `.swap` decide. After
the folder is synced, the old segments are renamed to `.deleted`. After another sync, `.swap` is removed from
the names. File systems with a journal do a rename as a whole or not at all, but several renames reach the
device in a known order only with a sync between them. If a start finds a `.cleaned` beside a `.swap`, nothing
was decided. Names and order are Kafka's, the syncs are ours.
"""

from __future__ import annotations

import logging
from typing import Final

from gralha.protocol.batches import HEADER_SIZE, read_header
from gralha.storage.disk import Disk, DiskError
from gralha.storage.segment import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    Segment,
    segment_path,
)

logger: Final = logging.getLogger(__name__)

CLEANED_SUFFIX: Final = ".cleaned"
SWAP_SUFFIX: Final = ".swap"
_OFFSET_DIGITS: Final = 20


def swap_in(
    disk: Disk, folder: str, base_offset: int, has_aborts: bool, replaced: list[Segment]
) -> tuple[Segment, list[str]]:
    """Replace segments by a `.cleaned` one. Returns it and the files to remove later. May wait.

    Readers of the old segments go on with their new names. After an error that is not fatal nothing has
    changed, except that some files may be named `.swap`: see `discard_unfinished`.
    """
    suffixes = [OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, LOG_SUFFIX]
    if has_aborts:
        suffixes.append(TRANSACTION_INDEX_SUFFIX)
    paths = [segment_path(folder, base_offset, suffix) for suffix in suffixes]
    for path in paths:
        disk.rename(path + CLEANED_SUFFIX, path + SWAP_SUFFIX)
    disk.sync_folder(folder)
    try:
        doomed = [path for segment in replaced for path in segment.rename_deleted()]
        disk.sync_folder(folder)
        for path in paths:
            disk.rename(path + SWAP_SUFFIX, path)
        disk.sync_folder(folder)
        segment = Segment(disk, folder, base_offset, 0, 0, has_aborts)
        segment.load()
        segment.load_timestamps()
    except DiskError as error:
        # There is no way back. Only a start can finish this.
        error.is_fatal = True
        raise
    return segment, doomed


def discard_unfinished(disk: Disk, folder: str) -> None:
    """Remove the files of a swap that failed before anything was decided. May wait."""
    names = disk.list_folder(folder)
    swaps = [name for name in names if name.endswith(SWAP_SUFFIX)]
    _remove(disk, folder, swaps)
    if swaps:
        # Before the `.cleaned` files, which say that these must not be finished.
        disk.sync_folder(folder)
    _remove(disk, folder, [name for name in names if name.endswith(CLEANED_SUFFIX)])


def finish_swaps(disk: Disk, folder: str, names: list[str]) -> list[str]:
    """Finish or undo a swap that a crash interrupted. Returns the names of the files then. May wait."""
    cleaned = [name for name in names if name.endswith(CLEANED_SUFFIX)]
    swaps = [name for name in names if name.endswith(SWAP_SUFFIX)]
    if not cleaned and not swaps:
        return names
    undecided = {name[:_OFFSET_DIGITS] for name in cleaned}
    undone = [name for name in swaps if name[:_OFFSET_DIGITS] in undecided]
    _remove(disk, folder, undone)
    if undone:
        disk.sync_folder(folder)
    _remove(disk, folder, cleaned)
    decided = [name for name in swaps if name not in undone]
    if decided:
        _finish(disk, folder, names, decided)
    return disk.list_folder(folder)


def _finish(disk: Disk, folder: str, names: list[str], swaps: list[str]) -> None:
    logger.warning("%s: finishing the compaction that a crash interrupted: %s", folder, ", ".join(swaps))
    for swap in swaps:
        if swap.endswith(LOG_SUFFIX + SWAP_SUFFIX):
            base_offset = int(swap[:_OFFSET_DIGITS])
            end_offset = max(_next_offset(disk, f"{folder}/{swap}"), base_offset + 1)
            _remove(disk, folder, [name for name in names if base_offset <= _base_offset(name) < end_offset])
    disk.sync_folder(folder)
    for swap in swaps:
        disk.rename(f"{folder}/{swap}", f"{folder}/{swap.removesuffix(SWAP_SUFFIX)}")
    disk.sync_folder(folder)


def _base_offset(name: str) -> int:
    """The base offset in the name of a segment's file; -1 for other files."""
    stem = name[:_OFFSET_DIGITS]
    return int(stem) if name.endswith(SEGMENT_SUFFIXES) and stem.isdecimal() else -1


def _next_offset(disk: Disk, path: str) -> int:
    """The offset after the last batch of a segment; -1 if it has none."""
    file = disk.open(path)
    next_offset = -1
    position = 0
    while position < file.size():
        header = read_header(file.read(position, HEADER_SIZE), 0)
        next_offset = int(header.next_offset)
        position += int(header.size_bytes)
    file.close()
    return next_offset


def _remove(disk: Disk, folder: str, names: list[str]) -> None:
    for name in names:
        disk.remove(f"{folder}/{name}")
