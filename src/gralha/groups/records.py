"""Records of `__consumer_offsets`: what groups and their offsets leave behind.

They are written in the versions that Kafka 4.3 writes, and read in all that it reads.
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
    """A key and what is true of it from now on; no value: nothing any more (a tombstone)."""

    key: Message
    value: Message | None


# The result of a request to a group, or of one of its timers.
GroupDecision = Decision[GroupRecord]


def encode_record(record: GroupRecord) -> tuple[bytes, bytes | None]:
    """The bytes of key and value."""
    key = coordinator_records.encode_key(record.key)
    if record.value is None:
        return key, None
    return key, coordinator_records.encode_value(record.value, _written_version(record.value))


def decode_record(key: bytes, value: bytes | None) -> GroupRecord | None:
    """The record in these bytes, or None when it is of a kind that is not served here.

    Such kinds come from newer versions, or from share and streams groups. Raises ProtocolError when the bytes
    are malformed.
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
    """Not always the newest: what brokers of Kafka 4.3 write, in any metadata version."""
    if isinstance(value, OffsetCommitValue) and value.expire_timestamp != -1:
        return 1  # the only one that has room for it
    if isinstance(value, GroupMetadataValue):
        return 3
    return value.MAX_VERSION


def _from_legacy(key: LegacyOffsetCommitKey, value: Message | None) -> GroupRecord:
    """The first brokers that kept offsets in this topic had another kind of record for them."""
    new_key = OffsetCommitKey(group=key.group, topic=key.topic, partition=key.partition)
    if not isinstance(value, LegacyOffsetCommitValue):
        return GroupRecord(new_key, None)
    return GroupRecord(
        new_key,
        OffsetCommitValue(
            offset=value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp
        ),
    )
