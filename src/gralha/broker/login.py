r"""The login of one connection: SASL from the first request to the end of the session.

    START -> (ApiVersions) -> SaslHandshake -> TOKENS -> DONE -> EXPIRED
                                                 |         \______|______ SaslHandshake again (KIP-368)
                                               FAILED

`allowed` is the table of the APIs of the current state. The pipeline looks up requests in it, so a request
that does not belong to the state closes the connection, and requests after the login cost nothing more.
After a SaslHandshake of version 0, tokens come without Kafka's headers; `feed` finds them.

A failed login is answered after a moment, and then the connection is closed, as in Kafka
(`connection.failed.authentication.delay.ms`). Meanwhile the broker ignores what the client sends.
"""

import asyncio
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Final, NamedTuple

from gralha.broker.pipeline import Api, Deferred, Peer, Pipeline
from gralha.broker.warnings_once import WarningsOnce
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from gralha.protocol.messages.sasl_handshake import SaslHandshakeResponse
from gralha.protocol.primitives import ProtocolError
from gralha.security.sasl.exchange import AuthenticationError, ServerExchange

SASL_HANDSHAKE: Final = 17
API_VERSIONS: Final = 18
SASL_AUTHENTICATE: Final = 36
# How long a login may take, from the first byte.
DEADLINE_S: Final = 10.0
# Kafka ignores attempts to log in again that come more often.
REAUTHENTICATION_INTERVAL_S: Final = 1.0
_LENGTH_BYTES: Final = 4
_NEVER: Final = float("inf")


class LoginSettings(NamedTuple):
    """What the logins of one listener share."""

    apis: dict[int, Api]  # of the listener, for clients that are logged in
    mechanisms: tuple[str, ...]
    new_exchange: Callable[[str], ServerExchange]  # by the name of a mechanism
    max_reauth_ms: Mapping[str, int]
    max_receive_bytes: int
    failure_delay_s: float
    clock_ms: Callable[[], int]
    warnings: WarningsOnce


class State(Enum):
    """How far a login is."""

    START = auto()
    TOKENS = auto()
    DONE = auto()
    EXPIRED = auto()
    FAILED = auto()


_ALLOWED: Final = {
    State.START: (API_VERSIONS, SASL_HANDSHAKE),
    State.TOKENS: (SASL_HANDSHAKE, SASL_AUTHENTICATE),
    State.EXPIRED: (SASL_HANDSHAKE,),
    State.FAILED: (),
}


class Login:
    """One connection's login."""

    def __init__(
        self,
        settings: LoginSettings,
        peer: Peer,
        loop: asyncio.AbstractEventLoop,
        on_change: Callable[[], None],
        close: Callable[[str], None],
    ) -> None:
        """`on_change` is called when `allowed` has changed. `close` ends the connection."""
        self._settings = settings
        self._peer = peer
        self._loop = loop
        self._on_change = on_change
        self._close = close
        self._exchange: ServerExchange | None = None
        self._mechanism = ""
        self._wrong_mechanism = ""  # asked for in a later login
        self._is_raw = False  # tokens come without Kafka's headers
        self._is_again = False
        self._began_s = -REAUTHENTICATION_INTERVAL_S
        self._has_session_end = False
        self._expires_ms: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.deadline_s = loop.time() + DEADLINE_S
        self.state = State.START

    @property
    def is_done(self) -> bool:
        """True if the client may send all requests."""
        return self.state is State.DONE

    @property
    def allowed(self) -> dict[int, Api]:
        """The APIs of the current state."""
        apis = self._settings.apis
        if self.state is State.DONE:
            return apis
        return {key: apis[key] for key in _ALLOWED[self.state]}

    def close(self) -> None:
        """The connection is lost."""
        if self._timer is not None:
            self._timer.cancel()

    # Bytes

    def feed(self, pipeline: Pipeline, data: bytes, start: int, end: int) -> int:
        """Handles frames one by one until the login is done. Returns the position of the first one that is
        not handled.
        """
        position = start
        while not self.is_done and end - position >= _LENGTH_BYTES:
            if self.state is State.FAILED:
                return end
            size = int.from_bytes(data[position : position + _LENGTH_BYTES], signed=True)
            if not 0 <= size <= self._settings.max_receive_bytes:
                raise ProtocolError(
                    f"a request before the login has {size} bytes (sasl.server.max.receive.size)"
                )
            frame_end = position + _LENGTH_BYTES + size
            if frame_end > end:
                return position
            if self._is_raw and self.state is State.TOKENS:
                self._take_raw(pipeline, bytes(data[position + _LENGTH_BYTES : frame_end]))
            elif pipeline.feed(data, position, frame_end) != frame_end:
                return position  # the client must read its answers first
            position = frame_end
        return pipeline.feed(data, position, end) if self.is_done else position

    def _take_raw(self, pipeline: Pipeline, token: bytes) -> None:
        try:
            answer = self._step(token)
        except AuthenticationError as error:
            self._fail(error)
            return
        chunk = len(answer).to_bytes(_LENGTH_BYTES) + answer
        pipeline.out.append(chunk)
        pipeline.out_bytes += len(chunk)

    # Requests

    def handshake(self, mechanism: str, version: int) -> Message | Deferred:
        """The answer to a SaslHandshake request."""
        illegal = SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
        if self.state is State.TOKENS:
            return self._fail(AuthenticationError("there is a second SaslHandshake request"), illegal)
        if not self._may_begin(version):
            return illegal
        offered = list(self._settings.mechanisms)
        if mechanism not in offered:
            response = SaslHandshakeResponse(
                error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=offered
            )
            shown = mechanism if mechanism.isascii() and mechanism.isprintable() else "?"
            reason = f"{shown[:40]} is not among its mechanisms ({', '.join(offered)})"
            return self._fail(AuthenticationError(reason), response)
        self._is_again = self.state is not State.START
        self._wrong_mechanism = mechanism if self._is_again and mechanism != self._mechanism else ""
        self._mechanism = self._mechanism if self._is_again else mechanism
        self._is_raw = version == 0
        self._began_s = self._loop.time()
        if self._is_again:
            self.deadline_s = self._began_s + DEADLINE_S
        self._exchange = self._settings.new_exchange(self._mechanism)
        self._enter(State.TOKENS)
        return SaslHandshakeResponse(mechanisms=offered)

    def _may_begin(self, version: int) -> bool:
        if self.state is State.START:
            return True
        # A client may log in again only if its session ends at all, and not all the time.
        is_rested = self._loop.time() - self._began_s >= REAUTHENTICATION_INTERVAL_S
        return self._has_session_end and is_rested and version > 0

    def authenticate(self, token: bytes) -> Message | Deferred:
        """The answer to a SaslAuthenticate request."""
        if self.state is not State.TOKENS:
            return SaslAuthenticateResponse(
                error_code=ErrorCode.ILLEGAL_SASL_STATE,
                error_message="SaslAuthenticate request received after successful authentication",
            )
        try:
            answer = self._step(token)
        except AuthenticationError as error:
            response = SaslAuthenticateResponse(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=error.told or self._general()
            )
            return self._fail(error, response)
        lifetime_ms = self._end_session_in() if self.is_done else 0
        # Kafka's message is empty here and not null.
        return SaslAuthenticateResponse(auth_bytes=answer, session_lifetime_ms=lifetime_ms or 0)

    def _general(self) -> str:
        kind = "re-authentication" if self._is_again else "authentication"
        return (
            f"Authentication failed during {kind} due to invalid credentials with SASL mechanism "
            f"{self._mechanism}"
        )

    def _step(self, token: bytes) -> bytes:
        exchange = self._exchange
        assert exchange is not None
        if self._wrong_mechanism:
            told = (
                f"SASL mechanism '{self._wrong_mechanism}' requested by client is not supported for "
                f"re-authentication of mechanism '{self._mechanism}'"
            )
            raise AuthenticationError(told, told)
        answer = exchange.step(token)
        if exchange.is_done:
            self._succeed(exchange)
        return answer

    def _succeed(self, exchange: ServerExchange) -> None:
        principal = f"User:{exchange.user}"
        if self._is_again and principal != self._peer.principal:
            old, new = self._peer.principal.replace(":", ".", 1), principal.replace(":", ".", 1)
            told = f"Cannot change principals during re-authentication from {old}: {new}"
            raise AuthenticationError(told, told)
        self._peer.principal = principal
        self._peer.is_token_authenticated = exchange.is_token_authenticated
        self._expires_ms = exchange.expires_ms
        self._exchange = None
        self.deadline_s = _NEVER
        self._enter(State.DONE)
        if self._is_raw:
            self._end_session_in()

    # The end of a session

    def _end_session_in(self) -> int | None:
        """Starts the timer that ends the session. Returns the lifetime, or None if the session has no end."""
        limits = []
        if self._expires_ms is not None:
            limits.append(max(0, self._expires_ms - self._settings.clock_ms()))
        if self._settings.max_reauth_ms.get(self._mechanism, 0) > 0:
            limits.append(self._settings.max_reauth_ms[self._mechanism])
        self.close()
        self._has_session_end = bool(limits)
        if not limits:
            return None
        self._timer = self._loop.call_later(min(limits) / 1000, self._expire)
        return min(limits)

    def _expire(self) -> None:
        if self.state is State.DONE:
            self._enter(State.EXPIRED)

    # Failure

    def _fail(self, error: AuthenticationError, response: Message | None = None) -> Deferred:
        """Answers and closes the connection in a moment."""
        self.close()
        self._exchange = None
        self.deadline_s = _NEVER
        self._enter(State.FAILED)
        peer = self._peer
        reason = f"could not log in on the listener {peer.listener}"
        if self._mechanism:
            reason += f" with {self._mechanism}"
        text = f"{reason}: {error}"
        self._settings.warnings.warn(f"{peer.host} {text}", "%s:%s %s", peer.host, peer.port, text)
        answer = Deferred(_nothing, self.close)

        def end() -> None:
            answer.resolve(response, at_once=True)
            self._close("its login has failed")

        self._timer = self._loop.call_later(self._settings.failure_delay_s, end)
        return answer

    def _enter(self, state: State) -> None:
        self.state = state
        self._on_change()


def _nothing() -> None:
    """A failed login has no other timer."""


def not_logged_in(state: State) -> str:
    """Why a request is refused, for the log."""
    if state is State.EXPIRED:
        return "its session is over, and it has not logged in again (connections.max.reauth.ms)"
    return "it sent another request before it had logged in with SASL. Set security.protocol in the client"
