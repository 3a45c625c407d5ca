"""SCRAM's answers about users who do not exist: salts and iterations that look like those of real users.

The answer must not show whether a name exists. So it depends on the name and a secret of the cluster: the
same name gets the same answer each time, on each node, and after a restart. Its iterations and the kind of
its salt are those of some real users, as often as real users have them. Each tool has its own kind of salts:

    Apache Kafka's     a number of 130 bits with the digits 0-9a-z
    Gralha's           24 characters of base32
    others             bytes

A change of users may change the kind for a few names, but not the salts of the others (rendezvous hashing).
"""

import base64
import hmac
import math
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from gralha.security.sasl.scram import ITERATIONS_MIN, ScramCredential

DIGITS: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"
BASE32: Final = b"abcdefghijklmnopqrstuvwxyz234567"
BASE32_BYTES: Final = 24
NUMBER_BITS: Final = 130
# Each login of anybody looks at this many kinds, so rare ones are left out.
KINDS_MAX: Final = 8


class Kind(NamedTuple):
    """The part of a credential that everybody can see."""

    iterations: int
    alphabet: bytes  # empty for bytes
    salt_bytes: int


USUAL: Final = Kind(ITERATIONS_MIN, BASE32, BASE32_BYTES)


class ScramFakes:
    """The fakes of one mechanism."""

    def __init__(self, secret: bytes, mechanism: str, credentials: Iterable[ScramCredential]) -> None:
        """`credentials` are those of the real users."""
        self._secret = secret
        self._mechanism = mechanism
        counts = Counter(map(kind_of, credentials))
        self._counts = counts.most_common(KINDS_MAX) or [(USUAL, 1)]

    def salt_and_iterations(self, name: str) -> tuple[bytes, int]:
        """The salt and the iterations that a user with this name would have."""
        kind, _ = max(self._counts, key=lambda counted: self._score(name, *counted))
        return new_salt(kind, self._digest(f"salt {kind.salt_bytes} {name}")), kind.iterations

    def _score(self, name: str, kind: Kind, count: int) -> float:
        """The kind with the highest score is chosen: each one as often as real users have it."""
        number = int.from_bytes(self._digest(f"kind {kind} {name}")[:6])
        return math.log((number + 1) / (1 << 48)) / count

    def _digest(self, text: str) -> bytes:
        return hmac.digest(self._secret, f"{self._mechanism} {text}".encode(), "sha512")


def kind_of(credential: ScramCredential) -> Kind:
    salt = credential.salt
    alphabet = b""
    if len(salt) == BASE32_BYTES and not salt.strip(BASE32):
        alphabet = BASE32
    elif salt and not salt.strip(DIGITS) and salt[:1] != b"0" and int(salt, 36) < 1 << NUMBER_BITS:
        alphabet = DIGITS
    return Kind(credential.iterations, alphabet, len(salt))


def new_salt(kind: Kind, digest: bytes) -> bytes:
    """A salt of this kind."""
    size = kind.salt_bytes
    if kind.alphabet == BASE32:
        return base64.b32encode(digest)[:size].lower()
    if kind.alphabet == DIGITS:
        least, most = 36 ** (size - 1), min(36**size, 1 << NUMBER_BITS)
        return digits_of(least + int.from_bytes(digest) % (most - least))
    longer = digest * (1 + size // len(digest))
    return longer[:size]


def digits_of(number: int) -> bytes:
    found = bytearray()
    while number:
        number, digit = divmod(number, 36)
        found.append(DIGITS[digit])
    return bytes(found[::-1])
