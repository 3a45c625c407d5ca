"""Named settings of runs: clusters and their faults."""

from dataclasses import replace
from typing import Final

from gralha.simulation.cluster import Settings

# If the clock of a broker is set back, its producers seem to be hours ahead.
ANY_CLOCK: Final = {"log.message.timestamp.after.max.ms": str(24 * 3600 * 1000)}
# Several snapshots, checkpoints and new segments within a minute.
OFTEN: Final = {
    "log.flush.offset.checkpoint.interval.ms": "3000",
    "replica.high.watermark.checkpoint.interval.ms": "2000",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "log.retention.check.interval.ms": "5000",
    **ANY_CLOCK,
}

# One node. Acknowledged records are on the device, so no fault may lose them.
FLUSHED: Final = Settings(
    faults=(
        "kill",
        "power_cut",
        "stop",
        "freeze",
        "full_disk",
        "failing_write",
        "failing_sync",
        "failing_read",
        "reset",
        "bad_network",
        "isolate",
    ),
    topic_configs={"flush.messages": "1", "segment.ms": "9000"},
    node_configs=OFTEN,
)
# One node without flushes. Killed processes lose nothing. There are no power cuts, because they would.
UNFLUSHED: Final = replace(
    FLUSHED,
    faults=("kill", "stop", "freeze", "full_disk", "failing_read", "reset", "bad_network"),
    topic_configs={"segment.ms": "9000"},
)
# One node, only power cuts.
POWER_CUTS: Final = Settings(
    seconds=30,
    fault_interval_s=2.5,
    faults=("power_cut",),
    topic_configs={"flush.messages": "1"},
    node_configs=OFTEN,
)
# The faults of nodes that replicate. One may lose unsynced records, because the others have them.
REPLICATED_FAULTS: Final = (
    "kill",
    "stop",
    "freeze",
    "partition",
    "one_way_cut",
    "isolate",
    "reset",
    "bad_network",
    "full_disk",
    "failing_write",
    "failing_read",
)
# Three nodes that replicate.
THREE: Final = Settings(
    brokers=3,
    fault_interval_s=6,
    faults=(*REPLICATED_FAULTS, "clock_jump"),
    topic_configs={"min.insync.replicas": "2", "segment.ms": "9000"},
    node_configs=OFTEN,
    pause_s=0.3,
)
# Three nodes, also with power cuts of all of them: acknowledged records are on the devices of two.
THREE_FLUSHED: Final = replace(
    THREE,
    faults=(*REPLICATED_FAULTS, "failing_sync", "power_cut", "power_cut_everywhere"),
    topic_configs={**THREE.topic_configs, "flush.messages": "1"},
)
# Three nodes under many writes, with clean shutdowns one after the other or all at once. Leaders change all
# the time, and producers send batches again that may be in the log already.
ROLLING: Final = replace(
    THREE,
    partitions=3,
    seconds=30,
    fault_interval_s=3,
    faults=("roll", "roll", "stop", "stop", "stop_everywhere", "reset", "bad_network"),
    pause_s=0.03,
)

# Three nodes with a classic group and a consumer group. Brokers and members stop and start.
GROUPS: Final = replace(
    THREE,
    partitions=4,
    producers=1,
    consumers=1,
    classic_members=3,
    consumer_members=3,
    seconds=45,
    fault_interval_s=4,
    node_configs={
        **OFTEN,
        "offsets.topic.num.partitions": "2",
        "min.insync.replicas": "2",
        "group.initial.rebalance.delay.ms": "500",
        "group.consumer.min.session.timeout.ms": "6000",
        "group.consumer.session.timeout.ms": "6000",
        "group.consumer.min.heartbeat.interval.ms": "1000",
        "group.consumer.heartbeat.interval.ms": "1000",
    },
)
# Three nodes with transactional producers, zombies among them, and consume-transform-produce. The topics of
# transactions and of offsets are compacted all the time.
TRANSACTIONS: Final = replace(
    THREE,
    partitions=3,
    producers=1,
    consumers=2,
    transactional_ids=3,
    transforms=True,
    seconds=45,
    fault_interval_s=4,
    node_configs={
        **OFTEN,
        "offsets.topic.num.partitions": "2",
        "transaction.state.log.num.partitions": "2",
        "log.roll.ms": "3000",
        "min.insync.replicas": "2",
        "log.cleaner.backoff.ms": "500",
        "log.cleaner.min.cleanable.ratio": "0.01",
    },
)
# The same, and the members of a group consume, transform and produce.
TRANSFORMING_GROUP: Final = replace(
    TRANSACTIONS,
    transactional_ids=1,
    transform_members=3,
    node_configs={**GROUPS.node_configs, **TRANSACTIONS.node_configs},
)
# A topic that is compacted all the time.
COMPACTED: Final = replace(
    THREE,
    faults=REPLICATED_FAULTS,
    keys=20,
    consumers=1,
    seconds=45,
    pause_s=0.1,
    topic_configs={
        "min.insync.replicas": "2",
        "cleanup.policy": "compact",
        "segment.ms": "2000",
        "min.cleanable.dirty.ratio": "0.01",
    },
    node_configs={**OFTEN, "log.cleaner.backoff.ms": "500", "log.retention.check.interval.ms": "1000"},
)
# A topic with a short retention.ms. Clocks do not jump, because retention goes by the clock.
RETENTION: Final = replace(
    THREE,
    faults=REPLICATED_FAULTS,
    retention_s=8,
    seconds=45,
    topic_configs={"min.insync.replicas": "2", "segment.ms": "2000", "retention.ms": "8000"},
    node_configs={**OFTEN, "log.retention.check.interval.ms": "1000"},
)
# Four nodes, and partitions that move between them.
REASSIGNMENT: Final = replace(
    THREE, faults=REPLICATED_FAULTS, brokers=4, reassigns=True, seconds=45, fault_interval_s=8
)
# Four nodes, and partitions with open transactions that move between them.
MOVING_TRANSACTIONS: Final = replace(TRANSACTIONS, brokers=4, reassigns=True)
# Only connections that break, or are closed because they are idle, and clocks that are set. This must not
# count as the failure of a broker.
QUIET: Final = replace(
    THREE,
    seconds=600,
    faults=("reset", "clock_jump"),
    fault_interval_s=60,
    pause_s=5,
    consumers=1,
    node_configs={**ANY_CLOCK, "connections.max.idle.ms": "8000"},
)
# Three nodes whose listeners use SASL, with rights. Users and rights change all the time. Nodes that were
# away for some seconds learn them from a snapshot.
SECURED: Final = replace(
    THREE,
    session_s=5,
    seconds=45,
    pause_s=0.5,
    consumers=1,
    node_configs={
        **OFTEN,
        "metadata.log.max.record.bytes.between.snapshots": "1000",
        "metadata.max.retention.bytes": "1500",
    },
)
SECURED_GROUP: Final = replace(TRANSFORMING_GROUP, session_s=5)
SECURED_QUIET: Final = replace(QUIET, session_s=10, seconds=300)

PRESETS: Final[dict[str, Settings]] = {
    "flushed": FLUSHED,
    "unflushed": UNFLUSHED,
    "power-cuts": POWER_CUTS,
    "three": THREE,
    "three-flushed": THREE_FLUSHED,
    "rolling": ROLLING,
    "groups": GROUPS,
    "transactions": TRANSACTIONS,
    "transforming-group": TRANSFORMING_GROUP,
    "compacted": COMPACTED,
    "retention": RETENTION,
    "reassignment": REASSIGNMENT,
    "moving-transactions": MOVING_TRANSACTIONS,
    "quiet": QUIET,
    "secured": SECURED,
    "secured-transforming-group": SECURED_GROUP,
    "secured-quiet": SECURED_QUIET,
}
