"""Options of a `.proto` file."""

from typing import Any

from gralha.registry.schemas.protobuf.model import (
    BOOLEAN,
    ENUM,
    LIST,
    MAP,
    NESTED,
    NUMBER,
    STRING,
    Literal,
    Option,
)
from gralha.registry.schemas.protobuf.reader import Reader

_DEPTH_MAX = 50


def read_options(reader: Reader) -> list[Option]:
    """The options in brackets, if there are any."""
    if not reader.take("["):
        return []
    found = []
    while True:
        found.append(read_option(reader, "="))
        if reader.take("]"):
            return found
        reader.require(",")


def read_option(reader: Reader, separator: str, depth: int = 0) -> Option:
    """A name, a separator and a value."""
    if depth > _DEPTH_MAX:
        raise reader.error("an option is nested too deeply")
    is_extension = reader.peek() == "["
    parenthesized = reader.peek() == "("
    name = reader.wrapped()
    if is_extension:
        name = f"[{name}]"
    inner_names = []
    while reader.take("."):
        inner_names.append(reader.wrapped(keep=True, dots=False))
    if len(inner_names) > _DEPTH_MAX:
        raise reader.error("an option is nested too deeply")
    # In a map, the separator before an inner map may be left out.
    if not (separator == ":" and reader.peek() == "{"):
        reader.require(separator)
    kind, value = _read_value(reader, depth)
    for inner in reversed(inner_names):
        in_parentheses = inner.startswith("(")
        value = Option(inner[1:-1] if in_parentheses else inner, kind, value, in_parentheses)
        kind = NESTED
    return Option(name, kind, value, parenthesized)


def _read_value(reader: Reader, depth: int) -> tuple[str, Any]:
    if depth > _DEPTH_MAX:
        raise reader.error("an option is nested too deeply")
    first = reader.peek()
    if first == "{":
        return MAP, _read_map(reader, depth)
    if first == "[":
        return LIST, _read_list(reader, depth)
    if first in "\"'":
        return STRING, reader.string()
    word = reader.word()
    if first.isdigit() or first == "-":
        return NUMBER, word
    return (BOOLEAN if word in ("true", "false") else ENUM), word


def _read_map(reader: Reader, depth: int) -> dict[str, Any]:
    reader.require("{")
    found: dict[str, Any] = {}
    while not reader.take("}"):
        option = read_option(reader, ":", depth + 1)
        _add_entry(found, option.name, option)
        if not reader.take(","):
            reader.take(";")
    return found


def _add_entry(found: dict[str, Any], name: str, option: Option) -> None:
    value = _literal(option.kind, option.value)
    if isinstance(value, Option):
        nested = found.setdefault(name, {})
        if isinstance(nested, dict):
            nested[value.name] = _literal(value.kind, value.value)
        return
    if name not in found:
        found[name] = value
        return
    # A name that comes twice has a list of values.
    previous = found[name]
    if not isinstance(previous, list):
        previous = found[name] = [previous]
    previous.extend(value if isinstance(value, list) else [value])


def _read_list(reader: Reader, depth: int) -> list[Any]:
    reader.require("[")
    found: list[Any] = []
    while not reader.take("]"):
        found.append(_literal(*_read_value(reader, depth + 1)))
        if not reader.take(",") and reader.peek() != "]":
            raise reader.error("expected ',' or ']'")
    return found


def _literal(kind: str, value: Any) -> Any:
    return Literal(kind, value) if kind in (BOOLEAN, NUMBER, ENUM) else value
