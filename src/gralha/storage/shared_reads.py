"""Reads that several readers share: fifty consumers at the end of one log need the same bytes.

A read is kept only if another one began at the same place just before, so a log with a single reader keeps
nothing. A reader that needs bytes of a kept read gets them without a copy from the page cache. If the kept
read has only a part of them, the reader gets that part, unless it is small. Its next read then begins where
the other readers begin, so readers that lag behind join the others again.

A segment's `remembered` dict is the key of its kept reads. A truncation replaces the dict, so that older
reads are not found afterwards. Only the event loop's thread calls this.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

_KEPT_MAX: Final = 4
_KEPT_BYTES_MAX: Final = 1024 * 1024 + 64 * 1024
# A part of the wanted bytes is enough if it has this many bytes.
_PART_BYTES_MIN: Final[i64] = 64 * 1024


class SharedRead:
    """Bytes of a segment from the position `start` on."""

    def __init__(self, remembered: dict[int, int], start: i64, data: bytes) -> None:
        self.remembered = remembered
        self.start: i64 = start
        self.data = data


_kept: Final[list[SharedRead]] = []


def keep(remembered: dict[int, int], start: i64, data: bytes) -> None:
    """Keep the bytes of a read for other readers."""
    if len(data) <= _KEPT_BYTES_MAX:
        if len(_kept) >= _KEPT_MAX:
            del _kept[0]
        _kept.append(SharedRead(remembered, start, data))


def find(remembered: dict[int, int], start: i64, length: i64) -> SharedRead | None:
    """Find a kept read that has enough bytes from `start` on."""
    for shared in _kept:
        if shared.remembered is remembered and shared.start <= start:
            left = shared.start + len(shared.data) - start
            if left >= length or left >= _PART_BYTES_MIN:
                return shared
    return None
