"""TLS between a socket's transport and a protocol that knows nothing of it.

    transport of the socket  --ciphertext-->  TlsStream  --plaintext-->  inner protocol
                             <--ciphertext--             <--plaintext--

A `TlsStream` is the protocol of the transport, and the transport of the inner protocol. Any BufferedProtocol
works on top of it: requests are decrypted into the inner protocol's own buffer, so they are not copied again.

- All connections of a listener receive ciphertext into one `CiphertextBuffer`, as plaintext connections do
  (`broker/receive_buffer.py`). So an idle connection has no buffer. asyncio's own TLS has 256 KiB for each.
- Ciphertext goes to OpenSSL in pieces, because its queue in memory (a BIO) never shrinks.
- OpenSSL's error for "I need more bytes" is slow. So it is asked only if there are bytes.
- Answers of several chunks become few TLS records, and leave with one call.

The inner protocol is connected when the socket is, so that the server counts and ends connections that never
finish their handshake. Its answers wait for the end of the handshake.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

# The largest TLS record.
RECORD_BYTES: Final = 16 * 1024
# Ciphertext for OpenSSL at a time, and plaintext to encrypt at a time. Its queues get about as large as that.
PIECE_BYTES: Final = 4 * RECORD_BYTES
# As much as plaintext connections receive at a time, so that long requests arrive whole.
CIPHERTEXT_BYTES: Final = 1024 * 1024
# The first bytes of a failed handshake, which show what the other side speaks.
BEGINNING_BYTES: Final = 16
# OpenSSL answers a KeyUpdate on its own (RFC 8446, section 4.6.3). A side that sends these and does not read
# would fill the socket's queue. So many bytes may wait, and so many times in a row it may send nothing else.
OWN_ANSWERS_BYTES_MAX: Final = 64 * 1024
OWN_ANSWERS_MAX: Final = 32

Data = bytes | bytearray | memoryview


class CiphertextBuffer:
    """The memory that all connections of a listener receive into. It is empty after every call."""

    __slots__ = ("view",)

    def __init__(self) -> None:
        self.view = memoryview(bytearray(CIPHERTEXT_BYTES))


class TlsStream(asyncio.BufferedProtocol, asyncio.Transport):
    """One connection. It ends itself when the handshake fails or the ciphertext is damaged."""

    def __init__(
        self,
        inner: asyncio.BufferedProtocol,
        context: ssl.SSLContext,
        buffer: CiphertextBuffer,
        *,
        server_side: bool,
        server_hostname: str | None = None,
        on_secured: Callable[[ssl.SSLObject], None] | None = None,
        on_failed: Callable[[Exception, bytes], None] | None = None,
    ) -> None:
        """`on_secured` is called after the handshake. If it raises an error, the connection ends.

        `on_failed` gets the reason why the handshake failed, and the first bytes of the other side.
        """
        super().__init__()
        self.inner = inner
        self._ciphertext = buffer.view
        self._on_secured = on_secured
        self._on_failed = on_failed
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls: ssl.SSLObject = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_side, server_hostname=server_hostname
        )
        self._server_side = server_side
        self._socket: asyncio.Transport
        self._unsent: list[Data] = []  # written before the end of the handshake
        self._is_secured = False
        self._is_paused = False
        self._is_closing = False
        self._beginning = b""
        self.received_bytes = 0
        # OpenSSL's own answers: their bytes since the socket's queue was empty, and how many in a row came
        # without plaintext.
        self._own_bytes = 0
        self._own_answers = 0
        # Why the connection has ended, if it did not end well.
        self.error: Exception | None = None

    # Calls of the socket's transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = cast(asyncio.Transport, transport)
        self.inner.connection_made(self)
        if not self._server_side and not self._is_closing:
            self._shake_hands()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._ciphertext

    def buffer_updated(self, nbytes: int) -> None:
        self.received_bytes += nbytes
        if self._is_closing:
            return
        if self._is_secured:
            self._decrypt(nbytes)
            return
        if len(self._beginning) < BEGINNING_BYTES:
            missing = BEGINNING_BYTES - len(self._beginning)
            self._beginning += bytes(self._ciphertext[: min(nbytes, missing)])
        self._incoming.write(self._ciphertext[:nbytes])
        self._shake_hands()

    def eof_received(self) -> bool:
        if not self._is_closing and not self._is_paused:
            if self._is_secured:
                self._decrypt(0)
            if not self._is_closing:
                self.inner.eof_received()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closing = True
        self._unsent.clear()
        self.inner.connection_lost(self.error or exc)

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()

    # The handshake

    def _shake_hands(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return
        except (ssl.SSLError, ssl.CertificateError) as error:
            self._fail(error)
            return
        self._flush()
        self._is_secured = True
        if self._on_secured is not None:
            try:
                self._on_secured(self._tls)
            except Exception as error:
                self._fail(error)
                return
        if self._unsent and not self._is_closing:
            chunks, self._unsent = self._unsent, []
            self._encrypt(chunks)
        if not self._is_closing:
            self._decrypt(0)

    def _fail(self, error: Exception) -> None:
        """Ends the connection. OpenSSL has written an alert for the other side."""
        self.error = error
        self._unsent.clear()
        if self._on_failed is not None:
            self._on_failed(error, self._beginning)
        self.close()

    # Receiving

    def _decrypt(self, nbytes: int) -> None:
        """Gives the inner protocol what OpenSSL has already, and what has arrived now."""
        tls, incoming = self._tls, self._incoming
        given = 0
        is_ended = False
        while not self._is_closing and not self._is_paused:
            target = cast(memoryview, self.inner.get_buffer(-1))
            size = len(target)
            filled = 0
            while filled < size:
                if not incoming.pending and not tls.pending():
                    if given == nbytes:
                        break
                    given = self._give(given, nbytes)
                try:
                    count = tls.read(size - filled, target[filled:] if filled else target)
                except ssl.SSLWantReadError:
                    if given == nbytes:
                        break
                    given = self._give(given, nbytes)
                    continue
                except ssl.SSLError as error:
                    self._is_broken(error)
                    is_ended = True
                    break
                if not count:  # the other side has said goodbye
                    is_ended = True
                    break
                filled += cast(int, count)
            if self._outgoing.pending:
                self._answer()
            if filled:
                self._own_answers = 0
                self.inner.buffer_updated(filled)
            if is_ended:
                self._end()
            if filled < size:
                break
        if given < nbytes and not self._is_closing:
            incoming.write(self._ciphertext[given:nbytes])
        if self._outgoing.pending:
            self._answer()

    def _answer(self) -> None:
        """Sends what OpenSSL answers on its own, unless the other side demands too much of it."""
        if not self._socket.get_write_buffer_size():
            self._own_bytes = 0
        self._own_bytes += self._outgoing.pending
        self._own_answers += 1
        if self._own_bytes <= OWN_ANSWERS_BYTES_MAX and self._own_answers <= OWN_ANSWERS_MAX:
            self._flush()
        elif not self._is_closing:
            self._outgoing.read()
            self.error = ConnectionAbortedError("the other side renews its keys all the time")
            if self._on_failed is not None:
                self._on_failed(self.error, b"")
            self.abort()

    def _give(self, given: int, nbytes: int) -> int:
        """Gives OpenSSL the next piece. Returns how many bytes it has got of those that have arrived."""
        end = min(given + PIECE_BYTES, nbytes)
        self._incoming.write(self._ciphertext[given:end])
        return end

    def _is_broken(self, error: ssl.SSLError) -> None:
        if not isinstance(error, ssl.SSLZeroReturnError):
            self.error = error
            if not self._is_closing and self._on_failed is not None:
                self._on_failed(error, b"")

    def _end(self) -> None:
        if not self._is_closing:
            self.inner.eof_received()
            self.close()

    # Calls of the inner protocol

    def write(self, data: Data) -> None:
        self.writelines([data])

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        if self._is_closing:
            return
        if self._is_secured:
            self._encrypt(list(list_of_data))
        else:
            self._unsent.extend(list_of_data)

    def _encrypt(self, chunks: list[Data]) -> None:
        write = self._tls.write
        outgoing = self._outgoing
        sealed: list[bytes] = []
        small: list[Data] = []
        small_bytes = 0
        for chunk in chunks:
            size = len(chunk)
            if small_bytes + size <= RECORD_BYTES:
                small.append(chunk)
                small_bytes += size
                continue
            if small:
                write(b"".join(small))
            small, small_bytes = [], 0
            if size <= RECORD_BYTES:
                small.append(chunk)
                small_bytes = size
                continue
            view = memoryview(chunk)
            for start in range(0, size, PIECE_BYTES):
                write(view[start : start + PIECE_BYTES])
                sealed.append(outgoing.read())
        if small_bytes:
            write(small[0] if len(small) == 1 else b"".join(small))
        if outgoing.pending:
            sealed.append(outgoing.read())
        if len(sealed) == 1:
            self._socket.write(sealed[0])
        elif sealed:
            self._socket.writelines(sealed)

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._socket.write(self._outgoing.read())

    def close(self) -> None:
        """Says goodbye and closes the socket when everything has left."""
        if self._is_closing:
            return
        self._is_closing = True
        if self._is_secured and self.error is None:
            # OpenSSL writes close_notify and would wait for that of the other side.
            with contextlib.suppress(ssl.SSLError):
                self._tls.unwrap()
        self._flush()
        self._socket.close()

    def abort(self) -> None:
        self._is_closing = True
        self._socket.abort()

    def is_closing(self) -> bool:
        return self._is_closing or self._socket.is_closing()

    def pause_reading(self) -> None:
        self._is_paused = True
        if not self._socket.is_closing():
            self._socket.pause_reading()

    def resume_reading(self) -> None:
        if not self._is_paused:
            return
        self._is_paused = False
        if self._socket.is_closing():
            return
        self._socket.resume_reading()
        if self._incoming.pending or self._tls.pending():
            # The inner protocol may be in the middle of something.
            asyncio.get_running_loop().call_soon(self._decrypt_rest)

    def _decrypt_rest(self) -> None:
        if self._is_secured and not self._is_closing:
            self._decrypt(0)

    def is_reading(self) -> bool:
        return not self._is_paused and not self._is_closing

    def get_write_buffer_size(self) -> int:
        return self._socket.get_write_buffer_size() + sum(map(len, self._unsent))

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._socket.get_write_buffer_limits()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._socket.set_write_buffer_limits(high, low)

    def can_write_eof(self) -> bool:
        return False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "ssl_object":
            return self._tls
        return self._socket.get_extra_info(name, default)
