"""Dead letters on a real broker, without Spark: what they carry, and what is done with the large ones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from gralha.client.errors import ClientError
from gralha.pipelines.dead_letters import DeadLetters
from tests.pipelines.topics import create, read

SCHEMA = StructType([StructField("n", IntegerType())])


def record(value: bytes, offset: int, headers: Any = None) -> dict[str, Any]:
    at = datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)
    origin = {"topic": "numbers", "partition": 3, "offset": offset, "timestamp": at}
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
