"""Runs pipelines for tests, and notes what happened."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gralha.pipelines import Pipeline
from gralha.pipelines.events import Event
from gralha.pipelines.running import RunOptions, RunResult, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Runner:
    """Runs pipelines on one session and one broker. Each test has its own checkpoints."""

    def __init__(self, spark: SparkSession, bootstrap: str, checkpoints: Path) -> None:
        self.spark = spark
        self.checkpoints = checkpoints
        self.options = RunOptions(
            bootstrap_servers=bootstrap, checkpoints=str(checkpoints), available_now=True
        )
        self.events: list[Event] = []

    def __call__(self, *pipelines: Pipeline, **changes: Any) -> list[RunResult]:
        """Runs until all existing records are processed."""
        self.events = []
        return run(pipelines, self.spark, replace(self.options, **changes), on_event=self.events.append)

    def until(self, is_enough: Any, *pipelines: Pipeline, **changes: Any) -> list[RunResult]:
        """Runs until the events are enough."""
        self.events = []
        stop = threading.Event()

        def note(event: Event) -> None:
            self.events.append(event)
            if is_enough(self.events):
                stop.set()

        options = replace(self.options, available_now=False, **changes)
        return run(pipelines, self.spark, options, on_event=note, stop=stop)

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def runner(spark: SparkSession, bootstrap: str, tmp_path: Path) -> Runner:
    """Runs pipelines on the shared session and the shared broker."""
    return Runner(spark, bootstrap, tmp_path / "checkpoints")
