"""The records of coordinators in their own topics, as keys and values in Kafka's framing.

A key begins with the kind of record, a value with its version, each as an int16. Each topic has its own
kinds: `GROUP_RECORDS` are those of `__consumer_offsets`, `TRANSACTION_RECORDS` those of
`__transaction_state`, `SHARE_STATE_RECORDS` those of `__share_group_state`.
"""

from collections.abc import Mapping
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
from gralha.protocol.messages.share_state_records import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)
from gralha.protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue
from gralha.protocol.primitives import Reader, Writer


class RecordKind(NamedTuple):
    """The classes of the keys and the values of a kind of record."""

    key: type[Message]
    value: type[Message]


def _by_number(*kinds: RecordKind) -> dict[int, RecordKind]:
    return {kind.key.API_KEY: kind for kind in kinds}


GROUP_RECORDS: Final = _by_number(
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
TRANSACTION_RECORDS: Final = _by_number(RecordKind(TransactionLogKey, TransactionLogValue))
SHARE_STATE_RECORDS: Final = _by_number(
    RecordKind(ShareSnapshotKey, ShareSnapshotValue),
    RecordKind(ShareUpdateKey, ShareUpdateValue),
)

# Keys have only one version, because the kind decides their format.
KEY_VERSION: Final = 0


class UnknownKindError(ValueError):
    """A record of an unknown kind. It may be of a newer version of Kafka."""

    def __init__(self, kind: int) -> None:
        super().__init__(f"there is no record of kind {kind}")
        self.kind = kind


class DecodedRecord(NamedTuple):
    """A record of a coordinator. A tombstone has no value."""

    key: Message
    value: Message | None
    value_version: int


def encode_key(key: Message) -> bytes:
    return _framed(key.API_KEY, key, KEY_VERSION)


def encode_value(value: Message, version: int) -> bytes:
    return _framed(version, value, version)


def decode(kinds: Mapping[int, RecordKind], key: bytes, value: bytes | None) -> DecodedRecord:
    """Decodes a record. Raises UnknownKindError, or ProtocolError if the bytes are malformed.

    Remaining bytes at the end are ignored, as in Kafka.
    """
    key_reader = Reader(key)
    number = key_reader.int16()
    kind = kinds.get(number)
    if kind is None:
        raise UnknownKindError(number)
    decoded_key = kind.key.decode(key_reader, KEY_VERSION)
    if value is None:
        return DecodedRecord(decoded_key, None, -1)
    value_reader = Reader(value)
    version = value_reader.int16()
    return DecodedRecord(decoded_key, kind.value.decode(value_reader, version), version)


def _framed(prefix: int, message: Message, version: int) -> bytes:
    writer = Writer()
    writer.write_int16(prefix)
    message.encode(writer, version)
    return writer.to_bytes()
