"""A request as handlers see it: its path, its query and its body, with Confluent's conventions."""

from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs, unquote

import msgspec

from gralha.registry import errors
from gralha.registry.errors import RegistryError
from gralha.registry.forwarding import Forwarded
from gralha.registry.state import LATEST
from gralha.registry.subjects import has_context, is_default, normalized, prefix_of_path

Body = TypeVar("Body")
_INT32_MAX = (1 << 31) - 1


class Request(NamedTuple):
    """A request whose route is known."""

    method: str
    path: dict[str, str]
    query: dict[str, list[str]]
    body: bytes
    forwarded: Forwarded

    def flag(self, name: str) -> bool:
        """A boolean of the query. Everything but `true` is false."""
        return self.text(name).lower() == "true"

    def text(self, name: str, default: str = "") -> str:
        return self.query.get(name, [default])[0]

    def optional_text(self, name: str) -> str | None:
        return self.query[name][0] if name in self.query else None

    def number(self, name: str, default: int) -> int:
        return default if name not in self.query else _int32(self.query[name][0])

    @property
    def subject(self) -> str:
        return self.path["subject"]

    @property
    def subject_or_none(self) -> str | None:
        """The subject, or None for the whole registry."""
        subject = self.path.get("subject")
        return None if subject is None or is_default(subject) else subject

    @property
    def id(self) -> int:
        return _int32(self.path["id"])

    @property
    def version(self) -> int:
        """The version of the path: a number, or LATEST."""
        text = self.path["version"].strip()
        if text.lower() == "latest":
            return LATEST
        try:
            version = int(text) if text.isascii() else 0
        except ValueError:
            raise errors.invalid_version(self.path["version"]) from None
        if version != LATEST and not 0 < version <= _INT32_MAX:
            raise errors.invalid_version(text)
        return version

    def page(self, items: list[Any], highest: int = _INT32_MAX) -> list[Any]:
        """The items that `offset` and `limit` choose."""
        offset, limit = self.number("offset", 0), self.number("limit", -1)
        if offset < 0:
            raise RegistryError(400, "The offset must not be negative")
        limit = limit if 0 < limit <= highest else highest
        return items[offset : offset + limit]

    def decoded(self, body_type: type[Body]) -> Body:
        """The body. Raises RegistryError if it is not JSON, or of another type."""
        if not self.body:
            raise RegistryError(422, "The request has no body")
        try:
            raw = msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RegistryError(400, f"The body is not JSON: {error}") from None
        except RecursionError:
            raise RegistryError(400, "The JSON is nested too deeply") from None
        if raw is None:
            raise RegistryError(422, "The request has no body")
        try:
            return msgspec.convert(raw, body_type, strict=False)
        except (msgspec.ValidationError, ValueError, OverflowError) as error:
            raise RegistryError(400, f"The body is not as expected: {error}") from None


def _int32(text: str) -> int:
    try:
        number = int(text) if text.isascii() and "_" not in text else None
    except ValueError:
        number = None
    if number is None or not -_INT32_MAX - 1 <= number <= _INT32_MAX:
        raise RegistryError(404, "HTTP 404 Not Found")
    return number


def parse_query(query: bytes) -> dict[str, list[str]]:
    return parse_qs(query.decode("latin-1"), keep_blank_values=True, max_num_fields=100)


def split_path(raw_path: bytes) -> list[str]:
    """The parts of a path. A subject may have a slash in it, as %2F."""
    parts = [unquote(part, errors="replace") for part in raw_path.decode("latin-1").split("/")]
    return [part for part in parts if part]


def without_context(parts: list[str], query: dict[str, list[str]]) -> list[str]:
    """The path without its context: `/contexts/.sales/subjects/a` is `/subjects/:.sales:a`.

    Changes the query, too. Raises RegistryError if the context's name is impossible.
    """
    if len(parts) < 3 or parts[0] != "contexts":
        return parts
    try:
        prefix = prefix_of_path(parts[1])
    except ValueError as error:
        raise RegistryError(400, str(error)) from None
    rest = parts[2:]
    first = rest[0]
    place = 0 if first in ("config", "mode") else rest.index("subjects") if "subjects" in rest else -1
    if 0 <= place < len(rest) - 1:
        rest[place + 1] = _with_prefix(prefix, rest[place + 1])
    elif first in ("config", "mode") and prefix:
        rest.append(prefix)
    if rest[:2] == ["schemas", "ids"]:
        query["subject"] = [_with_prefix(prefix, query.get("subject", [""])[0])]
    elif rest in (["schemas"], ["subjects"]):
        query["subjectPrefix"] = [_with_prefix(prefix, query.get("subjectPrefix", [""])[0])]
    return rest


def _with_prefix(prefix: str, subject: str) -> str:
    return subject if has_context(subject) else prefix + subject


def normal_subject(subject: str) -> str:
    return normalized(subject)
