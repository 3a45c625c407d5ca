"""A Schema Registry for tests: a process on a free loopback port."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from gralha.testing.process import POLL_INTERVAL_S, ServerProcess, StartError, free_ports

READY = b"ready: the registry serves "


class RegistryProcess:
    """The registry of one cluster. Its schemas are in the cluster, so it keeps none itself."""

    def __init__(self, folder: Path) -> None:
        (self._port,) = free_ports(1)
        self._log_file = folder / f"registry-{self._port}.log"
        self._process: ServerProcess | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self, bootstrap: str, timeout_s: float = 60.0) -> None:
        """Starts it if it does not run, and returns when it serves requests. Raises StartError."""
        if self._process is not None and self._process.alive:
            return
        self._log_file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "gralha", "registry", "--bootstrap-server", bootstrap]
        settings = ["--listeners", self.url, "--override", "host.name=127.0.0.1"]
        process = self._process = ServerProcess([*command, *settings], self._log_file)
        deadline = time.monotonic() + timeout_s
        while READY not in self._log_file.read_bytes():
            if not process.alive or time.monotonic() > deadline:
                self.close()
                raise StartError(f"the registry did not start:\n{process.log_tail()}")
            time.sleep(POLL_INTERVAL_S)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
