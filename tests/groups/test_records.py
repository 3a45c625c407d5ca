"""Records of `__consumer_offsets` have Kafka's bytes, and whatever Kafka ever wrote there can be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.groups.golden_records import ID, LATER_MS, OFFSET_KEY, READ, TIME_MS, WRITTEN

from gralha.groups.records import GroupRecord, decode_record, encode_record
from gralha.protocol.coordinator_records import GROUP_RECORDS
from gralha.protocol.messages.group_records import OffsetCommitValue
from gralha.protocol.primitives import ProtocolError


@pytest.mark.parametrize(("record", "key", "value"), WRITTEN)
def test_records_are_written_as_kafka_writes_them(record: GroupRecord, key: str, value: str | None) -> None:
    written_key, written_value = encode_record(record)
    assert written_key.hex() == key
    assert (None if written_value is None else written_value.hex()) == value


@pytest.mark.parametrize(("record", "key", "value"), WRITTEN + READ)
def test_records_are_read_as_kafka_reads_them(record: GroupRecord, key: str, value: str | None) -> None:
    assert decode_record(bytes.fromhex(key), None if value is None else bytes.fromhex(value)) == record


def test_every_kind_of_record_is_covered() -> None:
    assert {bytes.fromhex(key)[1] for _, key, value in WRITTEN + READ if value is not None} == set(
        GROUP_RECORDS
    )
    for number, kind in GROUP_RECORDS.items():
        assert (number, number) == (kind.key.API_KEY, kind.value.API_KEY)
        assert kind.key.__name__.removesuffix("Key") == kind.value.__name__.removesuffix("Value")


def test_a_commit_with_an_expiry_is_written_in_the_version_that_has_it() -> None:
    _, value = encode_record(GroupRecord(OFFSET_KEY, OffsetCommitValue(42, 7, "note", TIME_MS, LATER_MS, ID)))
    assert value is not None
    assert value.hex() == "0001000000000000002a00046e6f74650000018bcfe56800000001a3185c5000"


@pytest.mark.parametrize("kind", [9, 11, 17, 32767, -1])
def test_kinds_that_are_not_served_are_passed_over(kind: int) -> None:
    """Kind 11 is Kafka's ShareGroupMetadata."""
    key = kind.to_bytes(2, "big", signed=True) + bytes.fromhex("000167")
    assert decode_record(key, bytes.fromhex("000000000009000000000000000000")) is None
    assert decode_record(key, None) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("", None),
        ("00", None),
        ("00020002", None),  # a name of two bytes, and none there
        ("0002000167", ""),
        ("0002000167", "00"),
        ("0002000167", "0003"),
        ("0002000167", "000500"),  # a version that Kafka 4.3 does not have either
        ("0002000167", "ffff00"),
        ("0003000167", "000100000009"),
    ],
)
def test_malformed_records_are_refused(key: str, value: str | None) -> None:
    with pytest.raises(ProtocolError):
        decode_record(bytes.fromhex(key), None if value is None else bytes.fromhex(value))


@pytest.mark.parametrize(("record", "key", "value"), WRITTEN)
def test_truncated_values_are_refused(record: GroupRecord, key: str, value: str | None) -> None:
    for end in range(len(value or "") // 2):
        with pytest.raises(ProtocolError):
            decode_record(bytes.fromhex(key), bytes.fromhex(value or "")[:end])


@given(st.sampled_from(sorted(GROUP_RECORDS)), st.binary(max_size=60), st.binary(max_size=60))
def test_arbitrary_bytes_decode_or_are_refused(kind: int, key: bytes, value: bytes) -> None:
    try:
        record = decode_record(kind.to_bytes(2, "big") + key, value)
    except ProtocolError:
        return
    assert record is not None
    assert decode_record(*encode_record(record)) is not None


def test_what_a_newer_broker_appends_is_not_looked_at() -> None:
    record, key, value = WRITTEN[0]
    assert value is not None
    assert decode_record(bytes.fromhex(key + "00"), bytes.fromhex(value + "00")) == record
