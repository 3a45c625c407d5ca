"""Records that go from their files to the socket: in order, whole, also if the client is slow."""

import asyncio
import gc
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop

from gralha.broker.connection import Connection
from gralha.broker.pipeline import Api, RequestContext
from gralha.broker.request_meters import RequestMeters
from gralha.broker.sending import PIECE_BYTES, TURN_BYTES, Outbox
from gralha.broker.server import Server
from gralha.protocol.message import Message
from gralha.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from gralha.protocol.primitives import Chunk, Reader, RecordBytes, Stored, Writer
from gralha.storage.disk import File
from gralha.storage.real_disk import RealDisk

VERSION = 12
FILE_BYTES = 6 << 20
PATIENCE_S = 60
LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


class Records:
    """Answers Fetch with ranges of one file: `partition_max_bytes` from the position `fetch_offset` on."""

    def __init__(self, file: File, content: bytes) -> None:
        self.file = file
        self.content = content
        self.ranges = 0
        self.truncate_to: int | None = None

    def fetch(self, broker: object, context: RequestContext, request: FetchRequest) -> Message:
        partitions = []
        for wanted in request.topics[0].partitions:
            stored = self.file.stored(wanted.fetch_offset, wanted.partition_max_bytes)
            assert stored is not None
            self.ranges += 1
            records = RecordBytes(b"", 0, len(stored), stored)
            partitions.append(PartitionData(partition_index=wanted.partition, records=records))
        if self.truncate_to is not None:
            self.file.truncate(self.truncate_to)
        return FetchResponse(responses=[FetchableTopicResponse("t", partitions=partitions)])


def frame(correlation_id: int, *ranges: tuple[int, int]) -> bytes:
    writer = Writer()
    writer.begin_frame()
    writer.write_int16(FetchRequest.API_KEY)
    writer.write_int16(VERSION)
    writer.write_int32(correlation_id)
    writer.write_nullable_string(None)
    writer.write_int8(0)
    partitions = [
        FetchPartition(partition=number, fetch_offset=start, partition_max_bytes=size)
        for number, (start, size) in enumerate(ranges)
    ]
    FetchRequest(topics=[FetchTopic("t", partitions=partitions)]).encode(writer, VERSION)
    writer.end_frame()
    return writer.to_bytes()


class Client:
    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.loop = asyncio.get_running_loop()

    async def send(self, data: bytes) -> None:
        await self.loop.sock_sendall(self.socket, data)

    async def read(self, size: int, at_a_time: int = 1 << 20) -> bytes:
        data = bytearray()
        while len(data) < size:
            more = await self.loop.sock_recv(self.socket, min(size - len(data), at_a_time))
            if not more:
                raise ConnectionResetError
            data += more
        return bytes(data)

    async def records(self, correlation_id: int, at_a_time: int = 1 << 20) -> list[bytes]:
        """The records of each partition in the next response."""
        size = int.from_bytes(await self.read(4))
        reader = Reader(await self.read(size, at_a_time))
        assert reader.int32() == correlation_id
        reader.tagged_fields()
        response = FetchResponse.decode(reader, VERSION)
        found = [data.records for topic in response.responses for data in topic.partitions]
        return [records.to_bytes() for records in found if records is not None]


class Door:
    def __init__(self, server: Server, port: int, records: Records, path: Path) -> None:
        self.path = path
        self.server = server
        self.port = port
        self.records = records
        self.clients: list[socket.socket] = []

    async def connect(self, receive_bytes: int | None = None) -> Client:
        connection = socket.socket()
        if receive_bytes is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.setblocking(False)
        self.clients.append(connection)
        client = Client(connection)
        await client.loop.sock_connect(connection, ("127.0.0.1", self.port))
        return client

    async def connections(self) -> list[Connection]:
        """The connections of the server, when all clients are connected."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.server.connections()) < len(self.clients):
                await asyncio.sleep(0)
        return self.server.connections()

    def expected(self, *ranges: tuple[int, int]) -> list[bytes]:
        return [self.records.content[start : start + size] for start, size in ranges]


@asynccontextmanager
async def serve(folder: Path) -> AsyncIterator[Door]:
    content = b"".join(number.to_bytes(4) for number in range(FILE_BYTES // 4))
    file = RealDisk().open(str(folder / "records"), create=True)
    file.append([content])
    records = Records(file, content)
    server = Server(
        max_request_bytes=1 << 20,
        max_connections=10,
        max_connections_per_ip=10,
        max_idle_ms=600_000,
        meters=RequestMeters(time.monotonic),
    )
    api = Api(1, "Fetch", VERSION, VERSION, VERSION, FetchRequest.decode, records.fetch)
    port = await server.bind("PLAINTEXT", "127.0.0.1", 0, {1: api})
    await server.serve(None)
    door = Door(server, port, records, folder / "records")
    async with asyncio.timeout(PATIENCE_S):
        yield door
    for client in door.clients:
        client.close()
    await server.close()


def on_both_loops(test: Callable[[Door], Awaitable[None]]) -> Callable[[Path, str], None]:
    """Run the test with asyncio's event loop, and with uvloop as the broker does."""

    async def with_door(folder: Path) -> None:
        async with serve(folder) as door:
            await test(door)

    @pytest.mark.parametrize("loop", LOOPS)
    def run(tmp_path: Path, loop: str) -> None:
        with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            runner.run(with_door(tmp_path))

    return run


@on_both_loops
async def test_a_response_is_whole(door: Door) -> None:
    client = await door.connect()
    for number, size in enumerate((1, 70_000, 1 << 20)):
        await client.send(frame(number, (1000, size)))
        assert await client.records(number) == door.expected((1000, size))


@on_both_loops
async def test_a_client_that_reads_slowly_gets_everything(door: Door) -> None:
    """The socket takes only a part at once. The transport writes the rest."""
    client = await door.connect(receive_bytes=4096)
    ranges = [(0, 3 << 20), (100, 2 << 20)]
    await client.send(frame(1, *ranges))
    assert await client.records(1, 50_000) == door.expected(*ranges)


@on_both_loops
async def test_a_client_that_does_not_read_costs_little_memory(door: Door) -> None:
    client = await door.connect(receive_bytes=4096)
    ranges = [(0, 6 << 20)] * 8
    await client.send(b"".join(frame(number, wanted) for number, wanted in enumerate(ranges)))
    (connection,) = await door.connections()
    async with asyncio.timeout(PATIENCE_S):
        while not connection._outbox.is_full:
            await asyncio.sleep(0)
    assert connection._transport.get_write_buffer_size() <= PIECE_BYTES
    assert not connection._reading
    for number, wanted in enumerate(ranges):
        assert await client.records(number) == door.expected(wanted)


@on_both_loops
async def test_what_the_page_cache_has_lost_is_read_in_a_thread(door: Door) -> None:
    client = await door.connect(receive_bytes=4096)
    await client.send(frame(1, (0, 6 << 20)))
    (connection,) = await door.connections()
    async with asyncio.timeout(PATIENCE_S):
        while not connection._outbox.is_full:
            await asyncio.sleep(0)
    door.records.file.sync()
    with open(door.path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    assert await client.records(1) == door.expected((0, 6 << 20))


@on_both_loops
async def test_several_partitions_in_one_response(door: Door) -> None:
    client = await door.connect()
    ranges = [(start * 1000, 65_536 + start) for start in range(20)]
    await client.send(frame(1, *ranges))
    assert await client.records(1) == door.expected(*ranges)


@on_both_loops
async def test_responses_leave_in_order(door: Door) -> None:
    """All requests arrive at once, and most responses find bytes before them that the socket did not take."""
    client = await door.connect(receive_bytes=4096)
    ranges = [(number * 4096, 900_000) for number in range(6)]
    await client.send(b"".join(frame(number, wanted) for number, wanted in enumerate(ranges)))
    for number, wanted in enumerate(ranges):
        assert await client.records(number) == door.expected(wanted)
    assert door.records.ranges == 6


@on_both_loops
async def test_requests_behind_a_large_response_are_handled(door: Door) -> None:
    """The pipeline is full, but the socket takes the whole response. The client sends nothing more."""
    client = await door.connect(receive_bytes=8 << 20)
    ranges = [(0, 5 << 20), (1000, 70_000), (0, 5 << 20), (2000, 70_000)]
    await client.send(b"".join(frame(number, wanted) for number, wanted in enumerate(ranges)))
    for number, wanted in enumerate(ranges):
        assert await client.records(number) == door.expected(wanted)


@on_both_loops
async def test_a_file_that_was_truncated_ends_the_connection(door: Door) -> None:
    """The response's size is on its way already, so nothing else can be said."""
    client, other = await door.connect(), await door.connect()
    door.records.truncate_to = 100_000
    await client.send(frame(1, (50_000, 1 << 20)))
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        await client.records(1)
    door.records.truncate_to = None
    await other.send(frame(2, (0, 90_000)))
    assert await other.records(2) == door.expected((0, 90_000))


@on_both_loops
async def test_a_client_that_leaves_early_harms_nobody(door: Door) -> None:
    leaver, other = await door.connect(receive_bytes=4096), await door.connect()
    await leaver.send(b"".join(frame(number, (0, 1 << 20)) for number in range(3)))
    await leaver.read(10_000)
    leaver.socket.close()
    for number in range(3):
        await other.send(frame(number, (number, 1 << 20)))
        assert await other.records(number) == door.expected((number, 1 << 20))


@on_both_loops
async def test_a_connection_that_is_closed_gets_its_answers_first(door: Door) -> None:
    client = await door.connect(receive_bytes=4096)
    await client.send(frame(1, (0, 6 << 20)))
    (connection,) = await door.connections()
    async with asyncio.timeout(PATIENCE_S):
        while not connection._outbox.is_full:
            await asyncio.sleep(0)
    connection.close_because("the test says so")
    assert await client.records(1) == door.expected((0, 6 << 20))
    with pytest.raises(ConnectionResetError):
        await client.read(1)


class Pipe(asyncio.Transport):
    """A transport that never has anything left to write."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__({"socket": connection})
        self.written = b""
        self.closed: list[bool] = []

    def get_write_buffer_size(self) -> int:
        return 0

    def writelines(self, chunks: Iterable[Any]) -> None:
        self.written += b"".join(chunks)

    def close(self) -> None:
        self.closed.append(True)


class Zeros(Stored):
    """A range of zeros that a socket takes at once, unless it `is_cold`."""

    def __init__(self, size_bytes: int, is_cold: bool = False) -> None:
        super().__init__(size_bytes)
        self.is_cold = is_cold
        self.sent_bytes = 0
        self.may_read = threading.Event()

    def send(self, socket_number: int, skip_bytes: int, max_bytes: int) -> int:
        if self.is_cold:
            return 0
        assert skip_bytes == self.sent_bytes
        count = min(max_bytes, self.size_bytes - skip_bytes)
        self.sent_bytes += count
        return count

    def read_nowait(self, skip_bytes: int, max_bytes: int) -> bytes | None:
        return None

    def read(self, skip_bytes: int = 0, max_bytes: int | None = None) -> bytes:
        assert self.may_read.wait(PATIENCE_S)
        return bytes(min(self.size_bytes - skip_bytes, max_bytes or self.size_bytes))


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def box(transport: Pipe, on_room: Callable[[], None] = lambda: None) -> Outbox:
    def broken(error: Exception) -> None:
        raise error

    return Outbox(transport, on_room, broken)


async def test_a_large_response_lets_other_connections_have_their_turn(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    emptied: list[bool] = []
    outbox = box(Pipe(ends[0]), lambda: emptied.append(True))
    zeros = Zeros(3 * TURN_BYTES)
    outbox.write([zeros], True)
    for turn in (1, 2, 3):
        assert zeros.sent_bytes == turn * TURN_BYTES
        assert outbox.is_full == (turn < 3)
        outbox.transport_has_room()  # it does not get another turn by that
        await asyncio.sleep(0)
    assert emptied == [True]


async def test_chunks_in_memory_leave_in_order_around_those_in_files(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    zeros = Zeros(10)
    small = [b"%d," % number for number in range(3_000)]
    chunks: list[Chunk] = [*small, b"", zeros, b"", memoryview(b"xyz")[1:2], b""]
    box(Pipe(ends[0])).write(chunks, True)
    expected = b"".join(small) + b"y"
    assert ends[1].recv(len(expected) + 1, socket.MSG_WAITALL | socket.MSG_DONTWAIT) == expected
    assert zeros.sent_bytes == 10


async def test_an_outbox_that_is_forgotten_leaves_the_socket_alone(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    """If an event loop is closed, uvloop closes its sockets and tells nobody. Others get their numbers."""
    outbox = box(Pipe(ends[0]))
    outbox.write([b"head", Zeros(10)], True)
    del outbox
    gc.collect()
    ends[0].send(b" and more")
    assert ends[1].recv(100) == b"head and more"


async def test_the_transport_is_closed_after_the_last_piece(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    transport = Pipe(ends[0])
    outbox = box(transport)
    zeros = Zeros(PIECE_BYTES, is_cold=True)
    outbox.write([zeros], True)
    outbox.end()
    assert transport.closed == []
    zeros.may_read.set()
    async with asyncio.timeout(PATIENCE_S):
        while not transport.closed:
            await asyncio.sleep(0.001)
    assert transport.written == bytes(PIECE_BYTES)
