"""OAUTHBEARER (RFC 7628): the client shows a token, which the server validates (`tokens.py`).

    client first    n,,^Aauth=Bearer <token>^Aname=value^A^A    -> an empty answer, or an error as JSON
    after an error  ^A                                          -> the exchange fails

^A is the byte 1. `name=value` are extensions (KIP-342). No extension has a meaning for Gralha.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from gralha.security.sasl.exchange import AuthenticationError

_SEPARATOR: Final = "\x01"
_NAME: Final = re.compile(r"[A-Za-z]+")
_VALUE: Final = re.compile(r"[\x21-\x7e \t\r\n]+")
_IDENTITY: Final = re.compile(r"a=((?:[^\x00=,]|=2C|=3D)+)")
_BEARER: Final = re.compile(r"([A-Za-z0-9_]+) +([-_~+/.a-zA-Z0-9]+=*)")


class ValidToken(NamedTuple):
    """A token that the server accepts."""

    user: str
    expires_ms: int
    scope: frozenset[str] = frozenset()


class InvalidTokenError(Exception):
    """The server does not accept the token. The message is for the log and has no part of the token."""


class OAuthBearerServer:
    """`validate` returns what the token says, or raises InvalidTokenError."""

    is_token_authenticated = False

    def __init__(self, validate: Callable[[str], ValidToken]) -> None:
        self._validate = validate
        self._refused: tuple[str, str] | None = None  # why, and what the client was told
        self._is_used = False
        self.is_done = False
        self.user = ""
        self.expires_ms: int | None = None

    def step(self, token: bytes) -> bytes:
        if self._refused is not None:
            raise AuthenticationError(*self._refused)
        if self._is_used:
            raise AuthenticationError("there is a second OAUTHBEARER message")
        self._is_used = True
        identity, bearer = _parse(token)
        try:
            valid = self._validate(bearer)
        except InvalidTokenError as error:
            told = json.dumps({"status": "invalid_token"}, separators=(",", ":"))
            self._refused = (str(error), told)
            return told.encode()
        if identity not in ("", valid.user):
            told = (
                f"Authentication failed: Client requested an authorization id ({identity}) that is "
                f"different from the token's principal name ({valid.user})"
            )
            raise AuthenticationError(told, told)
        self.user, self.expires_ms = valid.user, valid.expires_ms
        self.is_done = True
        return b""


def _parse(message: bytes) -> tuple[str, str]:
    """The authorization identity and the token. Raises AuthenticationError."""
    try:
        text = message.decode()
    except UnicodeDecodeError:
        raise _malformed("it is not UTF-8") from None
    header, separator, rest = text.partition(_SEPARATOR)
    if not separator or not header.startswith("n,") or not header.endswith(",") or len(header) < 3:
        raise _malformed("the beginning is not n,,")
    identity = _identity(header[2:-1])
    if not rest.endswith(2 * _SEPARATOR):
        raise _malformed("the end is missing")
    values: dict[str, str] = {}
    for pair in rest[:-2].split(_SEPARATOR):
        name, separator, value = pair.partition("=")
        if not separator or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value) or name in values:
            raise _malformed("an extension")
        values[name] = value
    bearer = _BEARER.fullmatch(values.get("auth", ""))
    if bearer is None or bearer[1].lower() != "bearer":
        raise _malformed("there is no bearer token")
    return identity, bearer[2]


def _identity(text: str) -> str:
    if not text:
        return ""
    found = _IDENTITY.fullmatch(text)
    if found is None:
        raise _malformed("the authorization identity")
    return found[1].replace("=2C", ",").replace("=3D", "=")


def _malformed(why: str) -> AuthenticationError:
    return AuthenticationError(f"the OAUTHBEARER message is malformed: {why}")


class OAuthBearerClient:
    """Shows a token."""

    def __init__(self, token: str, extensions: Mapping[str, str] | None = None) -> None:
        for name, value in (extensions or {}).items():
            if name == "auth" or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
                raise AuthenticationError(f"the extension {name} is not allowed")
        if not _BEARER.fullmatch(f"Bearer {token}"):
            raise AuthenticationError("the token is not a bearer token")
        self._token = token
        self._extensions = dict(extensions or {})
        self._has_failed = False

    def first(self) -> bytes:
        pairs = {"auth": f"Bearer {self._token}", **self._extensions}
        return (
            f"n,,{_SEPARATOR}" + "".join(f"{name}={value}{_SEPARATOR}" for name, value in pairs.items())
        ).encode() + _SEPARATOR.encode()

    def step(self, challenge: bytes) -> bytes | None:
        if self._has_failed:
            raise AuthenticationError("the broker does not accept the token")
        if not challenge:
            return None
        # The answer to an error is this byte. Then the broker ends the exchange.
        self._has_failed = True
        return _SEPARATOR.encode()
