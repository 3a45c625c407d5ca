"""Serves the API on uvicorn, one server for each listener, and runs the service until a signal ends it."""

import asyncio
import contextlib
import logging
import signal
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from gralha.client.group_member import Protocol
from gralha.client.settings import ClientSettings
from gralha.registry.config import Listener, RegistryConfig
from gralha.registry.election import PROTOCOL_NAME, PROTOCOL_TYPE, Election, Identity, OnLeader
from gralha.registry.forwarding import Forwarder
from gralha.registry.http.access import Access
from gralha.registry.http.app import Application
from gralha.registry.service import Service
from gralha.registry.state import RegistryState
from gralha.registry.store import Store

HEADER_TIMEOUT_S: Final = 30.0
MAX_CONNECTIONS: Final = 2000
_log: Final = logging.getLogger(__name__)


class ListenError(Exception):
    """A listener's address cannot be used."""


class PatientProtocol(H11Protocol):
    """uvicorn's protocol, which also ends connections that do not complete their first request's head."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEADER_TIMEOUT_S, self._close_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _close_if_idle(self) -> None:
        # The attribute's type does not tell that it is None before the first request.
        if getattr(self, "cycle", None) is None:
            self.transport.close()


class RegistryServer:
    """One instance of the registry with its listeners."""

    def __init__(
        self,
        config: RegistryConfig,
        librdkafka: Mapping[str, Any],
        access: Access,
        server_tls: ssl.SSLContext | None = None,
        client_tls: ssl.SSLContext | None = None,
    ) -> None:
        self._config = config
        self._librdkafka = librdkafka
        self._access = access
        self._server_tls = server_tls
        self._client_tls = client_tls
        self._servers: list[uvicorn.Server] = []
        self.addresses: list[str] = []

    async def run(self, announce: Callable[[Sequence[str]], None]) -> None:
        """Runs until SIGINT or SIGTERM. Calls `announce` with the addresses when requests are answered.

        A write that comes before a leader is elected waits for it.
        """
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopping.set)
        sockets = [_bind(listener) for listener in self._config.listeners]
        self.addresses = [
            _address(listener, one) for listener, one in zip(self._config.listeners, sockets, strict=True)
        ]
        settings = ClientSettings.from_kafka(self._config.client)
        service = self._service(settings, sockets[0])
        try:
            await _first(service.start(lambda learn: self._election(service, settings, learn)), stopping)
            if stopping.is_set():
                return
            serving = await self._serve(service, sockets)
            announce(self.addresses)
            await _first(stopping.wait(), service.follow(), *serving)
            for server in self._servers:
                server.should_exit = True
            await asyncio.gather(*serving)
        finally:
            for one in sockets:
                one.close()
            await service.stop()

    def _service(self, settings: ClientSettings, first: socket.socket) -> Service:
        config = self._config
        state = RegistryState(config.compatibility, config.mode)
        store = Store(
            state,
            settings,
            self._librdkafka,
            topic=config.topic,
            group_id=config.group_id,
            replication_factor=config.replication_factor,
            timeout_ms=config.store_timeout_ms,
        )
        listener = config.identity_listener
        port = config.host_port or first.getsockname()[1]
        identity = Identity.of(listener.scheme, config.host_name, port, is_eligible=config.is_eligible)
        return Service(state, store, identity, Forwarder(self._client_tls))

    def _election(self, service: Service, settings: ClientSettings, learn: OnLeader) -> Election:
        config = self._config
        protocol = Protocol(
            config.group_id,
            PROTOCOL_TYPE,
            PROTOCOL_NAME,
            config.session_timeout_ms,
            config.rebalance_timeout_ms,
        )
        cluster = service.store.topic.cluster()
        return Election(cluster, protocol, service.identity, config.heartbeat_ms, learn)

    async def _serve(self, service: Service, sockets: Sequence[socket.socket]) -> list[asyncio.Task[None]]:
        app = Application(
            service,
            self._access,
            max_body_bytes=self._config.max_body_bytes,
            body_timeout_ms=self._config.body_timeout_ms,
        )
        tasks = []
        for listener, one in zip(self._config.listeners, sockets, strict=True):
            config = uvicorn.Config(
                app,
                http=PatientProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                limit_concurrency=MAX_CONNECTIONS,
                timeout_keep_alive=60,
                timeout_graceful_shutdown=5,
                h11_max_incomplete_event_size=64 << 10,
            )
            config.load()
            if listener.scheme == "https":
                config.ssl = self._server_tls
            server = _Server(config)
            self._servers.append(server)
            tasks.append(asyncio.create_task(server.serve([one]), name=f"serve {listener.port}"))
            while not server.started and not tasks[-1].done():
                await asyncio.sleep(0.005)
        return tasks


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        """The registry has its own handlers."""
        yield


async def _first(*waiting: Any) -> None:
    """Returns when the first of them is done, and raises its error."""
    tasks = [asyncio.ensure_future(one.wait() if isinstance(one, asyncio.Event) else one) for one in waiting]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task, given in zip(tasks, waiting, strict=True):
            if task is not given:
                task.cancel()


def _bind(listener: Listener) -> socket.socket:
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((listener.host or "0.0.0.0", listener.port))
        bound.listen(1024)
    except OSError as error:
        bound.close()
        raise ListenError(
            f"The registry cannot listen on {listener.host or '*'}:{listener.port}: {error.strerror}. Choose "
            "another address with listeners"
        ) from None
    bound.setblocking(False)
    return bound


def _address(listener: Listener, bound: socket.socket) -> str:
    host = "localhost" if listener.host in ("", "0.0.0.0", "::") else listener.host
    host = f"[{host}]" if ":" in host else host
    return f"{listener.scheme}://{host}:{bound.getsockname()[1]}"
