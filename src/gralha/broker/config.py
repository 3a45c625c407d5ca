"""A node's settings: Kafka's server.properties, checked before anything starts.

`NodeConfig.parse` reads the text, warns about unknown names and collects every wrong value. So a person sees
all mistakes at once, each with its line and the allowed values. Security settings that this release does not
support are errors too: the node must not start without protection instead.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from gralha.broker.sasl_settings import (
    INTER_BROKER,
    SASL_PROTOCOLS,
    TO_CONTROLLERS,
    Lookup,
    SaslListener,
    SaslLogin,
    own_login,
    sasl_listener,
    sasl_problems,
)
from gralha.metadata.broker_configs import BROKER_CONFIGS
from gralha.metadata.config_types import ConfigError, ConfigValue, parse_value
from gralha.metadata.listener_configs import broker_config_key, listener_texts, without_listener
from gralha.metadata.units import advice
from gralha.protocol.properties import parse_properties

DEFAULT_LISTENER: Final = "PLAINTEXT://localhost:9092"
# Kafka also requires a listener of the controller, but nobody would use it in a quorum of one.
REQUIRED: Final = ("process.roles", "node.id")
SERVED_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# In the order of Kafka's numbers.
SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
ANY_ADDRESS: Final = ("", "0.0.0.0", "::")
# Names of settings, or their beginnings, that need something which this release does not have.
MISSING_SECURITY: Final = {
    "ssl.engine.factory.class": "TLS by classes of Java",
    "sasl.": "SASL setting of this name",
    "principal.builder.class": "authentication",
}
HARMLESS_SECURITY: Final = (("security.inter.broker.protocol", "plaintext"),)
# Prefixes of settings for one SASL mechanism, and the settings that may have them besides `sasl.`.
_MECHANISM_PREFIXES: Final = ("plain", "scram-sha-256", "scram-sha-512", "oauthbearer", "gssapi")
_OF_MECHANISMS: Final = ("connections.max.reauth.ms", "connection.failed.authentication.delay.ms")
STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
METRICS_LISTENER: Final = "gralha.metrics.listener"
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


class ConfigFileError(Exception):
    """A node cannot start with these settings. The message names each line."""


class Listener(NamedTuple):
    name: str
    host: str
    port: int
    protocol: str

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK or self.host.startswith("127.")

    @property
    def uses_tls(self) -> bool:
        return uses_tls(self.protocol)

    @property
    def protocol_number(self) -> int:
        """The number of the security protocol in metadata."""
        return SECURITY_PROTOCOLS.index(self.protocol)


def uses_tls(protocol: str) -> bool:
    """Returns True if connections with this security protocol are encrypted."""
    return protocol in ("SSL", "SASL_SSL")


class Voter(NamedTuple):
    node_id: int
    host: str
    port: int


class NodeConfig:
    """The typed settings of one node. `values` has every known key, `texts` the text of the file."""

    def __init__(
        self,
        texts: Mapping[str, str],
        values: Mapping[str, ConfigValue],
        hostname: Callable[[], str],
        prefixed: Mapping[str, str] | None = None,
    ) -> None:
        """`prefixed` are the settings of single listeners and mechanisms. They may have passwords."""
        self.texts = dict(texts)
        self._sasl = Lookup({**texts, **(prefixed or {})}, values, BROKER_CONFIGS)
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
        self.quorum_servers = parse_servers(self.items("controller.quorum.bootstrap.servers"))
        self.advertised = self._advertised(protocols, hostname)
        self.metrics_listener = parse_metrics_listener(self.text(METRICS_LISTENER))

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
        """The listeners for clients: all except those of the controllers."""
        return [one for one in self.listeners if one.name not in self.controller_listener_names]

    @property
    def controller_listeners(self) -> list[Listener]:
        """The listeners of this node's controller."""
        return [one for one in self.listeners if one.name in self.controller_listener_names]

    @property
    def controller_endpoints(self) -> list[Listener]:
        """The addresses of this node's controller for other nodes, as far as the file has them."""
        advertised = {one.name: one for one in self.advertised}
        found = [advertised.get(one.name, one) for one in self.controller_listeners]
        return [one for one in found if one.host and one.port]

    @property
    def inter_broker_listener(self) -> str | None:
        """The name of the listener that brokers use between each other."""
        wanted = self.text("inter.broker.listener.name")
        names = [one.name for one in self.client_listeners]
        if wanted:
            return wanted.upper() if wanted.upper() in names else None
        protocol = (self.text("security.inter.broker.protocol") or "").upper()
        return next((one.name for one in self.client_listeners if one.protocol == protocol), None)

    def sasl_listener(self, listener: Listener) -> SaslListener | None:
        """The SASL settings of a listener, if it uses SASL."""
        return sasl_listener(self._sasl, listener.name) if listener.protocol in SASL_PROTOCOLS else None

    @property
    def login_to_brokers(self) -> SaslLogin | None:
        """How this broker logs in to other brokers, if it must."""
        name = self.inter_broker_listener
        protocols = {one.name: one.protocol for one in self.client_listeners}
        if name is None or protocols[name] not in SASL_PROTOCOLS:
            return None
        return own_login(self._sasl, INTER_BROKER, name)

    @property
    def login_to_controllers(self) -> SaslLogin | None:
        """How this node logs in to controllers, if it must."""
        if not self.controllers_use_sasl:
            return None
        return own_login(self._sasl, TO_CONTROLLERS, self.controller_listener_names[0].upper())

    @property
    def controllers_use_sasl(self) -> bool:
        """True if this node logs in to controllers with SASL."""
        name = next(iter(self.controller_listener_names), "").upper()
        return self._protocols().get(name) in SASL_PROTOCOLS

    @property
    def is_broker(self) -> bool:
        """True if the node has partitions and serves clients."""
        return "broker" in self.roles

    @property
    def is_controller(self) -> bool:
        """True if the node has a vote in the quorum."""
        return "controller" in self.roles

    @property
    def open_listeners(self) -> list[Listener]:
        """Listeners beyond this machine without authentication."""
        return [one for one in self.listeners if not one.is_loopback and not self._authenticates(one)]

    @property
    def broker_listener(self) -> str | None:
        """The listener for other brokers, if clients have another one."""
        return self.inter_broker_listener if len(self.client_listeners) > 1 else None

    def listeners_of_nodes(self) -> set[str]:
        """The listeners that only nodes use."""
        return {*self.controller_listener_names, *([self.broker_listener] if self.broker_listener else [])}

    def listener_texts(self, listener: str) -> dict[str, str]:
        """The settings that count for a listener. Those with its prefix are stronger than those without."""
        return listener_texts(listener, self.texts)

    def protocol_of(self, listener: str) -> str:
        """The security protocol of a listener, which may be one that only other nodes have."""
        return self._protocols().get(listener.upper(), "PLAINTEXT")

    def _authenticates(self, listener: Listener) -> bool:
        if listener.protocol == "SSL":
            return self.listener_texts(listener.name).get("ssl.client.auth", "").strip() == "required"
        return listener.protocol != "PLAINTEXT"

    @property
    def early_start_listeners(self) -> list[str] | None:
        """The listeners that open before the ACLs are loaded. None: those of controllers."""
        if self.values["early.start.listeners"] is None:
            return None
        return [name.upper() for name in self.items("early.start.listeners")]

    @property
    def super_users(self) -> list[str]:
        """The principals that may do everything. They are separated by semicolons."""
        parts = (self.text("super.users") or "").split(";")
        return [part.strip() for part in parts if part.strip()]

    def _protocols(self) -> dict[str, str]:
        """The security protocol of each listener name."""
        protocols = {name: name for name in SECURITY_PROTOCOLS}
        protocols.update(
            {name: "PLAINTEXT" for name in self.controller_listener_names if name not in protocols}
        )
        for item in self.items("listener.security.protocol.map"):
            name, _, protocol = item.partition(":")
            protocols[name.strip().upper()] = protocol.strip().upper()
        return protocols

    def _advertised(self, protocols: dict[str, str], hostname: Callable[[], str]) -> list[Listener]:
        """The addresses for clients. A listener on all addresses is advertised with the host's name."""
        given = self.items("advertised.listeners")
        if given:
            return parse_listeners(given, protocols, "advertised.listeners")
        return [
            one._replace(host=hostname()) if one.host in ANY_ADDRESS else one for one in self.client_listeners
        ]

    @classmethod
    def parse(
        cls, text: str, source: str, hostname: Callable[[], str], overrides: Sequence[str] = ()
    ) -> "tuple[NodeConfig, list[str]]":
        """Parses a properties text. Returns the settings and warnings. Raises ConfigFileError with all
        errors.

        `overrides` are assignments from the command line that replace lines of the text.
        """
        settings = _Settings(source)
        settings.add(text, lambda line: f"{source} line {line}")
        for override in overrides:
            settings.add(override, lambda _line: "--override")
        settings.check()
        if not settings.problems:
            try:
                config = cls(settings.texts, settings.values, hostname, settings.prefixed)
                settings.warn_of_unused_sasl(config)
                settings.warn_of_late_controllers(config)
                for name, problem in contradictions(config):
                    settings.problem(name, problem)
            except ConfigError as error:
                settings.refuse(error)
        if settings.problems:
            raise ConfigFileError("\n".join(settings.problems))
        return config, settings.warnings


class _Settings:
    """Settings while they are parsed: their places, and the errors so far."""

    def __init__(self, source: str) -> None:
        self.source = source
        # If a name occurs twice, the last line counts, as in Java.
        self.found: dict[str, str] = {}
        self.places: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        # Settings of single listeners or mechanisms, by their full names.
        self.prefixed: dict[str, str] = {}
        self.values: dict[str, ConfigValue] = {name: key.default for name, key in BROKER_CONFIGS.items()}
        self.problems: list[str] = []
        self.warnings: list[str] = []

    def add(self, text: str, place: Callable[[int], str]) -> None:
        try:
            properties = parse_properties(text)
        except ValueError as error:
            raise ConfigFileError(f"{self.source}: {error}") from None
        for name, value, line in properties:
            self.found[name] = value
            self.places[name] = place(line)

    def check(self) -> None:
        """Checks each setting by itself."""
        for name, value in self.found.items():
            self._check_one(name, value)
        self.problems += [
            f"{self.source}: {name} is missing; allowed: {BROKER_CONFIGS[name].allowed}"
            for name in REQUIRED
            if name not in self.found
        ]

    def _check_one(self, name: str, value: str) -> None:
        key = broker_config_key(name)
        missing = missing_security(name, value)
        if missing is not None:
            self.problem(
                name,
                f"{name}: this release has no {missing} yet, and a node without it lets everybody in. "
                "Remove the line only if that is what you want.",
            )
        elif key is None and is_sasl_setting(name):
            self._check_prefixed(name, value)
        elif key is None and not is_harmless_security(name, value):
            self.warnings.append(f"{self.places[name]}: unknown name {name}, ignored")
        elif key is not None:
            self.texts[name] = value
            try:
                self.values[name] = parse_value(key, value)
            except ConfigError as error:
                error.name = name
                self.refuse(error)

    def _check_prefixed(self, name: str, value: str) -> None:
        """Checks a setting of one listener, or of one mechanism."""
        self.prefixed[name] = value
        try:
            parse_value(BROKER_CONFIGS[_without_prefixes(name)], value)
        except ConfigError as error:
            self.refuse(ConfigError(name, error.value, error.why, error.allowed))

    def warn_of_unused_sasl(self, config: "NodeConfig") -> None:
        """Warns about settings of SASL if nothing on this node uses it."""
        names = (*config.listeners, *config.advertised)
        if config.controllers_use_sasl or any(one.protocol in SASL_PROTOCOLS for one in names):
            return
        self.warnings += [
            f"{self.places[name]}: {name} has no effect, because no listener uses SASL"
            for name in self.found
            if is_sasl_setting(name) and _without_prefixes(name).startswith("sasl.")
        ]

    def warn_of_late_controllers(self, config: "NodeConfig") -> None:
        """Warns if a controller is to wait for the ACLs, which it loads from other controllers."""
        early = config.early_start_listeners
        late = [
            one.name for one in config.controller_listeners if early is not None and one.name not in early
        ]
        if late:
            name = "early.start.listeners"
            self.warnings.append(
                f"{self.places[name]}: {name} does not have {', '.join(late)}, which opens early all the "
                "same, because controllers load the ACLs from each other"
            )

    def problem(self, name: str, text: str) -> None:
        """Adds an error about a setting, or about a missing one."""
        self.problems.append(f"{self.places.get(name, self.source)}: {text}")

    def refuse(self, error: ConfigError) -> None:
        """Adds an error about a wrong value. Kafka's message often says already what is allowed."""
        bare = error.allowed.removeprefix("one of ").removeprefix("a list of ").removesuffix(" (in any case)")
        allowed = "" if bare in error.why else f"; allowed: {error.allowed}"
        number = advice(error.name, error.value or "").rstrip(".")
        meant = f";{number}" if number else ""
        self.problem(error.name, f"{error.name}={error.value}: {error.why}{allowed}{meant}")


def is_harmless_security(name: str, value: str) -> bool:
    """Returns True if a security setting asks for what this release does anyway."""
    return (_without_prefixes(name), value.strip().lower()) in HARMLESS_SECURITY


def _without_prefixes(name: str) -> str:
    """The setting in `listener.name.<listener>.<mechanism>.<setting>`. Both prefixes may be missing."""
    own_name = without_listener(name)
    mechanism, _, rest = own_name.partition(".")
    return rest if mechanism in _MECHANISM_PREFIXES else own_name


def is_sasl_setting(name: str) -> bool:
    """Returns True if a setting of a listener or a mechanism is about SASL, and this release has it."""
    own_name = _without_prefixes(name)
    return own_name in BROKER_CONFIGS and (own_name.startswith("sasl.") or own_name in _OF_MECHANISMS)


def missing_security(name: str, value: str) -> str | None:
    """The feature that a setting needs, if this release does not have it, otherwise None."""
    if not value.strip() or is_harmless_security(name, value) or is_sasl_setting(name):
        return None
    own_name = _without_prefixes(name)
    if own_name in MISSING_SECURITY:
        return MISSING_SECURITY[own_name]
    return MISSING_SECURITY.get(own_name.partition(".")[0] + ".")


def contradictions(config: NodeConfig) -> Iterator[tuple[str, str]]:
    """Contradictions between settings: the setting to change, and why."""
    if config.number("broker.id") not in (-1, config.node_id):
        yield "broker.id", f"broker.id and node.id differ; remove broker.id (node.id={config.node_id})"
    yield from _wrong_quorum(config)
    inter_broker = config.text("inter.broker.listener.name")
    if config.is_broker and inter_broker and config.inter_broker_listener is None:
        yield (
            "inter.broker.listener.name",
            f"inter.broker.listener.name: {inter_broker} is not among the listeners",
        )
    used = sorted({one.protocol for one in config.client_listeners})
    served = bool(used) and set(used) <= set(SERVED_PROTOCOLS)
    if config.is_broker and served and not inter_broker and config.inter_broker_listener is None:
        yield (
            "security.inter.broker.protocol",
            (
                "security.inter.broker.protocol: no listener is for connections between brokers; allowed: "
                f"{', '.join(used)}, or set inter.broker.listener.name"
            ),
        )
    yield from _wrong_rights(config)
    yield from _wrong_early_start(config)
    for problem in _wrong_listeners(config):
        yield "listeners", f"listeners: {problem}"
    yield from _wrong_sasl(config)
    for one in config.advertised:
        if one.host in ANY_ADDRESS:
            yield (
                "advertised.listeners",
                f"advertised.listeners: {one.name} has no host that a client could connect to; name one",
            )


def _wrong_sasl(config: NodeConfig) -> Iterator[tuple[str, str]]:
    checks: list[Callable[[], object]] = [partial(config.sasl_listener, one) for one in config.listeners]
    checks.append(lambda: config.login_to_controllers)
    if config.is_broker:
        checks.append(lambda: config.login_to_brokers)
    for error in sasl_problems(checks):
        yield error.name, str(error)


def _wrong_early_start(config: NodeConfig) -> Iterator[tuple[str, str]]:
    known = [one.name for one in config.listeners]
    known += [one for one in config.controller_listener_names if one not in known]
    for name in config.early_start_listeners or ():
        if name not in known:
            allowed = ", ".join(known)
            problem = f"{name} is not in listeners or controller.listener.names; allowed: {allowed}"
            yield "early.start.listeners", f"early.start.listeners: {problem}"


def _wrong_rights(config: NodeConfig) -> Iterator[tuple[str, str]]:
    name = (config.text("authorizer.class.name") or "").strip()
    if name and name != STANDARD_AUTHORIZER:
        yield (
            "authorizer.class.name",
            f"authorizer.class.name: there is no {name} here; the only authorizer is {STANDARD_AUTHORIZER}",
        )
    for user in config.super_users:
        if ":" not in user:
            yield (
                "super.users",
                f"super.users: {user} has no type; write User:{user}, and separate principals by semicolons",
            )


def _wrong_quorum(config: NodeConfig) -> Iterator[tuple[str, str]]:
    voters = "controller.quorum.voters"
    is_named = config.node_id in [voter.node_id for voter in config.voters]
    if config.is_controller and config.voters and not is_named:
        yield voters, f"{voters} does not name this node (node.id={config.node_id})"
    if not config.is_controller and is_named:
        yield (
            voters,
            f"{voters} names this node, which is not a controller (process.roles={','.join(config.roles)})",
        )
    if not config.is_controller and not config.voters and not config.quorum_servers:
        yield voters, f"{voters} is missing: a broker must know where the controllers are"
    for name in config.controller_listener_names:
        is_listener = name in [one.name for one in config.listeners]
        if config.is_controller and config.voters and not is_listener:
            yield (
                "controller.listener.names",
                f"controller.listener.names: {name} is not among the listeners",
            )
        if not config.is_controller and is_listener:
            yield (
                "listeners",
                f"listeners: {name} is a listener of controllers, but this node is not a controller",
            )


def _wrong_listeners(config: NodeConfig) -> Iterator[str]:
    if config.is_broker and not config.client_listeners:
        yield "there is none for clients; add one, for example PLAINTEXT://localhost:9092"
    if not config.is_broker and config.client_listeners:
        misplaced = ", ".join(one.name for one in config.client_listeners)
        yield f"{misplaced} is for clients, but this node is not a broker; see controller.listener.names"
    for one in config.listeners:
        if one.protocol not in SERVED_PROTOCOLS:
            supported = ", ".join(SERVED_PROTOCOLS)
            yield f"{one.name} uses {one.protocol}, which this release cannot use; supported: {supported}"
    names = [one.name for one in config.listeners]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{name} occurs twice"


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


def parse_metrics_listener(text: str | None) -> Listener | None:
    if not text:
        return None
    scheme, separator, address = text.partition("://")
    host, colon, port = address.removesuffix("/").rpartition(":")
    if scheme.lower() != "http" or not separator or not colon or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(METRICS_LISTENER, text, "not of the form http://host:port", "http://localhost:9308")
    return Listener("METRICS", host.strip("[]"), int(port), "HTTP")


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


def parse_servers(items: list[str]) -> list[tuple[str, int]]:
    servers = []
    for item in items:
        host, colon, port = item.rpartition(":")
        if not colon or not host or not port.isdigit():
            raise ConfigError(
                "controller.quorum.bootstrap.servers", item, "not of the form host:port", "localhost:9093"
            )
        servers.append((host.strip("[]"), int(port)))
    return servers
