"""The listeners: sockets that accept connections, and the limits for all of them."""

import asyncio
import logging
import ssl
from typing import Final

from gralha.broker.connection import Connection, ConnectionLimits, ConnectionSettings
from gralha.broker.login import LoginSettings
from gralha.broker.node_tls import ListenerTls
from gralha.broker.pipeline import Api
from gralha.broker.presence import Presence
from gralha.broker.quota_use import NO_THROTTLE, Throttle
from gralha.broker.request_meters import RequestMeters
from gralha.security.tls_stream import TlsStream

SWEEP_SECONDS: Final = 5.0
PAUSE_SECONDS: Final = 1.0
CLOSING_SECONDS: Final = 1.0
SMALLEST_PARTIAL_LIMIT_BYTES: Final = 256 * 1024 * 1024

log = logging.getLogger("gralha.broker")


class Server:
    """Accepts connections on the node's listeners until it is closed."""

    def __init__(
        self,
        *,
        max_request_bytes: int,
        max_connections: int,
        max_connections_per_ip: int,
        max_idle_ms: int,
        meters: RequestMeters,
    ) -> None:
        self._meters = meters
        self._max_request_bytes = max_request_bytes
        self.limits = ConnectionLimits(
            max_connections, max_connections_per_ip, max(SMALLEST_PARTIAL_LIMIT_BYTES, 2 * max_request_bytes)
        )
        self._max_idle_seconds = max_idle_ms / 1000
        # The listeners.
        self.listeners: list[ConnectionSettings] = []
        self._servers: list[asyncio.Server] = []

    def protect(self, listener: str) -> None:
        """Other brokers use this listener, so clients of other listeners must not keep them out."""
        self.limits.protected = listener
        self.limits.make_room = self._make_room

    def _make_room(self) -> None:
        """Closes the connection of another listener that was idle for the longest time, as Kafka does."""
        others = [
            connection
            for settings in self.listeners
            if settings.listener != self.limits.protected
            for connection in settings.connections
            if not connection.is_closing
        ]
        if others:
            idle = min(others, key=lambda connection: connection.active_at)
            idle.close_because("a broker needs its place (max.connections)")

    async def bind(
        self,
        listener: str,
        host: str,
        port: int,
        apis: dict[int, Api],
        tls: ListenerTls | None = None,
        login: LoginSettings | None = None,
    ) -> int:
        """Binds an address without serving it yet. Returns the port, which matters if it was given as 0.

        `tls` is for a listener with TLS, `login` for a listener with SASL.
        """
        loop = asyncio.get_running_loop()
        settings = ConnectionSettings(
            apis, listener, self._max_request_bytes, self.limits, self._meters, login
        )
        server = await loop.create_server(
            lambda: accept(settings, loop, tls),
            host or None,
            port,
            backlog=1024,
            reuse_address=True,
            start_serving=False,
        )
        self.listeners.append(settings)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def serve(
        self, broker: object, presence: Presence | None = None, throttle: Throttle = NO_THROTTLE
    ) -> None:
        """Accepts clients. The handlers get `broker`. `presence` is told when nodes disconnect.

        `throttle` has the quotas of clients.
        """
        for settings in self.listeners:
            settings.throttle = throttle
            settings.broker = broker
            settings.presence = presence
        for server in self._servers:
            await server.start_serving()

    async def sweep(self) -> None:
        """Closes connections that are idle, or in the middle of a frame, for too long. The owner runs this as
        a task.

        After a pause of this process (SIGSTOP, a suspended machine) the sockets may have unread bytes of
        clients. So a late sweep closes nothing.
        """
        loop = asyncio.get_running_loop()
        while True:
            slept_from = loop.time()
            await asyncio.sleep(SWEEP_SECONDS)
            if loop.time() - slept_from < SWEEP_SECONDS + PAUSE_SECONDS:
                self.end_overdue(loop.time())

    def end_overdue(self, now: float) -> None:
        for connection in self.connections():
            if connection.closing_since is not None:
                if now - connection.closing_since > CLOSING_SECONDS:
                    connection.abort()
            else:
                why = connection.overdue(now, self._max_idle_seconds)
                if why is not None:
                    connection.close_because(why)

    def connections(self) -> list[Connection]:
        return [connection for settings in self.listeners for connection in settings.connections]

    async def close(self) -> None:
        """Stops listening. Clients have a moment to read their answers."""
        for server in self._servers:
            server.close()
        for connection in self.connections():
            connection.close_because("the broker is shutting down")
        deadline = asyncio.get_running_loop().time() + CLOSING_SECONDS
        while self.connections() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        for connection in self.connections():
            connection.abort()
        for server in self._servers:
            await server.wait_closed()


def accept(
    settings: ConnectionSettings, loop: asyncio.AbstractEventLoop, tls: ListenerTls | None
) -> asyncio.BufferedProtocol:
    """The protocol for a new client: a connection, under TLS if the listener has it."""
    connection = Connection(settings, loop)
    if tls is None:
        return connection

    def secured(stream: ssl.SSLObject) -> None:
        # The name of a client that logs in is that of its login.
        connection.secured("User:ANONYMOUS" if settings.login is not None else tls.principal_of(stream))

    connection.expect_handshake()
    return TlsStream(
        connection,
        tls.server.context,
        tls.buffer,
        server_side=True,
        on_secured=secured,
        on_failed=connection.handshake_failed,
    )
