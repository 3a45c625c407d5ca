"""Nodes that log in to each other: requests wait for a login, also for the next one on their connection."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from random import Random

import pytest

from gralha.broker.handlers import sasl_authenticate, sasl_handshake
from gralha.broker.login import LoginSettings
from gralha.broker.peer_login import PeerLogin, peer_login
from gralha.broker.peers import PeerConnections
from gralha.broker.pipeline import Api, RequestContext
from gralha.broker.request_meters import RequestMeters
from gralha.broker.sasl_settings import SaslLogin
from gralha.broker.server import Server
from gralha.broker.warnings_once import WarningsOnce
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from gralha.protocol.messages.sasl_handshake import SaslHandshakeRequest
from gralha.protocol.peers import PeerError
from gralha.security.sasl.exchange import AuthenticationError
from gralha.security.sasl.plain import PlainServer
from gralha.security.sasl.scram import new_credential
from gralha.security.sasl.scram_server import ScramServer, ScramUser, ScramUsers

CREDENTIAL = new_credential("SCRAM-SHA-512", "secret", b"salt", 4096)
USERS = ScramUsers(
    lambda name: ScramUser(name, CREDENTIAL) if name == "node" else None,
    lambda _: None,
    lambda _: (b"", 4096),
    lambda _: (b"", 4096),
)


class Node:
    """A node that counts logins and says who has asked."""

    def __init__(self) -> None:
        self.logins = 0
        self.connections = 0
        self.rows = {
            10: Api(10, "FindCoordinator", 0, 4, 3, FindCoordinatorRequest.decode, self._who),
            17: Api(17, "SaslHandshake", 0, 1, 99, SaslHandshakeRequest.decode, sasl_handshake.handle),
            18: Api(18, "ApiVersions", 0, 4, 3, ApiVersionsRequest.decode, self._versions),
            36: Api(
                36, "SaslAuthenticate", 0, 2, 2, SaslAuthenticateRequest.decode, sasl_authenticate.handle
            ),
        }
        self.server = Server(
            max_request_bytes=1 << 20,
            max_connections=100,
            max_connections_per_ip=100,
            max_idle_ms=60_000,
            meters=RequestMeters(time.monotonic),
        )

    async def start(self, max_reauth_ms: int = 0) -> None:
        login = LoginSettings(
            self.rows,
            ("PLAIN", "SCRAM-SHA-512"),
            self._exchange,
            {"PLAIN": max_reauth_ms},
            524288,
            0.0,
            lambda: 0,
            WarningsOnce(logging.getLogger("gralha.broker")),
        )
        self.port = await self.server.bind("SASL", "127.0.0.1", 0, self.rows, login=login)
        await self.server.serve(None)

    def _exchange(self, mechanism: str) -> PlainServer | ScramServer:
        self.logins += 1
        if mechanism == "PLAIN":
            return PlainServer({"node": "secret"}.get)
        return ScramServer(mechanism, USERS, Random(1).randbytes)

    async def _who(self, _: object, context: RequestContext, request: FindCoordinatorRequest) -> Message:
        await asyncio.sleep(0)
        return FindCoordinatorResponse(
            error_message=context.peer.principal, throttle_time_ms=len(request.key)
        )

    def _versions(self, _: object, context: RequestContext, request: ApiVersionsRequest) -> Message:
        self.connections += 1
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(one.key, one.min_version, min(one.max_version, 3)) for one in self.rows.values()
            ]
        )


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    node = Node()
    yield node
    await node.server.close()


def connections(node: Node, login: PeerLogin | None) -> PeerConnections:
    return PeerConnections("test", lambda _: ("127.0.0.1", node.port), login=login)


def login(mechanism: str, password: str = "secret") -> PeerLogin:
    found = peer_login(SaslLogin(mechanism, "node", password), Random(2))
    assert found is not None
    return found


async def ask(peers: PeerConnections, key: str = "") -> FindCoordinatorResponse:
    request = FindCoordinatorRequest(key=key)
    answer = await peers.ask(7, request, timeout_ms=5000, version=3)
    assert isinstance(answer, FindCoordinatorResponse)
    return answer


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
async def test_a_node_logs_in_before_its_first_request(node: Node, mechanism: str) -> None:
    await node.start()
    peers = connections(node, login(mechanism))
    assert (await ask(peers)).error_message == "User:node"
    assert (await ask(peers)).error_message == "User:node"
    assert (node.logins, node.connections) == (1, 1)
    peers.close()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (login("PLAIN", "wrong"), "the login with PLAIN has failed: Authentication failed: Invalid username"),
        (login("SCRAM-SHA-512", "wrong"), "the login with SCRAM-SHA-512 has failed"),
        (login("SCRAM-SHA-256"), "does not offer the SASL mechanism SCRAM-SHA-256, but PLAIN, SCRAM-SHA-512"),
    ],
)
async def test_a_refused_node_says_why_without_its_password(node: Node, wrong: PeerLogin, why: str) -> None:
    await node.start()
    peers = connections(node, wrong)
    with pytest.raises(PeerError, match=why) as error:
        await ask(peers)
    assert "wrong" not in str(error.value)
    peers.close()


async def test_a_refusal_is_logged_once(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    """A node tries again many times a second."""
    await node.start()
    peers = connections(node, login("PLAIN", "wrong"))
    for _ in range(3):
        with pytest.raises(PeerError):
            await ask(peers)
    told = [record.message for record in caplog.records if "refuses" in record.message]
    assert len(told) == 1
    assert told[0].startswith(
        f"Node 7 at 127.0.0.1:{node.port} refuses this node: the login with PLAIN has failed: Authentication"
    )
    peers.close()


async def test_a_node_without_a_login_is_refused(node: Node) -> None:
    await node.start()
    peers = connections(node, None)
    with pytest.raises(PeerError, match="the connection was lost"):
        await ask(peers)
    peers.close()


async def test_a_node_logs_in_again_on_its_connection_while_requests_wait(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gralha.broker.login.REAUTHENTICATION_INTERVAL_S", 0.0)
    monkeypatch.setattr("gralha.broker.peer_login.SESSION_PART", 0.001)
    await node.start(max_reauth_ms=60_000)
    peers = connections(node, login("PLAIN"))
    number = 0
    async with asyncio.timeout(60):
        while node.logins < 5:
            number += 1
            answers = await asyncio.gather(*(ask(peers, "k" * length) for length in range(3)))
            assert [answer.throttle_time_ms for answer in answers] == [0, 1, 2]
    assert node.connections == 1
    peers.close()


async def _ask_always(peers: PeerConnections) -> None:
    async with asyncio.timeout(30):
        while True:
            await ask(peers)


async def test_requests_that_wait_for_a_refused_login_get_an_error(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gralha.broker.login.REAUTHENTICATION_INTERVAL_S", 0.0)
    monkeypatch.setattr("gralha.broker.peer_login.SESSION_PART", 0.001)
    await node.start(max_reauth_ms=60_000)
    passwords = iter(["secret", "changed"])

    def changing() -> object:
        return login("PLAIN", next(passwords)).new_exchange()

    peers = connections(node, PeerLogin("PLAIN", changing))  # type: ignore[arg-type]
    await ask(peers)
    with pytest.raises(PeerError, match="the login with PLAIN has failed"):
        await _ask_always(peers)
    assert node.logins == 2
    peers.close()


@pytest.mark.parametrize(("iterations", "is_borne"), [(16_384, True), (16_385, False)])
def test_no_node_demands_more_iterations_than_kafka_allows(iterations: int, is_borne: bool) -> None:
    login = peer_login(SaslLogin("SCRAM-SHA-512", "node", "secret", False), Random(1))
    assert login is not None
    exchange = login.new_exchange()
    nonce = exchange.first().rpartition(b"r=")[2]
    challenge = b"r=%bx,s=QSXC,i=%d" % (nonce, iterations)
    if is_borne:
        assert exchange.step(challenge) is not None
    else:
        with pytest.raises(
            AuthenticationError, match="asks for 16385 iterations of SCRAM, not for 4096 to 16384"
        ):
            exchange.step(challenge)
