"""Deadlines of one shard: sessions, rebalances, delays. Time comes in as an argument.

Every heartbeat moves the deadline of a session, thousands of times a second, and sessions hardly ever expire.
So a later deadline is only noted: the heap keeps the earlier one, and when that comes up, the timer goes back
into the heap with its later deadline.
"""

import heapq
from collections.abc import Callable, Hashable
from typing import Any, Final, NamedTuple

from gralha.coordination.decision import Decision

Action = Callable[[int], Decision[Any] | None]

# Cancelled timers stay in the heap until it has this many entries more than twice the number of timers.
STALE_ENTRIES_MAX: Final = 64


class Timer(NamedTuple):
    """An action and the time at which it runs."""

    deadline_ms: int
    action: Action


class Timers:
    def __init__(self) -> None:
        self._timers: dict[Hashable, Timer] = {}
        # (deadline, number to break ties, key). Every timer has at least one entry at or before its deadline.
        self._heap: list[tuple[int, int, Hashable]] = []
        self._entered: dict[Hashable, int] = {}  # the earliest deadline of each key in the heap
        self._count = 0

    def schedule(self, key: Hashable, deadline_ms: int, action: Action) -> None:
        """Have `action(now_ms)` called at a deadline. This replaces an earlier timer of the same key."""
        self._timers[key] = Timer(deadline_ms, action)
        entered = self._entered.get(key)
        if entered is None or deadline_ms < entered:
            self._enter(key, deadline_ms)

    def cancel(self, key: Hashable) -> None:
        """Remove a timer if there is one."""
        self._timers.pop(key, None)

    def deadline_ms(self, key: Hashable) -> int | None:
        """The deadline of a timer; None if there is no such timer."""
        timer = self._timers.get(key)
        return None if timer is None else timer.deadline_ms

    def next_deadline_ms(self) -> int | None:
        """The time at which to call `pop_due` again. No timer is due earlier."""
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ms: int) -> tuple[Hashable, Action] | None:
        """Remove the next timer that is due, and return its key and action."""
        while self._heap and self._heap[0][0] <= now_ms:
            deadline_ms, _, key = heapq.heappop(self._heap)
            if self._entered.get(key) != deadline_ms:
                continue  # the key has an earlier entry, which counts
            del self._entered[key]
            timer = self._timers.get(key)
            if timer is None:
                continue
            if timer.deadline_ms > now_ms:
                self._enter(key, timer.deadline_ms)
                continue
            del self._timers[key]
            return key, timer.action
        return None

    def shift(self, by_ms: int) -> None:
        """Move all deadlines, because the clock was set."""
        self._timers = {
            key: Timer(timer.deadline_ms + by_ms, timer.action) for key, timer in self._timers.items()
        }
        self._enter_all()

    def _enter(self, key: Hashable, deadline_ms: int) -> None:
        self._count += 1
        self._entered[key] = deadline_ms
        heapq.heappush(self._heap, (deadline_ms, self._count, key))
        # Thousands of members may come and go while their deadlines are weeks away.
        if len(self._heap) > 2 * len(self._timers) + STALE_ENTRIES_MAX:
            self._enter_all()

    def _enter_all(self) -> None:
        self._entered = {key: timer.deadline_ms for key, timer in self._timers.items()}
        self._heap = [
            (deadline_ms, number, key) for number, (key, deadline_ms) in enumerate(self._entered.items())
        ]
        heapq.heapify(self._heap)
        self._count = len(self._heap)
