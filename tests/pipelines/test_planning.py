"""Plans: what a pipeline would do, and one clear sentence for each problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import functions as F  # noqa: N812

from gralha.pipelines import CannotStartError, Pipeline, from_topic, pipeline, to_topic
from gralha.pipelines.planning import Plan, TopicPlan, plan
from gralha.pipelines.stateful import is_stateful, is_stateful_by_name
from tests.pipelines.runner import Runner
from tests.pipelines.topics import create, write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SALES = "product STRING NOT NULL, amount DOUBLE, at TIMESTAMP"


def made(runner: Runner, declared: Pipeline, **changes: Any) -> Plan:
    return plan(declared, runner.spark, replace(runner.options, **changes))


def problem(runner: Runner, declared: Pipeline, **changes: Any) -> str:
    """The only problem of a plan."""
    (sentence,) = made(runner, declared, **changes).problems
    assert "\n" not in sentence
    return sentence


@pytest.fixture
def topic(bootstrap: str, new_name: Callable[[str], str]) -> str:
    name = new_name("sales")
    create(bootstrap, name, partitions=3)
    return name


def sums(topic: str, window: str = "1 minute", by: str = "product", mode: str = "update") -> Pipeline:
    @pipeline(
        inputs={"sales": from_topic(topic, schema=SALES, watermark=("at", "10 seconds"))},
        output=to_topic(f"{topic}-sums", key=by),
        output_mode=mode,
        name=f"{topic}-sums",
    )
    def sums(sales: DataFrame) -> DataFrame:
        return sales.groupBy(F.window("at", window), by).agg(F.sum("amount").alias("total"))

    return sums


def simple(topic: str, function: Callable[[Any], Any], schema: str = SALES, **arguments: Any) -> Pipeline:
    """A pipeline around a function of one input."""
    declare = pipeline(
        inputs={"sales": from_topic(topic, schema=schema)}, output=to_topic("copy"), name="copy", **arguments
    )
    return declare(lambda sales: function(sales))


def test_a_plan_says_what_a_pipeline_would_do(runner: Runner, topic: str) -> None:
    found = made(runner, sums(topic))
    assert found.can_start
    assert (found.verdict, found.changes, found.warnings) == ("new", (), ())
    (one,) = found.inputs
    assert one.topics == (TopicPlan(topic, 3),)
    assert one.schema.startswith(
        "product STRING NOT NULL, amount DOUBLE, at TIMESTAMP, _key STRING, _topic STRING"
    )
    assert found.outputs[0].topic == TopicPlan(f"{topic}-sums", None)
    assert found.dead_letters == TopicPlan(f"{topic}-sums.dead-letters", None)
    assert found.output_schema == (
        "window STRUCT<start: TIMESTAMP, end: TIMESTAMP>, product STRING, total DOUBLE"
    )
    assert [str(operator) for operator in found.stateful] == [
        "aggregate by window of 1 minute, product STRING: sum(amount) DOUBLE"
    ]
    assert found.checkpoint == str(runner.checkpoints / f"{topic}-sums")
    assert found.manifest is not None
    admin = AdminClient({"bootstrap.servers": runner.options.bootstrap_servers})
    assert found.manifest.cluster_id == admin.describe_cluster().result(60).cluster_id


def test_a_wrong_topic(runner: Runner, topic: str, bootstrap: str) -> None:
    wrong = topic.replace("sales", "salse")
    assert problem(runner, sums(wrong)) == (
        f"pipeline {wrong}-sums: There is no topic {wrong} on {bootstrap}. Did you mean {topic}? "
        f"Create it with: kafka-topics --bootstrap-server {bootstrap} --create --topic {wrong}"
    )
    with pytest.raises(CannotStartError, match="Did you mean"):
        runner(sums(wrong))
    assert not runner.checkpoints.exists()


def test_an_unreachable_broker(runner: Runner, topic: str) -> None:
    sentence = problem(runner, sums(topic), bootstrap_servers="localhost:1")
    assert sentence == (
        f"pipeline {topic}-sums: No broker listens on localhost:1. "
        "Start one with `gralha up`, or check the address."
    )


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (
            "product STRIN",
            "input sales: the schema 'product STRIN' cannot be read: Unsupported data type \"STRIN\"",
        ),
        ("product", "cannot be read: Syntax error at or near end of input"),
        (
            "_key STRING",
            "a column _key, but Gralha uses this name for the origin of records.",
        ),
        ("a INT, A INT", "input sales: the schema has the column a twice."),
    ],
)
def test_a_wrong_schema(runner: Runner, topic: str, schema: str, words: str) -> None:
    sentence = problem(runner, simple(topic, lambda sales: sales, schema))
    assert words in sentence
    assert "test_planning.py:" in sentence


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            lambda sales: sales.select("amout"),
            "There is no column amout. Did you mean amount? The columns are",
        ),
        (lambda sales: sales.groupBy("product"), "it returned GroupedData. After groupBy(...) comes"),
        (lambda sales: None, "must return a DataFrame; it returned NoneType. Is a `return` missing?"),
        (lambda sales: 1, "must return a DataFrame; it returned int."),
        (lambda sales: sales.sparkSession.range(5), "must return a DataFrame that it makes from its inputs."),
        (lambda sales: [][1], "IndexError: list index out of range."),
        (
            lambda sales: sales.groupBy("product").count(),
            "With output_mode='append' (the default) an aggregate needs a watermark",
        ),
        (lambda sales: sales.select("_key", "_offset"), "there is no column to write to topic copy."),
    ],
)
def test_a_function_that_makes_no_sense(
    runner: Runner, topic: str, function: Callable[[Any], Any], words: str
) -> None:
    sentence = problem(runner, simple(topic, function))
    assert words in sentence
    assert "test_planning.py:" in sentence
    assert "SQLSTATE" not in sentence


def test_a_key_that_is_no_column(runner: Runner, topic: str) -> None:
    declared = simple(topic, lambda sales: sales.select("amount"))
    declared = replace(declared, outputs=(to_topic("copy", key="product"),))
    assert "the key of topic copy is product, but the function returns only: amount." in problem(
        runner, declared
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("spark.executor.memory", "2g", "Cannot modify the value of the Spark config"),
        ("spark.sql.shuffle.partitions", "many", "It should be a/an 'int' value."),
    ],
)
def test_a_setting_that_spark_does_not_take(
    runner: Runner, topic: str, name: str, value: str, words: str
) -> None:
    before = runner.spark.conf.get(name, None)
    sentence = problem(runner, simple(topic, lambda sales: sales, conf={name: value}))
    assert sentence.startswith(f"pipeline copy: Spark refuses conf={{{name!r}: {value!r}}}")
    assert words in sentence
    assert runner.spark.conf.get(name, None) == before


def test_a_folder_for_checkpoints_that_cannot_be(runner: Runner, topic: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    below = f"{tmp_path}/file/checkpoints"
    assert f"The folder {below} cannot be used: Not a directory." in problem(
        runner, simple(topic, lambda sales: sales), checkpoints=below
    )
    assert "Spark needs a jar for s3a://" in problem(
        runner, simple(topic, lambda sales: sales), checkpoints="s3a://bucket/folder"
    )


def test_a_checkpoint_that_does_not_fit_any_more(runner: Runner, bootstrap: str, topic: str) -> None:
    write(bootstrap, topic, [{"product": "a", "amount": 1.0, "at": "2026-01-01T00:00:00Z"}])
    assert [outcome.error for outcome in runner(sums(topic))] == [None]

    again = made(runner, sums(topic))
    assert (again.verdict, again.can_start, again.changes) == ("resume", True, ())
    assert again.next_batch >= 1
    # In another folder it would silently read everything again.
    assert again.warnings == ()
    (warning,) = made(runner, sums(topic), checkpoints=f"{runner.checkpoints}-others").warnings
    assert f"The consumer group {topic}-sums exists, so the pipeline has run before" in warning
    assert warning.endswith("Is --checkpoints right?")
    assert problem(runner, sums(topic, window="5 minutes")) == (
        f"pipeline {topic}-sums: The state was aggregate by window of 1 minute, product STRING: "
        "sum(amount) DOUBLE, now it would be aggregate by window of 5 minutes, product STRING: "
        "sum(amount) DOUBLE. The checkpoint does not fit any more. Start again with --fresh (it moves "
        "the old checkpoint away), or change the pipeline back."
    )

    check_a_broken_checkpoint(runner, topic)


def check_a_broken_checkpoint(runner: Runner, topic: str) -> None:
    newest = runner.checkpoints / f"{topic}-sums" / "checkpoint" / "offsets" / "0"
    text = newest.read_text()
    for file in newest.parent.iterdir():
        if file.name.isdigit():
            file.write_text("")
    sentence = problem(runner, sums(topic))
    assert "is missing, empty or truncated. Start again with --fresh" in sentence
    assert text

    fresh = made(runner, sums(topic), fresh=True)
    assert (fresh.verdict, fresh.can_start) == ("new", True)
    assert [outcome.error for outcome in runner(sums(topic), fresh=True)] == [None]
    assert len(list(runner.checkpoints.glob(f"{topic}-sums.before-*"))) == 1
    assert made(runner, sums(topic)).verdict == "resume"


def test_the_order_of_the_sources(runner: Runner, topic: str, bootstrap: str) -> None:
    from gralha.pipelines.sources import sources

    other = topic.replace("sales", "orders")
    create(bootstrap, other)
    reader = runner.spark.readStream.format("gralha").option("kafka.bootstrap.servers", bootstrap)
    x = reader.option("subscribe", topic).load()
    y = reader.option("subscribe", f"{topic},{other}").load()
    assert sources(x) == ((topic,),)
    assert sources(x.union(y)) == ((topic,), (other, topic))
    assert sources(y.union(x)) == ((other, topic), (topic,))
    assert sources(x.union(x)) == ((topic,),)
    assert sources(x.alias("a").join(x.alias("b"), F.expr("a.key = b.key"))) == ((topic,), (topic,))
    assert sources(runner.spark.readStream.format("rate").load().select("value")) == (("rate",),)


def test_a_union_the_other_way_round_cannot_resume(runner: Runner, topic: str, bootstrap: str) -> None:
    other = topic.replace("sales", "orders")
    create(bootstrap, other)
    inputs = {"x": from_topic(topic, schema=SALES), "y": from_topic(other, schema=SALES)}
    declare = pipeline(inputs=inputs, output=to_topic(f"{topic}-both"), name=f"{topic}-both")
    write(bootstrap, topic, [{"product": "a"}])
    write(bootstrap, other, [{"product": "b"}, {"product": "c"}])
    assert [outcome.error for outcome in runner(declare(lambda x, y: x.union(y)))] == [None]

    assert made(runner, declare(lambda x, y: x.union(y.filter("amount > 1")))).verdict == "resume"
    assert f"read {topic}, then {other} and now reads {other}, then {topic}" in problem(
        runner, declare(lambda x, y: y.union(x))
    )


def test_operators_in_words(runner: Runner) -> None:
    from gralha.pipelines.stateful import stateful_operators

    rate = runner.spark.readStream.format("rate").load().withColumnRenamed("timestamp", "at")
    rows = rate.withWatermark("at", "5 seconds").withColumn("product", F.lit("a"))
    other = rows.select(F.col("at").alias("later"), F.col("value").alias("number"))
    join = F.expr("value = number AND later BETWEEN at AND at + INTERVAL 1 MINUTE")
    frames: dict[str, DataFrame] = {
        "aggregate: count(1) BIGINT": rows.groupBy().count(),
        "aggregate by product STRING: max((value + cast(1 as bigint))) BIGINT": rows.groupBy("product").agg(
            F.max(F.col("value") + 1).alias("m")
        ),
        "aggregate by window of 10 seconds every 5 seconds: count(1) BIGINT": rows.groupBy(
            F.window("at", "10 seconds", "5 seconds")
        ).count(),
        "aggregate by window of 1 hour from 15 minutes: count(1) BIGINT": rows.groupBy(
            F.window("at", "1 hour", startTime="15 minutes")
        ).count(),
        "aggregate by window of 1 hour every 10 minutes from 3 minutes: count(1) BIGINT": rows.groupBy(
            F.window("at", "1 hour", "10 minutes", "3 minutes").alias("w")
        ).count(),
        "aggregate by w of 1 hour: count(1) BIGINT": rows.withColumn("w", F.window("at", "1 hour"))
        .groupBy("w")
        .count(),
        "aggregate by session_window of gap 5 minutes: count(1) BIGINT": rows.groupBy(
            F.session_window("at", "5 minutes")
        ).count(),
        "aggregate by cast((_nondeterministic * cast(10 as double)) as int) INT: count(1) BIGINT": (
            rows.groupBy((F.rand() * 10).cast("int")).agg(F.count("*"))
        ),
        "de-duplication by product STRING": rows.dropDuplicates(["product"]),
        "de-duplication within the watermark by value BIGINT": rows.dropDuplicatesWithinWatermark(["value"]),
        "stream-stream join (Inner) by ((value = number) AND": rows.join(other, join),
    }
    for words, frame in frames.items():
        (operator,) = stateful_operators(frame)
        assert str(operator).startswith(words)
    assert stateful_operators(rows.filter("value > 3")) == ()

    def of_gap(minutes: str) -> str:
        gap = F.when(F.col("value") > 3, minutes).otherwise("10 minutes")
        (operator,) = stateful_operators(rows.groupBy(F.session_window("at", gap)).count())
        return str(operator)

    assert of_gap("5 minutes") == of_gap("5 minutes")
    assert of_gap("5 minutes") != of_gap("6 minutes")
    assert "THEN 5 minutes ELSE 10 minutes" in of_gap("5 minutes")


def test_a_folder_that_hadoop_reaches(runner: Runner, tmp_path: Path) -> None:
    from gralha.pipelines.folders import HadoopFolder

    found = HadoopFolder(f"file://{tmp_path}/folder", runner.spark)
    assert (found.names(), found.read("a")) == ([], None)
    found.write("a", "one")
    found.write("a", "two ü")
    assert (found.names(), found.read("a")) == (["a"], "two ü")
    aside = found.move_aside(".old")
    assert found.names() == []
    assert HadoopFolder(aside, runner.spark).read("a") == "two ü"


def test_a_limit_that_ends_a_run_too_early_with_an_old_spark(
    runner: Runner, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = from_topic(topic, schema=SALES, options={"maxOffsetsPerTrigger": "5"})
    declared = pipeline(inputs={"sales": read}, output=to_topic("copy"), name="copy")(lambda sales: sales)
    monkeypatch.setattr("gralha.pipelines.planning.spark_version", lambda: (4, 1))
    (warning,) = made(runner, declared, available_now=True).warnings
    assert warning.startswith("With Spark 4.1 and the option 'maxOffsetsPerTrigger'")
    assert made(runner, declared, available_now=False).warnings == ()
    monkeypatch.setattr("gralha.pipelines.planning.spark_version", lambda: (4, 2))
    assert made(runner, declared, available_now=True).warnings == ()


@pytest.mark.needs_spark(4, 3)
def test_operators_with_state_are_known_without_sparks_answer(spark: SparkSession) -> None:
    """Before 4.3 Spark does not tell. The names of the operators must lead to the same answers."""
    rows = spark.readStream.format("rate").load().withWatermark("timestamp", "5 seconds")
    table = spark.range(5).withColumnRenamed("id", "value")
    session = F.session_window("timestamp", "5 seconds")
    queries = {
        "aggregate": rows.groupBy("value").count(),
        "session": rows.groupBy(session).count(),
        "distinct": rows.distinct(),
        "no duplicates": rows.dropDuplicates(["value"]),
        "no duplicates for a while": rows.dropDuplicatesWithinWatermark(["value"]),
        "limit": rows.limit(3),
        "two streams": rows.alias("a").join(rows.alias("b"), F.expr("a.value = b.value")),
        "with a table": rows.join(table, "value"),
        "with an aggregated table": rows.join(table.groupBy("value").count(), "value"),
        "with a part of a table": rows.join(table.distinct().limit(4), "value"),
        "filter": rows.filter("value > 1"),
    }

    def answers(node: Any) -> list[tuple[str, bool, bool]]:
        found = [(str(node.nodeName()), is_stateful(node), is_stateful_by_name(node))]
        for index in range(node.children().size()):
            found += answers(node.children().apply(index))
        return found

    plans = {name: answers(frame._jdf.queryExecution().analyzed()) for name, frame in queries.items()}
    assert not [one for found in plans.values() for one in found if one[1] != one[2]]
    with_state = [name for name, found in plans.items() if any(one[1] for one in found)]
    assert with_state == list(queries)[:7]
