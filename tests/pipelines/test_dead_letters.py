"""Dead letters on a real broker, without Spark: their content, and letters that are too large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Message
from pyspark.sql.types import IntegerType, StructField, StructType

from gralha.client.errors import ClientError
from gralha.pipelines.dead_letters import DeadLetters, origins
from tests.pipelines.topics import create, read
from tests.received import headers_of

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
    assert dict(headers_of(second))["gralha.offset"] == b"8"


def number_in(letter: Message, header: str) -> int:
    value = dict(headers_of(letter))[header]
    assert value is not None
    return int(value)


@pytest.mark.parametrize("kind", ["gralha", "apache"])
def test_what_is_too_large_for_the_topic_is_left_out(
    cluster_of: Callable[[str], str], kind: str, new_name: Callable[[str], str]
) -> None:
    bootstrap, topic = cluster_of(kind), new_name("letters")
    create(bootstrap, topic, max_message_bytes="2000")
    large = b"x" * 3_000

    letters(bootstrap, topic).write(
        [
            record(b"small", 1),
            record(large, 2, [{"key": "trace", "value": b"t"}]),
            record(b"small too", 3),
            {**record(b"x", 4), "key": large},
            record(b"x", 5, [{"key": "trace", "value": large}]),
            record(b"x" * 20_000_000, 6),
        ]
    )

    by_offset = {number_in(letter, "gralha.offset"): letter for letter in read(bootstrap, topic)}
    assert {offset: (letter.key(), letter.value()) for offset, letter in by_offset.items()} == {
        1: (b"k", b"small"),
        2: (b"k", None),
        3: (b"k", b"small too"),
        4: (None, None),
        5: (None, None),
        6: (b"k", None),
    }
    headers = {offset: dict(headers_of(letter)) for offset, letter in by_offset.items()}
    left_out = b"left out: too large for this topic"
    assert [headers[offset].get("gralha.value") for offset in (1, 2, 4)] == [None, left_out, left_out]
    assert [headers[offset].get("gralha.key") for offset in (2, 4, 5)] == [None, left_out, left_out]
    assert [headers[offset].get("trace") for offset in (2, 5)] == [b"t", None]
    assert headers[5]["gralha.topic"] == b"numbers"


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
