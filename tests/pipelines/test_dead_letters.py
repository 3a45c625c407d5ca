"""Dead letters on a real broker, without Spark: what they carry, and what is done with the large ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from gralha.client.errors import ClientError
from gralha.pipelines.dead_letters import DeadLetters, origins
from tests.pipelines.topics import create, read

SCHEMA = StructType([StructField("n", IntegerType())])


AT = 1_767_323_045_678_000


def record(value: bytes, offset: int, headers: Any = None) -> dict[str, Any]:
    origin = {"topic": "numbers", "partition": 3, "offset": offset, "timestamp": AT}
    return {**origin, "key": b"k", "value": value, "headers": headers}


def letters(bootstrap: str, topic: str) -> DeadLetters:
    return DeadLetters("sums", topic, SCHEMA, {"bootstrap.servers": bootstrap, "delivery.timeout.ms": "5000"})


def test_a_letter_is_its_record_and_its_story(bootstrap: str, new_name: Callable[[str], str]) -> None:
    topic = new_name("letters")
    create(bootstrap, topic)

    letters(bootstrap, topic).write([record(b"x", 7, [{"key": "trace", "value": None}]), record(b"[]", 8)])

    first, second = read(bootstrap, topic)
    assert (first.key(), first.value()) == (b"k", b"x")
    assert first.headers() == [
        ("trace", None),
        ("gralha.pipeline", b"sums"),
        ("gralha.reason", b"the value is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("gralha.topic", b"numbers"),
        ("gralha.partition", b"3"),
        ("gralha.offset", b"7"),
        ("gralha.timestamp", b"2026-01-02T03:04:05.678000+00:00"),
    ]
    assert dict(second.headers())["gralha.offset"] == b"8"


def test_a_value_that_is_too_large_is_left_out(bootstrap: str, new_name: Callable[[str], str]) -> None:
    topic = new_name("letters")
    create(bootstrap, topic, max_message_bytes="150000")

    letters(bootstrap, topic).write([record(b"small", 1), record(b"x" * 300_000, 2), record(b"small too", 3)])

    by_offset = {dict(letter.headers())["gralha.offset"]: letter for letter in read(bootstrap, topic)}
    assert {offset: letter.value() for offset, letter in by_offset.items()} == {
        b"1": b"small",
        b"2": None,
        b"3": b"small too",
    }
    assert dict(by_offset[b"2"].headers())["gralha.value"] == b"left out: too large for this topic"


def test_letters_that_cannot_be_written_are_an_error(bootstrap: str) -> None:
    with pytest.raises(ClientError):
        letters("localhost:1", "letters").write([record(b"x", 1)])


@pytest.mark.parametrize(
    ("microseconds", "told"),
    [
        (None, b""),
        (0, b"1970-01-01T00:00:00+00:00"),
        (-1, b"1969-12-31T23:59:59.999999+00:00"),
        (AT, b"2026-01-02T03:04:05.678000+00:00"),
        (1_700_000_000_000_000_000, b"1700000000000000 ms since 1970"),
    ],
)
def test_every_time_of_a_record_can_be_told(microseconds: int | None, told: bytes) -> None:
    times = pa.array([microseconds], pa.int64()).cast(pa.timestamp("us", "UTC"))
    (one,) = origins(pa.StructArray.from_arrays([times, pa.array([b"x"])], ["timestamp", "value"]))
    letter = letters("localhost:1", "letters").letter({**record(b"x", 1), **one})
    assert {"key": "gralha.timestamp", "value": told} in letter["headers"]


def test_half_a_character_in_a_value_is_told() -> None:
    letter = letters("localhost:1", "letters").letter(record(b'{"n": "\\ud800"}', 1))
    said = b'the field n is a text, not INT: "?"'
    assert {"key": "gralha.reason", "value": said} in letter["headers"]
