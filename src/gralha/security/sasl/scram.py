"""SCRAM (RFC 5802, RFC 7677): what both sides share. Keys, messages, and the credentials of a user.

The server keeps only the stored key and the server key of a user. Neither of them is enough to log in.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from gralha.security.sasl.exchange import SCRAM_SHA_256, SCRAM_SHA_512, AuthenticationError

ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16384
# The numbers of the mechanisms in Kafka's records and requests.
MECHANISM_NUMBERS: Final = {SCRAM_SHA_256: 1, SCRAM_SHA_512: 2}
MECHANISM_NAMES: Final = {number: name for name, number in MECHANISM_NUMBERS.items()}
HASHES: Final = {SCRAM_SHA_256: "sha256", SCRAM_SHA_512: "sha512"}

RandomBytes = Callable[[int], bytes]

_NONCE_BYTES: Final = 24
_BASE64: Final = re.compile(r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?")
_PRINTABLE: Final = re.compile(r"[\x21-\x2b\x2d-\x7e]+")
_SASL_NAME: Final = re.compile(r"(?:[^\x00=,]|=2C|=3D)+")
_VALUE: Final = re.compile(r"[^\x00,]+")


class ScramCredential(NamedTuple):
    """What the server knows of a user with one mechanism."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations}, keys hidden)"


def salted_password(hash_name: str, password: str, salt: bytes, iterations: int) -> bytes:
    """The key that takes long to compute. Passwords are UTF-8 without SASLprep, as in Kafka."""
    return hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)


def client_key(hash_name: str, salted: bytes) -> bytes:
    return hmac.digest(salted, b"Client Key", hash_name)


def server_key(hash_name: str, salted: bytes) -> bytes:
    return hmac.digest(salted, b"Server Key", hash_name)


def stored_key(hash_name: str, key: bytes) -> bytes:
    return hashlib.new(hash_name, key).digest()


def credential_from(mechanism: str, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """The credential of a user whose salted password is known."""
    name = HASHES[mechanism]
    stored = stored_key(name, client_key(name, salted))
    return ScramCredential(salt, stored, server_key(name, salted), iterations)


def new_credential(mechanism: str, password: str, salt: bytes, iterations: int) -> ScramCredential:
    """The credential of a user with this password."""
    salted = salted_password(HASHES[mechanism], password, salt, iterations)
    return credential_from(mechanism, salted, salt, iterations)


def exclusive_or(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def new_nonce(random_bytes: RandomBytes) -> str:
    return base64.b64encode(random_bytes(_NONCE_BYTES)).decode()


# Messages


def escaped_name(name: str) -> str:
    """The name as a saslname."""
    return name.replace("=", "=3D").replace(",", "=2C")


def plain_name(name: str) -> str:
    """The name in a saslname. Raises AuthenticationError if an escape is wrong."""
    if not _SASL_NAME.fullmatch(name):
        raise malformed("a name")
    return name.replace("=2C", ",").replace("=3D", "=")


def fields_of(text: str, wanted: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The values of the attributes `wanted` at the beginning of a message, and the extensions after them.

    Raises AuthenticationError if an attribute is missing or in another place. `m` is reserved for extensions
    that the other side must understand, and nobody understands one.
    """
    pairs: list[tuple[str, str]] = []
    for field in text.split(","):
        name, separator, value = field.partition("=")
        if not separator or not (name.isascii() and name.isalpha()) or not _VALUE.fullmatch(value):
            raise malformed("a field")
        if name == "m":
            raise AuthenticationError("the SCRAM message has a mandatory extension")
        pairs.append((name, value))
    if [name for name, _ in pairs[: len(wanted)]] != list(wanted):
        raise malformed("the order of fields")
    return [value for _, value in pairs[: len(wanted)]], pairs[len(wanted) :]


def text_of(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise malformed("the text") from None


def checked_nonce(nonce: str) -> str:
    if not _PRINTABLE.fullmatch(nonce):
        raise malformed("the nonce")
    return nonce


def from_base64(text: str) -> bytes:
    if not _BASE64.fullmatch(text):
        raise malformed("base64")
    return base64.b64decode(text)


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def malformed(what: str) -> AuthenticationError:
    return AuthenticationError(f"the SCRAM message is malformed: {what}")
