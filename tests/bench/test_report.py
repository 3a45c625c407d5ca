"""The tables of `make bench`."""

from __future__ import annotations

import pytest
from bench.report import Measure, table


@pytest.mark.parametrize(
    ("measure", "ours", "theirs", "verdict"),
    [
        (Measure("a", "a", "/ s", 2.0), 4.0, 2.0, "PASS"),
        (Measure("a", "a", "/ s", 2.0), 3.0, 2.0, "below"),
        (Measure("a", "a", "/ s", 2.0), 3.0, None, ""),
        (Measure("a", "a", "s", 0.5, more_is_better=False, at_most=1), 2.0, 8.0, "below"),
        (Measure("a", "a", "%", at_most=2), 1.9, None, "PASS"),
        (Measure("a", "a", "%", at_most=2), 2.1, None, "below"),
        (Measure("a", "a", "%", at_most=2), 0.0, 0.0, "PASS"),
        (Measure("a", "a", "%", at_most=2), None, None, ""),
        (Measure("a", "a", "s"), 2.0, 1.0, ""),
    ],
)
def test_the_verdict_of_a_row(
    measure: Measure, ours: float | None, theirs: float | None, verdict: str
) -> None:
    assert measure.verdict(ours, theirs) == verdict


def test_a_limit_that_only_gralha_has_is_in_the_table() -> None:
    measure = Measure("share", "metrics", "%", at_most=2)
    rows = table("the broker", [measure], ("Apache Kafka", None), ("Gralha", {"share": 1.25})).splitlines()
    assert rows[1].split() == ["metrics", "%", "-", "1.25", "<=", "2", "%", "PASS"]
