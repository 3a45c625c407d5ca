"""The records of groups and offsets in `__consumer_offsets`.

They are written in the versions that Kafka 4.3 writes, and read in all versions that it reads.
"""

from typing import Final, NamedTuple

from gralha.coordination.decision import Decision
from gralha.coordination.shard import Codec
from gralha.protocol import coordinator_records
from gralha.protocol.coordinator_records import GROUP_RECORDS, UnknownKindError
from gralha.protocol.message import Message
from gralha.protocol.messages.group_records import (
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)


class GroupRecord(NamedTuple):
    """A key and its value. Without a value the record is a tombstone: it deletes the key."""

    key: Message
    value: Message | None


# The result of a request to a group, or of one of its timers.
GroupDecision = Decision[GroupRecord]


def proof_of(group_id: str) -> GroupRecord:
    """A record that changes nothing: it deletes the offset of a partition that no topic has."""
    return GroupRecord(OffsetCommitKey(group_id, "", -1), None)


def encode_record(record: GroupRecord) -> tuple[bytes, bytes | None]:
    """The bytes of key and value."""
    key = coordinator_records.encode_key(record.key)
    if record.value is None:
        return key, None
    return key, coordinator_records.encode_value(record.value, _written_version(record.value))


def decode_record(key: bytes, value: bytes | None) -> GroupRecord | None:
    """The record in these bytes, or None if its kind is unknown here.

    Unknown kinds come from newer versions, and from share and streams groups. Raises ProtocolError if the
    bytes are malformed.
    """
    try:
        decoded = coordinator_records.decode(GROUP_RECORDS, key, value)
    except UnknownKindError:
        return None
    if isinstance(decoded.key, LegacyOffsetCommitKey):
        return _from_legacy(decoded.key, decoded.value)
    return GroupRecord(decoded.key, decoded.value)


GROUP_CODEC: Final = Codec(encode_record, decode_record)


def _written_version(value: Message) -> int:
    """The version that Kafka 4.3 writes. It is not always the newest."""
    if isinstance(value, OffsetCommitValue) and value.expire_timestamp != -1:
        return 1  # only this version has the field
    if isinstance(value, GroupMetadataValue):
        return 3
    return value.MAX_VERSION


def _from_legacy(key: LegacyOffsetCommitKey, value: Message | None) -> GroupRecord:
    """The oldest brokers with this topic had another kind of record for offsets."""
    new_key = OffsetCommitKey(group=key.group, topic=key.topic, partition=key.partition)
    if not isinstance(value, LegacyOffsetCommitValue):
        return GroupRecord(new_key, None)
    return GroupRecord(
        new_key,
        OffsetCommitValue(
            offset=value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp
        ),
    )
