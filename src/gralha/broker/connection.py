"""A client's connection: bytes from the socket to the pipeline, responses from the pipeline to the socket.

All connections of a server receive into one shared buffer (`receive_buffer.py`). That works because asyncio
asks for a buffer, fills it and hands it over without anything in between. The requests of one read refer to
one `bytes` object. The beginning of an incomplete frame is kept until the next read. A long incomplete frame
gets its own buffer, which grows as bytes arrive and never because of a declared length.

The broker does not read from a client that does not read its answers, or that has too many requests in the
broker.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Final, cast

from gralha.broker.login import DEADLINE_S, Login, LoginSettings, not_logged_in
from gralha.broker.other_protocols import PREFIX_BYTES, what_to_do, why_tls_failed
from gralha.broker.pipeline import Api, Peer, Pipeline
from gralha.broker.presence import Presence
from gralha.broker.quota_use import NO_THROTTLE, Throttle
from gralha.broker.receive_buffer import SIZE_BYTES, ReceiveBuffer
from gralha.broker.request_meters import RequestMeters
from gralha.broker.sending import Outbox
from gralha.broker.warnings_once import WarningsOnce
from gralha.protocol.ip_addresses import address_of
from gralha.protocol.primitives import ProtocolError
from gralha.security.tls_stream import TlsStream

# A part of a frame up to this size is kept, and copied at the next read. A larger part gets its own buffer.
# Otherwise a client that sends single bytes would make the broker copy it every time.
MAX_KEPT_BYTES: Final = 256 * 1024
FIRST_LARGE_BUFFER_BYTES: Final = 64 * 1024
# How long a frame may take: this long, and longer the more of it has arrived.
FRAME_DEADLINE_SECONDS: Final = 30.0
FRAME_BYTES_PER_SECOND_MIN: Final = 16 * 1024
HANDSHAKE_DEADLINE_SECONDS: Final = 10.0

log = logging.getLogger("gralha.broker")


class ConnectionLimits:
    """The limits for all connections of a broker together. `overrides` has the limits of single addresses.

    Clients must not keep other brokers out. `protected` is the listener of brokers. It may go beyond
    `max_connections`, and then `make_room` closes a connection of another listener.
    """

    def __init__(self, max_connections: int, max_connections_per_ip: int, max_partial_bytes: int) -> None:
        # Both may change while the broker runs. Existing connections stay.
        self.max_connections = max_connections
        self.max_connections_per_ip = max_connections_per_ip
        self.overrides: dict[str, int] = {}
        self.of_listeners: dict[str, int] = {}  # limits of single listeners
        self.protected: str | None = None
        self.make_room: Callable[[], None] = lambda: None
        self.max_partial_bytes = max_partial_bytes
        self.partial_bytes = 0  # of all large frames that are arriving
        self._per_host: Counter[str] = Counter()
        self._per_listener: Counter[str] = Counter()

    def enter(self, host: str, listener: str) -> bool:
        """Counts a connection. Returns False if it is one too many."""
        self._per_host[host] += 1
        self._per_listener[listener] += 1
        if self._per_host[host] > self._most_of(host):
            return False
        limit = self.of_listeners.get(listener)
        if limit is not None and self._per_listener[listener] > limit:
            return False
        if self._per_listener.total() <= self.max_connections:
            return True
        if listener == self.protected:
            self.make_room()
        return listener == self.protected

    def _most_of(self, host: str) -> int:
        if not self.overrides:
            return self.max_connections_per_ip
        return self.overrides.get(address_of(host), self.max_connections_per_ip)

    def leave(self, host: str, listener: str) -> None:
        self._per_listener[listener] -= 1
        self._per_host[host] -= 1
        if not self._per_host[host]:
            del self._per_host[host]


class ConnectionSettings:
    """The common settings of the connections of a listener."""

    def __init__(
        self,
        apis: dict[int, Api],
        listener: str,
        max_request_bytes: int,
        limits: ConnectionLimits,
        meters: RequestMeters,
        login: LoginSettings | None = None,
    ) -> None:
        """`login` is for a listener with SASL."""
        self.broker: object = None
        self.apis = apis
        self.login = login
        self.listener = listener
        self.max_request_bytes = max_request_bytes
        self.limits = limits
        self.meters = meters
        self.warnings = WarningsOnce(log)
        # How many connections there were, and how many of them were closed.
        self.created = 0
        self.closed = 0
        self.buffer = ReceiveBuffer()
        self.throttle: Throttle = NO_THROTTLE
        # It is told when a connection with another node ends.
        self.presence: Presence | None = None
        # A dict keeps their order, so that simulated runs can be repeated.
        self.connections: dict[Connection, None] = {}


class Connection(asyncio.BufferedProtocol):
    def __init__(self, settings: ConnectionSettings, loop: asyncio.AbstractEventLoop) -> None:
        self._settings = settings
        self._limits = settings.limits
        self._loop = loop
        self._partial = b""  # the beginning of a short frame
        self._large: bytearray | None = None  # the beginning of a long frame
        self._large_filled = 0
        self._large_size = 0
        self._backlog = b""  # frames that have arrived and are not handled yet
        self._backlog_start = self._backlog_end = 0
        self._reading = True
        self._closed = False
        self._login: Login | None = None
        self._unfinished: Login | None = None  # the login, unless the client is logged in
        self.active_at = loop.time()
        self.frame_since: float | None = None
        self.closing_since: float | None = None
        # When the client connected, until its TLS handshake is finished.
        self._handshake_since: float | None = None

    def expect_handshake(self) -> None:
        """The client must finish a TLS handshake in time."""
        self._handshake_since = self._loop.time()

    def secured(self, principal: str) -> None:
        """The TLS handshake is finished."""
        self._handshake_since = None
        self.peer.principal = principal

    def handshake_failed(self, error: Exception, beginning: bytes) -> None:
        """TLS has ended the connection."""
        if self._closed:
            return
        host, port = self.peer.host, self.peer.port
        advice = why_tls_failed(error, beginning, self._settings.listener)
        if advice is None:
            log.info("closing the connection of %s:%s: TLS failed: %s", host, port, error)
        else:
            self._settings.warnings.warn(f"{host} {advice}", "%s:%s %s", host, port, advice)
        self._stop_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        address = transport.get_extra_info("peername")
        host, port = address[:2] if address else ("", 0)
        settings = self._settings
        self.peer = Peer(host, port, settings.listener, "User:ANONYMOUS", settings.apis)
        self._pipeline = Pipeline(
            settings.broker,
            self.peer,
            settings.max_request_bytes,
            self._flush,
            self.close_because,
            settings.meters,
        )
        self._pipeline.throttle = settings.throttle
        self._outbox = Outbox(self._transport, self._resume, self._broken, isinstance(transport, TlsStream))
        if settings.login is not None:
            self._login = Login(
                settings.login, self.peer, self._loop, self._login_changed, self.close_because
            )
            self.peer.login = self._login
            self._login_changed()
        settings.connections[self] = None
        settings.created += 1
        if not self._limits.enter(host, settings.listener):
            self.close_because("too many connections (max.connections, max.connections.per.ip)")
            return
        delay_ms, may_stay = settings.throttle.connected(host, settings.listener)
        if delay_ms > 0:
            self._pipeline.mute(delay_ms)
            if not may_stay:
                self._loop.call_later(delay_ms / 1000, self._end_refused)
        elif not may_stay:
            reason = "too many new connections wait (max.connection.creation.rate)"
            settings.warnings.warn(reason, "closing a connection: %s", reason)
            self._stop_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        closed_here = self._closed
        self._closed = True
        self._settings.connections.pop(self, None)
        self._settings.closed += 1
        self._limits.leave(self.peer.host, self._settings.listener)
        self._limits.partial_bytes -= self._large_filled
        self._large, self._large_filled = None, 0
        self._outbox.close()
        self._pipeline.close()
        if self._login is not None:
            self._login.close()
        presence = self._settings.presence
        if presence is not None and self.peer.node_id >= 0:
            presence.disconnected(self.peer.node_id, self.peer, closed_here)

    def _login_changed(self) -> None:
        """The client may send other requests from now on."""
        assert self._login is not None
        self.peer.apis = self._pipeline.apis = self._login.allowed
        self._unfinished = None if self._login.is_done else self._login

    def close_because(self, why: str) -> None:
        """Stops reading from the client. Answers that are written already are still sent."""
        if not self._closed:
            log.info("closing the connection of %s:%s: %s", self.peer.host, self.peer.port, why)
            self._stop_reading()

    def _end_refused(self) -> None:
        """The address has opened too many connections in a short time."""
        if not self._closed:
            reason = f"{self.peer.host} opens more connections per second than its quota allows"
            self._settings.warnings.warn(reason, "closing a connection: %s", reason)
            self._stop_reading()

    def _stop_reading(self) -> None:
        self._closed = True
        self.closing_since = self._loop.time()
        self._pause()
        self._outbox.end()

    def abort(self) -> None:
        self._closed = True
        self._transport.abort()

    def overdue(self, now: float, max_idle_seconds: float) -> str | None:
        """The reason to close the connection now, or None."""
        since = self._handshake_since
        if since is not None and now - since > HANDSHAKE_DEADLINE_SECONDS:
            return f"its TLS handshake took longer than {HANDSHAKE_DEADLINE_SECONDS:.0f} s"
        if self.frame_since is not None:
            received_bytes = len(self._partial) + self._large_filled
            allowed_s = FRAME_DEADLINE_SECONDS + received_bytes / FRAME_BYTES_PER_SECOND_MIN
            if now - self.frame_since > allowed_s:
                return f"its request did not arrive within {allowed_s:.0f} s"
        if self._unfinished is not None and now > self._unfinished.deadline_s:
            return f"it did not log in within {DEADLINE_S:.0f} s"
        if now - self.active_at > max_idle_seconds and not self._pipeline.slots:
            # A client that waits for an answer is not idle. One that a quota holds back is: nobody reads from
            # its socket, so nobody would see that it has gone.
            return "it was idle (connections.max.idle.ms)"
        return None

    @property
    def is_closing(self) -> bool:
        """Returns True if the connection is not read from any more."""
        return self._closed

    def waiting_requests(self) -> list[str]:
        """The APIs of the requests that are in the broker and have no response yet."""
        return [slot.api.name for slot in self._pipeline.slots if slot.chunks is None]

    # Receiving

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._large is not None:
            return memoryview(self._large)[self._large_filled :]
        return self._settings.buffer.room(self._partial)

    def buffer_updated(self, nbytes: int) -> None:
        self.active_at = self._loop.time()
        if self._large is not None:
            self._large_grew(self._large, nbytes)
            return
        total = len(self._partial) + nbytes
        self._partial = b""
        buffer = self._settings.buffer
        self._handle(buffer.received(total), 0, total)
        buffer.release()

    def eof_received(self) -> bool:
        return False

    def _large_grew(self, large: bytearray, nbytes: int) -> None:
        self._large_filled += nbytes
        self._limits.partial_bytes += nbytes
        if self._large_filled == self._large_size:
            self._limits.partial_bytes -= self._large_filled
            self._large, self._large_filled = None, 0
            self._handle(bytes(large), 0, len(large))
        elif self._limits.partial_bytes > self._limits.max_partial_bytes:
            self.close_because("too many large requests are arriving at once")
        elif self._large_filled == len(large):
            grown = bytearray(min(2 * len(large), self._large_size))
            grown[: len(large)] = large
            self._large = grown

    def _handle(self, data: bytes, start: int, end: int) -> None:
        """Gives received bytes to the pipeline, unless the client does not read its answers."""
        if self._closed:
            return
        pipeline = self._pipeline
        try:
            if self._unfinished is None:
                position = pipeline.feed(data, start, end)
            else:
                position = self._unfinished.feed(pipeline, data, start, end)
        except ProtocolError as error:
            self._write_out()
            self._refuse(data[start : min(end, start + PREFIX_BYTES)], error)
            return
        except Exception:
            log.exception("a request of %s:%s failed", self.peer.host, self.peer.port)
            self.close_because("a request failed")
            return
        was_full = pipeline.is_full()
        if pipeline.out and not self._write_out():
            return
        if was_full or pipeline.is_full() or self._outbox.is_full:
            # From now on the broker waits for the client to read, not for the rest of a frame.
            self._backlog, self._backlog_start, self._backlog_end = data, position, end
            self.frame_since = None
            self._pause()
            # The socket may have taken everything at once. Other connections get their turn first.
            self._loop.call_soon(self._resume)
        else:
            self._keep_partial(data, position, end)

    def _refuse(self, beginning: bytes, error: ProtocolError) -> None:
        """Closes the connection after bytes that are no request. Warns if a person can mend the client."""
        advice = what_to_do(beginning, self._settings.listener)
        if advice is None and self._unfinished is not None:
            self.close_because(f"{not_logged_in(self._unfinished.state)} ({error})")
        elif advice is None:
            self.close_because(str(error))
        elif not self._closed:
            # The port differs from attempt to attempt. The reason is the same until somebody acts.
            reason = f"{self.peer.host} {advice}"
            self._settings.warnings.warn(reason, "%s:%s %s", self.peer.host, self.peer.port, advice)
            self._stop_reading()

    def _keep_partial(self, data: bytes, position: int, end: int) -> None:
        rest = end - position
        if position > 0 or self.frame_since is None:
            # The deadline of a frame counts from its first byte, even if the others come slowly.
            self.frame_since = self.active_at if rest else None
        if rest == 0:
            return
        if rest >= 4:
            size = 4 + int.from_bytes(data[position : position + 4])
            if size > SIZE_BYTES or rest > MAX_KEPT_BYTES:
                self._large = bytearray(min(max(FIRST_LARGE_BUFFER_BYTES, 2 * rest), size))
                self._large[:rest] = data[position:end]
                self._large_filled, self._large_size = rest, size
                self._limits.partial_bytes += rest
                return
        self._partial = data[position:end]

    # Sending

    def _flush(self) -> None:
        """A waiting request has its answer."""
        if self._closed:
            return
        self.active_at = self._loop.time()
        if self._pipeline.out:
            self._write_out()
        self._resume()

    def _write_out(self) -> bool:
        """Writes the answers that are ready. Returns False if the connection had to be ended."""
        has_stored = self._pipeline.out_has_stored
        self._outbox.write(self._pipeline.take_out(), has_stored)
        return not self._closed

    def _broken(self, error: Exception) -> None:
        if not self._closed:
            log.info("aborting the connection of %s:%s: %s", self.peer.host, self.peer.port, error)
            self.abort()

    def pause_writing(self) -> None:
        self._outbox.transport_is_full()

    def resume_writing(self) -> None:
        self.active_at = self._loop.time()
        self._outbox.transport_has_room()
        self._resume()

    def _pause(self) -> None:
        if self._reading:
            self._reading = False
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._reading or self._outbox.is_full or self._closed or self._pipeline.is_full():
            return
        data, start, end = self._backlog, self._backlog_start, self._backlog_end
        self._backlog, self._backlog_start, self._backlog_end = b"", 0, 0
        self._reading = True
        self.active_at = self._loop.time()
        self._handle(data, start, end)
        # The backlog may have filled the pipeline again.
        if self._reading and not self._closed:
            self._transport.resume_reading()
