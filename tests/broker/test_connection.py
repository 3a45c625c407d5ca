"""Connections on a real loop and real sockets: frames in pieces, clients that do not read, limits."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable

import pytest

from gralha.broker.connection import FRAME_DEADLINE_SECONDS, MAX_KEPT_BYTES
from gralha.broker.pipeline import Api, RequestContext
from gralha.broker.quota_use import Throttle, Use
from gralha.broker.receive_buffer import SIZE_BYTES
from gralha.broker.request_meters import RequestMeters
from gralha.broker.server import Server
from gralha.protocol.message import Message
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from gralha.protocol.primitives import Reader, RecordBytes, Writer

MAX_REQUEST_BYTES = 8 * 1024 * 1024
IDLE_MS = 600_000
PATIENCE_S = 30
MANY = 20_000


def echo(broker: object, context: RequestContext, request: FindCoordinatorRequest) -> Message:
    return FindCoordinatorResponse(host=request.key)


def count(broker: object, context: RequestContext, request: ProduceRequest) -> Message:
    records = request.topic_data[0].partition_data[0].records
    assert records is not None
    assert set(records.view()) <= {7}
    return ProduceResponse(throttle_time_ms=records.size())


APIS = {
    10: Api(10, "FindCoordinator", 0, 0, 3, FindCoordinatorRequest.decode, echo),
    0: Api(0, "Produce", 3, 3, 9, ProduceRequest.decode, count),
}


def frame(api_key: int, version: int, request: Message) -> bytes:
    writer = Writer()
    writer.begin_frame()
    writer.write_int16(api_key)
    writer.write_int16(version)
    writer.write_int32(5)
    writer.write_nullable_string(None)
    request.encode(writer, version)
    writer.end_frame()
    return writer.to_bytes()


def ask(key: str) -> bytes:
    return frame(10, 0, FindCoordinatorRequest(key=key))


def records_of(size: int) -> bytes:
    data = PartitionProduceData(records=RecordBytes(bytes([7]) * size, 0, size))
    return frame(0, 3, ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[data])]))


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def answer(self) -> Reader:
        size = int.from_bytes(await self.reader.readexactly(4))
        reader = Reader(await self.reader.readexactly(size))
        assert reader.int32() == 5
        return reader

    async def text(self) -> str:
        return FindCoordinatorResponse.decode(await self.answer(), 0).host

    async def is_closed(self) -> bool:
        try:
            return await self.reader.read(1) == b""
        except ConnectionResetError:
            return True


class Fixture:
    def __init__(self, server: Server, port: int) -> None:
        self.server = server
        self.port = port

    async def connect(self) -> Client:
        return Client(*await asyncio.open_connection("127.0.0.1", self.port))


async def serve(max_connections: int = 10, per_ip: int = 10) -> Fixture:
    server = Server(
        max_request_bytes=MAX_REQUEST_BYTES,
        max_connections=max_connections,
        max_connections_per_ip=per_ip,
        max_idle_ms=IDLE_MS,
        meters=RequestMeters(time.monotonic),
    )
    port = await server.bind("PLAINTEXT", "127.0.0.1", 0, APIS)
    await server.serve(None)
    return Fixture(server, port)


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until something is so; TimeoutError if it never is."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.001)


@pytest.fixture
async def door() -> AsyncIterator[Fixture]:
    fixture = await serve()
    yield fixture
    await fixture.server.close()


async def test_a_frame_that_comes_byte_by_byte(door: Fixture) -> None:
    client = await door.connect()
    for byte in ask("slow"):
        client.writer.write(bytes([byte]))
        await client.writer.drain()
        await asyncio.sleep(0)
    assert await client.text() == "slow"


@pytest.mark.parametrize("size", [1, MAX_KEPT_BYTES, SIZE_BYTES - 30, SIZE_BYTES + 1, 5_000_000])
async def test_frames_of_all_sizes_in_pieces(door: Fixture, size: int) -> None:
    client, other = await door.connect(), await door.connect()
    data = records_of(size)
    for start in range(0, len(data), 300_000):
        client.writer.write(data[start : start + 300_000])
        await client.writer.drain()
        # Another client's bytes pass through the same buffer in between.
        other.writer.write(ask("other"))
        assert await other.text() == "other"
    client.writer.write(ask("after"))
    assert ProduceResponse.decode(await client.answer(), 3).throttle_time_ms == size
    assert await client.text() == "after"


async def test_a_client_that_does_not_read_is_not_read_from(door: Fixture) -> None:
    client = await door.connect()
    requests = ask("x" * 1000) * 20_000
    sending = asyncio.ensure_future(_send(client, requests))
    await until(lambda: any(connection._reading is False for connection in door.server.connections()))
    for _ in range(20_000):
        assert await client.text() == "x" * 1000
    await sending


async def _send(client: Client, data: bytes) -> None:
    client.writer.write(data)
    await client.writer.drain()


async def test_what_was_answered_arrives_before_a_bad_frame_ends_the_connection(door: Fixture) -> None:
    client = await door.connect()
    client.writer.write(ask("good") + (-5).to_bytes(4, signed=True))
    assert await client.text() == "good"
    assert await client.is_closed()


async def test_a_frame_has_a_deadline_from_its_first_byte(door: Fixture) -> None:
    client = await door.connect()
    data = ask("loris")
    started = asyncio.get_running_loop().time()
    for byte in data[:10]:
        client.writer.write(bytes([byte]))
        await client.writer.drain()
        await asyncio.sleep(0.001)
    door.server.end_overdue(started + FRAME_DEADLINE_SECONDS - 1)
    assert door.server.connections()[0].closing_since is None
    door.server.end_overdue(started + FRAME_DEADLINE_SECONDS + 1)
    assert await client.is_closed()


async def test_a_large_frame_may_take_longer(door: Fixture) -> None:
    """Two megabytes of it have arrived, so it has 128 seconds more."""
    client = await door.connect()
    started = asyncio.get_running_loop().time()
    client.writer.write(records_of(5_000_000)[: 2 << 20])
    await until(lambda: any(connection._large_filled == 2 << 20 for connection in door.server.connections()))
    door.server.end_overdue(started + FRAME_DEADLINE_SECONDS + 120)
    assert door.server.connections()[0].closing_since is None
    door.server.end_overdue(started + FRAME_DEADLINE_SECONDS + 200)
    assert await client.is_closed()


async def test_a_client_that_reads_slowly_is_no_frame_that_does_not_arrive(door: Fixture) -> None:
    client = await door.connect()
    requests = ask("x" * 1000) * 20_000
    client.writer.write(requests[:500])
    await client.writer.drain()
    await asyncio.sleep(0.01)
    sending = asyncio.ensure_future(_send(client, requests[500:]))
    await until(lambda: any(connection._reading is False for connection in door.server.connections()))
    door.server.end_overdue(asyncio.get_running_loop().time() + FRAME_DEADLINE_SECONDS + 1)
    for _ in range(20_000):
        assert await client.text() == "x" * 1000
    await sending


async def test_an_idle_connection_ends(door: Fixture) -> None:
    client = await door.connect()
    client.writer.write(ask("hello"))
    assert await client.text() == "hello"
    door.server.end_overdue(asyncio.get_running_loop().time() + IDLE_MS / 1000 + 1)
    assert await client.is_closed()


@pytest.mark.parametrize(("max_connections", "per_ip"), [(2, 10), (10, 2)])
async def test_one_connection_too_many_is_closed(max_connections: int, per_ip: int) -> None:
    door = await serve(max_connections, per_ip)
    clients = [await door.connect() for _ in range(2)]
    for client in clients:
        client.writer.write(ask("in"))
        assert await client.text() == "in"
    assert await (await door.connect()).is_closed()
    clients[0].writer.close()
    await clients[0].writer.wait_closed()
    await until(lambda: len(door.server.connections()) == 1)
    late = await door.connect()
    late.writer.write(ask("late"))
    assert await late.text() == "late"
    await door.server.close()


async def test_clients_do_not_keep_other_brokers_out() -> None:
    """The idlest connection of a client is closed for a broker. Brokers have a listener of their own."""
    door = await serve(max_connections=2)
    for_brokers = Fixture(door.server, await door.server.bind("INTERNAL", "127.0.0.1", 0, APIS))
    door.server.protect("INTERNAL")
    await door.server.serve(None)
    idle, busy = [await door.connect() for _ in range(2)]
    for client in (idle, busy, busy):
        client.writer.write(ask("in"))
        assert await client.text() == "in"
    brokers = []
    for victim in (idle, busy):
        brokers.append(await for_brokers.connect())
        brokers[-1].writer.write(ask("broker"))
        assert await brokers[-1].text() == "broker"
        assert await victim.is_closed()
    # There is no client left, and yet a broker is let in.
    brokers.append(await for_brokers.connect())
    for broker in brokers:
        broker.writer.write(ask("still in"))
        assert await broker.text() == "still in"
    assert await (await door.connect()).is_closed()
    await door.server.close()


async def test_a_listener_may_have_fewer_connections_than_the_broker() -> None:
    door = await serve(max_connections=10)
    other = Fixture(door.server, await door.server.bind("OTHER", "127.0.0.1", 0, APIS))
    await door.server.serve(None)
    door.server.limits.of_listeners = {"OTHER": 1}
    clients = [await other.connect(), await door.connect()]
    for client in clients:
        client.writer.write(ask("in"))
        assert await client.text() == "in"
    assert await (await other.connect()).is_closed()
    clients[0].writer.close()
    await until(lambda: len(door.server.connections()) == 1)
    late = await other.connect()
    late.writer.write(ask("late"))
    assert await late.text() == "late"
    await door.server.close()


TLS_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (TLS_HELLO, "began a TLS handshake. The listener PLAINTEXT is plaintext: set security.protocol="),
        (b"GET /metrics HTTP/1.1\r\n\r\n", "sent an HTTP request, but this port is for Kafka clients. "),
        (b"POST / HTTP/1.1\r\n\r\n", "sent an HTTP request"),
    ],
    ids=["TLS", "GET", "POST"],
)
async def test_another_protocol_is_one_warning_for_each_address(
    door: Fixture, caplog: pytest.LogCaptureFixture, data: bytes, words: str
) -> None:
    with caplog.at_level("INFO", logger="gralha.broker"):
        for address in ("127.0.0.1", "127.0.0.1", "127.0.0.2"):
            client = Client(*await asyncio.open_connection("127.0.0.1", door.port, local_addr=(address, 0)))
            client.writer.write(data)
            assert await client.is_closed()
    lines = [(one.levelname, one.getMessage()) for one in caplog.records if words in one.getMessage()]
    assert [level for level, _ in lines] == ["WARNING", "INFO", "WARNING"]
    # The number of bytes and the API key mean nothing then.
    assert len(caplog.records) == 3
    assert lines[0][1].startswith("127.0.0.1:")
    assert lines[2][1].startswith("127.0.0.2:")


async def test_a_wrong_request_of_a_kafka_client_is_no_warning(
    door: Fixture, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="gralha.broker"):
        client = await door.connect()
        client.writer.write(frame(99, 0, FindCoordinatorRequest()))
        assert await client.is_closed()
    assert [one.levelname for one in caplog.records if "unknown API key 99" in one.getMessage()] == ["INFO"]
    assert not [one for one in caplog.records if one.levelno > logging.INFO]


class HoldsBack(Throttle):
    """Holds back each client that asks for `greedy`, until the test lets it go on."""

    def __init__(self) -> None:
        super().__init__()
        self.is_on = True

    def used(self, use: Use, response: Message | None) -> int:
        assert isinstance(response, FindCoordinatorResponse)
        return 1_000 * PATIENCE_S if response.host == "greedy" else 0


async def test_a_client_over_its_quota_is_not_read_from_while_others_are_served(door: Fixture) -> None:
    for settings in door.server.listeners:
        settings.throttle = HoldsBack()
    greedy, other = await door.connect(), await door.connect()
    greedy.writer.write(ask("greedy") + ask("behind"))
    assert await greedy.text() == "greedy"
    (muted,) = [one for one in door.server.connections() if one._pipeline.is_muted]
    # More than sockets hold: it arrives only when the broker reads again.
    sending = asyncio.ensure_future(send_much(greedy))
    other.writer.write(ask("other"))
    assert await other.text() == "other"
    # The frames behind are not late.
    door.server.end_overdue(asyncio.get_running_loop().time() + IDLE_MS / 1000 - 1)
    assert muted in door.server.connections()
    assert not sending.done()
    muted._pipeline._unmute()
    assert await greedy.text() == "behind"
    for _ in range(MANY):
        assert await greedy.text() == "x" * 1000
    await sending


async def test_a_client_that_is_held_back_too_long_is_idle(door: Fixture) -> None:
    """Nobody reads from its socket, so nobody would see that it has gone."""
    for settings in door.server.listeners:
        settings.throttle = HoldsBack()
    greedy = await door.connect()
    greedy.writer.write(ask("greedy"))
    assert await greedy.text() == "greedy"
    (muted,) = door.server.connections()
    assert muted._pipeline.is_muted
    door.server.end_overdue(asyncio.get_running_loop().time() + IDLE_MS / 1000 + 1)
    assert await greedy.is_closed()


async def send_much(client: Client) -> None:
    for _ in range(MANY):
        client.writer.write(ask("x" * 1000))
        await client.writer.drain()


class Admits(Throttle):
    """Holds new connections back until the test lets them go on, or refuses them."""

    def __init__(self, may_stay: bool) -> None:
        super().__init__()
        self.may_stay = may_stay

    def connected(self, host: str, listener: str) -> tuple[int, bool]:
        return 1_000 * PATIENCE_S if self.may_stay else 1, self.may_stay


async def test_a_new_connection_waits_for_its_turn(door: Fixture) -> None:
    (settings,) = door.server.listeners
    settings.throttle = Admits(may_stay=True)
    late = await door.connect()
    await until(lambda: len(settings.connections) == 1)
    settings.throttle = Throttle()
    other = await door.connect()
    late.writer.write(ask("late"))
    other.writer.write(ask("other"))
    assert await other.text() == "other"
    (held_back,) = [one for one in settings.connections if one._pipeline.is_muted]
    held_back._pipeline._unmute()
    assert await late.text() == "late"


class Refuses(Throttle):
    """Has no room for more connections in line."""

    def connected(self, host: str, listener: str) -> tuple[int, bool]:
        return 0, False


async def test_a_connection_that_would_wait_too_long_is_closed_at_once(
    door: Fixture, caplog: pytest.LogCaptureFixture
) -> None:
    (settings,) = door.server.listeners
    settings.throttle = Refuses()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert await (await door.connect()).is_closed()
    assert [record.getMessage() for record in caplog.records] == [
        "closing a connection: too many new connections wait (max.connection.creation.rate)"
    ]


async def test_a_connection_of_an_address_over_its_quota_is_closed_after_a_while(
    door: Fixture, caplog: pytest.LogCaptureFixture
) -> None:
    (settings,) = door.server.listeners
    settings.throttle = Admits(may_stay=False)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert await (await door.connect()).is_closed()
    assert [record.getMessage() for record in caplog.records] == [
        "closing a connection: 127.0.0.1 opens more connections per second than its quota allows"
    ]


async def test_an_address_has_a_limit_of_its_own(door: Fixture) -> None:
    door.server.limits.max_connections_per_ip = 0
    door.server.limits.overrides = {"127.0.0.1": 1}
    client = await door.connect()
    client.writer.write(ask("in"))
    assert await client.text() == "in"
    assert await (await door.connect()).is_closed()
