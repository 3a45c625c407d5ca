"""Instances of the registry as processes, beside a cluster."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from gralha.testing.process import ServerProcess, StartError, free_ports

# Short timeouts, so that a failover does not take long. They must suit the group's limits of the broker.
QUICK = {
    "kafkagroup.session.timeout.ms": "1500",
    "kafkagroup.heartbeat.interval.ms": "200",
    "kafkagroup.rebalance.timeout.ms": "5000",
}


class Instance:
    """One process of the registry."""

    def __init__(
        self,
        bootstrap: str,
        folder: Path,
        config: Mapping[str, str] | None = None,
        scheme: str = "http",
    ) -> None:
        (self.port,) = free_ports(1)
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.authority_file = ""
        self._folder = folder
        self._config = {
            "kafkastore.bootstrap.servers": bootstrap,
            "listeners": self.url,
            "host.name": "127.0.0.1",
            **QUICK,
            **(config or {}),
        }
        self._process: ServerProcess | None = None

    @property
    def process(self) -> ServerProcess:
        assert self._process is not None
        return self._process

    def start(self) -> "Instance":
        file = self._folder / f"registry-{self.port}.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in self._config.items()))
        command = [sys.executable, "-m", "gralha.cli.registry", "--config", str(file)]
        self._process = ServerProcess(command, self._folder / f"registry-{self.port}.log")
        return self

    def wait_ready(self, timeout_s: float = 60.0) -> "Instance":
        """Returns when it answers. Raises StartError with its log if it ends instead."""
        deadline = time.monotonic() + timeout_s
        while b"ready: " not in self._log():
            if not self.process.alive or time.monotonic() > deadline:
                raise StartError(f"The registry is not ready:\n{self.process.log_tail()}")
            time.sleep(0.01)
        return self

    def restart(self) -> None:
        self.process.stop()
        self.process.log_file.unlink()
        self.start().wait_ready()

    def pause(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    @property
    def topic(self) -> str:
        return self._config["kafkastore.topic"]

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60, **options)

    def _log(self) -> bytes:
        return self.process.log_file.read_bytes()


@contextlib.contextmanager
def running(
    bootstrap: str,
    folder: Path,
    count: int = 1,
    config: Mapping[str, str] | None = None,
    scheme: str = "http",
) -> Iterator[list[Instance]]:
    """So many instances, which are killed at the end."""
    instances = [Instance(bootstrap, folder, config, scheme).start() for _ in range(count)]
    try:
        for instance in instances:
            instance.wait_ready()
        yield instances
    finally:
        for instance in instances:
            instance.process.kill()
