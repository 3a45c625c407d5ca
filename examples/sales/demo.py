"""The demo: three brokers, a generator, two pipelines on Spark, and what they find as a live table.

    make demo               until Ctrl-C
    make demo SECONDS=30    ends by itself

Everything is started as you would start it yourself, by commands that are printed at the beginning. All files
are in build/demo and stay there until the next time.
"""

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from live import Results, table_summary

from gralha.pipelines.state_files import RUNNING, StateFile
from gralha.pipelines.table_view import LiveLines

HERE = Path(__file__).resolve().parent
GRALHA = [sys.executable, "-m", "gralha"]
PIPELINES = ("totals", "anomalies")
TOPICS = {"sales": 6, "sales.totals": 3, "sales.anomalies": 3}
FIRST_PORT, PORT_STEP, BROKERS = 19092, 10_000, 3
START_SECONDS_MAX = 300
SECONDS_BETWEEN_TABLES = 5
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class DemoError(Exception):
    """The demo cannot go on; the message says why."""


class Programs:
    """The programs of the demo, stopped in the opposite order of their start."""

    def __init__(self, folder: Path, is_asked_to_stop: Callable[[], bool]) -> None:
        self._folder = folder
        self._is_asked_to_stop = is_asked_to_stop
        self._started: list[tuple[str, subprocess.Popen[bytes]]] = []

    def start(self, name: str, line: list[str], **environment: str) -> None:
        """Start a program; what it says goes to a file."""
        with (self._folder / f"{name}.log").open("wb") as log:
            program = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                # Ctrl-C is for us: we stop them in order.
                start_new_session=True,
            )
        self._started.append((name, program))

    def check(self) -> None:
        """KeyboardInterrupt when it was asked for, DemoError when a program has ended: none of them may."""
        if self._is_asked_to_stop():
            raise KeyboardInterrupt
        for name, program in self._started:
            if program.poll() is not None:
                said = (self._folder / f"{name}.log").read_text(errors="replace").strip().splitlines()
                last = said[-1] if said else "nothing"
                raise DemoError(f"The {name} ended ({program.returncode}). Its last words: {last}")

    def wait_for(self, what: Callable[[], bool], reason: str) -> None:
        """Until something is true; DemoError when a program ends first or it takes too long."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while not what():
            self.check()
            if time.monotonic() > deadline:
                raise DemoError(f"{reason} takes longer than {START_SECONDS_MAX} s; see {self._folder}/*.log")
            time.sleep(0.1)

    def stop(self, say: Callable[[str], None]) -> None:
        """Ask each to end and wait for it."""
        for name, program in reversed(self._started):
            if program.poll() is None:
                say(f"Stopping the {name} ...")
                program.terminate()
            try:
                program.wait(60)
            except subprocess.TimeoutExpired:
                program.kill()
        self._started.clear()


def main() -> int:
    parser = argparse.ArgumentParser(description="Three brokers, a generator, two pipelines, a live table.")
    parser.add_argument("--seconds", type=_seconds, default=None, help="end after so many seconds of results")
    parser.add_argument("--folder", type=Path, default=Path("build/demo"), help="for all files (build/demo)")
    options = parser.parse_args()
    live = LiveLines()
    is_asked_to_stop = _stop_signals()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    programs = Programs(options.folder, is_asked_to_stop)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            show(programs, live, options.folder, options.seconds)
        return 0
    except DemoError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        with _no_more_signals():
            live.end()
            programs.stop(live.say)
        summary = table_summary(options.folder / "table")
        print("\n".join(["", *summary]), flush=True)


def show(programs: Programs, live: LiveLines, folder: Path, seconds: float | None) -> None:
    """Start everything, then draw what comes until the time is over."""
    bootstrap = start_brokers(programs, live, folder)
    live.say("Starting a generator: 50 sales a second, some too large, some broken.")
    programs.start("generator", [sys.executable, str(HERE / "generate.py"), "--bootstrap-server", bootstrap])
    live.say("Starting Spark and two pipelines, totals and anomalies: this takes a while.")
    checkpoints = folder / "checkpoints"
    run = [*GRALHA, "pipeline", "run", str(HERE / "pipelines.py"), "--checkpoints", str(checkpoints)]
    port = _free_port()
    # It runs for a minute or so: a quick start is worth more than code that is compiled well.
    quick = ["--conf", "spark.ui.enabled=false", "--conf", f"spark.driver.extraJavaOptions={JAVA_OPTIONS}"]
    line = [*run, "--bootstrap-server", bootstrap, "--metrics-port", str(port), *quick]
    programs.start("pipelines", line, SALES_TABLE=str(folder / "table"))
    files = [StateFile(checkpoints, name) for name in PIPELINES]
    programs.wait_for(lambda: all(_has_run(file) for file in files), "The first batch")
    live.say("\n".join(what_to_look_at(bootstrap, checkpoints, port)))
    results = Results(bootstrap, files)
    draw(programs, live, results, lambda: results.has_totals)
    ends = time.monotonic() + (seconds or float("inf"))
    draw(programs, live, results, lambda: time.monotonic() > ends)
    results.close()


def draw(programs: Programs, live: LiveLines, results: Results, is_over: Callable[[], bool]) -> None:
    """Show results in their place, or now and then where there is no terminal, until something is true."""
    next_table = 0.0
    while not is_over():
        programs.check()
        results.poll(0.5)
        if live.is_terminal:
            live.draw(results.lines())
        elif time.monotonic() >= next_table:
            live.say("\n".join(results.lines()))
            next_table = time.monotonic() + SECONDS_BETWEEN_TABLES


def start_brokers(programs: Programs, live: LiveLines, folder: Path) -> str:
    """Three brokers with the topics of the demo; their addresses."""
    first = _first_port()
    ports = [first + step * PORT_STEP for step in range(BROKERS)]
    bootstrap = ",".join(f"localhost:{port}" for port in ports)
    live.say(f"Starting three brokers: {bootstrap}")
    up = [*GRALHA, "up", "--brokers", str(BROKERS), "--port", str(first), "--data", str(folder / "brokers")]
    programs.start("brokers", up)
    log = folder / "brokers.log"
    programs.wait_for(lambda: "Gralha is up" in log.read_text(errors="replace"), "Starting the brokers")
    for topic, partitions in TOPICS.items():
        live.say(f"Creating topic {topic}: {partitions} partitions, each on all three brokers")
        create = ["--create", "--topic", topic, "--partitions", str(partitions), "--replication-factor", "3"]
        # A consumer that somebody left running since the last demo may have been quicker.
        line = [*GRALHA, "topics", "--bootstrap-server", bootstrap, *create, "--if-not-exists"]
        made = subprocess.run(line, capture_output=True, text=True)
        programs.check()
        if made.returncode != 0:
            raise DemoError(made.stderr.strip() or made.stdout.strip())
    return bootstrap


def what_to_look_at(bootstrap: str, checkpoints: Path, metrics_port: int) -> list[str]:
    """Commands for another terminal."""
    one = bootstrap.partition(",")[0]
    server = f"--bootstrap-server {one}"
    commands = {
        "lag, as for any consumer": f"kafka-consumer-groups {server} --describe --group totals",
        "results": f"kafka-console-consumer {server} --topic sales.totals --from-beginning",
        "records that do not fit, and why": f"kafka-console-consumer {server} --topic totals.dead-letters "
        "--from-beginning --property print.headers=true",
        "state of the pipelines": f"gralha pipeline status --checkpoints {checkpoints}",
        "metrics for Prometheus": f"curl -s localhost:{metrics_port}/metrics",
    }
    width = max(map(len, commands))
    lines = [f"  {name:<{width}}  {command}" for name, command in commands.items()]
    path = f"  (export PATH={Path(sys.executable).parent}:$PATH)"
    return ["", "The demo is running. Try in another terminal:", *lines, path, "Ctrl-C stops everything.", ""]


def _has_run(file: StateFile) -> bool:
    state = file.read()
    return state is not None and state.condition == RUNNING and state.progress is not None


def _first_port() -> int:
    """The ports of `gralha up --brokers 3`, or others when somebody has those."""
    for first in (FIRST_PORT, *range(20_092, 30_000, 100)):
        if all(_is_free(first + step * PORT_STEP + more) for step in range(BROKERS) for more in (0, 1)):
            return first
    raise DemoError("There are no free ports for three brokers.")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _stop_signals() -> Callable[[], bool]:
    """Ctrl-C and SIGTERM are noted and looked at now and then: no program is forgotten while it starts."""
    asked: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        asked.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, note)
    return lambda: bool(asked)


@contextlib.contextmanager
def _no_more_signals() -> Iterator[None]:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    yield


def _seconds(text: str) -> float | None:
    """Empty is what `make demo` passes without SECONDS."""
    return float(text) if text else None


if __name__ == "__main__":
    sys.exit(main())
