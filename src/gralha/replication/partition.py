"""A partition as this broker leads it: appends, reads, the high watermark and who waits for it.

Everything here is synchronous and runs on the event loop. An append writes to the log, moves the
high watermark as far as the in-sync replicas allow and tells the waiters (fetches that want more
bytes, produces that want acks=all); the waiters decide for themselves when they are done.

Whoever awaits between two calls must come back with the leader epoch it saw: leadership can be lost
and regained in between, and an acknowledgement counts only in the epoch that wrote it.
"""

from typing import Final

from mypy_extensions import mypyc_attr

from gralha.protocol.errors import (
    FencedLeaderEpochError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    UnknownLeaderEpochError,
)
from gralha.protocol.primitives import RecordBytes
from gralha.storage.log import COORDINATOR, AppendResult, Log

NO_EPOCH: Final = -1
NO_LEADER: Final = -1
ACKS_ALL: Final = -1
HIGH_WATERMARK: Final = -1  # DeleteRecords: "everything that consumers may read"
INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
NEVER: Final = (1 << 63) - 1  # flush.messages when the operating system decides


@mypyc_attr(allow_interpreted_subclasses=True)
class Waiter:
    """Somebody who wants to know that a partition's high watermark has moved or its leader has changed."""

    def partition_changed(self, partition: "Partition", new_bytes: int) -> bool:
        """Answer True when there is nothing left to wait for here."""
        raise NotImplementedError


class Partition:
    def __init__(self, topic: str, topic_id: bytes, index: int, log: Log, broker_id: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.broker_id = broker_id
        self.is_internal: bool = topic in INTERNAL_TOPICS
        self.leader_id: int = NO_LEADER
        self.leader_epoch: int = NO_EPOCH
        self.replicas: list[int] = []
        self.in_sync_replicas: list[int] = []
        self.waiters: list[Waiter] = []
        self.untold_bytes: int = 0  # appended, but above the high watermark
        log.on_flushed = self.advance_high_watermark

    # Leadership

    def is_leader(self) -> bool:
        return self.leader_id == self.broker_id

    def change_leader(
        self, leader_id: int, leader_epoch: int, replicas: list[int], in_sync_replicas: list[int]
    ) -> None:
        """Follow the metadata. A new leader starts its epoch at the end of its log."""
        epoch_is_new = leader_epoch > self.leader_epoch
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replicas = replicas
        self.in_sync_replicas = in_sync_replicas
        if epoch_is_new and self.is_leader():
            self.log.assign_epoch_start(leader_epoch, self.log.log_end_offset)
        self.advance_high_watermark()
        self._flush_what_is_owed()
        if epoch_is_new:
            self._tell_waiters(0)

    def _flush_what_is_owed(self) -> None:
        """With flush.messages, what was acknowledged before a crash waits for a flush to be seen again."""
        log = self.log
        owed = self.is_leader() and self.acknowledged_offset() < log.log_end_offset
        if owed and log.request_flush is not None:
            log.request_flush(log, log.log_end_offset)

    def check_leader(self, leader_epoch: int) -> None:
        """Refuse a client whose idea of the leader is older, or newer, than ours (KIP-320)."""
        if not self.is_leader():
            raise NotLeaderOrFollowerError()
        if leader_epoch != NO_EPOCH and leader_epoch != self.leader_epoch:
            if leader_epoch < self.leader_epoch:
                raise FencedLeaderEpochError()
            raise UnknownLeaderEpochError()

    # Writing

    def append(self, records: RecordBytes, acks: int, now_ms: int) -> AppendResult:
        if self.leader_id != self.broker_id:
            raise NotLeaderOrFollowerError()
        if acks == ACKS_ALL:
            self._check_enough_replicas()
        log = self.log
        end_before = log.log_end_offset
        result = log.append_as_leader(records, self.leader_epoch, now_ms)
        if log.log_end_offset != end_before:
            self.untold_bytes += records.end - records.start
            self.advance_high_watermark()
        return result

    def append_own(self, records: RecordBytes, now_ms: int) -> AppendResult:
        """Append what a coordinator of this broker has decided, for all in-sync replicas to have."""
        if self.leader_id != self.broker_id:
            raise NotLeaderOrFollowerError()
        self._check_enough_replicas()
        result = self.log.append_as_leader(records, self.leader_epoch, now_ms, origin=COORDINATOR)
        self.untold_bytes += records.end - records.start
        self.advance_high_watermark()
        return result

    def _check_enough_replicas(self) -> None:
        wanted = min(self.log.config.min_in_sync_replicas, len(self.replicas))
        if len(self.in_sync_replicas) < wanted:
            raise NotEnoughReplicasError(
                f"{self.topic}-{self.index} has {len(self.in_sync_replicas)} in-sync replicas, "
                f"min.insync.replicas asks for {wanted}"
            )

    def acknowledged_offset(self) -> int:
        """How far this replica vouches for its log.

        It may lose what it has not flushed, and flush.messages says how many records that may be: with the
        default any number, with 1 none, so that every acknowledgement waits for the disk.
        """
        log = self.log
        unflushed_max = log.config.flush_messages
        if unflushed_max == NEVER:
            return log.log_end_offset
        return min(log.log_end_offset, log.flushed_offset + unflushed_max - 1)

    def advance_high_watermark(self) -> None:
        """With one in-sync replica the leader alone decides; the high watermark never goes back."""
        if self.leader_id != self.broker_id:
            return
        log = self.log
        offset = self.acknowledged_offset()
        if offset > log.high_watermark:
            log.high_watermark = offset
            new_bytes = self.untold_bytes
            self.untold_bytes = 0
            if self.waiters:
                self._tell_waiters(new_bytes)

    # Reading

    def end_offset(self, read_committed: bool) -> int:
        """The first offset that a consumer may not read yet."""
        return self.log.last_stable_offset() if read_committed else self.log.high_watermark

    def delete_records(self, before_offset: int) -> int:
        """Move the log's start; answers the new low watermark."""
        log = self.log
        if not log.config.delete:
            raise PolicyViolationError(f"cleanup.policy of {self.topic} does not allow deleting records")
        if before_offset == HIGH_WATERMARK:
            before_offset = log.high_watermark
        if before_offset < 0 or before_offset > log.high_watermark:
            raise OffsetOutOfRangeError()
        if before_offset > log.log_start_offset:
            log.increment_log_start_offset(before_offset)
        return log.log_start_offset

    # Waiting

    def add_waiter(self, waiter: Waiter) -> None:
        self.waiters.append(waiter)

    def remove_waiter(self, waiter: Waiter) -> None:
        if waiter in self.waiters:
            self.waiters.remove(waiter)

    def _tell_waiters(self, new_bytes: int) -> None:
        waiters = self.waiters
        self.waiters = []
        for waiter in waiters:
            if not waiter.partition_changed(self, new_bytes):
                self.waiters.append(waiter)
