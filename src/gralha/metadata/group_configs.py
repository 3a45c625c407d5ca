"""The configs of a group resource (`kafka-configs --entity-type groups`), as in Apache Kafka 4.3."""

from typing import Final

from gralha.metadata.config_notation import read_keys
from gralha.metadata.config_types import ConfigKey

_KEYS: Final = """
consumer.assignment.interval.ms: int = 1000; at least 0; from group.consumer.assignment.interval.ms
    The shortest time between two assignments of one consumer group.
consumer.heartbeat.interval.ms: int = 5000; at least 1; from group.consumer.heartbeat.interval.ms
    How often a member of a consumer group sends a heartbeat.
consumer.session.timeout.ms: int = 45000; at least 1; from group.consumer.session.timeout.ms
    The coordinator removes a member that sends no heartbeat for this long from its consumer group.
share.assignment.interval.ms: int = 1000; at least 0; from group.share.assignment.interval.ms
    Accepted without effect: there are no share groups yet.
share.heartbeat.interval.ms: int = 5000; at least 1; from group.share.heartbeat.interval.ms
    Accepted without effect: there are no share groups yet.
share.session.timeout.ms: int = 45000; at least 1; from group.share.session.timeout.ms
    Accepted without effect: there are no share groups yet.
streams.assignment.interval.ms: int = 1000; at least 0; from group.streams.assignment.interval.ms
    Accepted without effect: there are no streams groups yet.
streams.heartbeat.interval.ms: int = 5000; at least 1; from group.streams.heartbeat.interval.ms
    Accepted without effect: there are no streams groups yet.
streams.session.timeout.ms: int = 45000; at least 1; from group.streams.session.timeout.ms
    Accepted without effect: there are no streams groups yet.
share.auto.offset.reset: string = latest; offset reset
    Accepted without effect: there are no share groups yet.
share.delivery.count.limit: int = 5; at least 2; from group.share.delivery.count.limit
    Accepted without effect: there are no share groups yet.
share.isolation.level: string = read_uncommitted; one of read_committed, read_uncommitted
    Accepted without effect: there are no share groups yet.
share.partition.max.record.locks: int = 2000; at least 100; from group.share.partition.max.record.locks
    Accepted without effect: there are no share groups yet.
share.record.lock.duration.ms: int = 30000; at least 1000; from group.share.record.lock.duration.ms
    Accepted without effect: there are no share groups yet.
share.renew.acknowledge.enable: boolean = true
    Accepted without effect: there are no share groups yet.
streams.initial.rebalance.delay.ms: int = 3000; at least 0; from group.streams.initial.rebalance.delay.ms
    Accepted without effect: there are no streams groups yet.
streams.num.standby.replicas: int = 0; at least 0; from group.streams.num.standby.replicas
    Accepted without effect: there are no streams groups yet.
"""

GROUP_CONFIGS: Final[dict[str, ConfigKey]] = read_keys(_KEYS)
