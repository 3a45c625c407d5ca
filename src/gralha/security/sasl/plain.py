"""PLAIN (RFC 4616): a user name and a password in one message. Use it under TLS.

The comparison takes the same time for a wrong password and for an unknown user.
"""

import hashlib
import hmac
from collections.abc import Callable
from typing import Final

from gralha.security.sasl.exchange import AuthenticationError

_REFUSED: Final = "Authentication failed: Invalid username or password"
_OTHER_IDENTITY: Final = (
    "Authentication failed: Client requested an authorization id that is different from username"
)


class PlainServer:
    """`password_of` returns the password of a user, or None for an unknown user."""

    expires_ms: int | None = None
    is_token_authenticated = False

    def __init__(self, password_of: Callable[[str], str | None]) -> None:
        self._password_of = password_of
        self._is_used = False
        self.user = ""

    @property
    def is_done(self) -> bool:
        return bool(self.user)

    def step(self, token: bytes) -> bytes:
        if self._is_used:
            raise AuthenticationError("there is a second PLAIN message")
        self._is_used = True
        try:
            parts = token.decode().split("\0", 3)
        except UnicodeDecodeError:
            raise AuthenticationError("the PLAIN message is not UTF-8") from None
        if len(parts) != 3:
            told = f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}"
            raise AuthenticationError(told, told)
        identity, user, password = parts
        for value, name in ((user, "username"), (password, "password")):
            if not value:
                told = f"Authentication failed: {name} not specified"
                raise AuthenticationError(told, told)
        if not self._is_right(user, password):
            raise AuthenticationError(_REFUSED, _REFUSED)
        if identity not in ("", user):
            raise AuthenticationError(_OTHER_IDENTITY, _OTHER_IDENTITY)
        self.user = user
        return b""

    def _is_right(self, user: str, password: str) -> bool:
        expected = self._password_of(user)
        # Digests have one length, so the time does not depend on the length of the password.
        given = hashlib.sha256(password.encode()).digest()
        wanted = hashlib.sha256((expected or "").encode()).digest()
        return hmac.compare_digest(given, wanted) and expected is not None


class PlainClient:
    """Sends the name and the password."""

    def __init__(self, user: str, password: str) -> None:
        if "\0" in user or "\0" in password:
            raise AuthenticationError("a user name and a password of PLAIN cannot contain a zero character")
        self._user = user
        self._password = password

    def first(self) -> bytes:
        return f"\0{self._user}\0{self._password}".encode()

    def step(self, challenge: bytes) -> bytes | None:
        if challenge:
            raise AuthenticationError("the broker asks for more than PLAIN has")
        return None
