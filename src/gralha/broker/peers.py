"""Connections to the other nodes of the cluster, for requests and their answers.

Each lane of a node has its own connection, which is opened when it is needed. The first request on it is
ApiVersions, so that nodes of different releases use common versions. If a request gets no answer in time, its
connection is closed, because answers come in order and later ones would wait as well.

`PeerConnections` tells a `Presence`, if it has one, about every connection that opens or ends.
"""

import asyncio
import errno
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, cast

from gralha.broker.node_tls import PeerTls
from gralha.broker.peer_login import LoginRefusedError, PeerLogin
from gralha.broker.presence import Life, Presence
from gralha.broker.receive_buffer import ReceiveBuffer, writable
from gralha.protocol import apis
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from gralha.protocol.peers import PeerError
from gralha.protocol.primitives import ProtocolError, Reader, Writer
from gralha.security.tls_stream import TlsStream

log = logging.getLogger("gralha.broker")

Address = tuple[str, int]
Answered = Callable[[Message | PeerError], None]
# A request that waits until the node has logged in again: what `send_then` got.
_Held = tuple[Message, int, Answered, int | None]

MAX_RESPONSE_BYTES: Final = 256 * 1024 * 1024
_LENGTH_BYTES: Final = 4
_FRAME_STEP_BYTES: Final = 64 * 1024
_TIMER_TOLERANCE_S: Final = 0.001  # event loops round the times of timers to milliseconds


class _Form:
    """The format of requests and answers of one API and version. It is looked up once."""

    __slots__ = ("decode", "request_has_tags", "response_has_tags", "version")

    def __init__(self, api_key: int, version: int) -> None:
        self.version = version
        self.request_has_tags = apis.request_header_version(api_key, version) >= 2
        self.response_has_tags = apis.response_header_version(api_key, version) == 1
        self.decode = apis.APIS[api_key].response.decode


class _Waiting:
    """A request that was sent, and the receiver of its answer. After the deadline it gets an error."""

    __slots__ = ("answered", "correlation_id", "deadline", "form")

    def __init__(self, form: _Form, correlation_id: int, answered: Answered, deadline: float | None) -> None:
        self.form = form
        self.correlation_id = correlation_id
        self.answered = answered
        self.deadline = deadline


class _Connection(asyncio.BufferedProtocol):
    """One connection. Answers belong to requests by their order.

    Answers are received as requests are (`receive_buffer.py`), so fetched records go from the buffer to the
    log without another copy. A frame that arrives in parts gets its own buffer.
    """

    def __init__(
        self,
        client_id: str,
        buffer: ReceiveBuffer,
        on_ended: "Callable[[_Connection, bool], None] | None" = None,
    ) -> None:
        """`on_ended` is called at the end of the connection, with True if this side has closed it."""
        self._client_id = client_id
        self._on_ended = on_ended
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._buffer = buffer
        self._partial = b""  # the beginning of a frame of unknown length
        self._frame: bytes | None = None  # a frame that arrives in parts, with free room after it
        self._view = memoryview(b"")
        self._frame_filled = self._frame_size = 0
        self._waiting: deque[_Waiting] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._next_correlation_id = 0
        self._forms: dict[tuple[int, int], _Form] = {}
        # Requests that wait until this node has logged in again.
        self._held: list[_Held] | None = None
        self._login: PeerLogin | None = None
        self._login_timer: asyncio.TimerHandle | None = None
        self._login_again: asyncio.Task[None] | None = None
        self.versions: dict[int, int] = {}  # the newest version that the other side supports, by API key
        self.is_open = False

    # Calls of asyncio

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
            self.close(f"the answer cannot be read: {error}")
        finally:
            self._buffer.release()

    def connection_lost(self, exc: Exception | None) -> None:
        closed_here = not self.is_open
        self._end(f"the connection was lost ({exc or 'closed'})")
        if self._on_ended is not None:
            self._on_ended(self, closed_here)

    @property
    def has_heard_tls(self) -> bool:
        """True if there is TLS on this connection and the other side has sent something."""
        return isinstance(self._transport, TlsStream) and self._transport.received_bytes > 0

    # Receiving

    def _take_frames(self, data: bytes, total: int) -> None:
        position = 0
        while total - position >= _LENGTH_BYTES and self.is_open:
            size = int.from_bytes(data[position : position + _LENGTH_BYTES], "big", signed=True)
            if not 4 <= size <= MAX_RESPONSE_BYTES:
                raise ProtocolError(f"the answer has {size} bytes")
            start = position + _LENGTH_BYTES
            if total - start < size:
                self._begin_frame(data[start:total], size)
                return
            self._answered(data, start, start + size)
            position = start + size
        self._partial = data[position:total]

    def _begin_frame(self, begin: bytes, size: int) -> None:
        # Memory that is never written is not allocated. Sizes have steps, because ctypes keeps a type for
        # each size.
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
            raise ProtocolError("there is no request for this answer")
        waiting = self._waiting.popleft()
        try:
            reader = Reader(data, start, end)
            if reader.int32() != waiting.correlation_id:
                raise ProtocolError("the answer is for another request")
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
        """False also for a closing transport, which refuses to send before it reports the end."""
        return self.is_open and self._transport is not None and not self._transport.is_closing()

    def send(self, request: Message, version: int) -> "asyncio.Future[Message]":
        """Sends a request and returns the future answer. Raises PeerError if the connection has ended."""
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

    # The login

    async def log_in(self, login: PeerLogin) -> None:
        """Logs in, now and again before the session ends. Raises PeerError."""
        self._login = login
        again_s = await login.log_in(self.send)
        if again_s is not None:
            self._login_timer = self._loop.call_later(again_s, self._begin_login)

    def _begin_login(self) -> None:
        """Other requests wait until the login is done: the other side allows none between its requests."""
        if self.is_usable:
            self._held = []
            self._login_again = self._loop.create_task(self._log_in_again())

    async def _log_in_again(self) -> None:
        assert self._login is not None
        try:
            again_s = await self._login.log_in(self._send_at_once)
        except Exception as error:
            self.close(str(error))
            if not isinstance(error, PeerError):
                raise
            return
        if again_s is not None:
            self._login_timer = self._loop.call_later(again_s, self._begin_login)
        held, self._held = self._held or [], None
        for one in held:
            self._write(*one)

    def _send_at_once(self, request: Message, version: int) -> "asyncio.Future[Message]":
        if not self.is_usable:
            raise PeerError("the connection was lost")
        held, self._held = self._held, None
        try:
            return self.send(request, version)
        finally:
            self._held = held

    def send_then(self, request: Message, version: int, answered: Answered, timeout_ms: int | None) -> None:
        """Sends a request. `answered` gets the answer. Raises PeerError if the connection has ended."""
        if not self.is_usable:
            raise PeerError("the connection was lost")
        if self._held is None:
            self._write(request, version, answered, timeout_ms)
        else:
            self._held.append((request, version, answered, timeout_ms))

    def _write(self, request: Message, version: int, answered: Answered, timeout_ms: int | None) -> None:
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
        self._transport.writelines(writer.finish_in_memory())
        deadline = None
        if timeout_ms is not None:
            deadline = self._loop.time() + timeout_ms / 1000
            self._set_timer(deadline)
        self._waiting.append(_Waiting(form, self._next_correlation_id, answered, deadline))

    def _set_timer(self, at: float) -> None:
        """Makes the timer fire at this time, or earlier."""
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._expire)

    def _expire(self) -> None:
        """One timer serves all requests. Usually it was set for a request that has been answered already."""
        self._timer = None
        deadlines = [one.deadline for one in self._waiting if one.deadline is not None]
        if not deadlines:
            return
        first = min(deadlines)
        if first <= self._loop.time() + _TIMER_TOLERANCE_S:
            self.close("no answer came in time")
        else:
            self._set_timer(first)

    def close(self, reason: str) -> None:
        """Ends the connection from this side."""
        self._end(reason)
        if self._transport is not None:
            self._transport.abort()

    def _end(self, reason: str) -> None:
        self.is_open = False
        for timer in (self._timer, self._login_timer):
            if timer is not None:
                timer.cancel()
        self._timer = self._login_timer = None
        while self._waiting:
            self._waiting.popleft().answered(PeerError(reason))
        held, self._held = self._held or [], None
        for _, _, answered, _ in held:
            answered(PeerError(reason))


class PeerConnections:
    """The other nodes, by id. `address_of` returns the current address of a node, or None."""

    def __init__(
        self,
        client_id: str,
        address_of: Callable[[int], Address | None],
        presence: Presence | None = None,
        tls: Callable[[], PeerTls | None] = lambda: None,
        login: PeerLogin | None = None,
    ) -> None:
        """`tls` returns what connections are encrypted with, when one is opened. `login` is for nodes whose
        listeners use SASL.
        """
        self._tls = tls
        self._client_id = client_id
        self._login = login
        self._address_of = address_of
        self._presence = presence
        self._connections: dict[tuple[int, str], tuple[Address, asyncio.Task[_Connection]]] = {}
        # The connections of polls, found without looking up the address. A node that has moved has closed its
        # connections before.
        self._polled: dict[tuple[int, str], _Connection] = {}
        self._polls: set[asyncio.Task[None]] = set()  # polls that wait for a connection
        self._buffer: ReceiveBuffer | None = None
        self._refusing: set[int] = set()  # nodes whose refusal is in the log

    async def ask(
        self, node_id: int, request: Message, *, timeout_ms: int, lane: str = "", version: int | None = None
    ) -> Message:
        """Sends a request, by default in its newest version, and waits for the answer. Raises PeerError."""
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
        """Sends a request. `answered` gets the answer or a PeerError later."""
        connection = self._polled.get((node_id, lane))
        if connection is not None and connection.is_usable:
            try:
                connection.send_then(
                    request, self._newest_version(connection, node_id, request), answered, timeout_ms
                )
            except Exception as error:
                refusal = _refusal(node_id, request, timeout_ms, error)
                asyncio.get_running_loop().call_soon(answered, refusal)
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
        except Exception as error:
            answered(_refusal(node_id, request, timeout_ms, error))

    def close(self) -> None:
        """Closes all connections."""
        for task in self._polls:
            task.cancel()
        for _, connecting in self._connections.values():
            _close(connecting)
        self._connections.clear()

    def _newest_version(self, connection: _Connection, node_id: int, request: Message) -> int:
        theirs = connection.versions.get(request.API_KEY)
        if theirs is None or theirs < request.MIN_VERSION:
            raise PeerError(f"node {node_id} does not support {apis.APIS[request.API_KEY].name}")
        return min(theirs, request.MAX_VERSION)

    async def _connection(self, node_id: int, lane: str, timeout_ms: int) -> _Connection:
        address = self._address_of(node_id)
        if address is None:
            raise PeerError(f"the address of node {node_id} is not known")
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
                # It was cancelled because the node has another address now. The caller must not be cancelled,
                # too.
                raise PeerError(f"the connection to node {node_id} was given up") from None
            raise
        except (OSError, UnicodeError) as error:  # a UnicodeError if the host is no name
            raise PeerError(
                f"node {node_id} cannot be reached at {address[0]}:{address[1]}: {error}"
            ) from None

    async def _connect(self, node_id: int, address: Address, timeout_ms: int) -> _Connection:
        """Connects within the timeout of the first caller, because a node may fail after it has accepted."""
        buffer = self._buffer = self._buffer or ReceiveBuffer()
        presence = self._presence
        on_ended: Callable[[_Connection, bool], None] | None = None
        if presence is not None:
            on_ended = partial(presence.disconnected, node_id)
        async with asyncio.timeout(timeout_ms / 1000):
            connection = await _shake_hands(
                address, lambda: _Connection(self._client_id, buffer, on_ended), self._tls()
            )
            if self._login is not None:
                try:
                    await connection.log_in(self._login)
                except BaseException as error:
                    connection.close(str(error))
                    if isinstance(error, LoginRefusedError):
                        self._tell_of_refusal(node_id, address, error)
                    raise
        self._refusing.discard(node_id)
        if presence is not None:
            presence.connected(node_id, connection)
        return connection

    def _tell_of_refusal(self, node_id: int, address: Address, error: LoginRefusedError) -> None:
        """Logs it once, not at every retry, until the node accepts a login."""
        if node_id not in self._refusing:
            self._refusing.add(node_id)
            log.warning("Node %d at %s:%d refuses this node: %s", node_id, *address, error)


async def _shake_hands(
    address: Address, new_connection: Callable[[], _Connection], tls: PeerTls | None = None
) -> _Connection:
    """Connects, and learns the versions of the other side."""
    connection = await _open(address, new_connection, tls)
    try:
        request = ApiVersionsRequest(client_software_name="gralha", client_software_version="1")
        response = cast(ApiVersionsResponse, await connection.send(request, 3))
    except BaseException:
        connection.close("it was not answered")
        raise
    connection.versions = {api.api_key: api.max_version for api in response.api_keys}
    return connection


async def _open(
    address: Address, new_connection: Callable[[], _Connection], tls: PeerTls | None
) -> _Connection:
    """Connects. A TLS handshake has only begun then; the first request waits for its end."""
    loop = asyncio.get_running_loop()
    if tls is None:
        _, connection = await loop.create_connection(new_connection, *address)
        return connection
    context = tls.client.context

    def encrypted() -> TlsStream:
        return TlsStream(new_connection(), context, tls.buffer, server_side=False, server_hostname=address[0])

    _, stream = await loop.create_connection(encrypted, *address)
    return cast(_Connection, stream.inner)


async def look_for_life(
    client_id: str, address: Address, timeout_s: float, tls: PeerTls | None = None
) -> Life:
    """Connects to an address to see whether a process listens there and answers."""
    opened: list[_Connection] = []

    def new_connection() -> _Connection:
        opened.append(_Connection(client_id, ReceiveBuffer()))
        return opened[-1]

    try:
        async with asyncio.timeout(timeout_s):
            connection = await _shake_hands(address, new_connection, tls)
    except (PeerError, ConnectionResetError):
        # A process that answers TLS lives, even if this node cannot accept its certificate.
        return Life.ANSWERED if any(one.has_heard_tls for one in opened) else Life.CLOSED
    except OSError as error:  # also a TimeoutError
        return Life.REFUSED if _is_refusal(error) else Life.SILENT
    connection.close("it has answered")
    return Life.ANSWERED


def _refusal(node_id: int, request: Message, timeout_ms: int, error: Exception) -> PeerError:
    """The answer to a poll that could not be sent. Every poll gets an answer."""
    if isinstance(error, PeerError):
        return error
    if isinstance(error, TimeoutError):
        return PeerError(f"node {node_id} could not be reached within {timeout_ms} ms")
    name = apis.APIS[request.API_KEY].name
    log.error("%s could not be sent to node %d", name, node_id, exc_info=error)
    return PeerError(f"{name} could not be sent to node {node_id}: {error!r}")


def _is_refusal(error: OSError) -> bool:
    """Returns True if every address of a name refused. asyncio joins their errors into one text."""
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
