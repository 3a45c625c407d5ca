"""What happened in a run, as one number that says whether two runs were the same, and as lines to read.

Every arrival on the network, every change of a disk and every fault is noted. Only the last lines are kept,
for whoever looks at a failure: the last ones before it.
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
        """Something is wrong here: keep the lines up to now, and no later ones."""
        self._is_held = True

    @property
    def digest(self) -> str:
        """Equal for equal runs."""
        return f"{self.events}-{self._sum:08x}"

    def lines(self) -> list[str]:
        return [f"{now:12.6f} {text}" for now, text in self._lines]
