"""The way of responses to the socket. Records go there from their files: the kernel moves them (sendfile).

asyncio's transports cannot do that in the midst of other writes. So chunks go to the socket beside the
transport, but only if the transport has nothing left to write. If the socket is full, the transport gets one
piece of the records and waits for the socket. After that the kernel goes on. So a client that reads slowly
costs a piece of memory, and not the memory for its whole response.

A client that reads fast could keep the event loop for the whole response. So other connections get their turn
after each megabyte and a bit. If the page cache has lost a part meanwhile, a thread reads a piece of it.

Under TLS the kernel cannot move records. Pieces are read and written through the transport, which encrypts.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Final, cast

from gralha.protocol.primitives import Chunk, Stored
from gralha.storage.disk import DiskError

# More than the transport's limit (64 KiB), so that it says when the piece is gone.
PIECE_BYTES: Final = 128 * 1024
# Under TLS all records go through the transport. Twice as much at a time costs a fifteenth less CPU time.
ENCRYPTED_PIECE_BYTES: Final = 256 * 1024
# A consumer's default limit for a partition (1 MiB), with the rest of the response, leaves in one turn.
TURN_BYTES: Final = 1024 * 1024 + 64 * 1024
# Linux takes no more buffers in one call (IOV_MAX).
_BUFFERS_MAX: Final = 1024
# Says that more follows, so that the head of a response does not leave in a packet of its own.
_MORE: Final = socket.MSG_MORE if hasattr(socket, "MSG_MORE") else 0


class Outbox:
    """The responses of a connection that have not left yet."""

    def __init__(
        self,
        transport: asyncio.Transport,
        on_room: Callable[[], None],
        on_broken: Callable[[Exception], None],
        is_encrypted: bool = False,
    ) -> None:
        """`on_room` is called when everything has left after all, `on_broken` when that is not possible.

        If the transport encrypts, nothing goes to the socket beside it.
        """
        self._is_encrypted = is_encrypted
        self._transport = transport
        self._on_room = on_room
        self._on_broken = on_broken
        self._chunks: deque[Chunk] = deque()
        self._sent_bytes = 0  # of the first chunk
        self._transport_is_full = False
        self._reading: asyncio.Future[bytes] | None = None
        self._next_turn: asyncio.Handle | None = None
        self._is_ending = False
        self._is_closed = False

    @property
    def is_full(self) -> bool:
        """Whether the client must read before it gets more."""
        return self._transport_is_full or bool(self._chunks)

    def write(self, chunks: list[Chunk], has_stored: bool) -> None:
        """Send chunks after all chunks before. `has_stored` says that some are in files."""
        if not has_stored and not self._chunks:
            self._transport.writelines(cast("list[bytes | memoryview]", chunks))
        else:
            self._chunks.extend(chunks)
            self._send()

    def transport_is_full(self) -> None:
        self._transport_is_full = True

    def transport_has_room(self) -> None:
        self._transport_is_full = False
        self._send()

    def end(self) -> None:
        """Close the transport when everything has left."""
        self._is_ending = True
        if not self._chunks:
            self._transport.close()

    def close(self) -> None:
        """The connection is lost."""
        self._is_closed = True
        self._chunks.clear()
        if self._next_turn is not None:
            self._next_turn.cancel()

    def _send(self) -> None:
        """Send until the socket is full, a thread has to read, or it is the turn of other connections."""
        left_bytes = TURN_BYTES
        try:
            while self._chunks and not self._is_waiting():
                if left_bytes <= 0:
                    self._next_turn = asyncio.get_running_loop().call_soon(self._take_turn)
                    return
                sent = 0
                if self._is_encrypted:
                    left_bytes -= self._write_encrypted()
                    continue
                if self._transport.get_write_buffer_size() == 0:
                    sent = self._send_directly(left_bytes)
                if sent:
                    self._left(sent)
                    left_bytes -= sent
                else:
                    self._write_piece()
        except (OSError, DiskError) as error:
            self._chunks.clear()
            self._on_broken(error)
            return
        if self._is_ending and not self._chunks:
            self._transport.close()

    def _is_waiting(self) -> bool:
        return self._transport_is_full or self._reading is not None or self._next_turn is not None

    def _take_turn(self) -> None:
        self._next_turn = None
        self._send_after_all()

    def _send_after_all(self) -> None:
        self._send()
        if not self.is_full:
            self._on_room()

    def _send_directly(self, max_bytes: int) -> int:
        """Send a part. Returns how many bytes the socket took; 0 if it is full, or a range must be read."""
        # Asked for each time: nobody may use the number after the transport has closed the socket.
        of_transport = self._transport.get_extra_info("socket")
        number = of_transport.fileno()
        first = self._chunks[0]
        try:
            if isinstance(first, Stored):
                return first.send(number, self._sent_bytes, max_bytes)
            chunks = self._first_in_memory()
            flags = _MORE if len(chunks) < len(self._chunks) else 0
            borrowed = socket.socket(of_transport.family, of_transport.type, of_transport.proto, number)
            try:
                return borrowed.sendmsg(chunks, (), flags)
            finally:
                borrowed.detach()
        except BlockingIOError:
            return 0

    def _first_in_memory(self) -> list[bytes | memoryview]:
        """The chunks that are left before the next one in a file."""
        found: list[bytes | memoryview] = []
        for chunk in islice(self._chunks, _BUFFERS_MAX):
            if isinstance(chunk, Stored):
                break
            found.append(chunk)
        found[0] = memoryview(found[0])[self._sent_bytes :]
        return found

    def _left(self, sent_bytes: int) -> None:
        """Bytes of the first chunks are on their way."""
        self._sent_bytes += sent_bytes
        while self._chunks and self._sent_bytes >= len(self._chunks[0]):
            self._sent_bytes -= len(self._chunks.popleft())

    def _write_encrypted(self) -> int:
        """Give the transport a part of the chunks, records from files included. Returns its size.

        If a thread has to read first, nothing is given.
        """
        piece: list[bytes | memoryview] = []
        size = 0
        while self._chunks and size < ENCRYPTED_PIECE_BYTES:
            first = self._chunks[0]
            part: bytes | memoryview | None
            if isinstance(first, Stored):
                part = first.read_nowait(self._sent_bytes, ENCRYPTED_PIECE_BYTES - size)
                if part is None:
                    if not piece:
                        self._read_in_thread(first)
                    break
            else:
                part = memoryview(first)[self._sent_bytes : self._sent_bytes + ENCRYPTED_PIECE_BYTES - size]
            piece.append(part)
            size += len(part)
            self._left(len(part))
        if piece:
            self._transport.writelines(piece)
        return size

    def _write_piece(self) -> None:
        """Give the transport a part. It writes the part when the socket has room."""
        first = self._chunks[0]
        if not isinstance(first, Stored):
            self._write(self._first_in_memory())
            return
        piece = first.read_nowait(self._sent_bytes, PIECE_BYTES)
        if piece is not None:
            self._write([piece])
            return
        self._read_in_thread(first)

    def _read_in_thread(self, first: Stored) -> None:
        loop = asyncio.get_running_loop()
        self._reading = loop.run_in_executor(None, first.read, self._sent_bytes, PIECE_BYTES)
        self._reading.add_done_callback(self._was_read)

    def _write(self, chunks: list[bytes | memoryview]) -> None:
        self._transport.writelines(chunks)
        self._left(sum(map(len, chunks)))

    def _was_read(self, reading: "asyncio.Future[bytes]") -> None:
        self._reading = None
        if self._is_closed or reading.cancelled():
            return
        error = reading.exception()
        if isinstance(error, Exception):
            self._chunks.clear()
            self._on_broken(error)
            return
        self._write([reading.result()])
        self._send_after_all()
