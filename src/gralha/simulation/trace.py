"""The events of a run, as a digest that is the same for equal runs, and as lines to read.

The trace has every arrival on the network, every change of a disk and every fault. It keeps only the last
lines, up to the first failure.
"""

from collections import deque
from typing import Final
from zlib import crc32

KEPT_LINES: Final = 2000


class Trace:
    def __init__(self, kept_lines: int = KEPT_LINES) -> None:
        self.events = 0
        self._sum = 0
        self._lines: deque[tuple[float, str]] = deque(maxlen=kept_lines)
        self._is_held = False

    def note(self, now: float, text: str, data: bytes | bytearray | memoryview = b"") -> None:
        self.events += 1
        self._sum = crc32(data, crc32(b"%.6f %s" % (now, text.encode()), self._sum))
        if not self._is_held:
            self._lines.append((now, text))

    def hold(self) -> None:
        """After a failure: keep the lines up to now, and add no later ones."""
        self._is_held = True

    @property
    def digest(self) -> str:
        """The same text for equal runs."""
        return f"{self.events}-{self._sum:08x}"

    def lines(self) -> list[str]:
        return [f"{now:12.6f} {text}" for now, text in self._lines]
