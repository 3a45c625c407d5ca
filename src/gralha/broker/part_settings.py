"""The settings of a node's parts, taken from its configuration."""

import os.path
from collections.abc import Callable, Iterable, Sequence

from gralha.broker.config import NodeConfig
from gralha.broker.connection import ConnectionLimits
from gralha.broker.lifecycle import LifecycleTimes
from gralha.broker.throttling import ClientThrottle
from gralha.metadata.config_types import connection_counts
from gralha.metadata.listener_configs import MAX_CONNECTION_RATE, MAX_CONNECTIONS, listener_numbers
from gralha.raft.log import MetadataLogConfig
from gralha.raft.timeouts import Timeouts
from gralha.replication.fetch_state import FetchSettings
from gralha.storage.cleaning import CleanerSettings

Text = Callable[[str], str | None]  # of a setting, by its name


def limit_connections(limits: ConnectionLimits, throttle: ClientThrottle, text: Text) -> None:
    """Gives a broker the limits of all its connections, and of new ones. They may change while it runs."""
    limits.max_connections = int(text(MAX_CONNECTIONS) or 0)
    limits.max_connections_per_ip = int(text("max.connections.per.ip") or 0)
    limits.overrides = connection_counts(text("max.connections.per.ip.overrides") or "")
    throttle.max_connection_rate = int(text(MAX_CONNECTION_RATE) or 0)


def limit_listeners(
    config: NodeConfig, limits: Iterable[ConnectionLimits], throttle: ClientThrottle, text: Text
) -> None:
    """Gives a node the limits of single listeners."""
    names = [listener.name for listener in config.listeners]
    for one in limits:
        one.of_listeners = listener_numbers(MAX_CONNECTIONS, names, text)
    throttle.listener_rates = listener_numbers(MAX_CONNECTION_RATE, names, text)


def configured_voters(config: NodeConfig) -> dict[int, tuple[str, int]] | list[int]:
    """The configured voters. Without voters and bootstrap servers, a node is a quorum of one."""
    if config.voters:
        return {one.node_id: (one.host, one.port) for one in config.voters}
    return [] if config.quorum_servers else [config.node_id]


def quorum_timeouts(config: NodeConfig) -> Timeouts:
    return Timeouts(
        config.number("controller.quorum.election.timeout.ms"),
        config.number("controller.quorum.fetch.timeout.ms"),
        config.number("controller.quorum.election.backoff.max.ms"),
        config.number("controller.quorum.request.timeout.ms"),
        config.number("controller.quorum.retry.backoff.ms"),
    )


def metadata_log_config(config: NodeConfig) -> MetadataLogConfig:
    return MetadataLogConfig(
        segment_bytes=config.number("metadata.log.segment.bytes"),
        segment_ms=config.number("metadata.log.segment.ms"),
        max_record_bytes_between_snapshots=config.number("metadata.log.max.record.bytes.between.snapshots"),
        max_snapshot_interval_ms=config.number("metadata.log.max.snapshot.interval.ms"),
        max_retention_bytes=config.number("metadata.max.retention.bytes"),
        max_retention_ms=config.number("metadata.max.retention.ms"),
    )


def lifecycle_times(config: NodeConfig) -> LifecycleTimes:
    return LifecycleTimes(
        config.number("broker.heartbeat.interval.ms"),
        config.number("broker.session.timeout.ms"),
        config.number("initial.broker.registration.timeout.ms"),
    )


def fetch_settings(config: NodeConfig) -> FetchSettings:
    return FetchSettings(
        config.number("replica.fetch.wait.max.ms"),
        config.number("replica.fetch.min.bytes"),
        config.number("replica.fetch.max.bytes"),
        config.number("replica.fetch.response.max.bytes"),
        config.number("replica.fetch.backoff.ms"),
        config.number("replica.socket.timeout.ms"),
    )


def cordoned_folders(value: str, folders: Sequence[str]) -> frozenset[str]:
    """The folders that `cordoned.log.dirs` names. `*` means all."""
    names = [name.strip() for name in value.split(",") if name.strip()]
    if "*" in names:
        return frozenset(folders)
    paths = {os.path.abspath(name) for name in names}
    return frozenset(folder for folder in folders if os.path.abspath(folder) in paths)


def cleaner_settings(config: NodeConfig, value_of: Callable[[str], str]) -> CleanerSettings:
    """`value_of` returns the value of a dynamic setting."""
    return CleanerSettings(
        enabled=config.flag("log.cleaner.enable"),
        backoff_ms=int(value_of("log.cleaner.backoff.ms")),
        dedupe_buffer_bytes=int(value_of("log.cleaner.dedupe.buffer.size")),
        io_buffer_bytes=int(value_of("log.cleaner.io.buffer.size")),
        io_max_bytes_per_second=float(value_of("log.cleaner.io.max.bytes.per.second")),
    )
