"""Users of SCRAM on the command line: `SCRAM-SHA-512=[name=alice,password=secret]` and similar values.

No error shows a value, because it may be a password.
"""

import base64
import binascii
import os
from typing import Final, NamedTuple

from gralha.cli.program import CommandError
from gralha.security.sasl.scram import (
    HASHES,
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    MECHANISM_NUMBERS,
    ScramCredential,
    credential_from,
    salted_password,
)

_SALT_BYTES: Final = 24
_KNOWN: Final = ("name", "salt", "iterations", "password", "saltedpassword")


class ScramUser(NamedTuple):
    """A user with a credential for one mechanism."""

    name: str
    mechanism: int
    credential: ScramCredential


def new_salt() -> bytes:
    return base64.b32encode(os.urandom(15))[:_SALT_BYTES].lower()


def parse_new_user(argument: str) -> ScramUser:
    """The user in a value of `kafka-storage format --add-scram`. The messages are Kafka's."""
    mechanism, separator, rest = argument.strip().partition("=")
    if not separator:
        raise CommandError("Failed to find equals sign in SCRAM argument")
    if mechanism not in HASHES:
        raise CommandError(f"The add-scram mechanism {mechanism} is not supported.")
    for has, mark, place in ((rest.startswith("["), "[", "start"), (rest.endswith("]"), "]", "end")):
        if not has:
            raise CommandError(f"Expected configuration string to {place} with {mark}")
    options = _options(rest[1:-1])
    name = options.get("name")
    if name is None:
        raise CommandError("You must supply 'name' to add-scram")
    if not name:
        raise CommandError("The name of a user must not be empty")
    salt = _decoded(options, "salt")
    iterations = _iterations(options.get("iterations"), mechanism)
    salted = _decoded(options, "saltedpassword")
    password = options.get("password")
    if password is None and salted is None:
        raise CommandError("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if password is None and salt is None:
        raise CommandError("You must supply 'salt' with 'saltedpassword' to add-scram")
    unknown = sorted(options.keys() - set(_KNOWN) | ({"saltedpassword"} if password and salted else set()))
    if unknown:
        raise CommandError(f"Unknown SCRAM configurations: {', '.join(unknown)}")
    salt = salt or new_salt()
    if password is not None:
        salted = salted_password(HASHES[mechanism], password, salt, iterations)
    assert salted is not None
    return ScramUser(name, MECHANISM_NUMBERS[mechanism], credential_from(mechanism, salted, salt, iterations))


def _options(text: str) -> dict[str, str]:
    options = {}
    for item in text.split(","):
        name, separator, value = item.partition("=")
        if not separator:
            raise CommandError("No equals sign found in SCRAM component")
        if len(value) >= 2 and value.startswith('"') and value.endswith('"'):
            value = value[1:-1]
        options[name] = value
    return options


def _decoded(options: dict[str, str], name: str) -> bytes | None:
    if name not in options:
        return None
    try:
        return base64.b64decode(options[name], validate=True)
    except (binascii.Error, ValueError):
        raise CommandError(f"Failed to decode given {name}: it is not base64") from None


def _iterations(text: str | None, mechanism: str) -> int:
    if text is None:
        return ITERATIONS_MIN
    if not (text.isascii() and text.isdigit()):
        raise CommandError(f"Failed to parse iterations count: {text}")
    iterations = int(text)
    for wrong, mark, limit in (
        (iterations < ITERATIONS_MIN, ">=", ITERATIONS_MIN),
        (iterations > ITERATIONS_MAX, "<=", ITERATIONS_MAX),
    ):
        if wrong:
            raise CommandError(
                f"The 'iterations' value must be {mark} {limit} for add-scram using "
                f"{mechanism.replace('-', '_')}"
            )
    return iterations
