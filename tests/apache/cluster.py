"""Three nodes of Apache Kafka 4.3, each broker and controller, beside `GralhaCluster(3)`."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from gralha.testing.process import ServerProcess
from tests.apache.kafka import BROKER_FLAGS, ApacheKafka

HEAP = "512M"


class ApacheCluster:
    """Nodes are numbered from 1."""

    def __init__(self, brokers: int = 3, heap: str = HEAP, config: Mapping[str, str] | None = None) -> None:
        # The last of two flags counts.
        flags = [*BROKER_FLAGS, f"-Xms{heap}", f"-Xmx{heap}"]
        self._nodes = {node_id: ApacheKafka(flags=flags) for node_id in range(1, brokers + 1)}
        voters = ",".join(f"{node_id}@{node.controller_address}" for node_id, node in self._nodes.items())
        for node_id, node in self._nodes.items():
            replicas = str(min(3, brokers))
            node.configure(
                {
                    "node.id": str(node_id),
                    "controller.quorum.voters": voters,
                    "offsets.topic.replication.factor": replicas,
                    "transaction.state.log.replication.factor": replicas,
                    **(config or {}),
                }
            )

    @property
    def node_ids(self) -> list[int]:
        return list(self._nodes)

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self._nodes.values())

    def process(self, node_id: int = 1) -> ServerProcess:
        return self._nodes[node_id].process()

    def format(self) -> None:
        for node in self._nodes.values():
            node.format()

    def start(self, timeout_s: float = 90.0) -> Self:
        """Starts every node that is not running. Returns when each of them serves clients."""
        self.format()
        started = [node for node in self._nodes.values() if not node.alive]
        for node in started:
            node.spawn()
        for node in started:
            node.process().wait_ready(node.port, len(self._nodes), timeout_s)
        return self

    def kill(self, node_id: int) -> None:
        self._nodes[node_id].kill()

    def close(self) -> None:
        for node in self._nodes.values():
            node.close()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
