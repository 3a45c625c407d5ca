"""Java's properties format, which Kafka's configuration files are written in."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS = " \t\f"


class Property(NamedTuple):
    """A name, its value, and the line where it begins."""

    name: str
    value: str
    line: int


def parse_properties(text: str) -> list[Property]:
    r"""Parses the format of `java.util.Properties`: `=`, `:` or a blank between name and value, `#` and `!`
    comments, lines that a backslash continues, `\uXXXX` escapes. Raises ValueError if an escape is malformed.
    """
    properties = []
    for number, line in _logical_lines(text):
        name_end, value_start = _split(line)
        properties.append(Property(_unescape(line[:name_end]), _unescape(line[value_start:]), number))
    return properties


def properties_text(settings: Mapping[str, str]) -> str:
    """A properties file with these names and values. The backslash is the escape character."""
    return "".join(f"{name}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    pending = ""
    continued = False
    first = 0
    for number, natural_line in enumerate(text.splitlines(), start=1):
        line = natural_line.lstrip(_BLANKS)
        if not continued and (not line or line[0] in "#!"):
            continue
        if not continued:
            first = number
        pending += line
        continued = _ends_with_odd_backslashes(line)
        if continued:
            pending = pending[:-1]
        else:
            yield first, pending
            pending = ""
    if pending:
        yield first, pending


def _ends_with_odd_backslashes(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[int, int]:
    """The end of the name and the start of the value."""
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANKS:
        end += 2 if line[end] == "\\" else 1
    end = min(end, len(line))
    start = end
    while start < len(line) and line[start] in _BLANKS:
        start += 1
    if start < len(line) and line[start] in "=:":
        start += 1
        while start < len(line) and line[start] in _BLANKS:
            start += 1
    return end, start


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    pieces = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character == "\\" and position < len(text):
            character = text[position]
            position += 1
            if character == "u":
                pieces.append(_unicode_escape(text[position : position + 4]))
                position += 4
                continue
            character = _ESCAPES.get(character, character)
        pieces.append(character)
    return "".join(pieces)


def _unicode_escape(digits: str) -> str:
    try:
        if len(digits) != 4:
            raise ValueError
        return chr(int(digits, 16))
    except ValueError:
        raise ValueError(f"malformed \\uxxxx escape: \\u{digits}") from None
