"""What this broker fetches as a follower from one leader: which partitions, from where, and the answers.

No I/O but appends to logs, which never wait. A partition is in one of two states:

    loose      No request asks for it. It is new, or delayed after an error or by a throttle, or its log is
               being truncated, or not flushed yet (where flush.messages wants that).
    asked      A lane has it: its present request, or the next one, asks for the partition.

A request vouches for the records before its offsets. Where flush.messages is set, they must be flushed first.
So the last lane is for partitions with flush.messages, and asks again when all of them are flushed. If it
asked for the others meanwhile, a flushed partition would have to wait for the end of that long poll.

A lane is a fetch session with the leader (KIP-227). Its requests name only partitions that have changed since
the last request, and its answers only those that have news. So a request costs as much as has changed, not as
much as is followed. If the leader has lost the session, or has no room for one, a request names
all partitions.

A request says where the log of each partition ends, and the leader epoch of that end. A leader with another
history answers where the two logs part (KIP-595), and this broker truncates its log there. An answer counts
only if the partition still has the leader epoch and the end of the request.
"""

import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from gralha.protocol.batches import NO_LEADER_EPOCH
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.fetch_numbers import INITIAL_EPOCH, NO_SESSION
from gralha.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from gralha.protocol.primitives import RecordBytes
from gralha.replication.partition import NEVER, Partition
from gralha.replication.quota import ReplicationQuota
from gralha.storage.disk import DiskError

log: Final = logging.getLogger("gralha.replication")

FIRST_BACKOFF_MS: Final = 20
MAX_INT32: Final = 0x7FFFFFFF
# Retention moves the start of a log without telling anybody. The leader hears of it after this time at most.
CHECK_ALL_MS: Final = 5_000
# A partition that cannot append says so once in this many tries: about once a minute.
FAILURES_BETWEEN_LINES: Final = 60
# How soon a throttled partition is looked at again.
THROTTLED_MS: Final = 50
_SESSION_ERRORS: Final = (
    int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
    int(ErrorCode.INVALID_FETCH_SESSION_EPOCH),
    int(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
)

PartitionKey = tuple[bytes, int]


class FetchSettings(NamedTuple):
    """Kafka's `replica.fetch.*` settings."""

    wait_max_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 1_048_576
    response_max_bytes: int = 10_485_760
    backoff_ms: int = 1_000
    timeout_ms: int = 30_000


class FetchedPartition:
    """A partition that this broker fetches, in one leader epoch."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.key: PartitionKey = (partition.topic_id, partition.index)
        self.leader_epoch: int = partition.leader_epoch
        # What the last request said: where the log ends, the epoch of that end, and where the log starts.
        self.asked_offset: int = -1
        self.asked_epoch: int = -1
        self.asked_start: int = -1
        self.is_working: bool = False
        self.resume_ms: int = 0
        self.failures: int = 0
        self.is_in_sync: bool = False  # according to the last answer

    def may_be_asked_for(self, now_ms: int) -> bool:
        return not self.is_working and self.resume_ms <= now_ms and self.is_flushed()

    def is_flushed(self) -> bool:
        """Whether this replica vouches for all its records. Some may have to be flushed first."""
        return self.partition.acknowledged_offset() >= self.partition.log.log_end_offset

    def must_flush(self) -> bool:
        """Whether the topic has flush.messages."""
        return self.partition.log.config.flush_messages != NEVER

    def has_news(self) -> bool:
        """Whether the leader does not know yet where the log starts or ends."""
        partition_log = self.partition.log
        return (
            partition_log.log_end_offset != self.asked_offset
            or partition_log.latest_epoch != self.asked_epoch
            or partition_log.log_start_offset != self.asked_start
        )


class Lane:
    """One fetch session. It has at most one request under way."""

    def __init__(self, number: int, is_last: bool) -> None:
        self.number = number
        self.is_last = is_last
        self.session_id: int = NO_SESSION
        self.epoch: int = INITIAL_EPOCH
        self.is_polling: bool = False
        # The partitions of the session; those that the next request must look at; those that left it.
        self.partitions: dict[PartitionKey, FetchedPartition] = {}
        self.touched: dict[PartitionKey, None] = {}
        self.forgotten: dict[PartitionKey, None] = {}
        # The partitions that must be flushed before the next request.
        self.unflushed: dict[PartitionKey, FetchedPartition] = {}
        self.checked_ms: int = 0

    def is_free(self) -> bool:
        """Whether the next request may leave now."""
        if self.is_polling:
            return False
        if self.unflushed:
            for key, fetched in list(self.unflushed.items()):
                if fetched.is_flushed() or self.partitions.get(key) is not fetched:
                    del self.unflushed[key]
        return not self.unflushed

    def fits(self, fetched: FetchedPartition) -> bool:
        """Whether the partition may join. With a single lane, all may."""
        return self.is_last == fetched.must_flush() or (self.is_last and self.number == 0)

    def reset(self) -> None:
        """Begin a new session. The old id tells the leader which session it may forget."""
        self.epoch = INITIAL_EPOCH
        self.forgotten = {}

    def next_epoch(self) -> None:
        self.epoch = self.epoch + 1 if self.epoch < MAX_INT32 else 1


class Poll:
    """A request and its lane."""

    def __init__(self, request: FetchRequest, lane: Lane, asked: list[FetchedPartition]) -> None:
        self.request = request
        self.lane = lane
        # The partitions that the request names.
        self.asked = asked


class Truncate(NamedTuple):
    """The log has to be truncated at the offset, in a thread."""

    fetched: FetchedPartition
    offset: int


class FindRange(NamedTuple):
    """The log ends outside of the leader's log: the leader has to say where that begins and ends."""

    fetched: FetchedPartition


class BeginInside(NamedTuple):
    """The leader's log starts inside of a batch (DeleteRecords), and this log is empty.

    It has to begin with that batch, before its own start, and gets these records again after that.
    """

    fetched: FetchedPartition
    offset: int
    data: PartitionData


Work = Truncate | FindRange | BeginInside


class FetchState:
    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        settings: FetchSettings,
        lanes: int = 1,
        quota: ReplicationQuota | None = None,
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._settings = settings
        self._quota = ReplicationQuota() if quota is None else quota
        self.partitions: dict[PartitionKey, FetchedPartition] = {}
        self.loose: dict[PartitionKey, FetchedPartition] = {}
        self.lanes: list[Lane] = [Lane(number, number == lanes - 1) for number in range(lanes)]

    # Which partitions

    def follow(self, partition: Partition) -> None:
        """Fetch the partition in its present leader epoch. Answers to older requests do not count."""
        key = (partition.topic_id, partition.index)
        known = self.partitions.get(key)
        if known is None or known.partition is not partition or known.leader_epoch != partition.leader_epoch:
            self._drop(key)
            self.partitions[key] = self.loose[key] = FetchedPartition(partition)

    def forget(self, partition: Partition) -> None:
        key = (partition.topic_id, partition.index)
        if self.partitions.pop(key, None) is not None:
            self._drop(key)

    def _drop(self, key: PartitionKey) -> None:
        """Take the partition out of its lane. The next request of the lane says so."""
        self.loose.pop(key, None)
        for lane in self.lanes:
            if lane.partitions.pop(key, None) is not None:
                lane.forgotten[key] = None

    def _leave(self, lane: Lane, fetched: FetchedPartition) -> None:
        """Do not ask for the partition for the time being."""
        del lane.partitions[fetched.key]
        lane.forgotten[fetched.key] = None
        self.loose[fetched.key] = fetched

    def is_current(self, fetched: FetchedPartition) -> bool:
        """Whether the leader and its epoch are still the same. Ask this after every await."""
        return (
            self.partitions.get(fetched.key) is fetched
            and fetched.partition.leader_epoch == fetched.leader_epoch
            and not fetched.partition.is_leader()
        )

    # Asking

    def free_lane(self, now_ms: int) -> Lane | None:
        """A lane that has something to ask for, preferably one with a session."""
        found: Lane | None = None
        ready = [one for one in self.loose.values() if one.may_be_asked_for(now_ms)]
        for lane in self.lanes:
            if not lane.is_free():
                continue
            if lane.partitions:
                return lane
            if found is None and any(lane.fits(one) for one in ready):
                found = lane
        return found

    def next_resume_ms(self, now_ms: int) -> int | None:
        """When the first of the delayed partitions is ready again."""
        first: int | None = None
        for one in self.loose.values():
            if not one.is_working and one.resume_ms > now_ms and (first is None or one.resume_ms < first):
                first = one.resume_ms
        return first

    def next_request(self, now_ms: int, lane: Lane | None = None) -> Poll | None:
        """A request for all partitions that are ready; None if there are none, or if no lane is free."""
        if lane is None:
            lane = self.free_lane(now_ms)
        if lane is None or not lane.is_free():
            return None
        self._review(lane, now_ms)
        named = self._named(lane)
        self._take_loose(lane, named, now_ms)
        if not lane.partitions:
            # The next request closes the session, or the leader forgets it.
            lane.reset()
            return None
        lane.is_polling = True
        for one in named:
            self._note_asked(one)
        forgotten: list[PartitionKey] = []
        if lane.forgotten:
            # Some may have come back.
            forgotten = [key for key in lane.forgotten if key not in lane.partitions]
            lane.forgotten = {}
        request = FetchRequest(
            replica_state=ReplicaState(replica_id=self._broker_id, replica_epoch=self._broker_epoch()),
            max_wait_ms=self._settings.wait_max_ms,
            min_bytes=self._settings.min_bytes,
            max_bytes=self._settings.response_max_bytes,
            session_id=lane.session_id,
            session_epoch=lane.epoch,
            topics=self._topics(named),
            forgotten_topics_data=_forgotten_topics(forgotten) if forgotten else [],
        )
        return Poll(request, lane, named)

    def _review(self, lane: Lane, now_ms: int) -> None:
        """Take the partitions out of the lane that must not be asked for now."""
        if now_ms - lane.checked_ms >= CHECK_ALL_MS:
            lane.checked_ms = now_ms
            for key in lane.partitions:
                lane.touched[key] = None
        for key in lane.touched:
            one = lane.partitions.get(key)
            if one is not None and (self._is_throttled(one, now_ms) or not one.may_be_asked_for(now_ms)):
                self._leave(lane, one)

    def _is_throttled(self, fetched: FetchedPartition, now_ms: int) -> bool:
        """Whether the partition has to wait because too much is fetched for throttled replicas."""
        if (
            not fetched.partition.is_follower_throttled
            or fetched.is_in_sync
            or not self._quota.is_exceeded(now_ms)
        ):
            return False
        fetched.resume_ms = now_ms + THROTTLED_MS
        return True

    def _named(self, lane: Lane) -> list[FetchedPartition]:
        named: list[FetchedPartition] = []
        if lane.epoch == INITIAL_EPOCH:
            named.extend(lane.partitions.values())
        else:
            for key in lane.touched:
                one = lane.partitions.get(key)
                if one is not None and one.has_news():
                    named.append(one)
        lane.touched = {}
        return named

    def _take_loose(self, lane: Lane, named: list[FetchedPartition], now_ms: int) -> None:
        if not self.loose:
            return
        for one in [one for one in self.loose.values() if one.may_be_asked_for(now_ms)]:
            if not lane.fits(one) or self._is_throttled(one, now_ms):
                continue
            del self.loose[one.key]
            lane.partitions[one.key] = one
            named.append(one)

    def _note_asked(self, fetched: FetchedPartition) -> None:
        partition_log = fetched.partition.log
        fetched.asked_offset = partition_log.log_end_offset
        fetched.asked_epoch = partition_log.latest_epoch
        fetched.asked_start = partition_log.log_start_offset

    def _topics(self, named: list[FetchedPartition]) -> list[FetchTopic]:
        topics: dict[bytes, FetchTopic] = {}
        for one in named:
            partition = one.partition
            topic = topics.get(partition.topic_id)
            if topic is None:
                topic = FetchTopic(topic=partition.topic, topic_id=partition.topic_id, partitions=[])
                topics[partition.topic_id] = topic
            topic.partitions.append(
                FetchPartition(
                    partition=partition.index,
                    current_leader_epoch=one.leader_epoch,
                    fetch_offset=one.asked_offset,
                    last_fetched_epoch=one.asked_epoch,
                    log_start_offset=one.asked_start,
                    partition_max_bytes=self._settings.max_bytes,
                )
            )
        return list(topics.values())

    # Answers

    def failed(self, poll: Poll, now_ms: int) -> None:
        """No answer came. The leader may have heard the request or not, so the session is useless."""
        lane = poll.lane
        lane.is_polling = False
        lane.reset()
        for fetched in list(lane.partitions.values()):
            self.delay(fetched, now_ms)
            self._leave(lane, fetched)
        lane.touched = {}
        lane.forgotten = {}

    def delay(self, fetched: FetchedPartition, now_ms: int) -> None:
        """Try again later. The first pause is short: often the leader does not know yet that it leads."""
        pause_ms = min(FIRST_BACKOFF_MS << min(fetched.failures, 16), self._settings.backoff_ms)
        fetched.failures += 1
        fetched.resume_ms = now_ms + pause_ms

    def answered(self, poll: Poll, response: FetchResponse, now_ms: int, clock_ms: int) -> list[Work]:
        """Append the records of a response. Returns work for threads, or questions; each ends with `resumed`.

        `now_ms` counts for delays, `clock_ms` is the wall-clock time.
        """
        lane = poll.lane
        if response.error_code:
            if response.error_code in _SESSION_ERRORS and lane.epoch != INITIAL_EPOCH:
                # Nothing is wrong with the partitions: ask for all of them at once.
                lane.is_polling = False
                lane.reset()
            else:
                self.failed(poll, now_ms)
            return []
        lane.is_polling = False
        was_full = lane.epoch == INITIAL_EPOCH
        lane.session_id = response.session_id
        if response.session_id == NO_SESSION:
            lane.reset()
        else:
            lane.next_epoch()
        work: list[Work] = []
        answered: set[PartitionKey] = set()
        for topic in response.responses:
            for data in topic.partitions:
                key = (topic.topic_id, data.partition_index)
                if was_full:
                    answered.add(key)
                fetched = lane.partitions.get(key)
                if fetched is None or not self.is_current(fetched):
                    continue
                lane.touched[key] = None
                task = self._take(fetched, data, now_ms, clock_ms)
                if task is not None:
                    fetched.is_working = True
                    work.append(task)
                if fetched.is_working or fetched.resume_ms > now_ms:
                    self._leave(lane, fetched)
                elif fetched.partition.log.log_end_offset != fetched.asked_offset:
                    # A partition that got records goes last, so that all get their turn.
                    lane.partitions[key] = lane.partitions.pop(key)
                    if not fetched.is_flushed():
                        lane.unflushed[key] = fetched
        if was_full:
            self._miss(lane, answered, now_ms)
        return work

    def _miss(self, lane: Lane, answered: set[PartitionKey], now_ms: int) -> None:
        """Delay the partitions that are missing from an answer which should have all of them."""
        for fetched in list(lane.partitions.values()):
            if fetched.key not in answered:
                self.delay(fetched, now_ms)
                self._leave(lane, fetched)

    def _take(
        self, fetched: FetchedPartition, data: PartitionData, now_ms: int, clock_ms: int
    ) -> Work | None:
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return FindRange(fetched)
        if data.error_code:
            self.delay(fetched, now_ms)
            return None
        partition = fetched.partition
        following = partition.following
        if following is None or partition.log.log_end_offset != fetched.asked_offset:
            return None
        diverging = data.diverging_epoch
        if diverging is not None and diverging.epoch != NO_LEADER_EPOCH:
            offset = following.truncation_offset(diverging.epoch, diverging.end_offset)
            if offset < partition.log.log_end_offset:
                return Truncate(fetched, offset)
            # No record has to go, only epochs that have none.
            partition.log.truncate_to(offset)
            return None
        try:
            offset = following.offset_to_begin_at(data.records)
            if offset >= 0:
                return BeginInside(fetched, offset, _copy(data))
            following.append(data.records, data.high_watermark, data.log_start_offset, clock_ms)
        except (KafkaError, DiskError) as error:
            if isinstance(error, DiskError) and error.is_fatal:
                raise
            following.has_failed = True
            partition.counters.failed_follower_appends += 1
            self._log_failure(fetched, error)
            self.delay(fetched, now_ms)
            return None
        fetched.failures = 0
        fetched.is_in_sync = data.high_watermark <= partition.log.log_end_offset
        if partition.is_follower_throttled and data.records is not None:
            self._quota.record(data.records.end - data.records.start, now_ms)
        return None

    def begun_inside(self, work: BeginInside, clock_ms: int) -> None:
        """The log begins with the batch now: append the records."""
        following = work.fetched.partition.following
        if following is not None and self.is_current(work.fetched):
            data = work.data
            following.append(data.records, data.high_watermark, data.log_start_offset, clock_ms)

    def _log_failure(self, fetched: FetchedPartition, error: Exception) -> None:
        """Log the first failure, and one now and then while they go on."""
        if fetched.failures % FAILURES_BETWEEN_LINES == 0:
            partition = fetched.partition
            log.error(
                "%s-%d cannot append the records from offset %d on that broker %d sent, and tries again: %s",
                partition.topic,
                partition.index,
                fetched.asked_offset,
                partition.leader_id,
                error,
            )

    def resumed(self, fetched: FetchedPartition, now_ms: int, succeeded: bool) -> None:
        """The work on a partition has ended."""
        fetched.is_working = False
        if not succeeded:
            self.delay(fetched, now_ms)


def _forgotten_topics(keys: list[PartitionKey]) -> list[ForgottenTopic]:
    topics: dict[bytes, ForgottenTopic] = {}
    for topic_id, index in keys:
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = ForgottenTopic(topic_id=topic_id, partitions=[])
        topic.partitions.append(index)
    return list(topics.values())


def _copy(data: PartitionData) -> PartitionData:
    """What a log needs of a response, without the buffer of the response."""
    assert data.records is not None
    records = data.records.to_bytes()
    return PartitionData(
        high_watermark=data.high_watermark,
        log_start_offset=data.log_start_offset,
        records=RecordBytes(records, 0, len(records)),
    )


def truncation_to_range(
    log_end_offset: int, leader_start_offset: int, leader_end_offset: int
) -> tuple[int, bool]:
    """Where to truncate a log that ends outside of the leader's log, and whether all of it goes.

    A log that ends after the leader's log is truncated at the leader's end. A log that ends before the
    leader's log begins has no record that the leader still has: it begins anew where the leader's log does.
    """
    if leader_end_offset < log_end_offset:
        return leader_end_offset, False
    if leader_start_offset > log_end_offset:
        return leader_start_offset, True
    return log_end_offset, False
