"""Text for terminals: tables, and lines that change in place."""

import re
import shutil
import sys
from collections.abc import Sequence
from typing import Any, TextIO

UP_ONE_LINE = "\x1b[1A"
CLEAR_LINE = "\x1b[2K"
COLOUR = re.compile(r"\x1b\[\d*m")


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Lines with a header. Numbers are right-aligned."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max([len(name), *(visible(row[i]) for row in cells)]) for i, name in enumerate(columns)]
    right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(columns))]
    return [
        "  ".join(
            _padded(cell, width, is_right=is_right)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in [list(columns), *cells]
    ]


def visible(text: str) -> int:
    """The number of characters that a terminal shows, without colours."""
    return len(COLOUR.sub("", text))


def cut(text: str, columns: int) -> str:
    """The beginning of a line that fits. Colours do not count, and end where the line does."""
    if visible(text) <= columns:
        return text
    shown, left = "", columns
    for piece in re.split(f"({COLOUR.pattern})", text):
        if COLOUR.fullmatch(piece):
            shown += piece
        else:
            shown, left = shown + piece[:left], max(0, left - len(piece))
    return shown


def _padded(cell: str, width: int, *, is_right: bool) -> str:
    space = " " * (width - visible(cell))
    return space + cell if is_right else cell + space


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if _is_number(value) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class LiveLines:
    """Lines at the bottom of a terminal that are drawn again and again. Other output appears above them."""

    def __init__(self, stream: TextIO | None = None, *, changes_lines: bool = True) -> None:
        self._stream = stream or sys.stdout
        # With changes_lines=False a terminal gets the same output as a file, because others write to it, too.
        self.is_terminal = changes_lines and self._stream.isatty()
        self._lines: list[str] = []
        self._drawn = 0

    def draw(self, lines: Sequence[str]) -> None:
        """Replaces the lines. Does nothing without a terminal."""
        self._lines = list(lines)
        if not self.is_terminal:
            return
        size = shutil.get_terminal_size()
        # Lines outside of the terminal would wrap or scroll, and could not be replaced.
        shown = [cut(line, size.columns - 1) for line in self._lines[: size.lines - 1]]
        self._write(self._erased() + "".join(f"{line}\n" for line in shown))
        self._drawn = len(shown)

    def say(self, text: str) -> None:
        """Prints a line that stays."""
        self._write(f"{self._erased()}{text}\n")
        self.draw(self._lines)

    def end(self) -> None:
        """Keeps the lines on the terminal. The next output comes below them."""
        self._drawn = 0
        self._lines = []

    def _erased(self) -> str:
        erased = (UP_ONE_LINE + CLEAR_LINE) * self._drawn
        self._drawn = 0
        return erased

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
