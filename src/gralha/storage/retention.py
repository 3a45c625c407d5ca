"""Which of a log's oldest segments may be deleted: Kafka's three rules, each as a count from the start.

Only whole segments below the high watermark count, so that the log start offset never passes it. The active
segment counts too, unless it is empty: the log rolls before that segment is deleted.
"""

from __future__ import annotations

from gralha.storage.config import LogConfig
from gralha.storage.segment import Segment


def count_deletable(segments: list[Segment], high_watermark: int, log_end_offset: int) -> int:
    """How many of the first segments lie below the high watermark."""
    count = 0
    for number, segment in enumerate(segments):
        is_active = number == len(segments) - 1
        ends = log_end_offset if is_active else segments[number + 1].base_offset
        if high_watermark < ends or (is_active and segment.size_bytes == 0):
            break
        count += 1
    return count


def count_before_start(segments: list[Segment], deletable: int, log_start_offset: int) -> int:
    """Segments that end at or before the log's start offset."""
    count = 0
    limit = min(deletable, len(segments) - 1)
    while count < limit and segments[count + 1].base_offset <= log_start_offset:
        count += 1
    return count


def count_oversize(segments: list[Segment], deletable: int, config: LogConfig) -> int:
    """Segments without which the log still has at least retention.bytes."""
    if config.retention_bytes < 0:
        return 0
    excess = -config.retention_bytes
    for segment in segments:
        excess += segment.size_bytes
    count = 0
    while count < deletable and excess - segments[count].size_bytes >= 0:
        excess -= segments[count].size_bytes
        count += 1
    return count


def count_expired(segments: list[Segment], deletable: int, config: LogConfig, now_ms: int) -> int:
    """Segments whose youngest record is older than retention.ms."""
    if config.retention_ms < 0:
        return 0
    count = 0
    while count < deletable and now_ms - segments[count].largest_timestamp() > config.retention_ms:
        count += 1
    return count
