"""What a person sees of running pipelines: one line each.

On a terminal the lines stay in place and change; anything worth keeping (a restart, an end) is printed above
them. Elsewhere (a file, a pipe, a service log) every batch that did something is a line of its own.
"""

import shutil
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from gralha.pipelines.events import Event

UP_ONE_LINE = "\x1b[1A"
CLEAR_LINE = "\x1b[2K"


class RunView:
    """The lines of the pipelines of one run."""

    def __init__(self, names: list[str], stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._is_terminal = self._stream.isatty()
        self._width = max([0, *map(len, names)])
        self._lines = dict.fromkeys(names, "starting")
        self._drawn = 0

    def show(self, event: "Event") -> None:
        """Show something that happened."""
        from gralha.pipelines.events import Progressed

        text = describe(event)
        self._lines[event.pipeline] = text
        if not isinstance(event, Progressed):
            self.say(f"{event.pipeline:<{self._width}}  {text}")
        elif self._is_terminal:
            self._draw()
        elif event.progress.input_rows:
            self._print(f"{event.pipeline:<{self._width}}  {text}")

    def say(self, text: str) -> None:
        """Print a line that stays, above the lines that change."""
        self._erase()
        self._print(text)
        self._draw()

    def end(self) -> None:
        """Leave the lines as they are; what is printed next comes below them."""
        self._drawn = 0
        self._is_terminal = False

    def _print(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def _erase(self) -> None:
        self._stream.write((UP_ONE_LINE + CLEAR_LINE) * self._drawn + ("\r" if self._drawn else ""))
        self._drawn = 0

    def _draw(self) -> None:
        if not self._is_terminal:
            return
        self._erase()
        columns = shutil.get_terminal_size().columns
        for name, text in self._lines.items():
            self._print(f"{name:<{self._width}}  {text}"[: columns - 1])
        self._drawn = len(self._lines)


def describe(event: "Event") -> str:
    """An event in words, without the name of its pipeline."""
    from gralha.pipelines.events import Failed, Progressed, Restarting, Started

    if isinstance(event, Progressed):
        return event.progress.text()
    if isinstance(event, Started):
        again = f" again, attempt {event.attempt}" if event.attempt > 1 else ""
        return f"started{again}, {'goes on where it was' if event.resumes else 'from the beginning'}"
    if isinstance(event, Restarting):
        return f"failed, starts again in {event.pause_seconds:.0f} s: {event.reason}"
    if isinstance(event, Failed):
        return f"failed: {event.reason}"
    return "stopped"
