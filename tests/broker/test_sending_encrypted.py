"""The outbox under TLS: records from files go through the transport in pieces, and nothing beside it."""

import asyncio
import threading
from typing import Any

import pytest

from gralha.broker.sending import ENCRYPTED_PIECE_BYTES, TURN_BYTES, Outbox
from gralha.protocol.primitives import Chunk, Stored
from gralha.storage.disk import DiskError
from tests.security.streams import Wire

PATIENCE_S = 30
LIMIT_BYTES = 64 * 1024


class Encrypting(Wire):
    """A transport without a socket. It is full after `room` bytes until the test says otherwise."""

    def __init__(self, room: int = 1 << 40) -> None:
        super().__init__()
        self.room = room
        self.outbox: Outbox

    def writelines(self, list_of_data: Any) -> None:
        super().writelines(list_of_data)
        if len(self.written) > self.room:
            self.outbox.transport_is_full()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        raise AssertionError(f"the outbox asked for {name}")


class Range(Stored):
    """Records in a file. Cold ones must be read by a thread."""

    def __init__(self, content: bytes, is_cold: bool = False, error: Exception | None = None) -> None:
        super().__init__(len(content))
        self.content = content
        self.is_cold = is_cold
        self.error = error
        self.may_read = threading.Event()

    def send(self, socket_number: int, skip_bytes: int, max_bytes: int) -> int:
        raise AssertionError("the kernel cannot encrypt")

    def read_nowait(self, skip_bytes: int, max_bytes: int) -> bytes | None:
        return None if self.is_cold else self.content[skip_bytes : skip_bytes + max_bytes]

    def read(self, skip_bytes: int = 0, max_bytes: int | None = None) -> bytes:
        assert self.may_read.wait(PATIENCE_S)
        if self.error is not None:
            raise self.error
        return self.content[skip_bytes : skip_bytes + (max_bytes or len(self.content))]


class Box:
    def __init__(self, room: int = 1 << 40) -> None:
        self.transport = Encrypting(room)
        self.rooms = 0
        self.errors: list[Exception] = []
        self.outbox = Outbox(self.transport, self._has_room, self.errors.append, is_encrypted=True)
        self.transport.outbox = self.outbox

    def _has_room(self) -> None:
        self.rooms += 1

    async def until_empty(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.outbox.is_full:
                await asyncio.sleep(0)


def content(size: int) -> bytes:
    return b"".join(number.to_bytes(4) for number in range(-(-size // 4)))[:size]


async def test_chunks_keep_their_order() -> None:
    box = Box()
    first, second = content(200_000), content(3_000)[::-1]
    chunks: list[Chunk] = [
        b"head",
        b"",
        Range(first),
        b"middle",
        memoryview(b"xyz")[1:2],
        Range(second),
        b"end",
    ]
    box.outbox.write(chunks, True)
    assert box.transport.written == b"head" + first + b"middley" + second + b"end"
    assert not box.outbox.is_full


async def test_a_small_answer_leaves_with_one_call() -> None:
    """So it is one TLS record, and one packet."""
    box = Box()
    box.outbox.write([b"head", Range(content(1000)), b"end"], True)
    assert box.transport.calls == 1


async def test_other_connections_get_their_turn() -> None:
    box = Box()
    records = content(3 * TURN_BYTES)
    box.outbox.write([Range(records)], True)
    assert TURN_BYTES <= len(box.transport.written) <= TURN_BYTES + ENCRYPTED_PIECE_BYTES
    await box.until_empty()
    assert box.transport.written == records
    assert box.rooms == 1


async def test_a_client_that_reads_slowly_gets_everything_in_pieces() -> None:
    box = Box(LIMIT_BYTES)
    records = content(1_000_000)
    box.outbox.write([b"head", Range(records)], True)
    received = b""
    while box.transport.written:
        assert len(box.transport.written) <= ENCRYPTED_PIECE_BYTES
        received += box.transport.take()
        box.outbox.transport_has_room()
    assert received == b"head" + records
    assert not box.outbox.is_full


async def test_a_thread_reads_what_the_page_cache_has_lost() -> None:
    box = Box()
    cold = Range(content(300_000), is_cold=True)
    box.outbox.write([b"head", cold, b"end"], True)
    assert box.transport.written == b"head"
    assert box.outbox.is_full
    cold.may_read.set()
    await box.until_empty()
    assert box.transport.written == b"head" + cold.content + b"end"


async def test_a_failed_read_breaks_the_connection() -> None:
    box = Box()
    cold = Range(content(10), is_cold=True, error=DiskError("read", "records", "gone"))
    cold.may_read.set()
    box.outbox.write([b"head", cold], True)
    async with asyncio.timeout(PATIENCE_S):
        while not box.errors:
            await asyncio.sleep(0)
    assert box.errors == [cold.error]


@pytest.mark.parametrize("is_cold", [False, True])
async def test_the_transport_is_closed_after_the_last_piece(is_cold: bool) -> None:
    box = Box(LIMIT_BYTES)
    records = Range(content(ENCRYPTED_PIECE_BYTES), is_cold=is_cold)
    records.may_read.set()
    box.outbox.write([records, b"end"], True)
    box.outbox.end()
    received = b""
    async with asyncio.timeout(PATIENCE_S):
        while not box.transport.is_closed:
            received += box.transport.take()
            box.outbox.transport_has_room()
            await asyncio.sleep(0)
    assert received + box.transport.take() == records.content + b"end"
