"""A cluster with everything: all clients and nodes log in through TLS, and ACLs decide what they may do.

The listener PLAINTEXT has TLS without a login, and only shows that a broker is ready.
"""

from collections.abc import Mapping
from pathlib import Path

from gralha.client.security import ClientSecurity
from gralha.security.key_stores import client_context
from gralha.security.tls_settings import TlsSettings
from gralha.testing.process import brokers_seen_at
from tests.certificates import Authority
from tests.clients.driver import Login, Tls, security_for_java, security_for_librdkafka
from tests.sasl_cluster import NODE, NODE_PASSWORD, PASSWORD, USER, SaslCluster

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
MECHANISM = "SCRAM-SHA-512"
# The brokers' own user is a super user, and so is the one with which nodes log in to controllers.
ADMIN = Login(MECHANISM, NODE, NODE_PASSWORD)
ALICE = Login(MECHANISM, USER, PASSWORD)
SUPER_USERS = f"User:{NODE};User:node"


class SecuredCluster(SaslCluster):
    """Use it as a context manager. `tls` has the files of a client."""

    def __init__(self, folder: Path, brokers: int = 1, config: Mapping[str, str] | None = None) -> None:
        authority = Authority()
        self.tls = Tls(
            authority.write_pem(folder / "ca.pem"),
            authority.issue("alice", ()).write_pem(folder / "alice.pem"),
        )
        secured = {
            "listener.security.protocol.map": "PLAINTEXT:SSL,SASL:SASL_SSL,CONTROLLER:SASL_SSL",
            "ssl.keystore.location": authority.issue("broker").write_pem(folder / "broker.pem"),
            "ssl.truststore.location": self.tls.authority,
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": SUPER_USERS,
        }
        super().__init__(brokers, {**secured, **(config or {})}, folder / "nodes")

    def properties(self, login: Login) -> dict[str, str]:
        """The settings of a client, with Kafka's names."""
        return {"bootstrap.servers": self.bootstrap, **security_for_java(self.tls, login)}

    def librdkafka(self, login: Login) -> dict[str, str | int | float | bool]:
        """The settings of a client, with librdkafka's names."""
        return {"bootstrap.servers": self.bootstrap, **security_for_librdkafka(self.tls, login)}

    def security(self, login: Login) -> ClientSecurity:
        return ClientSecurity.from_kafka(self.properties(login))

    def _brokers_seen(self, port: int) -> int:
        return brokers_seen_at(port, tls=client_context(TlsSettings(security_for_java(self.tls, None))))
