"""Times and durations in Kafka commands: ISO 8601, as Java reads it."""

import re
from datetime import datetime

from gralha.cli.program import CommandError

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?(Z|[+-]\d\d(?::?\d\d)?)?")
_DURATION = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?(T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+(?:[.,]\d{0,9})?)S)?)?",
    re.IGNORECASE | re.ASCII,
)
_DAY_MS = 24 * 60 * 60 * 1000
_HOUR_MS = 60 * 60 * 1000
_MINUTE_MS = 60 * 1000


def parse_time(text: str) -> int:
    """Parses a time like 2026-11-15T20:00:00.000 to milliseconds. Without a zone it is UTC."""
    match = _TIME.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        moment = datetime.fromisoformat(text if match[1] else f"{text}Z")
    except ValueError:
        raise CommandError(
            f"'{text}' is not a time: write YYYY-MM-DDThh:mm:ss.sss, for example 2026-11-15T20:00:00.000"
        ) from None
    return round(moment.timestamp() * 1000)


def parse_duration(text: str) -> int:
    """Parses a duration like P1DT2H3M4.5S to milliseconds. Every part may have a sign."""
    match = _DURATION.fullmatch(text)
    if match is None or match[3] in ("T", "t") or not any(match.group(2, 4, 5, 6)):
        raise CommandError(f"'{text}' is not a duration: write PnDTnHnMnS, for example P1DT12H or PT30M")
    sign, days, _, hours, minutes, seconds = match.groups(default="0")
    total_ms = int(days) * _DAY_MS + int(hours) * _HOUR_MS + int(minutes) * _MINUTE_MS
    total_ms += round(float(seconds.replace(",", ".")) * 1000)
    return -total_ms if sign == "-" else total_ms
