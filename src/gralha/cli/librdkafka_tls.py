"""Kafka's settings of TLS with librdkafka's names.

librdkafka has the certificate and its key in two settings, knows PKCS12 key stores but no such trust stores,
and has OpenSSL's names of cipher suites.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gralha.security.tls_settings import TlsSettings

# Kafka's settings that are translated here. Some of them matter only to the JVM and are left out.
TRANSLATED: Final = (
    *("ssl.truststore.location", "ssl.truststore.type", "ssl.truststore.password"),
    *("ssl.truststore.certificates", "ssl.keystore.location", "ssl.keystore.type", "ssl.keystore.password"),
    *("ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.cipher.suites"),
    *("ssl.endpoint.identification.algorithm", "ssl.enabled.protocols", "ssl.protocol", "ssl.provider"),
    *("ssl.keymanager.algorithm", "ssl.trustmanager.algorithm", "ssl.secure.random.implementation"),
)


def tls_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """The settings of TLS for librdkafka. Raises SettingsError if a store cannot be read."""
    if not any(name in properties for name in TRANSLATED):
        return {}
    from gralha.client.errors import SettingsError
    from gralha.security.cipher_suites import split_suites
    from gralha.security.key_stores import trusted_pem, uses_pkcs12
    from gralha.security.tls_settings import TlsError, TlsSettings

    try:
        tls = TlsSettings(properties)
        found = _key(tls, uses_pkcs12(tls.key_store))
        if "ssl.truststore.certificates" in properties or uses_pkcs12(tls.trust_store):
            found["ssl.ca.pem"] = trusted_pem(tls)
        elif tls.trust_store.location:
            found["ssl.ca.location"] = tls.trust_store.location
    except TlsError as error:
        raise SettingsError(f"{error}.") from None
    if tls.cipher_suites:
        newer, older = split_suites(tls.cipher_suites)
        found["ssl.cipher.suites"] = ":".join(newer + older)
    if not tls.checks_host_name:
        found["ssl.endpoint.identification.algorithm"] = "none"
    return found


def _key(tls: "TlsSettings", is_pkcs12: bool) -> dict[str, str]:
    store = tls.key_store
    if is_pkcs12:
        return {"ssl.keystore.location": store.location or "", "ssl.keystore.password": store.password or ""}
    if store.location:
        return {"ssl.certificate.location": store.location, "ssl.key.location": store.location}
    from gralha.security.key_stores import with_lines

    texts = {"ssl.certificate.pem": tls.certificate_chain, "ssl.key.pem": tls.key}
    return {name: with_lines(text) for name, text in texts.items() if text is not None}
