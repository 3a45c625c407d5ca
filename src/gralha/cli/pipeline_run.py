"""`gralha pipeline run FILE`: runs pipelines until Ctrl-C.

It reports to the terminal (`pipeline_view.py`), to state files (`state_files.py`) and to Prometheus.
"""

import signal
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from gralha.cli.pipeline_choice import chosen_pipelines, run_options
from gralha.cli.pipeline_session import parse_conf, spark_session
from gralha.cli.pipeline_view import RunView
from gralha.cli.program import CommandError, stop_on_terminate
from gralha.pipelines.declaration import Pipeline
from gralha.pipelines.events import Event, Failed, Progressed, Restarting, Started
from gralha.pipelines.lag import LagMeter
from gralha.pipelines.metrics import Metrics, MetricsServer
from gralha.pipelines.running import RunOptions, RunResult, run
from gralha.pipelines.state_files import (
    FAILED,
    RESTARTING,
    RUNNING,
    STOPPED,
    State,
    StateFile,
    state_folder,
)
from gralha.spark.packages import package_for_executors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL_MASTER = "local[*]"


def command(options: Namespace) -> int:
    """Runs until all pipelines have ended or a signal comes. Returns 1 if one of them failed."""
    stop_on_terminate()
    pipelines = chosen_pipelines(options)
    settings = run_options(options)
    conf = parse_conf(options.conf)
    master = options.master or LOCAL_MASTER
    folder = state_folder(options.checkpoints)
    with ExitStack() as stack:
        files = stack.enter_context(_held(pipelines, folder, options, master))
        meter = LagMeter(options.bootstrap_server, settings.kafka)
        stack.callback(meter.close)
        metrics = Metrics(meter.lag)
        address = None
        if options.metrics_port is not None:
            address = _serve(stack, metrics, options.metrics_port)
        log = folder / "spark.log"
        print(_announcement(pipelines, options, master, address, log), flush=True)
        if options.ship:
            conf = {**package_for_executors(folder / "gralha.zip"), **conf}
        print("Starting Spark ...", flush=True)
        started = time.monotonic()
        name = f"gralha {', '.join(pipeline.name for pipeline in pipelines)}"
        session = stack.enter_context(spark_session(options.master, name, conf, log))
        print(f"Spark started in {time.monotonic() - started:.1f} s.", flush=True)
        return _run(pipelines, session, settings, files, metrics, meter)


def _run(
    pipelines: list[Pipeline],
    session: "SparkSession",
    settings: RunOptions,
    files: "RunFiles",
    metrics: Metrics,
    meter: LagMeter,
) -> int:
    view = RunView([pipeline.name for pipeline in pipelines])
    stop = threading.Event()
    view.draw()

    def on_event(event: Event) -> None:
        if isinstance(event, Progressed):
            event = replace(event, progress=replace(event.progress, lag=meter.lag(event.progress)))
        files.note(event)
        _count(metrics, event)
        view.show(event)

    with _stopping(stop, view.say):
        outcomes = run(pipelines, session, settings, on_event=on_event, stop=stop)
    view.end()
    return _judge(outcomes, files)


def _judge(outcomes: list[RunResult], files: "RunFiles") -> int:
    """The exit code. Also writes to the state files how each pipeline ended."""
    failures = [outcome for outcome in outcomes if outcome.error is not None]
    for outcome in outcomes:
        files.end(outcome.pipeline, outcome.error)
    if failures:
        raise CommandError("\n".join(f"{one.pipeline} failed: {one.error}" for one in failures))
    return 0


class RunFiles:
    """The state files of the pipelines of this process."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[StateFile, State]] = {}

    def add(self, file: StateFile, state: State) -> None:
        """Holds a pipeline, so that no other process runs it."""
        file.hold(state)
        self._files[state.pipeline] = (file, state)

    def note(self, event: Event) -> None:
        """Writes an event to the state file of its pipeline."""
        file, state = self._files[event.pipeline]
        if isinstance(event, Started):
            state = replace(state, condition=RUNNING, restarts=event.attempt - 1)
        elif isinstance(event, Progressed):
            state = replace(state, condition=RUNNING, message="", progress=event.progress)
        elif isinstance(event, Restarting):
            state = replace(state, condition=RESTARTING, message=event.reason)
        elif isinstance(event, Failed):
            state = replace(state, condition=FAILED, message=event.reason)
        else:
            state = replace(state, condition=STOPPED, message="")
        self._files[event.pipeline] = (file, state)
        file.write(state)

    def end(self, pipeline: str, error: str | None) -> None:
        """Write how a pipeline ended."""
        file, state = self._files[pipeline]
        state = replace(state, condition=STOPPED if error is None else FAILED, message=error or "")
        self._files[pipeline] = (file, state)
        file.write(state)

    def close(self, error: BaseException | None) -> None:
        """Releases all pipelines. A pipeline that has not ended was stopped, or ended by the error."""
        for pipeline, (file, state) in self._files.items():
            if state.condition not in (STOPPED, FAILED):
                self.end(pipeline, str(error) if isinstance(error, Exception) else None)
            file.release()


@contextmanager
def _held(pipelines: list[Pipeline], folder: Path, options: Namespace, master: str) -> Iterator[RunFiles]:
    files = RunFiles()
    file = str(Path(options.file).resolve())
    try:
        for pipeline in pipelines:
            state = State(pipeline.name, file, master, options.bootstrap_server)
            files.add(StateFile(folder, pipeline.name), state)
        yield files
    except BaseException as error:
        files.close(error)
        raise
    files.close(None)


def _serve(stack: ExitStack, metrics: Metrics, port: int) -> str:
    try:
        server = MetricsServer(metrics, port)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommandError(
            f"Cannot serve metrics on localhost:{port}: {reason}. Choose another port"
        ) from None
    stack.callback(server.close)
    return server.address


def _count(metrics: Metrics, event: Event) -> None:
    if isinstance(event, Started):
        metrics.started(event.pipeline)
    elif isinstance(event, Progressed):
        metrics.add(event.progress)
    elif isinstance(event, Restarting):
        metrics.restarting(event.pipeline)
    else:
        metrics.ended(event.pipeline)


@contextmanager
def _stopping(stop: threading.Event, say: Callable[[str], None]) -> Iterator[None]:
    """Makes Ctrl-C and SIGTERM stop the run after the current batch. The second signal stops it at once."""

    def ask(number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        again = ". Press Ctrl-C again to stop at once" if number == signal.SIGINT else ""
        say(f"Stopping after the current batch{again}.")

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _announcement(
    pipelines: list[Pipeline], options: Namespace, master: str, metrics_address: str | None, log: Path
) -> str:
    rows = [
        ("brokers", options.bootstrap_server),
        ("Spark", f"{master}, log in {log}"),
        ("checkpoints", options.checkpoints),
    ]
    if metrics_address:
        rows.append(("metrics", f"http://{metrics_address}/metrics"))
    names = ", ".join(pipeline.name for pipeline in pipelines)
    lines = [f"Running {names} from {options.file}", *(f"  {name:<12}{value}" for name, value in rows)]
    place = "" if options.checkpoints == "checkpoints" else f" --checkpoints {options.checkpoints}"
    lines.append(f"Ctrl-C stops it. In another terminal: gralha pipeline status{place}")
    return "\n".join(lines)
