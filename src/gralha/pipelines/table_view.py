"""Text for terminals: tables, and lines that change in place."""

import shutil
import sys
from collections.abc import Sequence
from typing import Any, TextIO

UP_ONE_LINE = "\x1b[1A"
CLEAR_LINE = "\x1b[2K"


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Lines with a header. Numbers are right-aligned."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(columns)]
    right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(columns))]
    return [
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in [list(columns), *cells]
    ]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if _is_number(value) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class LiveLines:
    """Lines at the bottom of a terminal that are drawn again and again. Other output appears above them."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self.is_terminal = self._stream.isatty()
        self._lines: list[str] = []
        self._drawn = 0

    def draw(self, lines: Sequence[str]) -> None:
        """Replaces the lines. Does nothing without a terminal."""
        self._lines = list(lines)
        if not self.is_terminal:
            return
        size = shutil.get_terminal_size()
        # Lines outside of the terminal would wrap or scroll, and could not be replaced.
        shown = [line[: size.columns - 1] for line in self._lines[: size.lines - 1]]
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
