"""The settings of a client of the bulk lane, with the names that Kafka clients use.

`ClientSettings.from_kafka` takes names and values as text, as in a properties file or after `kafka.` in a
Spark option. A wrong value raises a SettingsError that says what is allowed. Names that Kafka's clients know
but the bulk lane does not use are accepted silently, because people reuse whole files. Unknown names are
listed in `unknown`, for a warning.

Some defaults are larger than Kafka's (`batch.size`, `max.partition.fetch.bytes`), because a bulk job needs
throughput. `linger.ms` has no effect.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from gralha.client.errors import SettingsError
from gralha.client.known_settings import KNOWN_SETTINGS
from gralha.client.security import LIBRDKAFKA_NAMES, PLAINTEXT, ClientSecurity
from gralha.protocol.compression import NAMES as COMPRESSIONS

READ_UNCOMMITTED: Final = "read_uncommitted"
READ_COMMITTED: Final = "read_committed"
ACKS: Final = {"all": -1, "-1": -1, "1": 1, "0": 0}
_INT32_MAX: Final = 2**31 - 1
_LEVEL_NAMES: Final = {
    "compression.gzip.level": "gzip",
    "compression.lz4.level": "lz4",
    "compression.zstd.level": "zstd",
}


@dataclass(frozen=True)
class ClientSettings:
    """How to connect to a cluster, to read from it and to write to it."""

    bootstrap_servers: str
    client_id: str = "gralha"
    request_timeout_ms: int = 30_000
    connect_timeout_ms: int = 10_000
    default_api_timeout_ms: int = 60_000
    security: ClientSecurity = PLAINTEXT
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    # Reading
    isolation_level: str = READ_UNCOMMITTED
    fetch_max_bytes: int = 50 * 1024 * 1024
    max_partition_fetch_bytes: int = 8 * 1024 * 1024
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    check_crcs: bool = True
    # Writing
    acks: int = -1
    compression_type: str = "none"
    compression_level: int | None = None
    batch_size: int = 512 * 1024
    max_request_size: int = 1024 * 1024
    buffer_memory: int = 32 * 1024 * 1024
    delivery_timeout_ms: int = 120_000
    enable_idempotence: bool = True
    max_in_flight_requests: int = 5
    # Names that no Kafka client knows, as given.
    unknown: tuple[str, ...] = ()

    @property
    def is_read_committed(self) -> bool:
        return self.isolation_level == READ_COMMITTED

    def hurried(self, timeout_ms: int) -> "ClientSettings":
        """The same settings, with timeouts of at most this long for connections and answers."""
        return replace(
            self,
            connect_timeout_ms=min(self.connect_timeout_ms, timeout_ms),
            request_timeout_ms=min(self.request_timeout_ms, timeout_ms),
        )

    @staticmethod
    def from_kafka(options: Mapping[str, str]) -> "ClientSettings":
        """Settings from Kafka's names. Raises SettingsError if a value is wrong."""
        return _Parser(options).settings()


class _Parser:
    """Takes the settings from the options, one after another."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.strip(): str(value).strip() for name, value in options.items()}

    def settings(self) -> ClientSettings:
        defaults = ClientSettings
        acks = self._acks()
        in_flight = self._integer("max.in.flight.requests.per.connection", 5, 1)
        codec = self._choice("compression.type", COMPRESSIONS, "none")
        return ClientSettings(
            bootstrap_servers=self._bootstrap_servers(),
            security=ClientSecurity.from_kafka(self._options),
            client_id=self._options.get("client.id") or defaults.client_id,
            request_timeout_ms=self._integer("request.timeout.ms", defaults.request_timeout_ms, 1),
            connect_timeout_ms=self._integer(
                "socket.connection.setup.timeout.ms", defaults.connect_timeout_ms, 1
            ),
            default_api_timeout_ms=self._integer(
                "default.api.timeout.ms", defaults.default_api_timeout_ms, 1
            ),
            retry_backoff_ms=self._integer("retry.backoff.ms", defaults.retry_backoff_ms, 0),
            retry_backoff_max_ms=self._integer("retry.backoff.max.ms", defaults.retry_backoff_max_ms, 0),
            isolation_level=self._choice(
                "isolation.level", (READ_UNCOMMITTED, READ_COMMITTED), READ_UNCOMMITTED
            ),
            fetch_max_bytes=self._integer("fetch.max.bytes", defaults.fetch_max_bytes, 1),
            max_partition_fetch_bytes=self._integer(
                "max.partition.fetch.bytes", defaults.max_partition_fetch_bytes, 1
            ),
            fetch_min_bytes=self._integer("fetch.min.bytes", defaults.fetch_min_bytes, 0),
            fetch_max_wait_ms=self._integer("fetch.max.wait.ms", defaults.fetch_max_wait_ms, 0),
            check_crcs=self._boolean("check.crcs", True),
            acks=acks,
            compression_type=codec,
            compression_level=self._compression_level(codec),
            batch_size=self._integer("batch.size", defaults.batch_size, 0),
            max_request_size=self._integer("max.request.size", defaults.max_request_size, 1),
            buffer_memory=self._integer("buffer.memory", defaults.buffer_memory, 1, 2**63 - 1),
            delivery_timeout_ms=self._integer("delivery.timeout.ms", defaults.delivery_timeout_ms, 1),
            enable_idempotence=self._idempotence(acks, in_flight),
            max_in_flight_requests=in_flight,
            unknown=tuple(sorted(self._options.keys() - KNOWN_SETTINGS - LIBRDKAFKA_NAMES)),
        )

    def _bootstrap_servers(self) -> str:
        servers = self._options.get("bootstrap.servers", "")
        if not servers:
            raise SettingsError(
                "bootstrap.servers is missing: give the address of the cluster, for example localhost:9092"
            )
        return servers

    def _acks(self) -> int:
        text = self._options.get("acks", "all").lower()
        if text not in ACKS:
            raise self._wrong("acks", "use all (or -1), 1 or 0")
        return ACKS[text]

    def _idempotence(self, acks: int, in_flight: int) -> bool:
        """On unless another setting excludes it. Both together are an error, as in Kafka."""
        is_possible = acks == -1 and in_flight <= 5
        wanted = self._boolean("enable.idempotence", is_possible)
        if wanted and acks != -1:
            raise SettingsError(
                f"enable.idempotence=true needs acks=all, not acks={acks}: change one of the two."
            )
        if wanted and in_flight > 5:
            raise SettingsError(
                "enable.idempotence=true allows 5 requests in flight at most, "
                f"not max.in.flight.requests.per.connection={in_flight}: change one of the two."
            )
        return wanted

    def _compression_level(self, codec: str) -> int | None:
        for name, of_codec in _LEVEL_NAMES.items():
            if of_codec == codec and name in self._options:
                return self._integer(name, 0, -_INT32_MAX)
        return None

    def _integer(self, name: str, default: int, lowest: int, highest: int = _INT32_MAX) -> int:
        text = self._options.get(name)
        if text is None:
            return default
        try:
            value = int(text)
        except ValueError:
            raise self._wrong(name, "it must be a whole number") from None
        if not lowest <= value <= highest:
            raise self._wrong(name, f"it must be from {lowest} to {highest}")
        return value

    def _boolean(self, name: str, default: bool) -> bool:
        text = self._options.get(name)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise self._wrong(name, "use true or false")
        return text.lower() == "true"

    def _choice(self, name: str, allowed: tuple[str, ...], default: str) -> str:
        text = self._options.get(name, default).lower()
        if text not in allowed:
            raise self._wrong(name, f"use {', '.join(allowed[:-1])} or {allowed[-1]}")
        return text

    def _wrong(self, name: str, allowed: str) -> SettingsError:
        return SettingsError(f"{name}={self._options[name]} is not allowed: {allowed}.")
