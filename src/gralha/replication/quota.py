"""Replication throttles: how many bytes a second brokers may copy to replicas that are not in sync.

`leader.replication.throttled.replicas` and `follower.replication.throttled.replicas` of a topic say which
replicas are meant, `...throttled.rate` of a broker how fast. A broker over its rate leaves such partitions
out until the rate is low enough again: a leader leaves them out of its answers, a follower out of its
requests. Replicas in sync are never held back, because acknowledgements wait for them, but their bytes count.

Pure: time comes in as an argument.
"""

from collections import deque
from typing import Final

UNLIMITED: Final = (1 << 63) - 1
ALL_REPLICAS: Final = "*"
WINDOWS: Final = 11
WINDOW_MS: Final = 1_000


class RateMeter:
    """Bytes a second over the last windows, the current one included, as Kafka's metrics count them."""

    def __init__(self, windows: int = WINDOWS, window_ms: int = WINDOW_MS) -> None:
        self._windows = windows
        self._window_ms = window_ms
        self._counts: deque[tuple[int, int]] = deque()  # when a window began, and its bytes
        self._total: int = 0

    def record(self, size_bytes: int, now_ms: int) -> None:
        if self._counts:
            began_ms, counted = self._counts[-1]
            if now_ms - began_ms < self._window_ms:
                self._counts[-1] = (began_ms, counted + size_bytes)
                self._total += size_bytes
                return
        self._counts.append((now_ms, size_bytes))
        self._total += size_bytes
        self._forget(now_ms)

    def bytes_per_second(self, now_ms: int) -> float:
        self._forget(now_ms)
        if not self._counts:
            return 0.0
        # A single window counts as a whole one: a first burst is no rate yet.
        elapsed_ms = max(now_ms - self._counts[0][0], self._window_ms)
        return self._total * 1000 / elapsed_ms

    def _forget(self, now_ms: int) -> None:
        while self._counts and now_ms - self._counts[0][0] >= self._windows * self._window_ms:
            self._total -= self._counts.popleft()[1]


class ReplicationQuota:
    """One direction of a broker: what it sends as a leader, or what it fetches as a follower."""

    def __init__(self, meter: RateMeter | None = None) -> None:
        self._meter = RateMeter() if meter is None else meter
        self.bytes_per_second: int = UNLIMITED

    def record(self, size_bytes: int, now_ms: int) -> None:
        """Bytes of throttled replicas have gone over the wire."""
        self._meter.record(size_bytes, now_ms)

    def is_exceeded(self, now_ms: int) -> bool:
        return (
            self.bytes_per_second != UNLIMITED
            and self._meter.bytes_per_second(now_ms) > self.bytes_per_second
        )


def is_throttled(replicas: str, index: int, broker_id: int) -> bool:
    """Whether a list like `0:1,0:2,3:1` (partition and broker), or `*`, has the replica on that broker."""
    if not replicas:
        return False
    return replicas.strip() == ALL_REPLICAS or f"{index}:{broker_id}" in (
        one.strip() for one in replicas.split(",")
    )
