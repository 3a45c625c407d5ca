"""A broker of a few lines: real sockets, real codec, answers that the test decides.

A handler takes a decoded request and its version and returns a response message, raw bytes for the
frame's body, or None to close the connection.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.protocol.apis import APIS, ApiKey, request_header_version, response_header_version
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from gralha.protocol.messages.header import RequestHeader, ResponseHeader
from gralha.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from gralha.protocol.primitives import Reader, Writer

Handler = Callable[[Message, int], Message | bytes | None]


class FakeBroker:
    """Listens on a free loopback port. Notes its requests as (API key, version)."""

    def __init__(
        self,
        handlers: Mapping[int, Handler] | None = None,
        versions: Mapping[int, tuple[int, int]] | None = None,
    ) -> None:
        self.handlers = {ApiKey.API_VERSIONS: self._api_versions, **(handlers or {})}
        self.versions = versions or {key: (api.min_version, api.max_version) for key, api in APIS.items()}
        self.requests: list[tuple[int, int]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Closes the port and all connections."""
        for open_socket in [self._listener, *self._connections]:
            # shutdown() wakes the threads that wait on the sockets; close() would not.
            with contextlib.suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
            open_socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as frames:
                while size := frames.read(4):
                    answer = self._answer(frames.read(int.from_bytes(size, "big")))
                    if answer is None:
                        return
                    connection.sendall(answer)
        except OSError:
            return

    def _answer(self, frame: bytes) -> bytes | None:
        peek = Reader(frame)
        api_key, version = peek.int16(), peek.int16()
        self.requests.append((api_key, version))
        reader = Reader(frame)
        header = RequestHeader.decode(reader, request_header_version(api_key, version))
        request = APIS[api_key].request.decode(reader, version)
        answer = self.handlers[ApiKey(api_key)](request, version)
        if answer is None or isinstance(answer, bytes):
            return answer
        return frame_of(answer, api_key, version, header.correlation_id)

    def _api_versions(self, request: Message, version: int) -> Message | bytes | None:
        return ApiVersionsResponse(api_keys=api_keys(self.versions))


def api_keys(versions: Mapping[int, tuple[int, int]]) -> list[ApiVersion]:
    return [ApiVersion(key, lowest, highest) for key, (lowest, highest) in versions.items()]


def frame_of(response: Message, api_key: int, version: int, correlation_id: int) -> bytes:
    writer = Writer()
    ResponseHeader(correlation_id=correlation_id).encode(writer, response_header_version(api_key, version))
    response.encode(writer, version)
    body = writer.to_bytes()
    return len(body).to_bytes(4, "big") + body


def metadata(
    brokers: Mapping[int, FakeBroker],
    *,
    controller: int = 1,
    leaders: Mapping[tuple[str, int], int] | None = None,
) -> MetadataResponse:
    """Metadata with these brokers, this controller and these leaders."""
    topics: dict[str, MetadataResponseTopic] = {}
    for (name, partition), leader in (leaders or {}).items():
        topic = topics.setdefault(name, MetadataResponseTopic(name=name, partitions=[]))
        topic.partitions.append(MetadataResponsePartition(partition_index=partition, leader_id=leader))
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id, "127.0.0.1", broker.port) for node_id, broker in brokers.items()
        ],
        controller_id=controller,
        topics=list(topics.values()),
    )


def one_broker(
    stack: contextlib.ExitStack,
    handlers: Mapping[int, Handler],
    versions: Mapping[int, tuple[int, int]] | None = None,
) -> tuple[FakeBroker, Admin]:
    """A cluster of one fake broker, closed with the stack, and an admin client that never sleeps."""
    broker = stack.enter_context(FakeBroker(handlers, versions))
    broker.handlers[ApiKey.METADATA] = lambda request, version: metadata({1: broker})
    cluster = Cluster(broker.address, sleep=lambda seconds: None)
    return broker, stack.enter_context(Admin(cluster))
