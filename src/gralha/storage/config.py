"""What a topic's configuration means for its log: Kafka's names and texts in, typed values out.

`LogConfig({...})` has the defaults and the topic's own settings; `with_overrides` puts a topic's settings
over a broker's. `metadata` checks values when they are set. A text here that is no number is a bug in the
caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mypy_extensions import i64

from gralha.protocol import compression

LONG_MAX: Final = 9223372036854775807
PRODUCER_COMPRESSION: Final = -1

_CODECS: Final = {
    "producer": PRODUCER_COMPRESSION,
    "uncompressed": compression.NONE,
    "gzip": compression.GZIP,
    "snappy": compression.SNAPPY,
    "lz4": compression.LZ4,
    "zstd": compression.ZSTD,
}

DEFAULTS: Final[Mapping[str, str]] = {
    "cleanup.policy": "delete",
    "compression.gzip.level": "-1",
    "compression.lz4.level": "9",
    "compression.type": "producer",
    "compression.zstd.level": "3",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": str(LONG_MAX),
    "flush.ms": str(LONG_MAX),
    "index.interval.bytes": "4096",
    "max.compaction.lag.ms": str(LONG_MAX),
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": str(LONG_MAX),
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}


class LogConfig:
    """The settings of one log. Immutable: a change makes a new one."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        texts = dict(DEFAULTS)
        if values:
            texts.update(values)
        self.texts: Final[Mapping[str, str]] = texts
        policies = [policy.strip() for policy in texts["cleanup.policy"].split(",")]
        self.compact: Final[bool] = "compact" in policies
        self.delete: Final[bool] = "delete" in policies
        self.compression_type: Final[int] = _CODECS[texts["compression.type"]]
        self.delete_retention_ms: Final[int] = int(texts["delete.retention.ms"])
        self.file_delete_delay_ms: Final[int] = int(texts["file.delete.delay.ms"])
        self.flush_messages: Final[i64] = int(texts["flush.messages"])
        self.flush_ms: Final[int] = int(texts["flush.ms"])
        self.index_interval_bytes: Final[i64] = int(texts["index.interval.bytes"])
        self.max_compaction_lag_ms: Final[int] = int(texts["max.compaction.lag.ms"])
        self.max_message_bytes: Final[i64] = int(texts["max.message.bytes"])
        self.timestamp_after_max_ms: Final[i64] = int(texts["message.timestamp.after.max.ms"])
        self.timestamp_before_max_ms: Final[i64] = int(texts["message.timestamp.before.max.ms"])
        self.log_append_time: Final[bool] = texts["message.timestamp.type"] == "LogAppendTime"
        self.min_cleanable_dirty_ratio: Final[float] = float(texts["min.cleanable.dirty.ratio"])
        self.min_compaction_lag_ms: Final[int] = int(texts["min.compaction.lag.ms"])
        self.min_in_sync_replicas: Final[int] = int(texts["min.insync.replicas"])
        self.retention_bytes: Final[int] = int(texts["retention.bytes"])
        self.retention_ms: Final[int] = int(texts["retention.ms"])
        self.segment_bytes: Final[i64] = int(texts["segment.bytes"])
        self.segment_index_bytes: Final[i64] = int(texts["segment.index.bytes"])
        self.segment_jitter_ms: Final[int] = int(texts["segment.jitter.ms"])
        segment_ms = int(texts["segment.ms"])
        if self.compact:
            segment_ms = min(segment_ms, self.max_compaction_lag_ms)
        self.segment_ms: Final[i64] = segment_ms

    def with_overrides(self, values: Mapping[str, str]) -> LogConfig:
        return LogConfig({**self.texts, **values}) if values else self

    def compression_level(self, codec: int) -> int | None:
        """The level to compress with, None where the codec has none."""
        name = {compression.GZIP: "gzip", compression.LZ4: "lz4", compression.ZSTD: "zstd"}.get(codec)
        return int(self.texts[f"compression.{name}.level"]) if name else None
