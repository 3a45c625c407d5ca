"""Sends record batches to the leaders of their partitions: pipelined, in order, and again until acknowledged.

Every partition has a queue. A request to a broker takes the first batch of each queue that the broker leads,
and up to five requests to a broker are under way at once. If a batch fails with a temporary error, its
partition sends nothing until all its requests have been answered. Then all failed batches are sent again, in
the old order and with the old sequence numbers, so that the broker can recognize duplicates. For the same
reason all requests of a partition go to one broker at a time. The very first batch of a partition is sent
alone, because a broker that does not know the producer accepts any sequence number first.

There is one thread with blocking sockets, but the brokers still work in parallel: each gets its requests, and
this process waits for an answer only if a broker has five requests, if the memory is full (`make_room`), or
if everything must be acknowledged.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from gralha.client.cluster import UNKNOWN_TOPIC_CODES, Cluster
from gralha.client.connection import Begun, Connection, answered
from gralha.client.denials import how_to_allow
from gralha.client.errors import (
    ClientError,
    ConnectionFailedError,
    DeliveryError,
    DeliveryRefusedError,
    UnansweredError,
)
from gralha.client.settings import ClientSettings
from gralha.client.values import TopicPartition
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from gralha.protocol.primitives import ZERO_UUID, RecordBytes

# The first version that identifies topics by id.
_TOPIC_ID_VERSION: Final = 13
# Errors that fresh metadata can fix, in addition to retriable errors.
_LOOK_AGAIN: Final = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)
# How long a topic may be unknown before it counts as deleted.
_UNKNOWN_TOPIC_PATIENCE_MS: Final = 5_000
# These errors are not retriable, but also not final: the new producer of a repeated task may succeed.
_OF_THIS_PRODUCER: Final = (
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.TRANSACTION_ABORTABLE,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)
_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


class ProducedBatch:
    """A record batch to send. `base_offset` is -1 until the cluster has answered."""

    def __init__(self, data: bytes, count: int, deadline: float) -> None:
        self.data = data
        self.count = count
        self.deadline = deadline
        self.base_offset = -1
        self.last_error = ""


class PartitionQueue:
    """The batches of one partition: waiting, under way, and failed."""

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.waiting: deque[ProducedBatch] = deque()
        self.under_way: deque[ProducedBatch] = deque()
        self.failed: list[ProducedBatch] = []
        self.broker_id = -1
        self.not_before = 0.0
        self.failures = 0
        self.failing_since = 0.0
        # True once the partition has a batch of this producer. Then it knows the next sequence number.
        self.has_begun = False

    @property
    def is_empty(self) -> bool:
        return not (self.waiting or self.under_way or self.failed)

    def settle(self) -> None:
        """Puts failed batches back to the front when nothing is under way."""
        if self.failed and not self.under_way:
            self.waiting.extendleft(reversed(self.failed))
            self.failed.clear()


class _Request(NamedTuple):
    """A Produce request that was sent."""

    begun: Begun
    batches: list[tuple[PartitionQueue, ProducedBatch]]


class _Broker:
    """The requests under way to one broker."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.requests: deque[_Request] = deque()


class Sender:
    """Sends batches. `on_delivered` is called for each, in the order of its partition."""

    def __init__(
        self,
        cluster: Cluster,
        settings: ClientSettings,
        on_delivered: Callable[[TopicPartition, ProducedBatch], None],
        split: Callable[[ProducedBatch], list[ProducedBatch]],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._on_delivered = on_delivered
        self._split = split
        self._sleep = sleep
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._brokers: dict[int, _Broker] = {}
        self._topic_ids: dict[str, bytes] = {}
        self._transactional_id: str | None = None
        self._max_version: int | None = None
        # The bytes of all batches that are not under way: new ones, and failed ones.
        self.waiting_bytes = 0

    def learn_topic(self, topic: str, topic_id: bytes) -> None:
        self._topic_ids[topic] = topic_id

    def use_transactions(self, transactional_id: str, max_version: int | None) -> None:
        """From now on all batches are parts of transactions. `max_version` is that of Produce."""
        self._transactional_id = transactional_id
        self._max_version = max_version

    def begin_new_epoch(self) -> None:
        """The producer has a new epoch. The partitions do not know its sequence numbers yet."""
        for queue in self._queues.values():
            queue.has_begun = False

    def abandon(self) -> None:
        """Drops all batches. Waits for the answers under way, so that no batch arrives after this call."""
        for broker in self._brokers.values():
            for request in broker.requests:
                try:
                    broker.connection.complete(request.begun, ProduceResponse)
                except (UnansweredError, OSError):
                    break
        self.close()
        self._queues.clear()
        self.waiting_bytes = 0

    def add(self, partition: TopicPartition, batch: ProducedBatch) -> None:
        """Queues a batch. `pump` and `drain` send it."""
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = PartitionQueue(partition)
        queue.waiting.append(batch)
        self.waiting_bytes += len(batch.data)

    def pump(self) -> None:
        """Sends all batches that can be sent now. Waits only if a broker has enough requests."""
        while self._send_round():
            pass

    def make_room(self, max_bytes: int) -> None:
        """Sends and waits until at most this many bytes are waiting. Raises an error if a delivery fails."""
        while self.waiting_bytes > max_bytes:
            self.pump()
            if self.waiting_bytes > max_bytes:
                self._wait()

    def receive_answers(self, timeout_s: float = 0.0) -> None:
        """Reads the answers that are there. If there are none, waits this long for the first."""
        busy = [broker_id for broker_id, broker in self._brokers.items() if broker.requests]
        if not busy:
            if timeout_s > 0:
                self._sleep(timeout_s)
            return
        answered(timeout_s, [self._brokers[broker_id].connection for broker_id in busy])
        for broker_id in busy:
            while broker_id in self._brokers and self._brokers[broker_id].requests:
                if not answered(0, [self._brokers[broker_id].connection]):
                    break
                self._receive(broker_id)

    def drain(self) -> None:
        """Sends everything and waits until all is acknowledged."""
        self.pump()
        while not all(queue.is_empty for queue in self._queues.values()):
            self._wait()
            self.pump()

    def _wait(self) -> None:
        """Waits for an answer of each busy broker. If no broker is busy, waits for the next retry."""
        busy = [broker_id for broker_id, broker in self._brokers.items() if broker.requests]
        for broker_id in busy:
            self._receive(broker_id)
        if not busy:
            self._wait_for_retry()

    def close(self) -> None:
        """Closes the connections and gives up requests under way."""
        for broker in self._brokers.values():
            broker.connection.close()
        self._brokers.clear()

    # Sending

    def _send_round(self) -> bool:
        """Sends one request to each broker that has waiting batches. Returns True if there were any."""
        sendable = [queue for queue in self._queues.values() if self._is_sendable(queue)]
        if not sendable:
            return False
        sent = False
        for broker_id, queues in self._by_leader(sendable).items():
            sent = self._send_to(broker_id, queues) or sent
        return sent

    def _is_sendable(self, queue: PartitionQueue) -> bool:
        queue.settle()
        if not queue.waiting or queue.failed or (queue.under_way and not queue.has_begun):
            return False
        return time.monotonic() >= queue.not_before

    def _by_leader(self, queues: list[PartitionQueue]) -> dict[int, list[PartitionQueue]]:
        groups: dict[int, list[PartitionQueue]] = {}
        try:
            leaders = self._cluster.leaders([queue.partition for queue in queues])
        except (ConnectionFailedError, UnansweredError) as error:
            self._postpone(queues, str(error))
            return groups
        for queue in queues:
            leader = leaders[queue.partition]
            if isinstance(leader, KafkaError):
                if not _may_pass(queue, leader):
                    raise self._undeliverable(queue, leader)
                self._postpone([queue], str(leader))
            elif not queue.under_way or queue.broker_id == leader:
                groups.setdefault(leader, []).append(queue)
            elif queue.broker_id in self._brokers:
                # The leader has changed. The answers of the old leader must come first.
                self._receive(queue.broker_id)
        return groups

    def _send_to(self, broker_id: int, queues: list[PartitionQueue]) -> bool:
        broker = self._broker(broker_id, queues)
        if broker is None:
            return False
        if len(broker.requests) >= self._settings.max_in_flight_requests:
            self._receive(broker_id)
            return True
        batches = self._choose(queues)
        request = self._request(batches)
        for queue, batch in batches:
            queue.waiting.popleft()
            queue.under_way.append(batch)
            queue.broker_id = broker_id
            self.waiting_bytes -= len(batch.data)
        try:
            begun = broker.connection.begin(
                request,
                self._settings.request_timeout_ms,
                max_version=self._highest_version(request),
                has_answer=self._settings.acks != 0,
            )
        except UnansweredError as error:
            broker.requests.append(_Request(_NOTHING, batches))
            self._lose(broker_id, str(error))
            return True
        if self._settings.acks == 0:
            for queue, batch in batches:
                self._succeed(queue, batch, -1)
        else:
            broker.requests.append(_Request(begun, batches))
        return True

    def _broker(self, broker_id: int, queues: list[PartitionQueue]) -> _Broker | None:
        broker = self._brokers.get(broker_id)
        if broker is None:
            try:
                broker = self._brokers[broker_id] = _Broker(self._cluster.own_connection_to(broker_id))
            except ClientError as error:
                self._postpone(queues, str(error))
                return None
        return broker

    def _choose(self, queues: list[PartitionQueue]) -> list[tuple[PartitionQueue, ProducedBatch]]:
        """The first batch of each queue, as many as fit into one request. The oldest come first."""
        chosen: list[tuple[PartitionQueue, ProducedBatch]] = []
        room = self._settings.max_request_size
        for queue in sorted(queues, key=lambda queue: queue.waiting[0].deadline):
            batch = queue.waiting[0]
            if chosen and len(batch.data) > room:
                continue
            room -= len(batch.data)
            chosen.append((queue, batch))
        return chosen

    def _request(self, batches: list[tuple[PartitionQueue, ProducedBatch]]) -> ProduceRequest:
        topics: dict[str, TopicProduceData] = {}
        for queue, batch in batches:
            name = queue.partition.topic
            if name not in topics:
                topics[name] = TopicProduceData(
                    name=name, topic_id=self._topic_ids.get(name, ZERO_UUID), partition_data=[]
                )
            topics[name].partition_data.append(
                PartitionProduceData(
                    index=queue.partition.partition, records=RecordBytes(batch.data, 0, len(batch.data))
                )
            )
        return ProduceRequest(
            transactional_id=self._transactional_id,
            acks=self._settings.acks,
            timeout_ms=self._settings.request_timeout_ms,
            topic_data=list(topics.values()),
        )

    def _highest_version(self, request: ProduceRequest) -> int | None:
        if all(topic.topic_id != ZERO_UUID for topic in request.topic_data):
            return self._max_version
        by_name = _TOPIC_ID_VERSION - 1
        return by_name if self._max_version is None else min(by_name, self._max_version)

    # Answers

    def _receive(self, broker_id: int) -> None:
        """Waits for the oldest answer of a broker."""
        broker = self._brokers[broker_id]
        if not broker.requests:
            return
        request = broker.requests[0]
        try:
            response = broker.connection.complete(request.begun, ProduceResponse)
        except UnansweredError as error:
            self._lose(broker_id, str(error))
            return
        broker.requests.popleft()
        names = {topic_id: name for name, topic_id in self._topic_ids.items()}
        answers = {
            (topic.name or names.get(topic.topic_id, ""), answer.index): answer
            for topic in response.responses
            for answer in topic.partition_responses
        }
        for queue, batch in request.batches:
            self._judge(queue, batch, answers.get((queue.partition.topic, queue.partition.partition)))

    def _lose(self, broker_id: int, reason: str) -> None:
        """The connection broke. The batches of its requests may have been written, so all are sent again."""
        broker = self._brokers.pop(broker_id)
        broker.connection.close()
        for request in broker.requests:
            for queue, batch in request.batches:
                self._fail(queue, batch, reason)

    def _judge(
        self, queue: PartitionQueue, batch: ProducedBatch, answer: PartitionProduceResponse | None
    ) -> None:
        if answer is None:
            self._fail(queue, batch, "the broker's answer does not have the partition")
            return
        code = answer.error_code
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self._succeed(queue, batch, answer.base_offset if code == ErrorCode.NONE else -1)
            return
        error = error_for(code, answer.error_message or None)
        # After a failed batch the broker misses its sequence numbers, so all later batches fail, too.
        follows_failure = bool(queue.failed) and code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if code in _TOO_LARGE and batch.count > 1:
            halves = self._split(batch)
            queue.under_way.remove(batch)
            queue.failed.extend(halves)
            self.waiting_bytes += sum(len(half.data) for half in halves)
        elif follows_failure or _may_pass(queue, error):
            self._fail(queue, batch, str(error))
        else:
            raise self._undeliverable(queue, error)

    def _succeed(self, queue: PartitionQueue, batch: ProducedBatch, base_offset: int) -> None:
        queue.under_way.remove(batch)
        queue.failures = 0
        queue.has_begun = True
        batch.base_offset = base_offset
        self._on_delivered(queue.partition, batch)

    def _fail(self, queue: PartitionQueue, batch: ProducedBatch, reason: str) -> None:
        queue.under_way.remove(batch)
        if not queue.failed:
            self._postpone([queue], reason)
        batch.last_error = reason
        queue.failed.append(batch)
        self.waiting_bytes += len(batch.data)
        if time.monotonic() > batch.deadline:
            raise self._too_late(queue, batch)

    def _postpone(self, queues: list[PartitionQueue], reason: str) -> None:
        """Asks for fresh metadata, and pauses these queues for a time that grows with each failure."""
        self._cluster.forget()
        now = time.monotonic()
        for queue in queues:
            pause_ms = min(
                self._settings.retry_backoff_ms * 2 ** min(queue.failures, 10),
                self._settings.retry_backoff_max_ms,
            )
            if queue.failures == 0:
                queue.failing_since = now
            queue.failures += 1
            queue.not_before = now + pause_ms / 1000
            if queue.waiting:
                queue.waiting[0].last_error = reason
                if now > queue.waiting[0].deadline:
                    raise self._too_late(queue, queue.waiting[0])

    def _wait_for_retry(self) -> None:
        moments = [queue.not_before for queue in self._queues.values() if not queue.is_empty]
        pause = min(moments) - time.monotonic()
        if pause > 0:
            self._sleep(pause)

    def _too_late(self, queue: PartitionQueue, batch: ProducedBatch) -> DeliveryError:
        return DeliveryError(
            queue.partition.topic,
            queue.partition.partition,
            f"not within delivery.timeout.ms={self._settings.delivery_timeout_ms}. {batch.last_error}",
        )

    def _undeliverable(self, queue: PartitionQueue, error: KafkaError) -> DeliveryError:
        topic = queue.partition.topic
        reason = str(error) + how_to_allow(error.code, topic, "WRITE", self._settings.security)
        if error.code in UNKNOWN_TOPIC_CODES:
            reason = "the topic does not exist any more: it was deleted, or deleted and created again."
        return undelivered(topic, queue.partition.partition, error.code, reason)


_NOTHING: Final = Begun(0, 0, 0, 0)


def undelivered(topic: str | None, partition: int | None, code: int, reason: str) -> DeliveryError:
    """The error for records that the cluster did not accept, for good or temporarily."""
    may_be_taken_later = error_for(code).retriable or code in (*_LOOK_AGAIN, *_OF_THIS_PRODUCER)
    is_refused = code in UNKNOWN_TOPIC_CODES or not may_be_taken_later
    return (DeliveryRefusedError if is_refused else DeliveryError)(topic, partition, reason, code)


def _may_pass(queue: PartitionQueue, error: KafkaError) -> bool:
    if error.code in UNKNOWN_TOPIC_CODES and queue.failures > 0:
        return (time.monotonic() - queue.failing_since) * 1000 < _UNKNOWN_TOPIC_PATIENCE_MS
    return error.retriable or error.code in _LOOK_AGAIN
