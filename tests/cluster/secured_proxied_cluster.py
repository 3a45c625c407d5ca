"""The cluster of a chaos run with security: all clients and nodes log in through TLS, and ACLs are checked.

Brokers log in to each other with SCRAM, to controllers with PLAIN, and sessions last for some seconds only.
The listener PLAINTEXT has TLS without a login, and only shows that a broker is ready.
"""

import subprocess
import sys
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from tests.certificates import Authority
from tests.clients.driver import Tls, security_for_java, security_for_librdkafka
from tests.cluster.chaos_clients import SETTLE_S
from tests.cluster.fault_proxy import SUITES, FaultProxy
from tests.cluster.proxied_cluster import ProxiedCluster
from tests.sasl_cluster import MECHANISMS, USER, format_arguments, logins
from tests.secured_cluster import ADMIN, ALICE, STANDARD_AUTHORIZER, SUPER_USERS

from gralha.client.security import ClientSecurity
from gralha.security.cipher_suites import TLS_1_3
from gralha.security.key_stores import client_context
from gralha.security.tls_settings import TlsSettings
from gralha.testing.process import brokers_seen_at, free_ports

SESSION_MS = 8000
FORMAT = "from gralha.cli.storage import main; raise SystemExit(main())"


class SecuredProxiedCluster(ProxiedCluster):
    """`folder` is for keys and certificates."""

    def __init__(self, brokers: int, proxy: FaultProxy, folder: Path) -> None:
        authority = Authority()
        key = authority.issue("broker").write_pem(folder / "broker.pem")
        self._tls = Tls(
            authority.write_pem(folder / "ca.pem"),
            authority.issue("alice", ()).write_pem(folder / "alice.pem"),
        )
        super().__init__(
            brokers,
            proxy,
            {
                "ssl.keystore.location": key,
                "ssl.truststore.location": self._tls.authority,
                "authorizer.class.name": STANDARD_AUTHORIZER,
                "super.users": SUPER_USERS,
                "connections.max.reauth.ms": str(SESSION_MS),
            },
        )
        self._sasl_ports = dict(zip(self.node_ids, free_ports(brokers), strict=True))
        self._formatted: set[int] = set()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._sasl_ports.values())

    @property
    def client_settings(self) -> dict[str, str]:
        return security_for_librdkafka(self._tls, ALICE)

    def prepare(self) -> None:
        """Gives the clients their rights."""
        admin = AdminClient(
            {"bootstrap.servers": self.bootstrap, "log_level": 0, **security_for_librdkafka(self._tls, ADMIN)}
        )
        rights = [
            (ResourceType.TOPIC, "*"),
            (ResourceType.GROUP, "*"),
            (ResourceType.BROKER, "kafka-cluster"),
        ]
        rules = [
            AclBinding(
                kind,
                name,
                ResourcePatternType.LITERAL,
                f"User:{USER}",
                "*",
                AclOperation.ALL,
                AclPermissionType.ALLOW,
            )
            for kind, name in rights
        ]
        for made in admin.create_acls(rules).values():
            made.result(SETTLE_S)

    def address_of(self, node_id: int) -> tuple[int, ClientSecurity]:
        properties = security_for_java(self._tls, ADMIN)
        return self._sasl_ports[node_id], ClientSecurity.from_kafka(properties)

    def _brokers_seen(self, port: int) -> int:
        return brokers_seen_at(port, tls=client_context(TlsSettings(security_for_java(self._tls, None))))

    def _node_config(self, node_id: int) -> dict[str, str]:
        config = super()._node_config(node_id)
        sasl = f"SASL://127.0.0.1:{self._sasl_ports[node_id]}"
        return {
            **config,
            "listeners": f"{config['listeners']},{sasl}",
            "advertised.listeners": f"{config['advertised.listeners']},{sasl}",
            "listener.security.protocol.map": (
                "PLAINTEXT:SSL,SASL:SASL_SSL,INNER:SASL_SSL,CONTROLLER:SASL_SSL"
            ),
            # The proxy knows a node by them.
            "ssl.cipher.suites": ",".join([*TLS_1_3, *list(SUITES.values())[:node_id]]),
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            **logins("sasl", "inner"),
        }

    def _spawn(self, node_id: int) -> None:
        if node_id not in self._formatted:
            self._formatted.add(node_id)
            folder = self.folder / f"node-{node_id}"
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / "format.properties"
            lines = {**self._node_config(node_id), **self._config}
            file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
            command = [sys.executable, "-c", FORMAT, *format_arguments(file)]
            subprocess.run(self.disks.inside(command), check=True, stdout=subprocess.DEVNULL)
        super()._spawn(node_id)
