"""Turns dead letters back into the records that they were. Pure: the command does the reading and writing.

A dead letter has its record's key, value and headers, and after them the headers of `dead_letters.py` with
its origin. If the record was too large for the dead-letter topic, parts of it were left out: such a letter
cannot be replayed, and the person is told where the record is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

PIPELINE: Final = "gralha.pipeline"
REASON: Final = "gralha.reason"
TOPIC: Final = "gralha.topic"
PARTITION: Final = "gralha.partition"
OFFSET: Final = "gralha.offset"
TIMESTAMP: Final = "gralha.timestamp"
STORY: Final = (PIPELINE, REASON, TOPIC, PARTITION, OFFSET, TIMESTAMP)
# The headers of a letter without its value or key.
LEFT_OUT: Final = ("gralha.value", "gralha.key")

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True)
class Origin:
    """Where a record came from, and why it did not fit."""

    pipeline: str
    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    reason: str

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} offset {self.offset}"


@dataclass(frozen=True)
class Letter:
    """A dead letter. `headers` are those of the record. `is_whole` is False if parts were left out."""

    origin: Origin
    headers: Headers
    is_whole: bool


def letter(headers: Headers) -> Letter | None:
    """A dead letter by its headers. None if Gralha did not write it."""
    last = {name: value for name, value in headers if name in STORY}
    texts = {name: value.decode("utf-8", "replace") for name, value in last.items() if value is not None}
    try:
        origin = Origin(
            pipeline=texts[PIPELINE],
            topic=texts[TOPIC],
            partition=int(texts[PARTITION]),
            offset=int(texts[OFFSET]),
            timestamp_ms=timestamp_ms(texts.get(TIMESTAMP, "")),
            reason=texts.get(REASON, ""),
        )
    except (KeyError, ValueError):
        return None
    names = [name for name, _ in headers]
    # The record may be a dead letter itself. Its own headers come first and stay.
    place = len(names) - 1 - names[::-1].index(PIPELINE)
    is_whole = not any(name in LEFT_OUT for name in names[place:])
    return Letter(origin, headers[:place], is_whole)


def timestamp_ms(text: str) -> int | None:
    """The time in a letter: ISO text, or "1700 ms since 1970" after the year 9999. None if it has none."""
    number, is_number, _ = text.partition(" ms since 1970")
    if is_number:
        return int(number)
    return round(datetime.fromisoformat(text).timestamp() * 1000) if text else None
