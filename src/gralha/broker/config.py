"""A node's settings: Kafka's server.properties, checked before anything starts.

`NodeConfig.parse` reads the text, warns of names it does not know and collects every wrong value, so that
a person sees all mistakes at once, each with its line and what is allowed there.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from gralha.metadata.broker_configs import BROKER_CONFIGS
from gralha.metadata.config_types import ConfigError, ConfigValue, parse_value
from gralha.protocol.properties import parse_properties

DEFAULT_LISTENER: Final = "PLAINTEXT://localhost:9092"
# A controller's listener, which Kafka also demands, has nobody to listen to in a quorum of one.
REQUIRED: Final = ("process.roles", "node.id")
SERVED_PROTOCOLS: Final = ("PLAINTEXT",)
SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
ANY_ADDRESS: Final = ("", "0.0.0.0", "::")
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


class ConfigFileError(Exception):
    """Settings that a node cannot start with; the message names each line."""


class Listener(NamedTuple):
    name: str
    host: str
    port: int
    protocol: str

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK or self.host.startswith("127.")


class Voter(NamedTuple):
    node_id: int
    host: str
    port: int


class NodeConfig:
    """The settings of one node, typed. `values` has every known key, `texts` what was written."""

    def __init__(
        self, texts: Mapping[str, str], values: Mapping[str, ConfigValue], hostname: Callable[[], str]
    ) -> None:
        self.texts = dict(texts)
        self.values = dict(values)
        self.node_id = self.number("node.id")
        self.texts.setdefault("broker.id", str(self.node_id))
        self.roles = self.items("process.roles")
        self.log_dirs = self.items("log.dirs") or self.items("log.dir") or ["/tmp/kafka-logs"]
        self.metadata_log_dir = self.text("metadata.log.dir") or self.log_dirs[0]
        self.rack = self.text("broker.rack")
        self.fetch_max_bytes = self.number("fetch.max.bytes")
        self.controller_listener_names = self.items("controller.listener.names")
        protocols = self._protocols()
        listeners = self.items("listeners") if "listeners" in texts else [DEFAULT_LISTENER]
        self.listeners = parse_listeners(listeners, protocols, "listeners")
        self.voters = parse_voters(self.items("controller.quorum.voters"))
        self.advertised = self._advertised(protocols, hostname)

    def number(self, name: str) -> int:
        value = self.values[name]
        assert isinstance(value, int), name
        return value

    def flag(self, name: str) -> bool:
        return bool(self.values[name])

    def text(self, name: str) -> str | None:
        value = self.values[name]
        return None if value is None else str(value)

    def items(self, name: str) -> list[str]:
        value = self.values[name]
        if isinstance(value, list):
            return value
        return [item.strip() for item in str(value).split(",") if item.strip()] if value else []

    @property
    def client_listeners(self) -> list[Listener]:
        """The listeners that clients use: all but the controllers'."""
        return [one for one in self.listeners if one.name not in self.controller_listener_names]

    @property
    def open_listeners(self) -> list[Listener]:
        """Listeners beyond this machine that let anybody in."""
        return [one for one in self.client_listeners if not one.is_loopback and one.protocol == "PLAINTEXT"]

    def _protocols(self) -> dict[str, str]:
        """Which security protocol each listener name stands for."""
        protocols = {name: name for name in SECURITY_PROTOCOLS}
        protocols.update(
            {name: "PLAINTEXT" for name in self.controller_listener_names if name not in protocols}
        )
        for item in self.items("listener.security.protocol.map"):
            name, _, protocol = item.partition(":")
            protocols[name.strip().upper()] = protocol.strip().upper()
        return protocols

    def _advertised(self, protocols: dict[str, str], hostname: Callable[[], str]) -> list[Listener]:
        """Where clients are told to connect; a listener on all addresses is advertised by the host's name."""
        given = self.items("advertised.listeners")
        if given:
            return parse_listeners(given, protocols, "advertised.listeners")
        return [
            one._replace(host=hostname()) if one.host in ANY_ADDRESS else one for one in self.client_listeners
        ]

    @classmethod
    def parse(cls, text: str, source: str, hostname: Callable[[], str]) -> "tuple[NodeConfig, list[str]]":
        """The settings in a properties text and the warnings; ConfigFileError with all that is wrong."""
        problems: list[str] = []
        warnings: list[str] = []
        texts: dict[str, str] = {}
        values = {name: key.default for name, key in BROKER_CONFIGS.items()}
        try:
            properties = parse_properties(text)
        except ValueError as error:
            raise ConfigFileError(f"{source}: {error}") from None
        for name, value, line in properties:
            key = BROKER_CONFIGS.get(name)
            if key is None:
                warnings.append(f"{source} line {line}: unknown name {name}, ignored")
                continue
            texts[name] = value
            try:
                values[name] = parse_value(key, value)
            except ConfigError as error:
                problems.append(
                    f"{source} line {line}: {name}={error.value}: {error.why}; allowed: {error.allowed}"
                )
        problems += [
            f"{source}: {name} is missing; allowed: {BROKER_CONFIGS[name].allowed}"
            for name in REQUIRED
            if name not in texts
        ]
        if not problems:
            try:
                config = cls(texts, values, hostname)
                problems += [f"{source}: {problem}" for problem in contradictions(config)]
            except ConfigError as error:
                problems.append(f"{source}: {error}; allowed: {error.allowed}")
        if problems:
            raise ConfigFileError("\n".join(problems))
        return config, warnings


def contradictions(config: NodeConfig) -> list[str]:
    """What is wrong between settings that are right each by itself."""
    problems = []
    if config.number("broker.id") not in (-1, config.node_id):
        problems.append(f"broker.id and node.id differ; remove broker.id (node.id={config.node_id})")
    if "broker" not in config.roles or "controller" not in config.roles:
        problems.append("process.roles: this release runs process.roles=broker,controller only")
    if len(config.voters) > 1:
        problems.append("controller.quorum.voters: this release runs a quorum of one voter only")
    elif config.voters and config.voters[0].node_id != config.node_id:
        problems.append(f"controller.quorum.voters does not name this node (node.id={config.node_id})")
    for name in config.controller_listener_names:
        if config.voters and name not in [one.name for one in config.listeners]:
            problems.append(f"controller.listener.names: {name} is not among the listeners")
    if not config.client_listeners:
        problems.append("listeners: there is none for clients; add for example PLAINTEXT://localhost:9092")
    problems += [
        f"listeners: {one.name} uses {one.protocol}, which this release does not serve; served: PLAINTEXT"
        for one in config.listeners
        if one.protocol not in SERVED_PROTOCOLS
    ]
    problems += [
        f"advertised.listeners: {one.name} has no host that a client could connect to; name one"
        for one in config.advertised
        if one.host in ANY_ADDRESS
    ]
    names = [one.name for one in config.listeners]
    problems += [
        f"listeners: {name} occurs twice" for name in sorted({n for n in names if names.count(n) > 1})
    ]
    return problems


def parse_listeners(items: list[str], protocols: Mapping[str, str], key: str) -> list[Listener]:
    allowed = "NAME://host:port, several separated by commas, for example PLAINTEXT://localhost:9092"
    listeners = []
    for item in items:
        name, separator, address = item.partition("://")
        host, colon, port = address.rpartition(":")
        if not separator or not colon or not port.isdigit() or int(port) > 65535:
            raise ConfigError(key, item, "not of the form NAME://host:port", allowed)
        protocol = protocols.get(name.upper())
        if protocol is None:
            known = "add it to listener.security.protocol.map, for example " + f"{name}:PLAINTEXT"
            raise ConfigError(key, item, f"no security protocol is known for {name}", known)
        listeners.append(Listener(name.upper(), host.strip("[]"), int(port), protocol))
    return listeners


def parse_voters(items: list[str]) -> list[Voter]:
    voters = []
    for item in items:
        identifier, at, address = item.partition("@")
        host, colon, port = address.rpartition(":")
        if not at or not colon or not identifier.isdigit() or not port.isdigit():
            raise ConfigError(
                "controller.quorum.voters", item, "not of the form id@host:port", "1@localhost:9093"
            )
        voters.append(Voter(int(identifier), host, int(port)))
    return voters
