"""Runs pipelines on a Spark session: starts, watches, restarts and stops their queries.

`run` blocks until every pipeline has ended or `stop` is set. It polls its queries from one thread, so that
`on_event` needs no locks. A failed query is restarted from its checkpoint (`restarts.py` decides when), while
the others continue.
"""

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from gralha.pipelines import checkpoints
from gralha.pipelines.configuration import kafka_settings
from gralha.pipelines.declaration import Pipeline
from gralha.pipelines.errors import CannotStartError, PipelineError
from gralha.pipelines.events import Event, Failed, Progressed, Restarting, Started, Stopped, Warned
from gralha.pipelines.folders import folder, usable
from gralha.pipelines.group_progress import GroupProgress, rides_with_decisions
from gralha.pipelines.planning import Plan, plan
from gralha.pipelines.progress import Progress
from gralha.pipelines.restarts import BackOff
from gralha.pipelines.spark_errors import failure, of_query, short
from gralha.pipelines.starting import Running, prepare, start
from gralha.pipelines.stopping import begin_no_batch_after_this, has_jobs
from gralha.spark.versions import LIMITS_BATCHES, spark_version

POLL_SECONDS: Final = 0.2
STOP_POLL_SECONDS: Final = 0.02


@dataclass(frozen=True)
class RunOptions:
    """The options of a run, for all its pipelines."""

    bootstrap_servers: str = "localhost:9092"
    # A folder with one folder per pipeline, which has manifest.json and Spark's `checkpoint/`. On a Spark
    # cluster all machines must be able to reach it (hdfs://, s3a://, a shared mount).
    checkpoints: str = "checkpoints"
    # Process all records that exist now, then stop. Overrides the trigger of the pipeline.
    available_now: bool = False
    # Move the old checkpoint away and start again.
    fresh: bool = False
    # More settings of Kafka clients, without "kafka.".
    kafka: Mapping[str, str] = field(default_factory=dict)
    # How long a stop waits for the end of a batch. Then the batch is cancelled, and repeated at the next
    # start.
    stop_timeout_seconds: float = 20.0


@dataclass(frozen=True)
class RunResult:
    """The end of a pipeline. `error` is None if it ended without an error."""

    pipeline: str
    restarts: int
    error: str | None = None


def run(
    pipelines: Sequence[Pipeline],
    session: SparkSession,
    options: RunOptions,
    *,
    on_event: Callable[[Event], None] = lambda _event: None,
    stop: threading.Event | None = None,
    chooser: random.Random | None = None,
) -> list[RunResult]:
    """Runs pipelines until they end, fail for good, or `stop` is set.

    All are planned first. Raises CannotStartError, before anything runs, if one of them cannot start.
    """
    asked = stop or threading.Event()
    plans = plan_all(pipelines, session, options)
    if not all(one.can_start for one in plans):
        raise CannotStartError({one.pipeline.name: one.problems for one in plans})
    for one in plans:
        for warning in one.warnings:
            on_event(Warned(one.pipeline.name, warning))
        with usable(one.checkpoint):
            if options.fresh:
                checkpoints.put_aside(folder(one.checkpoint, session), datetime.now())
            prepare(one, session, options)
    watches = [_Watch(one, session, options, on_event, BackOff(chooser or random.Random())) for one in plans]
    try:
        while not asked.is_set() and any(not watch.is_done for watch in watches):
            for watch in watches:
                watch.step(time.monotonic())
            asked.wait(POLL_SECONDS)
    finally:
        _stop_all(watches, options.stop_timeout_seconds if asked.is_set() else 0.0)
    return [watch.outcome for watch in watches]


def plan_all(pipelines: Sequence[Pipeline], session: SparkSession, options: RunOptions) -> list[Plan]:
    """The plan of each pipeline."""
    return [plan(one, session, options) for one in pipelines]


class _Watch:
    """One pipeline from its first start to its end."""

    def __init__(
        self,
        made: Plan,
        session: SparkSession,
        options: RunOptions,
        tell: Callable[[Event], None],
        back_off: BackOff,
    ) -> None:
        self.name = made.pipeline.name
        self.is_done = False
        self._plan = made
        self._session = session
        self._options = options
        self._tell = tell
        self._back_off = back_off
        kafka = kafka_settings(made.pipeline, options)
        self._group = None if rides_with_decisions(made.pipeline) else GroupProgress(self.name, kafka)
        self._running: Running | None = None
        self._due = 0.0
        self._attempt = 0
        self._error: str | None = None
        # The timestamp of the last report that was passed on, and the number of dead letters until then.
        self._reported = ""
        self._counted = 0
        # The dead letters of the whole run.
        self._letters = 0
        # True if the query starts no batch after the current one.
        self._is_last = False

    @property
    def outcome(self) -> RunResult:
        return RunResult(self.name, max(0, self._attempt - 1), self._error)

    def step(self, now: float) -> None:
        """Does the next step: starts the query, passes on progress, or notices its end."""
        if self.is_done:
            return
        try:
            if self._running is not None:
                self._look(self._running, now)
            elif now >= self._due:
                self._start()
        except PipelineError as error:
            self._fail(str(error))  # the plan was good, so something has changed: a person has to look
        except PySparkException as error:
            self._after_failure(f"{type(error).__name__}: {error}", short(error), now)
        except (Py4JError, ConnectionError) as error:
            self._fail(f"Spark is gone: {type(error).__name__}: {error}")

    def _start(self) -> None:
        self._attempt += 1
        self._running = start(self._plan, self._session, self._options, is_first=self._attempt == 1)
        self._reported, self._counted = "", 0
        resumes = self._plan.verdict == "resume" or self._attempt > 1
        self._tell(Started(self.name, self._attempt, resumes))

    def _look(self, running: Running, now: float) -> None:
        query = running.query
        is_active = query.isActive  # asked first, so that the last report is not missed
        self._report(running)
        if is_active:
            if self._group is not None:
                self._group.step(now)
            return
        text = failure(query)
        self._running = None
        if text is None:
            self._finish_group()
            self.is_done = True
            self._tell(Stopped(self.name))
        else:
            self._after_failure(text, of_query(text), now)

    def _report(self, running: Running) -> None:
        """Passes on Spark's reports since the last call."""
        last = running.query.lastProgress
        if last is None or last["timestamp"] == self._reported:
            return
        new = [one for one in running.query.recentProgress if one["timestamp"] > self._reported]
        unfit = running.unfit.value
        for one in new:
            self._reported = one["timestamp"]
            # Workers report a sum for all batches. The new ones are counted for the newest batch.
            letters, self._counted = (unfit - self._counted, unfit) if one is new[-1] else (0, self._counted)
            self._letters += letters
            progress = Progress.of(self.name, _values(one))
            progress = replace(progress, dead_letters=letters, dead_letters_total=self._letters)
            if spark_version() < LIMITS_BATCHES:
                progress = replace(progress, lag=None)  # the report has the end of the batch instead
            if progress.batch_duration_ms and "addBatch" in (one["durationMs"] or {}):
                self._back_off.worked()
            if self._group is not None:
                self._group.reached(progress.read_to)
            self._tell(Progressed(self.name, progress))

    def _finish_group(self) -> None:
        if self._group is not None:
            self._group.finish()

    def _after_failure(self, text: str, sentence: str, now: float) -> None:
        self._running = None
        pause = self._back_off.pause_after(text, sentence)
        if pause is None:
            self._fail(sentence)
            return
        self._due = now + pause
        self._tell(Restarting(self.name, sentence, self._attempt, pause))

    def _fail(self, sentence: str) -> None:
        self._running = None
        self.is_done = True
        self._error = sentence
        self._tell(Failed(self.name, sentence))

    # The end

    def is_between_batches(self) -> bool:
        """Returns True if the query works on no batch. Otherwise its current batch becomes the last."""
        running = self._running
        if running is None or not running.query.status["isTriggerActive"]:
            return True
        if not self._is_last and has_jobs(running.query, self._session):
            self._is_last = begin_no_batch_after_this(running.query, self._session)
        return False

    def end(self) -> None:
        """Stops the query and passes on its last report."""
        if self.is_done:
            return
        if self._running is not None:
            self._running.query.stop()
            self._report(self._running)
            self._finish_group()
            self._running = None
        self.is_done = True
        self._tell(Stopped(self.name))


def _stop_all(watches: Sequence[_Watch], timeout_seconds: float) -> None:
    """Lets every query finish its current batch within the time, then stops it.

    Spark stops a query by interrupting it. Rows that the batch has written to a topic would be written again
    when it is repeated. So the query is told to start no other batch, and this waits for the end of the
    current one.
    """
    deadline = time.monotonic() + timeout_seconds
    try:
        pending = [watch for watch in watches if not watch.is_done]
        while pending:
            ready = [watch for watch in pending if watch.is_between_batches()]
            if not ready and time.monotonic() < deadline:
                time.sleep(STOP_POLL_SECONDS)
                continue
            for watch in ready or pending:
                watch.end()
            pending = [watch for watch in pending if not watch.is_done]
    except (Py4JError, ConnectionError):
        return  # Spark is gone, and its queries with it


def _values(report: Any) -> Mapping[str, Any]:
    """Spark's report as plain values."""
    return report if isinstance(report, Mapping) else dict(report)
