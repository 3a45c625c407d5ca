"""Colours for what is wrong. Only for a person at a terminal: not in a pipe, and not if NO_COLOR is set."""

import os
import sys
from typing import TextIO

_RED = "\x1b[31m"
_YELLOW = "\x1b[33m"
_PLAIN = "\x1b[0m"


def is_coloured(stream: TextIO | None = None) -> bool:
    """Returns True if text for this stream (standard output) may have colours. See no-color.org."""
    stream = sys.stdout if stream is None else stream
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def red(text: str, stream: TextIO | None = None) -> str:
    """The text of a failure."""
    return f"{_RED}{text}{_PLAIN}" if text and is_coloured(stream) else text


def yellow(text: str, stream: TextIO | None = None) -> str:
    """The text of something to look at, such as lag."""
    return f"{_YELLOW}{text}{_PLAIN}" if text and is_coloured(stream) else text
