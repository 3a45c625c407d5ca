"""Record batches to Arrow and back, compared with the codec that makes an object per record."""

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gralha.client.arrow_records import ArrowRecords
from gralha.client.arrow_rows import binary_column, header_columns
from gralha.client.record_builder import RecordBuilder, RowColumns, RowRouter, TopicRoute
from gralha.client.record_chunk import RecordChunk
from gralha.protocol.batches import BatchHeader, batches, crc_is_valid, read_header
from gralha.protocol.compression import NAMES
from gralha.protocol.errors import InvalidRecordError
from gralha.protocol.record_walk import RecordWalk, batch_of_none, batch_of_rest
from gralha.protocol.records import Record, decode_records, encode_batch

EVERYTHING = 2**62
HEADERS_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
CODECS = st.integers(0, len(NAMES) - 1)

fields = st.none() | st.binary(max_size=40) | st.binary(min_size=60, max_size=300)
headers = st.lists(st.tuples(st.text(max_size=10), st.none() | st.binary(max_size=10)), max_size=3)
records = st.builds(
    lambda key, value, timestamp, headers: Record(key, value, timestamp, headers),
    fields,
    fields,
    st.integers(-1, 253_402_300_799_999),
    headers,
)
# For each batch: its records, its codec, its LogAppendTime (-1: the times of the records), a gap before it.
many_batches = st.lists(
    st.tuples(
        st.lists(records, min_size=1, max_size=8), CODECS, st.sampled_from([-1, 1_000]), st.integers(0, 3)
    ),
    max_size=6,
)


def encoded(wanted: list[tuple[list[Record], int, int, int]]) -> bytes:
    offset = 0
    chunks = []
    for group, codec, append_time_ms, gap in wanted:
        offset += gap
        chunks.append(
            encode_batch(group, base_offset=offset, compression=codec, append_time_ms=append_time_ms)
        )
        offset += len(group)
    return b"".join(chunks)


def to_arrow(
    responses: list[bytes], rows: int = 4, first: int = 0, until: int = EVERYTHING, with_headers: bool = True
) -> list[pa.RecordBatch]:
    chunk = RecordChunk(ArrowRecords("sales", 3), rows, first, until, with_headers)
    made = []
    for data in responses:
        for position, header in batches(data, 0, len(data)):
            if not chunk.suits(header):
                made += chunk.take()
            chunk.add(data, position, header)
            if chunk.is_full:
                made += chunk.take()
    made += chunk.take()
    for batch in made:
        batch.validate(full=True)
    return made


def decoded(data: bytes) -> list[tuple[BatchHeader, Record]]:
    return [
        (header, record)
        for position, header in batches(data, 0, len(data))
        for record in decode_records(data, position, header)
    ]


def rows_of(made: list[pa.RecordBatch]) -> list[dict[str, object]]:
    """Rows as Python values. Times are microseconds, because Python's end with the year 9999."""
    index = made[0].schema.get_field_index("timestamp") if made else 0
    return [
        row
        for batch in made
        for row in batch.set_column(index, "timestamp", batch["timestamp"].cast(pa.int64())).to_pylist()
    ]


def as_row(header: BatchHeader, record: Record) -> dict[str, object]:
    return {
        "key": record.key,
        "value": record.value,
        "topic": "sales",
        "partition": 3,
        "offset": record.offset,
        "timestamp": record.timestamp * 1000,
        "timestampType": int(header.is_log_append_time),
        "headers": [{"key": name, "value": value} for name, value in record.headers] or None,
    }


@settings(deadline=None)
@given(many_batches, st.integers(1, 10), st.integers(0, 6))
def test_batches_become_the_rows_that_their_records_are(
    wanted: list[tuple[list[Record], int, int, int]], rows: int, cut: int
) -> None:
    """With any codec, any size of chunks, and one response or two."""
    responses = [encoded(wanted)]
    positions = [position for position, _ in batches(responses[0], 0, len(responses[0]))]
    if cut < len(positions):
        responses = [responses[0][: positions[cut]], responses[0][positions[cut] :]]
    expected = [as_row(header, record) for header, record in decoded(encoded(wanted))]
    assert rows_of(to_arrow(responses, rows)) == expected


@settings(deadline=None)
@given(many_batches, st.integers(0, 40), st.integers(0, 40))
def test_only_the_offsets_asked_for_are_taken(
    wanted: list[tuple[list[Record], int, int, int]], first: int, until: int
) -> None:
    data = encoded(wanted)
    expected = [record.offset for _, record in decoded(data) if first <= record.offset < until]
    found = to_arrow([data], first=first, until=until, with_headers=False)
    assert [offset for batch in found for offset in batch["offset"].to_pylist()] == expected


def test_gaps_of_a_compacted_batch_are_passed_over() -> None:
    data = encode_batch([Record(b"k%d" % i, b"v%d" % i, 7) for i in range(6)], base_offset=100, compression=3)
    header = read_header(data, 0)
    walk = RecordWalk(data, 0, header)
    kept = b""
    while walk.advance():
        if walk.offset in (101, 104):
            kept += walk.data[walk.record_start : walk.record_end]
    empty = encode_batch([Record(b"gone", b"gone", 7)], base_offset=106)
    compacted = batch_of_rest(header, kept, 2, 7, -1) + batch_of_none(read_header(empty, 0))
    (batch,) = to_arrow([compacted])
    assert batch["offset"].to_pylist() == [101, 104]
    assert batch["value"].to_pylist() == [b"v1", b"v4"]


def test_a_chunk_holds_at_most_twice_the_rows_that_were_asked_for() -> None:
    data = encode_batch([Record(None, b"%d" % i, 0) for i in range(1000)])
    made = to_arrow([data], rows=300)
    assert [batch.num_rows for batch in made] == [300, 300, 400]
    assert [value for batch in made for value in batch["value"].to_pylist()] == [
        b"%d" % i for i in range(1000)
    ]


def test_a_time_that_does_not_fit_is_the_last_one_that_does() -> None:
    (batch,) = to_arrow([encode_batch([Record(b"", b"", 2**62)])])
    assert batch["timestamp"].cast(pa.int64()).to_pylist() == [9223372036854775 * 1000]


def test_names_of_headers_that_are_not_utf_8_are_replaced() -> None:
    data = encode_batch([Record(None, None, 0, [("name", b"1")])])
    broken = data.replace(b"name", b"n\xffm\xfe")
    (batch,) = to_arrow([broken])
    assert batch["headers"].to_pylist() == [[{"key": "n�m�", "value": b"1"}]]


@settings(deadline=None)
@given(st.lists(records, min_size=1, max_size=5), st.data())
def test_malformed_records_are_refused_and_leave_nothing_behind(
    group: list[Record], choices: st.DataObject
) -> None:
    good = encode_batch([Record(b"good", None, 1, [("h", None)])])
    bad = bytearray(encode_batch(group, base_offset=1))
    for _ in range(choices.draw(st.integers(1, 3))):
        bad[choices.draw(st.integers(61, len(bad) - 1))] = choices.draw(st.integers(0, 255))
    chunk = RecordChunk(ArrowRecords("t", 0), 100, 0, EVERYTHING, True)
    chunk.add(good, 0, read_header(good, 0))
    try:
        chunk.add(bytes(bad), 0, read_header(bytes(bad), 0))
        expected = 1 + len(group)
    except InvalidRecordError:
        expected = 1
    (batch,) = chunk.take()
    batch.validate(full=True)
    assert batch.num_rows == expected
    assert batch["key"][0].as_py() == b"good"


@pytest.mark.parametrize("cut", range(1, 20))
def test_records_that_end_too_early_are_refused(cut: int) -> None:
    data = encode_batch([Record(b"k", b"v", 0, [("h", b"x")]), Record(None, None, 0)])
    header = read_header(data, 0)
    chunk = RecordChunk(ArrowRecords("t", 0), 100, 0, EVERYTHING, True)
    with pytest.raises(InvalidRecordError):
        chunk._columns.add_records(data[:-cut], 61, len(data) - cut, header, 0, EVERYTHING, 0)
    assert chunk.take() == []


# --- Arrow to record batches --------------------------------------------------------------------------


def rows_to_batches(
    rows: list[Record], batch_size: int, partitions: int, codec: int, offset: int = 0
) -> dict[int, list[bytes]]:
    """Appends all rows with a router, from Arrow arrays that begin with `offset` other rows."""
    padding = [Record(b"padding", b"padding", 0, [("padding", b"")])] * offset
    padded = padding + rows
    header_lists = [
        [{"key": name, "value": value} for name, value in record.headers] or None for record in padded
    ]
    columns = RowColumns(
        len(rows),
        binary_column(pa.array([record.key for record in padded], pa.binary())[offset:]),
        binary_column(pa.array([record.value for record in padded], pa.binary())[offset:]),
        header_columns(pa.array(header_lists, HEADERS_TYPE)[offset:]),
    )
    router = RowRouter(batch_size, 1 << 20)
    builders = [RecordBuilder("t", number) for number in range(partitions)]
    router.routes.append(TopicRoute("t", builders))
    sent: dict[int, list[bytes]] = {number: [] for number in range(partitions)}
    row = 0
    while row < len(rows):
        row = router.append(columns, row, 1_000 + row)
        if router.full is not None:
            sent[router.full.partition].append(router.full.finish(codec, None, 9, 2, 0))
    for builder in builders:
        if builder.count:
            sent[builder.partition].append(builder.finish(codec, None, 9, 2, 0))
    return sent


@settings(deadline=None)
@given(
    st.lists(records, max_size=20),
    st.integers(0, 600),
    st.integers(1, 3),
    CODECS,
    st.integers(0, 9),
)
@example([Record(b"", b"", 0), Record(None, None, 0)], 0, 1, 0, 8)
def test_rows_become_records_in_their_order(
    rows: list[Record], batch_size: int, partitions: int, codec: int, offset: int
) -> None:
    sent = rows_to_batches(rows, batch_size, partitions, codec, offset)
    written = []
    for datas in sent.values():
        for data in datas:
            header = read_header(data, 0)
            assert crc_is_valid(data, 0, header)
            assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, 0)
            assert header.compression == codec
            assert header.size_bytes == len(data)
            found = decode_records(data, 0, header)
            assert [record.offset for record in found] == list(range(len(found)))
            assert max(record.timestamp for record in found) == header.max_timestamp
            assert len(found) == 1 or codec or len(data) <= batch_size
            written += found
    if partitions == 1:
        assert [(record.key, record.value, record.headers) for record in written] == [
            (record.key, record.value, record.headers) for record in rows
        ]
    by_content = sorted((record.key or b"", record.value or b"") for record in written)
    assert by_content == sorted((record.key or b"", record.value or b"") for record in rows)


@settings(deadline=None)
@given(st.lists(records, min_size=1, max_size=20), CODECS)
def test_rows_come_back_as_they_were(rows: list[Record], codec: int) -> None:
    (data,) = rows_to_batches(rows, 1 << 20, 1, codec)[0]
    found = rows_of(to_arrow([data]))
    assert [(row["key"], row["value"], row["headers"]) for row in found] == [
        (
            record.key,
            record.value,
            [{"key": name, "value": value} for name, value in record.headers] or None,
        )
        for record in rows
    ]
