"""The output of running pipelines for a person: one line for each pipeline.

On a terminal the lines change in place, and events such as a restart are printed above them. In a file, a
pipe or a service log every batch with rows has its own line.
"""

import re
from typing import Final, TextIO

from gralha.cli.colour import red, yellow
from gralha.pipelines.events import Event, Failed, Progressed, Restarting, Started, Warned
from gralha.pipelines.table_view import LiveLines

# The parts of a line that a person should look at.
WRONG: Final = re.compile(r"LOST \S+ records|dead letters \S+|late \S+")


class RunView:
    """The lines of the pipelines of one run."""

    def __init__(self, names: list[str], stream: TextIO | None = None, *, changes_lines: bool = True) -> None:
        self._stream = stream
        self._live = LiveLines(stream, changes_lines=changes_lines)
        self._width = max([0, *map(len, names)])
        self._texts = dict.fromkeys(names, "is planned")

    def show(self, event: Event) -> None:
        """Shows an event."""
        text = self._coloured(event, describe(event))
        if isinstance(event, Warned):
            self.say(f"{event.pipeline:<{self._width}}  {text}")
            return
        self._texts[event.pipeline] = text
        if not isinstance(event, Progressed):
            self.say(self._line(event.pipeline))
        elif self._live.is_terminal:
            self.draw()
        elif event.progress.input_rows:
            self.say(self._line(event.pipeline))

    def draw(self) -> None:
        """On a terminal: draws the lines of all pipelines."""
        self._live.draw([self._line(name) for name in self._texts])

    def say(self, text: str) -> None:
        """Prints a permanent line above the changing lines."""
        self._live.say(text)
        self.draw()

    def end(self) -> None:
        """Removes the changing lines. All events have been printed."""
        self._live.draw([])

    def _coloured(self, event: Event, text: str) -> str:
        if isinstance(event, Failed):
            return red(text, self._stream)
        if isinstance(event, Restarting | Warned):
            return yellow(text, self._stream)
        return WRONG.sub(lambda found: yellow(found[0], self._stream), text)

    def _line(self, name: str) -> str:
        return f"{name:<{self._width}}  {self._texts[name]}"


def describe(event: Event) -> str:
    """The text of an event, without the name of its pipeline."""
    if isinstance(event, Progressed):
        return event.progress.text()
    if isinstance(event, Started):
        again = f" again, attempt {event.attempt}" if event.attempt > 1 else ""
        return f"started{again}, {'continues from its checkpoint' if event.resumes else 'from the beginning'}"
    if isinstance(event, Restarting):
        return f"failed, restarts in {event.pause_seconds:.0f} s: {event.reason}"
    if isinstance(event, Failed):
        return f"failed: {event.reason}"
    if isinstance(event, Warned):
        return f"warning: {event.text}"
    return "stopped"
