"""Fetch sessions (KIP-227): a consumer names its partitions once, then only says what changed.

A session remembers what its client wants of each partition and what it was last told. An incremental
request updates the session; its response carries only the partitions that have something new. Epochs
number the requests of a session, so that a lost or doubled request is noticed. The cache holds a
bounded number of sessions; one that has been unused for a while, or is smaller than the newcomer, makes
room. No I/O: time comes in as an argument, session ids from the Random given.
"""

from collections.abc import Iterable
from random import Random
from typing import Final

from gralha.protocol.messages.fetch import FetchRequest, PartitionData

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
MAX_INT32: Final = 0x7FFFFFFF
TOPIC_IDS_FROM_VERSION: Final = 13
EVICTION_MS: Final = 120_000
# Of all sessions together: some 100 MB. Who comes later is served without a session.
MAX_PARTITIONS: Final = 200_000

NONE: Final = 0
FETCH_SESSION_ID_NOT_FOUND: Final = 70
INVALID_FETCH_SESSION_EPOCH: Final = 71
FETCH_SESSION_TOPIC_ID_ERROR: Final = 106

# A topic is named by its id from version 13 on, by its name before.
PartitionKey = tuple[bytes | str, int]


class Wanted:
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


class Session:
    def __init__(self, identifier: int, uses_topic_ids: bool, now_ms: int) -> None:
        self.id = identifier
        self.uses_topic_ids = uses_topic_ids
        self.epoch = 1
        self.created_ms = now_ms
        self.used_ms = now_ms
        self.partitions: dict[PartitionKey, Wanted] = {}


class Plan:
    """What one Fetch request comes down to: the partitions to read, or an error for the whole."""

    def __init__(
        self, error_code: int, session: Session | None, incremental: bool, wanted: list[Wanted]
    ) -> None:
        self.error_code = error_code
        self.session = session
        self.incremental = incremental
        self.wanted = wanted
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
            self._end(request.session_id)
            return Plan(NONE, None, False, list(wanted_of(request, version).values()))
        if request.session_epoch == INITIAL_EPOCH:
            self._end(request.session_id)
            wanted = wanted_of(request, version)
            session = self._create(wanted, version >= TOPIC_IDS_FROM_VERSION, now_ms)
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
        self._update(session, request, version)
        if not session.partitions:
            # The client has no use for the session any more; it goes on without one.
            return Plan(NONE, None, False, [])
        if self._partitions + len(session.partitions) > MAX_PARTITIONS:
            return Plan(FETCH_SESSION_ID_NOT_FOUND, None, True, [])
        self._partitions += len(session.partitions)
        self._sessions[session.id] = session
        session.used_ms = now_ms
        session.epoch = session.epoch + 1 if session.epoch < MAX_INT32 else 1
        return Plan(NONE, session, True, list(session.partitions.values()))

    def _update(self, session: Session, request: FetchRequest, version: int) -> None:
        for key, wanted in wanted_of(request, version).items():
            known = session.partitions.get(key)
            if known is not None:
                wanted.told_high_watermark = known.told_high_watermark
                wanted.told_log_start_offset = known.told_log_start_offset
            session.partitions[key] = wanted
        for topic in request.forgotten_topics_data:
            name: bytes | str = topic.topic_id if version >= TOPIC_IDS_FROM_VERSION else topic.topic
            for index in topic.partitions:
                session.partitions.pop((name, index), None)

    def _create(
        self, wanted: dict[PartitionKey, Wanted], uses_topic_ids: bool, now_ms: int
    ) -> Session | None:
        while len(wanted) + self._partitions > MAX_PARTITIONS:
            if not self._evict_stale(now_ms):
                return None
        if len(self._sessions) >= self._max_sessions and not self._evict(len(wanted), now_ms):
            return None
        identifier = self._random.randint(1, MAX_INT32)
        while identifier in self._sessions:
            identifier = self._random.randint(1, MAX_INT32)
        session = Session(identifier, uses_topic_ids, now_ms)
        session.partitions = wanted
        self._sessions[identifier] = session
        self._partitions += len(wanted)
        return session

    def _end(self, identifier: int) -> None:
        session = self._sessions.pop(identifier, None)
        if session is not None:
            self._partitions -= len(session.partitions)

    def _evict_stale(self, now_ms: int) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now_ms - oldest.used_ms <= EVICTION_MS:
            return False
        self._end(oldest.id)
        return True

    def _evict(self, newcomer_size: int, now_ms: int) -> bool:
        """Make room: the least recently used if it is stale, else the smallest one that is not young."""
        if self._evict_stale(now_ms):
            return True
        grown = [s for s in self._sessions.values() if now_ms - s.created_ms > EVICTION_MS]
        smallest = min(grown, key=lambda s: len(s.partitions), default=None)
        if smallest is None or len(smallest.partitions) > newcomer_size:
            return False
        self._end(smallest.id)
        return True


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
