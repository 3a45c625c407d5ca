"""The metadata log: Kafka's partition `__cluster_metadata-0`, and its snapshots.

A snapshot replaces the beginning of the log. When a new snapshot is written, old snapshots beyond the limits
of `metadata.max.retention.*` are removed, and so is the part of the log that the oldest remaining snapshot
contains.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from gralha.protocol.control_records import (
    KRAFT_VERSION,
    KRAFT_VOTERS,
    control_type,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, batches, decode_records, encode_batch
from gralha.raft.events import AppendLeaderChange, AppendVoters
from gralha.raft.log_shape import LogShape
from gralha.raft.quorum_records import (
    TOPIC,
    TOPIC_ID,
    batch_shapes,
    decode_voters,
    leader_change_batch,
    voters_batch,
)
from gralha.raft.snapshots import (
    PART_SUFFIX,
    SUFFIX,
    Snapshot,
    SnapshotId,
    read_snapshot,
    write_snapshot,
)
from gralha.raft.voters import VoterHistory, VoterSet
from gralha.storage.checkpoints import PARTITION_METADATA_FILE, encode_partition_metadata
from gralha.storage.config import LogConfig
from gralha.storage.disk import Disk, File
from gralha.storage.log import RAFT_LEADER, Log
from gralha.storage.opening import open_log

_INSTALLING_FILE: Final = "installing-snapshot"
_READ_BYTES: Final = 4 * 1024 * 1024


class MetadataLogConfig(NamedTuple):
    """Kafka's `metadata.log.*` and `metadata.max.retention.*`, with its defaults."""

    segment_bytes: int = 1024 * 1024 * 1024
    segment_ms: int = 7 * 24 * 3_600_000
    max_record_bytes_between_snapshots: int = 20 * 1024 * 1024
    max_snapshot_interval_ms: int = 3_600_000
    max_retention_bytes: int = 100 * 1024 * 1024
    max_retention_ms: int = 7 * 24 * 3_600_000


class LogBatch(NamedTuple):
    """A batch in the log. A batch of control records has no values, but `controls`, by type."""

    base_offset: int
    next_offset: int
    epoch: int
    timestamp_ms: int
    size_bytes: int
    values: list[bytes]
    controls: dict[int, bytes]


class StoredSnapshot(NamedTuple):
    """A snapshot file, its size, and the time of the last record of the log in it."""

    id: SnapshotId
    size_bytes: int
    timestamp_ms: int


class MetadataLog:
    """The log and its snapshots. Call the methods that say "may wait" in a thread."""

    def __init__(self, disk: Disk, folder: str, config: MetadataLogConfig, clock: Callable[[], int]) -> None:
        self.folder = f"{folder}/{TOPIC}-0"
        self.config = config
        # Oldest first.
        self.snapshots: list[StoredSnapshot] = []
        # The committed control records of a dynamic quorum (KIP-853), by type, for the next snapshot.
        self.quorum_records: dict[int, bytes] = {}
        self._disk = disk
        self._clock = clock
        self._log: Log | None = None

    @property
    def log(self) -> Log:
        """The log underneath."""
        assert self._log is not None, "the metadata log is not open"
        return self._log

    @property
    def is_open(self) -> bool:
        """True if `open` has succeeded."""
        return self._log is not None

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return int(self.log.log_end_offset)

    def open(self) -> Snapshot | None:
        """Opens and checks the log, and returns the newest snapshot. May wait."""
        self._disk.make_folder(self.folder)
        # The folder has the votes of this node, so the folder itself must survive a crash.
        self._disk.sync_folder(os.path.dirname(self.folder))
        ids: list[SnapshotId] = []
        for name in self._disk.list_folder(self.folder):
            snapshot_id = SnapshotId.from_file_name(name)
            if snapshot_id is not None:
                ids.append(snapshot_id)
            elif name.endswith(PART_SUFFIX):
                self._disk.remove(f"{self.folder}/{name}")
        newest: Snapshot | None = None
        for snapshot_id in sorted(ids):
            path = f"{self.folder}/{snapshot_id.file_name}"
            newest = read_snapshot(self._disk, path)
            size_bytes = self._disk.open(path).size()
            self.snapshots.append(
                StoredSnapshot(snapshot_id, size_bytes, newest.last_contained_log_timestamp)
            )
        if newest is not None:
            self.quorum_records.update(newest.quorum_records)
        self._remove_torn_topic_id()
        self._log = open_log(
            self._disk,
            self.folder,
            TOPIC,
            0,
            self._log_config(),
            now_ms=self._clock(),
            topic_id=TOPIC_ID,
            log_start_offset=min(ids).end_offset if ids else 0,
            # Records in a snapshot were committed, so they were on the device. Missing ones mean damage.
            recovery_point=max(ids).end_offset if ids and not self._is_installing(ids) else 0,
        )
        if ids and (self._is_installing(ids) or self._ends_before(max(ids))):
            # There was no log, or the node crashed before the leader's snapshot replaced it.
            self._log.truncate_fully_and_start_at(max(ids).end_offset)
        self._disk.remove(self._marker_path())
        return newest

    def _ends_before(self, newest: SnapshotId) -> bool:
        return self.end_offset < newest.end_offset

    def _is_installing(self, ids: list[SnapshotId]) -> bool:
        """Returns True if the node crashed while the newest snapshot, from the leader, replaced the log."""
        return self._disk.read_file(self._marker_path()) == max(ids).file_name.encode()

    def _remove_torn_topic_id(self) -> None:
        """Removes the file if a crash before its first sync has damaged it. It can be written again."""
        path = f"{self.folder}/{PARTITION_METADATA_FILE}"
        if self._disk.read_file(path) != encode_partition_metadata(TOPIC_ID):
            self._disk.remove(path)

    def _log_config(self) -> LogConfig:
        return LogConfig(
            {
                "segment.bytes": str(self.config.segment_bytes),
                "segment.ms": str(self.config.segment_ms),
                "retention.bytes": "-1",
                "retention.ms": "-1",
                # A decision of the controller is one batch of any size: all of it is committed, or nothing.
                "max.message.bytes": str(2**31 - 1),
            }
        )

    def append(self, values: Iterable[bytes], epoch: int) -> tuple[int, int]:
        """Appends records as one batch, all or none. Returns the first and the last offset."""
        now_ms = self._clock()
        return self._append(encode_batch([Record(None, value, now_ms) for value in values]), epoch, now_ms)

    def append_leader_change(self, change: AppendLeaderChange) -> tuple[int, int]:
        """Begins an epoch. Returns the first and the last offset."""
        now_ms = self._clock()
        return self._append(leader_change_batch(change, now_ms), change.epoch, now_ms)

    def append_voters(self, change: AppendVoters) -> tuple[int, int]:
        """Appends new voters. Returns the first and the last offset."""
        now_ms = self._clock()
        return self._append(voters_batch(change, now_ms), change.epoch, now_ms)

    def append_fetched(self, records: RecordBytes) -> None:
        """Appends whole batches as the leader has sent them."""
        self.log.append_as_follower(records, self._clock())

    def truncate_to(self, end_offset: int) -> None:
        """Removes everything from the offset on. May wait."""
        self.log.truncate_to(end_offset)
        self.remove_old_segments()
        assert self.end_offset == end_offset, "leaders end their epochs with whole batches"

    def _append(self, batch: bytes, epoch: int, now_ms: int) -> tuple[int, int]:
        result = self.log.append_as_leader(
            RecordBytes(batch, 0, len(batch)), epoch, now_ms, origin=RAFT_LEADER
        )
        return int(result.first_offset), int(result.last_offset)

    def read(self, offset: int, end_offset: int) -> list[LogBatch]:
        """Reads some whole batches from the offset on, below the end offset. May wait."""
        found = self.log.read(offset, _READ_BYTES, end_offset, True, True)
        return list(_log_batches(found))

    def note_controls(self, controls: Mapping[int, bytes]) -> None:
        """Keeps committed control records for the next snapshot."""
        for kind in (KRAFT_VERSION, KRAFT_VOTERS):
            if kind in controls:
                self.quorum_records[kind] = controls[kind]

    def shape(self) -> LogShape:
        """The offsets and epochs, for the state machine."""
        nothing = SnapshotId(0, 0)
        oldest = self.snapshots[0].id if self.snapshots else nothing
        newest = self.snapshots[-1].id if self.snapshots else nothing
        epochs = [entry for entry in self.log.epochs.entries if entry[1] < self.end_offset]
        return LogShape(self.end_offset, epochs, oldest, newest)

    def voter_history(self, static: VoterSet) -> VoterHistory:
        """All voters in the newest snapshot and in the log after it. May wait."""
        offset = self.snapshots[-1].id.end_offset if self.snapshots else 0
        value = self.quorum_records.get(KRAFT_VOTERS)
        history = VoterHistory(static, [] if value is None else [(offset - 1, decode_voters(value))])
        while offset < self.end_offset:
            found = self.log.read(offset, _READ_BYTES, self.end_offset, True, True)
            for batch in batch_shapes(found, check=False):
                if batch.voters is not None:
                    history.append(batch.base_offset, batch.voters)
                offset = batch.next_offset
        return history

    def read_raw(self, offset: int, max_bytes: int, *, blocking: bool) -> RecordBytes:
        """Batches for a follower, also uncommitted ones. May raise WouldBlock if not `blocking`."""
        return self.log.read(offset, max_bytes, self.log.log_end_offset, True, blocking)

    def flush(self, end_offset: int) -> None:
        """Syncs everything below the offset. May wait."""
        self.log.flush(end_offset)

    def write_snapshot(
        self,
        snapshot_id: SnapshotId,
        values: Iterable[bytes],
        timestamp_ms: int,
        quorum_records: Mapping[int, bytes],
    ) -> StoredSnapshot:
        """Writes a snapshot file, for `add_snapshot`. May wait."""
        size_bytes = write_snapshot(
            self._disk,
            self.folder,
            snapshot_id,
            values,
            self._clock(),
            timestamp_ms,
            quorum_records,
        )
        return StoredSnapshot(snapshot_id, size_bytes, timestamp_ms)

    def add_snapshot(self, snapshot: StoredSnapshot) -> list[StoredSnapshot]:
        """Adds a new snapshot. Returns the old ones that are not needed any more, for `remove_snapshots`.

        The log continues in a new segment, so that the old segment can be removed as a whole. The snapshots
        are removed first, and then the log before the oldest remaining one, by `forget_old_log`. After a
        crash a log without its beginning must not find the old snapshot.
        """
        self.snapshots.append(snapshot)
        self.log.roll(self._clock())
        superfluous = []
        while len(self.snapshots) > 1 and self._is_superfluous(self.snapshots[0]):
            superfluous.append(self.snapshots.pop(0))
        return superfluous

    def remove_snapshots(self, snapshots: Iterable[StoredSnapshot]) -> None:
        """Removes the files of snapshots durably. May wait."""
        for snapshot in snapshots:
            self._disk.remove(f"{self.folder}/{snapshot.id.file_name}")
        self._disk.sync_folder(self.folder)

    def forget_old_log(self) -> bool:
        """Removes the log below the end of the oldest snapshot. Returns False if a flush prevents it now."""
        start_offset = self.snapshots[0].id.end_offset
        if start_offset > self.log.log_start_offset:
            self.log.increment_log_start_offset(start_offset)
        return self.log.apply_retention(self._clock()) >= 0

    def _is_superfluous(self, oldest: StoredSnapshot) -> bool:
        total_bytes = self.log.size_bytes() + sum(snapshot.size_bytes for snapshot in self.snapshots)
        age_ms = self._clock() - oldest.timestamp_ms
        return total_bytes > self.config.max_retention_bytes or age_ms > self.config.max_retention_ms

    # Snapshots for followers, and from the leader

    def read_snapshot_part(self, snapshot_id: SnapshotId, position: int, max_bytes: int) -> tuple[int, bytes]:
        """The size of a snapshot file, and a part of it. Raises DiskError if there is no file. May wait."""
        file = self._disk.open(f"{self.folder}/{snapshot_id.file_name}")
        try:
            return file.size(), file.read(position, max_bytes)
        finally:
            file.close()

    def begin_fetched_snapshot(self, snapshot_id: SnapshotId) -> File:
        """Creates the file for a snapshot from the leader. May wait."""
        self._disk.remove(self._part_path(snapshot_id))
        return self._disk.open(self._part_path(snapshot_id), create=True)

    def read_fetched_snapshot(self, snapshot_id: SnapshotId) -> Snapshot:
        """Reads a snapshot that has come completely. Raises SnapshotError if it is damaged. May wait."""
        return read_snapshot(self._disk, self._part_path(snapshot_id))

    def install_snapshot(self, snapshot_id: SnapshotId) -> Snapshot:
        """Replaces the log and all older snapshots by a fetched one. May wait."""
        path = f"{self.folder}/{snapshot_id.file_name}"
        # While this file exists, a log that ends before its snapshot is not taken for damaged.
        self._disk.write_file_atomically(self._marker_path(), snapshot_id.file_name.encode())
        self._disk.rename(self._part_path(snapshot_id), path)
        self._disk.sync_folder(self.folder)
        snapshot = read_snapshot(self._disk, path)
        self.remove_snapshots(one for one in self.snapshots if one.id != snapshot_id)
        self.log.truncate_fully_and_start_at(snapshot_id.end_offset)
        self.snapshots = []
        size_bytes = self._disk.open(path).size()
        self.snapshots.append(StoredSnapshot(snapshot_id, size_bytes, snapshot.last_contained_log_timestamp))
        self.quorum_records = dict(snapshot.quorum_records)
        self._disk.remove(self._marker_path())
        self.remove_old_segments()
        return snapshot

    def _marker_path(self) -> str:
        return f"{self.folder}/{_INSTALLING_FILE}"

    def _part_path(self, snapshot_id: SnapshotId) -> str:
        return f"{self.folder}/{snapshot_id.file_name.removesuffix(SUFFIX)}{PART_SUFFIX}"

    def remove_old_segments(self) -> None:
        """Removes the files of segments that are not needed any more. May wait."""
        doomed, self.log.doomed_files = self.log.doomed_files, []
        for path in doomed:
            self._disk.remove(path)

    def close(self) -> None:
        """Syncs and closes the log. May wait."""
        self.log.close()


def _log_batches(found: RecordBytes) -> Iterator[LogBatch]:
    for position, header in batches(found.data, found.start, found.end):
        values: list[bytes] = []
        controls: dict[int, bytes] = {}
        records = decode_records(found.data, position, header)
        if header.is_control:
            controls = {control_type(record.key): record.value or b"" for record in records}
        else:
            values = [record.value for record in records if record.value is not None]
        yield LogBatch(
            int(header.base_offset),
            int(header.next_offset),
            int(header.partition_leader_epoch),
            int(header.max_timestamp),
            int(header.size_bytes),
            values,
            controls,
        )
