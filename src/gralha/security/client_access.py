"""How a client reaches a secured cluster, in the words of each library.

`gralha secure` writes these settings to files, and `gralha.testing` hands them to tests. The results have
passwords, so only files that nobody else can read may have them.
"""

from pathlib import Path
from typing import Final, NamedTuple

MECHANISM: Final = "SCRAM-SHA-512"
_SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"


class ClientAccess(NamedTuple):
    """The address of a cluster, the user, and the files of TLS."""

    bootstrap: str
    protocol: str = "PLAINTEXT"
    user: str = ""
    password: str = ""
    # The certificate of the authority.
    authority_file: Path | None = None
    # The client's own key and certificate, where the certificate says who the client is.
    key_file: Path | None = None

    def __repr__(self) -> str:
        return f"ClientAccess({self.bootstrap}, {self.protocol}, {self.user})"

    @property
    def uses_tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def uses_login(self) -> bool:
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def java(self) -> dict[str, str]:
        """For Java's clients, for Spark, and for --command-config of all commands."""
        settings = {"bootstrap.servers": self.bootstrap, "security.protocol": self.protocol}
        if self.authority_file is not None:
            settings["ssl.truststore.type"] = "PEM"
            settings["ssl.truststore.location"] = str(self.authority_file)
        if self.key_file is not None:
            settings["ssl.keystore.type"] = "PEM"
            settings["ssl.keystore.location"] = str(self.key_file)
        if self.uses_login:
            settings["sasl.mechanism"] = MECHANISM
            settings["sasl.jaas.config"] = (
                f'{_SCRAM_MODULE} required username="{self.user}" password="{self.password}";'
            )
        return settings

    def librdkafka(self) -> dict[str, str]:
        """For confluent-kafka, kcat and other clients that use librdkafka."""
        settings = {"bootstrap.servers": self.bootstrap, "security.protocol": self.protocol}
        if self.authority_file is not None:
            settings["ssl.ca.location"] = str(self.authority_file)
        if self.key_file is not None:
            settings["ssl.certificate.location"] = settings["ssl.key.location"] = str(self.key_file)
        if self.uses_login:
            settings["sasl.mechanism"] = MECHANISM
            settings["sasl.username"] = self.user
            settings["sasl.password"] = self.password
        return settings

    def python(self) -> dict[str, str]:
        """For kafka-python and aiokafka, which take the files of TLS in different ways."""
        settings = {"bootstrap_servers": self.bootstrap, "security_protocol": self.protocol}
        if self.uses_login:
            settings["sasl_mechanism"] = MECHANISM
            settings["sasl_plain_username"] = self.user
            settings["sasl_plain_password"] = self.password
        return settings

    def kafkajs(self) -> dict[str, object]:
        """For kafkajs, which takes the text of certificates."""
        settings: dict[str, object] = {"brokers": self.bootstrap.split(",")}
        if self.authority_file is not None:
            ssl: dict[str, object] = {"ca": [self.authority_file.read_text()]}
            if self.key_file is not None:
                ssl["key"] = ssl["cert"] = self.key_file.read_text()
            settings["ssl"] = ssl
        if self.uses_login:
            settings["sasl"] = {
                "mechanism": MECHANISM.lower(),
                "username": self.user,
                "password": self.password,
            }
        return settings
