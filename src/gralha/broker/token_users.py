"""Delegation tokens as users of SCRAM (KIP-48). The name is a token's id, the password its secret in base64.

The credential of a token follows from its secret, and takes some milliseconds to compute. `run` computes it
in a thread as soon as the token exists, so a login seldom waits for it. An unknown token gets a fake
credential with the salt that it would have, so its login fails like one with a wrong password.
"""

import asyncio
import hmac
from collections.abc import Callable
from functools import partial
from typing import Final

from gralha.metadata.delegation_tokens import USER_TYPE, DelegationTokens, TokenKey, parts_of
from gralha.security.sasl.scram import HASHES, ITERATIONS_MIN, ScramCredential, new_credential, to_base64
from gralha.security.sasl.scram_server import ScramUser

_SALT_BYTES: Final = 16


class TokenUsers:
    """The tokens as users of one mechanism on one listener."""

    def __init__(
        self,
        mechanism: str,
        key: TokenKey,
        secret: bytes,
        tokens: Callable[[], DelegationTokens],
        clock_ms: Callable[[], int],
    ) -> None:
        """`secret` is the one of fake salts."""
        self._mechanism = mechanism
        self._key = key
        self._secret = secret
        self._tokens = tokens
        self._clock_ms = clock_ms
        self._credentials: dict[str, ScramCredential] = {}
        self._wanted = asyncio.Event()

    def find(self, token_id: str) -> ScramUser | None:
        """The owner of a token, if the token is valid."""
        token = self._tokens().get(token_id)
        if token is None or token.is_expired(self._clock_ms()):
            return None
        kind, name = parts_of(token.owner)
        if kind != USER_TYPE:
            # A login makes a user of everybody, and this owner is none.
            return None
        credential = self._credentials.get(token_id)
        if credential is None:
            credential = self._credentials[token_id] = self._new_credential(token_id)
        return ScramUser(name, credential, min(token.expires_ms, token.max_ms))

    def changed(self) -> None:
        """There are new tokens, or some have gone."""
        self._wanted.set()

    async def run(self) -> None:
        """Computes the credentials of new tokens. The owner runs this as a task."""
        loop = asyncio.get_running_loop()
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            tokens = self._tokens()
            for token_id in [one for one in tokens if one not in self._credentials]:
                credential = await loop.run_in_executor(None, partial(self._new_credential, token_id))
                self._credentials[token_id] = credential
            tokens = self._tokens()
            for token_id in [one for one in self._credentials if one not in tokens]:
                del self._credentials[token_id]

    def _new_credential(self, token_id: str) -> ScramCredential:
        password = to_base64(self._key.secret(token_id))
        salt, iterations = fake_of_token(self._secret, self._mechanism, token_id)
        return new_credential(self._mechanism, password, salt, iterations)


def fake_of_token(secret: bytes, mechanism: str, token_id: str) -> tuple[bytes, int]:
    """The salt and the iterations of a token, whether it exists or not."""
    text = f"salt {HASHES[mechanism]} {token_id}"
    return hmac.digest(secret, text.encode(), "sha256")[:_SALT_BYTES], ITERATIONS_MIN
