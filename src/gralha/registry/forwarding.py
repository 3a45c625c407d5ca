"""Asks the leader to carry out a write, over HTTP.

The request is sent as it came, with the headers that Confluent's registry forwards, and with `X-Forward`, so
that the leader knows that it comes from another instance. An answer with an error is that of the request.
"""

import asyncio
import contextlib
import ssl
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from gralha.registry import errors

X_FORWARD: Final = b"x-forward"
FORWARDED_HEADERS: Final = (
    *(b"content-type", b"accept", b"confluent-accept-unknown-properties", b"authorization", b"x-request-id"),
)
_MAX_ANSWER_BYTES: Final = 64 << 20


class Forwarded(NamedTuple):
    """A request that may be forwarded."""

    method: str
    target: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    is_from_instance: bool


class Answer(NamedTuple):
    """The leader's answer, which is passed on as it is."""

    status: int
    body: bytes


class Forwarder:
    """Sends requests to the leader. Each has its own connection, because writes are rare."""

    def __init__(self, tls: ssl.SSLContext | None = None, timeout_ms: int = 60_000) -> None:
        self._tls = tls
        self._timeout_s = timeout_ms / 1000

    async def forward(self, url: str, request: Forwarded) -> Answer:
        """Raises RegistryError if there is no answer."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._exchange(url, request)
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError) as error:
            raise errors.forwarding_failed(
                f"Error while forwarding the request to the leader {url}: {error or 'no answer in time'}"
            ) from None

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _exchange(self, url: str, request: Forwarded) -> Answer:
        parts = urlsplit(url)
        tls = self._context() if parts.scheme == "https" else None
        port = parts.port or (443 if tls else 80)
        reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=tls, limit=1 << 20)
        try:
            writer.write(_head(parts.netloc, request) + request.body)
            await writer.drain()
            return await _read_answer(reader)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _context(self) -> ssl.SSLContext:
        return self._tls or ssl.create_default_context()


def _head(host: str, request: Forwarded) -> bytes:
    lines = [
        f"{request.method} {request.target} HTTP/1.1".encode(),
        b"host: " + host.encode(),
        b"connection: close",
        b"content-length: %d" % len(request.body),
        X_FORWARD + b": true",
    ]
    lines += [name + b": " + value for name, value in request.headers if name in FORWARDED_HEADERS]
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def _read_answer(reader: asyncio.StreamReader) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    status = int(head[0].split(b" ", 2)[1])
    headers = {}
    for line in head[1:]:
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip().lower()
    if headers.get(b"transfer-encoding") == b"chunked":
        return Answer(status, await _read_chunks(reader))
    if b"content-length" in headers:
        return Answer(status, await reader.readexactly(_limited(int(headers[b"content-length"]))))
    return Answer(status, await reader.read(_MAX_ANSWER_BYTES) if status != 204 else b"")


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while True:
        size = int((await reader.readline()).split(b";")[0], 16)
        if size == 0:
            return bytes(body)
        _limited(len(body) + size)
        body += await reader.readexactly(size)
        await reader.readexactly(2)


def _limited(size: int) -> int:
    if not 0 <= size <= _MAX_ANSWER_BYTES:
        raise ValueError("the answer is too large")
    return size
