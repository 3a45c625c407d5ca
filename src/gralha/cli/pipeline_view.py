"""What a person sees of running pipelines: one line each.

On a terminal the lines stay in place and change; anything worth keeping (a restart, an end) is printed above
them. Elsewhere (a file, a pipe, a service log) every batch that did something is a line of its own.
"""

from typing import TextIO

from gralha.pipelines.events import Event, Failed, Progressed, Restarting, Started
from gralha.pipelines.table_view import LiveLines


class RunView:
    """The lines of the pipelines of one run."""

    def __init__(self, names: list[str], stream: TextIO | None = None) -> None:
        self._live = LiveLines(stream)
        self._width = max([0, *map(len, names)])
        self._texts = dict.fromkeys(names, "is planned")

    def show(self, event: Event) -> None:
        """Show something that happened."""
        text = describe(event)
        self._texts[event.pipeline] = text
        if not isinstance(event, Progressed):
            self.say(self._line(event.pipeline))
        elif self._live.is_terminal:
            self.draw()
        elif event.progress.input_rows:
            self.say(self._line(event.pipeline))

    def draw(self) -> None:
        """Draw the lines of all pipelines, on a terminal."""
        self._live.draw([self._line(name) for name in self._texts])

    def say(self, text: str) -> None:
        """Print a line that stays, above the lines that change."""
        self._live.say(text)
        self.draw()

    def end(self) -> None:
        """Take away the lines that change: what happened last has been said."""
        self._live.draw([])

    def _line(self, name: str) -> str:
        return f"{name:<{self._width}}  {self._texts[name]}"


def describe(event: Event) -> str:
    """An event in words, without the name of its pipeline."""
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
