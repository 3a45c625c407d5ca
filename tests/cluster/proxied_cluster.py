"""Three brokers that reach each other, and the quorum, only through a proxy that makes faults."""

from collections.abc import Mapping
from pathlib import Path

from tests.cluster.fault_proxy import FaultProxy
from tests.cluster.small_disks import SmallDisks

from gralha.client.addresses import Address
from gralha.client.connection import Connection
from gralha.client.security import PLAINTEXT, ClientSecurity
from gralha.testing import GralhaCluster
from gralha.testing.process import free_ports

BROKERS = 3
DISK_MB = 1024
SEGMENT_BYTES = 1 << 20  # small, so that the room that is taken ahead of a segment is soon used up


class ProxiedCluster(GralhaCluster):
    """Brokers that reach each other, and the quorum, only through the proxy. Clients reach them directly.

    Each has a disk of its own that can be filled.
    """

    def __init__(self, brokers: int, proxy: FaultProxy, config: Mapping[str, str] | None = None) -> None:
        super().__init__(brokers, config)
        ports = iter(free_ports(3 * brokers))
        self._inner_ports = {node_id: next(ports) for node_id in self.node_ids}
        self._proxied_inner = {node_id: next(ports) for node_id in self.node_ids}
        self._proxied_controllers = {node_id: next(ports) for node_id in self.node_ids}
        for node_id in self.node_ids:
            proxy.forward(self._proxied_inner[node_id], node_id, self._inner_ports[node_id])
            proxy.forward(self._proxied_controllers[node_id], node_id, self._controller_ports[node_id])
        self.disks = SmallDisks([self.data_folder(node_id) for node_id in self.node_ids], DISK_MB)

    @property
    def client_settings(self) -> dict[str, str]:
        """The settings that clients need beside the addresses."""
        return {}

    def prepare(self) -> None:
        """Does what clients need before they begin."""

    def address_of(self, node_id: int) -> tuple[int, ClientSecurity]:
        """The port of a broker for requests of the nemesis, and how to log in there."""
        return self.ports[node_id], PLAINTEXT

    def close(self) -> None:
        super().close()
        self.disks.close()

    def _command(self, properties: Path) -> list[str]:
        return self.disks.inside(super()._command(properties))

    def _node_config(self, node_id: int) -> dict[str, str]:
        clients = f"PLAINTEXT://127.0.0.1:{self.ports[node_id]}"
        inner = f"INNER://127.0.0.1:{self._inner_ports[node_id]}"
        controller = f"CONTROLLER://127.0.0.1:{self._controller_ports[node_id]}"
        voters = [f"{voter}@127.0.0.1:{port}" for voter, port in self._proxied_controllers.items()]
        return {
            **super()._node_config(node_id),
            "listeners": f"{clients},{inner},{controller}",
            "advertised.listeners": f"{clients},INNER://127.0.0.1:{self._proxied_inner[node_id]}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INNER:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "INNER",
            "controller.quorum.voters": ",".join(voters),
            "min.insync.replicas": "2",
            "offsets.topic.num.partitions": "3",
            "log.segment.bytes": str(SEGMENT_BYTES),
        }


def open_connection(cluster: GralhaCluster, node_id: int) -> Connection:
    port, security = cluster.ports[node_id], PLAINTEXT
    if isinstance(cluster, ProxiedCluster):
        port, security = cluster.address_of(node_id)
    return Connection.open(Address("127.0.0.1", port), request_timeout_ms=2000, security=security)
