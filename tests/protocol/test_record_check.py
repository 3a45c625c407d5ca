"""The check of a client's records: it agrees with a plain second implementation, in slices of any size."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocol.checked import ALL_AT_ONCE, check_records
from tests.protocol.malformed_batches import (
    CODECS,
    Case,
    Parts,
    batch,
    by_settings,
    overlong,
    sized,
    structural,
    varint,
)
from tests.protocol.record_strategies import HEADERS, RECORDS, TIMESTAMPS

from gralha.protocol import compression
from gralha.protocol.errors import ErrorCode, InvalidRecordError, KafkaError
from gralha.protocol.record_check import REJECTED_MAX, RecordCheck, RecordsRejectedError
from gralha.protocol.records import HEADER_SIZE, Record, decode_records, encode_batch, read_header

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
SLICES = st.sampled_from([1, 2, 3, 7, ALL_AT_ONCE])


# A second implementation


class MalformedError(Exception):
    pass


class Body:
    """The bytes of records, read one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, size: int) -> bytes:
        if size > len(self.data):
            raise MalformedError
        taken, self.data = self.data[:size], self.data[size:]
        return taken

    def number(self, bytes_max: int, bits: int) -> int:
        value = 0
        for index in range(bytes_max):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                break
        else:
            raise MalformedError
        if value >> bits:
            raise MalformedError
        return (value >> 1) ^ -(value & 1)

    def int32(self) -> int:
        return self.number(5, 32)

    def int64(self) -> int:
        return self.number(10, 64)


class Outcome(NamedTuple):
    max_timestamp: int
    keyless: list[int]


def reference(body: bytes, count: int, base_timestamp: int) -> Outcome:
    """What the check must find; MalformedError if no reader could read the records."""
    whole = Body(body)
    latest, keyless = -1, []
    for index in range(count):
        record = Body(whole.take(max(whole.int32(), 0)))
        record.take(1)
        timestamp = (base_timestamp + record.int64() + 2**63) % 2**64 - 2**63
        if record.int32() != index:
            raise MalformedError
        key_size = record.int32()
        record.take(max(key_size, 0))
        record.take(max(record.int32(), 0))
        headers = record.int32()
        if headers < 0:
            raise MalformedError
        for _ in range(headers):
            name_size = record.int32()
            if name_size < 0:
                raise MalformedError
            record.take(name_size)
            record.take(max(record.int32(), 0))
        if record.data:
            raise MalformedError
        latest = max(latest, timestamp)
        if key_size < 0:
            keyless.append(index)
    if whole.data:
        raise MalformedError
    return Outcome(latest, keyless)


def agree(body: bytes, count: int, slice_size: int, base_timestamp: int = NOW_MS) -> None:
    """Check and reference come to the same result, and readers can read what they accept."""
    data = batch(body, count, NOW_MS, base_timestamp=base_timestamp)
    header = read_header(data, 0)
    surroundings = random.Random(count).randbytes(20)
    inside = surroundings + data + surroundings
    try:
        expected = reference(body, count, base_timestamp)
    except MalformedError:
        for around, start in ((data, 0), (inside, len(surroundings))):
            with pytest.raises(InvalidRecordError) as refused:
                check_records(around, start, header, slice_size=slice_size)
            assert not isinstance(refused.value, RecordsRejectedError)
        return
    assert check_records(inside, len(surroundings), header, slice_size=slice_size) == expected.max_timestamp
    records = decode_records(data, 0, header)
    assert [record.offset for record in records] == list(range(count))
    assert max([-1, *(record.timestamp for record in records)]) == expected.max_timestamp
    assert [record.offset for record in records if record.key is None] == expected.keyless
    if expected.keyless:
        with pytest.raises(RecordsRejectedError) as rejected:
            check_records(data, 0, header, True, slice_size=slice_size)
        assert [index for index, _ in rejected.value.record_errors] == expected.keyless[:REJECTED_MAX]
    else:
        check_records(data, 0, header, True, slice_size=slice_size)


# What is right


@given(records=RECORDS, codec=st.sampled_from(CODECS), slice_size=SLICES)
def test_what_producers_send_is_right(records: list[Record], codec: int, slice_size: int) -> None:
    data = encode_batch(records, compression=codec)
    latest = check_records(data, 0, read_header(data, 0), slice_size=slice_size)
    assert latest == max([-1, *(record.timestamp for record in records)])


# What is wrong

FIELDS = {
    "attributes": st.binary(min_size=1, max_size=1),
    "timestamp_delta": st.integers(-(2**63), 2**63 - 1).map(varint)
    | st.integers(2, 12).map(lambda size: overlong(0, size)),
    "offset_delta": st.integers(-3, 5).map(varint) | st.integers(2, 7).map(lambda size: overlong(1, size)),
    "key": st.integers(-3, 12).map(lambda size: varint(size) + b"k" * 5) | st.none().map(sized),
    "value": st.integers(-3, 2**33).map(lambda size: varint(size) + b"v" * 5) | st.none().map(sized),
    "headers": st.tuples(st.integers(-2, 4), HEADERS).map(
        lambda drawn: (
            varint(drawn[0]) + b"".join(sized(name.encode()) + sized(value) for name, value in drawn[1])
        )
    ),
    "size": st.integers(-2, 40).map(varint) | st.integers(2, 7).map(lambda size: overlong(14, size)),
    "trailing": st.binary(max_size=3),
}


@given(
    count=st.integers(1, 6),
    place=st.integers(0, 5),
    field=st.sampled_from(sorted(FIELDS)),
    draw=st.data(),
    slice_size=SLICES,
)
def test_a_field_of_a_record_is_another(
    count: int, place: int, field: str, draw: st.DataObject, slice_size: int
) -> None:
    records = [Parts(offset_delta=varint(index)) for index in range(count)]
    changed = {field: draw.draw(FIELDS[field])}
    records[place % count] = records[place % count]._replace(**changed)
    agree(b"".join(record.encoded() for record in records), count, slice_size)


def body_of(records: list[Record]) -> bytes:
    return encode_batch(records)[HEADER_SIZE:]


@given(records=RECORDS, claimed=st.integers(0, 25), slice_size=SLICES)
def test_the_count_is_another(records: list[Record], claimed: int, slice_size: int) -> None:
    agree(body_of(records), claimed, slice_size, records[0].timestamp)


@given(records=RECORDS, size=st.integers(0, 100), rest=st.binary(max_size=9), slice_size=SLICES)
def test_the_end_is_cut_or_more_follows(
    records: list[Record], size: int, rest: bytes, slice_size: int
) -> None:
    body = body_of(records)
    agree(body[: max(len(body) - size, 0)] + rest, len(records), slice_size)


@given(records=RECORDS, place=st.integers(0, 10_000), new=st.binary(max_size=3), slice_size=SLICES)
def test_some_bytes_are_others(records: list[Record], place: int, new: bytes, slice_size: int) -> None:
    body = body_of(records)
    place %= len(body)
    agree(body[:place] + new + body[place + 1 :], len(records), slice_size)


@given(body=st.binary(max_size=120), count=st.integers(0, 5), slice_size=SLICES)
def test_any_bytes(body: bytes, count: int, slice_size: int) -> None:
    agree(body, count, slice_size)


@pytest.mark.parametrize("codec", CODECS)
def test_no_case_that_is_wrong_depends_on_the_slices_or_the_codec(codec: int) -> None:
    def outcome(case: Case, slice_size: int) -> object:
        data = case.make(NOW_MS)
        try:
            return check_records(data, 0, read_header(data, 0), slice_size=slice_size)
        except KafkaError as error:
            return str(error)

    for name, case in structural(codec).items():
        plain = structural(compression.NONE)[name]
        assert len({outcome(case, 1), outcome(case, 3), outcome(case, ALL_AT_ONCE)}) == 1, name
        assert type(outcome(case, 1)) is type(outcome(plain, 1)), name
    assert by_settings(codec).keys() == by_settings(compression.NONE).keys()


@pytest.mark.parametrize("count", [-1, -(2**31)])
def test_a_negative_count(count: int) -> None:
    data = batch(b"", count, NOW_MS, last_delta=0)
    with pytest.raises(InvalidRecordError, match=f"claims to have {count} records"):
        check_records(data, 0, read_header(data, 0))


# What a topic does not allow


@given(
    times=st.lists(TIMESTAMPS, min_size=1, max_size=8),
    range_=st.tuples(TIMESTAMPS, TIMESTAMPS).map(sorted),
    slice_size=SLICES,
)
def test_timestamps_out_of_range_are_named(times: list[int], range_: list[int], slice_size: int) -> None:
    data = encode_batch([Record(b"k", b"v", time) for time in times])
    header = read_header(data, 0)
    first, last = range_
    wrong = [index for index, time in enumerate(times) if time != -1 and not first <= time <= last]
    if wrong:
        with pytest.raises(RecordsRejectedError) as rejected:
            check_records(data, 0, header, timestamp_min=first, timestamp_max=last, slice_size=slice_size)
        assert rejected.value.code == ErrorCode.INVALID_TIMESTAMP
        assert [index for index, _ in rejected.value.record_errors] == wrong
        assert f"[{first}, {last}]" in rejected.value.record_errors[0][1]
    else:
        assert check_records(data, 0, header, timestamp_min=first, timestamp_max=last) == max(-1, *times)


@pytest.mark.parametrize(
    ("topics_time", "claimed", "own", "is_refused"),
    [
        (True, NOW_MS, NOW_MS - 7, True),
        (True, -1, NOW_MS - 7, True),
        (False, NOW_MS, NOW_MS - 7, False),
        (False, -1, NOW_MS - 7, True),
        (False, 5, NOW_MS - 7, True),
        (False, NOW_MS, 5, True),
    ],
)
def test_the_brokers_time_is_not_for_clients_to_claim(
    topics_time: bool, claimed: int, own: int, is_refused: bool
) -> None:
    """Kafka ignores the claim if the time is in the range; then the records' own timestamps count."""
    data = bytearray(encode_batch([Record(b"k", b"v", own)] * 2, append_time_ms=0))
    data[35:43] = claimed.to_bytes(8, signed=True)
    header = read_header(bytes(data), 0)
    check = RecordCheck(
        bytes(data), HEADER_SIZE, len(data), header, "a-0", False, topics_time, NOW_MS - HOUR_MS, NOW_MS
    )
    if is_refused:
        with pytest.raises(RecordsRejectedError) as rejected:
            check.walk(100)
        assert rejected.value.code == ErrorCode.INVALID_TIMESTAMP
        assert [index for index, _ in rejected.value.record_errors] == [0, 1]
    else:
        assert check.walk(10)
        assert check.max_timestamp == NOW_MS - 7


def test_a_message_quotes_three_and_counts_all() -> None:
    data = encode_batch([Record(None, None, 0)] * (REJECTED_MAX * 3))
    with pytest.raises(RecordsRejectedError) as rejected:
        check_records(data, 0, read_header(data, 0), True, slice_size=100)
    assert len(rejected.value.record_errors) == REJECTED_MAX
    assert f"due to {REJECTED_MAX * 3} record errors in total" in rejected.value.message
    assert rejected.value.message.count("RecordError(batchIndex=") == 3


def test_naming_records_is_not_free() -> None:
    """A slice of rejected records is shorter, because each gets a sentence."""
    data = encode_batch([Record(None, None, 0)] * 1000)
    check = RecordCheck(data, HEADER_SIZE, len(data), read_header(data, 0), "a-0", True)
    assert not check.walk(1000)
    assert check.index < 100


def test_a_malformed_record_counts_more_than_rejected_ones() -> None:
    body = Parts(key=sized(None)).encoded() + b"\x7f"
    data = batch(body, 2, NOW_MS)
    with pytest.raises(InvalidRecordError) as refused:
        check_records(data, 0, read_header(data, 0), True)
    assert not isinstance(refused.value, RecordsRejectedError)
