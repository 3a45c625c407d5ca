"""What OpenSSL's errors mean for the person who runs a client."""

import ssl
from typing import Final

from gralha.client.addresses import Address

# OpenSSL's reasons if the answer is not TLS, or if there is none.
_NOT_TLS: Final = (
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "HTTP_REQUEST",
    "PACKET_LENGTH_TOO_LONG",
    "UNEXPECTED_EOF_WHILE_READING",
)
_REFUSED_CERTIFICATE: Final = (
    "TLSV1_ALERT_UNKNOWN_CA",
    "SSLV3_ALERT_BAD_CERTIFICATE",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED",
    "TLSV1_ALERT_ACCESS_DENIED",
)
_NO_COMMON_VERSION: Final = ("TLSV1_ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL", "NO_PROTOCOLS_AVAILABLE")
# X509_V_ERR_... of OpenSSL.
_EXPIRED: Final = 10
_NOT_YET_VALID: Final = 9
_OTHER_NAME: Final = (62, 64)


def why_tls_failed(error: OSError, address: Address) -> str:
    """A sentence about a failed handshake, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _why_not_trusted(error, address)
    reason = getattr(error, "reason", None)
    if not isinstance(error, ssl.SSLError) or reason in (None, *_NOT_TLS):
        return f"The server on {address} does not use TLS. Check the port and security.protocol."
    return why_tls_ended(error, address) or f"The TLS handshake with {address} failed: {reason}."


def why_tls_ended(error: OSError, address: Address) -> str | None:
    """A sentence about an alert of the server, which may come after the handshake. None for other errors."""
    reason = getattr(error, "reason", None)
    if reason == "TLSV13_ALERT_CERTIFICATE_REQUIRED":
        return (
            f"The server on {address} requires a certificate of the client (ssl.client.auth=required): "
            "set ssl.keystore.location."
        )
    if reason == "SSLV3_ALERT_HANDSHAKE_FAILURE":
        return (
            f"The server on {address} refused the TLS handshake. It requires a certificate of the client "
            "(ssl.keystore.location), or it has no common cipher suite (ssl.cipher.suites)."
        )
    if reason in _REFUSED_CERTIFICATE:
        return (
            f"The server on {address} does not accept the certificate of this client. Check "
            "ssl.keystore.location here, and ssl.truststore.location on the server."
        )
    if reason in _NO_COMMON_VERSION:
        return (
            f"The server on {address} and this client share no version of TLS. "
            "Check ssl.enabled.protocols on both sides."
        )
    return None


def _why_not_trusted(error: ssl.SSLCertVerificationError, address: Address) -> str:
    certificate = f"The certificate of the server on {address}"
    if error.verify_code == _EXPIRED:
        return f"{certificate} has expired. The server needs a new one."
    if error.verify_code == _NOT_YET_VALID:
        return f"{certificate} is not valid yet. Check the clocks of both machines."
    if error.verify_code in _OTHER_NAME:
        return (
            f"{certificate} is not for the host name {address.host}. Connect with a name that is in it, or "
            "set ssl.endpoint.identification.algorithm to an empty value to accept every name."
        )
    return (
        f"{certificate} is not trusted ({error.verify_message}). Set ssl.truststore.location to the "
        "certificate of the authority that has signed it."
    )
