"""Offsets and epochs of a log: all that elections and replication need to know about it.

The state machine of the quorum keeps this equal to the log on disk, and never sees a record.
"""

from collections.abc import Iterable
from typing import NamedTuple

from gralha.raft.snapshots import SnapshotId


class EpochEnd(NamedTuple):
    """An epoch, and the offset at which its records end in a log."""

    epoch: int
    end_offset: int


_EMPTY = SnapshotId(0, 0)


class LogShape:
    """Offsets and epochs of one log.

    `start` is the snapshot that the log begins after. `newest` is the snapshot for replicas that need one.
    """

    def __init__(
        self,
        end_offset: int = 0,
        epochs: Iterable[tuple[int, int]] = (),
        start: SnapshotId = _EMPTY,
        newest: SnapshotId = _EMPTY,
    ) -> None:
        self.end_offset = end_offset
        self.start = start
        self.newest = newest
        # Epochs and their first offsets, both in ascending order.
        self._epochs = list(epochs)

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record, or of the snapshot if no record follows it."""
        return self._epochs[-1][0] if self._epochs else max(self.start.epoch, self.newest.epoch)

    def append(self, epoch: int, base_offset: int, end_offset: int) -> None:
        """Adds records at the end."""
        assert base_offset == self.end_offset < end_offset, "records must follow each other"
        if not self._epochs or self._epochs[-1][0] != epoch:
            self._epochs.append((epoch, base_offset))
        self.end_offset = end_offset

    def truncate_to(self, end_offset: int) -> None:
        """Removes everything from the offset on."""
        self.end_offset = min(self.end_offset, end_offset)
        self._epochs = [entry for entry in self._epochs if entry[1] < end_offset]

    def reset(self, snapshot: SnapshotId) -> None:
        """A snapshot replaces the whole log."""
        self.end_offset = snapshot.end_offset
        self.start = self.newest = snapshot
        self._epochs = []

    def forget_before(self, start: SnapshotId, newest: SnapshotId) -> None:
        """The log begins after the snapshot `start` now, and there is a snapshot `newest`."""
        self.start, self.newest = start, newest
        before = [entry for entry in self._epochs if entry[1] <= start.end_offset]
        after = [entry for entry in self._epochs if entry[1] > start.end_offset]
        if before and start.end_offset < (after[0][1] if after else self.end_offset):
            after.insert(0, (before[-1][0], start.end_offset))
        self._epochs = after

    def end_of(self, epoch: int) -> EpochEnd:
        """The largest epoch in this log that is not above the given one, and its end."""
        found = EpochEnd(self.start.epoch, self.start.end_offset)
        for number, (known, _) in enumerate(self._epochs):
            if known <= epoch:
                is_last = number + 1 == len(self._epochs)
                found = EpochEnd(known, self.end_offset if is_last else self._epochs[number + 1][1])
        return found

    def needs_snapshot(self, offset: int, last_epoch: int) -> bool:
        """Returns True if a replica whose log ends there must begin with a snapshot."""
        if offset == 0 and self.newest.end_offset > 0:
            return True
        if self.start.end_offset == 0:
            return False
        return (
            offset < self.start.end_offset
            or (offset == self.start.end_offset and last_epoch != self.start.epoch)
            or last_epoch < self.start.epoch
        )

    def divergence(self, offset: int, last_epoch: int) -> EpochEnd | None:
        """The end to which a replica must truncate its log, or None if its log is a beginning of this one."""
        if offset == 0:
            return None
        end = self.end_of(last_epoch)
        return end if end.epoch != last_epoch or end.end_offset < offset else None

    def truncation_offset(self, diverging: EpochEnd) -> int:
        """The offset to truncate this log to, if an epoch ends there in the leader's log (KIP-101)."""
        own = self.end_of(diverging.epoch)
        if own.epoch == diverging.epoch:
            return min(own.end_offset, diverging.end_offset)
        return own.end_offset
