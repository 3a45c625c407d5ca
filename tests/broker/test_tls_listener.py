"""Listeners with TLS on real sockets: principals, failed handshakes and their log lines, floods, new keys."""

import asyncio
import contextlib
import logging
import os
import socket
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gralha.broker.connection import HANDSHAKE_DEADLINE_SECONDS
from gralha.broker.node_tls import ListenerTls
from gralha.broker.pipeline import Api, RequestContext
from gralha.broker.request_meters import RequestMeters
from gralha.broker.server import Server
from gralha.protocol.message import Message
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.primitives import Reader, Writer
from tests.certificates import Authority
from tests.security.streams import AUTHORITY, CLIENT, SERVER, client_tls

LIMIT = 300
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def who_am_i(broker: object, context: RequestContext, request: FindCoordinatorRequest) -> Message:
    return FindCoordinatorResponse(host=context.peer.principal + request.key)


APIS = {10: Api(10, "FindCoordinator", 0, 0, 3, FindCoordinatorRequest.decode, who_am_i)}


def frame(key: str) -> bytes:
    writer = Writer()
    writer.begin_frame()
    writer.write_int16(10)
    writer.write_int16(0)
    writer.write_int32(5)
    writer.write_nullable_string(None)
    FindCoordinatorRequest(key=key).encode(writer, 0)
    writer.end_frame()
    return writer.to_bytes()


class Listener:
    """A server with one listener."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.key_file = Path(SERVER.write_pem(folder / "server.pem"))
        texts = {name.replace("_", "."): value for name, value in settings.items()}
        texts["ssl.keystore.location"] = str(self.key_file)
        texts["ssl.truststore.certificates"] = AUTHORITY.pem()
        self.tls = ListenerTls("EXTERNAL", texts)
        self.server = Server(
            max_request_bytes=1 << 24,
            max_connections=LIMIT,
            max_connections_per_ip=LIMIT,
            max_idle_ms=600_000,
            meters=RequestMeters(time.perf_counter),
        )
        self.port = 0

    async def start(self) -> None:
        self.port = await self.server.bind("EXTERNAL", "127.0.0.1", 0, APIS, self.tls)
        await self.server.serve(None)

    async def connect(
        self, context: ssl.SSLContext | None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host = "localhost" if context is not None else None
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=context, server_hostname=host)

    async def ask(self, context: ssl.SSLContext, key: str = "") -> str:
        reader, writer = await self.connect(context)
        writer.write(frame(key))
        size = int.from_bytes(await reader.readexactly(4))
        answer = Reader(await reader.readexactly(size))
        answer.int32()
        writer.close()
        return FindCoordinatorResponse.decode(answer, 0).host

    async def refuses(self, context: ssl.SSLContext | None, data: bytes = b"") -> None:
        """Connects, sends bytes and waits until the server has closed the connection."""
        try:
            reader, writer = await self.connect(context)
            writer.write(data)
            while await reader.read(1000):
                pass
        except (ssl.SSLError, ConnectionError):
            return
        writer.close()


@pytest.fixture
async def listener(tmp_path: Path) -> AsyncIterator[Listener]:
    listener = Listener(tmp_path, ssl_client_auth="requested")
    await listener.start()
    yield listener
    await listener.server.close()


@pytest.fixture
async def strict(tmp_path: Path) -> AsyncIterator[Listener]:
    rules = "RULE:^CN=([a-z]+)$/$1/U"
    listener = Listener(tmp_path, ssl_client_auth="required", ssl_principal_mapping_rules=rules)
    await listener.start()
    yield listener
    await listener.server.close()


async def has_ended(reader: asyncio.StreamReader) -> None:
    """Waits until the server has closed the connection. It is reset if the server had not read everything."""
    with contextlib.suppress(ConnectionResetError):
        assert await reader.read() == b""


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]


async def test_principals(listener: Listener) -> None:
    assert await listener.ask(client_tls()) == "User:ANONYMOUS"
    assert await listener.ask(client_tls(has_key=True)) == "User:CN=alice"


async def test_principal_by_a_rule(strict: Listener) -> None:
    assert await strict.ask(client_tls(has_key=True)) == "User:ALICE"


async def test_a_long_request_and_a_long_answer(listener: Listener) -> None:
    key = "x" * 30_000
    assert await listener.ask(client_tls(), key) == "User:ANONYMOUS" + key


async def test_plaintext_client(listener: Listener, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            await listener.refuses(None, frame("plaintext"))
    (warning,) = warnings_of(caplog)
    assert warning.endswith(
        "does not use TLS. The listener EXTERNAL uses TLS: set security.protocol=SSL in the client."
    )
    assert await listener.ask(client_tls()) == "User:ANONYMOUS"


async def test_http_client(listener: Listener, caplog: pytest.LogCaptureFixture) -> None:
    await listener.refuses(None, b"GET / HTTP/1.1\r\n\r\n")
    assert "sent an HTTP request, but this port is for Kafka clients" in warnings_of(caplog)[0]


async def test_client_that_does_not_trust(listener: Listener, caplog: pytest.LogCaptureFixture) -> None:
    def connect() -> None:
        """Unlike asyncio, most clients tell the server why they leave."""
        with socket.create_connection(("127.0.0.1", listener.port)) as connection:
            context = client_tls(Authority("Other"))
            with pytest.raises(ssl.SSLCertVerificationError):
                context.wrap_socket(connection, server_hostname="localhost")

    await asyncio.get_running_loop().run_in_executor(None, connect)
    assert await listener.ask(client_tls()) == "User:ANONYMOUS"
    (warning,) = warnings_of(caplog)
    assert "does not accept the certificate of the listener EXTERNAL (tlsv1_alert_unknown_ca)" in warning


async def test_client_without_a_certificate(strict: Listener, caplog: pytest.LogCaptureFixture) -> None:
    await strict.refuses(client_tls(), frame(""))
    (warning,) = warnings_of(caplog)
    assert "has no certificate, and the listener EXTERNAL requires one" in warning
    assert "set ssl.keystore.location in the client" in warning


async def test_client_with_a_certificate_of_others(
    strict: Listener, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    stranger = client_tls()
    stranger.load_cert_chain(Authority("Other").issue("mallory").write_pem(tmp_path / "mallory.pem"))
    await strict.refuses(stranger, frame(""))
    (warning,) = warnings_of(caplog)
    assert "has a certificate that the listener EXTERNAL does not accept (" in warning


async def test_client_whom_no_rule_maps(
    strict: Listener, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    nameless = client_tls()
    nameless.load_cert_chain(AUTHORITY.issue("alice 2").write_pem(tmp_path / "nameless.pem"))
    await strict.refuses(nameless, frame(""))
    (warning,) = warnings_of(caplog)
    assert "no rule of ssl.principal.mapping.rules matches the certificate of CN=alice 2" in warning


async def test_half_open_handshakes_leave_others_served(listener: Listener) -> None:
    """Silent clients and clients in the middle of a handshake wait; others are served until the limit."""
    beginning = bytes.fromhex("1603010200010001fc0303")
    half_open = [await listener.connect(None) for _ in range(LIMIT - 10)]
    for number, (_, writer) in enumerate(half_open):
        if number % 2:
            writer.write(beginning)
    assert await listener.ask(client_tls()) == "User:ANONYMOUS"
    assert len(listener.server.connections()) >= LIMIT - 10
    now = asyncio.get_running_loop().time()
    listener.server.end_overdue(now + HANDSHAKE_DEADLINE_SECONDS - 1)
    assert await listener.ask(client_tls()) == "User:ANONYMOUS"
    listener.server.end_overdue(now + HANDSHAKE_DEADLINE_SECONDS + 1)
    for reader, writer in half_open:
        await has_ended(reader)
        writer.close()
    assert await listener.ask(client_tls()) == "User:ANONYMOUS"


async def test_limits_count_clients_that_have_not_shaken_hands(listener: Listener) -> None:
    half_open = [await listener.connect(None) for _ in range(LIMIT)]
    reader, writer = await listener.connect(None)
    assert await reader.read() == b""
    for _, one in [*half_open, (reader, writer)]:
        one.close()


async def test_a_slow_handshake_is_ended(listener: Listener) -> None:
    """Single bytes do not prolong the deadline."""
    reader, writer = await listener.connect(None)
    now = asyncio.get_running_loop().time()
    for byte in bytes.fromhex("1603010200"):
        writer.write(bytes([byte]))
        await writer.drain()
    listener.server.end_overdue(now + HANDSHAKE_DEADLINE_SECONDS + 1)
    await has_ended(reader)
    writer.close()


async def test_closing_the_server_says_goodbye(listener: Listener) -> None:
    reader, writer = await listener.connect(client_tls())
    writer.write(frame("x"))
    await reader.readexactly(4)
    await listener.server.close()
    # A connection that is cut raises an error here.
    assert (await reader.read()).endswith(b"x" + (0).to_bytes(4))
    writer.close()


async def test_new_certificate(listener: Listener) -> None:
    """New connections get the new certificate. A connection that exists goes on."""
    reader, writer = await listener.connect(client_tls())
    context = listener.tls.server
    assert context.refresh() is False
    newcomer = Authority("Newcomer")
    replacement = listener.key_file.with_suffix(".new")
    newcomer.issue().write_pem(replacement)
    os.replace(replacement, listener.key_file)
    assert context.refresh() is True
    assert await listener.ask(client_tls(newcomer)) == "User:ANONYMOUS"
    await listener.refuses(client_tls())
    writer.write(frame("old"))
    await reader.readexactly(4)
    writer.close()


async def test_a_wrong_new_certificate_is_not_used(listener: Listener) -> None:
    listener.key_file.write_text(SERVER.chain_pem())
    with pytest.raises(Exception, match="has no private key"):
        listener.tls.server.refresh()
    # It is tried once, and the old one stays.
    assert listener.tls.server.refresh() is False
    assert await listener.ask(client_tls()) == "User:ANONYMOUS"
    listener.key_file.write_text(CLIENT.key_pem() + CLIENT.chain_pem())
    assert listener.tls.server.refresh() is True
