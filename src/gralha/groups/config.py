"""The settings of the group coordinator, under Kafka's names with underscores."""

from dataclasses import dataclass, field
from enum import Enum


class MigrationPolicy(Enum):
    """How a group with members may change its protocol (group.consumer.migration.policy)."""

    DISABLED = "disabled"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def allows_upgrade(self) -> bool:
        """Whether a classic group may become a consumer group."""
        return self in (MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL)

    @property
    def allows_downgrade(self) -> bool:
        """Whether a consumer group may become a classic group."""
        return self in (MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL)


@dataclass(frozen=True)
class ConsumerGroupTimes:
    """Settings that a consumer group may have of its own (config resource GROUP)."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000


@dataclass(frozen=True)
class GroupsConfig:
    """All settings of the state machines. The defaults are Kafka's."""

    # classic groups
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = (1 << 31) - 1
    new_member_join_timeout_ms: int = 5 * 60 * 1000
    # consumer groups
    consumer_protocol_enabled: bool = True
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_max_size: int = (1 << 31) - 1
    consumer_migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    consumer_regex_refresh_interval_ms: int = 600_000
    consumer_times: ConsumerGroupTimes = field(default_factory=ConsumerGroupTimes)
    # offsets
    offset_metadata_max_bytes: int = 4096
    offsets_retention_ms: int = 7 * 24 * 60 * 60 * 1000
    offsets_retention_check_interval_ms: int = 600_000
    offsets_commit_timeout_ms: int = 5_000
