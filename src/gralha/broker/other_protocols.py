"""Recognises clients that speak another protocol than this listener's, or use TLS with wrong settings.

The beginning of a refused request shows the protocol, and OpenSSL's reason what is wrong with TLS.

Without this the log would say that a request has 369295616 bytes (a TLS handshake) or an unknown API key (a
SASL handshake). A person who looks for the reason of a client's time-out needs a sentence.
"""

import ssl
from typing import Final

# So much of a request is enough.
PREFIX_BYTES: Final = 8

_TLS_HANDSHAKE: Final = b"\x16\x03"
_HTTP_METHODS: Final = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PATC", b"CONN", b"PRI ")


def what_to_do(beginning: bytes, listener: str) -> str | None:
    """What the client speaks and what to do, after the client's address. None for a request of Kafka."""
    plaintext = _plaintext(listener)
    if beginning.startswith(_TLS_HANDSHAKE):
        return f"began a TLS handshake. {plaintext}"
    if beginning.startswith(_HTTP_METHODS):
        return (
            "sent an HTTP request, but this port is for Kafka clients. "
            "Metrics have an address of their own: gralha.metrics.listener."
        )
    return None


# OpenSSL's reasons why it could not understand the other side at all.
_NOT_TLS: Final = (
    *("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "PACKET_LENGTH_TOO_LONG"),
    *("RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "BAD_RECORD_TYPE"),
)
# Alerts of a client that does not accept this node's certificate.
_UNTRUSTED: Final = (
    *("TLSV1_ALERT_UNKNOWN_CA", "SSLV3_ALERT_BAD_CERTIFICATE", "SSLV3_ALERT_CERTIFICATE_UNKNOWN"),
    *("SSLV3_ALERT_CERTIFICATE_EXPIRED", "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE"),
)
_NO_COMMON_VERSION: Final = (
    *("UNSUPPORTED_PROTOCOL", "NO_SHARED_CIPHER", "VERSION_TOO_LOW", "TLSV1_ALERT_PROTOCOL_VERSION"),
)


def why_tls_failed(error: Exception, beginning: bytes, listener: str) -> str | None:
    """What the client did and what to do, after the client's address. None if there is nothing to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"has a certificate that the listener {listener} does not accept ({error.verify_message}). "
            "Check the client's key store, and ssl.truststore.location of the listener."
        )
    reason = getattr(error, "reason", None) or ""
    if reason in _NOT_TLS:
        if beginning.startswith(_HTTP_METHODS):
            return what_to_do(beginning, listener)
        return f"does not use TLS. The listener {listener} uses TLS: set security.protocol=SSL in the client."
    if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return (
            f"has no certificate, and the listener {listener} requires one (ssl.client.auth=required): "
            "set ssl.keystore.location in the client."
        )
    if reason in _UNTRUSTED:
        return (
            f"does not accept the certificate of the listener {listener} ({reason.lower()}). The client "
            "needs the certificate that signed it (ssl.truststore.location, with librdkafka "
            "ssl.ca.location), and must use a host name that is in it."
        )
    if reason in _NO_COMMON_VERSION:
        return (
            f"shares no version or cipher suite of TLS with the listener {listener}: "
            "compare ssl.enabled.protocols and ssl.cipher.suites on both sides."
        )
    if not isinstance(error, ssl.SSLError):
        return f"was refused by the listener {listener}: {error}."
    return None


def sasl_on(listener: str) -> str:
    """What to do if a client wants to log in on a listener without SASL, after the client's address."""
    return f"wants to log in with SASL. {_plaintext(listener)}"


def _plaintext(listener: str) -> str:
    return f"The listener {listener} is plaintext: set security.protocol=PLAINTEXT in the client."
