"""The requests and responses of one connection, without the socket: frames in, response bytes out, in order.

`feed` handles all complete frames of one read in one go. A handler answers at once or returns an awaitable,
or a `Deferred` if every microsecond counts. Several requests of a connection can be in the broker at once.
Each has a slot, so that responses leave in the order of the requests, as Kafka's protocol demands. Finished
responses collect in `out`, and the connection writes them with one call.

Waiting requests of a connection share one timer. It is not changed when a request is answered, so a request
that waits for a millisecond of its thirty seconds needs no timer of its own.

A malformed frame raises ProtocolError, and the caller closes the connection, as Kafka does.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Final

from librt.strings import read_i16_be, read_i32_be
from mypy_extensions import i32, i64

from gralha.broker.quota_use import NO_THROTTLE, Throttle, Use
from gralha.broker.request_meters import ApiMeter, ReadMeter, RequestMeters
from gralha.protocol.message import Message
from gralha.protocol.primitives import Chunk, ProtocolError, Reader, Stored, Writer

API_VERSIONS: Final = 18
MAX_WEIGHT_INSIDE: Final = 256
MAX_BYTES_OUT: Final = 4 * 1024 * 1024
# Bytes of requests that wait and keep what they brought.
MAX_BYTES_INSIDE: Final = 4 * 1024 * 1024
# Topics, partitions and so on in one request: some 100 MB of objects.
MAX_ELEMENTS: Final = 500_000
SMALLEST_FRAME: Final = 8  # API key, version, correlation id
# Event loops round the times of timers to milliseconds.
TIMER_TOLERANCE_S: Final = 0.001

log = logging.getLogger("gralha.broker")

Handler = Callable[[Any, "RequestContext", Any], "Message | Awaitable[Message | None] | Deferred | None"]


class Api:
    """One row of the table of APIs."""

    def __init__(
        self,
        key: int,
        name: str,
        min_version: int,
        max_version: int,
        flexible_from: int,
        decode: Callable[[Reader, int], Message],
        handle: Handler,
        weight: int = 1,
        in_turn: bool = False,
    ) -> None:
        self.key = key
        self.name = name
        self.min_version = min_version
        self.max_version = max_version
        self.flexible_from = flexible_from
        self.decode = decode
        self.handle = handle
        # The share of a connection's limit that a waiting request takes. A fetch may hold megabytes.
        self.weight = weight
        # If True, the request is handled only when all requests before it are answered, as in Kafka.
        # Otherwise its information about leaders would be out of date when it is sent, and the client would
        # have to ask again.
        self.in_turn = in_turn


class Peer:
    """The other end of a connection, and the APIs that it may use."""

    def __init__(self, host: str, port: int, listener: str, principal: str, apis: dict[int, Api]) -> None:
        self.host = host
        self.port = port
        self.listener = listener
        self.principal = principal
        # The APIs that the client may use now, and those that it may use when it is logged in.
        self.apis = apis
        self.served = apis
        # On a listener with SASL, the connection's `Login`.
        self.login: Any = None
        self.is_token_authenticated: bool = False
        # The id of the node at the other end, if it is one. `Broker.meet` sets it.
        self.node_id = -1
        # Whether the request is this node's own. Such a request needs no rights.
        self.is_this_node: bool = False


class RequestContext:
    """Information about a request besides its body."""

    def __init__(self, peer: Peer, api_version: int, client_id: str | None) -> None:
        self.peer = peer
        self.api_version = api_version
        self.client_id = client_id


def _nothing() -> None:
    """The callback of an answer that was given already."""


class Deferred:
    """A future answer, without a future and a timer of its own.

    The promiser calls `resolve` or `fail` once; later calls have no effect. `on_timeout` is called if that
    takes longer than the given time, `on_gone` if the client is gone.
    """

    def __init__(self, on_timeout: Callable[[], None], on_gone: Callable[[], None]) -> None:
        self.on_timeout = on_timeout
        self.on_gone = on_gone
        self.done: bool = False
        self.timeout_ms: int = -1
        # What the request keeps of its bytes while it waits.
        self.kept_bytes: int = 0
        self.slot: Slot | None = None
        self.future: asyncio.Future[Message | None] | None = None

    def expire_after(self, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms
        if self.slot is not None:
            self.slot.pipeline.expire_after(self.slot, timeout_ms)

    def resolve(self, response: Message | None, at_once: bool = False) -> None:
        """Gives the answer; None if the client expects none.

        `at_once` is for a caller that the event loop has called, and that is done with its work. Otherwise
        the answer leaves a moment later, because writing it may lead to the client's next request.
        """
        if self.done:
            return
        slot = self.slot
        self._end()
        if slot is not None:
            slot.pipeline.resolved(slot, response, at_once)
        elif self.future is not None and not self.future.done():
            self.future.set_result(response)

    def fail(self, error: BaseException) -> None:
        if self.done:
            return
        slot = self.slot
        self._end()
        if slot is not None:
            slot.pipeline.failed(slot, error)
        elif self.future is not None and not self.future.done():
            self.future.set_exception(error)

    def abandon(self) -> None:
        if not self.done:
            on_gone = self.on_gone
            self._end()
            on_gone()

    def _end(self) -> None:
        """Drops all references, so that no cycle is left for the garbage collector."""
        self.done = True
        self.slot = None
        self.on_timeout = _nothing
        self.on_gone = _nothing

    def __await__(self) -> Generator[Any, None, Message | None]:
        """Waits for the answer without a pipeline."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Message | None] = loop.create_future()
        self.future = future
        timer = loop.call_later(self.timeout_ms / 1000, self.on_timeout) if self.timeout_ms >= 0 else None

        def ended(_: "asyncio.Future[Message | None]") -> None:
            if timer is not None:
                timer.cancel()
            self.abandon()

        future.add_done_callback(ended)
        return future.__await__()


class Slot:
    """A request's place in the order of responses."""

    def __init__(
        self, pipeline: "Pipeline", api: Api, version: int, correlation_id: int, meter: ApiMeter
    ) -> None:
        self.pipeline = pipeline
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.meter = meter
        self.received_s: float = pipeline.read_meter.received_s
        self.chunks: list[Chunk] | None = None
        self.size_bytes: i64 = 0
        self.future: asyncio.Future[Message | None] | None = None
        self.deferred: Deferred | None = None
        self.kept_bytes: i64 = 0
        self.deadline: float = 0.0  # of a deferred answer; 0 means none
        self.use: Use | None = None  # if there are quotas
        # For a request that is handled later (`Api.in_turn`).
        self.context: RequestContext | None = None
        self.request: Message | None = None

    def finished(self, future: "asyncio.Future[Message | None]") -> None:
        self.pipeline.slot_finished(self, future)


class Pipeline:
    def __init__(
        self,
        node: object,
        peer: Peer,
        max_request_bytes: int,
        on_ready: Callable[[], None],
        on_broken: Callable[[str], None],
        meters: RequestMeters,
    ) -> None:
        self.node = node
        self.read_meter: ReadMeter = meters.of_reads()
        self.apis = peer.apis
        self.peer = peer
        self.max_request_bytes: i64 = max_request_bytes
        self.on_ready = on_ready
        self.on_broken = on_broken
        self.out: list[Chunk] = []
        self.out_bytes: i64 = 0
        self.out_has_stored: bool = False
        self.held_bytes: i64 = 0  # of answers that wait for an earlier one
        self.kept_bytes: i64 = 0  # of requests that wait
        self.weight_inside: i64 = 0
        self.slots: deque[Slot] = deque()
        self.timer: asyncio.TimerHandle | None = None
        self.timer_at: float = 0.0
        self.leaving_soon: bool = False
        self.turn_soon: bool = False
        self.throttle: Throttle = NO_THROTTLE
        # While the client is over its quota, the broker does not read from it.
        self.is_muted: bool = False
        self.mute_timer: asyncio.TimerHandle | None = None
        self.muted_until: float = 0.0

    def is_full(self) -> bool:
        """Returns True if the broker must not read from the client now: it does not read its answers, has too
        many requests in the broker, or is over its quota.
        """
        return (
            self.is_muted
            or self.out_bytes + self.held_bytes >= MAX_BYTES_OUT
            or self.weight_inside >= MAX_WEIGHT_INSIDE
            or self.kept_bytes >= MAX_BYTES_INSIDE
        )

    def feed(self, data: bytes, start: int, stop: int) -> int:
        """Handles the complete frames in a range of `data`. Returns the position of the first unhandled
        frame.
        """
        self.read_meter.begin()
        position = stop
        try:
            position = self._feed(data, start, stop)
        finally:
            self.read_meter.end(position == stop or not self.is_full())
        return position

    def _feed(self, data: bytes, start: i64, stop: i64) -> i64:
        position = start
        received = stop
        while received - position >= 4 and not self.is_full():
            size = i64(read_i32_be(data, position))
            if size < SMALLEST_FRAME or size > self.max_request_bytes:
                raise ProtocolError(
                    f"the request has {size} bytes, but 8 to {self.max_request_bytes} are allowed"
                )
            end = position + 4 + size
            if end > received:
                break
            self._request(data, position + 4, end)
            position = end
        return position

    def take_out(self) -> list[Chunk]:
        out = self.out
        self.out = []
        self.out_bytes = 0
        self.out_has_stored = False
        return out

    def close(self) -> None:
        """The client is gone, so waiting requests are dropped."""
        slots = self.slots
        self.slots = deque()
        for slot in slots:
            if slot.future is not None:
                slot.future.cancel()
            deferred = slot.deferred
            if deferred is not None:
                slot.deferred = None
                deferred.abandon()
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if self.mute_timer is not None:
            self.mute_timer.cancel()
            self.mute_timer = None

    # Quotas

    def mute(self, throttle_ms: int) -> None:
        """The client is held back. It gets answers to the requests that are in the broker already."""
        if throttle_ms <= 0:
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + throttle_ms / 1000
        if self.is_muted and until <= self.muted_until:
            return
        if self.mute_timer is not None:
            self.mute_timer.cancel()
        self.is_muted = True
        self.muted_until = until
        self.mute_timer = loop.call_at(until, self._unmute)

    def _unmute(self) -> None:
        self.is_muted = False
        self.mute_timer = None
        self.on_ready()

    def _new_use(self, api: Api, client_id: str | None, size_bytes: int, meter: ApiMeter) -> Use:
        """What a request takes of its client's quotas. It is counted when the request is done."""
        peer = self.peer
        use = Use(peer.principal, peer.host, api.key, client_id, size_bytes, self.read_meter.clock)
        use.claims_node = meter is self.read_meter.meters.follower_fetch
        return use

    def _spent(self, use: Use, began_s: float, result: object) -> None:
        """The handler has returned. If it has answered, the request is done."""
        use.spent_s += self.read_meter.clock() - began_s
        if result is None:
            self._used(use, None)
        elif isinstance(result, Message):
            self._used(use, result)

    def _used(self, use: Use, response: Message | None) -> None:
        self.mute(self.throttle.used(use, response))

    def _request(self, data: bytes, start: i64, end: i64) -> None:
        api_key = i64(read_i16_be(data, start))
        version = i64(read_i16_be(data, start + 2))
        correlation_id = i64(read_i32_be(data, start + 4))
        api = self.apis.get(api_key)
        if api is None:
            raise ProtocolError(f"the request has the unknown API key {api_key}")
        if version < api.min_version or version > api.max_version:
            if api_key != API_VERSIONS:
                raise ProtocolError(
                    f"{api.name} version {version}, but {api.min_version} to {api.max_version} are supported"
                )
            # KIP-511: an unknown version of ApiVersions is answered in version 0, with the supported
            # versions.
            version = -1
        began_s = self.read_meter.clock() if self.throttle.is_on else 0.0
        reader = Reader(data, start + 8, end)
        reader.elements_left = MAX_ELEMENTS
        client_id = reader.nullable_string()
        if version == -1:
            request: Message | None = None
            version = 0
        else:
            if version >= api.flexible_from:
                reader.tagged_fields()
            request = api.decode(reader, version)
        read_meter = self.read_meter
        meter = read_meter.received(api_key, version, end - start, request)
        context = RequestContext(self.peer, version, client_id)
        use = self._new_use(api, client_id, int(end - start), meter) if self.throttle.is_on else None
        if api.in_turn and self.slots:
            slot = Slot(self, api, version, correlation_id, meter)
            slot.use = use
            self._postpone(slot, context, request)
            return
        read_meter.handled(meter)
        result = api.handle(self.node, context, request)
        if use is not None:
            self._spent(use, began_s, result)
        if result is None:
            read_meter.leaves(meter)
            return
        if isinstance(result, Message):
            chunks = self._encode(api, version, correlation_id, result, meter)
            if self.slots:
                slot = Slot(self, api, version, correlation_id, meter)
                self._enter(slot)
                self._hold(slot, chunks)
            else:
                read_meter.leaves(meter)
                self._leave(chunks)
            return
        slot = Slot(self, api, version, correlation_id, meter)
        slot.use = use
        if isinstance(result, Deferred):
            self._defer(slot, result)
        else:
            self._wait(slot, result)

    def _defer(self, slot: Slot, deferred: Deferred) -> None:
        slot.deferred = deferred
        deferred.slot = slot
        slot.kept_bytes = deferred.kept_bytes
        self.kept_bytes += slot.kept_bytes
        self._enter(slot)
        if deferred.timeout_ms >= 0:
            self.expire_after(slot, deferred.timeout_ms)

    def _wait(self, slot: Slot, result: Awaitable[Message | None]) -> None:
        if slot.use is not None:
            result = self.throttle.measured(result, slot.use)
        future = asyncio.ensure_future(result)
        slot.future = future
        self._enter(slot)
        future.add_done_callback(slot.finished)

    def _postpone(self, slot: Slot, context: RequestContext, request: Message | None) -> None:
        slot.context = context
        slot.request = request
        self._enter(slot)

    def _take_turn(self) -> None:
        """All requests before it are answered, so the waiting request is handled now."""
        self.turn_soon = False
        if not self.slots:
            return  # the client is gone
        slot = self.slots[0]
        context = slot.context
        assert context is not None
        slot.context = None
        self.read_meter.handled_in_turn(slot.meter, slot.received_s)
        began_s = self.read_meter.clock() if slot.use is not None else 0.0
        try:
            result = slot.api.handle(self.node, context, slot.request)
            if slot.use is not None:
                slot.use.spent_s += self.read_meter.clock() - began_s
            assert result is not None
            assert not isinstance(result, Deferred)
            if isinstance(result, Message):
                chunks = self._encode_for(slot, result)
            else:
                if slot.use is not None:
                    result = self.throttle.measured(result, slot.use)
                slot.future = asyncio.ensure_future(result)
                slot.future.add_done_callback(slot.finished)
                return
        except Exception as error:
            self.failed(slot, error)
            return
        self._hold(slot, chunks)
        self._advance()
        self.on_ready()

    def _enter(self, slot: Slot) -> None:
        self.slots.append(slot)
        self.weight_inside += slot.api.weight

    def _hold(self, slot: Slot, chunks: list[Chunk]) -> None:
        slot.chunks = chunks
        for chunk in chunks:
            slot.size_bytes += len(chunk)
        self.held_bytes += slot.size_bytes

    def slot_finished(self, slot: Slot, future: "asyncio.Future[Message | None]") -> None:
        slot.future = None
        chunks: list[Chunk] = []
        if not future.cancelled():
            try:
                response = future.result()
                if response is not None:
                    chunks = self._encode_for(slot, response)
                elif slot.use is not None:
                    self._used(slot.use, None)
            except Exception as error:
                log.error("%s failed", slot.api.name, exc_info=error)
                self.on_broken(f"{slot.api.name} failed")
                return
        self._hold(slot, chunks)
        self._advance()
        self.on_ready()

    # Deferred answers

    def resolved(self, slot: Slot, response: Message | None, at_once: bool) -> None:
        slot.deferred = None
        self.kept_bytes -= slot.kept_bytes
        chunks: list[Chunk] = []
        try:
            if response is not None:
                chunks = self._encode_for(slot, response)
            elif slot.use is not None:
                self._used(slot.use, None)
        except Exception as error:
            self.failed(slot, error)
            return
        self._hold(slot, chunks)
        self._advance()
        if at_once:
            self.on_ready()
        elif not self.leaving_soon:
            self.leaving_soon = True
            asyncio.get_running_loop().call_soon(self._leave_soon)

    def _leave_soon(self) -> None:
        self.leaving_soon = False
        self.on_ready()

    def failed(self, slot: Slot, error: BaseException) -> None:
        slot.deferred = None
        if isinstance(error, ProtocolError):
            self.on_broken(str(error))
            return
        log.error("%s failed", slot.api.name, exc_info=error)
        self.on_broken(f"{slot.api.name} failed")

    def expire_after(self, slot: Slot, timeout_ms: int) -> None:
        loop = asyncio.get_running_loop()
        slot.deadline = loop.time() + timeout_ms / 1000
        self._set_timer(loop, slot.deadline)

    def _set_timer(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        """Makes the timer fire at this time, or earlier."""
        if self.timer is not None:
            if self.timer_at <= at:
                return
            self.timer.cancel()
        self.timer_at = at
        self.timer = loop.call_at(at, self._expire)

    def _expire(self) -> None:
        """Calls `on_timeout` of expired answers, and sets the timer for the next one."""
        loop = asyncio.get_running_loop()
        now = loop.time() + TIMER_TOLERANCE_S
        self.timer = None
        next_deadline: float = 0.0
        for slot in list(self.slots):
            deferred = slot.deferred
            if deferred is None or slot.deadline == 0.0:
                continue
            if slot.deadline <= now:
                slot.deadline = 0.0
                deferred.on_timeout()
            elif next_deadline == 0.0 or slot.deadline < next_deadline:
                next_deadline = slot.deadline
        # The callbacks may have made room for other requests, which may have set the timer already.
        if next_deadline != 0.0:
            self._set_timer(loop, next_deadline)

    def _advance(self) -> None:
        slots = self.slots
        now: float = 0.0
        while slots:
            slot = slots[0]
            chunks = slot.chunks
            if chunks is None:
                if slot.context is not None and not self.turn_soon:
                    # Not here, because the code that has answered the previous request may not be finished.
                    self.turn_soon = True
                    asyncio.get_running_loop().call_soon(self._take_turn)
                return
            slots.popleft()
            self.weight_inside -= slot.api.weight
            self.held_bytes -= slot.size_bytes
            if now == 0.0:
                now = self.read_meter.now()
            self.read_meter.left(slot.meter, slot.received_s, now)
            self._leave(chunks)

    def _leave(self, chunks: list[Chunk]) -> None:
        for chunk in chunks:
            self.out_bytes += len(chunk)
            self.out.append(chunk)
            if isinstance(chunk, Stored):
                self.out_has_stored = True

    def _encode_for(self, slot: Slot, response: Message) -> list[Chunk]:
        if slot.use is not None:
            self._used(slot.use, response)
        return self._encode(slot.api, slot.version, slot.correlation_id, response, slot.meter)

    def _encode(
        self, api: Api, version: i64, correlation_id: i64, response: Message, meter: ApiMeter
    ) -> list[Chunk]:
        self.read_meter.answered(meter, response)
        writer = Writer()
        writer.begin_frame()
        writer.write_int32(i32(correlation_id))
        if version >= api.flexible_from and api.key != API_VERSIONS:
            writer.write_int8(0)  # no tagged fields in the response header
        response.encode(writer, version)
        writer.end_frame()
        return writer.finish()
