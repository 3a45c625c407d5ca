"""Runs pipelines on a Spark session: start, watch, restart with back-off, stop cleanly.

`run` blocks until every pipeline has ended or `stop` is set. It polls its queries from one thread, so that
whoever watches (`on_event`) needs no locks.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gralha.pipelines.declaration import Pipeline
from gralha.pipelines.events import Event

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from gralha.pipelines.planning import Plan


@dataclass(frozen=True)
class RunOptions:
    """How to run: the same for all pipelines of a run."""

    bootstrap_servers: str = "localhost:9092"
    # A folder with one folder per pipeline: manifest.json and Spark's own `checkpoint/` in it. On a Spark
    # cluster it must be one that all machines reach (hdfs://, s3a://, a shared mount).
    checkpoints: str = "checkpoints"
    # Process all there is now, then end, whatever the trigger of the pipeline says.
    available_now: bool = False
    # Put the old checkpoint aside and begin anew.
    fresh: bool = False
    # Further settings of Kafka's clients, without "kafka.".
    kafka: Mapping[str, str] = field(default_factory=dict)
    # How long a batch may take to its end when asked to stop; then it is cut off, and done again next time.
    stop_timeout_seconds: float = 20.0


@dataclass(frozen=True)
class Outcome:
    """How a pipeline ended: `error` is None when it ended as it should."""

    pipeline: str
    restarts: int
    error: str | None = None


def run(
    pipelines: Sequence[Pipeline],
    session: "SparkSession",
    options: RunOptions,
    *,
    on_event: Callable[[Event], None] = lambda _event: None,
    stop: threading.Event | None = None,
) -> list[Outcome]:
    """Run pipelines until they end, fail for good, or `stop` is set.

    All are planned first: CannotStartError, before anything runs, when one of them cannot start.
    """
    raise NotImplementedError


def plan_all(pipelines: Sequence[Pipeline], session: "SparkSession", options: RunOptions) -> "list[Plan]":
    """The plan of each pipeline: what `run` would do, and whether it can."""
    raise NotImplementedError
