"""The API as a raw ASGI application.

Answers to GET requests are kept as bytes until the state changes, because clients ask for the same ids again
and again.
"""

import inspect
import logging
from typing import Any, Final
from urllib.parse import quote

from gralha.registry.errors import RegistryError, invalid_schema
from gralha.registry.forwarding import FORWARDED_HEADERS, X_FORWARD, Answer, Forwarded
from gralha.registry.http.access import Access
from gralha.registry.http.documents import DOCUMENTS
from gralha.registry.http.reads import Text
from gralha.registry.http.request import Request, normal_subject, parse_query, split_path, without_context
from gralha.registry.http.routes import Found, Route, find
from gralha.registry.http.wire import (
    DisconnectedError,
    Receive,
    Response,
    Scope,
    Send,
    answer_type,
    check_request_type,
    encode,
    error_response,
    header,
    read_body,
)
from gralha.registry.schemas import InvalidSchemaError
from gralha.registry.service import Service

_KEPT_ANSWERS: Final = 4096
_KEPT_ANSWER_BYTES: Final = 64 << 10
_log: Final = logging.getLogger(__name__)


class Application:
    """One instance's API."""

    def __init__(
        self, service: Service, access: Access, *, max_body_bytes: int, body_timeout_ms: int
    ) -> None:
        self._service = service
        self._access = access
        self._max_body_bytes = max_body_bytes
        self._body_timeout_s = body_timeout_ms / 1000
        self._kept: dict[tuple[bytes, bytes, bytes], Response] = {}
        self._kept_changes = -1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        if scope["type"] != "http":
            return
        try:
            response = self._kept_answer(scope) or await self._respond(scope, receive)
        except DisconnectedError:
            return
        await response.send(send)

    def _kept_answer(self, scope: Scope) -> Response | None:
        if scope["method"] != "GET" or self._access.is_limited:
            return None
        if self._kept_changes != self._service.state.changes:
            self._kept.clear()
            self._kept_changes = self._service.state.changes
            return None
        return self._kept.get(_key(scope))

    async def _respond(self, scope: Scope, receive: Receive) -> Response:
        content_type = b"application/json"
        try:
            principal = self._access.authenticate(header(scope, b"authorization"))
            document = DOCUMENTS.get(scope["path"])
            if document is not None and scope["method"] in ("GET", "HEAD"):
                return document()
            content_type = answer_type(scope)
            return await self._handle(scope, receive, content_type, principal)
        except RegistryError as error:
            return error_response(error, content_type)
        except InvalidSchemaError as error:
            # Some mistakes show only when a schema is written in another form.
            return error_response(invalid_schema(f"Invalid schema, details: {error}"), content_type)
        except (DisconnectedError, AssertionError):
            raise
        except Exception:
            _log.exception("A request failed: %s %s", scope["method"], scope["path"])
            return error_response(RegistryError(500, "Internal Server Error"), content_type)

    async def _handle(self, scope: Scope, receive: Receive, content_type: bytes, principal: str) -> Response:
        query = parse_query(scope["query_string"])
        found = find(self._rewritten(split_path(scope["raw_path"]), query))
        if found is None:
            raise RegistryError(404, "HTTP 404 Not Found")
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        route = found.methods.get(method)
        if route is None:
            return _not_allowed(found, method, content_type)
        body = b""
        if route.body is not None:
            check_request_type(scope)
        if method != "GET":
            body = await read_body(scope, receive, self._max_body_bytes, self._body_timeout_s)
        changes = self._service.state.changes
        request = Request(method, _normal(found.parameters), query, body, _forwarded(scope, body))
        self._access.check(principal, route.right, request, self._service.state)
        answer = route.handler(self._service, request)
        if inspect.isawaitable(answer):
            answer = await answer
        answer = self._access.visible(principal, route.path, answer)
        response = _response(answer, content_type)
        if method == "GET":
            self._keep(scope, route, response, changes)
        return response

    def _rewritten(self, parts: list[str], query: dict[str, list[str]]) -> list[str]:
        """The path with the context in the subject, and the subject that an alias stands for."""
        parts = without_context(parts, query)
        if "subjects" in parts[:-1]:
            place = parts.index("subjects") + 1
            parts[place] = self._service.alias(normal_subject(parts[place]))
        if parts[:2] == ["schemas", "ids"] and query.get("subject", [""])[0]:
            query["subject"] = [self._service.alias(normal_subject(query["subject"][0]))]
        return parts

    def _keep(self, scope: Scope, route: Route, response: Response, changes: int) -> None:
        if response.status != 200 or len(response.body) > _KEPT_ANSWER_BYTES or self._access.is_limited:
            return
        if changes == self._kept_changes and len(self._kept) < _KEPT_ANSWERS:
            self._kept[_key(scope)] = response


def _key(scope: Scope) -> tuple[bytes, bytes, bytes]:
    return scope["raw_path"], scope["query_string"], header(scope, b"accept")


def _normal(parameters: dict[str, str]) -> dict[str, str]:
    if "subject" in parameters:
        parameters["subject"] = normal_subject(parameters["subject"])
    return parameters


def _forwarded(scope: Scope, body: bytes) -> Forwarded:
    headers = tuple((name, value) for name, value in scope["headers"] if name in FORWARDED_HEADERS)
    query = scope["query_string"]
    target = quote(scope["raw_path"], safe="/%:~!$&'()*+,;=@") + (
        "?" + query.decode("latin-1") if query else ""
    )
    return Forwarded(scope["method"], target, headers, body, bool(header(scope, X_FORWARD)))


def _response(answer: Any, content_type: bytes) -> Response:
    if isinstance(answer, Answer):
        return Response(answer.status, answer.body, content_type)
    if isinstance(answer, Text):
        return Response(200, answer.encode("utf-8", "replace"), content_type)
    return Response(200, encode(answer), content_type)


def _not_allowed(found: Found, method: str, content_type: bytes) -> Response:
    allowed = ", ".join(sorted({*found.methods, "OPTIONS"})).encode()
    if method == "OPTIONS":
        return Response(200, b"", content_type, ((b"allow", allowed),))
    refused = error_response(RegistryError(405, "HTTP 405 Method Not Allowed"), content_type)
    return refused._replace(headers=((b"allow", allowed),))
