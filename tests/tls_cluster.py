"""A cluster whose listeners all use TLS: for clients, between brokers, and to the controllers."""

from collections.abc import Mapping
from pathlib import Path

from gralha.security.key_stores import client_context
from gralha.security.tls_settings import TlsSettings
from gralha.testing.cluster import GralhaCluster
from gralha.testing.process import brokers_seen_at
from tests.certificates import Authority


class TlsCluster(GralhaCluster):
    """Use it as a context manager. `client_file` has the key and the certificate of the client alice."""

    def __init__(
        self,
        folder: Path,
        brokers: int = 1,
        config: Mapping[str, str] | None = None,
        client_auth: str = "required",
    ) -> None:
        self.authority = Authority()
        self.authority_file = self.authority.write_pem(folder / "ca.pem")
        self.key_file = self.authority.issue("broker").write_pem(folder / "broker.pem")
        client = self.authority.issue("alice", ())
        self.client_file = client.write_pem(folder / "alice.pem")
        secured = {
            "listener.security.protocol.map": "PLAINTEXT:SSL,CONTROLLER:SSL",
            "inter.broker.listener.name": "PLAINTEXT",
            "ssl.keystore.location": self.key_file,
            "ssl.truststore.location": self.authority_file,
            "ssl.client.auth": client_auth,
        }
        super().__init__(brokers, {**secured, **(config or {})}, folder / "nodes")

    @property
    def properties(self) -> dict[str, str]:
        """The settings of a client, with Kafka's names."""
        return {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.authority_file,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.client_file,
        }

    @property
    def librdkafka(self) -> dict[str, str]:
        """The settings of a client, with librdkafka's names."""
        return {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": self.authority_file,
            "ssl.certificate.location": self.client_file,
            "ssl.key.location": self.client_file,
        }

    def _brokers_seen(self, port: int) -> int:
        return brokers_seen_at(port, tls=client_context(TlsSettings(self.properties)))
