"""Compares the rows of a pipeline with the rows that a test expects, and shows the differences.

Rows are dicts of plain values. Their order does not matter, because Spark guarantees none. Only columns of
the expected rows are compared. Times are text in UTC (`plain`), and numbers may differ by rounding.
"""

import datetime
import decimal
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
ROUNDING = 1e-9
NO_COLUMN = "(no such column)"


def plain(value: Any) -> Any:
    """A value as tests write it: times and dates as text, and binary values as text if they are text."""
    if isinstance(value, datetime.datetime):
        utc = value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
        return utc.isoformat(sep=" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return _text(bytes(value))
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def difference(actual: Sequence[Row], expected: Sequence[Row]) -> str | None:
    """A table of missing (-) and unexpected (+) rows, or None if there are none."""
    wanted = [plain(row) for row in expected]
    columns = _columns(wanted) or _columns(actual)
    got = [{name: plain(row.get(name, NO_COLUMN)) for name in columns} for row in actual]
    wanted = [{name: row.get(name) for name in columns} for row in wanted]
    same, missing, unasked = _matched(got, wanted)
    if not missing and not unasked:
        return None
    lines = [*_pairs(missing, unasked), *((" ", row) for row in same)]
    return "\n".join([_headline(len(missing), len(unasked)), *_table(columns, lines)])


def _columns(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _matched(got: Sequence[Row], wanted: Sequence[Row]) -> tuple[list[Row], list[Row], list[Row]]:
    """The rows of both, the rows that are missing, and the rows that are unexpected."""
    left = list(got)
    same: list[Row] = []
    missing: list[Row] = []
    for row in wanted:
        twin = next((one for one in left if _equal(one, row)), None)
        if twin is None:
            missing.append(row)
        else:
            left.remove(twin)
            same.append(row)
    return same, missing, left


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if _is_number(one) and _is_number(other):
        return math.isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING) or (one != one and other != other)
    if isinstance(one, str) and isinstance(other, str):
        return one == other or _same_time(one, other)
    return bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool)


def _same_time(one: str, other: str) -> bool:
    """Returns True if both are the same time, such as `2026-01-01 10:00` and `2026-01-01T10:00:00Z`."""
    try:
        return bool(
            plain(datetime.datetime.fromisoformat(one)) == plain(datetime.datetime.fromisoformat(other))
        )
    except ValueError:
        return False


def _pairs(missing: list[Row], unasked: list[Row]) -> list[tuple[str, Row]]:
    """Each missing row, followed by the most similar unexpected row."""
    left = list(unasked)
    lines: list[tuple[str, Row]] = []
    for row in missing:
        lines.append(("-", row))
        likely = max(left, key=lambda one: _alikeness(one, row), default=None)
        if likely is not None and _alikeness(likely, row):
            left.remove(likely)
            lines.append(("+", likely))
    return lines + [("+", row) for row in left]


def _alikeness(one: Row, other: Row) -> int:
    return sum(_equal(one[name], other[name]) for name in other)


def _headline(missing: int, unasked: int) -> str:
    parts = []
    if missing:
        parts.append(f"{_rows(missing)} missing (-)")
    if unasked:
        parts.append(f"{_rows(unasked)} unexpected (+)")
    return ", ".join(parts) + ":"


def _rows(number: int) -> str:
    return f"{number} row{'' if number == 1 else 's'}"


def _table(columns: list[str], lines: list[tuple[str, Row]]) -> list[str]:
    cells = [[shown(row[name]) for name in columns] for _, row in lines]
    widths = [max(len(name), *(len(row[i]) for row in cells)) for i, name in enumerate(columns)]
    marks = [" ", *(mark for mark, _ in lines)]
    return [
        f"  {mark} " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for mark, row in zip(marks, [columns, *cells], strict=True)
    ]


def shown(value: Any) -> str:
    """A value in a table. Text is unchanged, None is null."""
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {shown(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    return str(value)
