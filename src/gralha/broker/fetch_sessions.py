"""Fetch sessions (KIP-227): a client names its partitions once, then only says what changed.

A session remembers what its client wants of each partition and what it was last told. An incremental
request updates the session; its response carries only the partitions that have something new. Epochs
number the requests of a session, so that a lost or doubled request is noticed. The cache holds a
bounded number of sessions; one that has been unused for a while, or is smaller than the newcomer, makes
room. No I/O: time comes in as an argument, session ids from the Random given.

A follower's session may hold thousands of partitions of which a few change from one request to the next. It
watches its partitions, notes which have changed, and looks at those only: a request costs as much as there is
to say. Now and then it looks at all, because the start of a log moves without a word.
"""

from collections.abc import Iterable
from random import Random
from typing import Final

from gralha.protocol.messages.fetch import FetchRequest, PartitionData
from gralha.replication.followers import FetchTimes
from gralha.replication.partition import Partition, Waiter, Watch

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
MAX_INT32: Final = 0x7FFFFFFF
TOPIC_IDS_FROM_VERSION: Final = 13
EVICTION_MS: Final = 120_000
LOOK_AT_ALL_MS: Final = 5_000
CONSUMER: Final = -1
# Of all sessions together: some 100 MB. Who comes later is served without a session.
MAX_PARTITIONS: Final = 200_000

NONE: Final = 0
FETCH_SESSION_ID_NOT_FOUND: Final = 70
INVALID_FETCH_SESSION_EPOCH: Final = 71
FETCH_SESSION_TOPIC_ID_ERROR: Final = 106

# A topic is named by its id from version 13 on, by its name before.
PartitionKey = tuple[bytes | str, int]


class Wanted(Watch):
    """What a client wants of one partition, and what its session last told it."""

    def __init__(self, topic: str, topic_id: bytes, index: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.fetch_offset = 0
        self.max_bytes = 0
        self.leader_epoch = -1
        self.last_fetched_epoch = -1
        self.log_start_offset = -1  # of a follower
        self.told_high_watermark = -1
        self.told_log_start_offset = -1
        # Of a follower: its session, and the partition that is watched for it.
        self.session: Session | None = None
        self.partition: Partition | None = None

    def has_news(self, data: PartitionData) -> bool:
        """Whether an incremental response must mention the partition; remembers what it is told."""
        news = data.records is not None and data.records.end > data.records.start
        if data.high_watermark != self.told_high_watermark:
            self.told_high_watermark = data.high_watermark
            news = True
        if data.log_start_offset != self.told_log_start_offset:
            self.told_log_start_offset = data.log_start_offset
            news = True
        if data.error_code != NONE or data.preferred_read_replica != -1 or data.diverging_epoch is not None:
            # Forgetting the high watermark makes sure that the recovery from an error is told, too.
            self.told_high_watermark = -1
            news = True
        return news

    def take_over(self, newer: "Wanted") -> None:
        """The client wants something else of the same partition now."""
        self.fetch_offset = newer.fetch_offset
        self.max_bytes = newer.max_bytes
        self.leader_epoch = newer.leader_epoch
        self.last_fetched_epoch = newer.last_fetched_epoch
        self.log_start_offset = newer.log_start_offset

    # Watching

    def watch(self, partition: Partition | None) -> None:
        """The partition as it was found for this request."""
        if partition is self.partition:
            return
        self.unwatch()
        if partition is not None:
            self.partition = partition
            partition.watches.append(self)

    def unwatch(self) -> None:
        if self.partition is not None and self.session is not None:
            self.partition.unwatch(self, self.session.replica_id, self.session.times)
        self.partition = None

    def end_moved(self, new_bytes: int) -> None:
        self._changed(new_bytes, True)

    def high_watermark_moved(self) -> None:
        self._changed(0, False)

    def state_changed(self) -> None:
        self._changed(0, True)

    def _changed(self, new_bytes: int, wakes: bool) -> None:
        session = self.session
        if session is None:
            return
        session.changed[self] = None
        if wakes and session.waiting is not None and self.partition is not None:
            session.waiting.partition_changed(self.partition, new_bytes)


class Session:
    def __init__(
        self, identifier: int, uses_topic_ids: bool, now_ms: int, replica_id: int = CONSUMER
    ) -> None:
        self.id = identifier
        self.uses_topic_ids = uses_topic_ids
        self.epoch = 1
        self.created_ms = now_ms
        self.used_ms = now_ms
        self.partitions: dict[PartitionKey, Wanted] = {}
        # Of a follower: who it is, what to look at, and the request that waits for something to change.
        self.replica_id = replica_id
        self.broker_epoch: int = -1
        self.times = FetchTimes()
        self.changed: dict[Wanted, None] = {}
        self.waiting: Waiter | None = None
        self.looked_at_all_ms = now_ms

    def is_of_follower(self) -> bool:
        return self.replica_id >= 0

    def take_changed(self) -> list[Wanted]:
        """What has changed; from here on they are noted again."""
        changed = [one for one in self.changed if one.session is self]
        self.changed = {}
        return changed

    def look_again(self, wanted: list[Wanted]) -> None:
        """These were not answered."""
        for one in wanted:
            self.changed[one] = None

    def close(self) -> None:
        for wanted in self.partitions.values():
            wanted.unwatch()
            wanted.session = None
        self.changed = {}
        self.waiting = None


class Plan:
    """What one Fetch request comes down to: the partitions to read, or an error for the whole.

    `named` are those that the request itself names.
    """

    def __init__(
        self,
        error_code: int,
        session: Session | None,
        incremental: bool,
        wanted: list[Wanted],
        named: list[Wanted] | None = None,
    ) -> None:
        self.error_code = error_code
        self.session = session
        self.incremental = incremental
        self.wanted = wanted
        self.named = wanted if named is None else named
        # The session of a follower, that knows what to look at.
        self.watching: Session | None = session if session is not None and session.is_of_follower() else None
        self.epoch = session.epoch if session is not None else FINAL_EPOCH

    def session_id(self) -> int:
        return self.session.id if self.session is not None else NO_SESSION

    def is_stale(self) -> bool:
        """Whether the session moved on while this request was waiting."""
        return self.session is not None and self.session.epoch != self.epoch


class FetchSessions:
    def __init__(self, max_sessions: int, random: Random) -> None:
        self._max_sessions = max_sessions
        self._random = random
        self._sessions: dict[int, Session] = {}  # least recently used first
        self._partitions = 0  # in all sessions

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: FetchRequest, version: int, now_ms: int) -> Plan:
        if request.session_epoch == FINAL_EPOCH:
            self.end(request.session_id)
            return Plan(NONE, None, False, list(wanted_of(request, version).values()))
        if request.session_epoch == INITIAL_EPOCH:
            self.end(request.session_id)
            wanted = wanted_of(request, version)
            session = self._create(wanted, version >= TOPIC_IDS_FROM_VERSION, now_ms, replica_of(request))
            return Plan(NONE, session, False, list(wanted.values()))
        return self._continue(request, version, now_ms)

    def _continue(self, request: FetchRequest, version: int, now_ms: int) -> Plan:
        session = self._sessions.get(request.session_id)
        if session is None:
            return Plan(FETCH_SESSION_ID_NOT_FOUND, None, True, [])
        if session.epoch != request.session_epoch:
            return Plan(INVALID_FETCH_SESSION_EPOCH, session, True, [])
        if session.uses_topic_ids != (version >= TOPIC_IDS_FROM_VERSION):
            return Plan(FETCH_SESSION_TOPIC_ID_ERROR, session, True, [])
        del self._sessions[session.id]
        self._partitions -= len(session.partitions)
        named = self._update(session, request, version)
        if not session.partitions:
            # The client has no use for the session any more; it goes on without one.
            session.close()
            return Plan(NONE, None, False, [])
        if self._partitions + len(session.partitions) > MAX_PARTITIONS:
            session.close()
            return Plan(FETCH_SESSION_ID_NOT_FOUND, None, True, [])
        self._partitions += len(session.partitions)
        self._sessions[session.id] = session
        session.used_ms = now_ms
        session.epoch = session.epoch + 1 if session.epoch < MAX_INT32 else 1
        if not session.is_of_follower():
            return Plan(NONE, session, True, list(session.partitions.values()))
        if now_ms - session.looked_at_all_ms > LOOK_AT_ALL_MS:
            session.looked_at_all_ms = now_ms
            session.look_again(list(session.partitions.values()))
        return Plan(NONE, session, True, [], named)

    def _update(self, session: Session, request: FetchRequest, version: int) -> list[Wanted]:
        """What the request says goes into the session; the partitions that it names."""
        named: list[Wanted] = []
        for key, wanted in wanted_of(request, version).items():
            known = session.partitions.get(key)
            if known is None:
                session.partitions[key] = known = wanted
            else:
                known.take_over(wanted)
            named.append(known)
        for topic in request.forgotten_topics_data:
            name: bytes | str = topic.topic_id if version >= TOPIC_IDS_FROM_VERSION else topic.topic
            for index in topic.partitions:
                forgotten = session.partitions.pop((name, index), None)
                if forgotten is not None:
                    forgotten.unwatch()
                    forgotten.session = None
        if session.is_of_follower():
            for one in named:
                one.session = session
            session.look_again(named)
        return named

    def _create(
        self, wanted: dict[PartitionKey, Wanted], uses_topic_ids: bool, now_ms: int, replica_id: int
    ) -> Session | None:
        while len(wanted) + self._partitions > MAX_PARTITIONS:
            if not self._evict_stale(now_ms):
                return None
        if len(self._sessions) >= self._max_sessions and not self._evict(
            len(wanted), now_ms, replica_id >= 0
        ):
            return None
        identifier = self._random.randint(1, MAX_INT32)
        while identifier in self._sessions:
            identifier = self._random.randint(1, MAX_INT32)
        session = Session(identifier, uses_topic_ids, now_ms, replica_id)
        session.partitions = wanted
        if session.is_of_follower():
            for one in wanted.values():
                one.session = session
                session.changed[one] = None
        self._sessions[identifier] = session
        self._partitions += len(wanted)
        return session

    def end(self, identifier: int) -> None:
        session = self._sessions.pop(identifier, None)
        if session is not None:
            self._partitions -= len(session.partitions)
            session.close()

    def _evict_stale(self, now_ms: int) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now_ms - oldest.used_ms <= EVICTION_MS:
            return False
        self.end(oldest.id)
        return True

    def _evict(self, newcomer_size: int, now_ms: int, is_follower: bool) -> bool:
        """Make room: the least recently used if it is stale, else the smallest one that is not young.

        A follower may take the place of any consumer, a consumer that of no follower.
        """
        if self._evict_stale(now_ms):
            return True
        consumers = [s for s in self._sessions.values() if not s.is_of_follower()]
        if is_follower and consumers:
            self.end(min(consumers, key=lambda s: len(s.partitions)).id)
            return True
        rivals = list(self._sessions.values()) if is_follower else consumers
        grown = [s for s in rivals if now_ms - s.created_ms > EVICTION_MS]
        smallest = min(grown, key=lambda s: len(s.partitions), default=None)
        if smallest is None or len(smallest.partitions) > newcomer_size:
            return False
        self.end(smallest.id)
        return True


def replica_of(request: FetchRequest) -> int:
    """The broker that fetches, or CONSUMER."""
    return request.replica_id if request.replica_state is None else request.replica_state.replica_id


def move_to_end(session: Session, wanted: Iterable[Wanted]) -> None:
    """Partitions that were just answered with records go last, so that all get their turn."""
    for one in wanted:
        key: PartitionKey = (one.topic_id if session.uses_topic_ids else one.topic, one.index)
        if session.partitions.pop(key, None) is not None:
            session.partitions[key] = one


def wanted_of(request: FetchRequest, version: int) -> dict[PartitionKey, Wanted]:
    result: dict[PartitionKey, Wanted] = {}
    by_id = version >= TOPIC_IDS_FROM_VERSION
    for topic in request.topics:
        name: bytes | str = topic.topic_id if by_id else topic.topic
        for partition in topic.partitions:
            wanted = Wanted(topic.topic, topic.topic_id, partition.partition)
            wanted.fetch_offset = partition.fetch_offset
            wanted.max_bytes = partition.partition_max_bytes
            wanted.leader_epoch = partition.current_leader_epoch
            wanted.last_fetched_epoch = partition.last_fetched_epoch
            wanted.log_start_offset = partition.log_start_offset
            result[name, partition.partition] = wanted
    return result
