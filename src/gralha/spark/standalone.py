"""A standalone Spark cluster on this machine, from pip's pyspark: one master, some workers.

Each is a Java process with the jars that pip has installed. They listen on the loopback address only. The
workers start executors when sessions ask for them. `stop()` ends the workers first, which end their
executors. If this process dies, the operating system ends all of them (on Linux).
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from gralha.spark.home import scala_version, spark_home
from gralha.spark.java import find_java

HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 7077
START_TIMEOUT_S: Final = 60.0
STOP_TIMEOUT_S: Final = 15.0
POLL_INTERVAL_S: Final = 0.05
MASTER_CLASS: Final = "org.apache.spark.deploy.master.Master"
WORKER_CLASS: Final = "org.apache.spark.deploy.worker.Worker"
# The processes do little work: a small heap, the simple collector and the quick compiler are enough.
JAVA_OPTIONS: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
SPARK_OPTIONS: Final = (
    # Fail if a port is in use, instead of trying the next one.
    "-Dspark.port.maxRetries=0",
    "-Dspark.master.rest.enabled=false",
    # Remove the files of executors of ended sessions.
    "-Dspark.worker.cleanup.enabled=true",
)
PR_SET_PDEATHSIG: Final = 1


class StandaloneError(RuntimeError):
    """The cluster did not start, or a part of it ended. The message says why and what to do."""


@dataclass
class Part:
    """One process of the cluster: the master, or a worker."""

    name: str
    ui_port: int
    log_file: Path
    process: "subprocess.Popen[bytes]"

    @property
    def ui_url(self) -> str:
        return f"http://{HOST}:{self.ui_port}"

    @property
    def alive(self) -> bool:
        return self.process.poll() is None


@dataclass
class StandaloneCluster:
    """A running cluster. Use it as a context manager, or call `start()` and `stop()`.

    The master listens on `port`. Its web page is on the next port, those of the workers follow. With port 0
    free ports are used. `folder` has the logs and the folders of executors.
    """

    folder: Path
    workers: int = 2
    port: int = DEFAULT_PORT
    cores_per_worker: int = 1
    memory_per_worker: str = "2g"
    parts: list[Part] = field(default_factory=list, init=False)

    @property
    def url(self) -> str:
        """The value for `--master` and `session()`."""
        return f"spark://{HOST}:{self.port}"

    @property
    def master(self) -> Part:
        return self.parts[0]

    @property
    def worker_parts(self) -> list[Part]:
        return self.parts[1:]

    def start(self, timeout_s: float = START_TIMEOUT_S) -> Self:
        """Starts all parts. Returns when every worker has registered with the master."""
        ports = self._choose_ports()
        java, jars = find_java(), spark_home() / "jars"
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            for number, ui_port in enumerate(ports[1:]):
                self.parts.append(
                    self._start_part(number, ui_port, [java, *JAVA_OPTIONS, *SPARK_OPTIONS], jars)
                )
                if number == 0:
                    self._wait_for(lambda: self._state() is not None, timeout_s, "its master did not start")
            self._wait_for(
                lambda: self.workers_alive() == self.workers, timeout_s, "its workers did not register"
            )
        except BaseException:
            self.stop()
            raise
        return self

    def workers_alive(self) -> int:
        """The number of live workers, as the master counts them."""
        state = self._state()
        return 0 if state is None else int(state["aliveworkers"])

    def ended_part(self) -> Part | None:
        """A part that ended by itself, or None."""
        return next((part for part in self.parts if not part.alive), None)

    def stop(self) -> None:
        """Stops the workers, then the master."""
        for group in (self.worker_parts, self.parts[:1]):
            for part in group:
                if part.alive:
                    part.process.send_signal(signal.SIGTERM)
            for part in group:
                _wait_or_kill(part.process)
        self.parts.clear()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _choose_ports(self) -> list[int]:
        """A port for the master and one for each web page."""
        count = 2 + self.workers
        if self.port == 0:
            ports = free_ports(count)
            self.port = ports[0]
            return ports
        ports = list(range(self.port, self.port + count))
        taken = [port for port in ports if not is_free(port)]
        if taken:
            raise StandaloneError(
                f"Port {taken[0]} is in use, and a cluster with {self.workers} workers takes the ports "
                f"{ports[0]} to {ports[-1]}: stop the program there, or choose another first port (--port)"
            )
        return ports

    def _start_part(self, number: int, ui_port: int, java: Sequence[str], jars: Path) -> Part:
        """Starts a part. Number 0 is the master."""
        name = "master" if number == 0 else f"worker-{number}"
        command = [*java, "-cp", f"{jars}/*"]
        if number == 0:
            command += [MASTER_CLASS, "--host", HOST, "--port", str(self.port), "--webui-port", str(ui_port)]
        else:
            command += [WORKER_CLASS, "--host", HOST, "--webui-port", str(ui_port)]
            command += ["--cores", str(self.cores_per_worker), "--memory", self.memory_per_worker]
            command += ["--work-dir", str(self.folder / name), self.url]
        log_file = self.folder / f"{name}.log"
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_environment(self.folder / f"{name}-local"),
                # Ctrl-C must not reach the parts: this process stops them in order.
                start_new_session=True,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
            )
        return Part(name, ui_port, log_file, process)

    def _wait_for(self, condition: Any, timeout_s: float, complaint: str) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            ended = self.ended_part()
            if ended is not None:
                raise StandaloneError(why_ended(ended))
            if time.monotonic() > deadline:
                raise StandaloneError(
                    f"The Spark cluster is not ready after {timeout_s:g} s: {complaint} "
                    f"(see {self.folder}/*.log)"
                )
            time.sleep(POLL_INTERVAL_S)

    def _state(self) -> dict[str, Any] | None:
        """The master's description of itself. None if it does not answer."""
        try:
            with urllib.request.urlopen(f"{self.master.ui_url}/json/", timeout=5) as answer:
                state: dict[str, Any] = json.load(answer)
                return state
        except (OSError, ValueError):
            return None


def why_ended(part: Part) -> str:
    """A sentence about a part that ended by itself, with the last error in its log."""
    lines = part.log_file.read_text(errors="replace").strip().splitlines()
    reasons = [line for line in lines if "Exception" in line or "ERROR" in line or "Error" in line] or lines[
        -1:
    ]
    reason = reasons[-1].strip() if reasons else "its log is empty"
    return f"The Spark {part.name} ended: {reason} (log: {part.log_file})"


def is_free(port: int) -> bool:
    """Returns True if a server can listen on this port now."""
    with socket.socket() as probe:
        # As Java does: old connections in TIME_WAIT do not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return True
    return False


def free_ports(count: int) -> list[int]:
    """Different ports that are free now."""
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((HOST, 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def _environment(local_folder: Path) -> dict[str, str]:
    """Our environment without Spark's variables: SPARK_HOME of another installation would be wrong."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    return kept | {
        "SPARK_HOME": str(spark_home()),
        # Without this, the web pages listen on every address.
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(local_folder),
        # Spark's shell scripts would set it. Without it a worker looks for Spark's source tree.
        "SPARK_SCALA_VERSION": scala_version(),
    }


def _die_with_parent() -> None:
    """In the new process: makes the kernel end it when its parent ends. Only Linux can do that."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _wait_or_kill(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
