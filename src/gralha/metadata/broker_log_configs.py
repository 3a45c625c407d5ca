"""The broker configs about logs on disk and about replicas; see `broker_configs`."""

from typing import Final

_FOLDERS: Final = """
log.dir: list = /tmp/kafka-logs; distinct, not empty; high
    The folder of the logs. It counts only if log.dirs is not set.
log.dirs: list; distinct, not empty; high
    The folders of the logs, separated by commas. A new partition goes to the one with the fewest.
cordoned.log.dirs: list =; per-broker
    These folders get no new partitions, and * means all. A broker whose folders are all cordoned gets no new
    replicas. kafka-log-dirs shows which folders are cordoned.
log.dir.failure.timeout.ms: long = 30000; at least 1; low
    Accepted without effect: a failed sync stops the broker at once, and it does not report failed folders.
log.flush.offset.checkpoint.interval.ms: int = 60000; at least 0; high
    How often recovery points are written. Everything in a log below its recovery point is on disk.
log.flush.start.offset.checkpoint.interval.ms: int = 60000; at least 0; high
    Accepted without effect: the first offsets of logs are written together with the recovery points.
log.flush.scheduler.interval.ms: long = max; high
    How often the broker looks for logs whose flush.ms has passed.
log.retention.check.interval.ms: long = 300000; at least 1
    How often the broker looks for segments to delete by the retention settings.
log.initial.task.delay.ms: long = 30000; at least 0; low
    Accepted without effect: background work begins 30 seconds after the start.
"""

_TOPIC_DEFAULTS: Final = """
log.cleanup.policy: list = delete; some of compact, delete; cluster-wide
    The default of cleanup.policy.
compression.type: string = producer; one of uncompressed, zstd, lz4, snappy, gzip, producer; high;
  cluster-wide
    The default of the topic config of the same name.
compression.gzip.level: int = -1; 1 to 9 or -1; cluster-wide
    The default of the topic config of the same name.
compression.lz4.level: int = 9; 1 to 17; cluster-wide
    The default of the topic config of the same name.
compression.zstd.level: int = 3; -131072 to 22; cluster-wide
    The default of the topic config of the same name.
log.cleaner.delete.retention.ms: long = 86400000; at least 0; cluster-wide
    The default of delete.retention.ms.
log.segment.delete.delay.ms: long = 60000; at least 0; high; cluster-wide
    The default of file.delete.delay.ms.
log.flush.interval.messages: long = max; at least 1; high; cluster-wide
    The default of flush.messages.
log.flush.interval.ms: long; high; cluster-wide
    The default of flush.ms. If it is not set, log.flush.scheduler.interval.ms counts.
log.index.interval.bytes: int = 4096; at least 0; cluster-wide
    The default of index.interval.bytes.
log.index.size.max.bytes: int = 10485760; at least 4; cluster-wide
    The default of segment.index.bytes.
log.local.retention.bytes: long = -2; at least -2; cluster-wide
    Accepted without effect: there is no tiered storage.
log.local.retention.ms: long = -2; at least -2; cluster-wide
    Accepted without effect: there is no tiered storage.
log.cleaner.max.compaction.lag.ms: long = max; at least 1; cluster-wide
    The default of max.compaction.lag.ms.
message.max.bytes: int = 1048588; at least 0; high; cluster-wide
    The default of max.message.bytes: the largest record batch a producer may write.
log.message.timestamp.after.max.ms: long = 3600000; at least 0; cluster-wide
    The default of message.timestamp.after.max.ms.
log.message.timestamp.before.max.ms: long = max; at least 0; cluster-wide
    The default of message.timestamp.before.max.ms.
log.message.timestamp.type: string = CreateTime; one of CreateTime, LogAppendTime; cluster-wide
    The default of message.timestamp.type.
log.cleaner.min.cleanable.ratio: double = 0.5; 0 to 1; cluster-wide
    The default of min.cleanable.dirty.ratio.
log.cleaner.min.compaction.lag.ms: long = 0; at least 0; cluster-wide
    The default of min.compaction.lag.ms.
log.preallocate: boolean = false; cluster-wide
    Accepted without effect: see preallocate.
log.retention.bytes: long = -1; high; cluster-wide
    The default of retention.bytes.
log.retention.ms: long; high; cluster-wide
    The default of retention.ms. If it is not set, log.retention.minutes counts.
log.retention.minutes: int; high
    The default of retention.ms in minutes. If it is not set, log.retention.hours counts.
log.retention.hours: int = 168; high
    The default of retention.ms in hours.
log.segment.bytes: int = 1073741824; at least 1048576; high; cluster-wide
    The default of segment.bytes.
log.roll.ms: long; high; cluster-wide
    The default of segment.ms. If it is not set, log.roll.hours counts.
log.roll.hours: int = 168; at least 1; high
    The default of segment.ms in hours.
log.roll.jitter.ms: long; high; cluster-wide
    The default of segment.jitter.ms. If it is not set, log.roll.jitter.hours counts.
log.roll.jitter.hours: int = 0; at least 0; high
    The default of segment.jitter.ms in hours.
"""

_CLEANER: Final = """
log.cleaner.enable: boolean = true
    Does the broker compact compacted topics?
log.cleaner.threads: int = 1; at least 0; cluster-wide
    Accepted without effect: Gralha compacts one log at a time.
log.cleaner.backoff.ms: long = 15000; at least 0; cluster-wide
    The pause before the next look if no log needs compaction.
log.cleaner.dedupe.buffer.size: long = 134217728; cluster-wide
    The memory for the keys of a compaction.
log.cleaner.io.buffer.load.factor: double = 0.9; cluster-wide
    Accepted without effect: compaction uses all of log.cleaner.dedupe.buffer.size.
log.cleaner.io.buffer.size: int = 524288; at least 0; cluster-wide
    How many bytes compaction reads at a time.
log.cleaner.io.max.bytes.per.second: double = 1.7976931348623157E308; cluster-wide
    The most bytes per second that compaction reads and writes.
"""

_REPLICAS: Final = """
replica.fetch.max.bytes: int = 1048576; at least 0
    How many bytes of one partition a follower asks for. A larger batch is still sent whole.
replica.fetch.min.bytes: int = 1; high
    The leader answers a follower's fetch when it has this many bytes, or when the wait is over.
replica.fetch.response.max.bytes: int = 10485760; at least 0
    How many bytes of all partitions a follower asks for in one fetch.
replica.fetch.wait.max.ms: int = 500; high
    How long a follower's fetch waits for data. Keep it below replica.lag.time.max.ms.
replica.fetch.backoff.ms: int = 1000; at least 0
    The pause after a failed fetch from a leader.
replica.high.watermark.checkpoint.interval.ms: long = 5000; high
    How often the high watermarks are written to disk.
replica.lag.time.max.ms: long = 30000; high
    A follower that has not caught up for this long leaves the in-sync replicas.
replica.selector.class: string
    The replica that a consumer reads from: the leader by default, or a replica in the consumer's rack with
    the name of Kafka's RackAwareReplicaSelector (KIP-392). The name only selects; it loads no code.
replica.socket.receive.buffer.bytes: int = 65536; high
    Accepted without effect: the operating system sizes the receive buffers of connections.
replica.socket.timeout.ms: int = 30000; high
    How long a follower waits for a leader's answer.
replication.quota.window.num: int = 11; at least 1; low
    Accepted without effect: the replication throttle counts 11 windows.
replication.quota.window.size.seconds: int = 1; at least 1; low
    Accepted without effect: a window of the replication throttle is one second long.
leader.replication.throttled.rate: long = max; at least 0; cluster-wide
    Bytes per second that this broker sends for throttled replicas.
follower.replication.throttled.rate: long = max; at least 0; cluster-wide
    Bytes per second that this broker fetches for throttled replicas.
replica.alter.log.dirs.io.max.bytes.per.second: long = max; at least 0; cluster-wide
    Accepted without effect: replicas cannot be moved between folders yet.
quota.window.num: int = 11; at least 1; low
    How many windows client quotas count, the current one included.
quota.window.size.seconds: int = 1; at least 1; low
    How long a window of client quotas is.
controller.quota.window.num: int = 11; at least 1; low
    How many windows the quota on created and deleted partitions has. A client may use them all at once.
controller.quota.window.size.seconds: int = 1; at least 1; low
    How long a window of the quota on created and deleted partitions is.
"""

LOG_SECTIONS: Final = {
    "Folders and checkpoints": _FOLDERS,
    "Defaults of topic settings": _TOPIC_DEFAULTS,
    "Compaction": _CLEANER,
    "Replicas and throttles": _REPLICAS,
}
