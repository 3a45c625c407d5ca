"""What the log cleaner leaves of a machine's log in the end, when tombstones and markers may go as well.

Kafka cleans up to the first record of an open transaction. Below that, records of aborted transactions go,
and of the others only the last one of each key stays. A marker stays as long as a record of its transaction.
"""

from typing import Any

from gralha.coordination.loading import LoadedMarker, LoadedRecord
from gralha.groups.records import GroupRecord, encode_record
from gralha.protocol.messages.group_records import OffsetCommitKey


def compacted(log: list[Any]) -> list[Any]:
    """The entries that are left of a log, which may have transactions (see `Machine.log`)."""
    markers = [_marker_of(log, index) for index in range(len(log))]
    opened = [index for index, marker in enumerate(markers) if marker is None]
    end = min(opened, default=len(log))
    last: dict[bytes, int] = {}
    for index in range(end):
        record, marker = record_of(log[index]), markers[index]
        assert marker is not None
        if record is not None and (marker == index or log[marker].is_commit):
            last[encode_record(record)[0]] = index
    kept = {index for index in last.values() if _has_value(log[index])}
    kept |= {marker for index in kept if (marker := markers[index]) is not None}
    return [entry for index, entry in enumerate(log) if index >= end or index in kept]


def record_of(entry: Any) -> GroupRecord | None:
    """The record of an entry, None if that is a marker."""
    if isinstance(entry, LoadedRecord):
        entry = entry.record
    return entry if isinstance(entry, GroupRecord) else None


def groups_with_offsets(log: list[Any]) -> set[str]:
    """The groups of which the log has an offset."""
    records = [record for record in map(record_of, log) if record is not None and record.value is not None]
    return {record.key.group for record in records if isinstance(record.key, OffsetCommitKey)}


def _marker_of(log: list[Any], index: int) -> int | None:
    """The index of the marker that ends the entry's transaction, None if it is open.

    An entry that is in no transaction is its own marker.
    """
    entry = log[index]
    if not isinstance(entry, LoadedRecord) or entry.producer is None:
        return index
    for later in range(index + 1, len(log)):
        if isinstance(log[later], LoadedMarker) and log[later].producer.id == entry.producer.id:
            return later
    return None


def _has_value(entry: Any) -> bool:
    record = record_of(entry)
    return record is not None and record.value is not None
