"""Pipelines on a real broker and the shared Spark session, from records to records."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812

from gralha.pipelines import CannotStartError, Pipeline, from_topic, pipeline, to_table, to_topic
from gralha.pipelines.events import Event, Failed, Progressed, Restarting, Started, Stopped
from gralha.pipelines.running import Outcome, RunOptions, run
from tests.pipelines.topics import create, read, read_values, write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SALES = "product STRING NOT NULL, amount DOUBLE, at TIMESTAMP"


class Runner:
    """Runs pipelines on what there is, and remembers what happened."""

    def __init__(self, spark: SparkSession, bootstrap: str, checkpoints: Path) -> None:
        self.spark = spark
        self.options = RunOptions(
            bootstrap_servers=bootstrap, checkpoints=str(checkpoints), available_now=True
        )
        self.events: list[Event] = []

    def __call__(self, *pipelines: Pipeline) -> list[Outcome]:
        self.events = []
        return run(pipelines, self.spark, self.options, on_event=self.events.append)

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def runner(spark: SparkSession, bootstrap: str, tmp_path: Path) -> Runner:
    return Runner(spark, bootstrap, tmp_path / "checkpoints")


def large_sales(source: str, target: str) -> Pipeline:
    @pipeline(
        inputs={"sales": from_topic(source, schema=SALES)},
        output=to_topic(target),
        name=target,
    )
    def large(sales: DataFrame) -> DataFrame:
        return sales.filter("amount > 10")

    return large


def test_records_flow_and_keep_their_keys_and_headers(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    source, target = new_name("sales"), new_name("large")
    create(bootstrap, source)
    rows = [{"product": "a", "amount": 5.0}, {"product": "b", "amount": 50.0, "other": 1}]
    write(bootstrap, source, rows, key="shop-1", headers=[("trace", b"x")])

    outcomes = runner(large_sales(source, target))

    assert outcomes == [Outcome(target, 0)]
    (record,) = read(bootstrap, target)
    assert record.key() == b"shop-1"
    assert record.headers() == [("trace", b"x")]
    assert record.value() == b'{"product":"b","amount":50.0,"at":null}'
    assert [type(event) for event in runner.events if not isinstance(event, Progressed)] == [Started, Stopped]


def test_what_does_not_fit_goes_to_the_dead_letters_and_the_rest_flows(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    source, target = new_name("sales"), new_name("large")
    create(bootstrap, source)
    write(bootstrap, source, [{"product": "a", "amount": 50.0}])
    bad = [b"nonsense", {"amount": 11.0}, {"product": "b", "amount": "many"}, b""]
    write(bootstrap, source, bad, key="k", headers=[("trace", b"x")])
    write(bootstrap, source, [{"product": "c", "amount": 60.0}])

    assert runner(large_sales(source, target)) == [Outcome(target, 0)]

    assert [row["product"] for row in read_values(bootstrap, target)] == ["a", "c"]
    letters = read(bootstrap, f"{target}.dead-letters")
    assert [letter.value() for letter in letters][0] == b"nonsense"
    assert [letter.key() for letter in letters] == [b"k"] * 4
    headers = [dict(letter.headers()) for letter in letters]
    assert [one["gralha.reason"].decode() for one in headers] == [
        "the value is not JSON: Expecting value: line 1 column 1 (char 0)",
        "the field product is missing",
        'the field amount is a text, not DOUBLE: "many"',
        "the value is empty",
    ]
    assert {one["trace"] for one in headers} == {b"x"}
    assert {one["gralha.pipeline"].decode() for one in headers} == {target}
    assert [(one["gralha.topic"].decode(), one["gralha.offset"]) for one in headers] == [
        (source, str(offset).encode()) for offset in (1, 2, 3, 4)
    ]
    assert headers[0]["gralha.timestamp"].startswith(b"20")
    assert sum(event.progress.dead_letters for event in runner.of(Progressed)) == 4


def test_a_second_run_goes_on_where_the_first_ended(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    source, target = new_name("sales"), new_name("large")
    create(bootstrap, source)
    write(bootstrap, source, [{"product": "a", "amount": 50.0}])
    runner(large_sales(source, target))
    write(bootstrap, source, [{"product": "b", "amount": 50.0}])

    runner(large_sales(source, target))

    assert [row["product"] for row in read_values(bootstrap, target)] == ["a", "b"]
    assert [event.resumes for event in runner.of(Started)] == [True]
