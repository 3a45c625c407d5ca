"""Answers `GET /metrics` on the event loop of the node.

The answer is made in pieces, and other work runs between them (`exposition.SLICE`). Everything has a limit:
the connections, the size of a request, the time of an exchange, and the text that a slow reader has not
taken yet.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Final

from gralha.broker.metrics.collecting import Sources, collect
from gralha.broker.metrics.exposition import CONTENT_TYPE
from gralha.broker.metrics.http import (
    MAX_HEAD_BYTES,
    RefusedError,
    Request,
    answer_head,
    chunk,
    parse_request,
    refusal,
)

# More clients are told to come later, and many more are not even heard.
MAX_SCRAPES: Final = 8
MAX_CONNECTIONS: Final = 64
REQUEST_TIMEOUT_S: Final = 10.0
ANSWER_TIMEOUT_S: Final = 60.0
PART_BYTES: Final = 32 * 1024

log = logging.getLogger("gralha.metrics")


class MetricsServer:
    """One listener. `sources` are the parts of the node that have metrics."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._server: asyncio.Server | None = None
        self._exchanges: set[asyncio.Task[None]] = set()

    async def bind(self, host: str, port: int) -> int:
        """Binds an address without serving it yet. Returns the port, which matters if it was given as 0."""
        self._server = await asyncio.start_server(
            self._accepted, host or None, port, limit=MAX_HEAD_BYTES, start_serving=False
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def serve(self) -> None:
        if self._server is not None:
            await self._server.start_serving()

    async def close(self) -> None:
        """Stops at once. Scrapes under way are cut off."""
        if self._server is not None:
            self._server.close()
        exchanges = list(self._exchanges)
        for exchange in exchanges:
            exchange.cancel()
        await asyncio.gather(*exchanges, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._exchanges) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        exchange = asyncio.get_running_loop().create_task(self._exchange(reader, writer))
        self._exchanges.add(exchange)
        exchange.add_done_callback(self._exchanges.discard)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request and its answer. The transport is closed in any case."""
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await self._answer(reader, writer)
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError) as error:
            log.debug("a scrape ended early: %r", error)
        except Exception:
            log.exception("a scrape failed")
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read_request(reader)
            if len(self._exchanges) > MAX_SCRAPES:
                raise RefusedError(503, f"{MAX_SCRAPES} other scrapes are under way")
        except RefusedError as error:
            writer.write(refusal(error))
            await writer.drain()
            return
        if request is not None:
            await self._write_metrics(writer, request)

    async def _write_metrics(self, writer: asyncio.StreamWriter, request: Request) -> None:
        writer.write(answer_head(200, CONTENT_TYPE, chunked=request.takes_chunks))
        if not request.is_head:
            async for part in self._parts():
                writer.write(chunk(part) if request.takes_chunks else part)
                await writer.drain()
            if request.takes_chunks:
                writer.write(chunk(b""))
        await writer.drain()

    async def _parts(self) -> AsyncIterator[bytes]:
        """The text in parts of about the same size. Other work runs after each piece of it."""
        waiting: list[str] = []
        size = 0
        async for piece in collect(self._sources):
            if piece:
                waiting.append(piece)
                size += len(piece)
            if size >= PART_BYTES:
                yield "".join(waiting).encode()
                waiting.clear()
                size = 0
            await asyncio.sleep(0)
        if waiting:
            yield "".join(waiting).encode()


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    """Returns None if the client says nothing and leaves."""
    try:
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            head = await reader.readuntil(b"\r\n\r\n")
    except TimeoutError:
        raise RefusedError(408, f"the request did not arrive within {REQUEST_TIMEOUT_S:.0f} s") from None
    except asyncio.LimitOverrunError:
        raise RefusedError(431, f"the request has more than {MAX_HEAD_BYTES} bytes") from None
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            return None
        raise RefusedError(400, "the request ends before its empty line") from None
    return parse_request(head)
