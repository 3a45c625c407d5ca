"""A client that never logs in completely, and sends requests all the same.

stranger-served       a request is answered on a connection without a complete login
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final, cast

from gralha.broker.peers import Address
from gralha.protocol.apis import request_header_version
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import ApiVersionsRequest
from gralha.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from gralha.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartition,
    DescribeQuorumRequestTopic,
)
from gralha.protocol.messages.metadata import MetadataRequest
from gralha.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from gralha.protocol.messages.sasl_handshake import SaslHandshakeRequest
from gralha.protocol.primitives import Writer
from gralha.security.sasl.exchange import PLAIN
from gralha.security.sasl.plain import PlainClient
from gralha.security.sasl.scram_client import ScramClient
from gralha.simulation.secured import MECHANISM, NODE, password_of

PAUSE_S: Final = (0.2, 2.0)
TIMEOUT_S: Final = 3.0
# A topic that must never exist.
STRANGE_TOPIC: Final = "strange"
# The correlation id of the request that nobody may answer.
FORBIDDEN: Final = 1_000_000


class Stranger:
    """`brokers` and `controllers` are the addresses of the nodes' listeners."""

    def __init__(
        self,
        brokers: list[Address],
        controllers: list[Address],
        random: Random,
        complain: Callable[[str], None],
    ) -> None:
        self.is_stopping = False
        self.turned_away = 0
        self._brokers = brokers
        self._controllers = controllers
        self._random = random
        self._complain = complain

    async def run(self) -> None:
        while not self.is_stopping:
            await self._try(self._random.choice([*self._brokers, *self._controllers]))
            await asyncio.sleep(self._random.uniform(*PAUSE_S))

    async def _try(self, address: Address) -> None:
        requests = self._draw(address in self._controllers)
        shown = ", ".join(type(request).__name__ for request in requests)
        listening = _Listening()
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                transport, _ = await loop.create_connection(lambda: listening, *address)
                for number, request in enumerate(requests, 1):
                    is_last = number == len(requests)
                    transport.write(_frame(request, FORBIDDEN if is_last else number))
                    if self._random.random() < 0.5:
                        await asyncio.sleep(self._random.uniform(0, 0.05))
                await listening.ended
                self.turned_away += 1
        except (TimeoutError, OSError):
            pass
        finally:
            listening.close()
        if FORBIDDEN in listening.correlation_ids():
            self._complain(f"stranger-served: {shown} at {address[0]}:{address[1]}")

    def _draw(self, is_controller: bool) -> list[Message]:
        """Some part of a login, and a request."""
        mechanism = PLAIN if is_controller else MECHANISM
        begin: list[Message] = [
            ApiVersionsRequest(client_software_name="stranger", client_software_version="1"),
            SaslHandshakeRequest(mechanism=mechanism),
            SaslAuthenticateRequest(auth_bytes=self._token(mechanism)),
        ]
        first, last = self._random.randint(0, 1), self._random.randint(0, len(begin))
        return [*begin[first:last], self._draw_forbidden(is_controller)]

    def _draw_forbidden(self, is_controller: bool) -> Message:
        if self._random.random() < 0.5:
            return CreateTopicsRequest([CreatableTopic(STRANGE_TOPIC, 1, 1)], 1000)
        if is_controller:
            partition = DescribeQuorumRequestPartition(0)
            return DescribeQuorumRequest([DescribeQuorumRequestTopic("__cluster_metadata", [partition])])
        return MetadataRequest(topics=None)

    def _token(self, mechanism: str) -> bytes:
        """With SCRAM the first token is not enough, even with the right password. With PLAIN it would be."""
        if mechanism == PLAIN:
            return PlainClient(NODE, "wrong").first()
        return ScramClient(mechanism, NODE, password_of(NODE), self._random.randbytes).first()


class _Listening(asyncio.Protocol):
    """Collects what arrives."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.received += data

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def correlation_ids(self) -> list[int]:
        """Of all answers."""
        found, position = [], 0
        while position + 8 <= len(self.received):
            found.append(int.from_bytes(self.received[position + 4 : position + 8]))
            position += 4 + int.from_bytes(self.received[position : position + 4])
        return found


def _frame(request: Message, correlation_id: int) -> bytes:
    version = request.MAX_VERSION
    writer = Writer()
    writer.begin_frame()
    writer.write_int16(request.API_KEY)
    writer.write_int16(version)
    writer.write_int32(correlation_id)
    writer.write_nullable_string("stranger")
    if request_header_version(request.API_KEY, version) >= 2:
        writer.write_int8(0)  # no tagged fields
    request.encode(writer, version)
    writer.end_frame()
    return b"".join(bytes(chunk) for chunk in writer.finish_in_memory())
