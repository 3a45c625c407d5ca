"""Records in batches: decoding returns the encoded records, and wrong ones get the right error."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocol.checked import check_records
from tests.protocol.record_strategies import RECORDS, content

from gralha.protocol import compression
from gralha.protocol.errors import (
    CorruptMessageError,
    ErrorCode,
    InvalidRecordError,
    InvalidTimestampError,
    MessageTooLargeError,
    error_for,
)
from gralha.protocol.record_check import REJECTED_MAX, RecordsRejectedError
from gralha.protocol.records import (
    HEADER_SIZE,
    Record,
    batches,
    convert_batch,
    crc_is_valid,
    decode_records,
    encode_batch,
    read_header,
)

CODECS = st.integers(0, 4)
NOON = 1_700_000_000_000


def decoded(batch: bytes) -> list[Record]:
    return decode_records(batch, 0, read_header(batch, 0))


def with_body(body: bytes, count: int, last_offset_delta: int | None = None) -> bytes:
    """A batch with hand-made records. Its CRC is not checked here."""
    delta = count - 1 if last_offset_delta is None else last_offset_delta
    empty = bytearray(encode_batch([]))
    empty[8:12] = (int(HEADER_SIZE) - 12 + len(body)).to_bytes(4, "big")
    empty[23:27] = delta.to_bytes(4, "big", signed=True)
    empty[57:61] = count.to_bytes(4, "big", signed=True)
    return bytes(empty) + body


class TestRoundTrip:
    @given(
        records=RECORDS,
        codec=CODECS,
        base_offset=st.integers(0, 2**62),
        leader_epoch=st.integers(-1, 2**31 - 1),
        producer_id=st.integers(-1, 2**63 - 1),
        producer_epoch=st.integers(-1, 2**15 - 1),
        base_sequence=st.integers(-1, 2**31 - 1),
        transactional=st.booleans(),
        control=st.booleans(),
    )
    def test_a_batch_keeps_everything(
        self,
        records: list[Record],
        codec: int,
        base_offset: int,
        leader_epoch: int,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        transactional: bool,
        control: bool,
    ) -> None:
        batch = encode_batch(
            records,
            compression=codec,
            base_offset=base_offset,
            leader_epoch=leader_epoch,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            transactional=transactional,
            control=control,
        )
        header = read_header(batch, 0)
        assert crc_is_valid(batch, 0, header)
        assert header.size_bytes == len(batch)
        assert header.compression == codec
        assert (header.base_offset, header.last_offset) == (base_offset, base_offset + len(records) - 1)
        assert header.partition_leader_epoch == leader_epoch
        assert (header.producer_id, header.producer_epoch) == (producer_id, producer_epoch)
        assert (header.is_transactional, header.is_control) == (transactional, control)
        assert header.base_timestamp == records[0].timestamp
        assert header.max_timestamp == max(record.timestamp for record in records)
        found = decode_records(batch, 0, header)
        assert [content(record) for record in found] == [content(record) for record in records]
        assert [record.offset for record in found] == list(range(base_offset, base_offset + len(records)))
        if base_sequence >= 0:
            assert [record.sequence for record in found] == [
                (base_sequence + i) % 2**31 for i in range(len(records))
            ]
            assert header.last_sequence == found[-1].sequence
        else:
            assert {record.sequence for record in found} == {-1} == {header.last_sequence}

    @given(records=RECORDS, codec=CODECS)
    def test_the_checks_pass_what_the_encoder_writes(self, records: list[Record], codec: int) -> None:
        batch = encode_batch(records, compression=codec)
        assert check_records(batch, 0, read_header(batch, 0)) == max(-1, *(r.timestamp for r in records))

    @given(records=RECORDS, before=CODECS, after=CODECS)
    def test_recompressing_keeps_the_records_and_the_header(
        self, records: list[Record], before: int, after: int
    ) -> None:
        batch = encode_batch(records, compression=before, base_offset=5, producer_id=9, base_sequence=3)
        sent = read_header(batch, 0)
        plain = compression.decompress(before, batch[HEADER_SIZE:], 1 << 20)
        other = convert_batch(b"??" + batch, 2, sent, plain, after, 77)
        header = read_header(other, 0)
        assert header.max_timestamp == 77
        assert crc_is_valid(other, 0, header)
        assert header.compression == after
        assert decode_records(other, 0, header) == decoded(batch)
        assert (header.producer_id, header.base_sequence, header.base_offset) == (9, 3, 5)

    def test_a_batch_in_the_middle_of_others(self) -> None:
        parts = [encode_batch([Record(b"k%d" % i, None, i)], base_offset=i) for i in range(5)]
        data = b"junk" + b"".join(parts)
        found = batches(data, 4, len(data))
        assert [position for position, _ in found] == [4 + sum(map(len, parts[:i])) for i in range(5)]
        keys = [decode_records(data, position, header)[0].key for position, header in found]
        assert keys == [b"k0", b"k1", b"k2", b"k3", b"k4"]

    def test_no_record_at_all(self) -> None:
        batch = encode_batch([], base_offset=7)
        header = read_header(batch, 0)
        assert (header.record_count, header.last_offset, header.next_offset) == (0, 6, 7)
        assert decode_records(batch, 0, header) == []

    def test_append_time_is_the_time_of_every_record(self) -> None:
        batch = encode_batch([Record(None, b"a", NOON), Record(None, b"b", NOON + 5)], append_time_ms=77)
        assert read_header(batch, 0).is_log_append_time
        assert [record.timestamp for record in decoded(batch)] == [77, 77]

    def test_deltas_of_any_size_wrap_as_in_java(self) -> None:
        ends = [-(2**63), 2**63 - 1, 0, -1, 2**62, -(2**62)]
        for first in ends:
            records = [Record(None, None, first), *(Record(None, None, other) for other in ends)]
            assert [record.timestamp for record in decoded(encode_batch(records))] == [first, *ends]

    def test_a_header_that_is_not_utf8_is_replaced(self) -> None:
        batch = encode_batch([Record(None, None, 0, [("?x", b"v")])]).replace(b"?x", b"\xffx")
        assert decoded(batch)[0].headers == [("\ufffdx", b"v")]

    def test_records_do_not_share_their_headers(self) -> None:
        first, second = decoded(encode_batch([Record(None, None, 0), Record(None, None, 0)]))
        first.headers.append(("mine", None))
        assert second.headers == []


# A record: length, attributes, timestamp delta, offset delta, key, value, headers.
PLAIN = b"\x0e\x00\x00\x00\x01\x02x\x00"


class TestMalformed:
    def refused(self, batch: bytes) -> str:
        """Readers refuse the batch, and so does the check. Returns the reason that readers give."""
        header = read_header(batch, 0)
        with pytest.raises(InvalidRecordError) as decoding:
            decode_records(batch, 0, header)
        with pytest.raises(InvalidRecordError):
            check_records(batch, 0, header)
        return decoding.value.message

    def test_the_sample_is_fine(self) -> None:
        assert [content(r) for r in decoded(with_body(PLAIN, 1))] == [(None, b"x", -1, [])]

    @pytest.mark.parametrize(
        ("body", "count", "reason"),
        [
            (PLAIN, 2, "ends before"),
            (PLAIN + PLAIN, 1, "goes on"),
            (b"", 1, "ends before"),
            (PLAIN, 0, "goes on"),
            (PLAIN, -1, "claims to have -1 records"),
            (PLAIN[:-1], 1, "claims 7 bytes where 6 remain"),
            (b"\x01" + PLAIN[1:], 1, "claims -1 bytes"),
            (b"\x10" + PLAIN[1:] + b"\x00", 1, "1 bytes more than its fields"),
            (b"\x0c" + PLAIN[1:-1], 1, "ends before"),
            (b"\x0e\x00\x00\x00\x01\x04x\x00", 1, "goes on|bytes more|ends before|remain"),
            (b"\x0e\x00\x00\x00\x01\x7fx\x00", 1, "bytes more|ends before|headers"),
            (b"\x0e\x00\x00\x00\x01\x02x\x01", 1, "-1 headers"),
            (b"\x0e\x00\x00\x00\x01\x02x\x02", 1, "1 headers"),
            (b"\x10\x00\x00\x00\x01\x02x\x02\x01", 1, "key of a header"),
            (b"\x14\x00\x00\x00\x01\x02x\x02\x02a\x7e", 1, "bytes where 0 remain"),
            (b"\x22\x00" + b"\xff" * 10 + b"\x01\x00\x01\x01\x00\x00", 1, "64 bits"),
            (b"\x22\x00" + b"\xff" * 9 + b"\x02" + b"\x00\x01\x01\x00\x00\x00", 1, "64 bits"),
        ],
    )
    def test_it_is_refused(self, body: bytes, count: int, reason: str) -> None:
        message = self.refused(with_body(body, count))
        assert any(part in message for part in reason.split("|")), message

    def test_a_batch_that_is_cut(self) -> None:
        batch = encode_batch([Record(None, b"value", 0)])
        header = read_header(batch, 0)
        with pytest.raises(InvalidRecordError):
            decode_records(batch[:-1], 0, header)

    def test_lengths_near_the_ends_of_64_bits(self) -> None:
        for length in (2**63 - 1, 2**62, 2**32, -(2**63), 2**63 - 20):
            number = _varint(length)
            fields = b"\x00\x00\x00" + number + b"\x01\x00"
            batch = with_body(_varint(len(fields)) + fields, 1)
            if length < 0:
                assert decoded(batch)[0].key is None
            else:
                assert "remain" in self.refused(batch)

    def test_a_record_does_not_reach_into_the_next_batch(self) -> None:
        # The length of the value crosses the end of the batch: there are bytes, but they are not its own.
        first = with_body(b"\x0e\x00\x00\x00\x01\x02x\x02", 1)
        data = first + encode_batch([Record(None, b"next", 0)])
        with pytest.raises(InvalidRecordError):
            decode_records(data, 0, read_header(data, 0))

    @given(records=RECORDS, codec=CODECS, place=st.integers(0, 10_000), byte=st.integers(0, 255))
    def test_a_changed_byte_raises_nothing_but_kafka_errors(
        self, records: list[Record], codec: int, place: int, byte: int
    ) -> None:
        batch = bytearray(encode_batch(records, compression=codec))
        batch[HEADER_SIZE + place % (len(batch) - HEADER_SIZE)] = byte
        data = bytes(batch)
        header = read_header(data, 0)
        for read in (decode_records, check_records):
            with contextlib.suppress(CorruptMessageError, InvalidRecordError, MessageTooLargeError):
                read(data, 0, header)


def _varint(value: int) -> bytes:
    """A second, plain implementation to test against."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class TestChecks:
    def test_offsets_must_be_in_a_row(self) -> None:
        batch = with_body(PLAIN + PLAIN, 2)
        assert len(decoded(batch)) == 2
        with pytest.raises(InvalidRecordError, match="offset delta"):
            check_records(batch, 0, read_header(batch, 0))

    @pytest.mark.parametrize("codec", range(5))
    def test_a_compacted_topic_needs_keys(self, codec: int) -> None:
        records = [Record(b"k", b"v", 0), Record(None, b"v", 0), Record(b"", b"v", 0), Record(None, None, 0)]
        batch = encode_batch(records, compression=codec)
        header = read_header(batch, 0)
        check_records(batch, 0, header, False)
        with pytest.raises(RecordsRejectedError) as refused:
            check_records(batch, 0, header, True)
        assert refused.value.code == ErrorCode.INVALID_RECORD
        assert [index for index, _ in refused.value.record_errors] == [1, 3]
        assert "key" in refused.value.record_errors[0][1]

    def test_timestamps_out_of_range_are_named(self) -> None:
        records = [Record(None, None, time) for time in (NOON, NOON - 11, -1, NOON + 11, NOON + 10)]
        batch = encode_batch(records)
        header = read_header(batch, 0)
        with pytest.raises(RecordsRejectedError) as refused:
            check_records(batch, 0, header, timestamp_min=NOON - 10, timestamp_max=NOON + 10)
        assert refused.value.code == ErrorCode.INVALID_TIMESTAMP
        assert [index for index, _ in refused.value.record_errors] == [1, 3]
        assert check_records(batch, 0, header, timestamp_min=NOON - 11, timestamp_max=NOON + 11) == NOON + 11

    def test_the_list_of_refused_records_is_bounded(self) -> None:
        batch = encode_batch([Record(None, None, 0)] * (REJECTED_MAX * 3))
        with pytest.raises(RecordsRejectedError) as refused:
            check_records(batch, 0, read_header(batch, 0), True)
        assert len(refused.value.record_errors) == REJECTED_MAX

    @pytest.mark.parametrize("codec", range(1, 5))
    def test_decompression_is_bounded(self, codec: int) -> None:
        batch = encode_batch([Record(None, bytes(100_000), 0)], compression=codec)
        header = read_header(batch, 0)
        for limit, refused in ((100_000, True), (101_000, False)):
            for read in (
                lambda limit: decode_records(batch, 0, header, limit),
                lambda limit: check_records(batch, 0, header, False, limit),
            ):
                if refused:
                    with pytest.raises(MessageTooLargeError):
                        read(limit)
                else:
                    read(limit)

    def test_the_codes_still_name_the_general_errors(self) -> None:
        assert type(error_for(ErrorCode.INVALID_RECORD)) is InvalidRecordError
        assert type(error_for(ErrorCode.INVALID_TIMESTAMP)) is InvalidTimestampError
