"""Fetches partitions from their leaders, one at a time, and sends the next request in advance.

`PartitionFetcher.fetch` finds the leader and asks it. It asks again, with fresh metadata and growing pauses,
while the error is temporary. `fetch_ahead` sends the next request without waiting, so that the broker reads
its log while this process decodes. `fetch` takes that answer if it is the right one.
"""

from collections.abc import Callable
from typing import NamedTuple

from gralha.client.cluster import UNKNOWN_TOPIC_CODES, Cluster, Retry
from gralha.client.connection import Begun, Connection
from gralha.client.denials import how_to_allow
from gralha.client.errors import (
    ClientError,
    ConnectionFailedError,
    OffsetsLostError,
    TopicDeletedError,
    TopicRecreatedError,
    UnansweredError,
)
from gralha.client.partition_calls import PartitionCalls
from gralha.client.settings import ClientSettings
from gralha.client.values import EARLIEST, LATEST, ListedOffset, TopicPartition
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from gralha.protocol.primitives import ZERO_UUID

# Errors that fresh metadata can fix, in addition to retriable errors.
_LOOK_AGAIN = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_ID,
)
# How long the brokers may not know a topic with a known id before it counts as deleted.
DELETED_TOPIC_PATIENCE_MS = 5_000
# The first version that identifies topics by id.
_TOPIC_ID_VERSION = 13


class _Ahead(NamedTuple):
    """A request that was sent and whose answer was not read yet."""

    partition: TopicPartition
    offset: int
    connection: Connection
    begun: Begun


class PartitionFetcher:
    """Fetches record batches for readers. One request is under way at a time."""

    def __init__(self, cluster: Cluster, settings: ClientSettings, sleep: Callable[[float], None]) -> None:
        self._cluster = cluster
        self._settings = settings
        self._sleep = sleep
        self._topic_ids: dict[str, bytes] = {}
        self._is_hopeful = cluster.waits_for_first_answer
        self._ahead: _Ahead | None = None
        self._connections: dict[int, Connection] = {}

    def fetch(self, partition: TopicPartition, offset: int, topic_id: bytes | None = None) -> PartitionData:
        """Record batches from an offset on, or none if there are none within fetch.max.wait.ms.

        Raises OffsetsLostError if the log does not have the offset, TopicRecreatedError if the topic has
        another id than `topic_id`, TopicDeletedError if the topic does not exist. Raises other errors if they
        last longer than default.api.timeout.ms.
        """
        patience_ms = None if topic_id is None else DELETED_TOPIC_PATIENCE_MS
        retry = Retry(self._settings.default_api_timeout_ms, self._sleep, patience_ms)
        while True:
            error: Exception
            try:
                return self._attempt(partition, offset, topic_id)
            except KafkaError as refused:
                if refused.code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    self._explain_range(partition, offset)
                elif not (retry.is_due(refused, False) or refused.code in _LOOK_AGAIN):
                    raise self._explained(partition, refused) from refused
                error = refused
            except (ConnectionFailedError, UnansweredError) as lost:
                error = lost
            # A cluster that never answered gets no second attempt, because its address is probably wrong.
            if not self._is_hopeful or not retry.pause():
                raise error if isinstance(error, ClientError) else self._explained(partition, error)
            self._cluster.forget()
            self._topic_ids.pop(partition.topic, None)
            # A broker may come back at another address.
            self.close()

    def fetch_ahead(self, partition: TopicPartition, offset: int) -> None:
        """Sends the next request of `fetch` in advance. If that fails, `fetch` reports it."""
        self.drop_ahead()
        try:
            self._ahead = self._begin(partition, offset)
        except (ClientError, KafkaError):
            self._ahead = None

    def drop_ahead(self) -> None:
        """Closes the connection of a request in advance, because its answer is not needed."""
        if self._ahead is not None:
            self._ahead.connection.close()
            self._ahead = None

    def _attempt(self, partition: TopicPartition, offset: int, topic_id: bytes | None) -> PartitionData:
        ahead = self._ahead
        if ahead is None or ahead.partition != partition or ahead.offset != offset:
            self.drop_ahead()
            self._check_topic(partition, topic_id)
            ahead = self._begin(partition, offset)
        self._ahead = None
        response = ahead.connection.complete(ahead.begun, FetchResponse)
        if response.error_code != ErrorCode.NONE:
            raise error_for(response.error_code)
        for topic in response.responses:
            for answer in topic.partitions:
                if answer.error_code != ErrorCode.NONE:
                    raise error_for(answer.error_code)
                return answer
        raise error_for(ErrorCode.UNKNOWN_SERVER_ERROR, "The broker's answer does not have the partition.")

    def _begin(self, partition: TopicPartition, offset: int) -> _Ahead:
        leader = self._cluster.leaders([partition])[partition]
        if isinstance(leader, KafkaError):
            raise leader
        connection = self._connection_to(leader)
        # Without a topic id the request uses the name.
        topic_id = self._topic_ids.get(partition.topic, ZERO_UUID)
        max_version = None if topic_id != ZERO_UUID else _TOPIC_ID_VERSION - 1
        begun = connection.begin(self._request(partition, offset, topic_id), max_version=max_version)
        return _Ahead(partition, offset, connection, begun)

    def _connection_to(self, leader: int) -> Connection:
        """A connection for fetches only, because their answers are read later."""
        connection = self._connections.get(leader)
        if connection is None or connection.closed:
            connection = self._connections[leader] = self._cluster.own_connection_to(leader)
        return connection

    def close(self) -> None:
        """Closes the connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _request(self, partition: TopicPartition, offset: int, topic_id: bytes) -> FetchRequest:
        settings = self._settings
        asked = FetchPartition(
            partition=partition.partition,
            fetch_offset=offset,
            partition_max_bytes=min(settings.max_partition_fetch_bytes, settings.fetch_max_bytes),
        )
        return FetchRequest(
            max_wait_ms=settings.fetch_max_wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_max_bytes,
            isolation_level=int(settings.is_read_committed),
            topics=[FetchTopic(topic=partition.topic, topic_id=topic_id, partitions=[asked])],
        )

    def _check_topic(self, partition: TopicPartition, wanted: bytes | None) -> None:
        """Learns the id of the topic, and raises TopicRecreatedError if the caller means another topic."""
        known = self._topic_ids.get(partition.topic)
        if known is None or _are_two(wanted, known):
            # The known id may be older than a new topic with the same name.
            known = self._learn_topic_id(partition.topic)
        if _are_two(wanted, known):
            raise TopicRecreatedError(partition.topic)

    def _learn_topic_id(self, name: str) -> bytes:
        found = self._cluster.metadata([name])
        self._is_hopeful = True
        for topic in found.topics:
            if topic.error_code != ErrorCode.NONE:
                raise error_for(topic.error_code)
            self._topic_ids[topic.name or ""] = topic.topic_id
        return self._topic_ids[name]

    def _explain_range(self, partition: TopicPartition, offset: int) -> None:
        """Raises OffsetsLostError unless the log has the offset, which may happen with a new leader."""
        start, end = self.log_range(partition)
        if not start <= offset <= end:
            raise OffsetsLostError(partition.topic, partition.partition, offset, start, end)

    def log_range(self, partition: TopicPartition) -> tuple[int, int]:
        """The first offset of the log, and the end of what this reader may see."""
        calls = PartitionCalls(self._cluster)
        found: list[int] = []
        for question in (EARLIEST, LATEST):
            answers = calls.list_offsets(
                {partition: question}, read_committed=self._settings.is_read_committed
            )
            answer = answers[partition]
            if not isinstance(answer, ListedOffset):
                raise self._explained(partition, answer)
            found.append(answer.offset)
        return found[0], found[1]

    def _explained(self, partition: TopicPartition, error: Exception) -> ClientError:
        if isinstance(error, KafkaError) and error.code in UNKNOWN_TOPIC_CODES:
            return TopicDeletedError(partition.topic, partition.partition)
        code = error.code if isinstance(error, KafkaError) else ErrorCode.NONE
        advice = how_to_allow(code, partition.topic, "READ", self._settings.security)
        return ClientError(f"{partition} cannot be read: {error}{advice}")


def _are_two(wanted: bytes | None, known: bytes) -> bool:
    """Returns True if the ids are of two topics. A broker may not know ids."""
    return wanted is not None and ZERO_UUID not in (wanted, known) and wanted != known
