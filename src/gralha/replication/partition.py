"""A partition as this broker has it: its log, what the metadata says of it, and who waits for it.

Everything here is synchronous and runs on the event loop. A partition has a part for each of its two roles,
which lasts for one leader epoch: `Leading` (leading.py) or `Following` (following.py). Requests that wait
subscribe (subscriptions.py): fetches that want more bytes, produce requests with acks=all, coordinators.

Leadership can be lost and regained between two awaits. So whoever awaits must come back with the leader epoch
that it saw: an acknowledgement counts only in the epoch that wrote the record.
"""

from typing import Final

from gralha.metadata.image import NO_LEADER
from gralha.metadata.topic_names import is_internal
from gralha.protocol.batches import NO_LEADER_EPOCH
from gralha.protocol.errors import (
    FencedLeaderEpochError,
    NotLeaderOrFollowerError,
    UnknownLeaderEpochError,
)
from gralha.replication.cluster_view import ALONE, ClusterView
from gralha.replication.counters import TopicCounters
from gralha.replication.following import Following
from gralha.replication.leading import Leading
from gralha.replication.subscriptions import (
    END_MOVED,
    HIGH_WATERMARK_MOVED,
    START_MOVED,
    STATE_CHANGED,
    Subscriber,
    Subscribers,
)
from gralha.storage.config import LogConfig
from gralha.storage.log import Log

NEVER: Final = (1 << 63) - 1  # flush.messages when the operating system decides


class Partition:
    def __init__(
        self,
        topic: str,
        topic_id: bytes,
        index: int,
        log: Log,
        broker_id: int,
        cluster: ClusterView = ALONE,
        counters: TopicCounters | None = None,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.broker_id = broker_id
        self.cluster = cluster
        # Those of the topic: all its partitions on this broker share them.
        self.counters: TopicCounters = TopicCounters() if counters is None else counters
        self.is_internal: bool = is_internal(topic)
        # What the metadata says.
        self.leader_id: int = NO_LEADER
        self.leader_epoch: int = NO_LEADER_EPOCH
        self.partition_epoch: int = NO_LEADER_EPOCH
        self.replicas: list[int] = []
        self.in_sync_replicas: list[int] = []
        # The part of this broker. Both are None while the partition has no leader.
        self.leading: Leading | None = None
        self.following: Following | None = None
        self.untold_bytes: int = 0  # appended, but above the high watermark
        # Whether its bytes count for, and wait for, the throttle of replication; see quota.py.
        self.is_leader_throttled: bool = False
        self.is_follower_throttled: bool = False
        self._end_subscribers = Subscribers()
        self._high_watermark_subscribers = Subscribers()
        self._start_subscribers = Subscribers()
        log.on_flushed = self.flushed

    # Leadership

    def is_leader(self) -> bool:
        return self.leading is not None

    def led(self) -> Leading:
        """The leader's part; NOT_LEADER_OR_FOLLOWER if this broker does not lead."""
        leading = self.leading
        if leading is None:
            raise NotLeaderOrFollowerError()
        return leading

    def change_leader(
        self,
        leader_id: int,
        leader_epoch: int,
        replicas: list[int],
        in_sync_replicas: list[int],
        partition_epoch: int = NO_LEADER_EPOCH,
    ) -> None:
        """Follow the metadata. A new leader starts its epoch at the end of its log."""
        if partition_epoch != NO_LEADER_EPOCH and partition_epoch < self.partition_epoch:
            return  # the controller's answer to a proposal was faster than the metadata
        epoch_is_new = leader_epoch > self.leader_epoch
        is_decided = epoch_is_new or partition_epoch != self.partition_epoch
        if partition_epoch != NO_LEADER_EPOCH:
            self.partition_epoch = partition_epoch
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replicas = replicas
        led_before = self.leading
        if led_before is not None and leader_id == self.broker_id:
            self.counters.isr_changed(self.in_sync_replicas, in_sync_replicas)
        self.in_sync_replicas = in_sync_replicas
        if epoch_is_new:
            # Also if this broker led before: another may have led in between, unseen, and had followers.
            self._begin_epoch()
        leading = self.leading
        if leading is not None:
            leading.metadata_changed(is_decided)
        self._flush_what_is_owed()
        if epoch_is_new:
            if led_before is not None:
                led_before.refuse_queued(NotLeaderOrFollowerError())
            self._tell_of_state()

    def _begin_epoch(self) -> None:
        self.untold_bytes = 0
        self.leading = None
        self.following = None
        if self.leader_id == self.broker_id:
            assert not self.log.is_being_truncated, "a log that is being truncated cannot be led"
            self.leading = Leading(self)
        elif self.leader_id != NO_LEADER:
            self.following = Following(self)

    def configure(self, config: LogConfig) -> None:
        """The topic's settings have changed."""
        self.log.config = config
        # With flush.messages a follower fetches on only after a flush, which nobody else would ask for.
        self._flush_what_is_owed()
        self.flushed()

    def _flush_what_is_owed(self) -> None:
        """With flush.messages, what was acknowledged before a crash waits for a flush to be seen again."""
        log = self.log
        if self.acknowledged_offset() < log.log_end_offset and log.request_flush is not None:
            log.request_flush(log, log.log_end_offset)

    def flushed(self) -> None:
        """More of the log is on the disk: somebody may have waited for that."""
        if self.leading is not None:
            self.leading.advance_high_watermark()
        elif self.following is not None:
            self.following.flushed()

    def check_leader(self, leader_epoch: int) -> None:
        """Refuse a client that knows an older, or a newer, leader than this broker (KIP-320)."""
        if self.leading is None:
            raise NotLeaderOrFollowerError()
        self.check_epoch(leader_epoch)

    def check_epoch(self, leader_epoch: int) -> None:
        if leader_epoch != NO_LEADER_EPOCH and leader_epoch != self.leader_epoch:
            if leader_epoch < self.leader_epoch:
                raise FencedLeaderEpochError()
            raise UnknownLeaderEpochError()

    # Offsets

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

    def set_high_watermark(self, offset: int) -> None:
        """Consumers may read further. Only the two roles call this."""
        self.log.high_watermark = offset
        new_bytes = self.untold_bytes
        self.untold_bytes = 0
        self._high_watermark_subscribers.tell(self, HIGH_WATERMARK_MOVED, new_bytes)

    def end_offset(self, read_committed: bool) -> int:
        """The first offset that a consumer may not read yet."""
        return self.log.last_stable_offset() if read_committed else self.log.high_watermark

    def is_behind(self) -> bool:
        """Whether this broker leads, and does not know yet how much its predecessor had acknowledged."""
        leading = self.leading
        return leading is not None and leading.is_behind()

    # Subscriptions

    def subscribe(self, subscriber: Subscriber, event: int) -> None:
        """Tell somebody of END_MOVED, HIGH_WATERMARK_MOVED or START_MOVED, and of a new state."""
        self._subscribers_of(event).add(subscriber)

    def unsubscribe(self, subscriber: Subscriber, event: int) -> None:
        self._subscribers_of(event).remove(subscriber)

    def _subscribers_of(self, event: int) -> Subscribers:
        if event == HIGH_WATERMARK_MOVED:
            return self._high_watermark_subscribers
        return self._end_subscribers if event == END_MOVED else self._start_subscribers

    def tell_of_end(self, new_bytes: int) -> None:
        """The log has grown."""
        self._end_subscribers.tell(self, END_MOVED, new_bytes)

    def tell_of_start(self) -> None:
        """A replica may have forgotten the start of its log."""
        self._start_subscribers.tell(self, START_MOVED, 0)

    def tell_followers_of_state(self) -> None:
        """The start of the leader's log has moved: followers that wait have to hear that at once."""
        self._end_subscribers.tell(self, STATE_CHANGED, 0)

    def _tell_of_state(self) -> None:
        self._high_watermark_subscribers.tell(self, STATE_CHANGED, 0)
        self._end_subscribers.tell(self, STATE_CHANGED, 0)
        self._start_subscribers.tell(self, STATE_CHANGED, 0)
