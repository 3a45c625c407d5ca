"""Cipher suites: Kafka's files use Java's names (IANA's), OpenSSL has names of its own."""

from collections.abc import Iterable
from typing import Final

# Suites of TLS 1.3. Java and OpenSSL use the same names for them.
TLS_1_3: Final = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")


def openssl_name(name: str) -> str:
    """OpenSSL's name of a suite. A name that is not Java's stays as it is."""
    exchange, separator, rest = name.removeprefix("TLS_").partition("_WITH_")
    if not separator or not name.startswith("TLS_"):
        return name
    cipher = rest.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_", "-")
    if cipher.startswith("CHACHA20"):
        cipher = cipher.removesuffix("-SHA256")
    cipher = cipher.replace("-CBC-", "-")
    # OpenSSL leaves RSA out of the name if it is both the key exchange and the signature.
    return cipher if exchange == "RSA" else f"{exchange.replace('_', '-')}-{cipher}"


def split_suites(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The suites of TLS 1.3, and OpenSSL's names of the others."""
    found = list(names)
    return [one for one in found if one in TLS_1_3], [
        openssl_name(one) for one in found if one not in TLS_1_3
    ]
