"""Deadlines of one coordinator's groups: sessions, rebalances, delays. Time comes in as an argument.

A member's session is put off with every heartbeat, thousands of times a second, and hardly ever runs out. So
putting off only notes the new deadline; the heap keeps the old one, and when that comes up the timer goes
back in with the new.
"""

import heapq
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from gralha.groups.outcome import Outcome

Action = Callable[[int], Outcome | None]

# So many entries of timers that are no more are let be, and as many again as there are timers.
STALE_ENTRIES_MAX: Final = 64


class Timer(NamedTuple):
    """What is to happen, and when."""

    deadline_ms: int
    action: Action


class Timers:
    def __init__(self) -> None:
        self._timers: dict[Hashable, Timer] = {}
        # (deadline, number to break ties, key): at least one entry at or before every timer's deadline.
        self._heap: list[tuple[int, int, Hashable]] = []
        self._entered: dict[Hashable, int] = {}  # the earliest deadline that the heap has for a key
        self._count = 0

    def schedule(self, key: Hashable, deadline_ms: int, action: Action) -> None:
        """Have `action(now_ms)` called at a deadline; replaces an earlier timer of that key."""
        self._timers[key] = Timer(deadline_ms, action)
        entered = self._entered.get(key)
        if entered is None or deadline_ms < entered:
            self._enter(key, deadline_ms)

    def cancel(self, key: Hashable) -> None:
        """Forget a timer, if there is one."""
        self._timers.pop(key, None)

    def deadline_ms(self, key: Hashable) -> int | None:
        """When a timer runs out; None if there is no such timer."""
        timer = self._timers.get(key)
        return None if timer is None else timer.deadline_ms

    def next_deadline_ms(self) -> int | None:
        """The time to look again: no timer runs out earlier."""
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ms: int) -> Action | None:
        """Take out the next action whose time has come."""
        while self._heap and self._heap[0][0] <= now_ms:
            deadline_ms, _, key = heapq.heappop(self._heap)
            if self._entered.get(key) != deadline_ms:
                continue  # an earlier entry stands for this key
            del self._entered[key]
            timer = self._timers.get(key)
            if timer is None:
                continue
            if timer.deadline_ms > now_ms:
                self._enter(key, timer.deadline_ms)
                continue
            del self._timers[key]
            return timer.action
        return None

    def shift(self, by_ms: int) -> None:
        """Put all deadlines off, or forward: the clock they were counted by has been set."""
        self._timers = {
            key: Timer(timer.deadline_ms + by_ms, timer.action) for key, timer in self._timers.items()
        }
        self._enter_all()

    def clear(self) -> None:
        """Forget all of them."""
        self._timers.clear()
        self._heap.clear()
        self._entered.clear()

    def _enter(self, key: Hashable, deadline_ms: int) -> None:
        self._count += 1
        self._entered[key] = deadline_ms
        heapq.heappush(self._heap, (deadline_ms, self._count, key))
        # Members may come and go by the thousand, and their deadlines be weeks away.
        if len(self._heap) > 2 * len(self._timers) + STALE_ENTRIES_MAX:
            self._enter_all()

    def _enter_all(self) -> None:
        self._entered = {key: timer.deadline_ms for key, timer in self._timers.items()}
        self._heap = [
            (deadline_ms, number, key) for number, (key, deadline_ms) in enumerate(self._entered.items())
        ]
        heapq.heapify(self._heap)
        self._count = len(self._heap)
