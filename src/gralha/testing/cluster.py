"""`GralhaCluster`: real broker processes on free loopback ports, with data in a temporary folder.

Each node is a broker and a controller, except brokers that are added later. It has its own folder with its
`server.properties`, its log and its data. Nodes are numbered from 1. A secured cluster has its users and
certificates in the folder `users` (`users.py`), and `clients.py` has what tests do with them.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from gralha.broker.offline import format_with_users
from gralha.security.client_access import MECHANISM
from gralha.security.secured_node import ADMIN
from gralha.testing.clients import Clients
from gralha.testing.process import ServerProcess, StartError, brokers_seen_at, free_ports
from gralha.testing.registry import RegistryProcess
from gralha.testing.users import Users, write_private


class GralhaCluster(Clients):
    """Starts brokers for a test and stops them afterwards. Use it as a context manager.

    `config` adds or replaces lines of every node's server.properties, with Kafka's names. With `folder` the
    data is there and stays. Without it, the data is in a temporary folder that `close()` removes.
    With `security` all connections are secured, also those between nodes, and users have only the rights that
    they were given: "sasl_ssl" (TLS and logins with SCRAM), "sasl_plaintext" (logins), or "ssl" (certificates
    say who a client is).
    With `registry` a Schema Registry runs beside the brokers.
    """

    def __init__(
        self,
        brokers: int = 1,
        config: Mapping[str, str] | None = None,
        folder: Path | str | None = None,
        security: str | None = None,
        *,
        registry: bool = False,
    ) -> None:
        if brokers < 1:
            raise ValueError(f"a cluster needs at least one broker, not {brokers}")
        self.node_ids = list(range(1, brokers + 1))
        self._temporary = folder is None
        self.folder = Path(tempfile.mkdtemp(prefix="gralha-test-") if folder is None else folder)
        ports = free_ports(2 * brokers)
        self.ports = dict(zip(self.node_ids, ports[:brokers], strict=True))
        self._controller_ports = dict(zip(self.node_ids, ports[brokers:], strict=True))
        self._config = dict(config or {})
        self._users = None if security is None else Users(security, self.folder / "users")
        self._registry = RegistryProcess(self.folder) if registry else None
        self._processes: dict[int, ServerProcess] = {}

    @property
    def bootstrap(self) -> str:
        """The value for a client's `bootstrap.servers`."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    @property
    def registry_url(self) -> str:
        """The address of the Schema Registry, for `GralhaCluster(registry=True)`."""
        if self._registry is None:
            raise ValueError("this cluster has no registry: start it with GralhaCluster(registry=True)")
        return self._registry.url

    def process(self, node_id: int = 1) -> ServerProcess:
        """The process of a node: its id, output, CPU time and memory."""
        return self._processes[node_id]

    def data_folder(self, node_id: int = 1) -> Path:
        """The folder of a node's partitions (its `log.dirs`)."""
        return self.folder / f"node-{node_id}" / "data"

    def start(self, timeout_s: float = 60.0) -> Self:
        """Starts every node that is not running. Returns when each of them serves clients."""
        try:
            for node_id in self.spawn():
                self.process(node_id).wait_ready(
                    self.ports[node_id], len(self._running()), timeout_s, self._brokers_seen
                )
            self._add_first_rights()
            if self._registry is not None:
                self._registry.start(self.java_config(ADMIN), timeout_s)
        except StartError:
            self.kill()
            raise
        return self

    def spawn(self) -> list[int]:
        """Starts every node that is not running, without waiting. Returns their ids."""
        stopped = [node_id for node_id in self.node_ids if not self._runs(node_id)]
        for node_id in stopped:
            self._spawn(node_id)
        return stopped

    def add_broker(self) -> int:
        """Adds a broker without the controller role to the running cluster. Returns its id."""
        node_id = max(self.node_ids) + 1
        (self.ports[node_id],) = free_ports(1)
        self.node_ids.append(node_id)
        self.start()
        return node_id

    def stop(self, node_id: int | None = None) -> None:
        """Shuts down one node, or all, cleanly. The data stays."""
        for process in self._chosen(node_id):
            process.stop()

    def kill(self, node_id: int | None = None) -> None:
        """Ends one node, or all, with SIGKILL. The data stays."""
        for process in self._chosen(node_id):
            process.kill()

    def restart(self, node_id: int | None = None, timeout_s: float = 60.0) -> None:
        """Stops one node, or all, and starts it again on the same ports and data."""
        self.stop(node_id)
        self.start(timeout_s)

    def close(self) -> None:
        """Stops all nodes and removes the temporary folder, if there is one."""
        if self._registry is not None:
            self._registry.close()
        if self._temporary:
            # There is no data to save, so there is no need for a clean shutdown.
            self.kill()
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _brokers_seen(self, port: int) -> int:
        """The number of live brokers that the broker at this port knows. 0 if it does not answer."""
        return brokers_seen_at(port) if self._users is None else self._brokers_seen_by_admin(port)

    def _runs(self, node_id: int) -> bool:
        return node_id in self._processes and self._processes[node_id].alive

    def _running(self) -> list[int]:
        return [node_id for node_id in self.node_ids if self._runs(node_id)]

    def _chosen(self, node_id: int | None) -> list[ServerProcess]:
        return list(self._processes.values()) if node_id is None else [self._processes[node_id]]

    def _spawn(self, node_id: int) -> None:
        folder = self.folder / f"node-{node_id}"
        folder.mkdir(parents=True, exist_ok=True)
        properties = folder / "server.properties"
        lines = {**self._node_config(node_id), **self._config}
        write_private(properties, "".join(f"{name}={value}\n" for name, value in lines.items()))
        if self._users is not None and not self.data_folder(node_id).exists():
            self._format_secured(node_id, self._users)
        self._processes[node_id] = ServerProcess(self._command(properties), folder / "server.log")

    def _format_secured(self, node_id: int, users: Users) -> None:
        """The nodes log in to each other, so the first users exist before the first start."""
        credentials = users.credentials() if node_id in self._controller_ports else {}
        folder = str(self.data_folder(node_id))
        format_with_users(users.cluster_id, node_id, folder, MECHANISM, credentials)

    def _command(self, properties: Path) -> list[str]:
        return [sys.executable, "-m", "gralha", "server", "--config", str(properties)]

    def _node_config(self, node_id: int) -> dict[str, str]:
        voters = ",".join(f"{voter}@127.0.0.1:{port}" for voter, port in self._controller_ports.items())
        protocol = "PLAINTEXT" if self._users is None else self._users.protocol
        client_listener = f"{protocol}://127.0.0.1:{self.ports[node_id]}"
        listeners = [client_listener]
        is_controller = node_id in self._controller_ports
        if is_controller:
            listeners.append(f"CONTROLLER://127.0.0.1:{self._controller_ports[node_id]}")
        internal_replicas = str(min(3, len(self.node_ids)))
        return {
            "process.roles": "broker,controller" if is_controller else "broker",
            "node.id": str(node_id),
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join(listeners),
            "advertised.listeners": client_listener,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            **({} if self._users is None else self._users.node_settings()),
            "log.dirs": str(self.data_folder(node_id)),
            "offsets.topic.replication.factor": internal_replicas,
            "transaction.state.log.replication.factor": internal_replicas,
            "transaction.state.log.min.isr": "1",
            # In a test, a group need not wait for more members.
            "group.initial.rebalance.delay.ms": "0",
        }
