"""Asking other nodes over real sockets: answers in order, time limits, nodes that die, move or never were."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from gralha.broker.peers import PeerConnections, _Connection, look_for_life
from gralha.broker.pipeline import Api, Handler, RequestContext
from gralha.broker.presence import Address, Life, Presence
from gralha.broker.request_meters import RequestMeters
from gralha.broker.server import Server
from gralha.protocol import apis
from gralha.protocol.apis import ApiKey
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.messages.list_groups import ListGroupsRequest
from gralha.protocol.peers import PeerError
from tests.failures import fail_with

FIND_COORDINATOR_UP_TO = 4


def versions(_node: object, _context: RequestContext, _request: ApiVersionsRequest) -> ApiVersionsResponse:
    """The ApiVersions response of a node of an older release."""
    offered = ApiVersion(api_key=ApiKey.FIND_COORDINATOR, min_version=0, max_version=FIND_COORDINATOR_UP_TO)
    return ApiVersionsResponse(api_keys=[offered])


async def find(
    node: "Node", context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    assert context.api_version == FIND_COORDINATOR_UP_TO
    if request.coordinator_keys == ["never"]:
        await asyncio.Event().wait()
    return FindCoordinatorResponse(throttle_time_ms=len(request.coordinator_keys))


class Node:
    """Another node: two APIs on a free port."""

    def __init__(self) -> None:
        handlers: dict[ApiKey, Handler] = {ApiKey.API_VERSIONS: versions, ApiKey.FIND_COORDINATOR: find}
        self.rows = {}
        for key, handle in handlers.items():
            api = apis.APIS[key]
            self.rows[int(key)] = Api(
                key, api.name, 0, api.max_version, api.flexible_from, api.request.decode, handle
            )
        self.server = Server(
            max_request_bytes=1 << 20,
            max_connections=100,
            max_connections_per_ip=100,
            max_idle_ms=60_000,
            meters=RequestMeters(time.monotonic),
        )

    async def start(self, port: int = 0) -> int:
        self.port = await self.server.bind("PLAINTEXT", "127.0.0.1", port, self.rows)
        await self.server.serve(self)
        return self.port


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    node = Node()
    await node.start()
    yield node
    await node.server.close()


@pytest.fixture
async def peers(node: Node) -> AsyncIterator[PeerConnections]:
    peers = PeerConnections("test", {7: ("127.0.0.1", node.port), 8: ("127.0.0.1", 1)}.get)
    yield peers
    peers.close()


async def ask(
    peers: PeerConnections, *keys: str, node_id: int = 7, timeout_ms: int = 5000, lane: str = ""
) -> int:
    request = FindCoordinatorRequest(coordinator_keys=list(keys))
    response: Message = await peers.ask(node_id, request, timeout_ms=timeout_ms, lane=lane)
    assert isinstance(response, FindCoordinatorResponse)
    return response.throttle_time_ms


async def test_answers_go_to_who_asked(peers: PeerConnections) -> None:
    asked = [ask(peers, *"abcdef"[:count]) for count in range(1, 7)]
    assert await asyncio.gather(*asked) == [1, 2, 3, 4, 5, 6]


async def test_a_long_poll_holds_up_its_own_lane_only(peers: PeerConnections) -> None:
    polling = asyncio.ensure_future(ask(peers, "never", lane="poll"))
    assert await ask(peers, "a", "b") == 2
    polling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await polling


async def test_without_an_answer_in_time_the_connection_ends_and_the_next_request_has_a_new_one(
    peers: PeerConnections,
) -> None:
    with pytest.raises(PeerError, match="did not answer FindCoordinator within 50 ms"):
        await ask(peers, "never", timeout_ms=50)
    assert await ask(peers, "a") == 1


async def test_nodes_that_cannot_be_reached(peers: PeerConnections) -> None:
    with pytest.raises(PeerError, match="node 8 cannot be reached"):
        await ask(peers, "a", node_id=8)
    with pytest.raises(PeerError, match="the address of node 9 is not known"):
        await ask(peers, "a", node_id=9)


async def test_an_api_that_the_other_side_does_not_serve(peers: PeerConnections) -> None:
    with pytest.raises(PeerError, match="does not support ListGroups"):
        await peers.ask(7, ListGroupsRequest(), timeout_ms=5000)


class Suspicions:
    """A presence that writes down whom it suspects, and looks for nobody."""

    def __init__(self) -> None:
        self.suspects: list[int] = []
        self.presence = Presence(lambda _: [], self._look, self.suspects.append, lambda _: None, fail_with)

    async def _look(self, _address: Address) -> Life:
        raise AssertionError("there is no address to look at")


@pytest.fixture
async def suspicions() -> Suspicions:
    return Suspicions()


@pytest.fixture
async def watched(node: Node, suspicions: Suspicions) -> AsyncIterator[PeerConnections]:
    peers = PeerConnections("test", lambda _: ("127.0.0.1", node.port), suspicions.presence)
    yield peers
    peers.close()


async def test_a_node_that_dies_is_noticed_at_once(
    node: Node, watched: PeerConnections, suspicions: Suspicions
) -> None:
    await ask(watched, "a")
    waiting = asyncio.ensure_future(ask(watched, "never", timeout_ms=60_000))
    await asyncio.sleep(0)
    await node.server.close()
    with pytest.raises(PeerError, match="lost"):
        await waiting
    assert suspicions.suspects == [7]


async def test_the_loss_of_one_lane_of_several_is_no_reason_for_suspicion(
    node: Node, watched: PeerConnections, suspicions: Suspicions
) -> None:
    await ask(watched, "a", lane="one")
    await ask(watched, "a", lane="other")
    first, second = node.server.connections()
    first.close_because("it was idle")
    await asyncio.sleep(0.01)
    assert suspicions.suspects == []
    second.close_because("it was idle")
    await asyncio.sleep(0.01)
    assert suspicions.suspects == [7]


async def test_closing_is_not_losing(watched: PeerConnections, suspicions: Suspicions) -> None:
    await ask(watched, "a")
    watched.close()
    await asyncio.sleep(0.01)
    assert suspicions.suspects == []


async def test_a_request_that_is_given_up_makes_nobody_suspect(
    watched: PeerConnections, suspicions: Suspicions
) -> None:
    with pytest.raises(PeerError):
        await ask(watched, "never", timeout_ms=50)
    await asyncio.sleep(0.01)
    assert suspicions.suspects == []


async def test_a_node_that_listens_answers(node: Node) -> None:
    assert await look_for_life("test", ("127.0.0.1", node.port), 5) is Life.ANSWERED


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_nobody_listens_behind_an_address_that_refuses(node: Node, host: str) -> None:
    """The name has two addresses on most machines, and both refuse."""
    await node.server.close()
    assert await look_for_life("test", (host, node.port), 5) is Life.REFUSED


async def test_a_proxy_without_a_server_closes_what_it_has_accepted() -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    address = server.sockets[0].getsockname()
    assert await look_for_life("test", address, 5) is Life.CLOSED
    server.close()


async def stay_silent(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def test_silence_says_nothing() -> None:
    server = await asyncio.start_server(stay_silent, "127.0.0.1", 0)
    address = server.sockets[0].getsockname()
    assert await look_for_life("test", address, 0.05) is Life.SILENT
    server.close()


async def test_a_node_that_has_moved_is_found_at_its_new_address(node: Node) -> None:
    other = Node()
    addresses = {7: ("127.0.0.1", node.port)}
    peers = PeerConnections("test", addresses.get)
    await ask(peers, "a")
    addresses[7] = ("127.0.0.1", await other.start())
    await node.server.close()
    assert await ask(peers, "a") == 1
    peers.close()
    await other.server.close()


async def test_a_node_that_accepts_and_never_answers_is_connected_to_anew() -> None:
    """Like a node that lost power right after it accepted: nothing tells that the connection is dead."""
    accepted = 0

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        await reader.read()
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    peers = PeerConnections("test", lambda _: ("127.0.0.1", server.sockets[0].getsockname()[1]))
    for _ in range(3):  # the second may share the first one's connection
        with pytest.raises(PeerError):
            await ask(peers, "a", timeout_ms=50)
    peers.close()
    server.close()
    await server.wait_closed()
    assert accepted >= 2


async def test_a_connection_that_is_closing_is_not_used_any_more(peers: PeerConnections) -> None:
    assert await ask(peers, "a") == 1
    _, connecting = peers._connections[7, ""]
    transport = connecting.result()._transport
    assert transport is not None
    # As the other side's end does: whoever asks before the loop tells of it must not fail, and get an answer.
    transport.close()
    assert await ask(peers, "a") == 1


async def poll(peers: PeerConnections, *keys: str, node_id: int = 7, timeout_ms: int = 5000) -> Message:
    """Poll, and wait for who is told."""
    told: asyncio.Future[Message | PeerError] = asyncio.get_running_loop().create_future()
    request = FindCoordinatorRequest(coordinator_keys=list(keys))
    peers.poll(node_id, request, timeout_ms=timeout_ms, lane="poll", answered=told.set_result)
    assert not told.done()
    answer = await told
    if isinstance(answer, PeerError):
        raise answer
    return answer


async def test_polls_are_answered_on_the_connection_that_the_first_has_made(peers: PeerConnections) -> None:
    for count in range(1, 4):
        answer = await poll(peers, *"abc"[:count])
        assert isinstance(answer, FindCoordinatorResponse)
        assert answer.throttle_time_ms == count
    assert list(peers._connections) == [(7, "poll")]


async def test_a_poll_without_an_answer_in_time_ends_its_connection(peers: PeerConnections) -> None:
    await poll(peers, "a")
    with pytest.raises(PeerError, match="no answer came in time"):
        await poll(peers, "never", timeout_ms=50)
    await poll(peers, "a")


@pytest.mark.parametrize("node_id", [8, 9])
async def test_a_poll_of_a_node_that_cannot_be_reached_is_told_so(
    peers: PeerConnections, node_id: int
) -> None:
    with pytest.raises(PeerError):
        await poll(peers, "a", node_id=node_id)


async def test_a_poll_hears_at_once_of_a_node_that_dies(node: Node, peers: PeerConnections) -> None:
    await poll(peers, "a")
    polling = asyncio.ensure_future(poll(peers, "never", timeout_ms=60_000))
    await asyncio.sleep(0)
    await node.server.close()
    with pytest.raises(PeerError, match="lost"):
        await polling


async def test_a_poll_whose_connection_is_given_up_by_others_is_told_so() -> None:
    addresses = {7: ("127.0.0.1", 1)}
    peers = PeerConnections("test", addresses.get)
    server = await asyncio.start_server(stay_silent, "127.0.0.1", 0)
    addresses[7] = ("127.0.0.1", server.sockets[0].getsockname()[1])
    polling = asyncio.ensure_future(poll(peers, "a"))
    for _ in range(3):
        await asyncio.sleep(0)
    _, connecting = peers._connections[7, "poll"]
    connecting.cancel()
    with pytest.raises(PeerError, match="given up"):
        await polling
    peers.close()
    server.close()


async def test_a_poll_of_an_address_that_is_no_name_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """asyncio raises a UnicodeError for such a name."""
    peers = PeerConnections("test", lambda _: ("a" * 64 + ".example", 9092))
    with pytest.raises(PeerError, match="node 7 cannot be reached"):
        await ask(peers, "a")
    with pytest.raises(PeerError, match="node 7 cannot be reached"):
        await poll(peers, "a")
    peers.close()


@pytest.mark.parametrize("is_connected", [False, True])
async def test_a_poll_that_fails_in_an_unexpected_way_is_told_so(
    peers: PeerConnections,
    is_connected: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A fetcher sends its next request when it has the answer to the last one, or an error."""

    def send_then(*_arguments: object) -> None:
        raise ZeroDivisionError("a bug")

    if is_connected:
        await poll(peers, "a")
    monkeypatch.setattr(_Connection, "send_then", send_then)
    async with asyncio.timeout(10):
        with pytest.raises(PeerError, match="a bug"):
            await poll(peers, "a")
    assert "FindCoordinator could not be sent to node 7" in caplog.text
    monkeypatch.undo()
    await poll(peers, "a")


async def test_who_is_cancelled_while_all_connections_end_is_cancelled() -> None:
    """A node that stops closes its connections and cancels its tasks: none of them may take that for news."""
    server = await asyncio.start_server(stay_silent, "127.0.0.1", 0)
    peers = PeerConnections("test", lambda _: ("127.0.0.1", server.sockets[0].getsockname()[1]))
    asking = asyncio.ensure_future(ask(peers, "a", timeout_ms=60_000))
    for _ in range(3):
        await asyncio.sleep(0)
    peers.close()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    server.close()
