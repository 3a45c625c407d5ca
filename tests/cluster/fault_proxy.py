"""A TCP proxy between nodes of a cluster that holds bytes back, delays them and breaks connections.

Every listener that nodes use among each other is advertised at a port of the proxy. The first request names
the node that connects: the client id of node 1 is `broker-1` or `node-1`. With TLS the first message tells,
because each node offers another number of cipher suites (`SUITES`). So every pair of nodes is a link of its
own, with two directions, though all of them dial the same port.

Bytes that a cut direction holds back are delivered when it heals, as TCP does after a partition: late
requests of a node that has long been replaced are part of the test. So is the end of a connection: nobody
hears of it through a cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from collections import defaultdict
from collections.abc import Callable

CHUNK_BYTES = 1 << 16
_HEAD = struct.Struct(">ihhih")  # size, API key, version, correlation id, length of the client id
_RECORD = struct.Struct(">BHH")  # of TLS: type, version, length
_BEFORE_SESSION_ID = 4 + 2 + 32  # head of the message, version, random bytes
# Cipher suites of TLS 1.2 by their numbers. Node n offers the first n of them. Connections use TLS 1.3.
SUITES = {
    0xC02B: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    0xC02C: "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    0xCCA9: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
}
Direction = tuple[int, int]


class FaultProxy:
    """Runs in a thread of its own. `forward` opens a port; faults may be set from any thread."""

    def __init__(self, *, tls: bool = False) -> None:
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._open: dict[Direction, asyncio.Event] = defaultdict(_set_event)
        self._delay_s: dict[Direction, float] = {}
        self._transports: dict[frozenset[int], set[asyncio.WriteTransport]] = defaultdict(set)
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxy", daemon=True)
        self._thread.start()

    def forward(self, port: int, node_id: int, node_port: int) -> None:
        """Listen on a port for a node that itself listens on another one."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            with contextlib.suppress(OSError, EOFError, asyncio.CancelledError):
                await self._connection(reader, writer, node_id, node_port)
            writer.transport.abort()
            self._tasks.discard(task)

        async def listen() -> None:
            self._servers.append(await asyncio.start_server(serve, "127.0.0.1", port))

        asyncio.run_coroutine_threadsafe(listen(), self._loop).result()

    # Faults

    def cut(self, source: int, target: int) -> None:
        """Cut the direction from one node to the other. The opposite direction stays open."""
        self._change(lambda: self._open[source, target].clear())

    def delay(self, source: int, target: int, seconds: float) -> None:
        """Delay all bytes from one node to the other by that time."""
        self._change(lambda: self._delay_s.__setitem__((source, target), seconds))

    def reset(self, one: int, other: int) -> None:
        """Break all connections between two nodes; they may make new ones."""

        def abort() -> None:
            for transport in list(self._transports[frozenset((one, other))]):
                transport.abort()

        self._change(abort)

    def heal(self) -> None:
        """End all faults, and deliver the bytes that were held back."""

        def heal() -> None:
            self._delay_s.clear()
            for event in self._open.values():
                event.set()

        self._change(heal)

    def close(self) -> None:
        async def end() -> None:
            for server in self._servers:
                server.close()
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _change(self, change: Callable[[], None]) -> None:
        """Do it in the proxy's thread, and return when it is done."""

        async def changed() -> None:
            change()

        asyncio.run_coroutine_threadsafe(changed(), self._loop).result()

    # Connections

    async def _connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int, port: int
    ) -> None:
        begin, source = await self._introduction(reader)
        await self._passed(source, target)
        onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", port)
        transports = self._transports[frozenset((source, target))]
        ends = {writer.transport, onward_writer.transport}
        transports |= ends
        try:
            onward_writer.write(begin)
            pumps = [
                asyncio.ensure_future(self._pump(reader, onward_writer, source, target)),
                asyncio.ensure_future(self._pump(onward_reader, writer, target, source)),
            ]
            try:
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
        finally:
            transports -= ends
            onward_writer.transport.abort()

    async def _introduction(self, reader: asyncio.StreamReader) -> tuple[bytes, int]:
        """The bytes that were read, and the node that has connected."""
        if self._tls:
            record = await reader.readexactly(_RECORD.size)
            hello = await reader.readexactly(_RECORD.unpack(record)[2])
            return record + hello, node_of_hello(hello)
        head = await reader.readexactly(_HEAD.size)
        client_id = await reader.readexactly(max(0, _HEAD.unpack(head)[4]))
        return head + client_id, node_of(client_id)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, source: int, target: int
    ) -> None:
        data = b"first"
        while data:
            try:
                data = await reader.read(CHUNK_BYTES)
            except OSError:
                data = b""
            await self._passed(source, target)
            writer.write(data)
            await writer.drain()

    async def _passed(self, source: int, target: int) -> None:
        delay_s = self._delay_s.get((source, target))
        if delay_s is not None:
            await asyncio.sleep(delay_s)
        await self._open[source, target].wait()


def node_of(client_id: bytes) -> int:
    """The node that has opened the connection; 0 if it is no node."""
    number = client_id.rpartition(b"-")[2]
    return int(number) if number.isdigit() else 0


def node_of_hello(hello: bytes) -> int:
    """The node that sends this ClientHello: it offers as many of the suites. 0 if it is no node."""
    session_at = _BEFORE_SESSION_ID
    suites_at = session_at + 1 + hello[session_at]
    size = int.from_bytes(hello[suites_at : suites_at + 2])
    offered = hello[suites_at + 2 : suites_at + 2 + size]
    numbers = {int.from_bytes(offered[at : at + 2]) for at in range(0, size, 2)}
    return sum(number in numbers for number in SUITES)


def _set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event
