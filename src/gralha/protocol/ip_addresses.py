"""IP addresses of clients, as quotas and settings name them."""

from ipaddress import IPv6Address, ip_address


def addresses_of(name: str) -> tuple[str, ...]:
    """The addresses that a name in a quota or a setting stands for, in their shortest form. Names of hosts
    other than `localhost` stand for none: each broker could find something else.
    """
    if name == "localhost":
        return "127.0.0.1", "::1"
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        return ()
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (str(mapped or address),)


def address_of(host: str) -> str:
    """The address of a client in its shortest form, without the zone of an IPv6 address."""
    return next(iter(addresses_of(host)), host)
