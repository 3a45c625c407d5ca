"""The metrics of running pipelines for Prometheus: `GET /metrics`, in its text format.

`Metrics` has the newest progress of each pipeline and the sums of counters. `MetricsServer` answers HTTP
requests from its own thread. The text format needs a few lines of code, so there is no client library.
"""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from gralha.pipelines.progress import Progress

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metric(NamedTuple):
    """One metric of every pipeline."""

    name: str
    help: str
    value: Callable[[Progress], float | None]


GAUGES = [
    Metric("input_rows_per_second", "Rows that arrive.", lambda one: one.input_rows_per_second),
    Metric(
        "processed_rows_per_second", "Rows that are processed.", lambda one: one.processed_rows_per_second
    ),
    Metric("state_rows", "Rows in the state store.", lambda one: one.state_rows),
    Metric("state_bytes", "Memory of the state store.", lambda one: one.state_bytes),
    Metric("batch_duration_seconds", "Time of the last batch.", lambda one: one.batch_duration_ms / 1000),
    Metric("batch", "Number of the last batch.", lambda one: one.batch),
]
COUNTERS = [
    Metric("input_rows_total", "Rows read.", lambda one: one.input_rows),
    Metric("late_rows_dropped_total", "Rows behind the watermark.", lambda one: one.late_rows_dropped),
    Metric("dead_letters_total", "Records that did not fit their schema.", lambda one: one.dead_letters),
    Metric(
        "data_losses_total",
        "Times that records were deleted before they were read.",
        lambda one: one.data_losses,
    ),
    Metric(
        "lost_records_total", "Records that were deleted before they were read.", lambda one: one.lost_records
    ),
]
RESTARTS = ("restarts_total", "Restarts after a failure.")
LAG = ("lag_records", "Records in the topics that were not read yet.")
UP = ("up", "1 while the pipeline runs, 0 while it waits for a restart or has ended.")


class Metrics:
    """The metrics of the pipelines of this process. All methods may be called from any thread."""

    def __init__(self, measure_lag: Callable[[Progress], int | None] = lambda one: one.lag) -> None:
        # Called for every scrape, so that the lag grows even if a batch does not end.
        self._measure_lag = measure_lag
        self._lock = threading.Lock()
        self._newest: dict[str, Progress] = {}
        self._totals: dict[tuple[str, str], float] = {}
        self._restarts: dict[str, int] = {}
        self._up: dict[str, bool] = {}

    def started(self, pipeline: str) -> None:
        """The pipeline has been started or restarted."""
        with self._lock:
            self._up[pipeline] = True
            self._restarts.setdefault(pipeline, 0)

    def restarting(self, pipeline: str) -> None:
        """The pipeline failed and will be restarted."""
        with self._lock:
            self._up[pipeline] = False
            self._restarts[pipeline] = self._restarts.get(pipeline, 0) + 1

    def ended(self, pipeline: str) -> None:
        """The pipeline has ended, with or without an error."""
        with self._lock:
            self._up[pipeline] = False

    def add(self, progress: Progress) -> None:
        """Counts a batch."""
        with self._lock:
            self._newest[progress.pipeline] = progress
            for metric in COUNTERS:
                key = (metric.name, progress.pipeline)
                self._totals[key] = self._totals.get(key, 0) + (metric.value(progress) or 0)

    def text(self) -> str:
        """All metrics in Prometheus's text format."""
        with self._lock:
            newest = dict(self._newest)
        lags = {name: self._measure_lag(progress) for name, progress in newest.items()}
        known = {name: float(lag) for name, lag in lags.items() if lag is not None}
        with self._lock:
            groups = [(*UP, "gauge", {name: float(up) for name, up in self._up.items()})]
            groups += [(*RESTARTS, "counter", {name: float(n) for name, n in self._restarts.items()})]
            groups += [(*LAG, "gauge", known)]
            groups += [(metric.name, metric.help, "gauge", self._gauge(metric)) for metric in GAUGES]
            groups += [(metric.name, metric.help, "counter", self._counter(metric)) for metric in COUNTERS]
        return "".join(_lines(*group) for group in groups)

    def _gauge(self, metric: Metric) -> dict[str, float]:
        values = {name: metric.value(progress) for name, progress in self._newest.items()}
        return {name: float(value) for name, value in values.items() if value is not None}

    def _counter(self, metric: Metric) -> dict[str, float]:
        return {name: self._totals.get((metric.name, name), 0) for name in self._newest}


def _lines(name: str, help_text: str, kind: str, values: dict[str, float]) -> str:
    if not values:
        return ""
    full = f"gralha_pipeline_{name}"
    lines = [f"# HELP {full} {help_text}", f"# TYPE {full} {kind}"]
    lines += [
        f'{full}{{pipeline="{_label(pipeline)}"}} {int(value) if value == int(value) else value}'
        for pipeline, value in sorted(values.items())
    ]
    return "\n".join(lines) + "\n"


def _label(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class MetricsServer:
    """Answers GET /metrics until it is closed. With port 0 the operating system chooses a port."""

    def __init__(self, metrics: Metrics, port: int, host: str = "localhost") -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = self.path.split("?")[0] in ("/metrics", "/")
                body = (metrics.text() if found else "The metrics are at /metrics.\n").encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                """Logs nothing for a scrape."""

        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        self.address = f"{host}:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stops the server and frees the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
