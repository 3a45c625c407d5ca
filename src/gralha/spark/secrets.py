"""Secrets by reference: an option says where a secret is, and only the process that connects reads it.

    ${env:NAME}           an environment variable
    ${file:/path}         the content of a file without its last line break, as Kubernetes mounts secrets
    ${file:/path:name}    one name of a properties file, as Kafka's FileConfigProvider reads it

A value may have several references, also inside longer text. Spark plans, logs and stores the reference.
`resolve` replaces it on the worker, or in the driver's process, right before the connection is made. So the
secret must exist there: in the environment of the executors, or in a file on their machines.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gralha.client.errors import ClientError, SettingsError
from gralha.client.settings import ClientSettings

REFERENCE: Final = re.compile(r"\$\{(?P<provider>[^}:$]*):(?P<place>[^}]*)\}")
PROVIDERS: Final = "${env:NAME}, ${file:/path} or ${file:/path:name}"
SIZE_LIMIT_BYTES: Final = 1_000_000
# The names of settings that are secrets have one of these.
_SECRET_PARTS: Final = ("jaas", "key.pem", "keystore.key", "password", "secret")


class SecretError(ClientError):
    """A reference cannot be resolved. The message has the option and the reference, never a value."""


def resolve(options: Mapping[str, str]) -> dict[str, str]:
    """The options with their references replaced by the secrets."""
    return {name: _resolved(name, value) for name, value in options.items()}


def client_settings(kafka: Mapping[str, str]) -> ClientSettings:
    """The client's settings with their secrets. Errors do not show secrets."""
    resolved = resolve(kafka)
    try:
        return ClientSettings.from_kafka(resolved)
    except SettingsError as error:
        text = str(error)
        for name, value in kafka.items():
            if has_reference(value) and resolved[name].strip():
                text = _replaced(text, resolved[name].strip(), value)
        # Without the original error, which would show the secret in the traceback.
        raise SettingsError(text) from None


def has_reference(value: str) -> bool:
    """Returns True if the value has a reference to a secret."""
    return REFERENCE.search(value) is not None


def is_secret(name: str) -> bool:
    """Returns True if the value of this setting of a client is a secret."""
    return any(part in name for part in _SECRET_PARTS)


def refer_to_file(settings: Mapping[str, str], path: str) -> dict[str, str]:
    """The settings of a properties file with references to that file in place of its secrets.

    So Spark never gets the secrets. A secret that a reference cannot express stays as it is.
    """
    referring = dict(settings)
    for name, value in settings.items():
        if is_secret(name) and not has_reference(value):
            reference = f"${{file:{Path(path).resolve()}:{name}}}"
            try:
                if _resolved(name, reference) == value:
                    referring[name] = reference
            except SecretError:
                continue
    return referring


def without_references(options: Mapping[str, str]) -> dict[str, str]:
    """The options that have no references, so that they can be checked."""
    return {name: value for name, value in options.items() if not has_reference(value)}


def _replaced(text: str, secret: str, reference: str) -> str:
    return re.sub(re.escape(secret), lambda _: reference, text, flags=re.IGNORECASE)


def _resolved(option: str, value: str) -> str:
    return REFERENCE.sub(lambda found: _secret(option, found), value)


def _secret(option: str, found: re.Match[str]) -> str:
    """The secret of one reference."""
    provider, place = found["provider"], found["place"]
    where = f"Option '{option}' refers to {found[0]}, but"
    if provider == "env":
        if place not in os.environ:
            raise SecretError(
                f"{where} the environment of this process has no variable {place}: set it where Spark's "
                "driver and workers are started"
            )
        return os.environ[place]
    if provider == "file":
        return _from_file(where, place)
    raise SecretError(f"{where} '{provider}' is unknown: write {PROVIDERS}")


def _from_file(where: str, place: str) -> str:
    """The text of a file, or one name of it. A colon may be part of the path if such a file exists."""
    path, separator, name = place.rpartition(":")
    if not separator or Path(place).exists():
        return _text(where, place).rstrip("\r\n")
    values = _properties(_text(where, path))
    if name not in values:
        raise SecretError(f"{where} the file {path} has no line '{name}=...'")
    return values[name]


def _text(where: str, path: str) -> str:
    if not Path(path).is_absolute():
        raise SecretError(
            f"{where} {path or 'an empty path'} is not an absolute path: workers run in other folders"
        )
    try:
        with Path(path).open("rb") as file:
            data = file.read(SIZE_LIMIT_BYTES + 1)
        if len(data) > SIZE_LIMIT_BYTES:
            raise SecretError(
                f"{where} the file {path} is larger than {SIZE_LIMIT_BYTES} bytes, too large for a secret"
            )
        return data.decode()
    except OSError as error:
        raise SecretError(f"{where} the file {path} cannot be read here: {error.strerror}") from None
    except UnicodeDecodeError:
        # The decoder's own message would show bytes of the secret.
        raise SecretError(f"{where} the file {path} is not UTF-8 text") from None


def _properties(text: str) -> dict[str, str]:
    r"""Names and values of a properties file: `name=value` or `name: value`, comments by # or !.

    A backslash makes the next character literal (`\=`, `\\`) and continues a line at its end.
    """
    values = {}
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*", r"\1", text)
    for line in re.split(r"\r\n|\r|\n", joined):
        stripped = line.strip(" \t\f")
        if stripped and stripped[0] not in "#!":
            found = re.match(r"((?:\\.|[^\\=: \t])*)[ \t]*[=:]?[ \t]*(.*)", stripped)
            assert found is not None  # Every part of the pattern may be empty.
            values[_unescaped(found[1])] = _unescaped(found[2])
    return values


def _unescaped(text: str) -> str:
    escapes = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
    return re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|(.))",
        lambda found: chr(int(found[1], 16)) if found[1] else escapes.get(found[2], found[2]),
        text,
    )
