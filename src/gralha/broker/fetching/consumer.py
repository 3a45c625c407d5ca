"""Fetch of a consumer: records up to the high watermark, or up to the last stable offset.

A consumer may be sent to a replica in its rack (KIP-392). That replica is a follower, which serves consumers
only where a replica selector is set.

A new leader does not know at once how much its predecessor had acknowledged. A consumer that has read up to
the new leader's high watermark waits, and hears OFFSET_NOT_AVAILABLE if that takes too long (KIP-207). It
must not believe that it is at the end, or that records were taken back.
"""

from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.fetching.reading import EMPTY, Fetch
from gralha.broker.fetching.sessions import Plan
from gralha.broker.fetching.wanted import Wanted
from gralha.broker.pipeline import RequestContext
from gralha.protocol.errors import ErrorCode, NotLeaderOrFollowerError, OffsetNotAvailableError
from gralha.protocol.fetch_numbers import READ_COMMITTED
from gralha.protocol.messages.fetch import AbortedTransaction, FetchRequest, FetchResponse, PartitionData
from gralha.protocol.primitives import RecordBytes
from gralha.replication.partition import Partition
from gralha.replication.read_replicas import LEADER, RACK_AWARE_SELECTOR, preferred_read_replica
from gralha.replication.subscriptions import HIGH_WATERMARK_MOVED, Subscriber

FOLLOWERS_SERVE_FROM_VERSION: Final = 11
# Counts for the records that open transactions have below the high watermark. It satisfies every `min_bytes`.
HELD_BACK: Final = 1 << 31


class ConsumerFetch(Fetch):
    def __init__(self, broker: Broker, context: RequestContext, request: FetchRequest, plan: Plan) -> None:
        super().__init__(broker, context, request, plan)
        self.context = context
        if broker.throttle.is_on:
            self._limit_bytes()
        self.rack: str = request.rack_id
        self.read_committed: bool = request.isolation_level == READ_COMMITTED
        # Of each partition that was read: new bytes above the last stable offset.
        self._unstable_bytes: dict[Partition, int] = {}
        # Answers of partitions whose leader does not know their end yet.
        self._without_end: list[PartitionData] = []

    def _limit_bytes(self) -> None:
        """Asks for no more bytes than the client's quota allows at once."""
        most: int | None = self.broker.throttle.most_fetched(self.context)
        if most is not None and most < self.max_bytes:
            self.max_bytes = most
            self.min_bytes = min(self.min_bytes, most)

    def readable_end(self, partition: Partition) -> int:
        return partition.end_offset(self.read_committed)

    # Reading

    def read(self, blocking: bool) -> None:
        self._without_end = []
        super().read(blocking)

    def read_partition(
        self, partition: Partition, wanted: Wanted, left_bytes: int, blocking: bool
    ) -> PartitionData:
        log = partition.log
        leader_epoch: int = partition.leader_epoch
        # Before the read: beside a thread it may move, and then the records do not reach it.
        high_watermark: int = log.high_watermark
        end_offset = self.readable_end(partition)
        is_behind = False
        leading = partition.leading
        if leading is None:
            self._check_follower_serves(partition, wanted)
        else:
            partition.check_epoch(wanted.leader_epoch)
            is_behind = wanted.fetch_offset >= high_watermark and leading.is_behind()
            if is_behind:
                if self.is_last_read:
                    raise OffsetNotAvailableError()
            elif self.rack and leading.followers and self._is_rack_aware():
                replica = preferred_read_replica(leading, self.rack, wanted.fetch_offset)
                if replica != LEADER:
                    return self.instead_of_records(wanted, _other_replica(partition, wanted, replica))
        if self.read_committed and end_offset < high_watermark:
            self._unstable_bytes[partition] = HELD_BACK
        records = self.records_of(partition, wanted, end_offset, left_bytes, blocking)
        self.note_read(partition, end_offset, leader_epoch)
        data = PartitionData(
            partition_index=wanted.index,
            high_watermark=high_watermark,
            last_stable_offset=log.last_stable_offset(),
            log_start_offset=log.log_start_offset,
            aborted_transactions=_aborted(partition, wanted, end_offset, records, blocking)
            if self.read_committed
            else None,
            records=records,
        )
        if is_behind:
            self._without_end.append(data)
        return data

    def _is_rack_aware(self) -> bool:
        return self.broker.config.text("replica.selector.class") == RACK_AWARE_SELECTOR

    def _check_follower_serves(self, partition: Partition, wanted: Wanted) -> None:
        """Followers serve where consumers are sent to them. Elsewhere the consumer's metadata is old."""
        if self.version < FOLLOWERS_SERVE_FROM_VERSION or not self._is_rack_aware():
            raise NotLeaderOrFollowerError()
        partition.check_epoch(wanted.leader_epoch)
        if wanted.fetch_offset > partition.log.log_end_offset:
            raise OffsetNotAvailableError()

    # Waiting

    def subscribe(self, subscriber: Subscriber) -> None:
        for partition in self.partitions:
            partition.subscribe(subscriber, HIGH_WATERMARK_MOVED)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        for partition in self.partitions:
            partition.unsubscribe(subscriber, HIGH_WATERMARK_MOVED)

    def read_more(self, partition: Partition, new_bytes: int) -> int:
        if not self.read_committed:
            return new_bytes
        # Bytes count when the transactions that hold back the last stable offset have ended.
        unstable_bytes = self._unstable_bytes.get(partition, 0) + new_bytes
        number = self.partitions.index(partition)
        end_offset = partition.end_offset(True)
        if end_offset <= self.ends[number]:
            self._unstable_bytes[partition] = unstable_bytes
            return 0
        self.ends[number] = end_offset
        self._unstable_bytes[partition] = 0
        return unstable_bytes

    # Answering

    def response(self) -> FetchResponse:
        throttle = self.broker.throttle
        if throttle.is_on and not self.plan.is_stale():
            size: int = throttle.answer_size(self.bytes_read, len(self.results))
            throttle_ms: int = throttle.fetched(self.context, size)
            if throttle_ms > 0:
                return self._without_records(throttle_ms)
        for data in self._without_end:
            # Other partitions have records, so the request did not wait for the end of this one.
            data.error_code = ErrorCode.OFFSET_NOT_AVAILABLE
            data.high_watermark = -1
            data.last_stable_offset = -1
        return super().response()

    def _without_records(self, throttle_ms: int) -> FetchResponse:
        """The client is over its quota. It asks again when the time is over."""
        plan = self.plan
        if plan.incremental:
            return FetchResponse(session_id=plan.session_id(), throttle_time_ms=throttle_ms, responses=[])
        # A session begins with an answer about all of its partitions.
        self.broker.fetch_sessions.end(plan.session_id())
        return FetchResponse(throttle_time_ms=throttle_ms, responses=[])


def _other_replica(partition: Partition, wanted: Wanted, replica: int) -> PartitionData:
    """The name of a replica that is nearer to the consumer."""
    return PartitionData(
        partition_index=wanted.index,
        high_watermark=partition.log.high_watermark,
        last_stable_offset=partition.log.last_stable_offset(),
        log_start_offset=partition.log.log_start_offset,
        aborted_transactions=None,
        preferred_read_replica=replica,
        records=EMPTY,
    )


def _aborted(
    partition: Partition, wanted: Wanted, end_offset: int, records: RecordBytes, blocking: bool
) -> list[AbortedTransaction]:
    if records.size() == 0:
        return []
    return [
        AbortedTransaction(producer_id=producer_id, first_offset=first_offset)
        for producer_id, first_offset in partition.log.aborted_transactions(
            wanted.fetch_offset, end_offset, blocking, records.size()
        )
    ]
