"""kafka-broker-api-versions: shows the APIs of each broker, and their versions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gralha.cli.arguments import CommandParser
from gralha.cli.connect import add_connection_options, open_admin
from gralha.cli.json_output import add_json_option, print_json
from gralha.cli.program import run

if TYPE_CHECKING:
    from gralha.client.admin import Admin
    from gralha.client.cluster import Broker

# The versions of client APIs in Kafka 4.3. "usable" refers to them.
# fmt: off
_CLIENT_VERSIONS = {
    0: (0, 13), 1: (4, 18), 2: (1, 11), 3: (0, 13), 8: (2, 10), 9: (1, 10), 10: (0, 6), 11: (0, 9),
    12: (0, 4), 13: (0, 5), 14: (0, 5), 15: (0, 6), 16: (0, 5), 17: (0, 1), 18: (0, 4), 19: (2, 7),
    20: (1, 6), 21: (0, 2), 22: (0, 5), 23: (2, 4), 24: (0, 5), 25: (0, 4), 26: (0, 5), 27: (1, 2),
    28: (0, 5), 29: (1, 3), 30: (1, 3), 31: (1, 3), 32: (1, 4), 33: (0, 2), 34: (1, 2), 35: (1, 5),
    36: (0, 2), 37: (0, 3), 38: (1, 3), 39: (1, 2), 40: (1, 2), 41: (1, 3), 42: (0, 2), 43: (0, 2),
    44: (0, 1), 45: (0, 1), 46: (0, 0), 47: (0, 0), 48: (0, 1), 49: (0, 1), 50: (0, 0), 51: (0, 0),
    55: (0, 2), 57: (0, 2), 60: (0, 2), 61: (0, 0), 64: (0, 0), 65: (0, 0), 66: (0, 2), 68: (0, 1),
    69: (0, 1), 71: (0, 0), 72: (0, 0), 74: (0, 1), 75: (0, 0), 76: (1, 1), 77: (1, 1), 78: (1, 2),
    79: (1, 2), 80: (0, 1), 81: (0, 0), 83: (0, 0), 84: (0, 0), 85: (0, 1), 86: (0, 0), 87: (0, 1),
    88: (0, 0), 89: (0, 0), 90: (0, 1), 91: (0, 0), 92: (0, 0),
}
# fmt: on


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    parser = CommandParser(
        "kafka-broker-api-versions",
        "Shows which versions of each API the brokers serve.",
        [
            "--bootstrap-server localhost:9092",
        ],
    )
    add_connection_options(parser)
    add_json_option(parser)
    options = parser.parse(arguments)
    parser.require(options, "bootstrap-server")
    with open_admin(options, "admin-1") as admin:
        brokers = sorted(admin.cluster.once(admin.cluster.brokers).values())
        served = {broker.id: _served(admin, broker.id) for broker in brokers}
    if options.json:
        print_json(brokers=[_document(broker, served[broker.id]) for broker in brokers])
        return 0
    for broker in brokers:
        title = f"{broker.address} (id: {broker.id} rack: {broker.rack or 'null'} isFenced: false)"
        print(f"{title} -> {describe(served[broker.id])}")
    return 0


def _served(admin: "Admin", broker_id: int) -> dict[int, tuple[int, int]]:
    answer = admin.api_versions(broker_id)
    return {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}


def _document(broker: "Broker", served: Mapping[int, tuple[int, int]]) -> dict[str, Any]:
    """A broker with its APIs. If the broker lacks an API that Kafka's clients know, there are no versions."""
    apis = []
    for key in sorted(served.keys() | _CLIENT_VERSIONS.keys()):
        lowest, highest = served.get(key, (None, None))
        apis.append(
            {
                "apiKey": key,
                "name": name_of(key),
                "minVersion": lowest,
                "maxVersion": highest,
                "usableVersion": _usable(key, served.get(key)),
            }
        )
    return {"id": broker.id, "host": broker.host, "port": broker.port, "rack": broker.rack, "apis": apis}


def _usable(key: int, versions: tuple[int, int] | None) -> int | None:
    """The version that a client of Kafka 4.3 would use. None if there is none."""
    if versions is None or key not in _CLIENT_VERSIONS:
        return None
    oldest, latest = _CLIENT_VERSIONS[key]
    return min(latest, versions[1]) if latest >= versions[0] and versions[1] >= oldest else None


def name_of(key: int) -> str:
    """The name of an API, as Kafka writes it."""
    from gralha.protocol.apis import ApiKey

    known = key in ApiKey._value2member_map_
    return "".join(word.capitalize() for word in ApiKey(key).name.split("_")) if known else "UNKNOWN"


def describe(served: dict[int, tuple[int, int]]) -> str:
    """The APIs of a broker, and those of a client that the broker lacks."""
    keys = sorted(served.keys() | _CLIENT_VERSIONS.keys())
    return "(\n\t" + ",\n\t".join(api_text(key, served.get(key)) for key in keys) + "\n)"


def api_text(key: int, versions: tuple[int, int] | None) -> str:
    """One API: its name, its versions, and the one that a client would use."""
    name = name_of(key)
    if versions is None:
        return f"{name}({key}): UNSUPPORTED"
    lowest, highest = versions
    text = f"{name}({key}): {lowest}" if lowest == highest else f"{name}({key}): {lowest} to {highest}"
    if key not in _CLIENT_VERSIONS:
        return text
    oldest, latest = _CLIENT_VERSIONS[key]
    if latest < lowest:
        return f"{text} [unusable: node too new]"
    if highest < oldest:
        return f"{text} [unusable: node too old]"
    return f"{text} [usable: {min(latest, highest)}]"
