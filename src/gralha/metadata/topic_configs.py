"""Every topic config of Apache Kafka 4.3, in the notation of `config_notation`.

Names, types, defaults and limits are Kafka's; the sentences are ours. `from` names the broker configs that
give a topic config its default.
"""

from typing import Final

from gralha.metadata.config_notation import read_keys
from gralha.metadata.config_types import ConfigKey

_KEYS: Final = """
cleanup.policy: list = delete; some of compact, delete; from log.cleanup.policy
    What happens to old segments. 'delete' deletes them when retention.ms or retention.bytes is exceeded.
    'compact' keeps the newest record of every key. Both can be combined. An empty list keeps everything for
    ever.
compression.gzip.level: int = -1; 1 to 9 or -1; from compression.gzip.level
    The level at which the broker compresses when compression.type is gzip; -1 is the default of the codec.
compression.lz4.level: int = 9; 1 to 17; from compression.lz4.level
    The level at which the broker compresses when compression.type is lz4.
compression.type: string = producer; one of uncompressed, zstd, lz4, snappy, gzip, producer;
  from compression.type
    How batches are compressed on disk. With 'producer' they stay as the producer sent them, which costs the
    broker nothing. With any other value the broker compresses batches again that arrive differently.
compression.zstd.level: int = 3; -131072 to 22; from compression.zstd.level
    The level at which the broker compresses when compression.type is zstd.
delete.retention.ms: long = 86400000; at least 0; from log.cleaner.delete.retention.ms
    How long a tombstone (a key with a null value) stays in a compacted topic. A consumer that reads from
    the start must finish within this time to see every deletion.
file.delete.delay.ms: long = 60000; at least 0; from log.segment.delete.delay.ms
    How long a deleted segment's files remain on disk under another name, so that running reads finish.
flush.messages: long = max; at least 1; from log.flush.interval.messages
    Records are forced to disk after this many; 1 means before each acknowledgement. By default the operating
    system decides when, and the replicas protect the data.
flush.ms: long = max; at least 0; from log.flush.interval.ms, log.flush.scheduler.interval.ms
    Records are forced to disk at least this often. By default the operating system decides when.
follower.replication.throttled.replicas: list =; throttled replicas
    Replicas whose fetching from the leader is throttled, as partition:broker pairs, or * for all.
index.interval.bytes: int = 4096; at least 0; from log.index.interval.bytes
    About how many bytes of log are between two entries of a segment's index. A smaller value means a shorter
    scan per read and a larger index.
internal.segment.bytes: int; internal
    Overrides segment.bytes, also below its minimum. For tests only.
leader.replication.throttled.replicas: list =; throttled replicas
    Replicas that a leader serves at a throttled rate, as partition:broker pairs, or * for all.
local.retention.bytes: long = -2; at least -2; from log.local.retention.bytes
    Accepted without effect: there is no tiered storage.
local.retention.ms: long = -2; at least -2; from log.local.retention.ms
    Accepted without effect: there is no tiered storage.
max.compaction.lag.ms: long = max; at least 1; from log.cleaner.max.compaction.lag.ms
    A record in a compacted topic waits at most this long before compaction looks at it.
max.message.bytes: int = 1048588; at least 0; from message.max.bytes
    The largest record batch, after compression, that a producer may write.
message.timestamp.after.max.ms: long = 3600000; at least 0; from log.message.timestamp.after.max.ms
    How far the timestamp of a record may be ahead of the broker's clock. Later records are refused. Has no
    effect if message.timestamp.type is LogAppendTime.
message.timestamp.before.max.ms: long = max; at least 0; from log.message.timestamp.before.max.ms
    How far the timestamp of a record may be behind the broker's clock. Earlier records are refused. Has no
    effect if message.timestamp.type is LogAppendTime.
message.timestamp.type: string = CreateTime; one of CreateTime, LogAppendTime;
  from log.message.timestamp.type
    The clock that sets timestamps: the producer's (CreateTime) or the broker's (LogAppendTime).
min.cleanable.dirty.ratio: double = 0.5; 0 to 1; from log.cleaner.min.cleanable.ratio
    Compaction starts when this share of the log has not been compacted yet. A higher value means fewer and
    larger compactions, and more space for old values.
min.compaction.lag.ms: long = 0; at least 0; from log.cleaner.min.compaction.lag.ms
    Compaction leaves a record alone for at least this long.
min.insync.replicas: int = 1; at least 1; from min.insync.replicas
    A write with acks=all is accepted only while at least this many replicas, the leader included, are in
    sync. With three replicas and a value of 2, an acknowledged record survives the loss of one broker.
preallocate: boolean = false; from log.preallocate
    Accepted without effect: a segment grows as it is written.
remote.log.copy.disable: boolean = false
    Accepted without effect: there is no tiered storage.
remote.log.delete.on.disable: boolean = false
    Accepted without effect: there is no tiered storage.
remote.storage.enable: boolean = false
    Would move old segments to tiered storage. Gralha has none, so true is refused.
retention.bytes: long = -1; from log.retention.bytes
    How large a partition may become before its oldest segments are deleted; -1 sets no limit. The limit is
    for each partition: multiply by the number of partitions for the topic.
retention.ms: long = 604800000; at least -1;
  from log.retention.ms, log.retention.minutes * 60000, log.retention.hours * 3600000
    How long records are kept before their segment is deleted; -1 keeps them for ever.
segment.bytes: int = 1073741824; at least 1048576; from log.segment.bytes
    The size at which a segment file is closed and a new one begins. Retention and compaction work on whole
    segments, so smaller segments follow the limits more closely and need more files.
segment.index.bytes: int = 10485760; at least 4; from log.index.size.max.bytes
    The largest size of a segment's index; a full index closes the segment.
segment.jitter.ms: long = 0; at least 0; from log.roll.jitter.ms, log.roll.jitter.hours * 3600000
    A random time up to this much is subtracted from segment.ms, so that segments do not all close at once.
segment.ms: long = 604800000; at least 1; from log.roll.ms, log.roll.hours * 3600000
    A segment is closed after this time even when it is not full, so that retention can reach it.
unclean.leader.election.enable: boolean = false; from unclean.leader.election.enable
    May a replica that is not in sync become leader if no other replica is alive? The partition is available
    again, but loses the records that this replica does not have.
"""

TOPIC_CONFIGS: Final[dict[str, ConfigKey]] = read_keys(_KEYS)
