"""Entities of quotas, and the addresses of clients."""

import pytest

from gralha.protocol.client_quotas import quota_entity
from gralha.protocol.ip_addresses import address_of, addresses_of


def test_an_entity_does_not_depend_on_the_order_of_its_parts() -> None:
    assert quota_entity([("user", None), ("client-id", "a")]) == quota_entity(
        [("client-id", "a"), ("user", None)]
    )
    assert quota_entity([("user", "a"), ("user", "b")]) == (("user", "b"),)


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("10.0.0.1", ("10.0.0.1",)),
        ("0:0:0:0:0:0:0:1", ("::1",)),
        ("::FFFF:10.0.0.1", ("10.0.0.1",)),
        ("fe80::1%eth0", ("fe80::1",)),
        ("localhost", ("127.0.0.1", "::1")),
        ("broker.example", ()),
        ("", ()),
    ],
)
def test_the_addresses_that_a_name_stands_for(name: str, addresses: tuple[str, ...]) -> None:
    assert addresses_of(name) == addresses
    assert address_of(name) == (addresses or (name,))[0]
