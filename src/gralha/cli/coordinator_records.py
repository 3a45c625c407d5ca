"""The records of coordinators as JSON, as Apache Kafka's tools show them.

They are in `__consumer_offsets`, `__transaction_state` and `__share_group_state`. Each decoder of
kafka-dump-log shows all kinds of one topic. Each formatter of the console consumer shows its own kinds.
Records of share and streams groups in `__consumer_offsets` are unknown here, like records of a newer version.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

from gralha.cli.message_formatter import ConsumedRecord
from gralha.cli.program import CommandError
from gralha.protocol.coordinator_records import (
    GROUP_RECORDS,
    KEY_VERSION,
    SHARE_STATE_RECORDS,
    TRANSACTION_RECORDS,
    DecodedRecord,
    RecordKind,
    UnknownKindError,
    decode,
)
from gralha.protocol.message import Message
from gralha.protocol.message_json import Json, json_text, to_json
from gralha.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from gralha.protocol.messages.group_records import (
    GroupMetadataValue,
    MemberMetadata,
)
from gralha.protocol.primitives import ProtocolError, Reader
from gralha.protocol.records import Record

# The decoders of kafka-dump-log, by their options.
DECODERS: Final = {
    "offsets-decoder": GROUP_RECORDS,
    "transaction-log-decoder": TRANSACTION_RECORDS,
    "share-group-state-decoder": SHARE_STATE_RECORDS,
}
# The formatters of the console consumer, by the last part of their class names.
FORMATTERS: Final = {
    "OffsetsMessageFormatter": {number: GROUP_RECORDS[number] for number in (0, 1)},
    "GroupMetadataMessageFormatter": {number: GROUP_RECORDS[number] for number in (2,)},
    "TransactionLogMessageFormatter": TRANSACTION_RECORDS,
    "ShareGroupStateMessageFormatter": SHARE_STATE_RECORDS,
}


def dumped(kinds: Mapping[int, RecordKind], record: Record) -> list[str]:
    """The key and the value of a record in a log file. Raises ProtocolError if the record has no key."""
    if record.key is None:
        raise ProtocolError(f"the record at offset {record.offset} has no key")
    try:
        decoded = decode(kinds, record.key, record.value)
    except UnknownKindError as error:
        return [f"key: Unknown record type {error.kind} at offset {record.offset}, skipping."]
    except ProtocolError as error:
        return [f"key: Error at offset {record.offset}, skipping. {error}"]
    key: Json = {"type": str(decoded.key.API_KEY), "data": to_json(decoded.key, KEY_VERSION)}
    return [f"key: {json_text(key)}", f"payload: {_dumped_value(decoded)}"]


def _dumped_value(decoded: DecodedRecord) -> str:
    value, version = decoded.value, decoded.value_version
    if value is None:
        return "<DELETE>"
    data = to_json(value, version)
    if isinstance(value, GroupMetadataValue) and value.protocol_type == "consumer":
        data["members"] = [_dumped_consumer(member, version) for member in value.members]
    return json_text({"version": str(version), "data": data})


def _dumped_consumer(member: MemberMetadata, version: int) -> Json:
    """A member of a classic group, with its subscription and assignment decoded."""
    return {
        **to_json(member, version),
        "subscription": _consumer_data(ConsumerProtocolSubscription, member.subscription),
        "assignment": _consumer_data(ConsumerProtocolAssignment, member.assignment),
    }


def _consumer_data(message_class: type[Message], data: bytes) -> Json:
    try:
        version = Reader(data).int16()
        return to_json(message_class.decode(Reader(data, 2), version), version)
    except ProtocolError:
        return b64encode(data).decode("ascii")


class CoordinatorRecordFormatter:
    """Shows some kinds of records, one on a line, and skips the others.

    Apache Kafka's formatters do not end their lines. Programs that read JSON accept both.
    """

    def __init__(self, kinds: Mapping[int, RecordKind]) -> None:
        self._kinds = kinds

    def format(self, record: ConsumedRecord) -> bytes:
        if record.key is None:
            return b""
        try:
            decoded = decode(self._kinds, record.key, record.value)
        except UnknownKindError:
            return b""
        except ProtocolError as error:
            raise CommandError(f"Could not read record at offset {record.offset} due to: {error}") from None
        version = decoded.value_version
        value: Json = None
        if decoded.value is not None:
            value = {"version": version, "data": to_json(decoded.value, version)}
        key: Json = {"type": decoded.key.API_KEY, "data": to_json(decoded.key, KEY_VERSION)}
        return json_text({"key": key, "value": value}).encode() + b"\n"
