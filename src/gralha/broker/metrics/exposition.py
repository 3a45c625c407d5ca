"""Prometheus's text format, version 0.0.4.

    # HELP kafka_log_log_size The size of a log in bytes.
    # TYPE kafka_log_log_size gauge
    kafka_log_log_size{topic="orders",partition="0"} 1024

All samples of a family come together, after its head.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
# How many samples, or steps of work, are done at a time: less than half a millisecond.
SLICE: Final = 50
PAUSE: Final = ""

Pieces = Iterator[str]
# Labels and a value. None is a step of work without a sample.
Sample = tuple[str, float] | None


class Family(NamedTuple):
    """A metric: its name, its type and what it means."""

    name: str
    kind: str
    meaning: str

    @property
    def head(self) -> str:
        meaning = self.meaning.replace("\\", "\\\\").replace("\n", "\\n")
        return f"# HELP {self.name} {meaning}\n# TYPE {self.name} {self.kind}\n"


def counter(name: str, meaning: str) -> Family:
    return Family(name, "counter", meaning)


def gauge(name: str, meaning: str) -> Family:
    return Family(name, "gauge", meaning)


def histogram(name: str, meaning: str) -> Family:
    return Family(name, "histogram", meaning)


class Distribution(NamedTuple):
    """The samples of a histogram: how many values are in each class, and their sum. The last class has no
    limit.
    """

    labels: str
    limits: Sequence[float]
    counts: Sequence[int]
    sum: float


def labels(**values: object) -> str:
    """Labels as they stand between the braces."""
    return ",".join(f'{name}="{escaped(str(value))}"' for name, value in values.items())


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def line(name: str, labels: str, value: float) -> str:
    return f"{name}{{{labels}}} {value}\n" if labels else f"{name} {value}\n"


def family_text(family: Family, samples: Iterable[Sample]) -> Pieces:
    """A family and its samples."""
    name = family.name
    lines = [family.head]
    steps = 0
    for sample in samples:
        if sample is not None:
            lines.append(line(name, *sample))
        steps += 1
        if steps == SLICE:
            yield "".join(lines)
            lines.clear()
            steps = 0
    yield "".join(lines)


def single(family: Family, value: float) -> Pieces:
    """A family with one sample without labels."""
    yield family.head + line(family.name, "", value)


def histogram_text(family: Family, distributions: Iterable[Distribution]) -> Pieces:
    """A histogram. Each sample is one line for each class, and has two more."""
    yield family.head
    for labels, limits, counts, total in distributions:
        separator = "," if labels else ""
        bounds = [*map(str, limits), "+Inf"]
        lines = [
            line(f"{family.name}_bucket", f'{labels}{separator}le="{bound}"', count)
            for bound, count in zip(bounds, accumulate(counts), strict=True)
        ]
        lines.append(line(f"{family.name}_sum", labels, total))
        lines.append(line(f"{family.name}_count", labels, sum(counts)))
        yield "".join(lines)
