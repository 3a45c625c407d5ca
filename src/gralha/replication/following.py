"""A partition that follows a leader on another broker: it writes what the leader sends.

The follower takes over the leader's high watermark as far as its own log goes. When the leader says where the
two logs part, the follower truncates its log there (KIP-595), and never at the high watermark (KIP-101).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from gralha.protocol.batches import HEADER_SIZE, NO_LEADER_EPOCH, read_header
from gralha.protocol.primitives import RecordBytes

if TYPE_CHECKING:
    from gralha.replication.partition import Partition


class Following:
    """The follower's part of a partition, in one leader epoch."""

    def __init__(self, partition: "Partition") -> None:
        self.partition = partition
        # Called when this replica vouches for more of its log than before, because it was flushed.
        self.on_vouching: Callable[[], None] | None = None
        # What the leader said last, and whether this replica could not append it.
        self.leader_high_watermark: int = 0
        self.has_failed: bool = False

    def append(
        self, records: RecordBytes | None, high_watermark: int, log_start_offset: int, now_ms: int
    ) -> None:
        """Write what the leader sent, and learn what it knows. The caller has checked whose answer it is."""
        partition = self.partition
        log = partition.log
        self.leader_high_watermark = high_watermark
        if records is not None and records.end > records.start:
            log.append_as_follower(records, now_ms, partition.leader_epoch)
            partition.untold_bytes += records.end - records.start
            partition.counters.replication_bytes_in += records.end - records.start
        self.has_failed = False
        offset = min(high_watermark, log.log_end_offset)
        if offset > log.high_watermark:
            partition.set_high_watermark(offset)
        if log_start_offset > log.log_start_offset:
            log.increment_log_start_offset(min(log_start_offset, log.high_watermark))

    def lag(self) -> int:
        """How many offsets below the leader's high watermark this replica lacks."""
        return max(self.leader_high_watermark - self.partition.log.log_end_offset, 0)

    def offset_to_begin_at(self, records: RecordBytes | None) -> int:
        """The offset of the first batch, if an empty log has to begin there. Otherwise -1.

        DeleteRecords may move the start of the leader's log into a batch. An empty log begins at that start,
        and cannot take a batch that begins before it (KAFKA-6975).
        """
        log = self.partition.log
        end_offset = log.log_end_offset
        if records is None or log.log_start_offset < end_offset or records.end - records.start < HEADER_SIZE:
            return -1
        header = read_header(records.data, records.start)
        return header.base_offset if header.base_offset < end_offset <= header.last_offset else -1

    def truncation_offset(self, epoch: int, end_offset: int) -> int:
        """Where to truncate this log, after the leader said that its epoch ends at that offset (KIP-279).

        If this log does not have the epoch, it keeps everything before it, and the next fetch asks again.
        """
        log = self.partition.log
        own_epoch, own_end_offset = log.end_offset_for_epoch(epoch)
        if own_epoch == NO_LEADER_EPOCH:
            return min(end_offset, log.log_end_offset)
        if own_epoch != epoch:
            return min(own_end_offset, log.log_end_offset)
        return min(own_end_offset, end_offset, log.log_end_offset)

    def flushed(self) -> None:
        """More of the log is on the disk."""
        if self.on_vouching is not None:
            self.on_vouching()
