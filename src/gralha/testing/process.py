"""A server process under test: starts, measures and ends it by its process id.

Its output goes to a file, so that a full pipe cannot stop it and an error can show its log. A broker is ready
when its port answers a Metadata request with every broker of the cluster. This needs no output of the
process, and works for Apache Kafka, too.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import random
import signal
import socket
import ssl
import struct
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

POLL_INTERVAL_S = 0.01
# Below Linux's range of ephemeral ports, so that no outgoing connection takes the port of a broker before it
# starts, or starts again.
PORT_RANGE = range(15_000, 32_000)
LOG_TAIL_BYTES = 8_000


class StartError(RuntimeError):
    """A server ended or did not answer instead of becoming ready. The message has its last output."""


class ServerProcess:
    """A running process, and the file of its output."""

    def __init__(
        self, command: Sequence[str], log_file: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.command = list(command)
        self.log_file = log_file
        with log_file.open("ab") as log:
            self._popen = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=None if environment is None else {**os.environ, **environment},
            )
        # A test run that ends without its tear-down must not leave brokers behind.
        atexit.register(self.kill)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    def stop(self, timeout_s: float = 30.0) -> int:
        """Sends SIGTERM and waits. Kills the process if it does not end. Returns its exit code."""
        if self.alive:
            self._popen.terminate()
            try:
                self._popen.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.kill()
        atexit.unregister(self.kill)
        return self._popen.wait()

    def kill(self) -> None:
        """Ends the process at once (SIGKILL), like a crash."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                self._popen.send_signal(signal.SIGKILL)
            self._popen.wait()
        atexit.unregister(self.kill)

    def log_tail(self, size_bytes: int = LOG_TAIL_BYTES) -> str:
        with self.log_file.open("rb") as log:
            log.seek(max(0, self.log_file.stat().st_size - size_bytes))
            return log.read().decode("utf-8", "replace")

    def cpu_seconds(self) -> float:
        """The user and system time of all its threads so far."""
        # The name of the command may have spaces and brackets, so fields are counted from its closing
        # bracket.
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_bytes(self) -> int:
        """The resident memory, including memory that is shared with other processes."""
        resident_pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return resident_pages * os.sysconf("SC_PAGE_SIZE")

    def wait_ready(
        self,
        port: int,
        brokers: int = 1,
        timeout_s: float = 60.0,
        brokers_seen: Callable[[int], int] | None = None,
    ) -> None:
        """Returns when the port serves a cluster of that many brokers. Raises StartError if it does not.

        `brokers_seen` is in place of `brokers_seen_at` where a client has to log in.
        """
        deadline = time.monotonic() + timeout_s
        while (brokers_seen or brokers_seen_at)(port) < brokers:
            if not self.alive:
                raise StartError(
                    f"process ended with exit code {self._popen.returncode} instead of serving port {port}: "
                    f"{' '.join(self.command)}\n{self.log_tail()}"
                )
            if time.monotonic() > deadline:
                raise StartError(
                    f"port {port} did not serve {brokers} broker(s) within {timeout_s:g} s: "
                    f"{' '.join(self.command)}\n{self.log_tail()}"
                )
            time.sleep(POLL_INTERVAL_S)


def brokers_seen_at(port: int, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> int:
    """The number of live brokers that the broker at this port knows. 0 if it does not answer.

    With `tls` the question is encrypted.
    """
    api_key, api_version, correlation_id, no_client_id, no_topics = 3, 1, 0, -1, 0
    request = struct.pack(">hhihi", api_key, api_version, correlation_id, no_client_id, no_topics)
    try:
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(socket.create_connection((host, port), timeout=5))
            if tls is not None:
                connection = stack.enter_context(tls.wrap_socket(connection, server_hostname=host))
            connection.sendall(struct.pack(">i", len(request)) + request)
            with connection.makefile("rb") as answer:
                size, _, brokers = struct.unpack(">iii", answer.read(12))
                answer.read(size - 8)
                return int(brokers)
    except (OSError, struct.error):
        return 0


def free_ports(count: int) -> list[int]:
    """Different loopback ports that are free now."""
    ports: list[int] = []
    with contextlib.ExitStack() as held:
        while len(ports) < count:
            port = random.SystemRandom().choice(PORT_RANGE)
            candidate = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                candidate.bind(("127.0.0.1", port))
                ports.append(port)
    return ports
