"""Logs and batches for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gralha.protocol.control_records import encode_end_marker
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, batches, encode_batch
from gralha.storage.config import LogConfig
from gralha.storage.disk import Disk
from gralha.storage.log import COORDINATOR, AppendResult, Log
from gralha.storage.opening import open_log

NOW = 1_700_000_000_000
TOPIC_ID = bytes(range(16))


def batch(count: int = 1, timestamp: int = NOW, size: int = 20, **options: object) -> bytes:
    records = [Record(b"key", bytes([65 + index % 26]) * size, timestamp) for index in range(count)]
    return encode_batch(records, **options)  # type: ignore[arg-type]


def as_records(data: bytes) -> RecordBytes:
    """The batch inside a larger frame, as a request brings it."""
    return RecordBytes(b"before" + data + b"after", 6, 6 + len(data))


def append(log: Log, count: int = 1, epoch: int = 0, timestamp: int = NOW, **options: object) -> AppendResult:
    return log.append_as_leader(as_records(batch(count, timestamp, **options)), epoch, NOW)  # type: ignore[arg-type]


def idempotent(
    log: Log, sequence: int, count: int = 1, producer_id: int = 7, producer_epoch: int = 0, **options: Any
) -> AppendResult:
    return append(
        log,
        count,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
        **options,
    )


def end_transaction(
    log: Log, producer_id: int, commit: bool, producer_epoch: int = 0, coordinator_epoch: int = 0
) -> AppendResult:
    marker = encode_end_marker(
        commit=commit,
        coordinator_epoch=coordinator_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        timestamp_ms=NOW,
    )
    return log.append_as_leader(as_records(marker), 0, NOW, origin=COORDINATOR)


def make_log(disk: Disk, folder: Path, config: Mapping[str, str] | None = None, **options: object) -> Log:
    return open_log(
        disk,
        f"{folder}/t-0",
        "t",
        0,
        LogConfig(config),
        now_ms=NOW,
        topic_id=TOPIC_ID,
        **options,  # type: ignore[arg-type]
    )


def crash(disk: Disk, log: Log, **options: object) -> Log:
    """The log after the process was killed: nothing is written, and recovery has to check it."""
    point = int(log.recovery_point)
    log.release()
    options = {"recovery_point": point, "log_start_offset": int(log.log_start_offset), **options}
    return open_log(disk, log.folder, log.topic, log.partition, log.config, now_ms=NOW, **options)  # type: ignore[arg-type]


def reopen(disk: Disk, log: Log) -> Log:
    """The log after a clean shutdown."""
    log.close()
    return open_log(
        disk,
        log.folder,
        log.topic,
        log.partition,
        log.config,
        now_ms=NOW,
        clean=True,
        log_start_offset=int(log.log_start_offset),
    )


def offsets(found: RecordBytes) -> list[tuple[int, int]]:
    """First and last offset of each whole batch."""
    return [
        (int(header.base_offset), int(header.last_offset))
        for _, header in batches(found.data, found.start, found.end)
    ]


def all_offsets(log: Log) -> list[tuple[int, int]]:
    """First and last offset of each batch of the log, read to its end."""
    found: list[tuple[int, int]] = []
    offset = int(log.log_start_offset)
    while offset < log.log_end_offset:
        some = offsets(log.read(offset, 10_000, log.log_end_offset, True, True))
        if not some:
            break
        found += some
        offset = some[-1][1] + 1
    return found


def log_file(log: Log, number: int = -1) -> Path:
    return Path(log.segments[number].file_path(".log"))
