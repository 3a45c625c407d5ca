"""Hypothesis strategies for records and batches, shared by the tests of records."""

from __future__ import annotations

from hypothesis import strategies as st

from gralha.protocol.records import Record

INT64 = st.integers(-(2**63), 2**63 - 1)
TIMESTAMPS = st.one_of(st.integers(1_600_000_000_000, 1_900_000_000_000), st.just(-1), INT64)
CONTENT = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=50)), max_size=4)

RECORDS = st.lists(st.builds(Record, CONTENT, CONTENT, TIMESTAMPS, HEADERS), min_size=1, max_size=20)


def content(record: Record) -> tuple[object, ...]:
    """What a producer says about a record."""
    return record.key, record.value, record.timestamp, record.headers
