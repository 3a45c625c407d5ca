"""All fetch sessions of a broker (KIP-227): a client names its partitions once, then only says what changed.

Epochs number the requests of a session, so that a lost or repeated request is noticed. The number of sessions
is bounded. A newcomer takes the place of a session that was not used for long, or of a smaller one.

There is no I/O here: the caller says what time it is, and gives the Random for the session ids.
"""

from random import Random
from typing import Final

from gralha.broker.fetching.session import FollowerSession, Session
from gralha.broker.fetching.wanted import (
    TOPIC_IDS_FROM_VERSION,
    PartitionKey,
    Wanted,
    replica_of,
    wanted_by,
)
from gralha.metadata.topic_names import MAX_NAME_LENGTH
from gralha.protocol.errors import ErrorCode
from gralha.protocol.fetch_numbers import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION
from gralha.protocol.messages.fetch import FetchRequest

MAX_INT32: Final = 0x7FFFFFFF
EVICTION_MS: Final = 120_000
READ_ALL_MS: Final = 5_000
# In all sessions together: about 100 MB. Clients that come later are served without a session.
MAX_PARTITIONS: Final = 200_000


class Plan:
    """What one Fetch request asks for: the partitions to read, or an error for the whole request.

    `named` are those that the request itself names. `wanted` are those to read; a follower's session knows
    them when the read begins.
    """

    def __init__(
        self, session: Session | None, incremental: bool, wanted: list[Wanted], named: list[Wanted]
    ) -> None:
        self.error_code: int = 0
        self.session = session
        self.incremental = incremental
        self.wanted = wanted
        self.named = named
        self.epoch: int = session.epoch if session is not None else FINAL_EPOCH

    def session_id(self) -> int:
        return self.session.id if self.session is not None else NO_SESSION

    def is_stale(self) -> bool:
        """Whether the session has got another request while this one was waiting."""
        return self.session is not None and self.session.epoch != self.epoch


def _error(error_code: int) -> Plan:
    plan = Plan(None, True, [], [])
    plan.error_code = error_code
    return plan


def _without_session(wanted: list[Wanted]) -> Plan:
    return Plan(None, False, wanted, wanted)


def _has_impossible_names(request: FetchRequest) -> bool:
    """Returns True if a name is too long for a topic. A session would keep it, and it may be very long."""
    return any(len(topic.topic) > MAX_NAME_LENGTH for topic in request.topics)


class FetchSessions:
    def __init__(self, max_sessions: int, random: Random) -> None:
        self._max_sessions = max_sessions
        self._random = random
        self._sessions: dict[int, Session] = {}  # least recently used first
        self._partitions = 0  # in all sessions

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: FetchRequest, version: int, now_ms: int) -> Plan:
        """What to do for a request."""
        if request.session_epoch == FINAL_EPOCH:
            self.end(request.session_id)
            return _without_session(list(wanted_by(request, version).values()))
        if request.session_epoch == INITIAL_EPOCH:
            self.end(request.session_id)
            wanted = wanted_by(request, version)
            session = None
            if not _has_impossible_names(request):
                session = self._create(wanted, version >= TOPIC_IDS_FROM_VERSION, now_ms, replica_of(request))
            named = list(wanted.values())
            return _without_session(named) if session is None else Plan(session, False, named, named)
        return self._continue(request, version, now_ms)

    def _continue(self, request: FetchRequest, version: int, now_ms: int) -> Plan:
        session = self._sessions.get(request.session_id)
        if session is None or session.replica_id != replica_of(request):
            return _error(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            return _error(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != (version >= TOPIC_IDS_FROM_VERSION):
            return _error(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if _has_impossible_names(request):
            self.end(session.id)
            return _error(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        del self._sessions[session.id]
        self._partitions -= len(session.partitions)
        named = _update(session, request, version)
        if not session.partitions:
            # The client has no use for the session any more; it goes on without one.
            session.close()
            return _without_session([])
        if self._partitions + len(session.partitions) > MAX_PARTITIONS:
            session.close()
            return _error(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        self._partitions += len(session.partitions)
        self._sessions[session.id] = session
        session.used_ms = now_ms
        session.epoch = session.epoch + 1 if session.epoch < MAX_INT32 else 1
        if isinstance(session, FollowerSession):
            if now_ms - session.read_all_ms > READ_ALL_MS:
                session.read_all_ms = now_ms
                session.read_again(list(session.partitions.values()))
            return Plan(session, True, [], named)
        return Plan(session, True, list(session.partitions.values()), named)

    def _create(
        self, wanted: dict[PartitionKey, Wanted], uses_topic_ids: bool, now_ms: int, replica_id: int
    ) -> Session | None:
        """A new session, or None if there is no room for it."""
        while len(wanted) + self._partitions > MAX_PARTITIONS:
            if not self._evict_unused(now_ms):
                return None
        is_follower = replica_id >= 0
        if len(self._sessions) >= self._max_sessions and not self._evict(len(wanted), now_ms, is_follower):
            return None
        identifier = self._random.randint(1, MAX_INT32)
        while identifier in self._sessions:
            identifier = self._random.randint(1, MAX_INT32)
        session = (
            FollowerSession(identifier, uses_topic_ids, now_ms, replica_id)
            if is_follower
            else Session(identifier, uses_topic_ids, now_ms)
        )
        for key, one in wanted.items():
            session.want(key, one)
        self._sessions[identifier] = session
        self._partitions += len(wanted)
        return session

    def end(self, identifier: int) -> None:
        session = self._sessions.pop(identifier, None)
        if session is not None:
            self._partitions -= len(session.partitions)
            session.close()

    def _evict_unused(self, now_ms: int) -> bool:
        """End the session that was used least recently, if that was long ago."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now_ms - oldest.used_ms <= EVICTION_MS:
            return False
        self.end(oldest.id)
        return True

    def _evict(self, newcomer_size: int, now_ms: int, is_follower: bool) -> bool:
        """Make room for a newcomer: end an unused session, or the smallest one that is not young.

        A follower may take the place of any consumer, a consumer that of no follower.
        """
        if self._evict_unused(now_ms):
            return True
        consumers = [s for s in self._sessions.values() if not isinstance(s, FollowerSession)]
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


def _update(session: Session, request: FetchRequest, version: int) -> list[Wanted]:
    """Let the session remember what the request says. Returns the partitions that it names."""
    named = [session.want(key, wanted) for key, wanted in wanted_by(request, version).items()]
    for topic in request.forgotten_topics_data:
        name: bytes | str = topic.topic_id if version >= TOPIC_IDS_FROM_VERSION else topic.topic
        for index in topic.partitions:
            session.forget((name, index))
    return named
