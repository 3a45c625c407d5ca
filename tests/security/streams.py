"""Two `TlsStream`s back to back in memory, and the tools to look at what passes between them."""

import asyncio
import ssl
from collections import deque
from typing import Any

from gralha.security.key_stores import client_context, server_context
from gralha.security.tls_settings import TlsSettings
from gralha.security.tls_stream import CiphertextBuffer, TlsStream
from tests.certificates import Authority

AUTHORITY = Authority()
SERVER = AUTHORITY.issue()
CLIENT = AUTHORITY.issue("alice", ())


def server_tls(**more: str) -> ssl.SSLContext:
    return server_context(
        TlsSettings(
            {
                "ssl.keystore.key": SERVER.key_pem(),
                "ssl.keystore.certificate.chain": SERVER.chain_pem(),
                "ssl.truststore.certificates": AUTHORITY.pem(),
                **{name.replace("_", "."): value for name, value in more.items()},
            }
        )
    )


def client_tls(authority: Authority = AUTHORITY, has_key: bool = False, **more: str) -> ssl.SSLContext:
    texts = {"ssl.truststore.certificates": authority.pem()}
    if has_key:
        texts["ssl.keystore.key"] = CLIENT.key_pem()
        texts["ssl.keystore.certificate.chain"] = CLIENT.chain_pem()
    texts.update({name.replace("_", "."): value for name, value in more.items()})
    return client_context(TlsSettings(texts))


class Wire(asyncio.Transport):
    """One end of a socket: keeps what was written until the test delivers it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.calls = 0
        self.is_paused = False
        self.is_closed = False
        self.is_aborted = False

    def write(self, data: Any) -> None:
        self.calls += 1
        self.written += data

    def writelines(self, list_of_data: Any) -> None:
        self.calls += 1
        self.written += b"".join(list_of_data)

    def take(self, size: int = 1 << 30) -> bytes:
        taken = bytes(self.written[:size])
        del self.written[:size]
        return taken

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def get_write_buffer_size(self) -> int:
        return len(self.written)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default


class Inner(asyncio.BufferedProtocol):
    """The protocol on top: keeps what it receives, in a buffer of the given size."""

    def __init__(self, buffer_bytes: int = 1 << 20) -> None:
        self._buffer = memoryview(bytearray(buffer_bytes))
        self.received = bytearray()
        self.updates: list[int] = []
        self.pauses_after: int | None = None
        self.has_ended = False
        self.lost: list[Exception | None] = []
        self.transport: TlsStream

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, TlsStream)
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.updates.append(nbytes)
        self.received += self._buffer[:nbytes]
        if self.pauses_after is not None and len(self.received) >= self.pauses_after:
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        self.has_ended = True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(exc)


class Side:
    """A stream with its wire and its inner protocol."""

    def __init__(
        self, context: ssl.SSLContext, is_server: bool, host: str = "localhost", buffer: int = 1 << 20
    ):
        self.inner = Inner(buffer)
        self.wire = Wire()
        self.secured: list[ssl.SSLObject] = []
        self.failures: list[tuple[Exception, bytes]] = []
        self.refusal: Exception | None = None
        self.stream = TlsStream(
            self.inner,
            context,
            CiphertextBuffer(),
            server_side=is_server,
            server_hostname=None if is_server else host,
            on_secured=self._on_secured,
            on_failed=lambda error, beginning: self.failures.append((error, beginning)),
        )
        self.stream.connection_made(self.wire)

    def _on_secured(self, tls: ssl.SSLObject) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.secured.append(tls)

    def receive(self, data: bytes) -> None:
        """Bytes arrive from the socket, as the event loop would hand them over."""
        position = 0
        while position < len(data):
            room = memoryview(self.stream.get_buffer(-1))
            part = data[position : position + len(room)]
            room[: len(part)] = part
            self.stream.buffer_updated(len(part))
            position += len(part)


class Pair:
    """A client and a server. `carry` delivers what they have written, in pieces of the given sizes."""

    def __init__(
        self,
        server: ssl.SSLContext | None = None,
        client: ssl.SSLContext | None = None,
        host: str = "localhost",
        buffer: int = 1 << 20,
    ) -> None:
        self.server = Side(server or SERVER_TLS, True, buffer=buffer)
        self.client = Side(client or CLIENT_TLS, False, host)

    def carry(self, *sizes: int) -> None:
        """Carries bytes to and fro until nothing is left. Paused sides get nothing."""
        steps = deque(sizes or (1 << 30,))
        is_moving = True
        while is_moving:
            is_moving = False
            for source, target in ((self.client, self.server), (self.server, self.client)):
                if source.wire.written and not target.wire.is_paused:
                    target.receive(source.wire.take(steps[0]))
                    steps.rotate(-1)
                    is_moving = True

    def secured(self) -> "Pair":
        self.carry()
        assert self.server.secured
        assert self.client.secured
        return self


SERVER_TLS = server_tls()
CLIENT_TLS = client_tls()
