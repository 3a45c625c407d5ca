"""`--watch`: shows a command's output again and again until Ctrl-C. On a terminal it is drawn in place."""

import contextlib
import io
import shutil
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Final, TextIO

from gralha.cli.arguments import CommandParser
from gralha.cli.colour import red
from gralha.cli.program import CommandError

DEFAULT_SECONDS: Final = 2.0
_HOME: Final = "\x1b[H"
_CLEAR_BELOW: Final = "\x1b[J"
_CLEAR_LINE: Final = "\x1b[K"


class _Screen(io.StringIO):
    """The output of one round. Colours depend on the real stream."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._is_terminal = stream.isatty()

    def isatty(self) -> bool:
        return self._is_terminal


def add_watch_option(parser: CommandParser, actions: str) -> None:
    """Adds --watch. `actions` are the options that it goes with."""
    parser.value(
        "watch",
        f"with {actions}: show it again every so many seconds until Ctrl-C (2 if no number is given)",
        kind=_seconds,
        metavar="SECONDS",
        nargs="?",
        const=DEFAULT_SECONDS,
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86_400:
        raise ArgumentTypeError(f"{text} is not possible: give a number of seconds, from 0.1 on")
    return seconds


def watched(show: Callable[[], int], seconds: float | None) -> int:
    """Runs `show` once, or again and again with --watch. Returns the exit code."""
    if seconds is None:
        return show()

    def show_and_go_on() -> bool:
        show()
        return False

    try:
        show_until(show_and_go_on, seconds)
    except KeyboardInterrupt:
        if sys.stdout.isatty():
            print()
    return 0


def show_until(show: Callable[[], bool], seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Shows the output of `show` every so many seconds, until `show` returns True.

    An error of the first round is raised. Later errors are shown, because the cluster may be back soon.
    """
    is_first = True
    while True:
        screen = _Screen(sys.stdout)
        is_over = False
        try:
            with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
                is_over = show()
        except Exception as error:
            if is_first or not _may_pass(error):
                raise
            screen.write(f"\n{red(str(error))}\n")
        _draw(screen.getvalue(), seconds, clear=is_first)
        if is_over:
            return
        is_first = False
        sleep(seconds)


def _may_pass(error: Exception) -> bool:
    from gralha.client.errors import ClientError
    from gralha.protocol.errors import KafkaError

    return isinstance(error, ClientError | KafkaError | CommandError)


def _draw(text: str, seconds: float, *, clear: bool) -> None:
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    moment = time.strftime("%H:%M:%S")
    lines = [f"{moment}   every {seconds:g} s, Ctrl-C ends", *text.splitlines()]
    room = shutil.get_terminal_size().lines - 1
    if len(lines) > room:
        lines[room - 1 :] = [f"... and {len(lines) - room + 1} more lines"]
    begin = f"{_HOME}{_CLEAR_BELOW}" if clear else _HOME
    # Lines are overwritten and not cleared before, so that the screen does not flicker.
    sys.stdout.write(begin + "".join(f"{line}{_CLEAR_LINE}\n" for line in lines) + _CLEAR_BELOW)
    sys.stdout.flush()
