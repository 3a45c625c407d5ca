"""Where each leader epoch of a partition begins (KIP-101): the basis of truncation after a leader change.

The entries rise in both epoch and start offset. They are in memory. A flush of the log writes the checkpoint
and syncs it before the recovery point moves. So a crash loses only epochs of batches above the recovery
point, and recovery reads these from the batches themselves.
"""

from __future__ import annotations

from gralha.storage.checkpoints import LEADER_EPOCH_FILE, decode_epochs, encode_epochs
from gralha.storage.disk import Disk, DiskError

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class LeaderEpochs:
    def __init__(self, disk: Disk, folder: str) -> None:
        self.disk = disk
        self.folder = folder
        self.entries: list[tuple[int, int]] = []
        # The newest epoch, kept beside the entries because every append compares with it.
        self.latest = UNDEFINED_EPOCH
        # Whether memory has entries that the file lacks.
        self.unsaved = False
        self.saved: list[tuple[int, int]] = []

    def load(self) -> None:
        path = self._path()
        data = self.disk.read_file(path)
        self.entries = []
        for epoch, start_offset in decode_epochs(path, data) if data else []:
            self._insert(epoch, start_offset)
        self.saved = self.entries
        self._update_latest()

    def _path(self) -> str:
        return f"{self.folder}/{LEADER_EPOCH_FILE}"

    def _update_latest(self) -> None:
        self.latest = self.entries[-1][0] if self.entries else UNDEFINED_EPOCH

    def _insert(self, epoch: int, start_offset: int) -> bool:
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"Leader epoch {epoch} from offset {start_offset} cannot be")
        entries = self.entries
        if entries and entries[-1][0] == epoch and start_offset >= entries[-1][1]:
            return False
        keep = len(entries)
        while keep and (entries[keep - 1][0] >= epoch or entries[keep - 1][1] >= start_offset):
            keep -= 1
        # A new list, because a thread may be writing the old one.
        self.entries = [*entries[:keep], (epoch, start_offset)]
        return True

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note that the epoch begins at the offset. Later entries that conflict with that are removed."""
        if self._insert(epoch, start_offset):
            self._changed()

    def _changed(self) -> None:
        self._update_latest()
        self.unsaved = True

    def save(self, log_end_offset: int, sync_folder: bool = True) -> None:
        """Write the checkpoint if it is not up to date. A thread may call this; one at a time.

        The checkpoint is durable when the folder is synced, now or by the caller later.
        An epoch without a record is left out: the next start would drop it anyway.
        """
        if self.unsaved:
            # In this order, because the event loop may change the entries while a thread waits here.
            self.unsaved = False
            entries = [entry for entry in self.entries if entry[1] < log_end_offset]
            if entries != self.saved:
                try:
                    self.disk.replace_file(self._path(), encode_epochs(entries))
                    if sync_folder:
                        self.disk.sync_folder(self.folder)
                except DiskError:
                    self.unsaved = True
                    raise
                self.saved = entries
            self.unsaved = self.unsaved or len(entries) < len(self.entries)

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that begin at or after the offset."""
        keep = len(self.entries)
        while keep and self.entries[keep - 1][1] >= end_offset:
            keep -= 1
        if keep < len(self.entries):
            self.entries = self.entries[:keep]
            self._changed()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget the epochs that end before the offset; the one that contains it now begins there."""
        entries = self.entries
        first = len(entries)
        while first and entries[first - 1][1] > start_offset:
            first -= 1
        if first > 1 or (first == 1 and entries[0][1] < start_offset):
            self.entries = [(entries[first - 1][0], start_offset), *entries[first:]]
            self._changed()

    def clear(self) -> None:
        if self.entries:
            self.entries = []
            self._changed()

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest epoch not above the asked one, and where it ends; (-1, -1) if that is not known."""
        if epoch == UNDEFINED_EPOCH:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self.latest:
            return epoch, log_end_offset
        floor_epoch = epoch
        for entry_epoch, start_offset in self.entries:
            if entry_epoch > epoch:
                return floor_epoch, start_offset
            floor_epoch = entry_epoch
        return UNDEFINED_EPOCH, UNDEFINED_OFFSET

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch in which the offset was written, -1 if that is not known."""
        found = UNDEFINED_EPOCH
        for epoch, start_offset in self.entries:
            if start_offset > offset:
                break
            found = epoch
        return found
