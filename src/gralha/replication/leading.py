"""A partition that this broker leads: it appends, counts its followers' fetches and moves the high watermark.

The high watermark is the least offset that all in-sync replicas have reached. It never goes back, and it
moves only while at least min.insync.replicas replicas are in sync. So every replica of the last ISR has all
acknowledged records (KIP-966).

A new leader may know an older high watermark than its predecessor. Until its own has passed the start of its
epoch it does not know how much was acknowledged before (`is_behind`).

Batches of clients are appended in the order in which they came. Most of them are checked and appended at
once. One whose check takes longer waits in `queue` (checking.py does the work), and so do all that come
after it. If the leader epoch ends meanwhile, they are refused.
"""

from collections import deque
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from gralha.protocol.batches import NO_LEADER_EPOCH
from gralha.protocol.control_records import encode_end_marker
from gralha.protocol.errors import (
    KafkaStorageError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    UnknownLeaderEpochError,
)
from gralha.protocol.primitives import RecordBytes
from gralha.replication.followers import LONG_AGO_MS, FetchTimes, Follower, IsrProposal
from gralha.replication.verification import Verifications
from gralha.storage.disk import DiskError
from gralha.storage.log import COORDINATOR, AppendResult
from gralha.storage.validation import BatchCheck

if TYPE_CHECKING:
    from gralha.replication.partition import Partition

ACKS_ALL: Final = -1
HIGH_WATERMARK: Final = -1  # DeleteRecords: "everything that consumers may read"


@mypyc_attr(allow_interpreted_subclasses=True)
class QueuedBatch:
    """A client's batch that waits for its check, or for the batches before it.

    One of the two methods is called, once.
    """

    def __init__(self, leading: "Leading", records: RecordBytes, check: BatchCheck | None) -> None:
        self.leading = leading
        self.records = records
        self.check: BatchCheck | None = check  # None: not begun
        # The check's error, until the batch is the first of its queue.
        self.error: BaseException | None = None

    def append(self, check: BatchCheck, now_ms: int) -> None:
        """Append the batch. Called after its check and after the appends of the batches before it."""
        raise NotImplementedError

    def refuse(self, error: BaseException) -> None:
        """Refuse the batch."""
        raise NotImplementedError


class Leading:
    """The leader's part of a partition, in one leader epoch."""

    def __init__(self, partition: "Partition") -> None:
        self.partition = partition
        self.leader_epoch: int = partition.leader_epoch
        self.epoch_start_offset: int = partition.log.log_end_offset
        # The other replicas, by broker id.
        self.followers: dict[int, Follower] = {}
        # The proposal to the controller that is not answered, or whose outcome is unknown.
        self.proposal: IsrProposal | None = None
        # The in-sync replicas and the proposed ones. All of them count for the high watermark.
        self.counting: list[int] = []
        self.queue: deque[QueuedBatch] = deque()
        self.verifications: Verifications = Verifications(partition.log, partition.log.name)
        partition.log.assign_epoch_start(self.leader_epoch, self.epoch_start_offset)

    def metadata_changed(self, is_decided: bool) -> None:
        """The replicas, or the in-sync replicas, may have changed in the metadata.

        `is_decided` says that the partition epoch has changed: a proposal for the older epoch was accepted,
        or can not be accepted any more.
        """
        if is_decided:
            self.proposal = None
        self._know_followers()
        self._count_replicas()
        self._take_caught_up()
        self.advance_high_watermark()

    def _know_followers(self) -> None:
        partition = self.partition
        known = self.followers
        self.followers = {}
        if len(partition.replicas) == 1:
            return
        now_ms = partition.cluster.time_ms()
        for replica in partition.replicas:
            if replica != partition.broker_id:
                follower = known.get(replica)
                if follower is None:
                    is_in_sync = replica in partition.in_sync_replicas
                    follower = Follower(replica, now_ms if is_in_sync else LONG_AGO_MS)
                self.followers[replica] = follower

    def _count_replicas(self) -> None:
        self.counting = list(self.partition.in_sync_replicas)
        if self.proposal is not None:
            for replica in self.proposal.in_sync_replicas:
                if replica not in self.counting:
                    self.counting.append(replica)

    # Writing

    def append(self, records: RecordBytes, acks: int, now_ms: int) -> AppendResult:
        """Check and append a client's batch at once, even if that takes long."""
        check = self.begin_append(records, acks, now_ms)
        assert check is not None, "others wait to be appended"
        check.finish()
        return self.append_checked(check, acks, now_ms)

    def begin_append(self, records: RecordBytes, acks: int, now_ms: int) -> BatchCheck | None:
        """Begin to check a client's batch, with the steps that are quick.

        If the check is done (`BatchCheck.is_done`), call `append_checked`. Otherwise the batch has to be
        queued (checking.py). Returns None if other batches wait, so that this one has to be queued as well.
        """
        if acks == ACKS_ALL:
            self._check_enough_replicas()
        if self.queue:
            return None
        check = self.partition.log.check(records, now_ms)
        check.begin()
        return check

    def append_checked(self, check: BatchCheck, acks: int, now_ms: int) -> AppendResult:
        """Append a client's batch. It must have been checked with the topic's current settings."""
        if self.partition.leading is not self:
            # The epoch is over. An append now would be acknowledged in another epoch.
            raise NotLeaderOrFollowerError()
        if acks == ACKS_ALL:
            self._check_enough_replicas()
        log = self.partition.log
        end_before = log.log_end_offset
        header = check.header
        if header.is_transactional:
            self.verifications.check(header)
        result = log.append_checked(check, self.leader_epoch, now_ms)
        if header.is_transactional:
            self.verifications.begun(header.producer_id)
        if log.log_end_offset != end_before:
            self._appended(end_before, header.size_bytes)
        return result

    def is_current(self, check: BatchCheck) -> bool:
        """Whether the batch was checked with the topic's current settings."""
        return check.config is self.partition.log.config

    def refuse_queued(self, error: BaseException) -> None:
        """Refuse all batches in the queue."""
        queue = self.queue
        self.queue = deque()
        for queued in queue:
            queued.refuse(error)

    def append_own(self, records: RecordBytes, now_ms: int) -> AppendResult:
        """Append the records of a coordinator of this broker, with acks=all.

        A KafkaError says that nothing was written. A full disk is KAFKA_STORAGE_ERROR. A failed sync is
        raised as it is, because it ends the broker.
        """
        self._check_enough_replicas()
        log = self.partition.log
        end_before = log.log_end_offset
        try:
            result = log.append_as_leader(records, self.leader_epoch, now_ms, origin=COORDINATOR)
        except DiskError as error:
            if error.is_fatal:
                raise
            raise KafkaStorageError(str(error)) from error
        self._appended(end_before, records.end - records.start)
        return result

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        is_commit: bool,
        has_new_epoch: bool,
        now_ms: int,
    ) -> AppendResult:
        """Append the end of a producer's transaction. The transaction need not have a record here.

        With `has_new_epoch` each transaction has an epoch of its own (KIP-890), so that a marker that comes
        late cannot end a later transaction.
        """
        self.partition.log.check_marker_epoch(producer_id, producer_epoch, has_new_epoch)
        batch = encode_end_marker(
            commit=is_commit,
            coordinator_epoch=coordinator_epoch,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            timestamp_ms=now_ms,
        )
        result = self.append_own(RecordBytes(batch, 0, len(batch)), now_ms)
        self.verifications.ended(producer_id, producer_epoch, has_new_epoch)
        return result

    def _appended(self, end_before: int, size_bytes: int) -> None:
        for follower in self.followers.values():
            follower.outgrown(end_before)
        counters = self.partition.counters
        counters.bytes_in += size_bytes
        counters.messages_in += self.partition.log.log_end_offset - end_before
        self.partition.untold_bytes += size_bytes
        self.advance_high_watermark()
        self.partition.tell_of_end(size_bytes)

    def may_be_replaced(self) -> bool:
        """Whether another replica is in sync: it can be elected before this broker learns of that."""
        return any(replica != self.partition.broker_id for replica in self.counting)

    def is_under_replicated(self) -> bool:
        """Whether a replica is not in sync."""
        return len(self.partition.in_sync_replicas) < len(self.partition.replicas)

    def min_in_sync_replicas(self) -> int:
        """How many replicas must be in sync for a write with acks=all."""
        partition = self.partition
        return min(partition.log.config.min_in_sync_replicas, len(partition.replicas))

    def has_enough_replicas(self) -> bool:
        """Whether enough replicas are in sync for a write with acks=all."""
        return len(self.counting) >= self.min_in_sync_replicas()

    def _check_enough_replicas(self) -> None:
        partition = self.partition
        in_sync = len(partition.in_sync_replicas)
        if in_sync < self.min_in_sync_replicas():
            raise NotEnoughReplicasError(
                f"{partition.topic}-{partition.index} has {in_sync} in-sync replicas, "
                f"min.insync.replicas asks for {self.min_in_sync_replicas()}"
            )

    # The high watermark

    def advance_high_watermark(self) -> None:
        """Move the high watermark to the end of the slowest replica that counts."""
        partition = self.partition
        offset = partition.acknowledged_offset()
        if self.followers:
            offset = self._replicated_offset(offset)
        if offset > partition.log.high_watermark:
            partition.set_high_watermark(offset)

    def _replicated_offset(self, own_offset: int) -> int:
        """The offset that all replicas have reached that are in sync, or are about to be."""
        if len(self.partition.in_sync_replicas) < self.min_in_sync_replicas():
            # The next leader may be a former in-sync replica that does not have the records (KAFKA-15583).
            return -1
        offset = own_offset
        for follower in self.followers.values():
            if follower.log_end_offset < offset and (
                follower.broker_id in self.counting or self._is_about_to_join(follower)
            ):
                offset = follower.log_end_offset
        return offset

    def _is_about_to_join(self, follower: Follower) -> bool:
        """Whether to wait for a follower that was at the end a moment ago.

        Otherwise the follower could never join while records are written.
        """
        cluster = self.partition.cluster
        return follower.is_caught_up(
            self.partition.log.log_end_offset, cluster.time_ms(), cluster.lag_time_max_ms
        ) and cluster.may_be_in_sync(follower)

    def is_behind(self) -> bool:
        """Whether this leader does not know yet how much its predecessor had acknowledged (KIP-207)."""
        return self.partition.log.high_watermark < self.epoch_start_offset

    # Followers

    def check_follower(self, replica_id: int, leader_epoch: int, broker_epoch: int) -> Follower:
        """The follower that fetches. Raises an error if its epochs do not fit this leader's."""
        self.partition.check_epoch(leader_epoch)
        follower = self.followers.get(replica_id)
        if follower is None:
            # The follower may know a reassignment that this broker does not know yet. It will try again.
            if leader_epoch == NO_LEADER_EPOCH:
                raise NotLeaderOrFollowerError()
            raise UnknownLeaderEpochError()
        registration = self.partition.cluster.broker(replica_id)
        if broker_epoch != NO_LEADER_EPOCH and registration is not None and registration.epoch > broker_epoch:
            raise NotLeaderOrFollowerError(
                f"Broker {replica_id} has registered again since it sent this fetch"
            )
        return follower

    def diverging_epoch(self, last_fetched_epoch: int, fetch_offset: int) -> tuple[int, int] | None:
        """Where a follower must truncate a log that ends at the offset in that epoch. None if it need not.

        The result is the largest epoch that both logs may have, and its end offset here (KIP-595).
        """
        log = self.partition.log
        if last_fetched_epoch == NO_LEADER_EPOCH:
            return None
        epoch, end_offset = log.end_offset_for_epoch(last_fetched_epoch)
        if epoch == NO_LEADER_EPOCH or fetch_offset < log.log_start_offset:
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
        """Note the end offset of a follower. Records that this log does not have do not count."""
        follower = self.check_follower(replica_id, leader_epoch, broker_epoch)
        partition = self.partition
        log = partition.log
        if times is not None:
            # This fetch replaces the follower's last one in the same session.
            follower.left_session(times, log.log_end_offset)
        if self.diverging_epoch(last_fetched_epoch, fetch_offset) is not None:
            return  # KAFKA-13141
        if fetch_offset < log.log_start_offset or fetch_offset > log.log_end_offset:
            return
        follower.fetched(
            fetch_offset,
            log_start_offset,
            broker_epoch,
            log.log_end_offset,
            partition.cluster.time_ms(),
            times,
        )
        self._expand_in_sync_replicas([follower])
        self.advance_high_watermark()
        partition.tell_of_start()

    def left_session(self, replica_id: int, times: FetchTimes) -> None:
        """A follower has stopped fetching this partition in that session."""
        follower = self.followers.get(replica_id)
        if follower is not None:
            follower.left_session(times, self.partition.log.log_end_offset)

    # In-sync replicas

    def _expand_in_sync_replicas(self, followers: list[Follower]) -> None:
        """Propose to add the followers that have caught up, unless a proposal is undecided."""
        partition = self.partition
        if self.proposal is not None or len(partition.in_sync_replicas) == len(partition.replicas):
            return
        joining = [follower.broker_id for follower in followers if self._may_join(follower)]
        if joining:
            in_sync = partition.in_sync_replicas
            self._propose([one for one in partition.replicas if one in in_sync or one in joining])

    def _may_join(self, follower: Follower) -> bool:
        """A follower joins when it is past the high watermark and past the start of the epoch.

        The high watermark of a new leader is old: records between the two may have been acknowledged before
        (KAFKA-7128).
        """
        partition = self.partition
        return (
            follower.broker_id not in partition.in_sync_replicas
            and follower.log_end_offset >= partition.log.high_watermark
            and follower.log_end_offset >= self.epoch_start_offset
            and partition.cluster.may_be_in_sync(follower)
        )

    def brokers_changed(self) -> None:
        """A broker was unfenced or fenced, so other replicas may count now."""
        self._take_caught_up()
        self.advance_high_watermark()
        self.partition.tell_of_start()

    def _take_caught_up(self) -> None:
        """Propose to add all followers that have caught up.

        A follower may have caught up while a proposal was under way. It does not say so again if nothing is
        written: a fetch session names only partitions that have changed.

        A follower that has just been removed because it did not fetch does not join here. It may be past the
        high watermark, but only because it has held the high watermark back.
        """
        partition = self.partition
        cluster = partition.cluster
        now_ms = cluster.time_ms()
        caught_up: list[Follower] = []
        for follower in self.followers.values():
            if follower.is_caught_up(partition.log.log_end_offset, now_ms, cluster.lag_time_max_ms):
                caught_up.append(follower)
        self._expand_in_sync_replicas(caught_up)

    def shrink_in_sync_replicas(self) -> None:
        """Propose to remove the followers that have not caught up for replica.lag.time.max.ms."""
        if self.proposal is not None:
            return
        partition = self.partition
        now_ms = partition.cluster.time_ms()
        end_offset = partition.log.log_end_offset
        lag_time_max_ms = partition.cluster.lag_time_max_ms
        staying: list[int] = []
        for replica in partition.in_sync_replicas:
            follower = self.followers.get(replica)
            if replica == partition.broker_id or (
                follower is not None and follower.is_caught_up(end_offset, now_ms, lag_time_max_ms)
            ):
                staying.append(replica)
        if len(staying) < len(partition.in_sync_replicas):
            self._propose(staying)

    def _propose(self, in_sync_replicas: list[int]) -> None:
        partition = self.partition
        epochs: list[int] = []
        for replica in in_sync_replicas:
            follower = self.followers.get(replica)
            epochs.append(partition.cluster.own_epoch() if follower is None else follower.broker_epoch)
        proposal = IsrProposal(self.leader_epoch, partition.partition_epoch, in_sync_replicas, epochs)
        self.proposal = proposal
        self._count_replicas()
        partition.cluster.propose(partition.topic_id, partition.index, proposal)

    def proposal_accepted(
        self, proposal: IsrProposal, leader_epoch: int, in_sync_replicas: list[int], partition_epoch: int
    ) -> None:
        """The controller has accepted a proposal. An outdated response changes nothing."""
        partition = self.partition
        if (
            self.proposal is proposal
            and leader_epoch == self.leader_epoch
            and partition_epoch >= partition.partition_epoch
        ):
            self.proposal = None
            partition.partition_epoch = partition_epoch
            partition.counters.isr_changed(partition.in_sync_replicas, in_sync_replicas)
            partition.in_sync_replicas = in_sync_replicas
            self._count_replicas()
            self._take_caught_up()
            self.advance_high_watermark()

    def proposal_refused(self, proposal: IsrProposal) -> None:
        """The controller has refused a proposal for certain, and will never apply it."""
        if self.proposal is proposal:
            self.proposal = None
            self._count_replicas()
            self._take_caught_up()
            self.advance_high_watermark()

    # Deleting

    def delete_records(self, before_offset: int) -> int:
        """Move the start of the log; returns the offset that `low_watermark` has to reach."""
        partition = self.partition
        log = partition.log
        if not log.config.delete:
            raise PolicyViolationError(f"cleanup.policy of {partition.topic} does not allow deleting records")
        if before_offset == HIGH_WATERMARK:
            before_offset = log.high_watermark
        if before_offset < 0 or before_offset > log.high_watermark:
            raise OffsetOutOfRangeError()
        if before_offset > log.log_start_offset:
            log.increment_log_start_offset(before_offset)
            # Wake the followers that wait for records, so that they get the new start now.
            partition.tell_followers_of_state()
        return log.log_start_offset

    def low_watermark(self) -> int:
        """The least log start offset of the replicas on living brokers."""
        offset: int = self.partition.log.log_start_offset
        for follower in self.followers.values():
            if follower.log_start_offset < offset and self.partition.cluster.is_alive(follower.broker_id):
                offset = follower.log_start_offset
        return offset
