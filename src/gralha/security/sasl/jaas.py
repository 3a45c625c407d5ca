"""Reads the values of `sasl.jaas.config`, in Java's notation (JAAS):

    org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";

A value names a login module and has options. The node loads no code: it knows the modules of Kafka by name.
No error shows a value, because a value may be a password.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from gralha.security.sasl.exchange import OAUTHBEARER, PLAIN, SCRAM_MECHANISMS

MODULES: Final = {
    "org.apache.kafka.common.security.plain.PlainLoginModule": (PLAIN,),
    "org.apache.kafka.common.security.scram.ScramLoginModule": SCRAM_MECHANISMS,
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule": (OAUTHBEARER,),
}
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<mark>[=;])|(?P<word>[^\s=;"']+))"""
)


class JaasError(ValueError):
    """The value of sasl.jaas.config cannot be used."""


class LoginModule(NamedTuple):
    """A login module and its options."""

    name: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"LoginModule({self.name}, {len(self.options)} options hidden)"


def module_of(mechanism: str) -> str:
    """The name of the login module of a mechanism."""
    return next(name for name, mechanisms in MODULES.items() if mechanism in mechanisms)


def parse_jaas(text: str, mechanism: str) -> LoginModule:
    """The login module in a value for one mechanism. Raises JaasError."""
    words = _words(text)
    if len(words) < 3 or words[-1] != (";", True):
        raise JaasError("it must end with a semicolon, and have a login module, a flag and options before it")
    name = words[0][0]
    if name not in MODULES:
        known = module_of(mechanism)
        raise JaasError(f"the login module is not known. Write {known}")
    if mechanism not in MODULES[name]:
        raise JaasError(f"{name} is not for {mechanism}. Write {module_of(mechanism)}")
    if words[1][0].lower() not in _FLAGS:
        raise JaasError("the flag after the login module is missing. Write: required")
    return LoginModule(name, _options(words[2:-1]))


def _options(words: list[tuple[str, bool]]) -> dict[str, str]:
    options = {}
    for place in range(0, len(words), 3):
        group = words[place : place + 3]
        if len(group) != 3 or group[1] != ("=", True) or group[0][1] or group[2][1]:
            raise JaasError(
                'each option must have the form name="value", and only one login module is allowed'
            )
        options[group[0][0]] = group[2][0]
    return options


def _words(text: str) -> list[tuple[str, bool]]:
    """The words of a value, and whether each is a mark (`=` or `;`)."""
    words = []
    position = 0
    text = text.strip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise JaasError("a quotation mark has no partner")
        position = found.end()
        quoted = found["quoted"]
        if quoted is not None:
            words.append((re.sub(r"\\(.)", r"\1", quoted[1:-1]), False))
        elif found["mark"]:
            words.append((found["mark"], True))
        else:
            words.append((found["word"], False))
    return words
