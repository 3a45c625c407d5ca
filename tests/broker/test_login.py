"""Logins on real sockets: the states of a connection, both forms of tokens, failures, and new logins."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from random import Random

import pytest

from gralha.broker.handlers import sasl_authenticate, sasl_handshake
from gralha.broker.login import DEADLINE_S, LoginSettings, State
from gralha.broker.pipeline import Api, RequestContext
from gralha.broker.request_meters import RequestMeters
from gralha.broker.server import Server
from gralha.broker.warnings_once import WarningsOnce
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from gralha.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from gralha.protocol.primitives import Reader, Writer
from gralha.security.sasl.exchange import ServerExchange
from gralha.security.sasl.plain import PlainServer
from gralha.security.sasl.scram import new_credential
from gralha.security.sasl.scram_client import ScramClient
from gralha.security.sasl.scram_server import ScramServer, ScramUser, ScramUsers

CREDENTIAL = new_credential("SCRAM-SHA-256", "secret", b"salt", 4096)
MAX_RECEIVE_BYTES = 4096


def who(broker: object, context: RequestContext, request: FindCoordinatorRequest) -> Message:
    """Answers with the name of the caller."""
    return FindCoordinatorResponse(host=context.peer.principal)


def versions(broker: object, context: RequestContext, request: ApiVersionsRequest) -> Message:
    return ApiVersionsResponse(throttle_time_ms=len(context.peer.served))


APIS = {
    10: Api(10, "FindCoordinator", 0, 0, 3, FindCoordinatorRequest.decode, who),
    17: Api(17, "SaslHandshake", 0, 1, 99, SaslHandshakeRequest.decode, sasl_handshake.handle),
    18: Api(18, "ApiVersions", 0, 4, 3, ApiVersionsRequest.decode, versions),
    36: Api(36, "SaslAuthenticate", 0, 2, 2, SaslAuthenticateRequest.decode, sasl_authenticate.handle),
}


class Exchanges:
    """Makes exchanges for two users."""

    def __init__(self) -> None:
        users = ScramUsers(
            lambda name: ScramUser(name, CREDENTIAL) if name == "alice" else None,
            lambda _: None,
            lambda _: (b"salt", 4096),
            lambda _: (b"salt", 4096),
        )
        self.makers: dict[str, Callable[[], ServerExchange]] = {
            "PLAIN": lambda: PlainServer({"alice": "secret", "bob": "other"}.get),
            "SCRAM-SHA-256": lambda: ScramServer("SCRAM-SHA-256", users, Random(1).randbytes),
        }

    def __call__(self, mechanism: str) -> ServerExchange:
        return self.makers[mechanism]()


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, request: Message, version: int) -> None:
        writer = Writer()
        writer.begin_frame()
        writer.write_int16(request.API_KEY)
        writer.write_int16(version)
        writer.write_int32(5)
        writer.write_nullable_string(None)
        if version >= APIS[request.API_KEY].flexible_from:
            writer.write_int8(0)
        request.encode(writer, version)
        writer.end_frame()
        self.writer.write(writer.to_bytes())

    async def token(self) -> bytes:
        """The next frame."""
        return await self.reader.readexactly(int.from_bytes(await self.reader.readexactly(4)))

    async def answer(self, has_tags: bool = False) -> Reader:
        reader = Reader(await self.token())
        assert reader.int32() == 5
        if has_tags:
            reader.tagged_fields()
        return reader

    async def handshake(self, mechanism: str, version: int = 1) -> SaslHandshakeResponse:
        self.send(SaslHandshakeRequest(mechanism=mechanism), version)
        return SaslHandshakeResponse.decode(await self.answer(), version)

    async def authenticate(self, token: bytes, version: int = 2) -> SaslAuthenticateResponse:
        self.send(SaslAuthenticateRequest(auth_bytes=token), version)
        return SaslAuthenticateResponse.decode(await self.answer(version >= 2), version)

    async def log_in(self, token: bytes = b"\0alice\0secret") -> SaslAuthenticateResponse:
        assert (await self.handshake("PLAIN")).error_code == 0
        return await self.authenticate(token)

    async def name(self) -> str:
        """The name that the server gives this client."""
        self.send(FindCoordinatorRequest(), 0)
        return FindCoordinatorResponse.decode(await self.answer(), 0).host

    async def is_closed(self) -> bool:
        async with asyncio.timeout(30):
            try:
                return await self.reader.read() == b""
            except ConnectionResetError:
                return True


class Door:
    def __init__(self, server: Server, port: int) -> None:
        self.server = server
        self.port = port

    async def connect(self) -> Client:
        return Client(*await asyncio.open_connection("127.0.0.1", self.port))


async def open_door(max_reauth_ms: int = 0, delay_s: float = 0.0) -> Door:
    server = Server(
        max_request_bytes=1 << 20,
        max_connections=100,
        max_connections_per_ip=100,
        max_idle_ms=600_000,
        meters=RequestMeters(time.monotonic),
    )
    login = LoginSettings(
        APIS,
        ("PLAIN", "SCRAM-SHA-256"),
        Exchanges(),
        {"PLAIN": max_reauth_ms},
        MAX_RECEIVE_BYTES,
        delay_s,
        lambda: 0,
        WarningsOnce(logging.getLogger("gralha.broker")),
    )
    port = await server.bind("SASL", "127.0.0.1", 0, APIS, login=login)
    await server.serve(None)
    return Door(server, port)


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    opened = await open_door()
    yield opened
    await opened.server.close()


async def test_a_client_with_plain_is_who_it_says(door: Door) -> None:
    client = await door.connect()
    client.send(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 1)
    served = ApiVersionsResponse.decode(await client.answer(), 1).throttle_time_ms
    assert served == len(APIS)  # all APIs are advertised before the login
    answer = await client.log_in()
    assert (answer.error_code, answer.auth_bytes, answer.session_lifetime_ms) == (0, b"", 0)
    assert await client.name() == "User:alice"


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_a_client_with_scram_gets_two_answers(door: Door, version: int) -> None:
    client = await door.connect()
    exchange = ScramClient("SCRAM-SHA-256", "alice", "secret", Random(2).randbytes)
    assert (await client.handshake("SCRAM-SHA-256")).mechanisms == ["PLAIN", "SCRAM-SHA-256"]
    token: bytes | None = exchange.first()
    while token is not None:
        response = await client.authenticate(token, version)
        assert response.error_code == 0
        token = exchange.step(response.auth_bytes)
    assert await client.name() == "User:alice"


async def test_tokens_without_headers_follow_version_0_of_the_handshake(door: Door) -> None:
    client = await door.connect()
    exchange = ScramClient("SCRAM-SHA-256", "alice", "secret", Random(2).randbytes)
    await client.handshake("SCRAM-SHA-256", 0)
    token: bytes | None = exchange.first()
    while token is not None:
        client.writer.write(len(token).to_bytes(4) + token)
        token = exchange.step(await client.token())
    assert await client.name() == "User:alice"


async def test_everything_may_come_at_once_and_in_pieces(door: Door) -> None:
    client = await door.connect()
    recorded: list[bytes] = []

    class Recorder:
        def write(self, data: bytes) -> None:
            recorded.append(data)

    writer, client.writer = client.writer, Recorder()  # type: ignore[assignment]
    client.send(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 1)
    client.send(SaslHandshakeRequest(mechanism="PLAIN"), 0)
    token = b"\0bob\0other"
    recorded.append(len(token).to_bytes(4) + token)
    client.send(FindCoordinatorRequest(), 0)
    data = b"".join(recorded)
    for place in range(0, len(data), 7):
        writer.write(data[place : place + 7])
        await writer.drain()
        await asyncio.sleep(0)
    await client.answer()
    await client.answer()
    assert await client.token() == b""
    assert FindCoordinatorResponse.decode(await client.answer(), 0).host == "User:bob"


async def test_another_request_before_the_login_closes_the_connection(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="gralha.broker"):
        client = await door.connect()
        client.send(FindCoordinatorRequest(), 0)
        assert await client.is_closed()
    assert "before it had logged in with SASL. Set security.protocol in the client" in caplog.text
    for requests in (
        [SaslAuthenticateRequest()],
        [SaslHandshakeRequest(mechanism="PLAIN"), ApiVersionsRequest()],
    ):
        client = await door.connect()
        for request in requests:
            client.send(request, 0 if request.API_KEY == 18 else 1)
        await client.reader.read()
        assert client.reader.at_eof()


async def test_requests_before_the_login_are_small(door: Door) -> None:
    for size in (MAX_RECEIVE_BYTES + 1, 2**31, 2**32 - 1):
        client = await door.connect()
        client.writer.write(size.to_bytes(4))
        assert await client.is_closed()
    client = await door.connect()
    await client.log_in()
    client.send(FindCoordinatorRequest(key="k" * 2 * MAX_RECEIVE_BYTES), 0)
    assert FindCoordinatorResponse.decode(await client.answer(), 0).host == "User:alice"


async def test_a_mechanism_that_is_not_offered(door: Door) -> None:
    client = await door.connect()
    answer = await client.handshake("GSSAPI")
    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert answer.mechanisms == ["PLAIN", "SCRAM-SHA-256"]
    assert await client.is_closed()


async def test_a_wrong_password_is_answered_as_kafka_does(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="gralha.broker"):
        for token in (b"\0alice\0wrong pass", b"\0nobody\0wrong pass"):
            client = await door.connect()
            answer = await client.log_in(token)
            assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            assert answer.error_message == "Authentication failed: Invalid username or password"
            assert await client.is_closed()
    found = [
        one
        for one in caplog.records
        if "could not log in on the listener SASL with PLAIN" in one.getMessage()
    ]
    assert [one.levelname for one in found] == ["WARNING", "INFO"]
    assert "wrong pass" not in caplog.text


async def test_a_wrong_proof_has_the_general_message(door: Door) -> None:
    client = await door.connect()
    exchange = ScramClient("SCRAM-SHA-256", "alice", "wrong", Random(2).randbytes)
    await client.handshake("SCRAM-SHA-256")
    final = exchange.step((await client.authenticate(exchange.first())).auth_bytes)
    assert final is not None
    answer = await client.authenticate(final)
    assert answer.error_message == (
        "Authentication failed during authentication due to invalid credentials with SASL mechanism "
        "SCRAM-SHA-256"
    )
    assert await client.is_closed()


async def test_a_wrong_token_without_header_has_no_answer(door: Door) -> None:
    client = await door.connect()
    await client.handshake("PLAIN", 0)
    token = b"\0alice\0wrong"
    client.writer.write(len(token).to_bytes(4) + token)
    assert await client.is_closed()


async def test_after_a_failure_nothing_is_read_and_the_next_client_is_served() -> None:
    door = await open_door(delay_s=0.05)
    client = await door.connect()
    await client.handshake("PLAIN")
    client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"), 1)
    client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), 1)
    client.send(FindCoordinatorRequest(), 0)
    answer = SaslAuthenticateResponse.decode(await client.answer(), 1)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert await client.is_closed()
    other = await door.connect()
    await other.log_in()
    assert await other.name() == "User:alice"
    await door.server.close()


async def test_a_login_has_a_deadline(door: Door) -> None:
    slow, done = await door.connect(), await door.connect()
    await slow.handshake("PLAIN")
    await done.log_in()
    now = asyncio.get_running_loop().time() + DEADLINE_S + 1
    door.server.end_overdue(now)
    assert await slow.is_closed()
    assert await done.name() == "User:alice"


async def test_without_an_end_of_the_session_a_new_login_is_refused(door: Door) -> None:
    client = await door.connect()
    await client.log_in()
    assert (await client.handshake("PLAIN")).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert (await client.authenticate(b"\0alice\0secret")).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert await client.name() == "User:alice"


# New logins (KIP-368)


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gralha.broker.login.REAUTHENTICATION_INTERVAL_S", 0.0)


async def test_a_client_logs_in_again_on_its_connection(no_pause: None) -> None:
    door = await open_door(max_reauth_ms=600_000)
    client = await door.connect()
    assert (await client.log_in()).session_lifetime_ms == 600_000
    assert await client.name() == "User:alice"
    assert (await client.log_in()).session_lifetime_ms == 600_000
    assert await client.name() == "User:alice"
    await door.server.close()


async def test_after_the_end_of_the_session_only_a_login_is_possible(no_pause: None) -> None:
    door = await open_door(max_reauth_ms=1)
    client, late = await door.connect(), await door.connect()
    for one in (client, late):
        await one.log_in()
    (settings,) = door.server.listeners
    async with asyncio.timeout(30):
        while any(one.peer.login.state is not State.EXPIRED for one in settings.connections):
            await asyncio.sleep(0)
    assert (await client.log_in()).error_code == 0
    late.send(FindCoordinatorRequest(), 0)
    assert await late.is_closed()
    await door.server.close()


async def test_a_new_login_is_for_the_same_user_and_mechanism(no_pause: None) -> None:
    door = await open_door(max_reauth_ms=600_000)
    client = await door.connect()
    await client.log_in()
    answer = await client.log_in(b"\0bob\0other")
    assert answer.error_message == (
        "Cannot change principals during re-authentication from User.alice: User.bob"
    )
    assert await client.is_closed()

    client = await door.connect()
    await client.log_in()
    await client.handshake("SCRAM-SHA-256")
    answer = await client.authenticate(b"n,,n=alice,r=abc")
    assert answer.error_message == (
        "SASL mechanism 'SCRAM-SHA-256' requested by client is not supported for re-authentication of "
        "mechanism 'PLAIN'"
    )
    assert await client.is_closed()
    await door.server.close()


async def test_during_a_new_login_other_requests_close_the_connection(no_pause: None) -> None:
    door = await open_door(max_reauth_ms=600_000)
    client = await door.connect()
    await client.log_in()
    await client.handshake("PLAIN")
    client.send(FindCoordinatorRequest(), 0)
    assert await client.is_closed()
    await door.server.close()


async def test_new_logins_do_not_come_all_the_time() -> None:
    door = await open_door(max_reauth_ms=600_000)
    client = await door.connect()
    await client.log_in()
    assert (await client.handshake("PLAIN")).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert await client.name() == "User:alice"
    await door.server.close()
