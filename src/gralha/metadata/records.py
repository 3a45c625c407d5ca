"""Encodes metadata records as values of records in the metadata log, and decodes them.

The frame is Kafka's: the frame version (1), the type of the record and its version, all unsigned varints,
then the body. Records are written in their newest version, which metadata.version 4.3-IV0 demands.
"""

from typing import Final

from gralha.protocol.message import Message
from gralha.protocol.messages.broker_records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from gralha.protocol.messages.cluster_records import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    NoOpRecord,
    ProducerIdsRecord,
)
from gralha.protocol.messages.security_records import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from gralha.protocol.messages.topic_records import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from gralha.protocol.primitives import ProtocolError, Reader, Writer

FRAME_VERSION: Final = 1

RECORD_TYPES: Final[tuple[type[Message], ...]] = (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
)
_BY_KEY: Final[dict[int, type[Message]]] = {record_type.API_KEY: record_type for record_type in RECORD_TYPES}


class UnknownRecordError(ProtocolError):
    """A record that this version cannot apply. The node stops, because it would miss what the record says."""


def encode_record(record: Message) -> bytes:
    """The framed bytes of a record."""
    writer = Writer()
    writer.write_unsigned_varint(FRAME_VERSION)
    writer.write_unsigned_varint(record.API_KEY)
    writer.write_unsigned_varint(record.MAX_VERSION)
    record.encode(writer, record.MAX_VERSION)
    return writer.to_bytes()


def decode_record(data: bytes) -> Message:
    """The record in framed bytes. Raises ProtocolError if they are malformed or of an unknown type."""
    reader = Reader(data)
    frame_version = reader.unsigned_varint()
    if frame_version != FRAME_VERSION:
        raise ProtocolError(
            f"metadata record with frame version {frame_version}, but only {FRAME_VERSION} is supported"
        )
    key = reader.unsigned_varint()
    version = reader.unsigned_varint()
    record_type = _BY_KEY.get(key)
    if record_type is None:
        raise UnknownRecordError(f"metadata record of type {key}, which this version does not know")
    record = record_type.decode(reader, version)
    if reader.remaining():
        raise ProtocolError(f"{reader.remaining()} bytes too many after a {record_type.__name__}")
    return record
