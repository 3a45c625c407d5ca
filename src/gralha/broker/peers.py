"""Connections to the other nodes of the cluster: requests out, answers in.

Each lane of a node has a connection of its own, made when it is first needed. The first exchange on it is
ApiVersions, so that nodes of different releases speak versions that both know. A request that gets no answer
in time ends its connection, since answers come in the order of requests: those behind it would wait as well.

A connection that breaks is told to whoever listens. The other process has probably died, and that is noticed
here long before any timeout.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, cast

from gralha.protocol import apis
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from gralha.protocol.peers import PeerError
from gralha.protocol.primitives import ProtocolError, Reader, Writer

Address = tuple[str, int]

MAX_RESPONSE_BYTES: Final = 256 * 1024 * 1024
_LENGTH_BYTES: Final = 4


class _Waiting(NamedTuple):
    """A request that was sent, and where its answer goes."""

    api: apis.Api
    version: int
    correlation_id: int
    answer: "asyncio.Future[Message]"


class _Connection(asyncio.Protocol):
    """One connection: answers are matched with requests by their order."""

    def __init__(self, client_id: str, on_lost: "Callable[[_Connection], None]") -> None:
        self._client_id = client_id
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._waiting: deque[_Waiting] = deque()
        self._next_correlation_id = 0
        self.versions: dict[int, int] = {}  # the newest that the other side serves, by API key
        self.is_open = False

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        self._received += data
        try:
            while self._take_frame():
                pass
        except (ProtocolError, IndexError) as error:
            self.close(f"an answer that cannot be read: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        was_open = self.is_open
        self._end(f"the connection was lost ({exc or 'closed'})")
        if was_open:
            self._on_lost(self)

    # Requests and answers

    @property
    def is_usable(self) -> bool:
        """A transport that is closing refuses to send, a moment before it tells that it was lost."""
        return self.is_open and self._transport is not None and not self._transport.is_closing()

    def send(self, request: Message, version: int) -> "asyncio.Future[Message]":
        """The answer to come; PeerError if the connection has ended."""
        if not self.is_usable:
            raise PeerError("the connection was lost")
        api = apis.APIS[request.API_KEY]
        self._next_correlation_id += 1
        writer = Writer()
        writer.begin_frame()
        writer.write_int16(request.API_KEY)
        writer.write_int16(version)
        writer.write_int32(self._next_correlation_id)
        writer.write_nullable_string(self._client_id)
        if apis.request_header_version(request.API_KEY, version) >= 2:
            writer.write_int8(0)  # no tagged fields
        request.encode(writer, version)
        writer.end_frame()
        assert self._transport is not None
        self._transport.writelines(writer.finish())
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(api, version, self._next_correlation_id, answer))
        return answer

    def _take_frame(self) -> bool:
        received = self._received
        if len(received) < _LENGTH_BYTES:
            return False
        size = int.from_bytes(received[:_LENGTH_BYTES], "big", signed=True)
        if not 4 <= size <= MAX_RESPONSE_BYTES:
            raise ProtocolError(f"an answer of {size} bytes")
        end = _LENGTH_BYTES + size
        if len(received) < end:
            return False
        frame = bytes(received[_LENGTH_BYTES:end])
        del received[:end]
        self._answered(frame)
        return True

    def _answered(self, frame: bytes) -> None:
        if not self._waiting:
            raise ProtocolError("an answer that nobody asked for")
        waiting = self._waiting.popleft()
        reader = Reader(frame)
        if reader.int32() != waiting.correlation_id:
            raise ProtocolError("an answer to another request")
        if apis.response_header_version(waiting.api.key, waiting.version) == 1:
            reader.tagged_fields()
        response = waiting.api.response.decode(reader, waiting.version)
        if not waiting.answer.done():
            waiting.answer.set_result(response)

    def close(self, reason: str) -> None:
        """End it from this side."""
        self._end(reason)
        if self._transport is not None:
            self._transport.abort()

    def _end(self, reason: str) -> None:
        self.is_open = False
        while self._waiting:
            answer = self._waiting.popleft().answer
            if not answer.done():
                answer.set_exception(PeerError(reason))


class PeerConnections:
    """The other nodes, by id. `address_of` knows where each can be reached now, or that nobody knows."""

    def __init__(self, client_id: str, address_of: Callable[[int], Address | None]) -> None:
        self._client_id = client_id
        self._address_of = address_of
        self._connections: dict[tuple[int, str], tuple[Address, asyncio.Task[_Connection]]] = {}
        self.made_listeners: list[Callable[[int], None]] = []
        self.lost_listeners: list[Callable[[int], None]] = []

    async def ask(
        self, node_id: int, request: Message, *, timeout_ms: int, lane: str = "", version: int | None = None
    ) -> Message:
        """Send a request, in its newest version if none is given, and wait for the answer; or PeerError."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                connection = await self._connection(node_id, lane, timeout_ms)
                newest = self._newest_version(connection, node_id, request)
                answer = connection.send(request, newest if version is None else min(version, newest))
                try:
                    return await answer
                except asyncio.CancelledError:
                    connection.close("a request was given up")
                    raise
        except TimeoutError:
            name = apis.APIS[request.API_KEY].name
            raise PeerError(f"node {node_id} did not answer {name} within {timeout_ms} ms") from None

    def close(self) -> None:
        """End all connections."""
        for _, connecting in self._connections.values():
            _close(connecting)
        self._connections.clear()

    def _newest_version(self, connection: _Connection, node_id: int, request: Message) -> int:
        theirs = connection.versions.get(request.API_KEY)
        if theirs is None or theirs < request.MIN_VERSION:
            raise PeerError(f"node {node_id} does not serve {apis.APIS[request.API_KEY].name}")
        return min(theirs, request.MAX_VERSION)

    async def _connection(self, node_id: int, lane: str, timeout_ms: int) -> _Connection:
        address = self._address_of(node_id)
        if address is None:
            raise PeerError(f"nobody knows where node {node_id} is")
        known = self._connections.get((node_id, lane))
        if known is None or known[0] != address or _has_ended(known[1]):
            if known is not None:
                _close(known[1])
            connecting = asyncio.ensure_future(self._connect(node_id, address, timeout_ms))
            self._connections[node_id, lane] = (address, connecting)
        else:
            connecting = known[1]
        try:
            return await asyncio.shield(connecting)
        except OSError as error:
            raise PeerError(
                f"node {node_id} cannot be reached at {address[0]}:{address[1]}: {error}"
            ) from None

    async def _connect(self, node_id: int, address: Address, timeout_ms: int) -> _Connection:
        """No longer than the first who asked waits: a node may lose its power after it has accepted."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(timeout_ms / 1000):
            _, connection = await loop.create_connection(
                lambda: _Connection(self._client_id, lambda _: self._lost(node_id)), *address
            )
            try:
                request = ApiVersionsRequest(client_software_name="gralha", client_software_version="1")
                response = cast(ApiVersionsResponse, await connection.send(request, 3))
            except BaseException:
                connection.close("it was not answered")
                raise
        connection.versions = {api.api_key: api.max_version for api in response.api_keys}
        for tell in self.made_listeners:
            tell(node_id)
        return connection

    def _lost(self, node_id: int) -> None:
        for tell in self.lost_listeners:
            tell(node_id)


def _has_ended(connecting: "asyncio.Task[_Connection]") -> bool:
    if not connecting.done():
        return False
    return connecting.cancelled() or connecting.exception() is not None or not connecting.result().is_usable


def _close(connecting: "asyncio.Task[_Connection]") -> None:
    if not connecting.done():
        connecting.cancel()
    elif not connecting.cancelled() and connecting.exception() is None:
        connecting.result().close("closed")
