"""Connections to the other nodes of the cluster: requests out, answers in.

Each lane of a node has a connection of its own, made when it is first needed. The first exchange on it is
ApiVersions, so that nodes of different releases speak versions that both know. A request that gets no answer
in time ends its connection, since answers come in the order of requests: those behind it would wait as well.

`PeerConnections` tells a `Presence`, if it has one, of every connection that comes up or ends.
"""

import asyncio
import errno
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, cast

from gralha.broker.presence import Life, Presence
from gralha.broker.receive_buffer import ReceiveBuffer, writable
from gralha.protocol import apis
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from gralha.protocol.peers import PeerError
from gralha.protocol.primitives import ProtocolError, Reader, Writer

Address = tuple[str, int]
Answered = Callable[[Message | PeerError], None]

MAX_RESPONSE_BYTES: Final = 256 * 1024 * 1024
_LENGTH_BYTES: Final = 4
_FRAME_STEP_BYTES: Final = 64 * 1024
_TIMER_TOLERANCE_S: Final = 0.001  # event loops round the time of a timer to milliseconds


class _Form:
    """How requests of one API and version, and the answers to them, are written. Looked up once."""

    __slots__ = ("decode", "request_has_tags", "response_has_tags", "version")

    def __init__(self, api_key: int, version: int) -> None:
        self.version = version
        self.request_has_tags = apis.request_header_version(api_key, version) >= 2
        self.response_has_tags = apis.response_header_version(api_key, version) == 1
        self.decode = apis.APIS[api_key].response.decode


class _Waiting:
    """A request that was sent, and who gets its answer; after the deadline, if there is one, an error."""

    __slots__ = ("answered", "correlation_id", "deadline", "form")

    def __init__(self, form: _Form, correlation_id: int, answered: Answered, deadline: float | None) -> None:
        self.form = form
        self.correlation_id = correlation_id
        self.answered = answered
        self.deadline = deadline


class _Connection(asyncio.BufferedProtocol):
    """One connection: answers are matched with requests by their order.

    Answers are received as requests are (`receive_buffer.py`): what a follower fetched goes from the
    buffer into its log without another copy. A frame that arrives in parts gets a buffer of its own.
    """

    def __init__(
        self,
        client_id: str,
        buffer: ReceiveBuffer,
        on_ended: "Callable[[_Connection, bool], None] | None" = None,
    ) -> None:
        """`on_ended` is told of the connection's end, and whether this side has closed it."""
        self._client_id = client_id
        self._on_ended = on_ended
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._buffer = buffer
        self._partial = b""  # the begin of a frame of unknown length
        self._frame: bytes | None = None  # a frame that arrives in parts, with room behind it
        self._view = memoryview(b"")
        self._frame_filled = self._frame_size = 0
        self._waiting: deque[_Waiting] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._next_correlation_id = 0
        self._forms: dict[tuple[int, int], _Form] = {}
        self.versions: dict[int, int] = {}  # the newest that the other side serves, by API key
        self.is_open = False

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.is_open = True

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._frame is not None:
            return self._view[self._frame_filled : self._frame_size]
        return self._buffer.room(self._partial)

    def buffer_updated(self, nbytes: int) -> None:
        try:
            if self._frame is not None:
                self._frame_grew(self._frame, nbytes)
                return
            total = len(self._partial) + nbytes
            self._partial = b""
            self._take_frames(self._buffer.received(total), total)
        except (ProtocolError, IndexError) as error:
            self.close(f"an answer that cannot be read: {error}")
        finally:
            self._buffer.release()

    def connection_lost(self, exc: Exception | None) -> None:
        closed_here = not self.is_open
        self._end(f"the connection was lost ({exc or 'closed'})")
        if self._on_ended is not None:
            self._on_ended(self, closed_here)

    # Receiving

    def _take_frames(self, data: bytes, total: int) -> None:
        position = 0
        while total - position >= _LENGTH_BYTES and self.is_open:
            size = int.from_bytes(data[position : position + _LENGTH_BYTES], "big", signed=True)
            if not 4 <= size <= MAX_RESPONSE_BYTES:
                raise ProtocolError(f"an answer of {size} bytes")
            start = position + _LENGTH_BYTES
            if total - start < size:
                self._begin_frame(data[start:total], size)
                return
            self._answered(data, start, start + size)
            position = start + size
        self._partial = data[position:total]

    def _begin_frame(self, begin: bytes, size: int) -> None:
        # Room that nothing is written to is not taken from the system; sizes in steps, for ctypes keeps each.
        frame = bytes(-(-size // _FRAME_STEP_BYTES) * _FRAME_STEP_BYTES)
        self._view = writable(frame)
        self._view[: len(begin)] = begin
        self._frame, self._frame_filled, self._frame_size = frame, len(begin), size

    def _frame_grew(self, frame: bytes, nbytes: int) -> None:
        self._frame_filled += nbytes
        if self._frame_filled == self._frame_size:
            self._frame, self._view = None, memoryview(b"")
            self._answered(frame, 0, self._frame_size)

    def _answered(self, data: bytes, start: int, end: int) -> None:
        if not self._waiting:
            raise ProtocolError("an answer that nobody asked for")
        waiting = self._waiting.popleft()
        try:
            reader = Reader(data, start, end)
            if reader.int32() != waiting.correlation_id:
                raise ProtocolError("an answer to another request")
            form = waiting.form
            if form.response_has_tags:
                reader.tagged_fields()
            response = form.decode(reader, form.version)
        except (ProtocolError, IndexError):
            self._waiting.appendleft(waiting)
            raise
        waiting.answered(response)

    # Requests and answers

    @property
    def is_usable(self) -> bool:
        """A transport that is closing refuses to send, a moment before it tells that it was lost."""
        return self.is_open and self._transport is not None and not self._transport.is_closing()

    def send(self, request: Message, version: int) -> "asyncio.Future[Message]":
        """The answer to come; PeerError if the connection has ended."""
        future: asyncio.Future[Message] = self._loop.create_future()

        def answered(answer: Message | PeerError) -> None:
            if future.done():
                return
            if isinstance(answer, PeerError):
                future.set_exception(answer)
            else:
                future.set_result(answer)

        self.send_then(request, version, answered, None)
        return future

    def send_then(self, request: Message, version: int, answered: Answered, timeout_ms: int | None) -> None:
        """Send, and have somebody told the answer; PeerError if the connection has ended."""
        if not self.is_usable:
            raise PeerError("the connection was lost")
        form = self._forms.get((request.API_KEY, version))
        if form is None:
            form = self._forms[request.API_KEY, version] = _Form(request.API_KEY, version)
        self._next_correlation_id += 1
        writer = Writer()
        writer.begin_frame()
        writer.write_int16(request.API_KEY)
        writer.write_int16(version)
        writer.write_int32(self._next_correlation_id)
        writer.write_nullable_string(self._client_id)
        if form.request_has_tags:
            writer.write_int8(0)  # no tagged fields
        request.encode(writer, version)
        writer.end_frame()
        assert self._transport is not None
        self._transport.writelines(writer.finish())
        deadline = None
        if timeout_ms is not None:
            deadline = self._loop.time() + timeout_ms / 1000
            self._set_timer(deadline)
        self._waiting.append(_Waiting(form, self._next_correlation_id, answered, deadline))

    def _set_timer(self, at: float) -> None:
        """The timer fires then, or before."""
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._expire)

    def _expire(self) -> None:
        """One timer for all: it was set for a request that is long answered, most of the time."""
        self._timer = None
        deadlines = [one.deadline for one in self._waiting if one.deadline is not None]
        if not deadlines:
            return
        first = min(deadlines)
        if first <= self._loop.time() + _TIMER_TOLERANCE_S:
            self.close("there was no answer in time")
        else:
            self._set_timer(first)

    def close(self, reason: str) -> None:
        """End it from this side."""
        self._end(reason)
        if self._transport is not None:
            self._transport.abort()

    def _end(self, reason: str) -> None:
        self.is_open = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            self._waiting.popleft().answered(PeerError(reason))


class PeerConnections:
    """The other nodes, by id. `address_of` knows where each can be reached now, or that nobody knows."""

    def __init__(
        self,
        client_id: str,
        address_of: Callable[[int], Address | None],
        presence: Presence | None = None,
    ) -> None:
        self._client_id = client_id
        self._address_of = address_of
        self._presence = presence
        self._connections: dict[tuple[int, str], tuple[Address, asyncio.Task[_Connection]]] = {}
        # Those that polls went out on: looked up without a question of where the node is. One that has moved
        # has let go of its connections first.
        self._polled: dict[tuple[int, str], _Connection] = {}
        self._polls: set[asyncio.Task[None]] = set()  # those that need a connection first
        self._buffer: ReceiveBuffer | None = None

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

    def poll(self, node_id: int, request: Message, *, timeout_ms: int, lane: str, answered: Answered) -> None:
        """Send a request; somebody is told the answer, or the PeerError, later."""
        connection = self._polled.get((node_id, lane))
        if connection is not None and connection.is_usable:
            try:
                connection.send_then(
                    request, self._newest_version(connection, node_id, request), answered, timeout_ms
                )
            except PeerError as error:
                asyncio.get_running_loop().call_soon(answered, error)
            return
        task = asyncio.ensure_future(self._connect_and_poll(node_id, request, timeout_ms, lane, answered))
        self._polls.add(task)
        task.add_done_callback(self._polls.discard)

    async def _connect_and_poll(
        self, node_id: int, request: Message, timeout_ms: int, lane: str, answered: Answered
    ) -> None:
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                connection = await self._connection(node_id, lane, timeout_ms)
            self._polled[node_id, lane] = connection
            connection.send_then(
                request, self._newest_version(connection, node_id, request), answered, timeout_ms
            )
        except TimeoutError:
            answered(PeerError(f"node {node_id} could not be reached within {timeout_ms} ms"))
        except PeerError as error:
            answered(error)

    def close(self) -> None:
        """End all connections."""
        for task in self._polls:
            task.cancel()
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
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if connecting.cancelled() and not (task is not None and task.cancelling()):
                # By somebody who knows that the node is elsewhere now. Who asks is not to end with it.
                raise PeerError(f"the connection to node {node_id} was given up") from None
            raise
        except OSError as error:
            raise PeerError(
                f"node {node_id} cannot be reached at {address[0]}:{address[1]}: {error}"
            ) from None

    async def _connect(self, node_id: int, address: Address, timeout_ms: int) -> _Connection:
        """No longer than the first who asked waits: a node may lose its power after it has accepted."""
        buffer = self._buffer = self._buffer or ReceiveBuffer()
        presence = self._presence
        on_ended: Callable[[_Connection, bool], None] | None = None
        if presence is not None:
            on_ended = partial(presence.disconnected, node_id)
        async with asyncio.timeout(timeout_ms / 1000):
            connection = await _shake_hands(address, lambda: _Connection(self._client_id, buffer, on_ended))
        if presence is not None:
            presence.connected(node_id, connection)
        return connection


async def _shake_hands(address: Address, new_connection: Callable[[], _Connection]) -> _Connection:
    """Connect, and learn which versions the other side serves."""
    _, connection = await asyncio.get_running_loop().create_connection(new_connection, *address)
    try:
        request = ApiVersionsRequest(client_software_name="gralha", client_software_version="1")
        response = cast(ApiVersionsResponse, await connection.send(request, 3))
    except BaseException:
        connection.close("it was not answered")
        raise
    connection.versions = {api.api_key: api.max_version for api in response.api_keys}
    return connection


async def look_for_life(client_id: str, address: Address, timeout_s: float) -> Life:
    """Connect to an address to see whether a process listens there and answers."""
    try:
        async with asyncio.timeout(timeout_s):
            connection = await _shake_hands(address, lambda: _Connection(client_id, ReceiveBuffer()))
    except (PeerError, ConnectionResetError):
        return Life.CLOSED
    except OSError as error:  # a TimeoutError is one, too
        return Life.REFUSED if _is_refusal(error) else Life.SILENT
    connection.close("it has answered")
    return Life.ANSWERED


def _is_refusal(error: OSError) -> bool:
    """Whether every address of a name refused. asyncio joins their errors into one text."""
    if isinstance(error, ConnectionRefusedError):
        return True
    text = str(error)
    refusals = text.count(f"[Errno {errno.ECONNREFUSED}]")
    return refusals > 0 and refusals == text.count("[Errno ")


def _has_ended(connecting: "asyncio.Task[_Connection]") -> bool:
    if not connecting.done():
        return False
    return connecting.cancelled() or connecting.exception() is not None or not connecting.result().is_usable


def _close(connecting: "asyncio.Task[_Connection]") -> None:
    if not connecting.done():
        connecting.cancel()
    elif not connecting.cancelled() and connecting.exception() is None:
        connecting.result().close("closed")
