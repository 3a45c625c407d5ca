"""Other implementations as oracles: Apache Kafka, librdkafka, aiokafka, kafka-python."""

from __future__ import annotations

from base64 import b64decode

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AioBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AioBuilder
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder
from tests.protocol.checked import check_records
from tests.protocol.golden_batches import JAVA, LIBRDKAFKA, NOON, RECORDS
from tests.protocol.record_strategies import CONTENT, HEADERS, content

from gralha.protocol import compression
from gralha.protocol.control_records import (
    ABORT,
    COMMIT,
    LEADER_CHANGE,
    control_type,
    coordinator_epoch,
    encode_control_batch,
    encode_end_marker,
)
from gralha.protocol.errors import InvalidRecordError
from gralha.protocol.records import (
    Record,
    check_client_batch,
    crc_is_valid,
    decode_records,
    encode_batch,
    read_header,
)

CODECS = list(enumerate(compression.NAMES))
# kafka-python needs further packages for the other two.
KAFKA_PYTHON_CODECS = [compression.NONE, compression.GZIP, compression.LZ4]
# Both libraries compute timestamps in plain Python integers: no wrapping, no negative ones.
TIMESTAMPS = st.integers(1_600_000_000_000, 1_900_000_000_000)
SAMPLES = st.lists(st.builds(Record, CONTENT, CONTENT, TIMESTAMPS, HEADERS), min_size=1, max_size=12)


class TestGoldenBytes:
    @pytest.mark.parametrize(("codec", "name"), CODECS)
    def test_apache_kafka(self, codec: int, name: str) -> None:
        batch = b64decode(JAVA[name])
        header = read_header(batch, 0)
        assert crc_is_valid(batch, 0, header)
        assert (header.compression, header.size_bytes) == (codec, len(batch))
        assert (header.base_offset, header.last_offset, header.record_count) == (42, 46, 5)
        assert (header.producer_id, header.producer_epoch) == (1234, 5)
        assert (header.base_sequence, header.last_sequence) == (2**31 - 3, 1)
        assert (header.partition_leader_epoch, header.max_timestamp) == (7, NOON + 500)
        assert header.is_transactional
        assert not header.is_control
        records = decode_records(batch, 0, header)
        assert list(map(content, records)) == list(map(content, RECORDS))
        assert check_records(batch, 0, header) == NOON + 500

    @pytest.mark.parametrize(("codec", "name"), CODECS)
    def test_librdkafka(self, codec: int, name: str) -> None:
        batch = b64decode(LIBRDKAFKA[name])
        header = read_header(batch, 0)
        assert crc_is_valid(batch, 0, header)
        check_client_batch(header)
        assert header.compression == codec
        assert list(map(content, decode_records(batch, 0, header))) == list(map(content, RECORDS))

    @pytest.mark.parametrize("name", ["none", "lz4"])
    def test_ours_is_the_same_to_the_byte(self, name: str) -> None:
        batch = encode_batch(
            RECORDS,
            compression=compression.NAMES.index(name),
            base_offset=42,
            leader_epoch=7,
            producer_id=1234,
            producer_epoch=5,
            base_sequence=2**31 - 3,
            transactional=True,
        )
        assert batch == b64decode(JAVA[name])

    def test_append_time(self) -> None:
        batch = b64decode(JAVA["append time"])
        header = read_header(batch, 0)
        assert header.is_log_append_time
        assert decode_records(batch, 0, header)[0].timestamp == header.max_timestamp != header.base_timestamp
        assert encode_batch([Record(None, b"x", 5)], append_time_ms=header.max_timestamp) == batch


class TestControlRecords:
    @pytest.mark.parametrize(("name", "offset", "kind"), [("commit", 99, COMMIT), ("abort", 100, ABORT)])
    def test_transaction_markers_are_those_of_apache_kafka(self, name: str, offset: int, kind: int) -> None:
        golden = b64decode(JAVA[name])
        ours = encode_end_marker(
            commit=kind == COMMIT,
            coordinator_epoch=17,
            producer_id=1234,
            producer_epoch=5,
            timestamp_ms=NOON,
            base_offset=offset,
            leader_epoch=3,
        )
        assert ours == golden
        header = read_header(golden, 0)
        assert header.is_control
        assert header.is_transactional
        (record,) = decode_records(golden, 0, header)
        assert control_type(record.key) == kind
        assert coordinator_epoch(record.value) == 17

    def test_batches_of_the_quorum(self) -> None:
        batch = encode_control_batch(LEADER_CHANGE, b"body", timestamp_ms=NOON, base_offset=3, leader_epoch=2)
        header = read_header(batch, 0)
        assert (header.is_control, header.is_transactional, header.has_producer_id) == (True, False, False)
        (record,) = decode_records(batch, 0, header)
        assert (control_type(record.key), record.value) == (LEADER_CHANGE, b"body")

    @pytest.mark.parametrize("bad", [None, b"", b"\x00\x00\x00", b"\xff\xff\x00\x00\x00\x00"])
    def test_short_or_negative_ones_are_refused(self, bad: bytes | None) -> None:
        with pytest.raises(InvalidRecordError):
            control_type(bad)
        with pytest.raises(InvalidRecordError):
            coordinator_epoch(bad)


class TestAiokafka:
    @pytest.mark.parametrize("codec", range(5))
    @given(records=SAMPLES)
    def test_we_read_theirs(self, codec: int, records: list[Record]) -> None:
        builder = AioBuilder(2, codec, 1, 77, 3, 10, 1 << 20)
        for offset, record in enumerate(records):
            builder.append(offset, record.timestamp, record.key, record.value, record.headers)
        batch = bytes(builder.build())
        header = read_header(batch, 0)
        assert crc_is_valid(batch, 0, header)
        check_client_batch(header)
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 3, 10)
        assert list(map(content, decode_records(batch, 0, header))) == list(map(content, records))
        assert check_records(batch, 0, header) == max(record.timestamp for record in records)

    @pytest.mark.parametrize("codec", range(5))
    @given(records=SAMPLES, offset=st.integers(0, 2**40))
    def test_they_read_ours(self, codec: int, records: list[Record], offset: int) -> None:
        batch = AioBatch(encode_batch(records, compression=codec, base_offset=offset))
        assert batch.validate_crc()
        found = [(r.offset, r.key, r.value, r.timestamp, list(r.headers)) for r in batch]
        assert found == [(offset + i, *content(record)) for i, record in enumerate(records)]


class TestKafkaPython:
    @pytest.mark.parametrize("codec", KAFKA_PYTHON_CODECS)
    @given(records=SAMPLES)
    def test_we_read_theirs(self, codec: int, records: list[Record]) -> None:
        builder = KafkaPythonBuilder(2, codec, False, -1, -1, -1, 1 << 20)
        for offset, record in enumerate(records):
            builder.append(offset, record.timestamp, record.key, record.value, record.headers)
        batch = bytes(builder.build())
        header = read_header(batch, 0)
        assert crc_is_valid(batch, 0, header)
        check_client_batch(header)
        assert list(map(content, decode_records(batch, 0, header))) == list(map(content, records))
        if header.compression == compression.NONE:  # also when compressing did not pay
            assert encode_batch(records, leader_epoch=0) == batch

    @pytest.mark.parametrize("codec", KAFKA_PYTHON_CODECS)
    @given(records=SAMPLES, offset=st.integers(0, 2**40))
    def test_they_read_ours(self, codec: int, records: list[Record], offset: int) -> None:
        batch = KafkaPythonBatch(encode_batch(records, compression=codec, base_offset=offset))
        assert batch.validate_crc()
        found = [(r.offset, r.key, r.value, r.timestamp, list(r.headers)) for r in batch]
        assert found == [(offset + i, *content(record)) for i, record in enumerate(records)]
