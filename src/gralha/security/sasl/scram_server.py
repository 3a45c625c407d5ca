"""The server's side of SCRAM.

    client first    n,,n=user,r=nonce               -> r=nonce+ours,s=salt,i=iterations
    client final    c=biws,r=nonce+ours,p=proof     -> v=signature

An unknown user gets a salt and iterations, too (`scram_fakes.py`). The exchange then fails at the proof,
after the same work, exactly as with a wrong password.
"""

import contextlib
import hashlib
import hmac
from collections.abc import Callable
from typing import Final, NamedTuple

from gralha.security.sasl import scram
from gralha.security.sasl.exchange import AuthenticationError
from gralha.security.sasl.saslprep import saslprep
from gralha.security.sasl.scram import RandomBytes, ScramCredential

TOKEN_EXTENSION: Final = "tokenauth"  # KIP-48: the name is the id of a delegation token
_OTHER_IDENTITY: Final = (
    "Authentication failed: Client requested an authorization id that is different from username"
)


class ScramUser(NamedTuple):
    """A user who may log in. With a delegation token, `user` is its owner."""

    user: str
    credential: ScramCredential
    expires_ms: int | None = None


class ScramUsers(NamedTuple):
    """Where the server looks for users of one mechanism. None means that there is no such user."""

    by_name: Callable[[str], ScramUser | None]
    by_token_id: Callable[[str], ScramUser | None]
    # The salt and the iterations for a name that no user has, and for an id that no token has.
    fake: Callable[[str], tuple[bytes, int]]
    fake_of_token: Callable[[str], tuple[bytes, int]]


class _First(NamedTuple):
    """What the server remembers between the two messages."""

    header: str  # the GS2 header, which the client repeats
    nonce: str
    messages: str  # both first messages, as they are signed
    user: ScramUser
    is_known: bool
    identity_is_wrong: bool


class ScramServer:
    """One exchange."""

    def __init__(self, mechanism: str, users: ScramUsers, random_bytes: RandomBytes) -> None:
        self._hash = scram.HASHES[mechanism]
        self._users = users
        self._random_bytes = random_bytes
        self._first: _First | None = None
        self._is_over = False
        self.is_done = False
        self.is_token_authenticated = False
        self.user = ""
        self.expires_ms: int | None = None

    def step(self, token: bytes) -> bytes:
        if self._is_over:
            raise AuthenticationError("the SCRAM exchange is over")
        first = self._first
        self._first = None
        self._is_over = True  # unless this step succeeds
        text = scram.text_of(token)
        if first is not None:
            return self._finish(first, text)
        answer = self._begin(text)
        self._is_over = False
        return answer

    def _begin(self, text: str) -> bytes:
        binding, identity, bare = _split_header(text)
        (sasl_name, client_nonce), extensions = scram.fields_of(bare, "nr")
        name = scram.plain_name(sasl_name)
        scram.checked_nonce(client_nonce)
        self.is_token_authenticated = dict(extensions).get(TOKEN_EXTENSION, "").lower() == "true"
        found = self._find(name)
        # The fake credential is made for known users, too, so that both take the same time.
        fake = ScramUser(name, self._fake(name))
        user = found or fake
        nonce = client_nonce + scram.new_nonce(self._random_bytes)
        credential = user.credential
        answer = f"r={nonce},s={scram.to_base64(credential.salt)},i={credential.iterations}"
        header = f"{binding},{'a=' + identity if identity else ''},"
        self._first = _First(
            header,
            nonce,
            f"{bare},{answer}",
            user,
            found is not None,
            bool(identity) and scram.plain_name(identity) != name,
        )
        return answer.encode()

    def _find(self, name: str) -> ScramUser | None:
        """The user with this name, exactly or as SASLprep writes it."""
        look_up = self._users.by_token_id if self.is_token_authenticated else self._users.by_name
        try:
            prepared = saslprep(name)
        except ValueError:
            return None
        return look_up(name) or look_up(prepared)

    def _fake(self, name: str) -> ScramCredential:
        with contextlib.suppress(ValueError):  # no user has such a name
            # All spellings of the name of a user get the same salt.
            name = saslprep(name)
        users = self._users
        salt, iterations = (users.fake_of_token if self.is_token_authenticated else users.fake)(name)
        size = hashlib.new(self._hash).digest_size
        key = self._random_bytes(size)
        return ScramCredential(salt, key, key, iterations)

    def _finish(self, first: _First, text: str) -> bytes:
        bare, separator, proof_text = text.rpartition(",p=")
        if not separator:
            raise scram.malformed("there is no proof")
        (binding, nonce), _ = scram.fields_of(bare, "cr")
        proof = scram.from_base64(proof_text)
        # librdkafka before 2.2 writes its own nonce a second time before the whole one. Kafka accepts that.
        # It is safe: the end is this exchange's nonce, and the proof signs all of it.
        if not nonce.endswith(first.nonce):
            raise AuthenticationError("the nonce in the client's final SCRAM message is another one")
        if scram.from_base64(binding) != first.header.encode():
            raise AuthenticationError(
                "the channel binding in the client's final SCRAM message is another one"
            )
        credential = first.user.credential
        signed = f"{first.messages},{bare}".encode()
        signature = hmac.digest(credential.stored_key, signed, self._hash)
        if len(proof) != len(signature):
            raise scram.malformed("the length of the proof")
        key = scram.stored_key(self._hash, scram.exclusive_or(signature, proof))
        is_right = hmac.compare_digest(key, credential.stored_key)
        answer = b"v=" + scram.to_base64(hmac.digest(credential.server_key, signed, self._hash)).encode()
        if not is_right or not first.is_known:
            raise AuthenticationError("wrong password, or no such user")
        if first.identity_is_wrong:
            raise AuthenticationError(_OTHER_IDENTITY, _OTHER_IDENTITY)
        self.user = first.user.user
        self.expires_ms = first.user.expires_ms
        self.is_done = True
        return answer


def _split_header(text: str) -> tuple[str, str, str]:
    """The channel binding flag, the authorization identity, and the rest of the client's first message."""
    parts = text.split(",", 2)
    if len(parts) != 3:
        raise scram.malformed("the beginning")
    binding, identity, bare = parts
    if binding.startswith("p="):
        raise AuthenticationError("the client asks for channel binding, which no broker of Kafka offers")
    if binding not in ("n", "y"):
        raise scram.malformed("the channel binding flag")
    if identity and not identity.startswith("a="):
        raise scram.malformed("the authorization identity")
    if identity:
        scram.plain_name(identity[2:])
    return binding, identity[2:], bare
