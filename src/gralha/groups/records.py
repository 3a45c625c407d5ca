"""Records of `__consumer_offsets`: what groups and their offsets leave behind.

Kafka's framing: before a key stands the kind of record, before a value its version, each an int16. Values are
written in the versions that Kafka 4.3 writes, and read in all that it reads.
"""

from typing import Final, NamedTuple

from gralha.protocol.message import Message
from gralha.protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from gralha.protocol.primitives import Reader, Writer


class GroupRecord(NamedTuple):
    """A key and what is true of it from now on; no value: nothing any more (a tombstone)."""

    key: Message
    value: Message | None


class RecordKind(NamedTuple):
    key: type[Message]
    value: type[Message]


_KINDS: Final = (
    RecordKind(LegacyOffsetCommitKey, LegacyOffsetCommitValue),
    RecordKind(OffsetCommitKey, OffsetCommitValue),
    RecordKind(GroupMetadataKey, GroupMetadataValue),
    RecordKind(ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    RecordKind(ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    RecordKind(ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    RecordKind(ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
    RecordKind(ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
    RecordKind(ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    RecordKind(ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
)
RECORD_KINDS: Final[dict[int, RecordKind]] = {kind.key.API_KEY: kind for kind in _KINDS}

KEY_VERSION: Final = 0


def encode_record(record: GroupRecord) -> tuple[bytes, bytes | None]:
    """The bytes of key and value."""
    key, value = record
    if value is None:
        return _framed(key.API_KEY, key, KEY_VERSION), None
    version = _written_version(value)
    return _framed(key.API_KEY, key, KEY_VERSION), _framed(version, value, version)


def decode_record(key: bytes, value: bytes | None) -> GroupRecord | None:
    """The record in these bytes, or None when it is of a kind that is not served here.

    Such kinds come from newer versions, or from share and streams groups. Raises ProtocolError when the bytes
    are malformed. Bytes left over at the end are not looked at, as Kafka does not look at them either.
    """
    key_reader = Reader(key)
    kind = RECORD_KINDS.get(key_reader.int16())
    if kind is None:
        return None
    decoded_key = kind.key.decode(key_reader, KEY_VERSION)
    decoded_value: Message | None = None
    if value is not None:
        value_reader = Reader(value)
        decoded_value = kind.value.decode(value_reader, value_reader.int16())
    if isinstance(decoded_key, LegacyOffsetCommitKey):
        return _from_legacy(decoded_key, decoded_value)
    return GroupRecord(decoded_key, decoded_value)


def _framed(prefix: int, message: Message, version: int) -> bytes:
    writer = Writer()
    writer.write_int16(prefix)
    message.encode(writer, version)
    return writer.to_bytes()


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
