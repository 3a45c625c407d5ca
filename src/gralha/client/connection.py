"""One connection to one broker: a blocking socket that uses our own codec.

`Connection.open` connects and asks the broker for its versions (ApiVersions). `send` encodes a request in the
highest common version and waits for the answer. `begin` sends a request without waiting, and `complete` waits
for the answer. Several requests may be begun; they are completed in the same order. Every failure becomes a
ClientError that names the broker, and closes the connection.

`open_socket` is the only function of the client that makes a socket, with TLS if the settings say so. With a
login (`login.py`) the connection logs in before the first request, and again before its session ends. Use a
connection from one thread.
"""

import select
import socket
import struct
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple, Self, TypeVar

from gralha import __version__
from gralha.client.addresses import Address
from gralha.client.errors import (
    ConnectionFailedError,
    RequestTimeoutError,
    UnansweredError,
    UnsupportedApiError,
)
from gralha.client.login import SESSION_PART, ClientLogin, failure, what_to_check
from gralha.client.security import PLAINTEXT, ClientSecurity
from gralha.protocol.apis import ApiKey, request_header_version, response_header_version
from gralha.protocol.errors import ErrorCode, error_for
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from gralha.protocol.messages.header import RequestHeader, ResponseHeader
from gralha.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from gralha.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from gralha.protocol.primitives import ProtocolError, Reader, Writer
from gralha.security.sasl.exchange import AuthenticationError

DEFAULT_CONNECT_TIMEOUT_MS: Final = 10_000
DEFAULT_REQUEST_TIMEOUT_MS: Final = 30_000
# An answer to ApiVersions is much smaller. Other protocols (HTTP, a TLS alert) look like a larger size.
MAX_HANDSHAKE_BYTES: Final = 1 << 20
MAX_RESPONSE_BYTES: Final = 1 << 30
_READ_BYTES: Final = 1 << 18

AnyResponse = TypeVar("AnyResponse", bound=Message)


def open_socket(address: Address, timeout_ms: int, security: ClientSecurity = PLAINTEXT) -> socket.socket:
    """Connects to a broker, with TLS if wanted. Raises ConnectionFailedError with the reason."""
    try:
        connected = socket.create_connection(address, timeout=timeout_ms / 1000)
    except ConnectionRefusedError:
        raise ConnectionFailedError(
            f"No broker listens on {address}. Start one with `gralha up`, or check the address."
        ) from None
    except socket.gaierror:
        raise ConnectionFailedError(
            f"The host name '{address.host}' is not known. Check the address."
        ) from None
    except TimeoutError:
        raise ConnectionFailedError(
            f"No connection to {address} within {timeout_ms} ms. Check the address and the network."
        ) from None
    except OSError as error:
        raise ConnectionFailedError(f"No connection to {address}: {error.strerror or error}.") from None
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return security.wrap(connected, address) if security.uses_tls else connected


class Begun(NamedTuple):
    """A request that was sent and has no answer yet."""

    api_key: int
    version: int
    correlation_id: int
    timeout_ms: int


class Connection:
    """A connection that knows the versions of its broker."""

    def __init__(
        self,
        address: Address,
        connected: socket.socket,
        client_id: str,
        timeout_ms: int,
        security: ClientSecurity = PLAINTEXT,
    ) -> None:
        self.address = address
        # API key -> the lowest and the highest version that the broker supports.
        self.versions: dict[int, tuple[int, int]] = {}
        # The broker's answer to ApiVersions, which also has its features.
        self.api_versions = ApiVersionsResponse()
        self.closed = False
        self._socket = connected
        self._security = security
        self._client_id = client_id
        self._timeout_ms = timeout_ms
        self._correlation_id = 0
        self._login: ClientLogin | None = None
        self._login_again_at: float | None = None
        # The requests that have no answer yet, and answers that arrived before somebody wanted them.
        self._outstanding: deque[Begun] = deque()
        self._early: dict[int, bytes] = {}

    @classmethod
    def open(
        cls,
        address: Address,
        *,
        client_id: str = "gralha",
        connect_timeout_ms: int = DEFAULT_CONNECT_TIMEOUT_MS,
        request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS,
        security: ClientSecurity = PLAINTEXT,
    ) -> "Connection":
        """Connects, asks for the broker's versions, and logs in."""
        connected = open_socket(address, connect_timeout_ms, security)
        connection = cls(address, connected, client_id, request_timeout_ms, security)
        try:
            connection._learn_versions()
        except UnansweredError as error:
            # Only our own ApiVersions request was sent, so for the caller there is no connection.
            raise ConnectionFailedError(str(error)) from error
        if security.login is not None:
            connection._log_in(security.login)
        return connection

    def send(
        self,
        request: Message,
        response_class: type[AnyResponse],
        timeout_ms: int | None = None,
        *,
        max_version: int | None = None,
    ) -> AnyResponse:
        """Sends a request in the highest common version and waits for its response.

        `timeout_ms` is for requests that the broker delays on purpose. `max_version` is for requests that
        have another meaning in later versions.
        """
        return self.complete(self.begin(request, timeout_ms, max_version=max_version), response_class)

    def begin(
        self,
        request: Message,
        timeout_ms: int | None = None,
        *,
        max_version: int | None = None,
        has_answer: bool = True,
    ) -> Begun:
        """Sends a request without waiting for its response. `has_answer` is False if there is none."""
        if self._login_again_at is not None and time.monotonic() >= self._login_again_at:
            self._log_in_again()
        begun = self._begin(request, self.version_for(request, max_version), timeout_ms or self._timeout_ms)
        if not has_answer:
            self._outstanding.pop()
        return begun

    def complete(self, begun: Begun, response_class: type[AnyResponse]) -> AnyResponse:
        """Waits for the response to the oldest request that is not completed.

        The timeout begins now, not when the request was sent, because the caller may have done other work.
        """
        return self._decode(self._answer(begun, MAX_RESPONSE_BYTES), begun, begun.version, response_class)

    def serves(self, api_key: int) -> bool:
        """Returns True if the broker supports the API."""
        return api_key in self.versions

    def version_for(self, request: Message | type[Message], max_version: int | None = None) -> int:
        """The highest common version of the request, limited by `max_version`."""
        lowest, highest = self.versions.get(request.API_KEY, (0, -1))
        ours = request.MAX_VERSION if max_version is None else max_version
        version = min(highest, ours)
        if version < max(lowest, request.MIN_VERSION):
            name = ApiKey(request.API_KEY).name
            if highest < 0:
                raise UnsupportedApiError(f"The broker {self.address} does not support {name}.")
            raise UnsupportedApiError(
                f"The broker {self.address} supports {name} in versions {lowest} to {highest}, "
                f"but this client in versions {request.MIN_VERSION} to {ours}."
            )
        return version

    @property
    def has_early_answer(self) -> bool:
        """True if an answer has been read that nobody has asked for yet."""
        return bool(self._early)

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def has_decrypted(self) -> bool:
        """True if TLS has bytes of an answer already, which the system does not know of."""
        return self._security.uses_tls and self._socket.pending() > 0  # type: ignore[attr-defined]

    def close(self) -> None:
        """Closes the socket. A second call does nothing."""
        self.closed = True
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _learn_versions(self) -> None:
        """Asks for the versions. A broker that is too old for this request answers in version 0 (KIP-511)."""
        request = ApiVersionsRequest(client_software_name="gralha", client_software_version=__version__)
        version = ApiVersionsRequest.MAX_VERSION
        response = self._exchange_versions(request, version)
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            served = {entry.api_key: entry.max_version for entry in response.api_keys}
            version = min(version, served.get(ApiKey.API_VERSIONS, 0))
            response = self._exchange_versions(request, version)
        if response.error_code != ErrorCode.NONE:
            self.close()
            raise error_for(response.error_code)
        self.api_versions = response
        self.versions = {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}

    def _log_in(self, login: ClientLogin) -> None:
        """Logs in, and plans the next login if the session has an end (KIP-368)."""
        self._login = login
        self._login_again_at = None
        mechanism = login.mechanism
        try:
            chosen = self._ask(SaslHandshakeRequest(mechanism=mechanism), SaslHandshakeResponse)
            if chosen.error_code != ErrorCode.NONE:
                offered = ", ".join(chosen.mechanisms)
                raise AuthenticationError(f"it offers {offered or 'no SASL on this listener'}")
            exchange = login.new_exchange()
            token: bytes | None = exchange.first()
            lifetime_ms = 0
            while token is not None:
                request = SaslAuthenticateRequest(auth_bytes=token)
                answer = self._ask(request, SaslAuthenticateResponse)
                if answer.error_code != ErrorCode.NONE:
                    reason = answer.error_message or "it does not say why"
                    raise AuthenticationError(f"{reason.rstrip('.')}. {what_to_check(mechanism)}")
                lifetime_ms = answer.session_lifetime_ms
                token = exchange.step(answer.auth_bytes)
        except AuthenticationError as error:
            self.close()
            raise failure(self.address, mechanism, str(error).rstrip(".")) from None
        except BaseException:
            self.close()
            raise
        if lifetime_ms > 0:
            self._login_again_at = time.monotonic() + lifetime_ms / 1000 * SESSION_PART

    def _ask(self, request: Message, response_class: type[AnyResponse]) -> AnyResponse:
        begun = self._begin(request, self.version_for(request), self._timeout_ms)
        return self.complete(begun, response_class)

    def _log_in_again(self) -> None:
        """The broker allows no other request during a login, so the answers to earlier ones come first."""
        assert self._login is not None
        while self._outstanding:
            begun = self._outstanding[0]
            self._early[begun.correlation_id] = self._answer(begun, MAX_RESPONSE_BYTES)
        self._log_in(self._login)

    def _exchange_versions(self, request: ApiVersionsRequest, version: int) -> ApiVersionsResponse:
        begun = self._begin(request, version, self._timeout_ms)
        body = self._answer(begun, MAX_HANDSHAKE_BYTES)
        try:
            answered = 0 if Reader(body, 4).int16() == ErrorCode.UNSUPPORTED_VERSION else version
        except ProtocolError as error:
            raise self._not_kafka() from error
        return self._decode(body, begun, answered, ApiVersionsResponse)

    def _begin(self, request: Message, version: int, timeout_ms: int) -> Begun:
        self._correlation_id += 1
        begun = Begun(request.API_KEY, version, self._correlation_id, timeout_ms)
        with self._explained(begun):
            self._write(request, begun)
        self._outstanding.append(begun)
        return begun

    def _answer(self, begun: Begun, max_bytes: int) -> bytes:
        early = self._early.pop(begun.correlation_id, None)
        if early is not None:
            return early
        if self._outstanding and self._outstanding[0] is begun:
            self._outstanding.popleft()
        with self._explained(begun):
            return self._read(time.monotonic() + begun.timeout_ms / 1000, max_bytes)

    @contextmanager
    def _explained(self, begun: Begun) -> Iterator[None]:
        """Closes the connection after any failure and raises an error for a person."""
        try:
            yield
        except TimeoutError:
            self.close()
            raise RequestTimeoutError(
                f"The broker {self.address} did not answer within {begun.timeout_ms} ms."
            ) from None
        except OSError as error:
            self.close()
            raise UnansweredError(self._why_broken(error)) from None
        except BaseException:
            # Half a frame may be on its way, so the next answer could not be matched with its request.
            self.close()
            raise

    def _write(self, request: Message, begun: Begun) -> None:
        writer = Writer()
        header = RequestHeader(
            request_api_key=request.API_KEY,
            request_api_version=begun.version,
            correlation_id=begun.correlation_id,
            client_id=self._client_id,
        )
        writer.begin_frame()
        header.encode(writer, request_header_version(request.API_KEY, begun.version))
        request.encode(writer, begun.version)
        writer.end_frame()
        deadline = time.monotonic() + begun.timeout_ms / 1000
        # Record batches are separate chunks and are sent without copying. TLS copies them anyway.
        chunks = writer.finish_in_memory()
        for chunk in [b"".join(chunks)] if self._security.uses_tls else chunks:
            self._socket.settimeout(_remaining(deadline))
            self._socket.sendall(chunk)

    def _read(self, deadline: float, max_bytes: int) -> bytes:
        size_bytes = int.from_bytes(self._read_exactly(4, deadline), "big", signed=True)
        if not 4 <= size_bytes <= max_bytes:
            raise self._not_kafka()
        return self._read_exactly(size_bytes, deadline)

    def _read_exactly(self, size_bytes: int, deadline: float) -> bytes:
        """Reads exactly this many bytes. Memory grows with the bytes that arrive, not before."""
        chunks = []
        missing = size_bytes
        while missing > 0:
            if self._security.uses_tls:
                self._socket.settimeout(_remaining(deadline))
                chunk = self._socket.recv(min(missing, _READ_BYTES))
            else:
                chunk = _receive(self._socket, missing, _remaining(deadline))
            if not chunk:
                raise UnansweredError(
                    f"The broker {self.address} closed the connection. "
                    f"Check that it is a {self._security.protocol} listener, and look at the broker's log."
                )
            chunks.append(chunk)
            missing -= len(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _decode(
        self, body: bytes, begun: Begun, version: int, response_class: type[AnyResponse]
    ) -> AnyResponse:
        try:
            reader = Reader(body)
            header = ResponseHeader.decode(reader, response_header_version(begun.api_key, version))
            if header.correlation_id != begun.correlation_id:
                raise ProtocolError(f"correlation id {header.correlation_id}, not {begun.correlation_id}")
            response = response_class.decode(reader, version)
        except ProtocolError as error:
            self.close()
            raise UnansweredError(
                f"The answer of {self.address} to {ApiKey(begun.api_key).name} version {version} is "
                f"malformed: {error}."
            ) from error
        assert isinstance(response, response_class)
        return response

    def _why_broken(self, error: OSError) -> str:
        reason = f"The connection to {self.address} broke: {error.strerror or error}."
        if not self._security.uses_tls:
            return reason
        from gralha.client.tls_errors import why_tls_ended

        return why_tls_ended(error, self.address) or reason

    def _not_kafka(self) -> UnansweredError:
        return UnansweredError(f"The server on {self.address} does not use Kafka's protocol. Check the port.")


def answered(timeout_s: float, connections: Sequence[Connection]) -> bool:
    """Waits until one of the connections has an answer to read, or has broken. Returns False if none has."""
    if any(connection.has_early_answer or connection.has_decrypted for connection in connections):
        return True
    poll = select.poll()
    for connection in connections:
        poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))


def _receive(connected: socket.socket, size_bytes: int, timeout_s: float) -> bytes:
    """Receives some of the expected bytes, or b"" at the end of the stream.

    One call receives many bytes into one object, which takes a third of the time of joining many pieces. The
    kernel provides memory only for bytes that were written. Python's own timeouts make the socket
    non-blocking and so prevent this. Therefore the kernel's timeout is set.
    """
    if size_bytes <= _READ_BYTES:
        connected.settimeout(timeout_s)
        return connected.recv(size_bytes)
    connected.settimeout(None)
    whole_seconds = int(timeout_s)
    interval = struct.pack("ll", whole_seconds, max(1, int((timeout_s - whole_seconds) * 1e6)))
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, interval)
    try:
        return connected.recv(size_bytes, socket.MSG_WAITALL)
    except BlockingIOError:
        raise TimeoutError from None


def _remaining(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds
