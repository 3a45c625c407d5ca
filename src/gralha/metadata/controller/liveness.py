"""Which brokers live, as far as the active controller can tell. This is soft state, beside the image.

A broker has a session: it lives while its heartbeats come within the session timeout. A broker whose process
has ended loses its session at once; the node finds that out (`broker/presence.py`) and reports it here. The
loss of a broker's connections alone ends nothing. But it lets a new process of that broker register, which
would have to wait for the end of the session otherwise.

A controller that becomes active has heard of no broker yet, and begins a new session for each of them. The
broker in the controller's own process lives as long as the controller does. Times are those of a clock that
only goes forward, such as the event loop's.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from gralha.metadata.image import BrokerRegistration

SESSION_TIMEOUT_MS: Final = 9000


class _Session:
    """What the controller knows of one registration of a broker."""

    __slots__ = ("epoch", "has_died", "is_connected", "metadata_offset", "seen_ms", "was_heard")

    def __init__(self, epoch: int, seen_ms: int) -> None:
        self.epoch = epoch
        self.seen_ms = seen_ms
        # By this controller: the one before it may have heard of the broker, too.
        self.was_heard = False
        self.is_connected = True
        self.has_died = False
        # How far the broker has followed the metadata log.
        self.metadata_offset = -1


class Liveness:
    """The sessions of brokers."""

    def __init__(self, own_id: int, session_timeout_ms: int = SESSION_TIMEOUT_MS) -> None:
        self.own_id = own_id
        self.session_timeout_ms = session_timeout_ms
        self._sessions: dict[int, _Session] = {}
        self._shutdown_offsets: dict[tuple[int, int], int] = {}

    def begin(self, brokers: Mapping[int, BrokerRegistration], now_ms: int) -> None:
        """This controller becomes active: every session begins anew."""
        self._shutdown_offsets.clear()
        self._sessions = {
            broker.id: _Session(broker.epoch, now_ms)
            for broker in brokers.values()
            # A registration of this very node is that of a process before this one.
            if not broker.fenced and broker.id != self.own_id
        }

    def touch(self, broker_id: int, epoch: int, now_ms: int, metadata_offset: int = -1) -> None:
        """The broker was heard of."""
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            session = self._sessions[broker_id] = _Session(epoch, now_ms)
        session.seen_ms = now_ms
        session.was_heard = True
        session.is_connected = True
        session.has_died = False
        session.metadata_offset = max(session.metadata_offset, metadata_offset)

    def disconnected(self, broker_id: int) -> None:
        """The broker has closed its last connection. Only its next heartbeat says that it is back."""
        session = self._sessions.get(broker_id)
        if session is not None:
            session.is_connected = False

    def died(self, broker_id: int) -> None:
        """The broker's process has ended."""
        session = self._sessions.get(broker_id)
        if session is not None:
            session.has_died = True

    def paused(self, duration_ms: int) -> None:
        """This process did not run for a while, and could not hear heartbeats: that time does not count."""
        for session in self._sessions.values():
            session.seen_ms += duration_ms

    def has_session(self, broker_id: int, epoch: int, now_ms: int) -> bool:
        """Does the registration's process live, by all that this controller has heard itself?

        A process that was heard of only by the controller before this one does not count. Otherwise, if all
        nodes were started anew, each would wait for the session of the process that it replaces.
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
        """The registration that has a session."""
        session = self._sessions.get(broker_id)
        return None if session is None else session.epoch

    def forget(self, broker_id: int) -> None:
        """The broker is fenced or gone. Its next heartbeat begins a new session."""
        self._sessions.pop(broker_id, None)

    # Controlled shutdown

    def shutdown_offset(self, broker_id: int, epoch: int, offset: int) -> int:
        """The offset that all others must have followed before the broker may stop; set by the first call."""
        return self._shutdown_offsets.setdefault((broker_id, epoch), offset)

    def all_followed(self, broker_ids: Iterable[int], offset: int) -> bool:
        """Have these brokers followed the metadata log up to the offset?"""
        for broker_id in broker_ids:
            session = self._sessions.get(broker_id)
            # The own broker follows whatever this process commits.
            if broker_id != self.own_id and (session is None or session.metadata_offset < offset):
                return False
        return True
