"""The `ssl.*` settings of a listener or a client as typed values.

Nothing is read from files here (`key_stores.py`). A wrong value raises a TlsError that says what is allowed.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

PROTOCOLS: Final = ("TLSv1.2", "TLSv1.3")
CLIENT_AUTH: Final = ("none", "requested", "required")
STORE_TYPES: Final = ("PEM", "PKCS12", "JKS")


class TlsError(Exception):
    """TLS cannot be used with these settings. The message is for a person. `setting` is the one to change."""

    def __init__(self, setting: str, message: str) -> None:
        super().__init__(f"{setting}: {message}")
        self.setting = setting


class StoreNames(NamedTuple):
    """The settings of a store."""

    type: str
    location: str
    password: str


KEY_STORE: Final = StoreNames("ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password")
TRUST_STORE: Final = StoreNames("ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.password")


class Store:
    """A file with keys or certificates."""

    def __init__(self, names: StoreNames, texts: Mapping[str, str]) -> None:
        named = texts.get(names.type)
        self.names = names
        self.type = named.strip().upper() if named else None
        self.location = texts.get(names.location)
        self.password = texts.get(names.password)
        if self.type is not None and self.type not in STORE_TYPES:
            raise TlsError(names.type, f"{named} is unknown; use PEM or PKCS12")

    def __repr__(self) -> str:
        return f"Store({self.location!r})"


class TlsSettings:
    """The settings of one side of a connection. Secrets are in no `repr` and no error."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """`texts` has the settings by name. Other settings may be among them."""
        self._texts = {name: text for name, text in texts.items() if text.strip()}
        self.key_store = Store(KEY_STORE, self._texts)
        self.trust_store = Store(TRUST_STORE, self._texts)
        self.key_password = self._texts.get("ssl.key.password")
        self.key = self._texts.get("ssl.keystore.key")
        self.certificate_chain = self._texts.get("ssl.keystore.certificate.chain")
        self.trusted_certificates = self._texts.get("ssl.truststore.certificates")
        # librdkafka has the certificate and its key in two files.
        self.certificate_location = self._texts.get("ssl.certificate.location")
        self.key_location = self._texts.get("ssl.key.location")
        self.client_auth = self._choice("ssl.client.auth", CLIENT_AUTH, "none")
        self.protocols = self._protocols()
        self.cipher_suites = self._items("ssl.cipher.suites")
        algorithm = texts.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
        if algorithm not in ("https", "", "none"):
            raise TlsError(
                "ssl.endpoint.identification.algorithm",
                f"{algorithm} is unknown; use https, or leave it empty to accept every host name",
            )
        self.checks_host_name = algorithm == "https"
        verification = self._choice("enable.ssl.certificate.verification", ("true", "false"), "true")
        self.verifies = verification == "true"

    @property
    def has_key(self) -> bool:
        """True if this side has a certificate of its own."""
        return bool(
            self.key_store.location or self.key or self.certificate_chain or self.certificate_location
        )

    @property
    def has_trust(self) -> bool:
        """True if the settings name trusted certificates."""
        return bool(self.trust_store.location or self.trusted_certificates)

    @property
    def files(self) -> list[str]:
        """The files of keys and certificates."""
        stores = (self.key_store.location, self.trust_store.location)
        return [one for one in (*stores, self.certificate_location, self.key_location) if one]

    @property
    def key_files(self) -> list[str]:
        """The files that have a private key."""
        return [one for one in (self.key_store.location, self.key_location) if one]

    def __repr__(self) -> str:
        return f"TlsSettings({self.key_store!r}, {self.trust_store!r})"

    def _protocols(self) -> list[str]:
        self._choice("ssl.protocol", ("tls", "tlsv1.2", "tlsv1.3"), "tlsv1.3")
        names = self._items("ssl.enabled.protocols") or list(PROTOCOLS)
        for name in names:
            if name not in PROTOCOLS:
                raise TlsError(
                    "ssl.enabled.protocols", f"{name} is not supported; use TLSv1.2, TLSv1.3 or both"
                )
        return names

    def _items(self, name: str) -> list[str]:
        return [item.strip() for item in self._texts.get(name, "").split(",") if item.strip()]

    def _choice(self, name: str, allowed: tuple[str, ...], default: str) -> str:
        value = self._texts.get(name, default).strip().lower()
        if value not in allowed:
            raise TlsError(name, f"{value} is unknown; use {', '.join(allowed[:-1])} or {allowed[-1]}")
        return value
