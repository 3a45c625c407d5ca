"""A Schema Registry for tests: a process on a free loopback port."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path

from gralha.protocol.properties import properties_text
from gralha.testing.process import POLL_INTERVAL_S, ServerProcess, StartError, free_ports
from gralha.testing.users import write_private

READY = b"ready: the registry serves "


class RegistryProcess:
    """The registry of one cluster. Its schemas are in the cluster, so it keeps none itself."""

    def __init__(self, folder: Path) -> None:
        (self._port,) = free_ports(1)
        self._log_file = folder / f"registry-{self._port}.log"
        self._settings_file = folder / f"registry-{self._port}.properties"
        self._process: ServerProcess | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self, client: Mapping[str, str], timeout_s: float = 60.0) -> None:
        """Starts it if it does not run, and returns when it serves requests. Raises StartError.

        `client` has the settings of Java's clients.
        """
        if self._process is not None and self._process.alive:
            return
        self._log_file.unlink(missing_ok=True)
        settings = {f"kafkastore.{name}": value for name, value in client.items()}
        settings |= {"listeners": self.url, "host.name": "127.0.0.1"}
        write_private(self._settings_file, properties_text(settings))
        command = [sys.executable, "-m", "gralha", "registry", "--config", str(self._settings_file)]
        process = self._process = ServerProcess(command, self._log_file)
        deadline = time.monotonic() + timeout_s
        while READY not in self._log_file.read_bytes():
            if not process.alive or time.monotonic() > deadline:
                self.close()
                raise StartError(f"the registry did not start:\n{process.log_tail()}")
            time.sleep(POLL_INTERVAL_S)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
