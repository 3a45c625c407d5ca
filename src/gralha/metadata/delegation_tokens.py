"""Delegation tokens in the metadata (KIP-48): programs log in with them in the name of their owner.

A token has an id, which everybody may know, and a secret: HMAC-SHA512 of the id, with the key of the cluster
(`delegation.token.secret.key`). The metadata log has no secrets. Each node with the key computes them.
"""

import hmac
from collections.abc import Mapping
from typing import Final, NamedTuple

from gralha.protocol.messages.security_records import DelegationTokenRecord

SECRET_KEY: Final = "delegation.token.secret.key"
USER_TYPE: Final = "User"
TIMESTAMP_MAX: Final = 2**63 - 1


class DelegationToken(NamedTuple):
    """A token. Principals have the form `User:alice`, and times are in milliseconds."""

    id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    max_ms: int  # nobody can renew the token beyond this time
    expires_ms: int

    def is_expired(self, now_ms: int) -> bool:
        """Returns True if the token is not valid any more."""
        return self.expires_ms < now_ms or self.max_ms < now_ms

    def concerns(self, principal: str) -> bool:
        """Returns True if a principal owns the token, may renew it, or has asked for it."""
        return principal in (self.owner, self.requester) or principal in self.renewers


DelegationTokens = Mapping[str, DelegationToken]


class TokenKey:
    """The key of all secrets. Finds tokens by their secrets, too."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()
        self._tokens: DelegationTokens = {}  # those that `_ids` has
        self._ids: dict[bytes, str] = {}

    def __repr__(self) -> str:
        return "TokenKey(hidden)"

    def secret(self, token_id: str) -> bytes:
        """The secret of a token, which Kafka calls its HMAC."""
        return hmac.digest(self._key, token_id.encode(), "sha512")

    def find(self, tokens: DelegationTokens, secret: bytes) -> DelegationToken | None:
        """The token with a secret."""
        if tokens is not self._tokens:
            new = tokens.keys() - self._tokens.keys()
            self._tokens = tokens
            self._ids.update((self.secret(token_id), token_id) for token_id in new)
            if len(self._ids) > len(tokens):
                self._ids = {one: token_id for one, token_id in self._ids.items() if token_id in tokens}
        token_id = self._ids.get(secret)
        return None if token_id is None else tokens.get(token_id)


def token_key(text: str | None) -> TokenKey | None:
    """The key in the text of the setting, without spaces around it, as in Java. None if there is none."""
    stripped = (text or "").strip()
    return TokenKey(stripped) if stripped else None


def token_record(token: DelegationToken) -> DelegationTokenRecord:
    """The record that creates or replaces a token."""
    return DelegationTokenRecord(
        owner=token.owner,
        requester=token.requester,
        renewers=list(token.renewers),
        issue_timestamp=token.issued_ms,
        max_timestamp=token.max_ms,
        expiration_timestamp=token.expires_ms,
        token_id=token.id,
    )


def token_from(record: DelegationTokenRecord) -> DelegationToken:
    """The token of a record."""
    return DelegationToken(
        record.token_id,
        record.owner,
        record.requester,
        tuple(record.renewers),
        record.issue_timestamp,
        record.max_timestamp,
        record.expiration_timestamp,
    )


def parts_of(principal: str) -> tuple[str, str]:
    """The type and the name of a principal."""
    kind, _, name = principal.partition(":")
    return kind, name
