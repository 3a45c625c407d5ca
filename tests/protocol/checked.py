"""The check of a whole batch, as tests want it: decompress, walk in slices, tell the highest timestamp."""

from __future__ import annotations

from gralha.protocol import compression
from gralha.protocol.record_check import RecordCheck
from gralha.protocol.records import HEADER_SIZE, MAX_DECOMPRESSED_BYTES, BatchHeader

ALL_AT_ONCE = 1 << 40
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def check_records(
    data: bytes,
    position: int,
    header: BatchHeader,
    require_keys: bool = False,
    max_bytes: int = MAX_DECOMPRESSED_BYTES,
    timestamp_min: int = INT64_MIN,
    timestamp_max: int = INT64_MAX,
    slice_size: int = ALL_AT_ONCE,
    broker_time_counts: bool = False,
) -> int:
    start, end = position + HEADER_SIZE, position + header.size_bytes
    if header.compression:
        data = compression.decompress(header.compression, memoryview(data)[start:end], max_bytes)
        start, end = 0, len(data)
    check = RecordCheck(
        data,
        start,
        end,
        header,
        "a-0",
        require_keys,
        broker_time_counts,
        timestamp_min,
        timestamp_max,
    )
    while not check.walk(slice_size):
        pass
    return int(check.max_timestamp)
