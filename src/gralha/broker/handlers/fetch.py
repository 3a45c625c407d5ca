"""Fetch (versions 4 to 18): record batches from an offset on, as they lie in the log.

A request is a plan of partitions (from the request itself or its fetch session). It is read at once,
without blocking; when that gives fewer than min_bytes it waits on its partitions, wakes up once (enough
new bytes, a leader change, or max_wait_ms) and is read again. Bytes that the page cache does not have
are read in a thread. Reads end at the high watermark, or at the last stable offset for read_committed.

max_bytes holds for the response and for each partition, except that the first partition with data gives
at least one whole batch (KIP-74).

A follower (replica_id >= 0) reads up to the end of the log. By its offsets the leader knows how far it is;
one whose log has parted from ours is told where (KIP-595). Its session says which partitions to look at, and
wakes the request that waits; without one, the request registers with all its partitions. A consumer may be
sent to a replica in its rack (KIP-392), and who asks the wrong broker is told the right one (KIP-951).
"""

import asyncio
import logging
from contextlib import suppress
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.fetch_sessions import Plan, Wanted, move_to_end, replica_of
from gralha.broker.handlers.current_leaders import current_leader, leader_nodes
from gralha.broker.pipeline import Deferred, RequestContext
from gralha.metadata.image import TopicImage
from gralha.protocol.errors import KafkaError, NotLeaderOrFollowerError, OffsetNotAvailableError
from gralha.protocol.message import Message
from gralha.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from gralha.protocol.primitives import RecordBytes
from gralha.replication.followers import FetchTimes
from gralha.replication.partition import Partition, Waiter
from gralha.replication.read_replicas import LEADER, RACK_AWARE_SELECTOR, preferred_read_replica
from gralha.storage.disk import DiskError, WouldBlock

log = logging.getLogger("gralha.broker")

UNKNOWN_TOPIC_OR_PARTITION: Final = 3
NOT_LEADER_OR_FOLLOWER: Final = 6
KAFKA_STORAGE_ERROR: Final = 56
INVALID_FETCH_SESSION_EPOCH: Final = 71
FENCED_LEADER_EPOCH: Final = 74
OFFSET_NOT_AVAILABLE: Final = 78
UNKNOWN_TOPIC_ID: Final = 100
TOPIC_IDS_FROM_VERSION: Final = 13
FOLLOWERS_SERVE_FROM_VERSION: Final = 11
LEADERS_FROM_VERSION: Final = 16
CONSUMER: Final = -1
READ_COMMITTED: Final = 1
EMPTY: Final = RecordBytes(b"", 0, 0)
# What a response holds in memory; a client that wants more asks again.
MAX_RESPONSE_BYTES: Final = 16 * 1024 * 1024


def handle(broker: Broker, context: RequestContext, request: FetchRequest) -> Message | Deferred:
    plan = broker.fetch_sessions.begin(request, context.api_version, broker.clock())
    if plan.error_code:
        return FetchResponse(error_code=plan.error_code)
    fetch = Fetch(broker, context, request, plan)
    if fetch.replica_id >= 0:
        fetch.note_follower()
    fetch.read(False)
    if fetch.cold:
        return fetch.read_in_thread()
    if fetch.is_enough():
        return fetch.response()
    return fetch.wait()


class Fetch(Waiter):
    """One Fetch request on its way."""

    def __init__(self, broker: Broker, context: RequestContext, request: FetchRequest, plan: Plan) -> None:
        self.broker = broker
        self.plan = plan
        self.version: int = context.api_version
        self.listener: str = context.peer.listener
        self.by_id: bool = context.api_version >= TOPIC_IDS_FROM_VERSION
        self.replica_id: int = replica_of(request)
        self.broker_epoch: int = -1 if request.replica_state is None else request.replica_state.replica_epoch
        self.rack: str = request.rack_id
        self.read_committed: bool = request.isolation_level == READ_COMMITTED
        self.max_wait_ms: int = request.max_wait_ms
        self.max_bytes: int = min(request.max_bytes, broker.config.fetch_max_bytes, MAX_RESPONSE_BYTES)
        self.min_bytes: int = min(request.min_bytes, self.max_bytes) if request.max_wait_ms > 0 else 0
        self.results: list[PartitionData] = []
        self.partitions: list[Partition] = []
        # Of each partition: up to where and in which leader epoch it was read, and bytes beyond that.
        self.ends: list[int] = []
        self.epochs: list[int] = []
        self.unstable_bytes: list[int] = []
        self.bytes_read: int = 0
        # Whether something is to be answered without waiting for records: an error, another replica.
        self.failed: bool = False
        self.cold: bool = False
        self.awake: bool = True
        self.finishing: bool = False
        self.deferred: Deferred | None = None
        # Of a follower's session: what was read, but must be looked at again.
        self.left_over: list[Wanted] = []
        # Of partitions whose end this broker does not know yet.
        self.without_end: list[PartitionData] = []

    # Reading

    def read(self, blocking: bool) -> None:
        """Read all partitions of the plan; stops with `cold` set when it would have to wait for the disk."""
        self.results = []
        self.partitions = []
        self.ends = []
        self.epochs = []
        self.unstable_bytes = []
        self.bytes_read = 0
        self.failed = False
        self.cold = False
        self.left_over = []
        self.without_end = []
        left = self.max_bytes
        for wanted in self.plan.wanted:
            partition = self._find(wanted)
            if partition is None:
                self._fail(wanted, self._why_missing(wanted), None)
                continue
            try:
                data = self._read_partition(partition, wanted, left, blocking)
            except WouldBlock:
                self.cold = True
                return
            except KafkaError as error:
                self._fail(wanted, error.code, partition)
                continue
            except DiskError as failure:  # not `error`: compiled code gives a name one type in a function
                log.error("%s", failure)
                self._fail(wanted, KAFKA_STORAGE_ERROR, partition)
                continue
            self.partitions.append(partition)
            self.results.append(data)
            if data.records is not None:
                size: int = data.records.end - data.records.start
                self.bytes_read += size
                left = max(left - size, 0)

    def _find(self, wanted: Wanted) -> Partition | None:
        replicas = self.broker.replicas
        topic = replicas.by_id.get(wanted.topic_id) if self.by_id else replicas.by_name.get(wanted.topic)
        return None if topic is None else topic.get(wanted.index)

    def _topic(self, wanted: Wanted) -> TopicImage | None:
        image = self.broker.image
        return image.topics_by_id.get(wanted.topic_id) if self.by_id else image.topics.get(wanted.topic)

    def _why_missing(self, wanted: Wanted) -> int:
        known = self._topic(wanted)
        if known is None:
            return UNKNOWN_TOPIC_ID if self.by_id else UNKNOWN_TOPIC_OR_PARTITION
        if self.broker.replicas.is_offline(known.name, wanted.index):
            return KAFKA_STORAGE_ERROR
        return NOT_LEADER_OR_FOLLOWER if wanted.index in known.partitions else UNKNOWN_TOPIC_OR_PARTITION

    def _read_partition(
        self, partition: Partition, wanted: Wanted, left: int, blocking: bool
    ) -> PartitionData:
        partition_log = partition.log
        leader_epoch: int = partition.leader_epoch
        # Before the read: beside a thread it may move, and then the records are not up to it.
        high_watermark: int = partition_log.high_watermark
        end_offset = self._end_of(partition)
        other = (
            self._follower_answer(partition, wanted)
            if self.replica_id >= 0
            else (self._consumer_answer(partition, wanted, high_watermark))
        )
        if other is not None:
            self.failed = True
            self.left_over.append(wanted)
            return other
        first = self.bytes_read == 0
        if (left > 0 or first) and not self._is_throttled(partition):
            max_bytes = min(wanted.max_bytes, left)
            records = partition_log.read(wanted.fetch_offset, max_bytes, end_offset, first, blocking)
        else:
            records = EMPTY
            self.left_over.append(wanted)
        self.ends.append(end_offset)
        self.epochs.append(leader_epoch)
        self.unstable_bytes.append(0)
        data = PartitionData(
            partition_index=wanted.index,
            high_watermark=high_watermark,
            last_stable_offset=partition_log.last_stable_offset(),
            log_start_offset=partition_log.log_start_offset,
            aborted_transactions=self._aborted(partition, wanted, end_offset, blocking)
            if self.read_committed
            else None,
            records=records,
        )
        if self.replica_id < 0 and wanted.fetch_offset >= high_watermark and partition.is_behind():
            self.without_end.append(data)
        return data

    def _is_throttled(self, partition: Partition) -> bool:
        """Whether this follower has to wait because too much is sent to throttled replicas."""
        if not partition.is_leader_throttled or self.replica_id < 0:
            return False
        replicas = self.broker.replicas
        return self.replica_id not in partition.in_sync_replicas and replicas.leader_quota.is_exceeded(
            replicas.time_ms()
        )

    def _end_of(self, partition: Partition) -> int:
        """Up to where this reader may read."""
        if self.replica_id >= 0:
            return partition.log.log_end_offset
        return partition.end_offset(self.read_committed)

    def note_follower(self) -> None:
        """What a follower asks for tells how far it is. On the event loop, before anything is read."""
        session = self.plan.watching
        if session is None:
            for wanted in self.plan.named:
                self._note(wanted, self._find(wanted), None)
            return
        named = self.plan.named
        if session.broker_epoch != self.broker_epoch:
            # It has been registered anew: that goes for all its partitions.
            session.broker_epoch = self.broker_epoch
            named = list(session.partitions.values())
        for wanted in named:
            partition = self._find(wanted)
            wanted.watch(partition)
            self._note(wanted, partition, session.times)
        session.times.fetched_ms = self.broker.replicas.time_ms()
        self.plan.wanted = session.take_changed()

    def _note(self, wanted: Wanted, partition: Partition | None, times: FetchTimes | None) -> None:
        if partition is None:
            return
        # An error is met again, and answered, by the read.
        with suppress(KafkaError):
            partition.follower_fetched(
                self.replica_id,
                wanted.leader_epoch,
                self.broker_epoch,
                wanted.fetch_offset,
                wanted.last_fetched_epoch,
                wanted.log_start_offset,
                times,
            )

    def _follower_answer(self, partition: Partition, wanted: Wanted) -> PartitionData | None:
        """What a follower gets instead of records: where its log has parted from ours."""
        partition.check_follower(self.replica_id, wanted.leader_epoch, self.broker_epoch)
        diverging = partition.diverging_epoch(wanted.last_fetched_epoch, wanted.fetch_offset)
        if diverging is None:
            return None
        return PartitionData(
            partition_index=wanted.index,
            high_watermark=partition.log.high_watermark,
            log_start_offset=partition.log.log_start_offset,
            diverging_epoch=EpochEndOffset(epoch=diverging[0], end_offset=diverging[1]),
            aborted_transactions=None,
            records=EMPTY,
        )

    def _consumer_answer(
        self, partition: Partition, wanted: Wanted, high_watermark: int
    ) -> PartitionData | None:
        """What a consumer gets instead of records: the name of a replica that is nearer."""
        if partition.leader_id != partition.broker_id:
            self._check_follower_may_serve(partition, wanted)
            return None
        partition.check_epoch(wanted.leader_epoch)
        if wanted.fetch_offset >= high_watermark and partition.is_behind():
            # It has read what the leader before us had acknowledged, and must not see that taken back; or
            # there is more that was acknowledged, and it must not believe to be at the end.
            if self.finishing or self.min_bytes == 0:
                raise OffsetNotAvailableError()
            return None
        if not self.rack or not partition.followers or not self._is_rack_aware():
            return None
        replica = preferred_read_replica(partition, self.rack, wanted.fetch_offset)
        if replica == LEADER:
            return None
        return PartitionData(
            partition_index=wanted.index,
            high_watermark=high_watermark,
            last_stable_offset=partition.log.last_stable_offset(),
            log_start_offset=partition.log.log_start_offset,
            aborted_transactions=None,
            preferred_read_replica=replica,
            records=EMPTY,
        )

    def _is_rack_aware(self) -> bool:
        return self.broker.config.text("replica.selector.class") == RACK_AWARE_SELECTOR

    def _check_follower_may_serve(self, partition: Partition, wanted: Wanted) -> None:
        """Only where consumers are sent to followers: others hold an old idea of the leader."""
        if self.version < FOLLOWERS_SERVE_FROM_VERSION or not self._is_rack_aware():
            raise NotLeaderOrFollowerError()
        partition.check_epoch(wanted.leader_epoch)
        if wanted.fetch_offset > partition.log.log_end_offset:
            raise OffsetNotAvailableError()

    def _aborted(
        self, partition: Partition, wanted: Wanted, end_offset: int, blocking: bool
    ) -> list[AbortedTransaction]:
        return [
            AbortedTransaction(producer_id=producer_id, first_offset=first_offset)
            for producer_id, first_offset in partition.log.aborted_transactions(
                wanted.fetch_offset, end_offset, blocking
            )
        ]

    def _fail(self, wanted: Wanted, error_code: int, partition: Partition | None) -> None:
        self.failed = True
        self.left_over.append(wanted)
        data = PartitionData(
            partition_index=wanted.index,
            error_code=error_code,
            high_watermark=-1,
            aborted_transactions=[],
            records=EMPTY,
        )
        if self.version >= LEADERS_FROM_VERSION and error_code in (
            NOT_LEADER_OR_FOLLOWER,
            FENCED_LEADER_EPOCH,
        ):
            leader_id, leader_epoch = current_leader(partition, self._topic(wanted), wanted.index)
            data.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
        self.results.append(data)

    def is_enough(self) -> bool:
        if self.failed or self.bytes_read >= self.min_bytes:
            return True
        # A follower's session has partitions, even if there is nothing to say of them.
        return not self.plan.wanted and self.plan.watching is None

    def read_in_thread(self) -> Deferred:
        """The page cache has not everything: let a thread wait for the disk."""
        task = asyncio.get_running_loop().run_in_executor(self.broker.readers, self.read, True)
        task.add_done_callback(self._was_read)
        deferred = self.deferred = Deferred(self._finish, self._gone)
        return deferred

    def _was_read(self, task: "asyncio.Future[None]") -> None:
        deferred = self.deferred
        if deferred is None or deferred.done:
            return
        try:
            task.result()
            if self.is_enough() or self._was_overtaken():
                deferred.resolve(self.response(), True)
            else:
                self.wait()
        except BaseException as error:
            deferred.fail(error)

    def _was_overtaken(self) -> bool:
        """Whether something happened beside the thread: nobody told this fetch, which did not wait yet."""
        if self.plan.watching is not None:
            return bool(self.plan.watching.changed)
        for number, partition in enumerate(self.partitions):
            if partition.leader_epoch != self.epochs[number] or self._end_of(partition) != self.ends[number]:
                return True
        return False

    # Waiting

    def wait(self) -> Deferred:
        self.awake = False
        session = self.plan.watching
        if session is not None:
            session.look_again(self.plan.wanted)
            session.waiting = self
        else:
            for partition in self.partitions:
                if self.replica_id >= 0:
                    partition.end_waiters.append(self)
                else:
                    partition.add_waiter(self)
        deferred = self.deferred
        if deferred is None:
            deferred = self.deferred = Deferred(self._finish, self._gone)
        deferred.expire_after(self.max_wait_ms)
        return deferred

    def partition_changed(self, partition: Partition, new_bytes: int) -> bool:
        """Called while the partition is being written: only note it, and answer when the writer is done.

        Without new bytes it is the leader or its epoch that changed: what was asked may be an error now.
        """
        if new_bytes > 0:
            if self._is_throttled(partition):
                return self.awake
            self.bytes_read += self._stable_bytes(partition, new_bytes) if self.read_committed else new_bytes
        if not self.awake and (self.bytes_read >= self.min_bytes or new_bytes == 0):
            self.awake = True
            asyncio.get_running_loop().call_soon(self._finish)
        return self.awake

    def _stable_bytes(self, partition: Partition, new_bytes: int) -> int:
        """How much more of committed transactions there is to read, now that the high watermark has moved."""
        for number, one in enumerate(self.partitions):
            if one is partition:
                self.unstable_bytes[number] += new_bytes
                end_offset = partition.end_offset(True)
                if end_offset > self.ends[number]:
                    self.ends[number] = end_offset
                    new_bytes = self.unstable_bytes[number]
                    self.unstable_bytes[number] = 0
                    return new_bytes
        return 0

    def _leave(self) -> None:
        """Wait no more."""
        self.awake = True
        session = self.plan.watching
        if session is None:
            for partition in self.partitions:
                partition.remove_waiter(self)
        elif session.waiting is self:
            session.waiting = None

    def _gone(self) -> None:
        """The client is gone. A follower that comes back begins a session anew."""
        self._leave()
        if self.plan.watching is not None:
            self.broker.fetch_sessions.end(self.plan.session_id())

    def _finish(self) -> None:
        """Read again and answer with what there is now; once, whoever calls: the timer, or a partition."""
        deferred = self.deferred
        if deferred is None or deferred.done or self.finishing:
            return
        self.finishing = True
        self._leave()
        if self.plan.watching is not None:
            self.plan.wanted = self.plan.watching.take_changed()
        try:
            self.read(False)
            if not self.cold:
                deferred.resolve(self.response(), True)
                return
        except Exception as error:
            deferred.fail(error)
            return
        task = asyncio.get_running_loop().run_in_executor(self.broker.readers, self.read, True)
        task.add_done_callback(self._finish_cold)

    def _finish_cold(self, task: "asyncio.Future[None]") -> None:
        deferred = self.deferred
        if deferred is None or deferred.done:
            return
        try:
            task.result()
            deferred.resolve(self.response(), True)
        except BaseException as error:
            deferred.fail(error)

    # Answering

    def response(self) -> FetchResponse:
        plan = self.plan
        if plan.is_stale():
            return FetchResponse(error_code=INVALID_FETCH_SESSION_EPOCH)
        for behind in self.without_end:
            # Other partitions have records, so that this one is answered without having waited long enough.
            behind.error_code = OFFSET_NOT_AVAILABLE
            behind.high_watermark = -1
            behind.last_stable_offset = -1
        topics: list[FetchableTopicResponse] = []
        served: list[Wanted] = []
        topic: FetchableTopicResponse | None = None
        for wanted, data in zip(plan.wanted, self.results, strict=True):
            if plan.session is not None:
                news = wanted.has_news(data)
                if plan.incremental and not news:
                    continue
                if data.records is not None and data.records.end > data.records.start:
                    served.append(wanted)
            if topic is None or topic.topic_id != wanted.topic_id or topic.topic != wanted.topic:
                topic = FetchableTopicResponse(topic=wanted.topic, topic_id=wanted.topic_id, partitions=[])
                topics.append(topic)
            topic.partitions.append(data)
            if self.replica_id >= 0 and data.records is not None:
                self._count_throttled(wanted, data.records)
        if plan.watching is not None:
            plan.watching.look_again(self.left_over)
        elif plan.session is not None and served:
            move_to_end(plan.session, served)
        response = FetchResponse(session_id=plan.session_id(), responses=topics)
        if self.failed and self.version >= LEADERS_FROM_VERSION:
            response.node_endpoints = self._leaders()
        return response

    def _count_throttled(self, wanted: Wanted, records: RecordBytes) -> None:
        partition = self._find(wanted)
        if partition is not None and partition.is_leader_throttled and records.end > records.start:
            replicas = self.broker.replicas
            replicas.leader_quota.record(records.end - records.start, replicas.time_ms())

    def _leaders(self) -> list[NodeEndpoint]:
        ids = [data.current_leader.leader_id for data in self.results if data.current_leader is not None]
        return [
            NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in leader_nodes(self.broker, self.listener, ids)
        ]
