"""The settings that the seeds of these tests run with."""

from dataclasses import replace

from gralha.simulation.cluster import Settings

# Snapshots, checkpoints and new segments now and then, within a minute.
OFTEN = {
    "log.flush.offset.checkpoint.interval.ms": "3000",
    "replica.high.watermark.checkpoint.interval.ms": "2000",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "log.retention.check.interval.ms": "5000",
}

# Everything acknowledged is on the device, so nothing may get lost, whatever happens.
FLUSHED = Settings(
    faults=(
        "kill",
        "power_cut",
        "stop",
        "freeze",
        "full_disk",
        "failing_write",
        "reset",
        "bad_network",
        "isolate",
    ),
    topic_configs={"flush.messages": "1", "segment.ms": "9000"},
    node_configs=OFTEN,
)
# By default the operating system decides when to write: killed processes lose nothing, power cuts do.
UNFLUSHED = replace(
    FLUSHED,
    faults=("kill", "stop", "freeze", "full_disk", "reset", "bad_network"),
    topic_configs={"segment.ms": "9000"},
)
POWER_CUTS = Settings(
    seconds=30,
    fault_interval_s=2.5,
    faults=("power_cut",),
    topic_configs={"flush.messages": "1"},
    node_configs=OFTEN,
)
