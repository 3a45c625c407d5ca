"""Connections to other nodes over TLS, and the search for life behind an address."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from gralha.broker.node_tls import ListenerTls, PeerTls
from gralha.broker.peers import PeerConnections, look_for_life
from gralha.broker.pipeline import Api, RequestContext
from gralha.broker.presence import Life
from gralha.broker.request_meters import RequestMeters
from gralha.broker.server import Server
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.peers import PeerError
from tests.certificates import Authority
from tests.security.streams import AUTHORITY, CLIENT, SERVER

PATIENCE_S = 30


def versions(broker: object, context: RequestContext, request: ApiVersionsRequest) -> Message:
    keys = [ApiVersion(api_key=key, min_version=0, max_version=3) for key in (10, 18)]
    return ApiVersionsResponse(api_keys=keys)


def echo(broker: object, context: RequestContext, request: FindCoordinatorRequest) -> Message:
    return FindCoordinatorResponse(host=context.peer.principal + request.key)


APIS = {
    18: Api(18, "ApiVersions", 0, 3, 3, ApiVersionsRequest.decode, versions),
    10: Api(10, "FindCoordinator", 0, 3, 3, FindCoordinatorRequest.decode, echo),
}


def peer_tls(authority: Authority = AUTHORITY, **more: str) -> PeerTls:
    texts = {
        "ssl.truststore.certificates": authority.pem(),
        "ssl.keystore.key": CLIENT.key_pem(),
        "ssl.keystore.certificate.chain": CLIENT.chain_pem(),
    }
    return PeerTls("INTERNAL", {**texts, **{name.replace("_", "."): value for name, value in more.items()}})


@asynccontextmanager
async def serving(texts: dict[str, str]) -> AsyncIterator[int]:
    server = Server(
        max_request_bytes=1 << 24,
        max_connections=100,
        max_connections_per_ip=100,
        max_idle_ms=600_000,
        meters=RequestMeters(time.perf_counter),
    )
    port = await server.bind("INTERNAL", "127.0.0.1", 0, APIS, ListenerTls("INTERNAL", texts))
    await server.serve(None)
    async with asyncio.timeout(PATIENCE_S):
        yield port
    await server.close()


@pytest.fixture
async def port() -> AsyncIterator[int]:
    texts = {
        "ssl.truststore.certificates": AUTHORITY.pem(),
        "ssl.keystore.key": SERVER.key_pem(),
        "ssl.keystore.certificate.chain": SERVER.chain_pem(),
        "ssl.client.auth": "required",
    }
    async with serving(texts) as port:
        yield port


def connections(port: int, tls: PeerTls) -> PeerConnections:
    return PeerConnections("test", lambda _: ("127.0.0.1", port), None, lambda: tls)


async def test_requests_of_all_sizes(port: int) -> None:
    peers = connections(port, peer_tls())
    for size in (1, 20_000):
        answer = await peers.ask(7, FindCoordinatorRequest(key="k" * size), timeout_ms=20_000)
        assert cast(FindCoordinatorResponse, answer).host == "User:CN=alice" + "k" * size
    peers.close()


@pytest.mark.parametrize(
    ("tls", "reason"),
    [
        (peer_tls(Authority("Other")), "certificate verify failed"),
        (peer_tls(ssl_keystore_key="", ssl_keystore_certificate_chain=""), "CERTIFICATE_REQUIRED"),
    ],
    ids=["other authority", "no certificate"],
)
async def test_a_failed_handshake_says_why(port: int, tls: PeerTls, reason: str) -> None:
    peers = connections(port, tls)
    with pytest.raises(PeerError, match=reason):
        await peers.ask(7, FindCoordinatorRequest(key="k"), timeout_ms=20_000)
    peers.close()


@pytest.mark.parametrize("algorithm", ["https", ""])
async def test_the_host_name_is_checked_unless_that_is_switched_off(algorithm: str) -> None:
    texts = {
        "ssl.keystore.key": CLIENT.key_pem(),  # of a certificate without host names
        "ssl.keystore.certificate.chain": CLIENT.chain_pem(),
    }
    async with serving(texts) as port:
        peers = connections(port, peer_tls(ssl_endpoint_identification_algorithm=algorithm))
        asked = peers.ask(7, FindCoordinatorRequest(key="k"), timeout_ms=20_000)
        if algorithm:
            with pytest.raises(PeerError, match="IP address mismatch"):
                await asked
        else:
            assert cast(FindCoordinatorResponse, await asked).host == "User:ANONYMOUSk"
        peers.close()


async def test_a_node_whose_certificate_is_refused_lives(port: int) -> None:
    """A healthy node must not be fenced because this one has a wrong trust store."""
    other = peer_tls(Authority("Other"))
    assert await look_for_life("test", ("127.0.0.1", port), PATIENCE_S, other) is Life.ANSWERED
    nobody = peer_tls(ssl_keystore_key="", ssl_keystore_certificate_chain="")
    assert await look_for_life("test", ("127.0.0.1", port), PATIENCE_S, nobody) is Life.ANSWERED


async def test_an_address_that_closes_at_once() -> None:
    """A proxy accepts the connection although nobody listens behind it."""

    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    proxy = await asyncio.start_server(close, "127.0.0.1", 0)
    address = proxy.sockets[0].getsockname()[:2]
    assert await look_for_life("test", address, PATIENCE_S, peer_tls()) is Life.CLOSED
    proxy.close()
