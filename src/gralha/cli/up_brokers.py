"""Several brokers for `gralha up`: one process each, started together and stopped one after another.

If one broker ends, the others go on. No broker outlives the command.
"""

import contextlib
import ctypes
import os
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from gralha.cli.installed import installed_command
from gralha.cli.program import CommandError, stop_on_terminate
from gralha.cli.server import METRICS_AT
from gralha.cli.waiting import Waiting

MAX_BROKERS: Final = 5
# A broker needs less time to hand over its leadership.
STOP_TIMEOUT_S: Final = 45.0
READY: Final = b"ready: "
LOG_INTERVAL_S: Final = 0.1
PR_SET_PDEATHSIG: Final = 1


class BrokerProcesses:
    """The broker processes, by node id."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._log_begins: dict[int, int] = {}

    def start(self, node_id: int, text: str) -> None:
        """Starts a broker with the settings in `text`."""
        file = self._file(node_id, "properties")
        file.write_text(text)
        with self._file(node_id, "log").open("ab") as log:
            self._log_begins[node_id] = log.tell()
            self._processes[node_id] = subprocess.Popen(
                [sys.executable, "-m", "gralha.cli.up_node", str(file)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C must not reach the brokers: this process stops them in order.
                start_new_session=True,
                preexec_fn=end_with_parent(),
            )

    def wait_until_ready(self) -> dict[int, str]:
        """Waits until each broker is ready. Raises CommandError if one ends instead.

        Returns where each broker serves its metrics.
        """
        metrics: dict[int, str] = {}
        outputs = {process.stdout: node_id for node_id, process in self._processes.items() if process.stdout}
        waiting = set(self._processes)
        while waiting:
            readable, _, _ = select.select(list(outputs), [], [])
            for output in readable:
                node_id = outputs[output]
                said = os.read(output.fileno(), 4096)
                if READY in said:
                    waiting.discard(node_id)
                    metrics[node_id] = said.decode().partition(METRICS_AT)[2].strip()
                elif not said:
                    file = self._file(node_id, "log")
                    reason = last_words(file, self._log_begins[node_id])
                    raise CommandError(f"Broker {node_id} ended: {reason} (more in {file})")
        return {node_id: metrics[node_id] for node_id in sorted(metrics)}

    def show_logs(self) -> None:
        """Prints the new lines of all logs, each with the number of its broker. Never returns."""
        with contextlib.ExitStack() as stack:
            logs = {
                node_id: stack.enter_context(self._file(node_id, "log").open(errors="replace"))
                for node_id in self._processes
            }
            for node_id, log in logs.items():
                log.seek(self._log_begins[node_id])
            while True:
                lines = [f"{node_id} | {line}" for node_id, log in logs.items() for line in log]
                sys.stderr.write("".join(lines))
                sys.stderr.flush()
                if not lines:
                    time.sleep(LOG_INTERVAL_S)

    def wait(self) -> None:
        """Waits until no broker is left, which is a failure. Reports each end, and how to start the broker
        again.
        """
        running = {process.pid: node_id for node_id, process in self._processes.items()}
        while running:
            pid, status = os.wait()
            if pid in running:
                node_id = running.pop(pid)
                self._processes[node_id].returncode = os.waitstatus_to_exitcode(status)
                _say(self._obituary(node_id) + (" The others continue." if running else ""))
        raise CommandError("No broker is left. Run the same gralha up again to start all of them.")

    def _obituary(self, node_id: int) -> str:
        how = how_ended(self._processes[node_id].returncode)
        file = shlex.quote(str(self._file(node_id, "properties")))
        return (
            f"Broker {node_id} ended {how} (its log: {self._file(node_id, 'log')}). In another terminal "
            f"`{installed_command('gralha')} server --config {file}` starts it again."
        )

    def stop(self) -> None:
        """Stops the brokers one after another, so that each can hand over its leadership."""
        running = [node_id for node_id, process in self._processes.items() if process.poll() is None]
        try:
            for number, node_id in enumerate(running, start=1):
                process = self._processes[node_id]
                with Waiting(f"Stopping broker {node_id} ({number} of {len(running)})", after_s=0.0):
                    process.terminate()
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(STOP_TIMEOUT_S)
        finally:
            self._kill()

    def _kill(self) -> None:
        """Kills the brokers that took too long, or all if a second signal came."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        left = [node_id for node_id, process in self._processes.items() if process.poll() is None]
        for node_id in left:
            self._processes[node_id].kill()
        for node_id in left:
            self._processes[node_id].wait()
        if left:
            numbers = ", ".join(map(str, left))
            _say(f"Killed broker {numbers} before it had stopped. Its next start checks the logs.")

    def _file(self, node_id: int, kind: str) -> Path:
        return self._data / f"broker-{node_id}.{kind}"


def run_brokers(
    data: Path, texts: Sequence[str], announce: Callable[[dict[int, str]], None], *, is_verbose: bool = False
) -> int:
    """Runs brokers with these settings until Ctrl-C, SIGTERM or the end of the terminal."""
    processes = BrokerProcesses(data)
    stop_on_terminate()
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # unless nohup has made it ignored
        signal.signal(signal.SIGHUP, signal.getsignal(signal.SIGTERM))
    try:
        for node_id, text in enumerate(texts, start=1):
            processes.start(node_id, text)
        if is_verbose:
            threading.Thread(target=processes.show_logs, daemon=True).start()
        announce(processes.wait_until_ready())
        processes.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        processes.stop()
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def how_ended(exit_code: int) -> str:
    """The signal or the exit code, in words."""
    if exit_code >= 0:
        return f"with exit code {exit_code}"
    try:
        return f"by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"by signal {-exit_code}"


def last_words(log_file: Path, begin: int) -> str:
    """The last line of a log from `begin` on. Earlier lines are from earlier processes."""
    said = log_file.read_bytes()[begin:].decode(errors="replace")
    return (said.strip() or "the log is empty").splitlines()[-1]


def end_with_parent() -> Callable[[], None] | None:
    """For a new process: makes the kernel kill it when this process ends, even if this process is killed.

    None if only Linux can do that.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is None:
        return None
    return lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
