"""The way of responses to the socket. Records go there from their files: the kernel moves them (sendfile).

asyncio's transports cannot do that in the midst of other writes. So chunks go to the socket beside the
transport, but only if the transport has nothing left to write. If the socket is full, the transport gets one
piece of the records and waits for the socket. After that the kernel goes on. So a client that reads slowly
costs a piece of memory, and not the memory for its whole response.

If the page cache has lost a piece meanwhile, a thread reads it.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import Final, cast

from gralha.protocol.primitives import Chunk, Stored
from gralha.storage.disk import DiskError

# More than the transport's limit (64 KiB), so that it says when the piece is gone.
PIECE_BYTES: Final = 128 * 1024
# Says that more follows, so that the head of a response does not leave in a packet of its own.
_MORE: Final = socket.MSG_MORE if hasattr(socket, "MSG_MORE") else 0


class Outbox:
    """The responses of a connection that have not left yet."""

    def __init__(
        self,
        transport: asyncio.Transport,
        on_room: Callable[[], None],
        on_broken: Callable[[Exception], None],
    ) -> None:
        """`on_room` is called when everything has left after all, `on_broken` when that is not possible."""
        self._transport = transport
        self._on_room = on_room
        self._on_broken = on_broken
        self._chunks: deque[Chunk] = deque()
        self._sent_bytes = 0  # of the first chunk
        self._transport_is_full = False
        self._reading: asyncio.Future[bytes] | None = None
        self._socket: socket.socket | None = None
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

    def close(self) -> None:
        """The connection is lost. This must be called before the transport closes its socket."""
        self._is_closed = True
        self._chunks.clear()
        if self._socket is not None:
            self._socket.detach()
            self._socket = None

    def _send(self) -> None:
        try:
            while self._chunks and not self._transport_is_full and self._reading is None:
                if self._transport.get_write_buffer_size() == 0:
                    self._send_directly()
                if self._chunks:
                    self._write_piece()
        except (OSError, DiskError) as error:
            self._chunks.clear()
            self._on_broken(error)

    def _send_directly(self) -> None:
        """Send as many bytes as the socket takes now."""
        while self._chunks:
            chunk = self._chunks[0]
            try:
                if isinstance(chunk, Stored):
                    sent = chunk.send(self._direct_socket().fileno(), self._sent_bytes)
                else:
                    rest = memoryview(chunk)[self._sent_bytes :]
                    sent = self._direct_socket().send(rest, _MORE if len(self._chunks) > 1 else 0)
            except BlockingIOError:
                return
            self._left(sent)

    def _direct_socket(self) -> socket.socket:
        if self._socket is None:
            of_transport = self._transport.get_extra_info("socket")
            self._socket = socket.socket(
                of_transport.family, of_transport.type, of_transport.proto, fileno=of_transport.fileno()
            )
        return self._socket

    def _left(self, sent_bytes: int) -> None:
        """Bytes of the first chunk are on their way."""
        self._sent_bytes += sent_bytes
        if self._sent_bytes == len(self._chunks[0]):
            self._chunks.popleft()
            self._sent_bytes = 0

    def _write_piece(self) -> None:
        """Give the transport a piece of the first chunk. It writes the piece when the socket has room."""
        chunk = self._chunks[0]
        if not isinstance(chunk, Stored):
            self._write(memoryview(chunk)[self._sent_bytes :])
            return
        piece = chunk.read_nowait(self._sent_bytes, PIECE_BYTES)
        if piece is not None:
            self._write(piece)
            return
        loop = asyncio.get_running_loop()
        self._reading = loop.run_in_executor(None, chunk.read, self._sent_bytes, PIECE_BYTES)
        self._reading.add_done_callback(self._was_read)

    def _write(self, data: bytes | memoryview) -> None:
        self._transport.write(data)
        self._left(len(data))

    def _was_read(self, reading: "asyncio.Future[bytes]") -> None:
        self._reading = None
        if self._is_closed or reading.cancelled():
            return
        error = reading.exception()
        if isinstance(error, Exception):
            self._chunks.clear()
            self._on_broken(error)
            return
        self._write(reading.result())
        self._send()
        if not self.is_full:
            self._on_room()
