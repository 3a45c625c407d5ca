"""A long reset of offsets shows its progress: a real reset, and one with a slow broker."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from gralha.cli.partition_offsets import committed_offsets
from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.protocol.apis import ApiKey
from gralha.testing import GralhaCluster
from tests.cli.group_members import commit, create_topic
from tests.pipelines.terminal import Terminal

TIMEOUT_S = 60.0


class Gate:
    """A port that forwards to a broker. Requests of one API wait until the gate is open."""

    def __init__(self, held: ApiKey) -> None:
        self.is_open = threading.Event()
        self.target = 0
        self._held = held
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                broker = socket.create_connection(("127.0.0.1", self.target), TIMEOUT_S)
                threading.Thread(target=self._requests, args=(client, broker), daemon=True).start()
                threading.Thread(target=_responses, args=(broker, client), daemon=True).start()

    def _requests(self, client: socket.socket, broker: socket.socket) -> None:
        with contextlib.suppress(OSError), broker, client.makefile("rb") as requests:
            while head := requests.read(4):
                body = requests.read(int.from_bytes(head))
                if int.from_bytes(body[:2]) == self._held:
                    assert self.is_open.wait(TIMEOUT_S)
                broker.sendall(head + body)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.is_open.set()
        self._listener.close()


def _responses(broker: socket.socket, client: socket.socket) -> None:
    with contextlib.suppress(OSError), client:
        while data := broker.recv(65536):
            client.sendall(data)


def test_a_long_reset_counts_groups_and_seconds(tmp_path: Path) -> None:
    with Gate(ApiKey.LIST_OFFSETS) as gate:
        advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{gate.port}"}
        with GralhaCluster(config=advertised) as cluster:
            gate.target = cluster.ports[1]
            bootstrap = f"127.0.0.1:{gate.port}"
            create_topic(bootstrap, "t", partitions=1, records=3)
            for group in ("one", "two"):
                commit(bootstrap, group, "t", [3])
            command = str(Path(sys.executable).parent / "kafka-consumer-groups")
            words = ["--reset-offsets", "--all-groups", "--topic", "t", "--to-earliest", "--execute"]
            line = [command, "--bootstrap-server", bootstrap, *words]
            with Terminal(line, cwd=tmp_path, columns=80) as terminal:
                terminal.wait_for(r"\rReading the offsets of group 1 of 2 \.\.\. [1-9]\d* s")
                gate.is_open.set()
                assert terminal.end() == 0
                # Nothing of the line is left before the table.
                shown, _, table = terminal.written.rpartition("\x1b[K")
                assert "Reading the offsets" in shown
                assert "Reading the offsets" not in table
                rows = [text.split() for text in table.splitlines() if text.strip()]
            assert rows[1:] == [["one", "t", "0", "0"], ["two", "t", "0", "0"]]
            with Admin(Cluster(bootstrap)) as admin:
                committed = committed_offsets(admin, ["one", "two"])
            assert {one.offset for found in committed.values() for one in found.values()} == {0}
