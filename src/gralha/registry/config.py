"""The settings of the registry, with Confluent's names, and some of our own.

`kafkastore.NAME` is the setting NAME of a Kafka client (`security.protocol`, `ssl.*`, `sasl.*`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from gralha.registry.values import COMPATIBILITY_LEVELS, MODES

DEFAULT_LISTENER: Final = "http://0.0.0.0:8081"
_KAFKASTORE: Final = "kafkastore."
# Settings that begin with kafkastore. and are not those of a client.
_OWN: Final = (
    *("kafkastore.bootstrap.servers", "kafkastore.topic", "kafkastore.topic.replication.factor"),
    *("kafkastore.timeout.ms", "kafkastore.group.id", "kafkastore.init.timeout.ms"),
    *("kafkastore.topic.skip.validation", "kafkastore.write.max.retries", "kafkastore.checkpoint.dir"),
    *("kafkastore.checkpoint.version", "kafkastore.connection.url", "kafkastore.init.wait.for.reader"),
)
KNOWN: Final = frozenset(
    {
        *_OWN,
        *("listeners", "host.name", "host.port", "leader.eligibility", "master.eligibility"),
        *("schema.compatibility.level", "avro.compatibility.level", "mode", "schema.registry.group.id"),
        *("kafkagroup.session.timeout.ms", "kafkagroup.heartbeat.interval.ms"),
        *("kafkagroup.rebalance.timeout.ms", "authentication.method", "authentication.users.file"),
        *("authorization.rights.file", "oauthbearer.jwks.endpoint.url", "oauthbearer.expected.issuer"),
        *("oauthbearer.expected.audience", "oauthbearer.sub.claim.name"),
        *("ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.type", "ssl.key.password"),
        *("ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type"),
        *("size.limit.filter.max.request.body.size", "request.body.timeout.ms", "request.timeout.ms"),
    }
)


class ConfigError(Exception):
    """A setting that is wrong, explained to a person."""


class Listener(NamedTuple):
    """Where clients reach the registry."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True)
class RegistryConfig:
    """All settings."""

    client: Mapping[str, str]
    listeners: tuple[Listener, ...]
    topic: str = "_schemas"
    replication_factor: int = 3
    store_timeout_ms: int = 5_000
    group_id: str = "schema-registry"
    host_name: str = "localhost"
    host_port: int | None = None
    is_eligible: bool = True
    compatibility: str = "BACKWARD"
    mode: str = "READWRITE"
    session_timeout_ms: int = 10_000
    heartbeat_ms: int = 3_000
    rebalance_timeout_ms: int = 300_000
    authentication: str = "NONE"
    users_file: str | None = None
    rights_file: str | None = None
    oauthbearer: Mapping[str, str] = field(default_factory=dict)
    tls: Mapping[str, str] = field(default_factory=dict)
    max_body_bytes: int = 10 << 20
    body_timeout_ms: int = 30_000

    @property
    def identity_listener(self) -> Listener:
        """Where other instances reach this one."""
        return self.listeners[0]


def parse_config(properties: Mapping[str, str], host_name: str = "localhost") -> RegistryConfig:
    """The settings of a file. Raises ConfigError."""
    read = _Reader(properties)
    bootstrap = read.text("kafkastore.bootstrap.servers", "")
    if not bootstrap:
        raise ConfigError("kafkastore.bootstrap.servers is missing: give the address of the Kafka cluster")
    client = {
        name.removeprefix(_KAFKASTORE): value
        for name, value in properties.items()
        if name.startswith(_KAFKASTORE) and name not in _OWN
    }
    # Confluent's names may say which protocol a server has: PLAINTEXT://localhost:9092.
    servers = [part.strip().rpartition("://")[2] for part in bootstrap.split(",")]
    client["bootstrap.servers"] = ",".join(servers)
    return RegistryConfig(
        client=client,
        listeners=_listeners(read.text("listeners", DEFAULT_LISTENER)),
        topic=read.text("kafkastore.topic", "_schemas"),
        replication_factor=read.number("kafkastore.topic.replication.factor", 3, 1),
        store_timeout_ms=read.number("kafkastore.timeout.ms", 5_000, 1),
        group_id=read.text("schema.registry.group.id", "schema-registry"),
        host_name=read.text("host.name", host_name),
        host_port=read.number("host.port", 0, 0) or None,
        is_eligible=read.flag("leader.eligibility", read.flag("master.eligibility", True)),
        compatibility=read.choice(
            "schema.compatibility.level",
            read.text("avro.compatibility.level", "backward").upper(),
            COMPATIBILITY_LEVELS,
        ),
        mode=read.choice("mode", "READWRITE", MODES),
        session_timeout_ms=read.number("kafkagroup.session.timeout.ms", 10_000, 1),
        heartbeat_ms=read.number("kafkagroup.heartbeat.interval.ms", 3_000, 1),
        rebalance_timeout_ms=read.number("kafkagroup.rebalance.timeout.ms", 300_000, 1),
        authentication=read.choice("authentication.method", "NONE", ("NONE", "BASIC", "BEARER")),
        users_file=read.optional("authentication.users.file"),
        rights_file=read.optional("authorization.rights.file"),
        oauthbearer=read.with_prefix("oauthbearer."),
        tls=read.with_prefix("ssl."),
        max_body_bytes=read.number("size.limit.filter.max.request.body.size", 10 << 20, 1),
        body_timeout_ms=read.number("request.body.timeout.ms", 30_000, 1),
    )


def _listeners(text: str) -> tuple[Listener, ...]:
    listeners = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            url = urlsplit(part)
            port = url.port
        except ValueError:
            raise ConfigError(f"listeners={text}: {part} has no port that is a number") from None
        if url.scheme not in ("http", "https") or port is None:
            raise ConfigError(f"listeners={text}: write http://HOST:PORT or https://HOST:PORT")
        listeners.append(Listener(url.scheme, url.hostname or "", port))
    if not listeners:
        raise ConfigError("listeners is empty: write http://HOST:PORT")
    return tuple(listeners)


class _Reader:
    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = properties

    def text(self, name: str, default: str) -> str:
        return self._properties.get(name, default).strip()

    def optional(self, name: str) -> str | None:
        return self._properties.get(name, "").strip() or None

    def with_prefix(self, prefix: str) -> dict[str, str]:
        return {name: value for name, value in self._properties.items() if name.startswith(prefix)}

    def number(self, name: str, default: int, lowest: int) -> int:
        text = self._properties.get(name)
        if text is None:
            return default
        try:
            number = int(text)
        except ValueError:
            raise ConfigError(f"{name} must be a number, not '{text}'") from None
        if number < lowest:
            raise ConfigError(f"{name}={text} is less than {lowest}")
        return number

    def flag(self, name: str, default: bool) -> bool:
        text = self._properties.get(name)
        if text is None:
            return default
        if text.strip().lower() not in ("true", "false"):
            raise ConfigError(f"{name}={text}: write true or false")
        return text.strip().lower() == "true"

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        value = self.text(name, default).upper()
        if value not in allowed:
            raise ConfigError(f"{name}={value}: write one of {', '.join(allowed)}")
        return value
