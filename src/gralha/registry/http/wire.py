"""Bytes of answers: content types, errors as JSON, and reading a body with limits."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, NamedTuple

import msgspec

from gralha.registry.errors import RegistryError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

V1: Final = b"application/vnd.schemaregistry.v1+json"
ANY_VERSION: Final = b"application/vnd.schemaregistry+json"
JSON: Final = b"application/json"
# The types of bodies, and of bodies without a type.
REQUEST_TYPES: Final = (V1, ANY_VERSION, JSON, b"application/octet-stream", b"")
_ACCEPTED: Final = {
    b"": V1, b"*/*": V1, b"application/*": V1, V1: V1, ANY_VERSION: ANY_VERSION, JSON: JSON,
}  # fmt: skip
encode: Final = msgspec.json.Encoder().encode


class Response(NamedTuple):
    """A complete answer."""

    status: int
    body: bytes
    content_type: bytes = V1
    headers: tuple[tuple[bytes, bytes], ...] = ()

    async def send(self, send: Send) -> None:
        headers = [*self.headers]
        if self.status != 204:
            headers += [(b"content-type", self.content_type), (b"content-length", b"%d" % len(self.body))]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def error_response(error: RegistryError, content_type: bytes = V1) -> Response:
    body = encode({"error_code": error.code, "message": error.message})
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if error.status == 401:
        headers = ((b"www-authenticate", b'Basic realm="Schema Registry"'),)
    return Response(error.status, body, content_type, headers)


def header(scope: Scope, wanted: bytes) -> bytes:
    for name, value in scope["headers"]:
        if name == wanted:
            return bytes(value)
    return b""


def answer_type(scope: Scope) -> bytes:
    """The content type that the client wants. Raises RegistryError if it accepts none of ours."""
    accept = header(scope, b"accept")
    best: tuple[float, bytes] | None = None
    for part in accept.split(b","):
        name, _, parameters = part.partition(b";")
        found = _ACCEPTED.get(name.strip().lower())
        quality = _quality(parameters)
        if found is not None and quality > 0 and (best is None or quality > best[0]):
            best = (quality, found)
    if best is None:
        raise RegistryError(406, "HTTP 406 Not Acceptable")
    return best[1]


def _quality(parameters: bytes) -> float:
    for parameter in parameters.split(b";"):
        name, _, value = parameter.partition(b"=")
        if name.strip() == b"q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def check_request_type(scope: Scope) -> None:
    name = header(scope, b"content-type").partition(b";")[0].strip().lower()
    if name not in REQUEST_TYPES:
        raise RegistryError(415, "HTTP 415 Unsupported Media Type")


class DisconnectedError(Exception):
    """The client has gone before its request was complete."""


async def read_body(scope: Scope, receive: Receive, max_bytes: int, timeout_s: float) -> bytes:
    """Reads the body. Raises RegistryError if it is too large or does not arrive in time."""
    too_large = RegistryError(413, f"The body is larger than {max_bytes} bytes")
    declared = header(scope, b"content-length")
    if declared.isdigit() and int(declared) > max_bytes:
        raise too_large
    chunks: list[bytes] = []
    size_bytes = 0
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise DisconnectedError
                chunk = message.get("body", b"")
                size_bytes += len(chunk)
                if size_bytes > max_bytes:
                    raise too_large
                chunks.append(chunk)
                if not message.get("more_body"):
                    return b"".join(chunks)
    except TimeoutError:
        raise RegistryError(408, "The body did not arrive in time") from None
