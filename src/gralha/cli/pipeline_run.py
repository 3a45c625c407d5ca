"""`gralha pipeline run FILE`: runs pipelines until Ctrl-C.

It reports to the terminal (`pipeline_view.py`), to state files (`state_files.py`) and to Prometheus.
"""

import signal
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from gralha.cli.pipeline_choice import chosen_pipelines, failed, run_options, say
from gralha.cli.pipeline_session import CommandSpark, parse_conf
from gralha.cli.pipeline_states import RunFiles
from gralha.cli.pipeline_view import RunView
from gralha.cli.program import CommandError, stop_on_terminate
from gralha.pipelines.configuration import kafka_settings
from gralha.pipelines.declaration import Pipeline
from gralha.pipelines.events import Event, Progressed, Restarting, Started, Warned
from gralha.pipelines.lag import LagMeters
from gralha.pipelines.metrics import Metrics, MetricsServer
from gralha.pipelines.running import RunOptions, run
from gralha.pipelines.state_files import LOG, state_folder
from gralha.spark.packages import package_for_executors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def command(options: Namespace) -> int:
    """Runs until all pipelines have ended or a signal comes. Returns 1 if one of them failed."""
    stop_on_terminate()
    folder = state_folder(options.checkpoints)
    with ExitStack() as stack:
        files = stack.enter_context(RunFiles())
        spark = stack.enter_context(_spark(options, folder))
        pipelines = chosen_pipelines(options, spark)
        settings = run_options(options)
        files.hold(pipelines, folder, options, spark.master)
        meter = LagMeters({one.name: kafka_settings(one, settings) for one in pipelines})
        stack.callback(meter.close)
        metrics = Metrics(meter.lag)
        address = None
        if options.metrics_port is not None:
            address = _serve(stack, metrics, options.metrics_port)
        say(_announcement(pipelines, options, spark.master, address, folder / LOG))
        view = RunView([pipeline.name for pipeline in pipelines], changes_lines=not options.verbose)
        return _run(pipelines, spark.session(), settings, Reports(view, files, metrics, meter))


def _spark(options: Namespace, folder: Path) -> CommandSpark:
    def checked() -> Mapping[str, str]:
        run_options(options)
        return package_for_executors(folder / "gralha.zip") if options.ship else {}

    conf = parse_conf(options.conf)
    name = f"gralha {Path(options.file).name}"
    return CommandSpark(
        *(options.master, name, conf, folder / LOG), is_verbose=options.verbose, say=say, before_start=checked
    )


class Reports:
    """Everything that is told about a run: to the terminal, to the state files and to Prometheus."""

    def __init__(self, view: RunView, files: RunFiles, metrics: Metrics, meter: LagMeters) -> None:
        self.view = view
        self.files = files
        self._metrics = metrics
        self._meter = meter

    def on_event(self, event: Event) -> None:
        if isinstance(event, Progressed):
            event = replace(event, progress=replace(event.progress, lag=self._meter.lag(event.progress)))
        self.files.note(event)
        _count(self._metrics, event)
        self.view.show(event)


def _run(pipelines: list[Pipeline], session: "SparkSession", settings: RunOptions, reports: Reports) -> int:
    stop = threading.Event()
    reports.view.draw()
    with _stopping(stop, reports.view.say):
        outcomes = run(pipelines, session, settings, on_event=reports.on_event, stop=stop)
    reports.view.end()
    for outcome in outcomes:
        reports.files.end(outcome.pipeline, outcome.error)
    for line in reports.files.letters(settings.checkpoints):
        say(line)
    failures = [f"{one.pipeline} failed: {one.error}" for one in outcomes if one.error is not None]
    return failed(failures) if failures else 0


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
    elif not isinstance(event, Warned):
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
    where = "log on this terminal" if options.verbose else f"log in {log}"
    rows = [
        ("brokers", options.bootstrap_server),
        ("Spark", f"{master}, {where}"),
        ("checkpoints", options.checkpoints),
    ]
    if metrics_address:
        rows.append(("metrics", f"http://{metrics_address}/metrics"))
    names = ", ".join(pipeline.name for pipeline in pipelines)
    lines = [f"Running {names} from {options.file}", *(f"  {name:<12}{value}" for name, value in rows)]
    place = "" if options.checkpoints == "checkpoints" else f" --checkpoints {options.checkpoints}"
    lines.append(f"Ctrl-C stops it. In another terminal: gralha pipeline status{place}")
    return "\n".join(lines)
