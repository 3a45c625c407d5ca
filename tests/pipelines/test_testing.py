"""Tests of pipelines with rows, as a person would write them in pytest: with a stream, without a broker."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import pytest

from gralha.pipelines import Pipeline, PipelineError, from_topic, pipeline, to_topic
from gralha.pipelines.testing import check, run_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SALES = from_topic(
    "sales",
    schema="product STRING NOT NULL, amount DOUBLE, at TIMESTAMP",
    watermark=("at", "10 seconds"),
)
TEA = {"product": "tea", "amount": 2.0, "at": "2026-01-01 10:00:01"}
CAKE = {"product": "cake", "amount": 7.5, "at": "2026-01-01 10:00:02"}
LATER = {"product": "tea", "amount": 1.0, "at": "2026-01-01 11:00:00"}


@pipeline(inputs={"sales": SALES}, output=to_topic("large-sales"))
def large(sales: DataFrame) -> DataFrame:
    return sales.where("amount > 5")


@pipeline(inputs={"sales": SALES}, output=to_topic("totals", key="product"))
def totals(sales: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    return sales.groupBy(F.window("at", "10 seconds"), "product").agg(F.sum("amount").alias("total"))


def declared(function: Any, **more: Any) -> Pipeline:
    return pipeline(inputs={"sales": SALES}, output=to_topic("out"), **more)(function)


def test_rows_go_in_and_come_out(spark: SparkSession) -> None:
    result = run_rows(large, session=spark, sales=[TEA, CAKE])
    check(result, [{"product": "cake", "amount": 7.5, "at": "2026-01-01 10:00:02"}])
    # Plain values, so that plain comparisons work.
    assert result[0]["at"] == "2026-01-01 10:00:02"
    assert result.dead_letters == []


def test_a_window_closes_when_the_watermark_has_passed_it(spark: SparkSession) -> None:
    open_still = run_rows(totals, session=spark, sales=[TEA, TEA])
    assert open_still == []
    closed = run_rows(totals, session=spark, sales=[[TEA, TEA], [LATER], [TEA]])
    window = {"start": "2026-01-01 10:00", "end": "2026-01-01 10:00:10"}
    assert closed.batches[0] == []
    check(closed, [{"product": "tea", "total": 6.0, "window": window}])


def test_update_mode_gives_every_change_and_complete_mode_the_last_table(spark: SparkSession) -> None:
    def sums(sales: DataFrame) -> DataFrame:
        return sales.groupBy("product").sum("amount").withColumnRenamed("sum(amount)", "total")

    changes = run_rows(declared(sums, output_mode="update"), session=spark, sales=[[TEA], [TEA, CAKE]])
    check(
        changes,
        [
            {"product": "tea", "total": 2.0},
            {"product": "tea", "total": 4.0},
            {"product": "cake", "total": 7.5},
        ],
    )
    whole = run_rows(declared(sums, output_mode="complete"), session=spark, sales=[[TEA], [TEA, CAKE]])
    check(whole, [{"product": "tea", "total": 4.0}, {"product": "cake", "total": 7.5}])


def test_the_function_sees_where_a_record_came_from(spark: SparkSession) -> None:
    def origin(sales: DataFrame) -> DataFrame:
        return sales.select("_key", "_topic", "_partition", "_offset", "_timestamp", "_headers", "product")

    about = {
        "_key": "k",
        "_partition": 3,
        "_timestamp": datetime.datetime(2026, 5, 1, 12),
        "_headers": [("trace", "abc")],
    }
    result = run_rows(declared(origin), session=spark, sales=[{**TEA, **about}, CAKE])
    expected = {
        **about,
        "_topic": "sales",
        "_offset": 0,
        "_headers": [{"key": "trace", "value": "abc"}],
        "product": "tea",
    }
    check([result[0]], [expected])
    assert (result[1]["_key"], result[1]["_offset"], result[1]["_headers"]) == (None, 1, None)


def test_what_does_not_parse_is_a_dead_letter(spark: SparkSession) -> None:
    result = run_rows(large, session=spark, sales=[CAKE, "no JSON", {"amount": 9.0}, None])
    check(result, [{"product": "cake"}])
    assert [(letter["offset"], letter["value"]) for letter in result.dead_letters] == [
        (1, "no JSON"),
        (2, '{"amount": 9.0}'),
    ]
    assert "product" in result.dead_letters[1]["reason"]


def test_two_inputs_go_on_batch_by_batch(spark: SparkSession) -> None:
    prices = from_topic("prices", schema="product STRING, price DOUBLE")

    @pipeline(inputs={"sales": SALES, "prices": prices}, output=to_topic("out"))
    def joined(sales: DataFrame, prices: DataFrame) -> DataFrame:
        return sales.join(prices, "product").select("product", "amount", "price")

    result = run_rows(joined, session=spark, sales=[TEA], prices=[[], [{"product": "tea", "price": 1.5}]])
    check(result, [{"product": "tea", "amount": 2.0, "price": 1.5}])
    assert run_rows(joined, session=spark, sales=[TEA]) == []


def test_without_a_schema_a_row_is_the_value(spark: SparkSession) -> None:
    @pipeline(inputs={"lines": from_topic("lines")}, output=to_topic("out"))
    def shouted(lines: DataFrame) -> DataFrame:
        return lines.selectExpr("upper(CAST(value AS STRING)) AS line")

    lines: list[dict[str, str] | str | bytes] = ["one", b"two", {"value": "three"}]
    result = run_rows(shouted, session=spark, lines=lines)
    check(result, [{"line": "ONE"}, {"line": "TWO"}, {"line": "THREE"}])


def test_a_wrong_input_is_named(spark: SparkSession) -> None:
    with pytest.raises(TypeError, match="large has no input 'sale'; it has sales"):
        run_rows(large, session=spark, sale=[TEA])


def test_an_error_of_the_function_says_where(spark: SparkSession) -> None:
    def wrong(sales: DataFrame) -> DataFrame:
        return sales.select("prodcut")

    with pytest.raises(PipelineError, match=r"test_testing\.py:\d+: pipeline wrong: .*prodcut"):
        run_rows(declared(wrong), session=spark, sales=[TEA])


def test_a_difference_is_an_assertion_with_a_table() -> None:
    with pytest.raises(AssertionError, match="1 row missing") as failure:
        check([{"product": "tea", "total": 4.0}], [{"product": "tea", "total": 5.0}])
    assert "  - tea      5.0\n  + tea      4.0" in str(failure.value)


def test_a_value_that_is_not_one_object_is_a_dead_letter(spark: SparkSession) -> None:
    extra = "the value is not JSON: Extra data: line"
    reasons: dict[bytes, str] = {
        b'{"product":"tea"}{"product":"lost"}': f"{extra} 1 column 18 (char 17)",
        b'{"product":"tea"} x': f"{extra} 1 column 19 (char 18)",
        b'{"product":"tea"}} x': f"{extra} 1 column 18 (char 17)",
        b'{"product":"tea"},': f"{extra} 1 column 18 (char 17)",
        b'{"product":"tea"},{}': f"{extra} 1 column 18 (char 17)",
        b'{"product":"tea"},"amount":2': f"{extra} 1 column 18 (char 17)",
        b'{"product":"tea"}\n{}': f"{extra} 2 column 1 (char 18)",
        b'{"product":"t\xff"}': "the value is not text in UTF-8: byte 13 is 0xff",
        b'[{"product":"tea"}]': 'the value is an array, not a JSON object: [{"product": "tea"}]',
        b'{"product":"tea","amount":"two"}': 'the field amount is a text, not DOUBLE: "two"',
        b"null": "the value is null, not a JSON object: null",
        b"": "the value is empty",
    }
    good = [None, b' {"product":"tea"}\n', b'{"product":"t\xc3\xa9"}', TEA]
    result = run_rows(declared(lambda sales: sales, name="all"), session=spark, sales=[*reasons, *good])
    assert [row["product"] for row in result] == [None, "tea", "té", "tea"]
    assert [letter["reason"] for letter in result.dead_letters] == list(reasons.values())
