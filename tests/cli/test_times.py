"""Times and durations on the command line."""

import pytest

from gralha.cli.program import CommandError
from gralha.cli.times import parse_duration, parse_time


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("1970-01-01T00:00:00.000", 0),
        ("1970-01-01T00:00:01.234", 1234),
        ("1970-01-01T00:00:01", 1000),
        ("1970-01-01T00:00:00.000Z", 0),
        ("1970-01-01T02:00:00.000+02:00", 0),
        ("1970-01-01T00:00:00.000-0130", 5_400_000),
        ("1970-01-01T02:00:00.000+02", 0),
        ("2026-11-15T20:00:00.001", 1_794_772_800_001),
    ],
)
def test_times(text: str, time_ms: int) -> None:
    assert parse_time(text) == time_ms


@pytest.mark.parametrize(
    "text", ["", "2026", "2026-11-15", "2026-13-01T00:00:00.000", "2026-11-15T20:00:00.5"]
)
def test_what_is_not_a_time(text: str) -> None:
    with pytest.raises(CommandError, match=f"'{text}' is not a time"):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("PT0S", 0),
        ("PT1.5S", 1500),
        ("PT0,001S", 1),
        ("P1D", 86_400_000),
        ("P1DT2H3M4S", 93_784_000),
        ("pt1h", 3_600_000),
        ("-PT1M", -60_000),
        ("P-1DT+24H", 0),
    ],
)
def test_durations(text: str, duration_ms: int) -> None:
    assert parse_duration(text) == duration_ms


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "5D", "P1H", "P1Y", "PT1.5H"])
def test_what_is_not_a_duration(text: str) -> None:
    with pytest.raises(CommandError, match=f"'{text}' is not a duration"):
        parse_duration(text)
