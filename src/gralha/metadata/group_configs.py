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
    The shortest time between two assignments of one share group.
share.heartbeat.interval.ms: int = 5000; at least 1; from group.share.heartbeat.interval.ms
    How often a member of a share group sends a heartbeat.
share.session.timeout.ms: int = 45000; at least 1; from group.share.session.timeout.ms
    The coordinator removes a member that sends no heartbeat for this long from its share group.
streams.assignment.interval.ms: int = 1000; at least 0; from group.streams.assignment.interval.ms
    The shortest time between two assignments of one streams group.
streams.heartbeat.interval.ms: int = 5000; at least 1; from group.streams.heartbeat.interval.ms
    How often a member of a streams group sends a heartbeat.
streams.session.timeout.ms: int = 45000; at least 1; from group.streams.session.timeout.ms
    The coordinator removes a member that sends no heartbeat for this long from its streams group.
share.auto.offset.reset: string = latest; offset reset
    Where a share group begins on a partition that it has not read yet.
share.delivery.count.limit: int = 5; at least 2; from group.share.delivery.count.limit
    How often a share group delivers one record before it gives up on it.
share.isolation.level: string = read_uncommitted; one of read_committed, read_uncommitted
    Whether a share group sees records of transactions that have not ended.
share.partition.max.record.locks: int = 2000; at least 100; from group.share.partition.max.record.locks
    How many records of one partition a share group may hold at the same time.
share.record.lock.duration.ms: int = 30000; at least 1000; from group.share.record.lock.duration.ms
    How long a member of a share group may hold a record before another member gets it.
share.renew.acknowledge.enable: boolean = true
    Whether members of a share group may prolong their hold on a record.
streams.initial.rebalance.delay.ms: int = 3000; at least 0; from group.streams.initial.rebalance.delay.ms
    How long a new streams group waits for more members before its first assignment.
streams.num.standby.replicas: int = 0; at least 0; from group.streams.num.standby.replicas
    How many spare copies of each task's state a streams group keeps.
"""

GROUP_CONFIGS: Final[dict[str, ConfigKey]] = read_keys(_KEYS)
