"""Units in a value where Kafka wants a plain number: `retention.ms=7d`, `segment.bytes=1GB`.

Kafka has no units, so such a value is refused. This says which number was probably meant.
"""

import re
from typing import Final

_WITH_UNIT: Final = re.compile(r"(\d{1,12})\s*([a-zA-Z]+)")
_MILLISECONDS: Final = {
    "ms": 1,
    "s": 1_000,
    "sec": 1_000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
    "w": 604_800_000,
    "week": 604_800_000,
}
_BYTES: Final = {
    "b": 1,
    "k": 1 << 10,
    "kb": 1 << 10,
    "kib": 1 << 10,
    "m": 1 << 20,
    "mb": 1 << 20,
    "mib": 1 << 20,
    "g": 1 << 30,
    "gb": 1 << 30,
    "gib": 1 << 30,
}


def advice(name: str, value: str) -> str:
    """A sentence such as "7d is 604800000 ms." after a space, or nothing.

    The end of the setting's name says what its numbers count.
    """
    found = _WITH_UNIT.fullmatch(value.strip())
    unit = name.rpartition(".")[2]
    units = {"ms": _MILLISECONDS, "bytes": _BYTES}.get(unit)
    if found is None or units is None:
        return ""
    factor = units.get(found[2].lower()) or units.get(found[2].lower().removesuffix("s"))
    return "" if factor is None else f" {value.strip()} is {int(found[1]) * factor} {unit}."
