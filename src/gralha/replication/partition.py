"""A partition as this broker has it, leading or following: its log, the high watermark and who waits for it.

Everything here is synchronous and runs on the event loop. An append writes to the log, moves the
high watermark as far as the in-sync replicas allow and tells the waiters (fetches that want more
bytes, produces that want acks=all); the waiters decide for themselves when they are done.

The leader counts its followers' fetches. The high watermark is the least offset that all in-sync replicas
have reached; it never goes back, and it moves only while there are min.insync.replicas of them, so that every
one who left them last has all that was acknowledged (KIP-966). A follower writes what its leader sends, and
takes over the high watermark as far as its own log goes.

Whoever awaits between two calls must come back with the leader epoch it saw: leadership can be lost
and regained in between, and an acknowledgement counts only in the epoch that wrote it.
"""

from collections.abc import Callable
from typing import Final

from mypy_extensions import mypyc_attr

from gralha.protocol.errors import (
    FencedLeaderEpochError,
    KafkaStorageError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    UnknownLeaderEpochError,
)
from gralha.protocol.primitives import RecordBytes
from gralha.replication.followers import (
    ALONE,
    LONG_AGO_MS,
    Cluster,
    FetchTimes,
    Follower,
    IsrProposal,
)
from gralha.storage.disk import DiskError
from gralha.storage.log import COORDINATOR, AppendResult, Log

NO_EPOCH: Final = -1
NO_LEADER: Final = -1
ACKS_ALL: Final = -1
HIGH_WATERMARK: Final = -1  # DeleteRecords: "everything that consumers may read"
INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
NEVER: Final = (1 << 63) - 1  # flush.messages when the operating system decides


@mypyc_attr(allow_interpreted_subclasses=True)
class Waiter:
    """Somebody who wants to know that something of a partition has moved or its leader has changed."""

    def partition_changed(self, partition: "Partition", new_bytes: int) -> bool:
        """Answer True when there is nothing left to wait for here."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class Watch:
    """A follower's fetch session looks at a partition for as long as it has it, and is told of everything."""

    def end_moved(self, new_bytes: int) -> None:
        """The log has grown."""
        raise NotImplementedError

    def high_watermark_moved(self) -> None:
        raise NotImplementedError

    def state_changed(self) -> None:
        """The leader, its epoch or the log's start is another: who fetches has to hear that at once."""
        raise NotImplementedError


class Partition:
    def __init__(
        self, topic: str, topic_id: bytes, index: int, log: Log, broker_id: int, cluster: Cluster = ALONE
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.broker_id = broker_id
        self.cluster = cluster
        self.is_internal: bool = topic in INTERNAL_TOPICS
        self.leader_id: int = NO_LEADER
        self.leader_epoch: int = NO_EPOCH
        self.partition_epoch: int = NO_EPOCH
        self.replicas: list[int] = []
        self.in_sync_replicas: list[int] = []
        # Where this leader's epoch begins. What lies before may be more than the high watermark says.
        self.epoch_start_offset: int = 0
        # The other replicas, by broker id; only the leader has them.
        self.followers: dict[int, Follower] = {}
        # What the controller was asked for and has not decided, or nobody knows whether it has.
        self.proposal: IsrProposal | None = None
        # The in-sync replicas with those proposed: they all count for the high watermark.
        self.counting: list[int] = []
        # Who waits for the high watermark, the end of the log, followers' starts; all, for the leader too.
        self.waiters: list[Waiter] = []
        self.end_waiters: list[Waiter] = []
        self.start_waiters: list[Waiter] = []
        self.watches: list[Watch] = []
        self.untold_bytes: int = 0  # appended, but above the high watermark
        # Whether its bytes count for, and wait for, the throttle of replication; see quota.py.
        self.is_leader_throttled: bool = False
        self.is_follower_throttled: bool = False
        # Called when a follower vouches for more of its log than before, because it was flushed.
        self.on_vouching: Callable[[], None] | None = None
        log.on_flushed = self.flushed

    # Leadership

    def is_leader(self) -> bool:
        return self.leader_id == self.broker_id

    def change_leader(
        self,
        leader_id: int,
        leader_epoch: int,
        replicas: list[int],
        in_sync_replicas: list[int],
        partition_epoch: int = NO_EPOCH,
    ) -> None:
        """Follow the metadata. A new leader starts its epoch at the end of its log."""
        if partition_epoch != NO_EPOCH and partition_epoch < self.partition_epoch:
            return  # the controller's answer to a proposal was faster than the metadata
        epoch_is_new = leader_epoch > self.leader_epoch
        if epoch_is_new or partition_epoch != self.partition_epoch:
            # Decided, one way or the other: what was proposed on an older partition epoch cannot come true.
            self.proposal = None
        if partition_epoch != NO_EPOCH:
            self.partition_epoch = partition_epoch
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replicas = replicas
        self.in_sync_replicas = in_sync_replicas
        if epoch_is_new:
            # Also if this broker led before: another may have in between, unseen, and followers with it.
            self.followers = {}
            self.untold_bytes = 0
            if self.is_leader():
                assert not self.log.being_cut, "a log that is being cut cannot be led"
                self.epoch_start_offset = self.log.log_end_offset
                self.log.assign_epoch_start(leader_epoch, self.epoch_start_offset)
        self._know_followers()
        self._count_replicas()
        self.advance_high_watermark()
        self._flush_what_is_owed()
        if epoch_is_new:
            self._tell_all()

    def _know_followers(self) -> None:
        known = self.followers
        self.followers = {}
        if not self.is_leader() or len(self.replicas) == 1:
            return
        now_ms = self.cluster.time_ms()
        for replica in self.replicas:
            if replica != self.broker_id:
                follower = known.get(replica)
                if follower is None:
                    follower = Follower(replica, now_ms if replica in self.in_sync_replicas else LONG_AGO_MS)
                self.followers[replica] = follower

    def _count_replicas(self) -> None:
        self.counting = list(self.in_sync_replicas)
        if self.proposal is not None:
            for replica in self.proposal.in_sync_replicas:
                if replica not in self.counting:
                    self.counting.append(replica)

    def _flush_what_is_owed(self) -> None:
        """With flush.messages, what was acknowledged before a crash waits for a flush to be seen again."""
        log = self.log
        if self.acknowledged_offset() < log.log_end_offset and log.request_flush is not None:
            log.request_flush(log, log.log_end_offset)

    def flushed(self) -> None:
        """More of the log is on the disk: that may be what somebody waited for."""
        self.advance_high_watermark()
        if self.on_vouching is not None and not self.is_leader():
            self.on_vouching()

    def check_leader(self, leader_epoch: int) -> None:
        """Refuse a client whose idea of the leader is older, or newer, than ours (KIP-320)."""
        if not self.is_leader():
            raise NotLeaderOrFollowerError()
        self.check_epoch(leader_epoch)

    def check_epoch(self, leader_epoch: int) -> None:
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
            self._appended(end_before, records.end - records.start)
        return result

    def append_own(self, records: RecordBytes, now_ms: int) -> AppendResult:
        """Append what a coordinator of this broker has decided, for all in-sync replicas to have.

        A KafkaError says that nothing was written. A full disk is KAFKA_STORAGE_ERROR; a failed sync is
        raised as it is, because it ends the broker.
        """
        if self.leader_id != self.broker_id:
            raise NotLeaderOrFollowerError()
        self._check_enough_replicas()
        end_before = self.log.log_end_offset
        try:
            result = self.log.append_as_leader(records, self.leader_epoch, now_ms, origin=COORDINATOR)
        except DiskError as error:
            if error.is_fatal:
                raise
            raise KafkaStorageError(str(error)) from error
        self._appended(end_before, records.end - records.start)
        return result

    def _appended(self, end_before: int, size_bytes: int) -> None:
        self.untold_bytes += size_bytes
        for follower in self.followers.values():
            follower.outgrown(end_before)
        self.advance_high_watermark()
        for watch in self.watches:
            watch.end_moved(size_bytes)
        if self.end_waiters:
            waiters = self.end_waiters
            self.end_waiters = []
            staying = self._told(waiters, size_bytes)
            self.end_waiters = staying + self.end_waiters

    def min_in_sync_replicas(self) -> int:
        """How many replicas must be in sync for a write with acks=all."""
        return min(self.log.config.min_in_sync_replicas, len(self.replicas))

    def _check_enough_replicas(self) -> None:
        if len(self.in_sync_replicas) < self.min_in_sync_replicas():
            raise NotEnoughReplicasError(
                f"{self.topic}-{self.index} has {len(self.in_sync_replicas)} in-sync replicas, "
                f"min.insync.replicas asks for {self.min_in_sync_replicas()}"
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
        """Let the high watermark follow the slowest replica that counts; it never goes back."""
        if self.leader_id != self.broker_id:
            return
        log = self.log
        offset = self.acknowledged_offset()
        if self.followers:
            offset = self._replicated_offset(offset)
        if offset > log.high_watermark:
            self._set_high_watermark(offset)

    def _set_high_watermark(self, offset: int) -> None:
        self.log.high_watermark = offset
        new_bytes = self.untold_bytes
        self.untold_bytes = 0
        if self.waiters:
            waiters = self.waiters
            self.waiters = []
            staying = self._told(waiters, new_bytes)
            self.waiters = staying + self.waiters
        for watch in self.watches:
            watch.high_watermark_moved()

    def _replicated_offset(self, own_offset: int) -> int:
        """The offset that all replicas have reached that are in sync, or are about to be."""
        if len(self.in_sync_replicas) < self.min_in_sync_replicas():
            # Who becomes leader next may be one that was in sync before, and does not have it (KAFKA-15583).
            return -1
        offset = own_offset
        for follower in self.followers.values():
            if follower.log_end_offset < offset and (
                follower.broker_id in self.counting or self._is_about_to_join(follower)
            ):
                offset = follower.log_end_offset
        return offset

    def _is_about_to_join(self, follower: Follower) -> bool:
        """Whether to wait for one that was at the end a moment ago: it could never join while we write on."""
        cluster = self.cluster
        now_ms = cluster.time_ms()
        return follower.is_caught_up(
            self.log.log_end_offset, now_ms, cluster.lag_time_max_ms
        ) and cluster.may_be_in_sync(follower)

    # Followers

    def check_follower(self, replica_id: int, leader_epoch: int, broker_epoch: int) -> Follower:
        """The follower that fetches, if it and this leader agree on who they are."""
        self.check_leader(leader_epoch)
        follower = self.followers.get(replica_id)
        if follower is None:
            # It may know of a reassignment that has not reached us yet: let it try again.
            if leader_epoch == NO_EPOCH:
                raise NotLeaderOrFollowerError()
            raise UnknownLeaderEpochError()
        registration = self.cluster.broker(replica_id)
        if broker_epoch != NO_EPOCH and registration is not None and registration.epoch > broker_epoch:
            raise NotLeaderOrFollowerError(f"Broker {replica_id} has been registered anew since that fetch")
        return follower

    def diverging_epoch(self, last_fetched_epoch: int, fetch_offset: int) -> tuple[int, int] | None:
        """Where a log that ends at the offset, in that epoch, must be cut to be like ours; None if nowhere.

        The answer is the largest epoch that both may have, and where it ends here (KIP-595).
        """
        log = self.log
        if last_fetched_epoch == NO_EPOCH:
            return None
        epoch, end_offset = log.end_offset_for_epoch(last_fetched_epoch)
        if epoch == NO_EPOCH or fetch_offset < log.log_start_offset:
            raise OffsetOutOfRangeError()
        if epoch < last_fetched_epoch or end_offset < fetch_offset:
            return epoch, end_offset
        return None

    def follower_fetched(
        self,
        replica_id: int,
        leader_epoch: int,
        broker_epoch: int,
        fetch_offset: int,
        last_fetched_epoch: int,
        log_start_offset: int,
        times: FetchTimes | None = None,
    ) -> None:
        """Take note of how far a follower is. What it has beyond our log, or beside it, does not count."""
        follower = self.check_follower(replica_id, leader_epoch, broker_epoch)
        log = self.log
        if times is not None:
            # What it asked for in this session before it does not ask for any more.
            follower.left_session(times, log.log_end_offset)
        if self.diverging_epoch(last_fetched_epoch, fetch_offset) is not None:
            return  # KAFKA-13141
        if fetch_offset < log.log_start_offset or fetch_offset > log.log_end_offset:
            return
        follower.fetched(
            fetch_offset, log_start_offset, broker_epoch, log.log_end_offset, self.cluster.time_ms(), times
        )
        self._expand_in_sync_replicas([follower])
        self.advance_high_watermark()
        if self.start_waiters:
            self._tell_of_start()

    def _tell_of_start(self) -> None:
        waiters = self.start_waiters
        self.start_waiters = []
        staying = self._told(waiters, 0)
        self.start_waiters = staying + self.start_waiters

    def _expand_in_sync_replicas(self, followers: list[Follower]) -> None:
        """Propose those that have caught up. With an undecided proposal, they have to wait.

        Who has just been left out, for not fetching, is not among them: it may well be past the high
        watermark, which it has held back.
        """
        if self.proposal is not None or len(self.in_sync_replicas) == len(self.replicas):
            return
        joining = [follower.broker_id for follower in followers if self._may_join(follower)]
        if joining:
            self._propose([one for one in self.replicas if one in self.in_sync_replicas or one in joining])

    def _may_join(self, follower: Follower) -> bool:
        """Past the high watermark, and past the epoch's start: the high watermark of a new leader is old.

        Between the two may be records that were acknowledged before (KAFKA-7128).
        """
        return (
            follower.broker_id not in self.in_sync_replicas
            and follower.log_end_offset >= self.log.high_watermark
            and follower.log_end_offset >= self.epoch_start_offset
            and self.cluster.may_be_in_sync(follower)
        )

    def brokers_changed(self) -> None:
        """A broker was let in, or fenced: who counts, and who is waited for, may be others now."""
        now_ms = self.cluster.time_ms()
        caught_up: list[Follower] = []
        for follower in self.followers.values():
            if follower.is_caught_up(self.log.log_end_offset, now_ms, self.cluster.lag_time_max_ms):
                caught_up.append(follower)
        self._expand_in_sync_replicas(caught_up)
        self.advance_high_watermark()
        if self.start_waiters:
            self._tell_of_start()

    def shrink_in_sync_replicas(self) -> None:
        """Propose to go on without the followers that have not caught up for long."""
        if not self.is_leader() or self.proposal is not None:
            return
        now_ms = self.cluster.time_ms()
        end_offset = self.log.log_end_offset
        lag_time_max_ms = self.cluster.lag_time_max_ms
        staying: list[int] = []
        for replica in self.in_sync_replicas:
            follower = self.followers.get(replica)
            if replica == self.broker_id or (
                follower is not None and follower.is_caught_up(end_offset, now_ms, lag_time_max_ms)
            ):
                staying.append(replica)
        if len(staying) < len(self.in_sync_replicas):
            self._propose(staying)

    def _propose(self, in_sync_replicas: list[int]) -> None:
        epochs: list[int] = []
        for replica in in_sync_replicas:
            follower = self.followers.get(replica)
            epochs.append(self.cluster.own_epoch() if follower is None else follower.broker_epoch)
        proposal = IsrProposal(self.leader_epoch, self.partition_epoch, in_sync_replicas, epochs)
        self.proposal = proposal
        self._count_replicas()
        self.cluster.propose(self.topic_id, self.index, proposal)

    def proposal_accepted(
        self, proposal: IsrProposal, leader_epoch: int, in_sync_replicas: list[int], partition_epoch: int
    ) -> None:
        """The controller has decided. An answer from another time changes nothing: the metadata will tell."""
        if (
            self.proposal is proposal
            and leader_epoch == self.leader_epoch
            and partition_epoch >= self.partition_epoch
        ):
            self.proposal = None
            self.partition_epoch = partition_epoch
            self.in_sync_replicas = in_sync_replicas
            self._count_replicas()
            self.advance_high_watermark()

    def proposal_refused(self, proposal: IsrProposal) -> None:
        """The controller has not done it, and never will: as it was before. Only if that is certain."""
        if self.proposal is proposal:
            self.proposal = None
            self._count_replicas()
            self.advance_high_watermark()

    # Following

    def append_as_follower(
        self, records: RecordBytes | None, high_watermark: int, log_start_offset: int, now_ms: int
    ) -> None:
        """Write what the leader sent, and learn what it knows. The caller has checked whose answer it is."""
        log = self.log
        if records is not None and records.end > records.start:
            log.append_as_follower(records, now_ms)
            self.untold_bytes += records.end - records.start
        offset = min(high_watermark, log.log_end_offset)
        if offset > log.high_watermark:
            self._set_high_watermark(offset)
        if log_start_offset > log.log_start_offset:
            log.increment_log_start_offset(min(log_start_offset, log.high_watermark))

    def truncation_offset(self, epoch: int, end_offset: int) -> int:
        """Where to cut this log, after the leader said that it has the epoch up to that offset (KIP-279).

        If this log does not have the epoch, what it has before it is kept, and the next fetch asks again.
        """
        log = self.log
        own_epoch, own_end_offset = log.end_offset_for_epoch(epoch)
        if own_epoch == NO_EPOCH:
            return min(end_offset, log.log_end_offset)
        if own_epoch != epoch:
            return min(own_end_offset, log.log_end_offset)
        return min(own_end_offset, end_offset, log.log_end_offset)

    # Reading

    def end_offset(self, read_committed: bool) -> int:
        """The first offset that a consumer may not read yet."""
        return self.log.last_stable_offset() if read_committed else self.log.high_watermark

    def is_behind(self) -> bool:
        """Whether a new leader does not know yet how far its predecessor had acknowledged (KIP-207)."""
        return self.is_leader() and self.log.high_watermark < self.epoch_start_offset

    def delete_records(self, before_offset: int) -> int:
        """Move the log's start; answers the offset that `low_watermark` has to reach."""
        log = self.log
        if not log.config.delete:
            raise PolicyViolationError(f"cleanup.policy of {self.topic} does not allow deleting records")
        if before_offset == HIGH_WATERMARK:
            before_offset = log.high_watermark
        if before_offset < 0 or before_offset > log.high_watermark:
            raise OffsetOutOfRangeError()
        if before_offset > log.log_start_offset:
            log.increment_log_start_offset(before_offset)
            # Followers that wait for records learn of it now.
            waiters = self.end_waiters
            self.end_waiters = []
            staying = self._told(waiters, 0)
            self.end_waiters = staying + self.end_waiters
            for watch in self.watches:
                watch.state_changed()
        return log.log_start_offset

    def low_watermark(self) -> int:
        """The offset that all replicas on living brokers begin at, or after."""
        offset: int = self.log.log_start_offset
        for follower in self.followers.values():
            if follower.log_start_offset < offset and self.cluster.is_alive(follower.broker_id):
                offset = follower.log_start_offset
        return offset

    # Waiting

    def add_waiter(self, waiter: Waiter) -> None:
        self.waiters.append(waiter)

    def remove_waiter(self, waiter: Waiter) -> None:
        for waiters in (self.waiters, self.end_waiters, self.start_waiters):
            if waiter in waiters:
                waiters.remove(waiter)

    def unwatch(self, watch: Watch, replica_id: int, times: FetchTimes) -> None:
        """The follower does not fetch this partition in that session any more."""
        if watch in self.watches:
            self.watches.remove(watch)
        follower = self.followers.get(replica_id)
        if follower is not None:
            follower.left_session(times, self.log.log_end_offset)

    def _told(self, waiters: list[Waiter], new_bytes: int) -> list[Waiter]:
        """Tell them; those who go on waiting.

        One who is told may have others wait, or the partition move on. So the caller looks at its list
        afterwards only: `+=` would go on with the one of before, and forget them.
        """
        return [waiter for waiter in waiters if not waiter.partition_changed(self, new_bytes)]

    def _tell_all(self) -> None:
        waiters = self.waiters
        end_waiters = self.end_waiters
        start_waiters = self.start_waiters
        self.waiters = []
        self.end_waiters = []
        self.start_waiters = []
        staying = self._told(waiters, 0)
        self.waiters = staying + self.waiters
        staying = self._told(end_waiters, 0)
        self.end_waiters = staying + self.end_waiters
        staying = self._told(start_waiters, 0)
        self.start_waiters = staying + self.start_waiters
        for watch in self.watches:
            watch.state_changed()
