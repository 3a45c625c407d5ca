"""A line that counts seconds while something takes long: `Starting Spark ... 3 s`.

It is for a person: only on a terminal, and usually only after a second. It is removed when the wait is over,
so the output of a command is the same everywhere. A thread draws it, because the command itself waits.
"""

import shutil
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TextIO

_INTERVAL_S: Final = 1.0
_CLEAR: Final = "\r\x1b[K"


class Waiting:
    """The line, in a `with` block. `text` says what the command waits for, and may change meanwhile."""

    def __init__(
        self,
        text: str | Callable[[], str],
        stream: TextIO | None = None,
        *,
        after_s: float = _INTERVAL_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._text = text
        self._stream = sys.stderr if stream is None else stream
        self._after_s = after_s
        self._clock = clock
        self._began = 0.0
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._is_drawn = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._began = self._clock()
        if self._stream.isatty():
            if self._after_s <= 0:
                self._draw()
            self._thread = threading.Thread(target=self._count, name="waiting", daemon=True)
            self._thread.start()
        return self

    def say(self, text: str, stream: TextIO | None = None) -> None:
        """Prints a line of the command's output (standard output), which must not be mixed with this one."""
        with self._lock:
            self._clear()
            print(text, file=stream, flush=True)

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._clear()

    def _count(self) -> None:
        wait_s = self._after_s or _INTERVAL_S
        while not self._over.wait(wait_s):
            with self._lock:
                self._draw()
            wait_s = _INTERVAL_S

    def _draw(self) -> None:
        text = self._text if isinstance(self._text, str) else self._text()
        seconds = int(self._clock() - self._began)
        line = f"{text} ... {seconds} s"
        # A line that is too long would leave a part of itself behind.
        columns = shutil.get_terminal_size().columns
        if len(line) >= columns:
            line = f"{line[: columns - 4]}..."
        self._stream.write(f"{_CLEAR}{line}")
        self._stream.flush()
        self._is_drawn = True

    def _clear(self) -> None:
        if self._is_drawn:
            self._stream.write(_CLEAR)
            self._stream.flush()
            self._is_drawn = False
