"""`gralha pipeline` in a terminal. Each test starts Spark, so there are few of them."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.client.live import eventually
from tests.pipelines import topics
from tests.pipelines.terminal import CTRL_C, Terminal, gralha, processes_of_session
from tests.received import value_of

pytestmark = pytest.mark.timeout(400)

# Ordinary PySpark at the top level: a session with a setting of its own, an expression, a function.
COUNTED = """
from pyspark.sql import SparkSession, functions as F
from gralha.pipelines import from_topic, pipeline, to_topic

SPARK = SparkSession.builder.config("spark.driver.maxResultSize", "777m").getOrCreate()
LIMIT = SPARK.sparkContext.getConf().get("spark.driver.maxResultSize")
IS_SALE = F.col("amount") > 0

@F.udf("double")
def doubled(amount):
    return 2 * amount

SALES = from_topic("{sales}", schema="product STRING NOT NULL, amount DOUBLE")

@pipeline(name="{name}", inputs={{"sales": SALES}}, output=to_topic("{totals}", key="product"),
          output_mode="update", trigger="100 milliseconds")
def totals(sales):
    sold = sales.where(IS_SALE).groupBy("product").agg(F.sum("amount").alias("total"))
    return sold.select("product", doubled("total").alias("twice"), F.lit(LIMIT).alias("limit"))
"""
# Small and quick, like the session that the other tests share.
QUICK = (
    *("--master", "local[2]", "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.memory=1g"),
    *("--conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"),
    *("--conf", "spark.sql.shuffle.partitions=1"),
)
PATIENCE_SECONDS = 60.0


def output_of(*arguments: str) -> str:
    line = gralha(*arguments)
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_run_is_watched_and_stopped(tmp_path: Path, bootstrap: str, new_name: Callable[[str], str]) -> None:
    sales, totals, name = new_name("sales"), new_name("totals"), new_name("counted")
    topics.create(bootstrap, sales, partitions=2)
    topics.write(
        bootstrap, sales, [{"product": "tea", "amount": 2.0}, b"no JSON", {"product": "tea", "amount": 3}]
    )
    file = tmp_path / "pipelines.py"
    file.write_text(COUNTED.format(sales=sales, totals=totals, name=name))
    run = ["pipeline", "run", str(file), "--bootstrap-server", bootstrap, *QUICK, "--metrics-port", "0"]
    # As wide as a terminal usually is.
    with Terminal(gralha(*run), cwd=tmp_path, columns=80) as terminal:
        # The line counts the seconds in place.
        terminal.wait_for(r"Starting Spark \.\.\. \d+ s[^\n]*Spark started in \d+\.\d s\.")
        metrics = terminal.wait_for(r"metrics +(http://\S+)")[1]
        terminal.wait_for(rf"{name}  started, from the beginning")
        # The progress line changes in place.
        terminal.wait_for(rf"{name}  batch 0  in 3 rows  done \S+/s  lag 0  dead letters 1")
        assert "\x1b[33mdead letters 1\x1b[0m" in terminal.written
        assert topics.read_values(bootstrap, totals) == [{"product": "tea", "twice": 10.0, "limit": "777m"}]
        topics.write(bootstrap, sales, [{"product": "cake", "amount": 4.5}])
        assert eventually(lambda: len(topics.read(bootstrap, totals)) == 2, PATIENCE_SECONDS)
        # The dead letters of an earlier batch stay on the screen.
        terminal.wait_for(rf"{name}  batch [1-9].*dead letters 1")
        assert terminal.moves

        places = ["--checkpoints", str(tmp_path / "checkpoints")]
        assert re.search(rf"^{name} +running ", output_of("pipeline", "status", *places), re.MULTILINE)
        with urllib.request.urlopen(metrics, timeout=PATIENCE_SECONDS) as answer:
            text = answer.read().decode()
        assert f'gralha_pipeline_input_rows_total{{pipeline="{name}"}} 4\n' in text
        assert f'gralha_pipeline_dead_letters_total{{pipeline="{name}"}} 1\n' in text
        group = output_of("consumer-groups", "--bootstrap-server", bootstrap, "--describe", "--group", name)
        lags = [line.split()[5] for line in group.splitlines() if line.startswith(name)]
        assert lags == ["0", "0"]

        terminal.press(CTRL_C)
        assert terminal.end() == 0
        end = terminal.screen.rpartition(f"{name}  stopped\n")[2].splitlines()
        letters = f"{name}.dead-letters"
        assert end[0] == f"{name}: 1 dead letter in the topic {letters}"
        assert "Traceback" not in terminal.screen
        assert eventually(lambda: not processes_of_session(terminal.program.pid), PATIENCE_SECONDS)
    (state,) = map(json.loads, output_of("pipeline", "status", "--json", *places).splitlines())
    assert (state["condition"], state["restarts"]) == ("stopped", 0)
    assert output_of("pipeline", "logs", name, "--lines", "2000", *places).strip()

    # The commands of the last lines work as they are.
    show, replay = (line.partition(":  ")[2].split() for line in end[1:])
    assert "gralha.reason:the value is not JSON" in output_of(*show, "--max-messages", "1")
    origin = f"{sales}-0 offset 1: the value is not JSON"
    replay = replay[1:]
    assert origin in output_of(*replay, "--dry-run")
    assert output_of(*replay) == f"Wrote 1 dead letter of {name} back: 1 to {sales}\n"
    assert "no dead letters" in output_of(*replay)
    assert [value_of(one) for one in topics.read(bootstrap, sales)].count(b"no JSON") == 2


PROBLEMS = """
from pyspark.sql import functions as F
from gralha.pipelines import from_topic, pipeline, to_topic

GOOD = from_topic("{sales}", schema="product STRING NOT NULL, amount DOUBLE")

@pipeline(inputs={{"sales": GOOD}}, output=to_topic("{copy}"))
def good(sales):
    return sales

@pipeline(inputs={{"sales": from_topic("no-such-topic")}}, output=to_topic("{copy}"))
def wrong_topic(sales):
    return sales

@pipeline(inputs={{"sales": from_topic("{sales}", schema="product STRIGN")}}, output=to_topic("{copy}"))
def wrong_schema(sales):
    return sales

@pipeline(inputs={{"sales": GOOD}}, output=to_topic("{copy}", key="prodcut"))
def wrong_column(sales):
    return sales

def declared(**more):
    return pipeline(inputs={{"sales": more.pop("sales", GOOD)}}, output=to_topic("{copy}"), **more)

@declared()
def misspelt_column(sales):
    return sales.where(F.col("amuont") > 5)

@declared()
def misspelt_attribute(sales):
    return sales.where(sales.amuont > 5)

@declared()
def misspelt_in_sql(sales):
    return sales.where("amuont > 5")

@declared()
def no_watermark(sales):
    return sales.groupBy("product").count()

@declared()
def starts_itself(sales):
    return sales.writeStream

@declared()
def looks_at_rows(sales):
    sales.show()
    return sales

@declared()
def sorts(sales):
    return sales.orderBy("amount")

@declared(sales=from_topic("{sales}", options={{"maxOffsetPerTrigger": "5"}}))
def misspelt_option(sales):
    return sales

@declared(sales=from_topic("{sales}", starting_offsets="earlist"))
def misspelt_offsets(sales):
    return sales

@pipeline(inputs={{"sales": GOOD}}, output=to_topic("{copy}"))
def broken_checkpoint(sales):
    return sales
"""


COLUMN = "There is no column amuont. Did you mean amount? The columns are "


def test_a_plan_says_what_cannot_start(
    tmp_path: Path, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    sales, copy = new_name("sales"), new_name("copy")
    topics.create(bootstrap, sales, partitions=3)
    file = tmp_path / "pipelines.py"
    file.write_text(PROBLEMS.format(sales=sales, copy=copy))
    broken = tmp_path / "checkpoints" / "broken_checkpoint"
    (broken / "checkpoint" / "offsets").mkdir(parents=True)
    (broken / "checkpoint" / "offsets" / "0").write_text("v1\n{}\n{}\n")
    (broken / "manifest.json").write_text("{")
    plan = ["pipeline", "plan", str(file), "--bootstrap-server", bootstrap, *QUICK]
    with Terminal(gralha(*plan), cwd=tmp_path, columns=80) as terminal:
        assert terminal.end() == 1
        screen = terminal.screen
    assert re.match(r"\s*Starting Spark \.\.\. \d+ s[^\n]*Spark started in \d+\.\d s\.\s+good ", screen)
    assert "Traceback" not in screen
    assert "QueryContextLogger" not in screen
    assert "product STRING NOT NULL, amount DOUBLE\n" in screen
    good = screen.partition("\n\n")[0]
    assert f"reads         sales: topic {sales}, 3 partitions\n" in good
    assert re.search(rf"writes +topic {copy}, does not exist yet, append mode", good)
    assert "checkpoint" in good
    problems = re.findall(r"^Cannot start: .*$", screen, re.MULTILINE)
    said = [
        ("wrong_topic", "no-such-topic"),
        ("wrong_schema", "STRIGN"),
        ("wrong_column", "prodcut", "Did you mean product?"),
        *((f"misspelt_{how}", COLUMN) for how in ("column", "attribute", "in_sql")),
        ("no_watermark", 'output_mode="update"', "watermark=("),
        ("starts_itself", "Leave out writeStream"),
        ("looks_at_rows", "Leave out count(), collect(), show()", "gralha pipeline test"),
        ("sorts", "leave out orderBy()"),
        ("misspelt_option", "did you mean 'maxOffsetsPerTrigger'?"),
        ("misspelt_offsets", "'earlist'", "earliest"),
        ("broken_checkpoint", "manifest.json"),
    ]
    for problem, words in zip(problems, said, strict=True):
        assert all(word in problem for word in words), problem


TESTED = """
from pyspark.sql.functions import col, udf
from gralha.pipelines import from_topic, pipeline, to_topic
from gralha.pipelines.testing import check

IS_LARGE = col("amount") > 5

SALES = from_topic("sales", schema="product STRING, amount DOUBLE")

@pipeline(inputs={"sales": SALES}, output=to_topic("large"))
def large(sales):
    return sales.where(IS_LARGE)

TEA, CAKE = {"product": "tea", "amount": 2.0}, {"product": "cake", "amount": 7.5}

@large.test
def small_sales_are_left_out(run):
    check(run(sales=[TEA, CAKE]), [CAKE])

@large.test
def nonsense(run):
    check(run(sales=[CAKE]), [{"product": "cake", "amount": 8}])

@pipeline(inputs={"sales": SALES}, output=to_topic("halves"))
def halves(sales):
    half = udf(lambda amount: 1 / (amount - 2.0), "double")
    return sales.select(half("amount"))

@halves.test
def nothing_by_zero(run):
    run(sales=[TEA])

@pipeline(inputs={"sales": SALES}, output=to_topic("misspelt"))
def misspelt(sales):
    return sales.select(col("amuont"))

@misspelt.test
def no_such_column(run):
    run(sales=[TEA])
"""


def test_tests_show_where_rows_differ(tmp_path: Path) -> None:
    file = tmp_path / "pipelines.py"
    file.write_text(TESTED)
    with Terminal(gralha("pipeline", "test", str(file)), cwd=tmp_path, columns=80) as terminal:
        assert terminal.end() == 1
        screen = terminal.screen
    assert re.search(r"^  ok      small_sales_are_left_out +\d+\.\d s$", screen, re.MULTILINE)
    assert re.search(r"^  FAILED  nonsense +\d+\.\d s$", screen, re.MULTILINE)
    assert "            - cake     8\n            + cake     7.5\n" in screen
    # The line of the pipeline's own code that failed on a worker, from pages of Spark's output.
    line = TESTED[: TESTED.index("1 / (amount")].count("\n") + 1
    assert f"pipelines.py:{line}: ZeroDivisionError: float division by zero\n" in screen
    assert f"{COLUMN}amount, product.\n" in screen
    assert "QueryContextLogger" not in screen
    assert "4 tests, 3 failed, in " in screen
    assert "Traceback" not in screen
