"""Meters for quotas: a rate over sliding windows, and a bucket of tokens. They count as Kafka's do.

A `Rate` (Kafka's Rate over a WindowedSum) keeps a sum for each of the last windows. The current window counts
with the part of it that has passed, and at least `windows - 1` whole windows count, so that a first burst is
no high rate yet. A rate above its limit takes `(rate - limit) / limit * windows` to fall back to it.

A `TokenBucket` (KIP-599) fills with `limit` tokens a second and holds what fits into all windows. It may be
overdrawn once, and refuses until the debt is paid.

Pure: times come in as arguments, in milliseconds of a clock that does not go back.
"""

import math
from typing import Final

MS_PER_SECOND: Final = 1000.0


class Windows:
    """How many windows a meter has, and how long each is."""

    def __init__(self, count: int, window_ms: int) -> None:
        self.count = count
        self.window_ms = window_ms

    @property
    def seconds(self) -> float:
        """The length of all windows."""
        return self.count * self.window_ms / MS_PER_SECOND


class _Window:
    __slots__ = ("last_ms", "start_ms", "total")

    def __init__(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.total = 0.0

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.total = 0.0


class Rate:
    """The rate of a value per second."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._ring: list[_Window] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        """Adds a value. A negative one takes a value back."""
        if not self._ring:
            self._ring.append(_Window(now_ms))
        window = self._ring[self._current]
        if now_ms - window.start_ms >= self._windows.window_ms:
            window = self._advance(now_ms)
        window.total += value
        window.last_ms = now_ms

    def _advance(self, now_ms: int) -> _Window:
        # One window more than configured: the oldest may have begun before the time that counts.
        self._current = (self._current + 1) % (self._windows.count + 1)
        if self._current == len(self._ring):
            self._ring.append(_Window(now_ms))
        else:
            self._ring[self._current].reset(now_ms)
        return self._ring[self._current]

    def per_second(self, now_ms: int) -> float:
        elapsed_ms = self.elapsed_ms(now_ms)
        return sum(window.total for window in self._ring) / (elapsed_ms / MS_PER_SECOND)

    def elapsed_ms(self, now_ms: int) -> int:
        """The time that the rate is an average of."""
        self._forget(now_ms)
        if not self._ring:
            self._ring.append(_Window(now_ms))
        elapsed_ms = now_ms - min(window.start_ms for window in self._ring)
        missing = self._windows.count - 1 - elapsed_ms // self._windows.window_ms
        return max(elapsed_ms + max(missing, 0) * self._windows.window_ms, 1)

    def excess_ms(self, limit: float, now_ms: int) -> int:
        """How long the rate takes to fall to the limit if nothing is added. 0 if it is not above."""
        rate = self.per_second(now_ms)
        if rate <= limit:
            return 0
        return rounded((rate - limit) / limit * self.elapsed_ms(now_ms))

    def is_idle(self, now_ms: int) -> bool:
        """Returns True if a new meter would count the same."""
        self._forget(now_ms)
        return not any(window.total for window in self._ring)

    def _forget(self, now_ms: int) -> None:
        expired_ms = self._windows.count * self._windows.window_ms
        for window in self._ring:
            if now_ms - window.last_ms >= expired_ms:
                window.reset(now_ms)


class TokenBucket:
    """Tokens that are used up faster than they come back. A new bucket is full."""

    def __init__(self, windows: Windows) -> None:
        self._seconds = windows.seconds
        self._tokens = math.inf
        self._filled_ms = 0
        self._limit = 1.0

    def tokens(self, limit: float, now_ms: int) -> float:
        """The tokens that are left. Below zero the bucket is overdrawn."""
        self._limit = limit
        added = limit * (now_ms - self._filled_ms) / MS_PER_SECOND
        self._tokens = min(self._seconds * limit, self._tokens + added)
        self._filled_ms = now_ms
        return self._tokens

    def take(self, count: float, limit: float, now_ms: int) -> None:
        self._tokens = self.tokens(limit, now_ms) - count

    def excess_ms(self, limit: float, now_ms: int) -> int:
        """How long an overdrawn bucket takes to have no debt. 0 if it has none."""
        tokens = self.tokens(limit, now_ms)
        return rounded(-tokens / limit * MS_PER_SECOND) if tokens < 0 else 0

    def is_idle(self, now_ms: int) -> bool:
        """Returns True if a new bucket would hold as many tokens."""
        return self.tokens(self._limit, now_ms) >= self._seconds * self._limit


def rounded(milliseconds: float) -> int:
    """Rounds half up, as Java does, and to what fits into a throttle time."""
    return math.floor(min(milliseconds + 0.5, float(0x7FFFFFFF)))
