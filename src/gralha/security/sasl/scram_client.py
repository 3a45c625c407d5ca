"""The client's side of SCRAM. It also checks that the server knows the user's keys."""

import hmac

from gralha.security.sasl import scram
from gralha.security.sasl.exchange import AuthenticationError
from gralha.security.sasl.scram import ITERATIONS_MIN, RandomBytes
from gralha.security.sasl.scram_server import TOKEN_EXTENSION

# A server may demand more work of a client than Kafka allows, but not so much that the client stands still.
ITERATIONS_BEARABLE = 10_000_000
_HEADER = "n,,"


class ScramClient:
    """One exchange."""

    def __init__(
        self,
        mechanism: str,
        user: str,
        password: str,
        random_bytes: RandomBytes,
        *,
        with_token: bool = False,
        iterations_max: int = ITERATIONS_BEARABLE,
    ) -> None:
        self._iterations_max = iterations_max
        self._hash = scram.HASHES[mechanism]
        self._password = password
        self._nonce = scram.new_nonce(random_bytes)
        extension = f",{TOKEN_EXTENSION}=true" if with_token else ""
        self._bare = f"n={scram.escaped_name(user)},r={self._nonce}{extension}"
        self._signature: bytes | None = None
        self._is_over = False

    def first(self) -> bytes:
        return (_HEADER + self._bare).encode()

    def step(self, challenge: bytes) -> bytes | None:
        if self._is_over:
            raise AuthenticationError("the SCRAM exchange is over")
        text = scram.text_of(challenge)
        if self._signature is None:
            return self._prove(text)
        self._is_over = True
        self._check_signature(self._signature, text)
        return None

    def _prove(self, text: str) -> bytes:
        self._is_over = True  # unless this step succeeds
        (nonce, salt_text, count), _ = scram.fields_of(text, "rsi")
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise AuthenticationError("the broker has answered with another nonce")
        scram.checked_nonce(nonce)
        if not (count.isascii() and count.isdigit() and len(count) <= 9):
            raise scram.malformed("the iterations")
        iterations = int(count)
        if not ITERATIONS_MIN <= iterations <= self._iterations_max:
            raise AuthenticationError(
                f"the broker asks for {iterations} iterations of SCRAM, not for {ITERATIONS_MIN} to "
                f"{self._iterations_max}"
            )
        salt = scram.from_base64(salt_text)
        salted = scram.salted_password(self._hash, self._password, salt, iterations)
        bare = f"c={scram.to_base64(_HEADER.encode())},r={nonce}"
        signed = f"{self._bare},{text},{bare}".encode()
        key = scram.client_key(self._hash, salted)
        proof = scram.exclusive_or(key, hmac.digest(scram.stored_key(self._hash, key), signed, self._hash))
        self._signature = hmac.digest(scram.server_key(self._hash, salted), signed, self._hash)
        self._is_over = False
        return f"{bare},p={scram.to_base64(proof)}".encode()

    def _check_signature(self, expected: bytes, text: str) -> None:
        if text.startswith("e="):
            raise AuthenticationError(f"the broker has refused the proof: {text[2:].split(',')[0]}")
        (signature,), _ = scram.fields_of(text, "v")
        if not hmac.compare_digest(scram.from_base64(signature), expected):
            raise AuthenticationError(
                "the broker does not know the keys of the user: it may be a false broker"
            )
