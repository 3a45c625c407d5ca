"""Two pipelines on sales: totals of every ten seconds, and sales that are far too large.

    gralha pipeline test examples/sales/pipelines.py
    gralha pipeline run examples/sales/pipelines.py

`make demo` runs them with brokers, a generator and a live table.
"""

import os
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from gralha.pipelines import from_topic, pipeline, to_table, to_topic
from gralha.pipelines.testing import check

SALES = from_topic(
    "sales",
    schema="product STRING NOT NULL, amount DOUBLE NOT NULL, at TIMESTAMP NOT NULL",
    watermark=("at", "2 seconds"),
)
TABLE = os.environ.get("SALES_TABLE", "tables/sales_totals")


@pipeline(
    inputs={"sales": SALES},
    output=[to_topic("sales.totals", key="product"), to_table(TABLE)],
    trigger="1 second",
)
def totals(sales: DataFrame) -> DataFrame:
    """What each product sold in every window of ten seconds, once the window is closed."""
    return (
        sales.groupBy(F.window("at", "10 seconds"), "product")
        .agg(F.count("*").alias("sold"), F.round(F.sum("amount"), 2).alias("total"))
        .select("window.start", "window.end", "product", "sold", "total")
    )


@pipeline(inputs={"sales": SALES}, output=to_topic("sales.anomalies", key="product"), trigger="1 second")
def anomalies(sales: DataFrame) -> DataFrame:
    """Sales of more than five times what is usual for the product by what was seen of it so far."""
    return sales.groupBy("product").transformWithState(
        UsualAmount(), "product STRING, amount DOUBLE, usual DOUBLE, at TIMESTAMP", "Append", "None"
    )


class UsualAmount(StatefulProcessor):
    """Keeps a running mean of each product's amounts and hands out those that are far above it."""

    TIMES_USUAL = 5
    # With fewer sales nobody knows what is usual.
    ENOUGH_SALES = 10
    # A mean over the last fifty sales or so: what is usual may change.
    MEMORY = 50

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark calls this once per task."""
        self.state = handle.getValueState("usual", "sales INT, mean DOUBLE")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timer_values: Any) -> Iterator[Row]:  # noqa: N802
        """Spark calls this for each product of a batch."""
        sales, mean = self.state.get() or (0, 0.0)
        for row in sorted(rows, key=lambda row: row.at):
            if sales >= self.ENOUGH_SALES and row.amount > self.TIMES_USUAL * mean:
                yield Row(product=key[0], amount=row.amount, usual=round(mean, 2), at=row.at)
                continue
            sales += 1
            mean += (row.amount - mean) / min(sales, self.MEMORY)
        self.state.update((sales, mean))

    def close(self) -> None:
        """Nothing to put away."""


def sale(product: str, amount: float, at: str) -> dict[str, Any]:
    """A sale at a time of the first of January."""
    return {"product": product, "amount": amount, "at": f"2026-01-01 {at}"}


@totals.test
def a_window_adds_up_each_product(run):
    given = [sale("tea", 2.5, "10:00:01"), sale("tea", 3.0, "10:00:09"), sale("cake", 4.0, "10:00:02")]
    later = [sale("tea", 9.0, "10:00:30")]
    check(
        run(sales=[given, later]),
        [
            {"product": "tea", "sold": 2, "total": 5.5, "start": "2026-01-01 10:00:00"},
            {"product": "cake", "sold": 1, "total": 4.0, "start": "2026-01-01 10:00:00"},
        ],
    )


@totals.test
def an_open_window_waits(run):
    assert run(sales=[sale("tea", 2.5, "10:00:01")]) == []


@totals.test
def what_does_not_parse_is_left_out(run):
    result = run(sales=[["tea, 2.5", sale("tea", 1.0, "10:00:01")], [sale("tea", 1.0, "10:01")]])
    check(result, [{"product": "tea", "sold": 1}])
    assert [letter["value"] for letter in result.dead_letters] == ["tea, 2.5"]


@anomalies.test
def five_times_the_usual_is_flagged(run):
    usual = [sale("tea", 2.0, f"10:00:{second:02}") for second in range(10)]
    check(
        run(sales=[usual, [sale("tea", 10.1, "10:01:00"), sale("tea", 9.9, "10:01:01")]]),
        [{"product": "tea", "amount": 10.1}],
    )


@anomalies.test
def a_new_product_has_nothing_usual(run):
    assert run(sales=[sale("tea", 1.0, "10:00:00"), sale("tea", 500.0, "10:00:01")]) == []
