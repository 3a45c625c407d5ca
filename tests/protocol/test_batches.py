"""Batch headers: fields, CRC, what a broker may patch, and what it refuses from a client."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocol.record_strategies import RECORDS

from gralha.protocol.errors import (
    CorruptMessageError,
    InvalidRecordError,
    KafkaError,
    UnsupportedCompressionTypeError,
)
from gralha.protocol.records import (
    HEADER_SIZE,
    BatchHeader,
    Record,
    batches,
    check_client_batch,
    crc_is_valid,
    decode_records,
    encode_batch,
    increment_sequence,
    patched_header,
    produced_batch,
    read_header,
    timed_header,
)

BATCH = encode_batch([Record(b"k", b"v", 1000), Record(None, b"w", 900)], compression=1)
LAYOUT = ">qiiBIhiqqqhii"


def with_fields(**fields: int) -> BatchHeader:
    """The header of a valid client batch, with some other fields."""
    header = read_header(encode_batch([Record(None, b"v", 5)] * 3), 0)
    for name, value in fields.items():
        setattr(header, name, value)
    return header


@given(
    fields=st.tuples(
        st.integers(-(2**63), 2**63 - 1),
        st.integers(49, 2**31 - 1),
        st.integers(-(2**31), 2**31 - 1),
        st.just(2),
        st.integers(0, 2**32 - 1),
        st.integers(-(2**15), 2**15 - 1),
        st.integers(-(2**31), 2**31 - 1),
        *[st.integers(-(2**63), 2**63 - 1)] * 3,
        st.integers(-(2**15), 2**15 - 1),
        *[st.integers(-(2**31), 2**31 - 1)] * 2,
    )
)
def test_every_field_is_where_kafka_puts_it(fields: tuple[int, ...]) -> None:
    header = read_header(b"abc" + struct.pack(LAYOUT, *fields), 3)
    read: tuple[int, ...] = (
        header.base_offset,
        header.size_bytes - 12,
        header.partition_leader_epoch,
        header.magic,
        header.crc,
        header.attributes,
        header.last_offset_delta,
        header.base_timestamp,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.record_count,
    )
    assert read == fields
    assert header.has_producer_id == (header.producer_id >= 0)
    assert header.has_delete_horizon == bool(header.attributes & 64)


@pytest.mark.parametrize("magic", [0, 1, 3, 127, 255])
def test_another_magic_is_no_header(magic: int) -> None:
    with pytest.raises(CorruptMessageError, match="magic"):
        read_header(BATCH[:16] + bytes([magic]) + BATCH[17:], 0)


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 13, 48])
def test_a_length_that_cannot_hold_the_header(length: int) -> None:
    with pytest.raises(CorruptMessageError):
        read_header(BATCH[:8] + length.to_bytes(4, "big", signed=True) + BATCH[12:], 0)


@pytest.mark.parametrize("position", [-1, -61, 1, 2**40])
def test_a_header_outside_of_the_bytes(position: int) -> None:
    with pytest.raises(CorruptMessageError):
        read_header(BATCH[:HEADER_SIZE], position)


@given(data=st.binary(max_size=200), position=st.integers(-5, 200), end=st.integers(0, 200))
def test_junk_raises_nothing_but_kafka_errors(data: bytes, position: int, end: int) -> None:
    end = min(end, len(data))
    for read in (
        lambda: read_header(data, position),
        lambda: batches(data, max(position, 0), end),
        lambda: produced_batch(data, min(max(position, 0), end), end, 9),
    ):
        try:
            read()
        except KafkaError as error:
            known = isinstance(error, CorruptMessageError | InvalidRecordError)
            if not known:
                raise


class TestCrc:
    def test_any_changed_byte_under_the_crc_is_noticed(self) -> None:
        for place in range(17, len(BATCH)):
            data = bytearray(BATCH)
            data[place] ^= 0x40
            changed = bytes(data)
            assert not crc_is_valid(changed, 0, read_header(changed, 0))

    def test_big_batches_and_positions(self) -> None:
        batch = encode_batch([Record(None, bytes(10_000), 0)])
        data = b"xx" + batch + b"yy"
        header = read_header(data, 2)
        assert crc_is_valid(data, 2, header)
        assert not crc_is_valid(data[:-4], 2, header)


class TestPatching:
    @given(
        records=RECORDS,
        codec=st.integers(0, 4),
        offset=st.integers(0, 2**63 - 1),
        epoch=st.integers(0, 2**31 - 1),
    )
    def test_offset_and_epoch_leave_the_rest_alone(
        self, records: list[Record], codec: int, offset: int, epoch: int
    ) -> None:
        batch = b"~~~" + encode_batch(records, compression=codec)
        head = patched_header(batch, 3, offset, epoch)
        assert len(head) == HEADER_SIZE
        whole = head + batch[3 + HEADER_SIZE :]
        header = read_header(whole, 0)
        assert (header.base_offset, header.partition_leader_epoch) == (offset, epoch)
        assert crc_is_valid(whole, 0, header)
        assert whole[16:] == batch[3 + 16 :]

    @given(records=RECORDS, codec=st.integers(0, 4), time=st.integers(0, 2**62))
    def test_append_time(self, records: list[Record], codec: int, time: int) -> None:
        batch = b"~~~" + encode_batch(records, compression=codec, transactional=True)
        whole = timed_header(batch, 3, read_header(batch, 3), 88, 4, time, True) + batch[3 + HEADER_SIZE :]
        header = read_header(whole, 0)
        assert crc_is_valid(whole, 0, header)
        assert header.is_log_append_time
        assert header.is_transactional
        assert (header.base_offset, header.partition_leader_epoch, header.max_timestamp) == (88, 4, time)
        assert {record.timestamp for record in decode_records(whole, 0, header)} == {time}

    @given(records=RECORDS, codec=st.integers(0, 4), time=st.integers(0, 2**62), claimed=st.booleans())
    def test_another_max_timestamp(self, records: list[Record], codec: int, time: int, claimed: bool) -> None:
        sent = encode_batch(records, compression=codec, append_time_ms=5 if claimed else -1)
        whole = timed_header(sent, 0, read_header(sent, 0), 88, 4, time, False) + sent[HEADER_SIZE:]
        header = read_header(whole, 0)
        assert crc_is_valid(whole, 0, header)
        assert (header.is_log_append_time, header.max_timestamp) == (False, time)
        assert [record.timestamp for record in decode_records(whole, 0, header)] == [
            record.timestamp for record in records
        ]


class TestRanges:
    def test_only_whole_batches_are_found(self) -> None:
        data = BATCH * 3
        for end in range(len(data) + 1):
            found = batches(data, 0, end)
            assert [position for position, _ in found] == [i * len(BATCH) for i in range(end // len(BATCH))]

    def test_corruption_in_the_range_is_an_error(self) -> None:
        with pytest.raises(CorruptMessageError):
            batches(BATCH + bytes(100), 0, len(BATCH) + 100)


class TestProduced:
    """The batches that a partition of a Produce request may have."""

    def test_one_batch(self) -> None:
        header = produced_batch(b"--" + BATCH + b"--", 2, 2 + len(BATCH), 3)
        assert header.record_count == 2

    @pytest.mark.parametrize("size", [0, 5, 11, 12, 16, 17, 60, len(BATCH) - 1])
    def test_no_whole_batch(self, size: int) -> None:
        with pytest.raises(InvalidRecordError):
            produced_batch(BATCH, 0, size, 9)

    @pytest.mark.parametrize("magic", [0, 1])
    def test_the_formats_of_old(self, magic: int) -> None:
        message = struct.pack(">qiIBb", 0, 14 + 8, 0, magic, 0) + bytes(16)
        with pytest.raises(InvalidRecordError, match="magic 2"):
            produced_batch(message, 0, len(message), 9)

    def test_a_format_to_come(self) -> None:
        with pytest.raises(CorruptMessageError):
            produced_batch(BATCH[:16] + b"\x03" + BATCH[17:], 0, len(BATCH), 9)

    def test_two_batches(self) -> None:
        with pytest.raises(InvalidRecordError, match="several"):
            produced_batch(BATCH * 2, 0, 2 * len(BATCH), 9)

    @pytest.mark.parametrize("rest", [1, 16, 17, 60])
    def test_a_cut_second_batch_is_ignored_as_kafka_does(self, rest: int) -> None:
        assert produced_batch(BATCH * 2, 0, len(BATCH) + rest, 9).size_bytes == len(BATCH)

    def test_junk_after_the_batch(self) -> None:
        with pytest.raises(CorruptMessageError):
            produced_batch(BATCH + bytes(40), 0, len(BATCH) + 40, 9)

    def test_zstd_came_with_version_7(self) -> None:
        batch = encode_batch([Record(None, b"v", 0)], compression=4)
        assert produced_batch(batch, 0, len(batch), 7).compression == 4
        with pytest.raises(UnsupportedCompressionTypeError):
            produced_batch(batch, 0, len(batch), 6)


class TestClientBatch:
    def test_a_good_one_passes(self) -> None:
        check_client_batch(with_fields())
        check_client_batch(with_fields(producer_id=5, producer_epoch=0, base_sequence=0))

    @pytest.mark.parametrize(
        ("fields", "error"),
        [
            ({"base_offset": 1}, InvalidRecordError),
            ({"last_offset_delta": -1}, InvalidRecordError),
            ({"record_count": 0}, InvalidRecordError),
            ({"record_count": -1}, InvalidRecordError),
            ({"record_count": 4}, InvalidRecordError),
            ({"last_offset_delta": 3}, InvalidRecordError),
            ({"attributes": 0x20}, InvalidRecordError),
            ({"producer_id": 0, "base_sequence": -1}, InvalidRecordError),
            ({"attributes": 5}, UnsupportedCompressionTypeError),
        ],
    )
    def test_kafka_refuses(self, fields: dict[str, int], error: type[KafkaError]) -> None:
        with pytest.raises(error):
            check_client_batch(with_fields(**fields))


@pytest.mark.parametrize(
    ("sequence", "increment", "result"),
    [(0, 0, 0), (0, 5, 5), (2**31 - 1, 0, 2**31 - 1), (2**31 - 1, 1, 0), (2**31 - 3, 5, 2)],
)
def test_sequences_wrap(sequence: int, increment: int, result: int) -> None:
    assert increment_sequence(sequence, increment) == result
