"""Where each leader epoch of a partition begins (KIP-101): the basis of truncation after a leader change.

The entries rise in both epoch and start offset. An entry is durable before the record that starts the epoch
can be acknowledged as flushed: `assign` writes the checkpoint at once, and syncs it unless the log is empty
(then the first batch itself tells recovery the epoch).
"""

from __future__ import annotations

from gralha.storage.checkpoints import LEADER_EPOCH_FILE, decode_epochs, encode_epochs
from gralha.storage.disk import Disk

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class LeaderEpochs:
    def __init__(self, disk: Disk, folder: str) -> None:
        self.disk = disk
        self.folder = folder
        self.entries: list[tuple[int, int]] = []
        # The newest epoch, kept beside the entries because every append compares with it.
        self.latest = UNDEFINED_EPOCH
        # Whether memory has entries that the device might not have yet.
        self.unsynced = False

    def load(self) -> None:
        path = self._path()
        data = self.disk.read_file(path)
        self.entries = []
        for epoch, start_offset in decode_epochs(path, data) if data else []:
            self._insert(epoch, start_offset)
        self._update_latest()

    def _path(self) -> str:
        return f"{self.folder}/{LEADER_EPOCH_FILE}"

    def _update_latest(self) -> None:
        self.latest = self.entries[-1][0] if self.entries else UNDEFINED_EPOCH

    def _insert(self, epoch: int, start_offset: int) -> bool:
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"Leader epoch {epoch} from offset {start_offset} cannot be")
        if self.entries and self.entries[-1][0] == epoch and start_offset >= self.entries[-1][1]:
            return False
        while self.entries and (self.entries[-1][0] >= epoch or self.entries[-1][1] >= start_offset):
            self.entries.pop()
        self.entries.append((epoch, start_offset))
        return True

    def assign(self, epoch: int, start_offset: int, sync: bool = True) -> None:
        """Note that the epoch begins at the offset; conflicting later entries go."""
        if self._insert(epoch, start_offset):
            self._update_latest()
            self._write(sync)

    def _write(self, sync: bool) -> None:
        data = encode_epochs(self.entries)
        if sync:
            self.disk.write_file_atomically(self._path(), data)
            self.unsynced = False
        else:
            temporary = self._path() + ".tmp"
            self.disk.write_file(temporary, data)
            self.disk.rename(temporary, self._path())
            self.unsynced = True

    def sync(self) -> None:
        """Make the file durable; the caller syncs the folder."""
        if self.unsynced:
            # In this order, for the event loop may write anew while a thread waits here.
            self.unsynced = False
            self.disk.sync_file(self._path())

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that begin at or after the offset."""
        if not self.entries or self.entries[-1][1] < end_offset:
            return
        while self.entries and self.entries[-1][1] >= end_offset:
            self.entries.pop()
        self._update_latest()
        self._write(sync=False)

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget the epochs that end before the offset; the one that contains it now begins there."""
        keep = len(self.entries)
        while keep and self.entries[keep - 1][1] > start_offset:
            keep -= 1
        if keep == 0 or (keep == 1 and self.entries[0][1] == start_offset):
            return
        self.entries[:keep] = [(self.entries[keep - 1][0], start_offset)]
        self._write(sync=False)

    def clear(self) -> None:
        if self.entries:
            self.entries = []
            self._update_latest()
            self._write(sync=False)

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
