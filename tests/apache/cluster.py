"""Several Apache Kafka nodes as one cluster, with heaps that are small enough for a machine of tests."""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import Self

from gralha.testing.process import free_ports
from tests.apache.kafka import ApacheKafka

FLAGS = ["-Xmx256M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"]


class ApacheCluster:
    """Nodes 1 to n, each broker and controller at once, on free loopback ports."""

    def __init__(self, brokers: int = 3) -> None:
        ports = free_ports(2 * brokers)
        controllers = {node_id: ports[brokers + node_id - 1] for node_id in range(1, brokers + 1)}
        voters = ",".join(f"{node_id}@127.0.0.1:{port}" for node_id, port in controllers.items())
        self.nodes: list[ApacheKafka] = []
        for node_id, controller in controllers.items():
            port = ports[node_id - 1]
            node = ApacheKafka(
                {
                    "node.id": str(node_id),
                    "controller.quorum.voters": voters,
                    "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
                    "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
                },
                FLAGS,
            )
            node.port = port
            self.nodes.append(node)

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes)

    def start(self, timeout_s: float = 60.0) -> Self:
        for node in self.nodes:
            node.format()
        for node in self.nodes:
            node.spawn()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            for node in self.nodes:
                node.process().wait_ready(node.port, len(self.nodes), timeout_s)
            undo.pop_all()
        return self

    def close(self) -> None:
        for node in self.nodes:
            node.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
