"""The frame around metadata records."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.metadata.records import RECORD_TYPES, UnknownRecordError, decode_record, encode_record
from gralha.protocol.messages import METADATA_RECORDS
from gralha.protocol.messages.cluster_records import FeatureLevelRecord, NoOpRecord
from gralha.protocol.messages.topic_records import TopicRecord
from gralha.protocol.primitives import ProtocolError


@pytest.mark.parametrize("record_type", RECORD_TYPES, ids=lambda record_type: record_type.__name__)
def test_every_record_comes_back(record_type):
    record = record_type()
    assert decode_record(encode_record(record)) == record


def test_the_frame_is_kafkas():
    # Frame version 1, type 12, version 0, then a compact string, a short, no tagged fields.
    assert encode_record(FeatureLevelRecord(name="ab", feature_level=3)) == b"\x01\x0c\x00\x03ab\x00\x03\x00"


# They are declared, so that they have names, but refused, because a node would miss their content.
NOT_APPLIED = {
    "AbortTransactionRecord",
    "BeginTransactionRecord",
    "EndTransactionRecord",
    "ZkMigrationStateRecord",
}


def test_which_records_are_declared_but_not_applied():
    known = {record_type.__name__ for record_type in RECORD_TYPES}
    declared = {name for name, _ in METADATA_RECORDS.values()}
    assert declared - known == NOT_APPLIED
    assert known < declared


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", ProtocolError),
        (b"\x00\x0c\x00", ProtocolError),
        (b"\x01\x7f\x00", UnknownRecordError),
        (encode_record(NoOpRecord()) + b"x", ProtocolError),
        (b"\x01\x02\x09" + encode_record(TopicRecord())[3:], ProtocolError),
    ],
)
def test_other_bytes_are_refused(data, error):
    with pytest.raises(error):
        decode_record(data)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_record_or_an_error(data):
    with suppress(ProtocolError):
        decode_record(b"\x01" + data)
