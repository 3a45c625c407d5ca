"""Columns of all accepted Arrow types are converted to the same plain buffers."""

import struct

import pyarrow as pa
import pytest

from gralha.client.arrow_rows import (
    binary_column,
    check_columns,
    header_columns,
    partition_numbers,
    topic_numbers,
)
from gralha.client.record_builder import BinaryColumn

VALUES = ["a", None, "", "long enough not to lie inside of a view", "ü"]
EXPECTED = [None if value is None else value.encode() for value in VALUES]
TYPES = [
    pa.string(),
    pa.binary(),
    pa.large_string(),
    pa.large_binary(),
    pa.string_view(),
    pa.binary_view(),
    pa.dictionary(pa.int32(), pa.string()),
]


def contents(column: BinaryColumn, count: int) -> list[bytes | None]:
    offsets = struct.unpack(f"<{count + 1}i", column.offsets)
    there = column.is_there or b"\x01" * count
    return [
        column.data[start:end] if flag else None
        for start, end, flag in zip(offsets, offsets[1:], there, strict=False)
    ]


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("cut", [0, 1, 3])
def test_text_and_bytes_of_every_type(kind: pa.DataType, cut: int) -> None:
    array = (
        pa.array(VALUES, pa.string()).cast(kind) if pa.types.is_dictionary(kind) else pa.array(VALUES, kind)
    )
    check_columns(pa.schema([("value", kind)]), True)
    assert contents(binary_column(array[cut:]), len(VALUES) - cut) == EXPECTED[cut:]
    assert contents(binary_column(array[:cut]), cut) == EXPECTED[:cut]


def test_a_column_of_nothing_but_nulls_needs_no_type() -> None:
    check_columns(pa.schema([("value", pa.null()), ("headers", pa.null())]), True)
    assert contents(binary_column(pa.nulls(3)), 3) == [None, None, None]
    assert header_columns(pa.nulls(3)) is None


@pytest.mark.parametrize("make_list", [pa.list_, pa.large_list])
@pytest.mark.parametrize("names", [("key", "value"), ("value", "key")])
def test_headers_of_a_part_of_an_array(make_list: type, names: tuple[str, str]) -> None:
    kind = make_list(pa.struct([(name, pa.string() if name == "key" else pa.binary()) for name in names]))
    rows = [
        [{"key": "cut", "value": b"off"}],
        [{"key": "a", "value": b"1"}, {"key": "b", "value": None}],
        None,
        [],
        [{"key": "c", "value": b""}],
    ]
    check_columns(pa.schema([("value", pa.string()), ("headers", kind)]), True)
    columns = header_columns(pa.array(rows, kind)[1:])
    assert columns is not None
    assert struct.unpack("<5i", columns.starts) == (0, 2, 2, 2, 3)
    assert contents(columns.keys, 3) == [b"a", b"b", b"c"]
    assert contents(columns.values, 3) == [b"1", None, b""]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64()])
def test_partitions_of_every_size(kind: pa.DataType) -> None:
    assert struct.unpack("<3i", partition_numbers(pa.array([9, 2, None, 0], kind)[1:])) == (2, -1, 0)


def test_topics_are_numbered() -> None:
    names, numbers = topic_numbers(pa.array(["cut", "b", "a", "b"])[1:])
    assert [names[number] for number in struct.unpack("<3i", numbers)] == ["b", "a", "b"]
