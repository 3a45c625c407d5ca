"""What a follower fetches from one leader: which partitions, from where, and what it does with the answers.

No I/O but appends to logs, which never wait. A partition is in one of these states:

    ready      the next request asks for it (once it is flushed, where flush.messages wants that)
    asked      a request is out
    delayed    after an error, until a time
    working    its log is being cut, or the leader is asked where its log begins: `resumed` ends that

A request says where our log ends and in which leader epoch that was written; a leader with another history
answers where the two part (KIP-595), and we cut our log there: never at the high watermark, which is old news
(KIP-101). An answer counts only if the partition has the leader epoch and the end it was asked with.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from gralha.replication.partition import Partition
from gralha.storage.disk import DiskError

FIRST_BACKOFF_MS: Final = 20
NO_SESSION_EPOCH: Final = -1
NO_EPOCH: Final = -1

PartitionKey = tuple[bytes, int]


class FetchSettings(NamedTuple):
    """Kafka's `replica.fetch.*` settings."""

    wait_max_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 1_048_576
    response_max_bytes: int = 10_485_760
    backoff_ms: int = 1_000
    timeout_ms: int = 30_000


class Following:
    """One partition that is followed, in one leader epoch."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.asked_offset = -1
        self.is_asked = False
        self.is_working = False
        self.resume_ms = 0
        self.failures = 0

    @property
    def key(self) -> PartitionKey:
        return self.partition.topic_id, self.partition.index

    def is_idle(self) -> bool:
        return not self.is_asked and not self.is_working

    def is_ready(self, now_ms: int) -> bool:
        """To ask for the next record vouches for the last: flush.messages may want that on the disk first."""
        if not self.is_idle() or self.resume_ms > now_ms:
            return False
        return self.partition.acknowledged_offset() >= self.partition.log.log_end_offset


class Poll(NamedTuple):
    """A request, and the partitions that it asks for."""

    request: FetchRequest
    asked: dict[PartitionKey, Following]


class Truncate(NamedTuple):
    """The log has to be cut at the offset, in a thread."""

    following: Following
    offset: int


class FindRange(NamedTuple):
    """The leader has to be asked where its log begins and ends: ours ends outside of it."""

    following: Following


Work = Truncate | FindRange


class FetchState:
    def __init__(self, broker_id: int, broker_epoch: Callable[[], int], settings: FetchSettings) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._settings = settings
        # Who was answered with records goes last, so that all get their turn.
        self.partitions: dict[PartitionKey, Following] = {}

    # Which partitions

    def follow(self, partition: Partition) -> None:
        """Fetch the partition in the leader epoch that it has now; what is under way counts no more."""
        known = self.partitions.get((partition.topic_id, partition.index))
        if known is None or known.partition is not partition or known.leader_epoch != partition.leader_epoch:
            self.partitions[partition.topic_id, partition.index] = Following(partition)

    def forget(self, partition: Partition) -> None:
        self.partitions.pop((partition.topic_id, partition.index), None)

    def is_current(self, following: Following) -> bool:
        """Whether it is still this leader, in this epoch, that is followed. To be asked after every await."""
        return (
            self.partitions.get(following.key) is following
            and following.partition.leader_epoch == following.leader_epoch
            and not following.partition.is_leader()
        )

    # Asking

    def has_ready(self, now_ms: int) -> bool:
        return any(one.is_ready(now_ms) for one in self.partitions.values())

    def next_resume_ms(self, now_ms: int) -> int | None:
        """When the first of the delayed ones is ready again."""
        delayed = [
            one.resume_ms for one in self.partitions.values() if one.is_idle() and one.resume_ms > now_ms
        ]
        return min(delayed, default=None)

    def next_request(self, now_ms: int) -> Poll | None:
        """Ask for all that are ready; None if there are none."""
        ready = {key: one for key, one in self.partitions.items() if one.is_ready(now_ms)}
        if not ready:
            return None
        topics: dict[bytes, FetchTopic] = {}
        for one in ready.values():
            partition = one.partition
            topic = topics.get(partition.topic_id)
            if topic is None:
                topic = FetchTopic(topic=partition.topic, topic_id=partition.topic_id, partitions=[])
                topics[partition.topic_id] = topic
            topic.partitions.append(self._ask_for(one))
        request = FetchRequest(
            replica_state=ReplicaState(replica_id=self._broker_id, replica_epoch=self._broker_epoch()),
            max_wait_ms=self._settings.wait_max_ms,
            min_bytes=self._settings.min_bytes,
            max_bytes=self._settings.response_max_bytes,
            session_epoch=NO_SESSION_EPOCH,
            topics=list(topics.values()),
        )
        return Poll(request, ready)

    def _ask_for(self, following: Following) -> FetchPartition:
        log = following.partition.log
        following.is_asked = True
        following.asked_offset = log.log_end_offset
        return FetchPartition(
            partition=following.partition.index,
            current_leader_epoch=following.leader_epoch,
            fetch_offset=log.log_end_offset,
            last_fetched_epoch=log.latest_epoch,
            log_start_offset=log.log_start_offset,
            partition_max_bytes=self._settings.max_bytes,
        )

    # Answers

    def failed(self, poll: Poll, now_ms: int) -> None:
        """No answer came."""
        for following in poll.asked.values():
            following.is_asked = False
            self.delay(following, now_ms)

    def delay(self, following: Following, now_ms: int) -> None:
        """Try again later: soon at first, since most errors are about a leader that does not know it yet."""
        pause_ms = min(FIRST_BACKOFF_MS << min(following.failures, 16), self._settings.backoff_ms)
        following.failures += 1
        following.resume_ms = now_ms + pause_ms

    def answered(self, poll: Poll, response: FetchResponse, now_ms: int, clock_ms: int) -> list[Work]:
        """Append what came; the work that is left takes threads or questions, and ends with `resumed`.

        `now_ms` counts for delays, `clock_ms` is the wall-clock time.
        """
        if response.error_code:
            self.failed(poll, now_ms)
            return []
        work: list[Work] = []
        answers = _by_key(response.responses)
        for key, following in poll.asked.items():
            following.is_asked = False
            if not self.is_current(following):
                continue
            data = answers.get(key)
            if data is None:
                self.delay(following, now_ms)
                continue
            task = self._take(following, data, now_ms, clock_ms)
            if task is not None:
                following.is_working = True
                work.append(task)
        return work

    def _take(self, following: Following, data: PartitionData, now_ms: int, clock_ms: int) -> Work | None:
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return FindRange(following)
        if data.error_code:
            self.delay(following, now_ms)
            return None
        partition = following.partition
        if partition.log.log_end_offset != following.asked_offset:
            return None
        diverging = data.diverging_epoch
        if diverging is not None and diverging.epoch != NO_EPOCH:
            return Truncate(following, partition.truncation_offset(diverging.epoch, diverging.end_offset))
        try:
            partition.append_as_follower(data.records, data.high_watermark, data.log_start_offset, clock_ms)
        except (KafkaError, DiskError) as error:
            if isinstance(error, DiskError) and error.is_fatal:
                raise
            self.delay(following, now_ms)
            return None
        following.failures = 0
        if partition.log.log_end_offset != following.asked_offset:
            self.partitions[following.key] = self.partitions.pop(following.key)
        return None

    def resumed(self, following: Following, now_ms: int, succeeded: bool) -> None:
        """The work on a partition is done, or has failed."""
        following.is_working = False
        if not succeeded:
            self.delay(following, now_ms)


def _by_key(topics: list[FetchableTopicResponse]) -> dict[PartitionKey, PartitionData]:
    return {(topic.topic_id, one.partition_index): one for topic in topics for one in topic.partitions}


def cut_to_range(log_end_offset: int, leader_start_offset: int, leader_end_offset: int) -> tuple[int, bool]:
    """Where to cut a log that ends outside of the leader's, and whether all of it goes.

    One that ends after the leader's is cut at the leader's end. One that ends before the leader's begins
    has nothing that the leader still has: it begins anew where the leader's does.
    """
    if leader_end_offset < log_end_offset:
        return leader_end_offset, False
    if leader_start_offset > log_end_offset:
        return leader_start_offset, True
    return log_end_offset, False
