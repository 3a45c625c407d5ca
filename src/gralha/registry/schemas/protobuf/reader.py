"""Words, strings and numbers of a `.proto` file."""

import re

from gralha.registry.schemas.interface import InvalidSchemaError

_SKIPPED = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z0-9_.-]+")
_WORD_WITHOUT_DOTS = re.compile(r"[A-Za-z0-9_-]+")
_INTEGER = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|([0-9]{1,20}))")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Reader:
    """A position in the text of a file."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def error(self, message: str) -> InvalidSchemaError:
        """An error that says where it is."""
        before = self._text[: self._position]
        line = before.count("\n") + 1
        column = self._position - (before.rfind("\n") + 1) + 1
        return InvalidSchemaError(f"Line {line}, column {column}: {message}.")

    def mark(self) -> int:
        """A position to come back to."""
        return self._position

    def back_to(self, mark: int) -> None:
        """Reads on from an earlier position."""
        self._position = mark

    def at_end(self) -> bool:
        """Whether nothing but space and comments is left."""
        self._skip()
        return self._position == len(self._text)

    def peek(self) -> str:
        """The next character that is no space."""
        self._skip()
        if self._position == len(self._text):
            raise self.error("the file ends too early")
        return self._text[self._position]

    def take(self, character: str) -> bool:
        """Passes over this character if it is the next one."""
        if self.peek() != character:
            return False
        self._position += 1
        return True

    def require(self, character: str) -> None:
        """Passes over this character, which must be the next one."""
        if not self.take(character):
            raise self.error(f"expected '{character}', not '{self._text[self._position]}'")

    def word(self, dots: bool = True) -> str:
        """The next word: letters, digits, underscores, minus signs, and dots."""
        self._skip()
        match = (_WORD if dots else _WORD_WITHOUT_DOTS).match(self._text, self._position)
        if match is None:
            raise self.error("expected a word")
        self._position = match.end()
        return match.group()

    def name(self) -> str:
        """The name of a declaration."""
        word = self.word()
        if not _NAME.fullmatch(word):
            raise self.error(f"'{word}' is not a name")
        return word

    def wrapped(self, keep: bool = False, dots: bool = True) -> str:
        """A word that may be in parentheses or brackets, which are kept on demand."""
        for opening, closing in ("()", "[]"):
            if self.take(opening):
                word = self.word()
                self.require(closing)
                return f"{opening}{word}{closing}" if keep else word
        return self.word(dots)

    def type_name(self, first: str | None = None) -> str:
        """The name of a type, or a map's type. Its first word may have been read before."""
        word = self.word() if first is None else first
        if word == "map" and self.take("<"):
            key = self.type_name()
            self.require(",")
            value = self.type_name()
            self.require(">")
            return f"map<{key}, {value}>"
        while self.peek() == ".":
            word += self.word()
        return word

    def integer(self) -> int:
        """The next number, which has 32 bits."""
        word = self.word()
        match = _INTEGER.fullmatch(word)
        if match is None:
            raise self.error(f"expected an integer, not '{word}'")
        sign, hexadecimal, decimal = match.groups()
        value = int(hexadecimal, 16) if hexadecimal else int(decimal)
        value = -value if sign == "-" else value
        if not -(2**31) <= value < 2**31:
            raise self.error(f"the number {word} is too large")
        return value

    def string(self) -> str:
        """The next string. Strings that follow each other are one."""
        parts: list[str] = []
        quote = self.peek()
        if quote not in _PLAIN:
            raise self.error("expected a string")
        while quote in _PLAIN:
            self._position += 1
            self._read_until(quote, parts)
            if self.at_end():
                break
            quote = self.peek()
        return "".join(parts)

    def _read_until(self, quote: str, parts: list[str]) -> None:
        while True:
            match = _PLAIN[quote].match(self._text, self._position)
            assert match is not None
            parts.append(match.group())
            self._position = match.end()
            if self._position == len(self._text):
                raise self.error("a string does not end")
            if self._text[self._position] == quote:
                self._position += 1
                return
            escape = _ESCAPE.match(self._text, self._position)
            if escape is None:
                raise self.error("a string does not end")
            hexadecimal, octal, other = escape.groups()
            if hexadecimal or octal:
                parts.append(chr(int(hexadecimal, 16) if hexadecimal else int(octal, 8)))
            elif other in "xX":
                raise self.error("expected a digit after \\x")
            else:
                parts.append(_ESCAPED.get(other, other))
            self._position = escape.end()

    def _skip(self) -> None:
        match = _SKIPPED.match(self._text, self._position)
        assert match is not None
        self._position = match.end()
        if self._text.startswith("/", self._position):
            raise self.error("a comment does not end, or '/' is alone")
