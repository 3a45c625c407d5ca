import pytest

from gralha.client.addresses import Address, parse_address, parse_bootstrap_servers
from gralha.client.errors import ClientError


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("localhost:9092", "localhost", 9092),
        ("127.0.0.1:1", "127.0.0.1", 1),
        ("[::1]:9092", "::1", 9092),
        ("kafka-1.example.org:65535", "kafka-1.example.org", 65535),
        ("PLAINTEXT://broker:9093", "broker", 9093),
    ],
)
def test_parses_host_and_port(text: str, host: str, port: int) -> None:
    assert parse_address(text) == Address(host, port)


@pytest.mark.parametrize(
    "text",
    ["localhost", "localhost:", ":9092", "localhost:port", "h:0", "h:65536", "::1:9092", "h:-1", "h:²"],
)
def test_refuses_what_is_no_address_and_shows_one(text: str) -> None:
    with pytest.raises(ClientError, match="write host:port, for example localhost:9092"):
        parse_address(text)


def test_a_list_may_have_blanks_and_a_trailing_comma() -> None:
    assert parse_bootstrap_servers("a:1, b:2,") == [Address("a", 1), Address("b", 2)]


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(ClientError, match="empty"):
        parse_bootstrap_servers(" , ")


def test_ipv6_addresses_are_shown_with_brackets() -> None:
    assert str(Address("::1", 9092)) == "[::1]:9092"
    assert str(Address("localhost", 9092)) == "localhost:9092"
