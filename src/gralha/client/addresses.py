"""Addresses of brokers on a command line: `host:port`, `[::1]:9092`, several separated by commas."""

from typing import NamedTuple

from gralha.client.errors import ClientError


class Address(NamedTuple):
    """The address of a broker. IPv6 hosts are stored without brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_bootstrap_servers(text: str) -> list[Address]:
    """The addresses in a comma-separated list. Raises ClientError if it is empty."""
    addresses = [parse_address(part.strip()) for part in text.split(",") if part.strip()]
    if not addresses:
        raise ClientError(
            "The list of bootstrap servers is empty: give host:port, for example localhost:9092"
        )
    return addresses


def parse_address(text: str) -> Address:
    """Parses `host:port`. The listener name in `PLAINTEXT://host:port` is ignored, as in Kafka."""
    location = text.rpartition("://")[2]
    host, _, port = location.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ClientError(f"'{text}' is not an address: write host:port, for example localhost:9092")
    return Address(host, int(port))
