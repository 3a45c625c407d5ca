"""Snapshots of the metadata log: files of record batches that replace all records below an offset.

The name of a snapshot has the first offset that it does not contain, and the epoch of the last record that it
does contain: `<20 digits>-<10 digits>.checkpoint`. Its first record is a header and its last one a footer,
both control records (KIP-630). It is written under another name, synced and then renamed, so a file with that
name is whole.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from gralha.protocol.control_records import (
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    control_key,
    control_type,
    encode_control_batch,
)
from gralha.protocol.errors import KafkaError
from gralha.protocol.message import Message
from gralha.protocol.messages.raft_records import SnapshotFooterRecord, SnapshotHeaderRecord
from gralha.protocol.primitives import ProtocolError, Reader, Writer
from gralha.protocol.records import (
    Record,
    batches,
    crc_is_valid,
    decode_records,
    encode_batch,
)
from gralha.storage.disk import Disk

SUFFIX: Final = ".checkpoint"
PART_SUFFIX: Final = ".checkpoint.part"
_BATCH_BYTES: Final = 256 * 1024
_NO_RECORDS: Final[Mapping[int, bytes]] = {}


class SnapshotError(Exception):
    """A snapshot is damaged. The node stops, because it cannot restore its state without it."""


class SnapshotId(NamedTuple):
    """The place of a snapshot in the log. The snapshot has everything below `end_offset`."""

    end_offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        """The file name, as in Kafka."""
        return f"{self.end_offset:020d}-{self.epoch:010d}{SUFFIX}"

    @classmethod
    def from_file_name(cls, name: str) -> "SnapshotId | None":
        """The snapshot with this file name, or None if the file is something else."""
        stem = name.removesuffix(SUFFIX)
        offset, dash, epoch = stem.partition("-")
        if stem == name or not dash or len(offset) != 20 or len(epoch) != 10:
            return None
        if not (offset + epoch).isascii() or not (offset + epoch).isdigit():
            return None
        return cls(int(offset), int(epoch))


class Snapshot(NamedTuple):
    """The contents of a snapshot file: the time of the last record of the log in it, and the values.

    In a dynamic quorum (KIP-853) control records about the quorum follow the header: `quorum_records`, by
    type.
    """

    last_contained_log_timestamp: int
    values: list[bytes]
    quorum_records: Mapping[int, bytes]


def encode_message(message: Message, version: int = 0) -> bytes:
    """The value of a control record."""
    writer = Writer()
    message.encode(writer, version)
    return writer.to_bytes()


def encode_snapshot(
    values: Iterable[bytes],
    epoch: int,
    now_ms: int,
    last_contained_log_timestamp: int,
    quorum_records: Mapping[int, bytes] = _NO_RECORDS,
) -> Iterator[bytes]:
    """The bytes of a snapshot file, batch by batch. The offsets in the file begin at 0."""
    header = SnapshotHeaderRecord(last_contained_log_timestamp=last_contained_log_timestamp)
    controls = {SNAPSHOT_HEADER: encode_message(header), **quorum_records}
    yield encode_batch(
        [Record(control_key(kind), value, now_ms) for kind, value in controls.items()],
        leader_epoch=epoch,
        control=True,
    )
    offset = len(controls)
    records: list[Record] = []
    size_bytes = 0
    for value in values:
        records.append(Record(None, value, now_ms))
        size_bytes += len(value)
        if size_bytes >= _BATCH_BYTES:
            yield encode_batch(records, base_offset=offset, leader_epoch=epoch)
            offset += len(records)
            records, size_bytes = [], 0
    if records:
        yield encode_batch(records, base_offset=offset, leader_epoch=epoch)
        offset += len(records)
    yield encode_control_batch(
        SNAPSHOT_FOOTER,
        encode_message(SnapshotFooterRecord()),
        timestamp_ms=now_ms,
        base_offset=offset,
        leader_epoch=epoch,
    )


def write_snapshot(
    disk: Disk,
    folder: str,
    snapshot_id: SnapshotId,
    values: Iterable[bytes],
    now_ms: int,
    last_contained_log_timestamp: int,
    quorum_records: Mapping[int, bytes] = _NO_RECORDS,
) -> int:
    """Writes a snapshot durably and returns its size. May wait."""
    path = f"{folder}/{snapshot_id.file_name}"
    part = path.removesuffix(SUFFIX) + PART_SUFFIX
    disk.remove(part)
    file = disk.open(part, create=True)
    for chunk in encode_snapshot(
        values, snapshot_id.epoch, now_ms, last_contained_log_timestamp, quorum_records
    ):
        file.append([chunk])
    file.sync()
    size_bytes = file.size()
    file.close()
    disk.rename(part, path)
    disk.sync_folder(folder)
    return size_bytes


def read_snapshot(disk: Disk, path: str) -> Snapshot:
    """Reads a whole snapshot. Raises SnapshotError if the file is damaged or truncated. May wait."""
    data = disk.read_file(path)
    if data is None:
        raise SnapshotError(f"{path} does not exist")
    try:
        return decode_snapshot(data)
    except (KafkaError, ProtocolError, SnapshotError) as error:
        raise SnapshotError(
            f"{path} is damaged ({error}). It has the metadata of the cluster, so the node does not start "
            "without it. Restore the metadata folder from a backup."
        ) from error


def decode_snapshot(data: bytes) -> Snapshot:
    """The contents of a snapshot file."""
    controls: dict[int, bytes] = {}
    values: list[bytes] = []
    end = 0
    for position, header in batches(data, 0, len(data)):
        if SNAPSHOT_FOOTER in controls or not crc_is_valid(data, position, header):
            raise SnapshotError(f"the batch at byte {position} is damaged")
        if SNAPSHOT_HEADER not in controls and position > 0:
            break
        records = decode_records(data, position, header)
        if header.is_control:
            controls.update({control_type(record.key): record.value or b"" for record in records})
        else:
            values += [record.value for record in records if record.value is not None]
        end = position + int(header.size_bytes)
    if not {SNAPSHOT_HEADER, SNAPSHOT_FOOTER} <= controls.keys() or end != len(data):
        raise SnapshotError("the header or the footer is missing")
    timestamp_ms = _header_timestamp(controls.pop(SNAPSHOT_HEADER))
    del controls[SNAPSHOT_FOOTER]
    return Snapshot(timestamp_ms, values, controls)


def _header_timestamp(value: bytes) -> int:
    return SnapshotHeaderRecord.decode(Reader(value), 0).last_contained_log_timestamp
