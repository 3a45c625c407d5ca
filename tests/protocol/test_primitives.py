"""Reader and Writer: every primitive type, its bounds, and how they fail."""

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.protocol.primitives import (
    SPLICE_FROM_BYTES,
    ZERO_UUID,
    ProtocolError,
    Reader,
    RecordBytes,
    Writer,
    uuid_from_string,
    uuid_to_string,
)


def written(method: str, value: Any) -> bytes:
    writer = Writer()
    getattr(writer, f"write_{method}")(value)
    return writer.to_bytes()


def signed(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


TEXT = st.text(st.characters(codec="utf-8"), max_size=300)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int8": signed(8),
    "int16": signed(16),
    "uint16": st.integers(0, 0xFFFF),
    "int32": signed(32),
    "uint32": st.integers(0, 0xFFFFFFFF),
    "int64": signed(64),
    "float64": st.floats(allow_nan=False),
    "boolean": st.booleans(),
    "uuid": st.binary(min_size=16, max_size=16),
    "unsigned_varint": st.integers(0, 0xFFFFFFFF),
    "varint": signed(32),
    "string": TEXT,
    "nullable_string": st.none() | TEXT,
    "compact_string": TEXT,
    "compact_nullable_string": st.none() | TEXT,
    "bytes": st.binary(max_size=300),
    "nullable_bytes": st.none() | st.binary(max_size=300),
    "compact_bytes": st.binary(max_size=300),
    "compact_nullable_bytes": st.none() | st.binary(max_size=300),
}
READERS = {"bytes": "bytes_"}


@given(st.data())
@pytest.mark.parametrize("method", VALUES)
def test_every_type_survives_the_round_trip_and_no_truncation(method: str, data: st.DataObject) -> None:
    value = data.draw(VALUES[method])
    encoded = written(method, value)
    reader = Reader(b"\xff" + encoded + b"\xff", 1, 1 + len(encoded))
    assert getattr(reader, READERS.get(method, method))() == value
    assert reader.remaining() == 0
    for end in range(len(encoded)):
        # The bytes behind the reader's end are there, but not its own.
        with pytest.raises(ProtocolError):
            getattr(Reader(encoded, 0, end), READERS.get(method, method))()


@pytest.mark.parametrize(
    ("method", "value", "expected"),
    [
        ("int8", -1, "ff"),
        ("int16", -2, "fffe"),
        ("uint16", 40000, "9c40"),
        ("int32", 1 << 24, "01000000"),
        ("uint32", 0xFFFFFFFE, "fffffffe"),
        ("int64", -(1 << 63), "8000000000000000"),
        ("float64", 1.5, struct.pack(">d", 1.5).hex()),
        ("unsigned_varint", 300, "ac02"),
        ("unsigned_varint", 0xFFFFFFFF, "ffffffff0f"),
        ("varint", -1, "01"),
        ("varint", 64, "8001"),
        ("varint", -(1 << 31), "ffffffff0f"),
        ("string", "é", "0002c3a9"),
        ("nullable_string", None, "ffff"),
        ("compact_string", "a", "0261"),
        ("compact_nullable_string", None, "00"),
        ("bytes", b"a", "0000000161"),
        ("nullable_bytes", None, "ffffffff"),
        ("compact_nullable_bytes", b"", "01"),
    ],
)
def test_the_bytes_are_kafkas(method: str, value: Any, expected: str) -> None:
    assert written(method, value).hex() == expected


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("int8", 128),
        ("int8", -129),
        ("int8", 1 << 80),
        ("int16", 32768),
        ("uint16", -1),
        ("uint16", 65536),
        ("int32", 1 << 31),
        ("uint32", -1),
        ("uint32", 1 << 32),
        ("int64", 1 << 63),
        ("int64", 1 << 80),
        ("uuid", b"short"),
        ("unsigned_varint", -1),
        ("unsigned_varint", 1 << 32),
        ("varint", 1 << 31),
        ("string", "x" * 32768),
        ("compact_string", "x" * 32768),
    ],
)
def test_a_value_that_does_not_fit_is_refused(method: str, value: Any) -> None:
    with pytest.raises(ValueError):
        written(method, value)


@pytest.mark.parametrize(
    ("read", "data"),
    [
        (Reader.unsigned_varint, "ffffffffff01"),
        (Reader.unsigned_varint, "ffffffff10"),
        (Reader.string, "ffff"),
        (Reader.string, "0001ff"),
        (Reader.compact_string, "00"),
        (Reader.compact_string, "8180" + "02" + "78" * 32768),
        (Reader.bytes_, "ffffffff"),
        (Reader.compact_bytes, "00"),
        (Reader.array_length, "ffffffff"),
        (Reader.array_length, "00000003" + "0000"),
        (Reader.compact_array_length, "00"),
        (Reader.compact_array_length, "04" + "0000"),
        (Reader.records, "7fffffff"),
        (Reader.compact_records, "ffffffff0f"),
        (Reader.tagged_fields, "ffffffff0f"),
    ],
)
def test_malformed_input_is_a_protocol_error(read: Callable[[Reader], object], data: str) -> None:
    with pytest.raises(ProtocolError):
        read(Reader(bytes.fromhex(data)))


def test_null_arrays_are_minus_one_whatever_the_negative_number() -> None:
    assert Reader(b"\xff\xff\xff\xff").nullable_array_length() == -1
    assert Reader(b"\x80\x00\x00\x00").nullable_array_length() == -1
    assert Reader(b"\x00").compact_nullable_array_length() == -1


def test_a_reader_has_only_a_range_that_exists() -> None:
    for position, end in ((-1, 2), (3, 2), (0, 4)):
        with pytest.raises(ValueError):
            Reader(b"abc", position, end)
        with pytest.raises(ValueError):
            RecordBytes(b"abc", position, end)


@pytest.mark.parametrize("size", [0, 10, SPLICE_FROM_BYTES - 1, SPLICE_FROM_BYTES, SPLICE_FROM_BYTES * 3])
def test_records_are_read_and_written_by_reference(size: int) -> None:
    batch = bytes(range(256)) * (size // 256 + 1)
    records = RecordBytes(batch, 1, 1 + size)
    writer = Writer()
    writer.write_int8(7)
    writer.write_records(records)
    writer.write_compact_records(records)
    writer.write_records(None)
    writer.write_compact_records(None)
    encoded = writer.to_bytes()
    assert len(encoded) == writer.size()
    chunks = writer.finish_in_memory()
    assert b"".join(chunks) == encoded
    spliced = [chunk for chunk in chunks if isinstance(chunk, memoryview) and chunk.obj is batch]
    assert len(spliced) == (2 if size >= SPLICE_FROM_BYTES else 0)

    reader = Reader(encoded, 1)
    plain, compact = reader.records(), reader.compact_records()
    assert plain == compact == records
    assert plain is not None
    assert plain.data is encoded
    assert plain.view() == records.view()
    assert reader.records() is None
    assert reader.compact_records() is None
    assert reader.remaining() == 0


def test_a_whole_bytes_object_is_handed_on_as_it_is() -> None:
    batch = bytes(SPLICE_FROM_BYTES)
    writer = Writer()
    writer.write_raw_records(RecordBytes(batch, 0, len(batch)))
    assert writer.finish()[0] is batch


@given(st.lists(st.lists(st.sampled_from([0, 1, 300, SPLICE_FROM_BYTES, 70_000]), max_size=4), max_size=5))
def test_frames_carry_their_size_whatever_was_spliced_into_them(frames: list[list[int]]) -> None:
    writer = Writer()
    expected = b""
    for sizes in frames:
        writer.begin_frame()
        body = b""
        for size in sizes:
            data = b"r" * size
            writer.write_int8(1)
            writer.write_raw_records(RecordBytes(data, 0, size))
            body += b"\x01" + data
        writer.end_frame()
        expected += struct.pack(">i", len(body)) + body
    assert writer.size() == len(expected)
    assert b"".join(writer.finish_in_memory()) == expected
    assert writer.size() == 0
    writer.write_int8(5)
    assert writer.finish() == [b"\x05"]


def test_unknown_tagged_fields_are_kept_in_the_order_of_their_tags() -> None:
    writer = Writer()
    writer.write_tagged_fields(((300, b"b"), (2, b"aa")))
    assert writer.to_bytes().hex() == "02" + "02026161" + "ac020162"
    assert Reader(writer.to_bytes()).tagged_fields() == ((2, b"aa"), (300, b"b"))
    with pytest.raises(ProtocolError):
        writer.write_tagged_fields(((1, b""), (1, b"")))


def test_record_bytes_compare_by_content() -> None:
    assert RecordBytes(b"xaby", 1, 3) == RecordBytes(b"ab", 0, 2)
    assert hash(RecordBytes(b"xaby", 1, 3)) == hash(RecordBytes(b"ab", 0, 2))
    assert RecordBytes(b"ab", 0, 1) != RecordBytes(b"ab", 0, 2)
    assert RecordBytes(b"ab", 0, 2) != b"ab"


@given(st.binary(min_size=16, max_size=16))
def test_uuid_text_is_url_safe_base64(uuid: bytes) -> None:
    text = uuid_to_string(uuid)
    assert len(text) == 22
    assert uuid_from_string(text) == uuid


def test_uuid_text_of_zero_and_of_nonsense() -> None:
    assert uuid_to_string(ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    for text in ("", "A" * 21, "A" * 23, "A" * 21 + "é", "A" * 21 + "+", "A" * 21 + "B", "A" * 22 + "=="):
        with pytest.raises(ValueError):
            uuid_from_string(text)


def test_a_reader_with_a_limit_refuses_one_element_too_many() -> None:
    reader = Reader(b"\x00\x00\x00\x02" + bytes(4) + b"\x00\x00\x00\x03" + bytes(12))
    reader.elements_left = 4
    assert reader.array_length() == 2
    assert reader.nullable_array_length() == 0
    with pytest.raises(ProtocolError, match="too many"):
        reader.array_length()
