"""Who may do what: HTTP's Basic and Bearer authentication, and rights by subject.

Without a method of authentication everybody is `ANONYMOUS`. Without a file of rights everybody who is known
may do everything.
"""

import base64
import binascii
import fnmatch
import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from gralha.registry.errors import RegistryError
from gralha.registry.http.request import Request
from gralha.registry.state import RegistryState
from gralha.registry.subjects import context_prefix

ANONYMOUS: Final = "ANONYMOUS"
OPERATIONS: Final = ("read", "write", "delete", "config", "mode", "all")
# What `visible` looks at: lists of subjects, and of schemas with their subjects.
_LISTS: Final = ("/subjects", "/schemas", "/schemas/ids/{id}/subjects", "/schemas/ids/{id}/versions")


class Right(NamedTuple):
    """What a principal may do with the subjects that a pattern matches."""

    principal: str
    operations: frozenset[str]
    pattern: str

    def allows(self, principal: str, operation: str, subject: str) -> bool:
        return (
            self.principal in (principal, "*")
            and (operation in self.operations or "all" in self.operations)
            and fnmatch.fnmatchcase(subject, self.pattern)
        )


class Access:
    """Checks the credentials and the rights of requests."""

    def __init__(
        self,
        users: dict[str, str] | None = None,
        bearer: Callable[[str], str] | None = None,
        rights: Sequence[Right] | None = None,
    ) -> None:
        self._users = users
        self._bearer = bearer
        self._rights = rights

    @property
    def is_limited(self) -> bool:
        """True if an answer depends on who asks."""
        return self._users is not None or self._bearer is not None or self._rights is not None

    def authenticate(self, authorization: bytes) -> str:
        """The principal. Raises RegistryError if the credential is absent or wrong."""
        if self._users is None and self._bearer is None:
            return ANONYMOUS
        scheme, _, credential = authorization.partition(b" ")
        kind = scheme.lower()
        if kind == b"basic" and self._users is not None:
            return _basic(self._users, credential.strip())
        if kind == b"bearer" and self._bearer is not None:
            return self._bearer(credential.strip().decode("latin-1"))
        raise RegistryError(401, "Unauthorized")

    def check(self, principal: str, operation: str, request: Request, state: RegistryState) -> None:
        """Raises RegistryError if the principal may not make the request."""
        if self._rights is None or not operation:
            return
        if "subject" in request.path:
            # A subject without context may also be found in other contexts.
            names = state.lookup_names(request.path["subject"])
            is_allowed = all(
                self.may(principal, operation, name)
                for place, name in enumerate(names)
                if place == 0 or name in state.subjects
            )
        elif "id" in request.path or "guid" in request.path:
            subjects = _subjects_of(request, state)
            is_allowed = not subjects or any(self.may(principal, operation, one) for one in subjects)
        else:
            # Lists are limited to what the principal may read (`visible`).
            is_allowed = operation == "read" or self.may(principal, operation, "")
        if not is_allowed:
            raise RegistryError(403, "User is denied operation on this server.")

    def may(self, principal: str, operation: str, subject: str) -> bool:
        """Whether the principal has the right. The subject '' is the whole registry."""
        if self._rights is None:
            return True
        return any(right.allows(principal, operation, subject) for right in self._rights)

    def visible(self, principal: str, path: str, answer: Any) -> Any:
        """The part of a list that the principal may read."""
        if self._rights is None or path not in _LISTS or not isinstance(answer, list):
            return answer
        return [one for one in answer if self.may(principal, "read", _subject_of(one))]


def _subjects_of(request: Request, state: RegistryState) -> set[str]:
    """The subjects that have the schema of a request."""
    if "id" in request.path:
        found = state.versions_with_id(request.id, request.optional_text("subject"), deleted=True)
        return {one.subject for one in found or ()}
    return {
        one.subject
        for context, schema_id in state.ids_of_guid(request.path["guid"])
        for one in state.versions_with_id(schema_id, context_prefix(context), deleted=True) or ()
    }


def _subject_of(item: Any) -> str:
    return str(item["subject"] if isinstance(item, dict) else item)


def _basic(users: dict[str, str], credential: bytes) -> str:
    try:
        name, _, password = base64.b64decode(credential, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise RegistryError(401, "Unauthorized") from None
    stored = users.get(name)
    # Compares with something in any case, so that the time does not tell which users exist.
    is_right = _matches(password, stored if stored is not None else "MD5:" + "0" * 32)
    if stored is None or not is_right:
        raise RegistryError(401, "Unauthorized")
    return name


def _matches(password: str, stored: str) -> bool:
    """Compares with a password of Jetty's file: as it is, or with its MD5 sum or our SHA-256 sum."""
    kind, _, value = stored.partition(":")
    given = password.encode()
    if kind == "MD5":
        return hmac.compare_digest(hashlib.md5(given, usedforsecurity=False).hexdigest(), value.lower())
    if kind == "SHA256":
        return hmac.compare_digest(hashlib.sha256(given).hexdigest(), value.lower())
    return hmac.compare_digest(given, stored.encode())


def parse_users(text: str) -> dict[str, str]:
    """The users of a file in the form of Jetty: `name: password,role`. Raises ValueError."""
    users = {}
    for number, line in _lines(text):
        name, colon, rest = line.partition(":")
        password = rest.strip().split(",")[0].strip()
        if not colon or not name.strip() or not password:
            raise ValueError(f"line {number}: write NAME: PASSWORD")
        if password.startswith(("OBF:", "CRYPT:")):
            raise ValueError(
                f"line {number}: OBF and CRYPT are not supported. Use MD5:, SHA256: or plain text"
            )
        users[name.strip()] = password
    return users


def parse_rights(text: str) -> list[Right]:
    """The rights of a file: `principal operation,operation subject-pattern`. Raises ValueError."""
    rights = []
    for number, line in _lines(text):
        parts = line.split()
        if len(parts) not in (2, 3):
            raise ValueError(
                f"line {number}: write PRINCIPAL OPERATIONS SUBJECTS, for example alice read orders-*"
            )
        operations = frozenset(parts[1].split(","))
        unknown = sorted(operations - set(OPERATIONS))
        if unknown:
            raise ValueError(f"line {number}: {unknown[0]} is none of {', '.join(OPERATIONS)}")
        rights.append(Right(parts[0], operations, parts[2] if len(parts) == 3 else ""))
    return rights


def _lines(text: str) -> list[tuple[int, str]]:
    lines = enumerate((line.strip() for line in text.splitlines()), start=1)
    return [(number, line) for number, line in lines if line and not line.startswith("#")]
