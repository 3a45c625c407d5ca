"""The receive buffer: bytes that are still referenced are never overwritten."""

import pytest

from gralha.broker.receive_buffer import COPIED_BELOW_BYTES, SIZE_BYTES, ReceiveBuffer
from gralha.protocol.primitives import RecordBytes


def receive(buffer: ReceiveBuffer, byte: bytes, size_bytes: int, kept: bytes = b"") -> bytes:
    room = buffer.room(kept)
    length = size_bytes - len(kept)
    room[:length] = byte * length
    return buffer.received(size_bytes)


@pytest.mark.parametrize("size_bytes", [1, COPIED_BELOW_BYTES - 1, COPIED_BELOW_BYTES, SIZE_BYTES])
def test_what_was_received_is_there(size_bytes: int) -> None:
    data = receive(ReceiveBuffer(), b"a", size_bytes)
    assert data[:size_bytes] == b"a" * size_bytes


def test_what_was_kept_comes_first() -> None:
    assert receive(ReceiveBuffer(), b"b", 10, kept=b"aaa") == b"aaabbbbbbb"


def test_a_large_read_is_not_copied_and_its_room_is_used_again() -> None:
    buffer = ReceiveBuffer()
    first = id(receive(buffer, b"a", SIZE_BYTES))
    buffer.release()
    assert id(receive(buffer, b"b", SIZE_BYTES)) == first


@pytest.mark.parametrize("size_bytes", [100, COPIED_BELOW_BYTES, SIZE_BYTES])
def test_a_request_that_waits_keeps_its_bytes(size_bytes: int) -> None:
    buffer = ReceiveBuffer()
    waiting = RecordBytes(receive(buffer, b"a", size_bytes), 0, size_bytes)
    buffer.release()
    receive(buffer, b"b", SIZE_BYTES)
    assert waiting.to_bytes() == b"a" * size_bytes


def test_a_memoryview_counts_as_a_reference() -> None:
    buffer = ReceiveBuffer()
    view = memoryview(receive(buffer, b"a", SIZE_BYTES))[5:10]
    buffer.release()
    receive(buffer, b"b", SIZE_BYTES)
    assert bytes(view) == b"aaaaa"


def test_a_waiting_request_does_not_keep_a_megabyte_for_a_few_bytes() -> None:
    assert len(receive(ReceiveBuffer(), b"a", 100)) == 100
