"""The broker configs about consumer groups, offsets, producers and transactions; see `broker_configs`."""

from typing import Final

_OFFSETS: Final = """
offset.metadata.max.bytes: int = 4096; high
    The most bytes of metadata that a consumer may commit with an offset.
offsets.commit.timeout.ms: int = 5000; at least 1; high
    How long a commit of offsets waits for its replicas.
offsets.load.buffer.size: int = 5242880; at least 1; high
    Accepted without effect: a coordinator reads 1 MiB of __consumer_offsets at a time when it loads.
offsets.retention.check.interval.ms: long = 600000; at least 1; high
    How often the coordinator looks for expired offsets.
offsets.retention.minutes: int = 10080; at least 1; high
    How long a group without members keeps its offsets.
offsets.topic.compression.codec: int = 0; 0 to 4; high
    Accepted without effect: the records of __consumer_offsets are not compressed.
offsets.topic.num.partitions: int = 50; at least 1; high
    The number of partitions of __consumer_offsets. Do not change it once the topic exists.
offsets.topic.replication.factor: short = 3; at least 1; high
    The number of replicas of __consumer_offsets. The topic is created when that many brokers are running, so
    a single broker needs 1 here.
offsets.topic.segment.bytes: int = 104857600; at least 1; high
    The size of a segment of __consumer_offsets. Small segments compact and load sooner.
"""

_CLASSIC_GROUPS: Final = """
group.initial.rebalance.delay.ms: int = 3000
    How long a new group waits for more members before its first rebalance.
group.max.session.timeout.ms: int = 1800000
    The longest session timeout a member may ask for.
group.min.session.timeout.ms: int = 6000
    The shortest session timeout a member may ask for.
group.max.size: int = max; at least 1
    How many members a group may have.
group.coordinator.rebalance.protocols: list = classic,consumer; some of consumer, classic, share, streams
    The group protocols that the broker serves.
group.coordinator.append.linger.ms: int = -1; at least -1
    Accepted without effect: the coordinator writes at once.
group.coordinator.cached.buffer.max.bytes: int = 1048588; at least 524288; cluster-wide
    Accepted without effect: the coordinator keeps no buffers between its writes.
group.coordinator.threads: int = 4; at least 1; high
    Accepted without effect: the event loop coordinates groups.
group.coordinator.background.threads: int = 2; at least 1; high
    Accepted without effect: the event loop coordinates groups.
"""

_CONSUMER_GROUPS: Final = """
group.consumer.assignors: list = uniform,range; some of uniform, range
    The assignors of consumer groups (KIP-848); the first is the default.
group.consumer.session.timeout.ms: int = 45000; at least 1
    The coordinator removes a member that sends no heartbeat for this long from its consumer group.
group.consumer.min.session.timeout.ms: int = 45000; at least 1
    The smallest value that a group may set as consumer.session.timeout.ms.
group.consumer.max.session.timeout.ms: int = 60000; at least 1
    The largest value that a group may set as consumer.session.timeout.ms.
group.consumer.heartbeat.interval.ms: int = 5000; at least 1
    How often members of a consumer group send heartbeats.
group.consumer.min.heartbeat.interval.ms: int = 5000; at least 1
    The smallest value that a group may set as consumer.heartbeat.interval.ms.
group.consumer.max.heartbeat.interval.ms: int = 15000; at least 1
    The largest value that a group may set as consumer.heartbeat.interval.ms.
group.consumer.assignment.interval.ms: int = 1000; at least 0; cluster-wide
    The shortest time between two assignments of one consumer group, unless the group has its own.
group.consumer.min.assignment.interval.ms: int = 0; at least 0
    The smallest value that a group may set as consumer.assignment.interval.ms.
group.consumer.max.assignment.interval.ms: int = 15000; at least 0
    The largest value that a group may set as consumer.assignment.interval.ms.
group.consumer.max.size: int = max; at least 1
    How many members a consumer group may have.
group.consumer.migration.policy: string = bidirectional;
  one of any case DISABLED, DOWNGRADE, UPGRADE, BIDIRECTIONAL
    The direction in which a group with members may change between the classic and the consumer protocol.
group.consumer.regex.refresh.interval.ms: int = 600000; at least 10000
    How often the coordinator matches regular expressions with the topics again.
"""

_TRANSACTIONS: Final = """
producer.id.expiration.ms: int = 86400000; at least 1; low; cluster-wide
    A partition forgets an idempotent producer that has not written for this long.
producer.id.expiration.check.interval.ms: int = 600000; at least 1; low
    Accepted without effect: partitions look for idempotent producers to forget every ten minutes.
transaction.max.timeout.ms: int = 900000; at least 1; high
    The longest timeout that a producer may ask for its transactions.
transactional.id.expiration.ms: int = 604800000; at least 1; high
    A transactional id that has not been used for this long is forgotten.
transaction.state.log.num.partitions: int = 50; at least 1; high
    The number of partitions of __transaction_state. Do not change it once the topic exists.
transaction.state.log.replication.factor: short = 3; at least 1; high
    The number of replicas of __transaction_state. A single broker needs 1 here.
transaction.state.log.min.isr: int = 2; at least 1; high
    The min.insync.replicas of __transaction_state. A single broker needs 1 here.
transaction.state.log.segment.bytes: int = 104857600; at least 1; high
    The size of a segment of __transaction_state.
transaction.state.log.load.buffer.size: int = 5242880; at least 1; high
    Accepted without effect: the topic is read in chunks of 1 MiB.
transaction.abort.timed.out.transaction.cleanup.interval.ms: int = 10000; at least 1; low
    Accepted without effect: a transaction is aborted at the moment its timeout is over.
transaction.remove.expired.transaction.cleanup.interval.ms: int = 3600000; at least 1; low
    How often the coordinator looks for transactional ids to forget.
transaction.partition.verification.enable: boolean = true; low; cluster-wide
    Whether the leader of a partition asks the transaction's coordinator before it takes the first records
    of a transaction (version 1). Set it in the file: a dynamic value has no effect yet.
transaction.two.phase.commit.enable: boolean = false; low
    Whether producers may have transactions without a timeout, and may keep an open transaction of an earlier
    producer (KIP-939). Only with this, the broker offers InitProducerId version 6.
add.partitions.to.txn.retry.backoff.ms: int = 20; at least 1; high
    Accepted without effect: the first pause is 1 ms, and each one is twice as long as the one before.
add.partitions.to.txn.retry.backoff.max.ms: int = 100; at least 0; high
    How long a leader asks again while the last transaction of a producer is being completed.
"""

COORDINATOR_SECTIONS: Final = {
    "Offsets of consumer groups": _OFFSETS,
    "Groups": _CLASSIC_GROUPS,
    "Groups of the consumer protocol (KIP-848)": _CONSUMER_GROUPS,
    "Producers and transactions": _TRANSACTIONS,
}
