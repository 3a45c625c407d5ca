"""Properties of commands: Java's properties files, and `name=value` arguments."""

import sys
from collections.abc import Collection, Iterable

from gralha.cli.program import CommandError
from gralha.cli.text_file import read_text
from gralha.protocol.properties import parse_properties


def load_properties(path: str) -> dict[str, str]:
    """The properties of a file. Raises CommandError if it cannot be read."""
    text = read_text(path, "the properties file")
    try:
        return {entry.name: entry.value for entry in parse_properties(text)}
    except ValueError as error:
        raise CommandError(f"Cannot read the properties file {path}: {error}") from None


def parse_assignments(arguments: Iterable[str]) -> dict[str, str]:
    """The properties in `name=value` arguments. A missing value is the empty string, as in Kafka."""
    properties = {}
    for argument in arguments:
        name, _, value = argument.partition("=")
        properties[name] = value
    return properties


def warn_of_misspelt(properties: Iterable[str], known: Collection[str]) -> None:
    """Warns about names that are like a known one. Others may be for a deserializer."""
    from gralha.cli.suggestions import similar

    for name in properties:
        meant = None if name in known else similar(name, known)
        if meant is not None:
            print(f"WARN Ignoring the property {name}. Did you mean {meant}?", file=sys.stderr)


def is_true(value: str) -> bool:
    """Returns True for "true" in any case, as the properties of readers and formatters do."""
    return value.strip().lower() == "true"
