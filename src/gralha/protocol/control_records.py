"""Control records, which brokers and the quorum write between the records of clients.

They are in batches with the control flag. The key has a version and a type, 16 bits each. The value depends
on the type. Transaction markers are encoded here. The quorum's messages (leader change, snapshot header, ...)
are declared like any other message.
"""

from __future__ import annotations

import struct
from typing import Final

from gralha.protocol.errors import InvalidRecordError
from gralha.protocol.records import Record, encode_batch

ABORT: Final = 0
COMMIT: Final = 1
LEADER_CHANGE: Final = 2
SNAPSHOT_HEADER: Final = 3
SNAPSHOT_FOOTER: Final = 4
KRAFT_VERSION: Final = 5
KRAFT_VOTERS: Final = 6

_KEY: Final = struct.Struct(">hh")
_END_MARKER: Final = struct.Struct(">hi")


def control_key(control_type: int) -> bytes:
    """The key of a control record."""
    return _KEY.pack(0, control_type)


def control_type(key: bytes | None) -> int:
    """The type of a control record. Later versions may add fields to the key but keep these two."""
    if key is None or len(key) < _KEY.size:
        raise InvalidRecordError("The key of a control record is too short for its version and type")
    version, kind = _KEY.unpack_from(key)
    if version < 0:
        raise InvalidRecordError(f"The key of a control record has the version {version}")
    return int(kind)


def encode_control_batch(
    control_type: int,
    value: bytes,
    *,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """A batch of one control record of the quorum."""
    record = Record(control_key(control_type), value, timestamp_ms)
    return encode_batch([record], base_offset=base_offset, leader_epoch=leader_epoch, control=True)


def encode_end_marker(
    *,
    commit: bool,
    coordinator_epoch: int,
    producer_id: int,
    producer_epoch: int,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """The batch that ends a producer's transaction in a partition."""
    key = control_key(COMMIT if commit else ABORT)
    record = Record(key, _END_MARKER.pack(0, coordinator_epoch), timestamp_ms)
    return encode_batch(
        [record],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def coordinator_epoch(value: bytes | None) -> int:
    """The epoch of the coordinator that wrote a transaction marker, from the marker's value."""
    if value is None or len(value) < _END_MARKER.size:
        raise InvalidRecordError("The value of a transaction marker is too short")
    version, epoch = _END_MARKER.unpack_from(value)
    if version < 0:
        raise InvalidRecordError(f"The value of a transaction marker has the version {version}")
    return int(epoch)
