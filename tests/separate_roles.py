"""A cluster of two processes: a controller that is no broker, and a broker that is no controller."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from gralha.cli import storage
from gralha.testing.process import ServerProcess, free_ports
from tests.apache.kafka import CLUSTER_ID

CONTROLLER: Final = 3000
BROKER: Final = 1


class SeparateRoles:
    """Use it as a context manager. `config` has lines for both nodes."""

    def __init__(self, folder: Path, config: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._config = {"offsets.topic.replication.factor": "1", "num.partitions": "1", **(config or {})}
        controller_port, self._broker_port = free_ports(2)
        self.controller = f"127.0.0.1:{controller_port}"
        self.broker = f"127.0.0.1:{self._broker_port}"
        self._processes: dict[int, ServerProcess] = {}

    def process(self, node_id: int) -> ServerProcess:
        return self._processes[node_id]

    def __enter__(self) -> Self:
        roles = {CONTROLLER: ("controller", "CONTROLLER", self.controller)}
        roles[BROKER] = ("broker", "PLAINTEXT", self.broker)
        for node_id, (role, listener, address) in roles.items():
            lines = {
                "node.id": node_id,
                "process.roles": role,
                "listeners": f"{listener}://{address}",
                "log.dirs": self._folder / str(node_id),
                "controller.quorum.voters": f"{CONTROLLER}@{self.controller}",
                "controller.listener.names": "CONTROLLER",
                **self._config,
            }
            file = self._folder / f"{node_id}.properties"
            file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
            assert storage.main(["format", "--cluster-id", CLUSTER_ID, "--config", str(file)]) == 0
            command = [sys.executable, "-m", "gralha", "server", "--config", str(file)]
            self._processes[node_id] = ServerProcess(command, self._folder / f"{node_id}.log")
        try:
            self._processes[BROKER].wait_ready(self._broker_port)
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._kill()

    def _kill(self) -> None:
        for process in self._processes.values():
            process.kill()
