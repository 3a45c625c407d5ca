"""The small text files beside the logs, in Kafka's formats.

recovery-point-offset-checkpoint   up to where each log is known to be on the device
log-start-offset-checkpoint        from where each log may be read (moved by DeleteRecords and retention)
replication-offset-checkpoint      the high watermarks
cleaner-offset-checkpoint          up to where compaction has been over each log
    All four have a version (0), the number of entries, then a line `topic partition offset` for each.
leader-epoch-checkpoint            in a partition's folder: lines `epoch start_offset`
partition.metadata                 in a partition's folder: `version: 0`, `topic_id: <id>`
.kafka_cleanshutdown               in a data folder: {"version":0,"brokerEpoch":-1}; present = closed well
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from gralha.protocol.primitives import ZERO_UUID, uuid_from_string, uuid_to_string
from gralha.storage.disk import Disk

RECOVERY_POINT_FILE: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_FILE: Final = "log-start-offset-checkpoint"
HIGH_WATERMARK_FILE: Final = "replication-offset-checkpoint"
CLEANER_OFFSET_FILE: Final = "cleaner-offset-checkpoint"
LEADER_EPOCH_FILE: Final = "leader-epoch-checkpoint"
PARTITION_METADATA_FILE: Final = "partition.metadata"
CLEAN_SHUTDOWN_FILE: Final = ".kafka_cleanshutdown"

_VERSION: Final = 0

PartitionKey = tuple[str, int]


class CheckpointError(Exception):
    """A checkpoint file has a wrong format."""


def encode_lines(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in [str(_VERSION), str(len(lines)), *lines]).encode()


def decode_lines(path: str, data: bytes) -> list[list[str]]:
    """The fields of each entry."""
    lines = data.decode(errors="replace").splitlines()
    if not lines:
        return []
    try:
        version, count = int(lines[0]), int(lines[1])
    except (ValueError, IndexError) as error:
        raise CheckpointError(f"{path} does not begin with a version and a number of entries") from error
    if version != _VERSION:
        raise CheckpointError(f"{path} has version {version}; this program knows version {_VERSION}")
    entries = [line.split() for line in lines[2:]]
    if len(entries) != count:
        raise CheckpointError(f"{path} says it has {count} entries but has {len(entries)}")
    return entries


def write_offsets(disk: Disk, path: str, offsets: Mapping[PartitionKey, int]) -> None:
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    disk.write_file_atomically(path, encode_lines(lines))


def read_offsets(disk: Disk, path: str) -> dict[PartitionKey, int]:
    """The offsets by partition; empty when there is no file."""
    data = disk.read_file(path)
    if data is None:
        return {}
    offsets: dict[PartitionKey, int] = {}
    for fields in decode_lines(path, data):
        try:
            topic, partition, offset = fields
            offsets[topic, int(partition)] = int(offset)
        except ValueError as error:
            raise CheckpointError(f"Malformed line in {path}: {' '.join(fields)}") from error
    return offsets


def encode_epochs(entries: list[tuple[int, int]]) -> bytes:
    return encode_lines([f"{epoch} {start_offset}" for epoch, start_offset in entries])


def decode_epochs(path: str, data: bytes) -> list[tuple[int, int]]:
    entries: list[tuple[int, int]] = []
    for fields in decode_lines(path, data):
        try:
            epoch, start_offset = fields
            entries.append((int(epoch), int(start_offset)))
        except ValueError as error:
            raise CheckpointError(f"Malformed line in {path}: {' '.join(fields)}") from error
    return entries


def encode_partition_metadata(topic_id: bytes) -> bytes:
    return f"version: {_VERSION}\ntopic_id: {uuid_to_string(topic_id)}".encode()


def decode_partition_metadata(path: str, data: bytes) -> bytes:
    """The topic id."""
    lines = data.decode(errors="replace").splitlines()
    try:
        version, topic_id = (line.split(":", 1)[1].strip() for line in lines[:2])
        if int(version) >= _VERSION:
            return uuid_from_string(topic_id)
    except (ValueError, IndexError) as error:
        raise CheckpointError(f"{path} does not hold a version and a topic id") from error
    raise CheckpointError(f"{path} has version {version}; this program knows version {_VERSION}")


def is_unfinished_partition_metadata(data: bytes) -> bool:
    """Whether a crash can have left this content: a file that was not synced may be short or have zeros."""
    written = data.rstrip(b"\0")
    whole = encode_partition_metadata(ZERO_UUID)
    start = whole[: -len(uuid_to_string(ZERO_UUID))]
    return start.startswith(written) or (written.startswith(start) and len(written) < len(whole))


def write_clean_shutdown(disk: Disk, folder: str, broker_epoch: int) -> None:
    content = json.dumps({"version": _VERSION, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    disk.write_file_atomically(f"{folder}/{CLEAN_SHUTDOWN_FILE}", content.encode())


def read_clean_shutdown(disk: Disk, folder: str) -> int | None:
    """The broker epoch of the run that closed well (-1 if the file has none). None after an unclean end."""
    data = disk.read_file(f"{folder}/{CLEAN_SHUTDOWN_FILE}")
    if data is None:
        return None
    try:
        return int(json.loads(data)["brokerEpoch"])
    except (ValueError, KeyError, TypeError):
        return -1


def remove_clean_shutdown(disk: Disk, folder: str) -> None:
    """Call this before the first append. The next start is unclean then, unless the broker closes well."""
    disk.remove(f"{folder}/{CLEAN_SHUTDOWN_FILE}")
    disk.sync_folder(folder)
