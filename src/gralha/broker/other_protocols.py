"""Recognises clients that speak another protocol than this listener's, by the beginning of a refused request.

Without this the log would say that a request has 369295616 bytes (a TLS handshake) or an unknown API key (a
SASL handshake). A person who looks for the reason of a client's time-out needs a sentence.
"""

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


def sasl_on(listener: str) -> str:
    """What to do if a client wants to log in on a listener without SASL, after the client's address."""
    return f"wants to log in with SASL. {_plaintext(listener)}"


def _plaintext(listener: str) -> str:
    return f"The listener {listener} is plaintext: set security.protocol=PLAINTEXT in the client."
