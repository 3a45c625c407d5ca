"""What every Fetch request does: read its partitions, and make the response.

`Fetch.read` goes over the wanted partitions once. It never waits for the disk on the event loop: if the page
cache lacks the bytes, it stops, and the same read is done again in a thread.

max_bytes holds for the response and for each partition, except that the first partition with data gives at
least one whole batch (KIP-74).

What differs between a consumer (consumer.py) and a follower (follower.py): how far it may read, what it gets
instead of records, and which events wake it up (long_poll.py).
"""

import logging
from typing import Final

from mypy_extensions import mypyc_attr

from gralha.broker.broker import Broker
from gralha.broker.fetching.sessions import Plan
from gralha.broker.fetching.wanted import TOPIC_IDS_FROM_VERSION, Wanted, replica_of
from gralha.broker.handlers.current_leaders import current_leader, leader_nodes
from gralha.broker.pipeline import RequestContext
from gralha.metadata.image import TopicImage
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from gralha.protocol.primitives import RecordBytes
from gralha.replication.counters import TopicCounters
from gralha.replication.partition import Partition
from gralha.replication.subscriptions import Subscriber
from gralha.storage.disk import DiskError, WouldBlock

log = logging.getLogger("gralha.broker")

LEADERS_FROM_VERSION: Final = 16
EMPTY: Final = RecordBytes(b"", 0, 0)
# What a response holds in memory. A client that wants more asks again.
MAX_RESPONSE_BYTES: Final = 16 * 1024 * 1024
# Errors that a client can expect. Kafka does not count them as failed requests either.
EXPECTED_ERRORS: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.OFFSET_OUT_OF_RANGE,
)


@mypyc_attr(allow_interpreted_subclasses=True)
class Fetch:
    """One Fetch request."""

    def __init__(self, broker: Broker, context: RequestContext, request: FetchRequest, plan: Plan) -> None:
        self.broker = broker
        self.plan = plan
        self.version: int = context.api_version
        self.listener: str = context.peer.listener
        self.by_id: bool = context.api_version >= TOPIC_IDS_FROM_VERSION
        self.is_of_follower: bool = replica_of(request) >= 0
        self.max_wait_ms: int = request.max_wait_ms
        self.max_bytes: int = min(request.max_bytes, broker.config.fetch_max_bytes, MAX_RESPONSE_BYTES)
        self.min_bytes: int = min(request.min_bytes, self.max_bytes) if request.max_wait_ms > 0 else 0
        # Whether the response leaves after this read, with whatever there is.
        self.is_last_read: bool = self.min_bytes == 0
        # The topics that the client may not read, by id or by name as the request has them.
        self.refused: set[str | bytes] | None = None
        self._begin_read()

    def _begin_read(self) -> None:
        """Forget what an earlier read has found."""
        self.results: list[PartitionData] = []
        # The counters of the results' topics; None if the partition is not here.
        self.counters: list[TopicCounters | None] = []
        # Partitions that were read, and of each: up to where, and in which leader epoch.
        self.partitions: list[Partition] = []
        self.ends: list[int] = []
        self.epochs: list[int] = []
        self.bytes_read: int = 0
        # Whether the client must hear something at once that is no record: an error, another replica.
        self.has_answer: bool = False
        # Whether the page cache lacked something.
        self.is_cold: bool = False

    # For consumers and followers

    def begin(self) -> None:
        """Called on the event loop before the first read."""

    def begin_last_read(self) -> None:
        """Called on the event loop before the read after which the response leaves."""
        self.is_last_read = True

    def readable_end(self, partition: Partition) -> int:
        """The first offset that this client may not read."""
        raise NotImplementedError

    def read_partition(
        self, partition: Partition, wanted: Wanted, left_bytes: int, blocking: bool
    ) -> PartitionData:
        """What the client gets of one partition. Raises WouldBlock or a KafkaError."""
        raise NotImplementedError

    def read_more(self, partition: Partition, new_bytes: int) -> int:
        """How many of the new bytes this client may read."""
        return new_bytes

    def left_out(self, wanted: Wanted) -> None:
        """The partition gave something other than records, or was not read at all."""

    def subscribe(self, subscriber: Subscriber) -> None:
        """Tell the long poll what happens to the partitions."""
        raise NotImplementedError

    def unsubscribe(self, subscriber: Subscriber) -> None:
        raise NotImplementedError

    def abandoned(self) -> None:
        """The client is gone."""

    # Reading

    def read(self, blocking: bool) -> None:
        """Read all partitions of the plan. `is_cold` says that it stopped, not to wait for the disk."""
        self._begin_read()
        left_bytes = self.max_bytes
        refused = self.refused
        for wanted in self.plan.wanted:
            if refused is not None and (wanted.topic_id if self.by_id else wanted.topic) in refused:
                self.counters.append(None)
                self._fail(wanted, ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
                continue
            partition = self.find(wanted)
            self.counters.append(None if partition is None else partition.counters)
            if partition is None:
                self._fail(wanted, self._why_missing(wanted), None)
                continue
            try:
                data = self.read_partition(partition, wanted, left_bytes, blocking)
            except WouldBlock:
                self.is_cold = True
                return
            except KafkaError as error:
                self._fail(wanted, error.code, partition)
                continue
            except DiskError as failure:  # not `error`: compiled code gives a name one type in a function
                log.error("%s", failure)
                self._fail(wanted, ErrorCode.KAFKA_STORAGE_ERROR, partition)
                continue
            self.results.append(data)
            if data.records is not None:
                size: int = data.records.end - data.records.start
                self.bytes_read += size
                left_bytes = max(left_bytes - size, 0)

    def find(self, wanted: Wanted) -> Partition | None:
        """The partition, if this broker has a replica of it."""
        replicas = self.broker.replicas
        topic = replicas.by_id.get(wanted.topic_id) if self.by_id else replicas.by_name.get(wanted.topic)
        return None if topic is None else topic.get(wanted.index)

    def records_of(
        self, partition: Partition, wanted: Wanted, end_offset: int, left_bytes: int, blocking: bool
    ) -> RecordBytes:
        """The records of one partition. `left_bytes` says how much the response may still take."""
        is_first = self.bytes_read == 0
        if left_bytes == 0 and not is_first:
            self.left_out(wanted)
            return EMPTY
        max_bytes = min(wanted.max_bytes, left_bytes)
        records = partition.log.read(
            wanted.fetch_offset, max_bytes, end_offset, is_first, blocking, not blocking
        )
        if records.end == records.start and wanted.fetch_offset < end_offset:
            self.left_out(wanted)  # the first batch does not fit
        return records

    def note_read(self, partition: Partition, end_offset: int, leader_epoch: int) -> None:
        """Remember what the partition was when it was read."""
        self.partitions.append(partition)
        self.ends.append(end_offset)
        self.epochs.append(leader_epoch)

    def instead_of_records(self, wanted: Wanted, data: PartitionData) -> PartitionData:
        """The client must hear this at once."""
        self.has_answer = True
        self.left_out(wanted)
        return data

    def is_overtaken(self) -> bool:
        """Whether a partition changed while a thread read. Nobody has told that: the request did not wait."""
        for number, partition in enumerate(self.partitions):
            if (
                partition.leader_epoch != self.epochs[number]
                or self.readable_end(partition) != self.ends[number]
            ):
                return True
        return self.plan.is_stale()

    def is_enough(self) -> bool:
        """Whether the response leaves without waiting."""
        return self.has_answer or self.bytes_read >= self.min_bytes or not self.plan.wanted

    # Errors

    def _topic(self, wanted: Wanted) -> TopicImage | None:
        image = self.broker.image
        return image.topics_by_id.get(wanted.topic_id) if self.by_id else image.topics.get(wanted.topic)

    def _why_missing(self, wanted: Wanted) -> int:
        known = self._topic(wanted)
        if known is None:
            return ErrorCode.UNKNOWN_TOPIC_ID if self.by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self.broker.replicas.is_offline(known.name, wanted.index):
            return ErrorCode.KAFKA_STORAGE_ERROR
        if wanted.index in known.partitions:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def _fail(self, wanted: Wanted, error_code: int, partition: Partition | None) -> None:
        data = PartitionData(
            partition_index=wanted.index,
            error_code=error_code,
            high_watermark=-1,
            aborted_transactions=[],
            records=EMPTY,
        )
        if self.version >= LEADERS_FROM_VERSION and error_code in (
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.FENCED_LEADER_EPOCH,
        ):
            leader_id, leader_epoch = current_leader(partition, self._topic(wanted), wanted.index)
            data.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
        self.results.append(self.instead_of_records(wanted, data))

    # Answering

    def response(self) -> FetchResponse:
        """The results of the last read. An incremental request gets only those that are new."""
        plan = self.plan
        if plan.is_stale():
            return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        self._count()
        session = plan.session
        topics: list[FetchableTopicResponse] = []
        served: list[Wanted] = []
        topic: FetchableTopicResponse | None = None
        for wanted, data in zip(plan.wanted, self.results, strict=True):
            if session is not None:
                news = wanted.has_news(data)
                if plan.incremental and not news:
                    continue
                if data.records is not None and data.records.end > data.records.start:
                    served.append(wanted)
            if topic is None or topic.topic_id != wanted.topic_id or topic.topic != wanted.topic:
                topic = FetchableTopicResponse(topic=wanted.topic, topic_id=wanted.topic_id, partitions=[])
                topics.append(topic)
            topic.partitions.append(data)
        if session is not None and served:
            session.answered(served)
        response = FetchResponse(session_id=plan.session_id(), responses=topics)
        if self.has_answer and self.version >= LEADERS_FROM_VERSION:
            response.node_endpoints = self._leaders()
        return response

    def _count(self) -> None:
        for index, counters in enumerate(self.counters):
            if counters is None:
                continue
            data = self.results[index]
            counters.fetch_requests += 1
            if data.error_code and data.error_code not in EXPECTED_ERRORS:
                counters.failed_fetch_requests += 1
            records = data.records
            if records is None:
                continue
            if self.is_of_follower:
                counters.replication_bytes_out += records.end - records.start
            else:
                counters.bytes_out += records.end - records.start

    def _leaders(self) -> list[NodeEndpoint]:
        """Where the leaders are that the errors name (KIP-951)."""
        ids = [data.current_leader.leader_id for data in self.results if data.current_leader is not None]
        return [
            NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in leader_nodes(self.broker, self.listener, ids)
        ]
