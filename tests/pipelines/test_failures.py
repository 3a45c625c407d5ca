"""Pipelines that fail: what is tried again, what is given up, and the messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812

from gralha.pipelines import Pipeline, from_topic, pipeline, restarts, to_table, to_topic
from gralha.pipelines.events import Event, Failed, Progressed, Restarting, Stopped
from gralha.testing import GralhaCluster
from tests.pipelines.runner import Runner
from tests.pipelines.topics import create, read_values, write
from tests.quick_groups import QUICK_GROUPS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """test_restarts.py tests how long the pauses are."""
    monkeypatch.setattr(restarts, "PAUSE_SECONDS", 0.1)


def inverse(source: str, target: str) -> Pipeline:
    """A pipeline with a bug that a zero triggers."""

    @pipeline(inputs={"numbers": from_topic(source, schema="n INT")}, output=to_topic(target), name=target)
    def inverted(numbers: DataFrame) -> DataFrame:
        @F.udf("double")
        def invert(n: int) -> float:
            return 1 / n

        return numbers.select(invert("n").alias("inverse"))

    return inverted


def test_a_bug_that_meets_the_same_record_is_given_up_while_the_others_go_on(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    bad, good = new_name("bad"), new_name("good")
    create(bootstrap, bad)
    create(bootstrap, good)
    write(bootstrap, bad, [{"n": 1}, {"n": 0}])
    write(bootstrap, good, [{"n": 4}])

    failed, done = runner(inverse(bad, f"{bad}-out"), inverse(good, f"{good}-out"))

    assert done.error is None
    assert read_values(bootstrap, f"{good}-out") == [{"inverse": 0.25}]
    assert failed.error is not None
    assert failed.error.endswith("ZeroDivisionError: division by zero")
    assert "test_failures.py:" in failed.error
    # Twice because of the bug. A busy machine may cause other failures between.
    assert failed.restarts >= 2
    mine = [event for event in runner.events if event.pipeline == f"{bad}-out"]
    reasons = [event.reason for event in mine if isinstance(event, Restarting)]
    assert reasons.count(failed.error) == 2
    assert mine[-1] == Failed(f"{bad}-out", failed.error)


def test_a_broker_that_was_away_is_waited_for(spark: SparkSession, tmp_path: Path) -> None:
    with GralhaCluster(config=QUICK_GROUPS) as cluster:
        create(cluster.bootstrap, "in")
        write(cluster.bootstrap, "in", [{"n": 1}])
        runner = Runner(spark, cluster.bootstrap, tmp_path)

        def act(events: Sequence[Event]) -> bool:
            """Kills the broker after the first batch, and restarts it after the first failure."""
            rows = sum(event.progress.input_rows for event in events if isinstance(event, Progressed))
            restarts = sum(isinstance(event, Restarting) for event in events)
            last = events[-1]
            if isinstance(last, Progressed) and last.progress.input_rows and rows == 1:
                cluster.kill()
            if isinstance(last, Restarting) and restarts == 1:
                cluster.restart()
                write(cluster.bootstrap, "in", [{"n": 2}])
            return rows >= 2

        short = {"default.api.timeout.ms": "1000", "request.timeout.ms": "1000"}
        (outcome,) = runner.until(act, inverse("in", "out"), kafka=short)

        assert outcome.error is None
        assert outcome.restarts >= 1
        assert read_values(cluster.bootstrap, "out") == [{"inverse": 1.0}, {"inverse": 0.5}]
        reason = runner.of(Restarting)[0].reason
        assert cluster.bootstrap in reason
        assert "\n" not in reason
        assert isinstance(runner.events[-1], Stopped)


def test_an_error_of_java_in_a_batch_is_told_and_given_up(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    source = new_name("numbers")
    create(bootstrap, source)
    write(bootstrap, source, [{"n": 1}])
    (tmp_path / "file").write_text("no folder")
    inputs = {"numbers": from_topic(source, schema="n INT")}
    copy = pipeline(inputs=inputs, output=to_table(str(tmp_path / "file" / "table")), name=f"{source}-copy")

    (outcome,) = runner(copy(lambda numbers: numbers.select("n")))

    assert outcome.error == f"Parent path is not a directory: file:{tmp_path}/file"
    assert outcome.restarts >= 2
