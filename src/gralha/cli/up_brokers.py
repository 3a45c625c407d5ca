"""Several brokers for `gralha up`: one process each, started together and stopped one after the other."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from gralha.cli.program import CommandError, stop_on_terminate
from gralha.cli.up_folders import VOTERS

FIRST_PORT: Final = 19092
PORT_STEP: Final = 10_000
CONTROLLER_PORT_OFFSET: Final = 1
MAX_BROKERS: Final = 5
STOP_TIMEOUT_S: Final = 20.0
READY: Final = b"ready: "


def client_port(node_id: int, first_port: int) -> int:
    """19092, 29092, 39092, ... as in many a Kafka tutorial."""
    return first_port + (node_id - 1) * PORT_STEP


def properties(node_id: int, brokers: int, first_port: int, data: Path) -> dict[str, str]:
    """The settings of one node: broker and controller, in a quorum with all others."""
    port = client_port(node_id, first_port)
    voters = [
        f"{voter}@localhost:{client_port(voter, first_port) + CONTROLLER_PORT_OFFSET}"
        for voter in range(1, brokers + 1)
    ]
    replicas = str(min(3, brokers))
    return {
        "process.roles": "broker,controller",
        "node.id": str(node_id),
        VOTERS: ",".join(voters),
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://localhost:{port},CONTROLLER://localhost:{port + CONTROLLER_PORT_OFFSET}",
        "advertised.listeners": f"PLAINTEXT://localhost:{port}",
        "log.dirs": str(data / f"broker-{node_id}"),
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": str(min(2, brokers)),
        "group.initial.rebalance.delay.ms": "0",
    }


class BrokerProcesses:
    """The brokers while they run."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, node_id: int, text: str) -> None:
        """Start one; `text` are its settings."""
        file = self._data / f"broker-{node_id}.properties"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        with (self._data / f"broker-{node_id}.log").open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "gralha", "server", "--config", str(file)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    # Ctrl-C is for us: we stop them in order.
                    start_new_session=True,
                )
            )

    def wait_until_ready(self) -> None:
        """Until each has said that it serves; CommandError if one ends instead."""
        waiting = {process.stdout.fileno(): process for process in self._processes if process.stdout}
        while waiting:
            readable, _, _ = select.select(list(waiting), [], [])
            for number in readable:
                said = os.read(number, 4096)
                if READY in said:
                    del waiting[number]
                elif not said:
                    raise CommandError(self._why_ended(waiting[number]))

    def wait(self) -> None:
        """Until one of them ends by itself, which is a failure."""
        outputs = [process.stdout for process in self._processes if process.stdout]
        while True:
            readable, _, _ = select.select(outputs, [], [])
            for output in readable:
                if not os.read(output.fileno(), 4096):
                    ended = next(process for process in self._processes if process.stdout is output)
                    raise CommandError(self._why_ended(ended))

    def _why_ended(self, process: "subprocess.Popen[bytes]") -> str:
        node_id = self._processes.index(process) + 1
        file = self._data / f"broker-{node_id}.log"
        lines = file.read_text(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else "it said nothing"
        return f"Broker {node_id} ended: {reason} (more in {file})"

    def stop(self) -> None:
        """One after the other, so that each can hand over what it leads."""
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(STOP_TIMEOUT_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def run_brokers(processes: BrokerProcesses, announce: Callable[[], None]) -> int:
    """Run what was started until Ctrl-C or SIGTERM."""
    stop_on_terminate()
    try:
        processes.wait_until_ready()
        announce()
        processes.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        processes.stop()
    return 0
