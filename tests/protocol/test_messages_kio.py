"""Differential tests against kio: the same values, the same bytes, in every version of every message.

kio knows all but the records of the metadata log and of coordinators. It aborts the process on malformed
input, so it gets to see only what our own encoder wrote.
"""

import dataclasses
import datetime
import io
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.index import load_entity_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType
from tests.protocol.message_strategies import CASES, Case, class_named, decoded, encoded, messages

from gralha.protocol.compiler.model import Kind, Struct
from gralha.protocol.message import Struct as StructClass
from gralha.protocol.primitives import ZERO_UUID, RecordBytes

few = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
MILLISECOND = datetime.timedelta(milliseconds=1)
EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)
# kio spells these file names differently.
MODULES = {
    "LeaderChangeMessage": "leader_change_message",
    "SnapshotHeaderRecord": "snapshot_header_record",
    "SnapshotFooterRecord": "snapshot_footer_record",
    "KRaftVersionRecord": "k_raft_version_record",
    "VotersRecord": "voters_record",
    "ConsumerProtocolSubscription": "consumer_protocol_subscription",
    "ConsumerProtocolAssignment": "consumer_protocol_assignment",
    "RequestHeader": "request_header",
    "ResponseHeader": "response_header",
}


def kio_class(case: Case) -> Any:
    module = MODULES.get(case.message.name, case.definition.name)
    kind = EntityType[case.message.kind.value]
    assert kind is not EntityType.nested
    return load_entity_schema(module, case.version, kind)


def of_kio(value: Any, kafka_type: str | None) -> Any:
    """A value of kio in our terms."""
    if dataclasses.is_dataclass(value):
        return [field_of_kio(value, field) for field in dataclasses.fields(value)]
    if isinstance(value, tuple):
        return [of_kio(element, kafka_type) for element in value]
    if value is None:
        return {"uuid": ZERO_UUID, "datetime_i64": -1}.get(kafka_type or "")
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, ErrorCode):
        return value.value
    if isinstance(value, datetime.timedelta):
        return value // MILLISECOND
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // MILLISECOND
    return value


def field_of_kio(value: Any, field: "dataclasses.Field[Any]") -> Any:
    part = getattr(value, field.name)
    # A null array is just that. Only as an element does null stand for the uuid of zeros.
    if part is None and str(field.type).startswith("tuple"):
        return None
    return of_kio(part, field.metadata.get("kafka_type"))


def of_ours(case: Case, struct: Struct, value: StructClass) -> list[Any]:
    """The fields that the version has, with what kio fills in for a structure that is not there."""
    result = []
    for field in struct.fields:
        if case.version not in field.versions:
            continue
        part = getattr(value, field.name)
        if field.is_struct:
            inner = case.definition.structs[field.type]
            if part is None and field.tag is not None and not field.is_array:
                part = class_named(case.definition, field.type)()
            if isinstance(part, list):
                part = [of_ours(case, inner, element) for element in part]
            elif part is not None:
                part = of_ours(case, inner, part)
        elif isinstance(part, RecordBytes):
            part = part.to_bytes()
        result.append(part)
    return result


STORED = (Kind.RECORD, Kind.COORDINATOR_KEY, Kind.COORDINATOR_VALUE)
KIO_CASES = [case for case in CASES if case.message.kind not in STORED]


@pytest.mark.parametrize("case", KIO_CASES, ids=str)
@few
@given(st.data())
def test_kio_reads_and_writes_the_same(case: Case, data: st.DataObject) -> None:
    message = data.draw(messages(case, tame=True))
    ours = encoded(message, case.version)
    cls = kio_class(case)
    theirs, size = entity_reader(cls)(ours, 0)
    assert size == len(ours)
    assert of_kio(theirs, None) == of_ours(case, case.message.body, message)
    buffer = io.BytesIO()
    entity_writer(cls)(buffer, theirs)
    assert buffer.getvalue() == ours
    assert decoded(case.cls, buffer.getvalue(), case.version) == message
