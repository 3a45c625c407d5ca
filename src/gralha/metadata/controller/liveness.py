"""The brokers that live, as far as the active controller can tell. This is soft state, beside the image.

A broker has a session: it lives while its heartbeats come within the session timeout. A broker whose process
has ended loses its session at once: the node finds that out (`broker/presence.py`) and reports it here. A
broker that has only lost its connections keeps its session. But a new process of that broker may then
register without waiting for the end of the session.

A new active controller has heard of no broker yet, and begins a new session for each of them. The broker in
the controller's own process lives as long as the controller. Times are of a clock that only goes forward,
such as the event loop's.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from gralha.metadata.image import BrokerRegistration

SESSION_TIMEOUT_MS: Final = 9000


class _Session:
    """The session of one registration of a broker."""

    __slots__ = ("epoch", "has_died", "is_connected", "metadata_offset", "seen_ms", "was_heard")

    def __init__(self, epoch: int, seen_ms: int) -> None:
        self.epoch = epoch
        self.seen_ms = seen_ms
        # True if this controller has heard of the broker. An earlier one may have, too.
        self.was_heard = False
        self.is_connected = True
        self.has_died = False
        # The offset up to which the broker has replayed the metadata log.
        self.metadata_offset = -1


class Liveness:
    """The sessions of brokers."""

    def __init__(self, own_id: int, session_timeout_ms: int = SESSION_TIMEOUT_MS) -> None:
        self.own_id = own_id
        self.session_timeout_ms = session_timeout_ms
        self._sessions: dict[int, _Session] = {}
        self._shutdown_offsets: dict[tuple[int, int], int] = {}

    def begin(self, brokers: Mapping[int, BrokerRegistration], now_ms: int) -> None:
        """This controller becomes active. Every session begins again."""
        self._shutdown_offsets.clear()
        self._sessions = {
            broker.id: _Session(broker.epoch, now_ms)
            for broker in brokers.values()
            # A registration with this node's id belongs to an earlier process of this node.
            if not broker.fenced and broker.id != self.own_id
        }

    def touch(self, broker_id: int, epoch: int, now_ms: int, metadata_offset: int = -1) -> None:
        """Notes a heartbeat or a registration of the broker."""
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            session = self._sessions[broker_id] = _Session(epoch, now_ms)
        session.seen_ms = now_ms
        session.was_heard = True
        session.is_connected = True
        session.has_died = False
        session.metadata_offset = max(session.metadata_offset, metadata_offset)

    def disconnected(self, broker_id: int) -> None:
        """The broker has closed its last connection. Only its next heartbeat shows that it is back."""
        session = self._sessions.get(broker_id)
        if session is not None:
            session.is_connected = False

    def died(self, broker_id: int) -> None:
        """The broker's process has ended."""
        session = self._sessions.get(broker_id)
        if session is not None:
            session.has_died = True

    def paused(self, duration_ms: int) -> None:
        """This process did not run for a while and could not hear heartbeats. That time does not count."""
        for session in self._sessions.values():
            session.seen_ms += duration_ms

    def has_session(self, broker_id: int, epoch: int, now_ms: int) -> bool:
        """Returns True if the process of this registration lives, as far as this controller has heard itself.

        A process that only an earlier controller has heard does not count. Otherwise, if all nodes were
        restarted, each would wait for the session of the process that it replaces.
        """
        session = self._sessions.get(broker_id)
        return (
            session is not None
            and session.was_heard
            and session.epoch == epoch
            and session.is_connected
            and not self._is_over(session, now_ms)
        )

    def expired(self, now_ms: int) -> list[int]:
        """The brokers whose session is over."""
        return [
            broker_id
            for broker_id, session in self._sessions.items()
            if broker_id != self.own_id and self._is_over(session, now_ms)
        ]

    def _is_over(self, session: _Session, now_ms: int) -> bool:
        return session.has_died or now_ms - session.seen_ms > self.session_timeout_ms

    def epoch(self, broker_id: int) -> int | None:
        """The epoch of the registration that has a session."""
        session = self._sessions.get(broker_id)
        return None if session is None else session.epoch

    def forget(self, broker_id: int) -> None:
        """The broker is fenced or gone. Its next heartbeat begins a new session."""
        self._sessions.pop(broker_id, None)

    # Controlled shutdown

    def shutdown_offset(self, broker_id: int, epoch: int, offset: int) -> int:
        """The offset that all others must replay before the broker may stop. The first call sets it."""
        return self._shutdown_offsets.setdefault((broker_id, epoch), offset)

    def all_followed(self, broker_ids: Iterable[int], offset: int) -> bool:
        """Returns True if these brokers have replayed the metadata log up to the offset."""
        for broker_id in broker_ids:
            session = self._sessions.get(broker_id)
            # The controller's own broker replays all that this process commits.
            if broker_id != self.own_id and (session is None or session.metadata_offset < offset):
                return False
        return True
