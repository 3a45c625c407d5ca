"""Pipelines on real brokers, ours and Apache Kafka, and the shared Spark session, from records to records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import confluent_kafka
import pytest
from pyspark.sql import functions as F  # noqa: N812

from gralha.pipelines import Pipeline, from_topic, pipeline, to_table, to_topic
from gralha.pipelines.events import Progressed, Started, Stopped
from tests.pipelines.runner import Runner
from tests.pipelines.topics import create, read, read_values, write
from tests.received import header_values, key_of, value_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SALES = "product STRING NOT NULL, amount DOUBLE, at TIMESTAMP"


@pytest.fixture(params=["gralha", "apache"])
def bootstrap(request: pytest.FixtureRequest, cluster_of: Callable[[str], str]) -> str:
    """Tests run on both clusters, unless they hardly depend on the cluster."""
    return cluster_of(request.param)


ON_ONE_CLUSTER = pytest.mark.parametrize("bootstrap", ["gralha"], indirect=True)


def large_sales(source: str, target: str) -> Pipeline:
    @pipeline(
        inputs={"sales": from_topic(source, schema=SALES)},
        output=to_topic(target),
        name=target,
    )
    def large(sales: DataFrame) -> DataFrame:
        return sales.filter("amount > 10")

    return large


def test_records_flow_and_what_does_not_fit_goes_to_the_dead_letters(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    source, target = new_name("sales"), new_name("large")
    create(bootstrap, source)
    good = [{"product": "a", "amount": 5.0}, {"product": "b", "amount": 50.0, "other": 1}]
    bad = [b"nonsense", {"amount": 11.0}, {"product": "b", "amount": "many"}, b""]
    write(bootstrap, source, [*good, *bad], key="shop-1", headers=[("trace", b"x")])
    # A tombstone fits every schema.
    write(bootstrap, source, [None, {"product": "c", "amount": 60.0}])

    assert [outcome.error for outcome in runner(large_sales(source, target))] == [None]

    first, second = read(bootstrap, target)
    assert (first.key(), first.headers()) == (b"shop-1", [("trace", b"x")])
    assert first.value() == b'{"product":"b","amount":50.0,"at":null}'
    assert second.key() is None
    assert {type(event) for event in runner.events} == {Started, Progressed, Stopped}
    assert sum(event.progress.dead_letters for event in runner.of(Progressed)) == 4
    check_letters(read(bootstrap, f"{target}.dead-letters"), source, target)
    assert committed(bootstrap, target, source) == 8


def committed(bootstrap: str, group: str, topic: str) -> int:
    """The committed offsets of a consumer group, as any Kafka client sees them."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        (place,) = consumer.committed([confluent_kafka.TopicPartition(topic, 0)], timeout=60)
        return int(place.offset)
    finally:
        consumer.close()


def check_letters(letters: list[confluent_kafka.Message], source: str, target: str) -> None:
    assert [letter.key() for letter in letters] == [b"shop-1"] * 4
    assert letters[0].value() == b"nonsense"
    headers = [header_values(letter) for letter in letters]
    assert [one["gralha.reason"].decode() for one in headers] == [
        "the value is not JSON: Expecting value: line 1 column 1 (char 0)",
        "the field product is missing",
        'the field amount is a text, not DOUBLE: "many"',
        "the value is empty",
    ]
    assert {one["trace"] for one in headers} == {b"x"}
    assert {one["gralha.pipeline"].decode() for one in headers} == {target}
    assert [(one["gralha.topic"].decode(), one["gralha.offset"]) for one in headers] == [
        (source, str(offset).encode()) for offset in (2, 3, 4, 5)
    ]
    assert headers[0]["gralha.timestamp"].startswith(b"20")


def totals(source: str, target: str, mode: str = "update", window: str = "1 minute") -> Pipeline:
    @pipeline(
        inputs={"sales": from_topic(source, schema=SALES, watermark=("at", "10 seconds"))},
        output=to_topic(target, key="product"),
        output_mode=mode,
        name=target,
    )
    def sums(sales: DataFrame) -> DataFrame:
        grouped = sales.groupBy(F.window("at", window), "product").agg(F.sum("amount").alias("total"))
        return grouped.select("product", F.col("window.start").alias("start"), "total")

    return sums


def sale(product: str, amount: float, second: int) -> dict[str, object]:
    return {
        "product": product,
        "amount": amount,
        "at": f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z",
    }


@pytest.mark.needs_spark(4, 2)  # with 4.1 AvailableNow is one batch, so the watermark moves with the next run
def test_a_windowed_sum_keeps_its_state_between_runs(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    source, target = new_name("sales"), new_name("totals")
    create(bootstrap, source)
    write(bootstrap, source, [sale("a", 1.0, 1), sale("a", 2.0, 2), sale("b", 5.0, 3), sale("a", 1.0, 90)])
    runner(totals(source, target))
    # The watermark is at 1:20 now, so the first row is too late for its window.
    write(bootstrap, source, [sale("a", 100.0, 5), sale("a", 4.0, 91)])
    runner(totals(source, target))

    found = [(key_of(record), json.loads(value_of(record))) for record in read(bootstrap, target)]
    assert sorted((key.decode(), row["start"][14:16], row["total"]) for key, row in found) == [
        ("a", "00", 3.0),
        ("a", "01", 1.0),
        ("a", "01", 5.0),
        ("b", "00", 5.0),
    ]
    assert sum(event.progress.late_rows_dropped for event in runner.of(Progressed)) == 1
    assert runner.of(Progressed)[-1].progress.lag == 0
    assert runner.of(Progressed)[-1].progress.state_rows > 0


@ON_ONE_CLUSTER
def test_a_table_and_a_topic_get_the_same_rows(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    source, target = new_name("sales"), new_name("copies")
    create(bootstrap, source)
    table = tmp_path / "table"

    @pipeline(
        inputs={"sales": from_topic(source, schema=SALES)},
        output=[to_topic(target, key=["product", "amount"]), to_table(str(table), partition_by="product")],
        name=target,
    )
    def copies(sales: DataFrame) -> DataFrame:
        return sales.select("product", "amount")

    write(bootstrap, source, [sale("a", 1.0, 1), sale("b", 2.0, 2), b"nonsense"])
    runner(copies)
    write(bootstrap, source, [sale("a", 3.0, 3)])
    runner(copies)

    assert [(row["product"], row["amount"]) for row in read_values(bootstrap, target)] == [
        ("a", 1.0),
        ("b", 2.0),
        ("a", 3.0),
    ]
    assert read(bootstrap, target)[0].key() == b'{"product":"a","amount":1.0}'
    rows = runner.spark.read.parquet(str(table)).collect()
    assert sorted((row["product"], row["amount"]) for row in rows) == [("a", 1.0), ("a", 3.0), ("b", 2.0)]
    assert len(read(bootstrap, f"{target}.dead-letters")) == 1
    assert len(list(table.glob("batch=*"))) == 2


@ON_ONE_CLUSTER
def test_two_inputs_are_joined(runner: Runner, bootstrap: str, new_name: Callable[[str], str]) -> None:
    orders, payments, target = new_name("orders"), new_name("payments"), new_name("paid")
    create(bootstrap, orders)
    create(bootstrap, payments)

    @pipeline(
        inputs={
            "orders": from_topic(orders, schema="id INT, at TIMESTAMP", watermark=("at", "1 minute")),
            "payments": from_topic(
                payments, schema="order INT, sum DOUBLE", watermark=("_timestamp", "1 minute")
            ),
        },
        output=to_topic(target),
        name=target,
    )
    def paid(orders: DataFrame, payments: DataFrame) -> DataFrame:
        return orders.drop("at").join(payments, orders["id"] == payments["order"]).drop("order")

    at = "2026-01-01T00:00:00Z"
    write(bootstrap, orders, [{"id": 1, "at": at}, {"id": 2, "at": at}])
    write(bootstrap, payments, [{"order": 2, "sum": 5.0}, {"order": 3, "sum": 6.0}])
    assert [outcome.error for outcome in runner(paid)] == [None]

    assert read_values(bootstrap, target) == [{"id": 2, "sum": 5.0}]


@ON_ONE_CLUSTER
def test_a_stop_under_load_cuts_no_batch_off(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    source, target = new_name("load"), new_name("copies")
    create(bootstrap, source)
    write(bootstrap, source, ({"n": number} for number in range(20_000)))
    inputs = {"numbers": from_topic(source, schema="n INT", options={"maxOffsetsPerTrigger": "500"})}
    copy = pipeline(inputs=inputs, output=to_topic(target), name=target)(lambda numbers: numbers.select("n"))

    def rows() -> int:
        return sum(event.progress.input_rows for event in runner.of(Progressed))

    for _ in range(3):
        (outcome,) = runner.until(lambda _events: rows() >= 1000, copy)
        assert outcome.error is None
        newest = {
            kind: max(int(file.name) for file in place.iterdir() if file.name.isdigit())
            for kind in ("offsets", "commits")
            for place in [runner.checkpoints / target / "checkpoint" / kind]
        }
        assert newest["offsets"] == newest["commits"]
    numbers = [row["n"] for row in read_values(bootstrap, target)]
    assert sorted(numbers) == list(range(len(numbers)))


def test_the_group_knows_the_last_batch_however_long_the_next_one_takes_to_come(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    source, target = new_name("sales"), new_name("slow")
    create(bootstrap, source)
    write(bootstrap, source, [sale("a", 50.0, 1)] * 3)

    @pipeline(
        inputs={"sales": from_topic(source, schema=SALES)},
        output=to_topic(target),
        name=target,
        trigger="1 hour",
    )
    def slow(sales: DataFrame) -> DataFrame:
        return sales

    runner.until(lambda events: any(isinstance(event, Progressed) for event in events), slow)
    assert committed(bootstrap, target, source) == 3
