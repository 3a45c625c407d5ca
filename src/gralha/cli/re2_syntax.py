"""Checks a regular expression by the rules of RE2, the engine that brokers use for subscriptions.

Python's expressions have more features (look-arounds, back references) and lack a few of RE2's, so this
module parses the text itself. The error messages are RE2/J's, as Kafka prints them.
"""

import re

NESTED_REPETITION = "invalid nested repetition operator"
MISSING_ARGUMENT = "missing argument to repetition operator"
INVALID_REPEAT = "invalid repeat count"
INVALID_ESCAPE = "invalid escape sequence"
INVALID_RANGE = "invalid character class range"
INVALID_NAME = "invalid named capture"
DUPLICATE_NAME = "duplicate capture group name"
INVALID_PERL = "invalid or unsupported Perl syntax"
MISSING_BRACKET = "missing closing ]"
MISSING_PARENTHESIS = "missing closing )"
# RE2/J has no better message for it.
UNEXPECTED_PARENTHESIS = "regexp/syntax: internal error"
TRAILING_BACKSLASH = "trailing backslash at end of expression"

_MAX_REPEAT = 1000
_REPEAT = re.compile(r"\{(\d+)(,(\d*))?\}", re.ASCII)
_NAMED_GROUP = re.compile(r"\(\?P?<([^>]*)>")
_FLAGS = re.compile(r"\(\?(?:[imsU]+(?:-[imsU]+)?|-[imsU]+)?[:)]")
_POSIX_CLASS = re.compile(r"\[:\^?(\w+):\]")
_POSIX_NAMES = re.compile(
    "alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit"
)
_UNICODE_CLASS = re.compile(r"\\[pP](?:\{\^?(\w+)\}|(\w))")
# Categories and the common scripts. Topic names have neither.
_UNICODE_NAMES = re.compile(
    "Any|C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?|Arabic|Armenian|Common|Cyrillic|"
    "Devanagari|Georgian|Greek|Han|Hangul|Hebrew|Hiragana|Inherited|Katakana|Latin|Thai"
)
_ESCAPE = re.compile(
    r"\\(?:x[0-9A-Fa-f]{2}|x\{[0-9A-Fa-f]{1,6}\}|[1-7][0-7]{1,2}|0[0-7]{0,2}|[afnrtv]|[!-/:-@\[-`{-~])"
)
_PERL_CLASSES = tuple("dDsSwW")
_ANCHORS = tuple("AbBz")


class _SyntaxError(Exception):
    """RE2 does not accept the expression."""


def complaint(expression: str) -> str | None:
    """The error in an expression, or None if RE2 accepts it."""
    try:
        _Checker(expression).check()
    except _SyntaxError as error:
        return str(error)
    return None


class _Checker:
    """Parses an expression from left to right."""

    def __init__(self, expression: str) -> None:
        self._text = expression
        self._position = 0
        self._open_groups = 0
        self._names: set[str] = set()
        # The element before this position. An operator needs an operand, and may repeat it only once.
        self._has_operand = False
        self._is_repeated = False

    def check(self) -> None:
        while self._position < len(self._text):
            character = self._text[self._position]
            if character in "*+?":
                self._repeat(1)
            elif character == "{":
                self._braces()
            else:
                self._is_repeated = False
                self._has_operand = self._element(character)
        if self._open_groups:
            raise _SyntaxError(MISSING_PARENTHESIS)

    def _element(self, character: str) -> bool:
        """Parses anything but a repetition. Returns True if it can be repeated."""
        if character == "(":
            return self._open_group()
        if character == ")":
            if not self._open_groups:
                raise _SyntaxError(UNEXPECTED_PARENTHESIS)
            self._open_groups -= 1
        elif character == "[":
            self._character_class()
            return True
        elif character == "\\":
            return self._backslash()
        self._position += 1
        return character != "|"

    def _repeat(self, size: int) -> None:
        if self._is_repeated:
            raise _SyntaxError(NESTED_REPETITION)
        if not self._has_operand:
            raise _SyntaxError(MISSING_ARGUMENT)
        self._position += size
        # A question mark makes the operator lazy.
        if self._text.startswith("?", self._position):
            self._position += 1
        self._is_repeated = True

    def _braces(self) -> None:
        """Parses a number of repetitions. Braces around anything else are ordinary characters."""
        match = _REPEAT.match(self._text, self._position)
        if match is None:
            self._position += 1
            # In RE2/J no operator may follow such a brace.
            self._has_operand = self._is_repeated = True
            return
        least = int(match[1])
        most = int(match[3]) if match[3] else least
        if most > _MAX_REPEAT or least > most:
            raise _SyntaxError(INVALID_REPEAT)
        self._repeat(len(match[0]))

    def _open_group(self) -> bool:
        if not self._text.startswith("(?", self._position):
            self._position += 1
        elif self._text.startswith(("(?P<", "(?<"), self._position):
            self._named_group()
        else:
            match = _FLAGS.match(self._text, self._position)
            if match is None:
                raise _SyntaxError(INVALID_PERL)
            self._position = match.end()
            if match[0].endswith(")"):
                # These are flags for the rest of the expression, not a group.
                return self._has_operand
        self._open_groups += 1
        return False

    def _named_group(self) -> None:
        match = _NAMED_GROUP.match(self._text, self._position)
        if match is None or not re.fullmatch(r"\w+", match[1], re.ASCII):
            raise _SyntaxError(INVALID_NAME)
        if match[1] in self._names:
            raise _SyntaxError(DUPLICATE_NAME)
        self._names.add(match[1])
        self._position = match.end()

    def _backslash(self) -> bool:
        following = self._text[self._position + 1 : self._position + 2]
        if following == "Q":
            quoted, end, _ = self._text[self._position + 2 :].partition("\\E")
            self._position += len("\\Q") + len(quoted) + len(end)
            return bool(quoted) or self._has_operand
        if following in _ANCHORS:
            self._position += 2
        else:
            self._escape()
        return True

    def _escape(self) -> str | None:
        """An escaped character, or None for an escaped class of characters."""
        following = self._text[self._position + 1 : self._position + 2]
        if not following:
            raise _SyntaxError(TRAILING_BACKSLASH)
        if following in _PERL_CLASSES:
            self._position += 2
            return None
        if following in ("p", "P"):
            self._named_class(_UNICODE_CLASS, _UNICODE_NAMES)
            return None
        match = _ESCAPE.match(self._text, self._position)
        if match is None:
            raise _SyntaxError(INVALID_ESCAPE)
        self._position = match.end()
        return _value(match[0])

    def _named_class(self, pattern: re.Pattern[str], names: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._position)
        if match is None or not names.fullmatch(match[match.lastindex or 0]):
            raise _SyntaxError(INVALID_RANGE)
        self._position = match.end()

    def _character_class(self) -> None:
        self._position += 1
        if self._text.startswith("^", self._position):
            self._position += 1
        is_first = True
        while is_first or not self._text.startswith("]", self._position):
            is_first = False
            if self._position >= len(self._text):
                raise _SyntaxError(MISSING_BRACKET)
            if _POSIX_CLASS.match(self._text, self._position):
                self._named_class(_POSIX_CLASS, _POSIX_NAMES)
            else:
                self._range()
        self._position += 1

    def _range(self) -> None:
        low = self._class_character()
        remaining = self._text[self._position : self._position + 2]
        if low is None or not remaining.startswith("-") or remaining in ("-", "-]"):
            return
        self._position += 1
        high = self._class_character()
        if high is None:
            raise _SyntaxError(INVALID_ESCAPE)
        if high < low:
            raise _SyntaxError(INVALID_RANGE)

    def _class_character(self) -> str | None:
        if self._text.startswith("\\", self._position):
            return self._escape()
        character = self._text[self._position]
        self._position += 1
        return character


def _value(escape: str) -> str:
    """The character of an escape sequence."""
    body = escape[1:]
    if body.startswith("x"):
        return chr(min(int(body[1:].strip("{}"), 16), 0x10FFFF))
    if body.isdigit():
        return chr(int(body, 8))
    return {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}.get(body, body)
