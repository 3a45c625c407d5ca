"""The listeners: sockets that accept connections, and the limits that hold for all of them."""

import asyncio
import logging
from typing import Final

from gralha.broker.connection import FRAME_DEADLINE_SECONDS, Connection, ConnectionLimits, ConnectionSettings
from gralha.broker.pipeline import Api

SWEEP_SECONDS: Final = 5.0
SMALLEST_PARTIAL_LIMIT_BYTES: Final = 256 * 1024 * 1024

log = logging.getLogger("gralha.broker")


class Server:
    """Accepts connections on the node's listeners until it is closed."""

    def __init__(
        self,
        apis: dict[int, Api],
        *,
        max_request_bytes: int,
        max_connections: int,
        max_connections_per_ip: int,
        max_idle_ms: int,
    ) -> None:
        self._apis = apis
        self._max_request_bytes = max_request_bytes
        self._limits = ConnectionLimits(
            max_connections, max_connections_per_ip, max(SMALLEST_PARTIAL_LIMIT_BYTES, 2 * max_request_bytes)
        )
        self._max_idle_seconds = max_idle_ms / 1000
        self._settings: list[ConnectionSettings] = []
        self._servers: list[asyncio.Server] = []

    async def bind(self, listener: str, host: str, port: int) -> int:
        """Take an address without serving it yet; answers the port, which matters when it was given as 0."""
        loop = asyncio.get_running_loop()
        settings = ConnectionSettings(self._apis, listener, self._max_request_bytes, self._limits)
        server = await loop.create_server(
            lambda: Connection(settings, loop),
            host or None,
            port,
            backlog=1024,
            reuse_address=True,
            start_serving=False,
        )
        self._settings.append(settings)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def serve(self, broker: object) -> None:
        """Let clients in; the handlers get `broker`."""
        for settings in self._settings:
            settings.broker = broker
        for server in self._servers:
            await server.start_serving()

    async def sweep(self) -> None:
        """The owner's task: end connections that were idle, or in the middle of a frame, for too long."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = loop.time()
            for settings in self._settings:
                for connection in list(settings.connections):
                    if (
                        connection.frame_since is not None
                        and now - connection.frame_since > FRAME_DEADLINE_SECONDS
                    ):
                        connection.close_because("its request did not arrive within 30 s")
                    elif now - connection.active_at > self._max_idle_seconds:
                        connection.close_because("it was idle (connections.max.idle.ms)")

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for settings in self._settings:
            for connection in list(settings.connections):
                connection.close_because("the broker is shutting down")
        for server in self._servers:
            await server.wait_closed()
