import io
import struct

import pytest

from gralha.cli.message_formatter import (
    NO_TIMESTAMP_TYPE,
    ConsumedRecord,
    LoggingMessageFormatter,
    MessageFormatter,
)
from gralha.cli.program import CommandError

RECORD = ConsumedRecord(
    topic="t",
    partition=3,
    offset=42,
    timestamp_type="CreateTime",
    timestamp_ms=1700000000000,
    leader_epoch=7,
    headers=[("h1", b"a"), ("h2", None)],
    key=b"key",
    value=b"value",
)
ALL = {
    f"print.{column}": "true"
    for column in ("timestamp", "partition", "offset", "epoch", "headers", "key", "value")
}


def shown(properties: dict[str, str], record: ConsumedRecord = RECORD) -> bytes:
    return MessageFormatter(properties).format(record)


def test_only_the_value_by_default() -> None:
    formatter = MessageFormatter({})
    assert formatter.only_value
    assert formatter.format(RECORD) == formatter.format_value(b"value") == b"value\n"


def test_columns_come_in_kafkas_order() -> None:
    line = b"CreateTime:1700000000000\tPartition:3\tOffset:42\tEpoch:7\th1:a,h2:null\tkey\tvalue\n"
    assert shown(ALL) == line


def test_what_a_record_lacks() -> None:
    bare = RECORD._replace(
        timestamp_type=NO_TIMESTAMP_TYPE, leader_epoch=None, headers=[], key=None, value=None
    )
    line = b"NO_TIMESTAMP\tPartition:3\tOffset:42\tEpoch:NOT_PRESENT\tNO_HEADERS\tnull\tnull\n"
    assert shown(ALL, bare) == line


def test_the_last_column_ends_with_the_line_separator() -> None:
    assert shown({"print.key": "true", "print.value": "false"}) == b"key\n"
    assert shown({"print.value": "false"}) == b""


def test_separators_and_the_null_literal_can_be_chosen() -> None:
    properties = {
        "print.headers": "true",
        "print.key": "TRUE ",
        "key.separator": "|",
        "line.separator": ";",
        "headers.separator": "+",
        "null.literal": "-",
    }
    assert shown(properties) == b"h1:a+h2:-|key|value;"


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("StringDeserializer", "é".encode(), "é".encode()),
        ("ShortDeserializer", struct.pack(">h", -2), b"-2"),
        ("IntegerDeserializer", struct.pack(">i", 70000), b"70000"),
        ("LongDeserializer", struct.pack(">q", -(1 << 40)), b"-1099511627776"),
        ("DoubleDeserializer", struct.pack(">d", 0.5), b"0.5"),
        ("BooleanDeserializer", b"\1", b"true"),
        (
            "UUIDDeserializer",
            b"123E4567-e89b-12d3-a456-426614174000",
            b"123e4567-e89b-12d3-a456-426614174000",
        ),
    ],
)
def test_kafkas_own_deserializers(name: str, data: bytes, text: bytes) -> None:
    java_name = f"org.apache.kafka.common.serialization.{name}"
    assert shown({"value.deserializer": java_name}, RECORD._replace(value=data)) == text + b"\n"


def test_data_that_does_not_fit_its_deserializer() -> None:
    name = "org.apache.kafka.common.serialization.LongDeserializer"
    with pytest.raises(CommandError, match="Size of data received by LongDeserializer is not 8"):
        shown({"value.deserializer": name})


def test_a_foreign_deserializer_is_refused_with_the_ones_that_work() -> None:
    with pytest.raises(CommandError, match=r"Unknown deserializer com\.example\.Avro.*LongDeserializer"):
        MessageFormatter({"key.deserializer": "com.example.Avro"})


def test_a_logging_formatter_also_writes_a_line_about_each_record() -> None:
    log = io.StringIO()
    formatter = LoggingMessageFormatter({"print.key": "true"}, log)
    assert not formatter.only_value
    assert formatter.format(RECORD) == MessageFormatter({"print.key": "true"}).format(RECORD)
    formatter.format(RECORD._replace(timestamp_type=NO_TIMESTAMP_TYPE, key=None, value=None))
    time = f"{RECORD.timestamp_type}:{RECORD.timestamp_ms}"
    assert log.getvalue() == f"{time}, key:key, value:value\nkey:null value:null\n"
