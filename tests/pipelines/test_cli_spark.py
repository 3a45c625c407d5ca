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

pytestmark = pytest.mark.timeout(400)

COUNTED = """
from pyspark.sql import functions as F
from gralha.pipelines import from_topic, pipeline, to_topic

SALES = from_topic("{sales}", schema="product STRING NOT NULL, amount DOUBLE")

@pipeline(name="{name}", inputs={{"sales": SALES}}, output=to_topic("{totals}", key="product"),
          output_mode="update", trigger="100 milliseconds")
def totals(sales):
    return sales.groupBy("product").agg(F.sum("amount").alias("total"))
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
    with Terminal(gralha(*run), cwd=tmp_path) as terminal:
        metrics = terminal.wait_for(r"metrics +(http://\S+)")[1]
        terminal.wait_for(rf"{name}  started, from the beginning")
        # The progress line changes in place.
        terminal.wait_for(rf"{name}  batch 0  in \S+/s  done \S+/s  lag 0  .*state 1 rows, .*dead letters 1")
        assert topics.read_values(bootstrap, totals) == [{"product": "tea", "total": 5.0}]
        topics.write(bootstrap, sales, [{"product": "cake", "amount": 4.5}])
        assert eventually(lambda: len(topics.read(bootstrap, totals)) == 2, PATIENCE_SECONDS)
        terminal.wait_for(rf"{name}  batch [1-9]")
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
        assert terminal.screen.endswith(f"{name}  stopped\n")
        assert "Traceback" not in terminal.screen
        assert eventually(lambda: not processes_of_session(terminal.program.pid), PATIENCE_SECONDS)
    (state,) = map(json.loads, output_of("pipeline", "status", "--json", *places).splitlines())
    assert (state["condition"], state["restarts"]) == ("stopped", 0)


PROBLEMS = """
from gralha.pipelines import from_topic, pipeline, to_topic

GOOD = from_topic("{sales}", schema="product STRING, amount DOUBLE")

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

@pipeline(inputs={{"sales": GOOD}}, output=to_topic("{copy}"))
def broken_checkpoint(sales):
    return sales
"""


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
    with Terminal(gralha(*plan), cwd=tmp_path) as terminal:
        assert terminal.end() == 1
        screen = terminal.screen
    assert "Traceback" not in screen
    good = screen.partition("\n\n")[0]
    assert f"reads         sales: topic {sales}, 3 partitions\n" in good
    assert re.search(rf"writes +topic {copy}, does not exist yet, append mode", good)
    assert "checkpoint" in good
    problems = re.findall(r"^Cannot start: .*$", screen, re.MULTILINE)
    said = [("wrong_topic", "no-such-topic"), ("wrong_schema", "STRIGN"), ("wrong_column", "prodcut")]
    for problem, words in zip(problems, [*said, ("broken_checkpoint", "manifest.json")], strict=True):
        assert all(word in problem for word in words), problem


TESTED = """
from pyspark.sql.functions import udf
from gralha.pipelines import from_topic, pipeline, to_topic
from gralha.pipelines.testing import check

SALES = from_topic("sales", schema="product STRING, amount DOUBLE")

@pipeline(inputs={"sales": SALES}, output=to_topic("large"))
def large(sales):
    return sales.where("amount > 5")

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
"""


def test_tests_show_where_rows_differ(tmp_path: Path) -> None:
    file = tmp_path / "pipelines.py"
    file.write_text(TESTED)
    with Terminal(gralha("pipeline", "test", str(file)), cwd=tmp_path) as terminal:
        assert terminal.end() == 1
        screen = terminal.screen
    assert re.search(r"^  ok      small_sales_are_left_out +\d+\.\d s$", screen, re.MULTILINE)
    assert re.search(r"^  FAILED  nonsense +\d+\.\d s$", screen, re.MULTILINE)
    assert "            - cake     8\n            + cake     7.5\n" in screen
    # The line of the pipeline's own code that failed on a worker, from pages of Spark's output.
    line = TESTED[: TESTED.index("1 / (amount")].count("\n") + 1
    assert f"pipelines.py:{line}: ZeroDivisionError: float division by zero\n" in screen
    assert "3 tests, 2 failed, in " in screen
    assert "Traceback" not in screen
