"""The reason of a dead letter: why a value does not fit a schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from gralha.pipelines.misfits import reason

SCHEMA = StructType(
    [
        StructField("product", StringType(), nullable=False),
        StructField("amount", DoubleType()),
        StructField("count", LongType()),
        StructField("small", ByteType()),
        StructField("paid", BooleanType()),
        StructField("at", TimestampType()),
        StructField("tags", ArrayType(LongType())),
        StructField(
            "shop", StructType([StructField("city", StringType()), StructField("number", LongType())])
        ),
        StructField("prices", MapType(StringType(), DoubleType())),
    ]
)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (b"", "the value is empty"),
        (b"  \n", "the value is empty"),
        (b"\xff\x00", "the value is not text in UTF-8: byte 0 is 0xff"),
        (b"{", "the value is not JSON: Expecting property name"),
        (b"[1]", "the value is an array, not a JSON object: [1]"),
        (b"null", "the value is null, not a JSON object"),
        (b"[" * 100_000, "the value is nested too deeply"),
        ({}, "the field product is missing"),
        ({"product": None}, "the field product is null"),
        ({"product": "a", "amount": "7"}, 'the field amount is a text, not DOUBLE: "7"'),
        ({"product": "a", "amount": True}, "the field amount is a boolean, not DOUBLE: true"),
        ({"product": "a", "count": 1.5}, "the field count is a number, not BIGINT: 1.5"),
        ({"product": "a", "small": 128}, "the field small is a number, not TINYINT: 128"),
        ({"product": "a", "paid": 1}, "the field paid is a number, not BOOLEAN: 1"),
        ({"product": "a", "at": "soon"}, 'the field at is a text, not TIMESTAMP: "soon"'),
        ({"product": "a", "at": []}, "the field at is an array, not TIMESTAMP: []"),
        ({"product": "a", "tags": [1, "x"]}, 'the field tags[1] is a text, not BIGINT: "x"'),
        ({"product": "a", "tags": {}}, "the field tags is an object, not ARRAY<BIGINT>: {}"),
        ({"product": "a", "shop": {"number": "x"}}, 'the field shop.number is a text, not BIGINT: "x"'),
        ({"product": "a", "shop": "x"}, "the field shop is a text, not STRUCT<CITY:STRING,NUMBER:BIGINT>"),
        ({"product": "a", "prices": {"eur": "x"}}, 'the field prices.eur is a text, not DOUBLE: "x"'),
        ({"product": "a", "amount": "x" * 100}, '"' + "x" * 59 + "..."),
        ({"product": "a"}, "the value does not fit the schema"),
        ({"product": "a", "amount": "\ud800"}, 'the field amount is a text, not DOUBLE: "?"'),
        ({"product": "a", "prices": {"\udfff": "x"}}, "the field prices.? is a text, not DOUBLE"),
    ],
)
def test_reasons(value: Any, sentence: str) -> None:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    assert sentence in reason(data, SCHEMA)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(SCHEMA.names) | st.text(), inner),
    max_leaves=10,
)


@given(st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
def test_every_value_gets_a_sentence_on_one_line(value: bytes) -> None:
    sentence = reason(value, SCHEMA)
    assert sentence.startswith("the ")
    assert "\n" not in sentence
    assert sentence.encode()


def test_a_sentence_has_an_end() -> None:
    assert len(reason(json.dumps({"product": "a", "prices": {"x" * 10_000: "y"}}).encode(), SCHEMA)) == 500


def test_a_value_that_is_nested_too_deeply_to_be_shown() -> None:
    for depth in range(300, 1100):
        value = b'{"product":"a","amount":' + b"[" * depth + b"]" * depth + b"}"
        assert reason(value, SCHEMA).startswith(("the field amount is an array", "the value "))
