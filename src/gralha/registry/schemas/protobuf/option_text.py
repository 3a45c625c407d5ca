"""Options as text."""

from collections.abc import Callable
from typing import Any

from gralha.registry.schemas.protobuf.model import LIST, MAP, NESTED, NUMBER, STRING, Literal, Option

_ESCAPES = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        "'": "\\'",
        '"': '\\"',
    }
)


def quoted(text: str) -> str:
    """A string with its escapes. Characters outside of ASCII stay."""
    return f'"{text.translate(_ESCAPES)}"'


def _same(number: str) -> str:
    return number


class OptionWriter:
    """Writes options. The normal form formats numbers, sorts the entries of maps and opens short lists."""

    def __init__(
        self,
        number: Callable[[str], str] = _same,
        entries: Callable[[dict[str, Any]], dict[str, Any]] = dict,
        opens_lists: bool = False,
    ) -> None:
        self._number = number
        self._entries = entries
        self._opens_lists = opens_lists

    def option(self, option: Option) -> str:
        """A name and a value."""
        name = f"({option.name})" if option.parenthesized else option.name
        if option.kind == NESTED:
            return f"{name}.{self.option(option.value)}"
        if option.kind == STRING:
            return f"{name} = {quoted(option.value)}"
        if option.kind == MAP:
            return f"{name} = {{\n{self._map(option.value)}}}"
        if option.kind == LIST:
            return f"{name} = {bracketed([self._value(value) for value in option.value])}"
        return f"{name} = {self._number(option.value) if option.kind == NUMBER else option.value}"

    def _map(self, entries: dict[str, Any]) -> str:
        return _lines([f"{key}: {self._value(value)}" for key, value in self._entries(entries).items()])

    def _value(self, value: Any) -> str:
        if isinstance(value, Option):
            return self.option(value)
        if isinstance(value, Literal):
            return self._number(value.value) if value.kind == NUMBER else value.value
        if isinstance(value, dict):
            return f"{{\n{self._map(value)}}}"
        if isinstance(value, list):
            if self._opens_lists and len(value) == 1:
                return self._value(value[0])
            return f"[\n{_lines([self._value(item) for item in value])}]"
        return quoted(value)


_PLAIN = OptionWriter()


def option_text(option: Option) -> str:
    """An option in the canonical form."""
    return _PLAIN.option(option)


def bracketed(options: list[str]) -> str:
    """Options in brackets: one on the same line, more on lines of their own."""
    if len(options) == 1:
        return f"[{options[0]}]"
    return f"[\n{_lines(options)}]"


def _lines(texts: list[str]) -> str:
    last = len(texts) - 1
    return "".join(_indented(text + ("," if index < last else "")) for index, text in enumerate(texts))


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.split("\n"))
