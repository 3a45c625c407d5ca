"""The text and the JSON of a plan, without Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DoubleType, MapType, StringType, StructField, StructType

from gralha.cli.pipeline_plan import describe, to_json
from gralha.pipelines import from_topic, pipeline, to_topic
from gralha.pipelines.inputs import RECORD_FIELDS
from gralha.pipelines.manifests import Change
from gralha.pipelines.planning import InputPlan, OutputPlan, Plan, TopicPlan, Verdict, ddl
from gralha.pipelines.stateful import StatefulOperator

COLUMNS = [StructField("product", StringType(), nullable=False), StructField("amount", DoubleType())]


@pipeline(inputs={"sales": from_topic("sales")}, output=to_topic("totals"), output_mode="update")
def totals(sales: DataFrame) -> DataFrame:
    return sales


PLAN = Plan(
    pipeline=totals,
    inputs=(
        InputPlan(
            "sales",
            (TopicPlan("sales", 3),),
            ddl(StructType([*COLUMNS, *RECORD_FIELDS])),
            ("at", "10 seconds"),
        ),
    ),
    outputs=(OutputPlan("topic totals", TopicPlan("totals", None)),),
    dead_letters=TopicPlan("totals.dead-letters", 1),
    output_schema="product STRING, total DOUBLE",
    stateful=(StatefulOperator("aggregate", ("product STRING",), ("sum(amount) DOUBLE",)),),
    checkpoint="/data/totals",
    verdict="cannot resume",
    changes=(Change("The state changed.", can_resume=False),),
    problems=("pipeline totals: The state changed.",),
    warnings=("Look here.",),
)


def test_the_text_has_the_words_of_users() -> None:
    assert describe(PLAN)[1:] == [
        "  reads         sales: topic sales, 3 partitions",
        "                product STRING NOT NULL, amount DOUBLE",
        "                watermark: at, at most 10 seconds late",
        "  state         aggregate by product STRING: sum(amount) DOUBLE",
        "  writes        topic totals, does not exist yet, update mode, at least once",
        "                product STRING, total DOUBLE",
        "  dead letters  topic totals.dead-letters, 1 partition",
        "  trigger       as soon as the previous batch is done",
        "  checkpoint    /data/totals: cannot resume",
        "                - The state changed.",
        "  warning       Look here.",
    ]


@pytest.mark.parametrize(
    ("verdict", "text"),
    [("new", "starts fresh"), ("resume", "resumes with batch 8"), ("cannot resume", "cannot resume")],
)
def test_the_text_says_whether_the_checkpoint_goes_on(verdict: Verdict, text: str) -> None:
    lines = describe(replace(PLAN, verdict=verdict, next_batch=8))
    assert f"  checkpoint    /data/totals: {text}" in lines


def test_the_json_has_all_of_it() -> None:
    found = json.loads(json.dumps(to_json(PLAN)))
    assert found["version"] == 1
    manual = (Path(__file__).parents[2] / "docs" / "COMMANDS.md").read_text()
    row = next(line for line in manual.splitlines() if line.startswith("| `gralha pipeline plan`"))
    assert all(f'"{name}"' in row for name in found if name != "version")
    assert found["can_start"] is False
    assert found["problems"] == ["pipeline totals: The state changed."]
    assert found["inputs"][0]["topics"] == [{"topic": "sales", "partitions": 3}]
    assert found["outputs"] == [
        {"description": "topic totals", "topic": {"topic": "totals", "partitions": None}}
    ]
    assert found["state"] == ["aggregate by product STRING: sum(amount) DOUBLE"]
    assert found["changes"] == [{"sentence": "The state changed.", "can_resume": False}]
    assert (found["file"], found["dead_letters"]["topic"]) == (__file__, "totals.dead-letters")


def test_columns_as_people_declare_them() -> None:
    lines = ArrayType(MapType(StringType(), StructType(COLUMNS)))
    schema = StructType([*COLUMNS, StructField("lines", lines)])
    columns = "lines ARRAY<MAP<STRING, STRUCT<product: STRING, amount: DOUBLE>>>"
    assert ddl(schema) == f"product STRING NOT NULL, amount DOUBLE, {columns}"
    assert ddl(schema, is_declared=False) == f"product STRING, amount DOUBLE, {columns}"
