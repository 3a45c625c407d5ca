"""The comparison of rows, and the text of a difference."""

import datetime

import pytest

from gralha.pipelines.differences import difference, plain

TEA = {"product": "tea", "total": 5.0}
CAKE = {"product": "cake", "total": 2.0}


def test_order_does_not_matter() -> None:
    assert difference([TEA, CAKE], [CAKE, TEA]) is None


def test_as_often_as_expected() -> None:
    assert difference([TEA, TEA], [TEA, TEA]) is None
    assert difference([TEA, TEA], [TEA]) is not None
    assert difference([TEA], [TEA, TEA]) is not None


def test_only_the_named_columns_are_compared() -> None:
    assert difference([{**TEA, "window": {"start": "x"}}], [{"product": "tea"}]) is None


def test_nothing_expected_is_an_expectation() -> None:
    assert difference([], []) is None
    assert difference([TEA], []) == "1 row unexpected (+):\n    product  total\n  + tea      5.0"


def test_a_difference_shows_what_came_in_place_of_what() -> None:
    assert difference([CAKE, {"product": "tea", "total": 4.0}], [TEA, CAKE]) == (
        "1 row missing (-), 1 row unexpected (+):\n"
        "    product  total\n"
        "  - tea      5.0\n"
        "  + tea      4.0\n"
        "    cake     2.0"
    )


def test_a_column_that_is_not_there_is_said() -> None:
    text = difference([TEA], [{"product": "tea", "sum": 5.0}])
    assert text is not None
    assert "(no such column)" in text


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (0.1 + 0.2, 0.3),
        (1, 1.0),
        (float("nan"), float("nan")),
        (datetime.datetime(2026, 1, 1, 10, tzinfo=datetime.UTC), "2026-01-01 10:00"),
        (datetime.datetime(2026, 1, 1, 10, tzinfo=datetime.UTC), datetime.datetime(2026, 1, 1, 10)),
        (datetime.datetime(2026, 1, 1, 10, tzinfo=datetime.UTC), "2026-01-01T10:00:00Z"),
        (b"text", "text"),
        ([{"a": 1}], [{"a": 1.0}]),
        (None, None),
    ],
)
def test_equal_values(actual: object, expected: object) -> None:
    assert difference([{"x": actual}], [{"x": expected}]) is None


@pytest.mark.parametrize(
    ("actual", "expected"),
    [(1, 2), (True, 1.5), (None, 0), ("1", 1), (b"\xff", "x"), ([1], [1, 2]), ({"a": 1}, {})],
)
def test_different_values(actual: object, expected: object) -> None:
    assert difference([{"x": actual}], [{"x": expected}]) is not None


def test_times_are_text_in_utc() -> None:
    berlin = datetime.timezone(datetime.timedelta(hours=1))
    assert (
        plain(datetime.datetime(2026, 1, 1, 1, 0, 0, 500_000, tzinfo=berlin)) == "2026-01-01 00:00:00.500000"
    )
