"""One connection to one broker: a blocking socket for requests of our own codec.

`Connection.open` connects and asks the broker which versions it serves (ApiVersions); `send` encodes a
request in the highest version that both sides know and waits for its answer. `begin` only sends it, and
`complete` waits: in between others may be begun, and are completed in the same order. Whatever goes wrong on
the way becomes a ClientError that names the broker; after that the connection is closed and of no more use.

`open_socket` is the only place in the client where a socket is made: TLS and SASL go there.
A connection belongs to one thread.
"""

import socket
import struct
import time
from collections.abc import Iterator
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
from gralha.protocol.apis import ApiKey, request_header_version, response_header_version
from gralha.protocol.errors import ErrorCode, error_for
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from gralha.protocol.messages.header import RequestHeader, ResponseHeader
from gralha.protocol.primitives import ProtocolError, Reader, Writer

DEFAULT_CONNECT_TIMEOUT_MS: Final = 10_000
DEFAULT_REQUEST_TIMEOUT_MS: Final = 30_000
# An answer to ApiVersions is far smaller; what is not Kafka's protocol (HTTP, a TLS alert) looks larger.
MAX_HANDSHAKE_BYTES: Final = 1 << 20
MAX_RESPONSE_BYTES: Final = 1 << 30
_READ_BYTES: Final = 1 << 18
# How OpenSSL says that an answer was not TLS at all, or that there was none.
_NOT_TLS: Final = (
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "HTTP_REQUEST",
    "PACKET_LENGTH_TOO_LONG",
    "UNEXPECTED_EOF_WHILE_READING",
)


AnyResponse = TypeVar("AnyResponse", bound=Message)


def open_socket(address: Address, timeout_ms: int) -> socket.socket:
    """A TCP connection to a broker; ConnectionFailedError says why there is none."""
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
    return connected


def check_tls(address: Address, connected: socket.socket) -> None:
    """ConnectionFailedError when what listens there does not answer in TLS. Nobody's identity is checked."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        context.wrap_socket(connected, server_hostname=address.host).close()
    except OSError as error:
        # Any other complaint, such as a missing client certificate, is made in TLS.
        if isinstance(error, ssl.SSLError) and error.reason not in (None, *_NOT_TLS):
            return
        raise ConnectionFailedError(
            f"What listens on {address} does not speak TLS. Check the port and security.protocol."
        ) from None


class Begun(NamedTuple):
    """A request that was sent and whose answer is still to come."""

    api_key: int
    version: int
    correlation_id: int
    timeout_ms: int


class Connection:
    """A connection that knows which versions its broker serves."""

    def __init__(self, address: Address, connected: socket.socket, client_id: str, timeout_ms: int) -> None:
        self.address = address
        # API key -> the lowest and the highest version that the broker serves.
        self.versions: dict[int, tuple[int, int]] = {}
        # What the broker said about itself: its features are there too.
        self.api_versions = ApiVersionsResponse()
        self.closed = False
        self._socket = connected
        self._client_id = client_id
        self._timeout_ms = timeout_ms
        self._correlation_id = 0

    @classmethod
    def open(
        cls,
        address: Address,
        *,
        client_id: str = "gralha",
        connect_timeout_ms: int = DEFAULT_CONNECT_TIMEOUT_MS,
        request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS,
    ) -> "Connection":
        """Connect and learn the broker's versions."""
        connected = open_socket(address, connect_timeout_ms)
        connection = cls(address, connected, client_id, request_timeout_ms)
        try:
            connection._learn_versions()
        except UnansweredError as error:
            # Nothing but our own question was sent: for the caller there is just no connection.
            raise ConnectionFailedError(str(error)) from error
        return connection

    def send(
        self,
        request: Message,
        response_class: type[AnyResponse],
        timeout_ms: int | None = None,
        *,
        max_version: int | None = None,
    ) -> AnyResponse:
        """Send a request in the highest common version and wait for its response.

        `timeout_ms` is for requests that the broker itself holds back for a while, `max_version` for those
        that mean something else in later versions.
        """
        return self.complete(self.begin(request, timeout_ms, max_version=max_version), response_class)

    def begin(
        self, request: Message, timeout_ms: int | None = None, *, max_version: int | None = None
    ) -> Begun:
        """Send a request without waiting for its response."""
        return self._begin(request, self.version_for(request, max_version), timeout_ms or self._timeout_ms)

    def complete(self, begun: Begun, response_class: type[AnyResponse]) -> AnyResponse:
        """Wait for the response to the request that was begun first of all that are not completed yet.

        The time since it was begun does not count: the caller had other things to do.
        """
        return self._decode(self._answer(begun, MAX_RESPONSE_BYTES), begun, begun.version, response_class)

    def serves(self, api_key: int) -> bool:
        """Whether the broker serves an API at all."""
        return api_key in self.versions

    def version_for(self, request: Message | type[Message], max_version: int | None = None) -> int:
        """The highest version of the request that both sides know, or that it may have."""
        lowest, highest = self.versions.get(request.API_KEY, (0, -1))
        ours = request.MAX_VERSION if max_version is None else max_version
        version = min(highest, ours)
        if version < max(lowest, request.MIN_VERSION):
            name = ApiKey(request.API_KEY).name
            if highest < 0:
                raise UnsupportedApiError(f"The broker {self.address} does not serve {name}.")
            raise UnsupportedApiError(
                f"The broker {self.address} serves {name} in versions {lowest} to {highest}, "
                f"but versions {request.MIN_VERSION} to {ours} are spoken here."
            )
        return version

    def close(self) -> None:
        """Close the socket; a second call does nothing."""
        self.closed = True
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _learn_versions(self) -> None:
        """Ask for the versions; a broker too old for our question answers it in version 0 (KIP-511)."""
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
        return begun

    def _answer(self, begun: Begun, max_bytes: int) -> bytes:
        with self._explained(begun):
            return self._read(time.monotonic() + begun.timeout_ms / 1000, max_bytes)

    @contextmanager
    def _explained(self, begun: Begun) -> Iterator[None]:
        """Any failure leaves the connection closed, and is told to a person."""
        try:
            yield
        except TimeoutError:
            self.close()
            raise RequestTimeoutError(
                f"The broker {self.address} did not answer within {begun.timeout_ms} ms."
            ) from None
        except OSError as error:
            self.close()
            raise UnansweredError(
                f"The connection to {self.address} broke: {error.strerror or error}."
            ) from None
        except BaseException:
            # Half a frame may be on its way: the next answer would be taken for another request's.
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
        # Record batches are chunks of their own, and are sent from where they lie.
        for chunk in writer.finish():
            self._socket.settimeout(_remaining(deadline))
            self._socket.sendall(chunk)

    def _read(self, deadline: float, max_bytes: int) -> bytes:
        size_bytes = int.from_bytes(self._read_exactly(4, deadline), "big", signed=True)
        if not 4 <= size_bytes <= max_bytes:
            raise self._not_kafka()
        return self._read_exactly(size_bytes, deadline)

    def _read_exactly(self, size_bytes: int, deadline: float) -> bytes:
        """So many bytes. Memory is filled as they arrive, whatever was announced."""
        chunks = []
        missing = size_bytes
        while missing > 0:
            chunk = _receive(self._socket, missing, _remaining(deadline))
            if not chunk:
                raise UnansweredError(
                    f"The broker {self.address} closed the connection. "
                    "Check that the listener is a PLAINTEXT one, and the broker's log."
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

    def _not_kafka(self) -> UnansweredError:
        return UnansweredError(
            f"What listens on {self.address} does not speak Kafka's protocol. Check the port."
        )


def _receive(connected: socket.socket, size_bytes: int, timeout_s: float) -> bytes:
    """Some of the bytes that are expected; b"" at the end of the stream.

    Much is received in one call into one object (its memory is there once something is written to it): that
    takes a third of the time of many pieces that are joined. Python's own time-outs do not allow it, because
    they make the socket one that never waits; so the kernel is told.
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
