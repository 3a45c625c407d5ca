"""Fetch of a follower: records up to the end of the leader's log.

The offset of a fetch tells the leader how far the follower is. A follower whose log has parted from the
leader's is told where (KIP-595). Its session knows which partitions have changed since the last request
(session.py); without a session, the request reads all that it names.
"""

from contextlib import suppress

from gralha.broker.broker import Broker
from gralha.broker.fetching.reading import EMPTY, Fetch
from gralha.broker.fetching.session import FollowerSession
from gralha.broker.fetching.sessions import Plan
from gralha.broker.fetching.wanted import Wanted, replica_of
from gralha.broker.pipeline import RequestContext
from gralha.protocol.errors import KafkaError, NotLeaderOrFollowerError
from gralha.protocol.messages.fetch import EpochEndOffset, FetchRequest, FetchResponse, PartitionData
from gralha.replication.followers import FetchTimes
from gralha.replication.partition import Partition
from gralha.replication.subscriptions import END_MOVED, Subscriber


class FollowerFetch(Fetch):
    def __init__(self, broker: Broker, context: RequestContext, request: FetchRequest, plan: Plan) -> None:
        super().__init__(broker, context, request, plan)
        self.replica_id: int = replica_of(request)
        self.broker_epoch: int = -1 if request.replica_state is None else request.replica_state.replica_epoch
        self.session: FollowerSession | None = (
            plan.session if isinstance(plan.session, FollowerSession) else None
        )
        # The next request must read these partitions again.
        self._left_out: list[Wanted] = []
        self._throttled_bytes: int = 0

    def readable_end(self, partition: Partition) -> int:
        return partition.log.log_end_offset

    # How far the follower is

    def begin(self) -> None:
        session = self.session
        if session is None:
            for wanted in self.plan.named:
                self._note(wanted, self.find(wanted), None)
            return
        named = self.plan.named
        if session.broker_epoch != self.broker_epoch:
            # The broker has registered again. This applies to all its partitions.
            session.broker_epoch = self.broker_epoch
            named = list(session.partitions.values())
        for wanted in named:
            partition = self.find(wanted)
            session.found(wanted, partition)
            self._note(wanted, partition, session.times)
        session.times.fetched_ms = self.broker.replicas.time_ms()
        self.plan.wanted = session.take_changed()

    def _note(self, wanted: Wanted, partition: Partition | None, times: FetchTimes | None) -> None:
        leading = None if partition is None else partition.leading
        if leading is None:
            return
        # The read meets the same error, and answers it.
        with suppress(KafkaError):
            leading.follower_fetched(
                self.replica_id,
                wanted.leader_epoch,
                self.broker_epoch,
                wanted.fetch_offset,
                wanted.last_fetched_epoch,
                wanted.log_start_offset,
                times,
            )

    # Reading

    def begin_last_read(self) -> None:
        super().begin_last_read()
        if self.session is not None:
            self.plan.wanted = self.session.take_changed()

    def read(self, blocking: bool) -> None:
        self._left_out = []
        self._throttled_bytes = 0
        super().read(blocking)

    def read_partition(
        self, partition: Partition, wanted: Wanted, left_bytes: int, blocking: bool
    ) -> PartitionData:
        log = partition.log
        leader_epoch: int = partition.leader_epoch
        # Before the read: beside a thread it may move, and then the records do not reach it.
        high_watermark: int = log.high_watermark
        end_offset: int = log.log_end_offset
        leading = partition.led()
        leading.check_follower(self.replica_id, wanted.leader_epoch, self.broker_epoch)
        diverging = leading.diverging_epoch(wanted.last_fetched_epoch, wanted.fetch_offset)
        records = EMPTY
        if diverging is None:
            if self._is_throttled(partition):
                self.left_out(wanted)
            else:
                records = self.records_of(partition, wanted, end_offset, left_bytes, blocking)
                if partition.leading is not leading:
                    # Beside this thread the epoch has ended. These may be records of the next leader.
                    raise NotLeaderOrFollowerError()
            self.note_read(partition, end_offset, leader_epoch)
            if partition.is_leader_throttled:
                self._throttled_bytes += records.end - records.start
        data = PartitionData(
            partition_index=wanted.index,
            high_watermark=high_watermark,
            last_stable_offset=log.last_stable_offset(),
            log_start_offset=log.log_start_offset,
            aborted_transactions=None,
            records=records,
        )
        if diverging is not None:
            data.diverging_epoch = EpochEndOffset(epoch=diverging[0], end_offset=diverging[1])
            return self.instead_of_records(wanted, data)
        return data

    def left_out(self, wanted: Wanted) -> None:
        self._left_out.append(wanted)

    def _is_throttled(self, partition: Partition) -> bool:
        """Whether this follower has to wait because too much is sent to throttled replicas."""
        if not partition.is_leader_throttled or self.replica_id in partition.in_sync_replicas:
            return False
        replicas = self.broker.replicas
        return replicas.leader_quota.is_exceeded(replicas.time_ms())

    # Waiting

    def is_enough(self) -> bool:
        # The session has partitions, also if nothing has changed in them.
        if self.session is None:
            return super().is_enough()
        return self.has_answer or self.bytes_read >= self.min_bytes

    def is_overtaken(self) -> bool:
        if self.session is None:
            return super().is_overtaken()
        return bool(self.session.changed) or self.plan.is_stale()

    def subscribe(self, subscriber: Subscriber) -> None:
        if self.session is not None:
            self.session.read_again(self.plan.wanted)
            self.session.waiting = subscriber
            return
        for partition in self.partitions:
            partition.subscribe(subscriber, END_MOVED)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        if self.session is None:
            for partition in self.partitions:
                partition.unsubscribe(subscriber, END_MOVED)
        elif self.session.waiting is subscriber:
            self.session.waiting = None

    def read_more(self, partition: Partition, new_bytes: int) -> int:
        return 0 if self._is_throttled(partition) else new_bytes

    def abandoned(self) -> None:
        """A follower that comes back begins a new session."""
        if self.session is not None:
            self.broker.fetch_sessions.end(self.session.id)

    # Answering

    def response(self) -> FetchResponse:
        if self.session is not None and not self.plan.is_stale():
            self.session.read_again(self._left_out)
        if self._throttled_bytes:
            replicas = self.broker.replicas
            replicas.leader_quota.record(self._throttled_bytes, replicas.time_ms())
        return super().response()
