"""How a client protects its connections: `security.protocol` and the settings that belong to it.

The names are those of Kafka's clients, and those of librdkafka for the files of TLS. Files are read when the
first connection is opened. Contexts are kept, so that all connections of a process share them.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from gralha.client.errors import ConnectionFailedError, SettingsError
from gralha.client.login import ClientLogin, login_of

if TYPE_CHECKING:
    import ssl

    from gralha.client.addresses import Address

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# Names that librdkafka has and Kafka's clients do not have.
LIBRDKAFKA_NAMES: Final = frozenset(
    {
        "enable.ssl.certificate.verification",
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.key.location",
        "ssl.key.pem",
    }
)
# Kafka's names for some of them.
_KAFKA_NAMES: Final = {
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}


@dataclass(frozen=True)
class ClientSecurity:
    """The protocol, the settings of TLS by name, and the login. No secret is shown."""

    protocol: str = "PLAINTEXT"
    texts: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    login: ClientLogin | None = None

    @property
    def uses_tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @staticmethod
    def from_kafka(options: Mapping[str, str]) -> ClientSecurity:
        """The security in the settings of a client. Raises SettingsError."""
        return replace(ClientSecurity.for_socket(options), login=login_of(options))

    @staticmethod
    def for_socket(options: Mapping[str, str]) -> ClientSecurity:
        """The same for a socket alone, without a login."""
        protocol = options.get("security.protocol", "PLAINTEXT").strip().upper()
        if protocol not in PROTOCOLS:
            raise SettingsError(
                f"security.protocol={protocol} is not allowed: "
                f"use {', '.join(PROTOCOLS[:-1])} or {PROTOCOLS[-1]}."
            )
        texts = {
            _KAFKA_NAMES.get(name, name): value
            for name, value in options.items()
            if name.startswith("ssl.") or name == "enable.ssl.certificate.verification"
        }
        security = ClientSecurity(protocol, tuple(sorted(texts.items())))
        if not security.uses_tls:
            return ClientSecurity(protocol)
        security.check()
        return security

    def check(self) -> None:
        """Raises SettingsError if a setting of TLS is wrong. Reads no files."""
        from gralha.security.tls_settings import TlsError, TlsSettings

        try:
            TlsSettings(dict(self.texts))
        except TlsError as error:
            raise SettingsError(f"{error}.") from None

    def wrap(self, connected: socket.socket, address: Address) -> socket.socket:
        """Shakes hands with the server. After a failure the socket is closed, and a ClientError says why."""
        from gralha.client.tls_errors import why_tls_failed

        try:
            return _context(self.texts).wrap_socket(connected, server_hostname=address.host)
        except TimeoutError:
            reason = f"The server on {address} did not finish the TLS handshake in time."
        except OSError as error:
            reason = why_tls_failed(error, address)
        finally:
            # The new socket has taken over the descriptor, so this closes nothing after a success.
            connected.close()
        raise ConnectionFailedError(reason)


PLAINTEXT: Final = ClientSecurity()


@lru_cache(maxsize=16)
def _context(texts: tuple[tuple[str, str], ...]) -> ssl.SSLContext:
    from gralha.security.key_stores import client_context
    from gralha.security.tls_settings import TlsError, TlsSettings

    try:
        return client_context(TlsSettings(dict(texts)))
    except TlsError as error:
        raise SettingsError(f"{error}.") from None
