"""Blocks of the pages that show output are what our code makes of such values."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import DoubleType, StringType, StructField, StructType

from gralha.cli.pipeline_choice import failed
from gralha.cli.pipeline_letters import letters_text
from gralha.cli.pipeline_test import _passes
from gralha.cli.pipeline_view import RunView
from gralha.client.values import TopicPartition
from gralha.pipelines import from_topic, pipeline, to_topic
from gralha.pipelines.checkpoints import MANIFEST, SPARK
from gralha.pipelines.dead_letters import DeadLetters
from gralha.pipelines.events import Progressed
from gralha.pipelines.explanations import no_column
from gralha.pipelines.progress import Progress
from gralha.pipelines.state_files import State
from gralha.pipelines.testing import check
from gralha.spark.offsets import LossCount, StreamOffset
from tests.docs.pages import PAGES, Block, blocks, differences

MADE = {block.marks["made by"]: block for page in PAGES for block in blocks(page) if "made by" in block.marks}
SCHEMA = StructType([StructField("product", StringType()), StructField("amount", DoubleType())])


def progress(**more: object) -> Progress:
    values: dict[str, object] = {
        "pipeline": "totals",
        "batch": 41,
        "at": "",
        "input_rows": 107,
        "input_rows_per_second": 50.0,
        "processed_rows_per_second": 182.0,
        "lag": 0,
        "state_rows": 12,
        "state_bytes": 35_942,
        "late_rows_dropped": 2,
        "dead_letters_total": 1,
        "batch_duration_ms": 300,
    }
    return Progress.from_json({**values, **more})


def dead_letter(capfd: pytest.CaptureFixture[str]) -> list[str]:
    at = int(datetime.datetime(2026, 1, 1, 0, 0, 3, tzinfo=datetime.UTC).timestamp() * 1_000_000)
    record = {"topic": "sales", "partition": 0, "offset": 1041, "timestamp": at, "key": None, "headers": None}
    value = b'{"product": "tea", "amount": "many"}'
    letter = DeadLetters("totals", "totals.dead-letters", SCHEMA, {}).letter({**record, "value": value})
    return [f"{one['key']} {one['value'].decode()}" for one in letter["headers"]]


def letters_of_a_run(capfd: pytest.CaptureFixture[str]) -> list[str]:
    state = State(
        pipeline="totals",
        file="pipelines.py",
        master="local[*]",
        bootstrap_servers="localhost:9092",
        dead_letters_topic="totals.dead-letters",
        progress=progress(dead_letters_total=2),
    )
    return letters_text(state, "checkpoints")


def checkpoint_files(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return [
        f"checkpoints/totals/{MANIFEST} describes the pipeline",
        f"checkpoints/totals/{SPARK}/ Spark's files: offsets, commits, state",
    ]


def misspelt_column(capfd: pytest.CaptureFixture[str]) -> list[str]:
    sentence = no_column("amuont", ["amount", "at", "product"])
    failed([f"Cannot start: pipelines.py:14: pipeline totals: {sentence}"])
    return capfd.readouterr().err.splitlines()


def line_of_a_batch(capfd: pytest.CaptureFixture[str]) -> list[str]:
    RunView(["totals", "another"], changes_lines=False).show(Progressed("totals", progress()))
    return capfd.readouterr().out.splitlines()


def failed_test(capfd: pytest.CaptureFixture[str]) -> list[str]:
    @pipeline(inputs={"sales": from_topic("sales")}, output=to_topic("totals"))
    def totals(sales: DataFrame) -> DataFrame:
        return sales

    def adds_up_each_product(run: object) -> None:
        check([{"product": "tea", "total": 5.0}], [{"product": "tea", "total": 6.0}])

    assert not _passes(totals, adds_up_each_product, lambda: None)
    lines = capfd.readouterr().out.splitlines()
    # The line of the test's file is not on the page.
    return [line for line in lines if ": check(" not in line]


def data_loss(capfd: pytest.CaptureFixture[str]) -> list[str]:
    offset = StreamOffset({TopicPartition("sales", 0): 900}, data_loss={"sales": LossCount(1, 780)})
    return [json.dumps(offset.to_json())]


MAKERS: dict[str, Callable[[pytest.CaptureFixture[str]], list[str]]] = {
    "dead_letter": dead_letter,
    "letters_text": letters_of_a_run,
    "checkpoint_files": checkpoint_files,
    "misspelt_column": misspelt_column,
    "progress": line_of_a_batch,
    "failed_test": failed_test,
    "data_loss": data_loss,
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_block_is_what_our_code_makes(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    block: Block = MADE[name]
    # The time of a test varies.
    marks = {"numbers vary": ""} if name == "failed_test" else {}
    assert differences(block.lines, MAKERS[name](capfd), marks) is None, block.place


def test_every_block_that_is_made_has_a_maker() -> None:
    assert set(MADE) == set(MAKERS)
