"""A fair comparison of two brokers: warm both up, let them take turns, and take the median of the rounds.

The order of the rounds is A B B A. If the machine becomes slower or faster in between, that affects both
brokers equally. A broker is warm when its rate has stopped rising: Java compiles hot code in the background,
which can take a minute while three brokers share two cores.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Results = dict[str, float]
T = TypeVar("T")

PAIRS = 2  # a pair is A B B A: two rounds for each
# The rate has stopped rising if the best of the last windows is less than this much better than before.
WARM_WINDOWS = 3
WARM_RISE = 0.05
WARM_UP_S_MAX = 45.0


def turns(names: Sequence[str], pairs: int) -> list[str]:
    """The order of the rounds: A B B A, that many times."""
    return [*names, *reversed(names)] * pairs


def medians(rounds: Sequence[Results]) -> Results:
    return {name: statistics.median(taken[name] for taken in rounds) for name in rounds[0]}


def is_warm(rates: Sequence[float]) -> bool:
    """Whether the rates of windows, in their order, have stopped rising.

    The best of the last windows is compared with the best of all earlier ones. So one slow window (a pause of
    the garbage collector, other work on the machine) neither ends the warm-up nor prolongs it.
    """
    before = rates[:-WARM_WINDOWS]
    return bool(before) and max(rates[-WARM_WINDOWS:]) <= (1 + WARM_RISE) * max(before)


def warm_up(window: Callable[[], float], seconds_max: float = WARM_UP_S_MAX) -> list[float]:
    """Run windows, each of which returns its rate, until the broker is warm or the time is over."""
    started = time.monotonic()
    rates = [window()]
    while not is_warm(rates) and time.monotonic() - started < seconds_max:
        rates.append(window())
    return rates


def warm_up_or_say(
    say: Callable[..., None],
    title: str,
    measure: str,
    window: Callable[[], float],
    seconds_max: float = WARM_UP_S_MAX,
) -> None:
    """Warm a broker up. If its rate still rises when the time is over, the page says so."""
    rates = warm_up(window, seconds_max)
    if not is_warm(rates):
        say(
            f"{title} was not warm after {seconds_max:g} s: its rate still rose before {measure}",
            on_page=True,
        )


def alternate(
    subjects: Mapping[str, T], take: Callable[[T], Results], pairs: int = PAIRS
) -> dict[str, Results]:
    """Measure the subjects in turns. Returns the medians by subject."""
    taken: dict[str, list[Results]] = {name: [] for name in subjects}
    for name in turns(list(subjects), pairs):
        taken[name].append(take(subjects[name]))
    return {name: medians(rounds) for name, rounds in taken.items()}


def merge(results: dict[str, Results], more: Mapping[str, Results]) -> None:
    """Add measures to the measures of each subject."""
    for name, taken in more.items():
        results.setdefault(name, {}).update(taken)
