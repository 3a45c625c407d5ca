"""Formats records as text, as Kafka's DefaultMessageFormatter does for the console consumer.

The columns are in Kafka's order: timestamp, partition, offset, delivery, epoch, headers, key, value. Each
ends with `key.separator`, the last one with `line.separator`.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TextIO

from gralha.cli.program import CommandError
from gralha.cli.properties import is_true

Decoder = Callable[[bytes], bytes]

NO_TIMESTAMP_TYPE = "NoTimestampType"
_COLUMNS = ("timestamp", "partition", "offset", "delivery", "epoch", "headers", "key", "value")
_SERIALIZATION_PACKAGE = "org.apache.kafka.common.serialization."


class ConsumedRecord(NamedTuple):
    """One record as a consumer got it."""

    topic: str
    partition: int
    offset: int
    timestamp_type: str
    timestamp_ms: int
    leader_epoch: int | None
    headers: list[tuple[str, bytes | None]]
    key: bytes | None
    value: bytes | None


PROPERTIES: Final = (
    *(f"print.{column}" for column in _COLUMNS),
    *("key.separator", "line.separator", "headers.separator", "null.literal"),
    *("key.deserializer", "value.deserializer", "headers.deserializer"),
)


class MessageFormatter:
    """Formats records by the formatter's properties."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        shown = {
            column: is_true(properties.get(f"print.{column}", "true" if column == "value" else "false"))
            for column in _COLUMNS
        }
        self._columns = [column for column in _COLUMNS if shown[column]]
        self._separator = properties.get("key.separator", "\t").encode()
        self._line_separator = properties.get("line.separator", "\n").encode()
        self._headers_separator = properties.get("headers.separator", ",").encode()
        self._null = properties.get("null.literal", "null").encode()
        self._decode_key = decoder_for(properties.get("key.deserializer"))
        self._decode_value = decoder_for(properties.get("value.deserializer"))
        self._decode_headers = decoder_for(properties.get("headers.deserializer"))
        self.only_value = self._columns == ["value"]

    def format(self, record: ConsumedRecord) -> bytes:
        """The record's columns with their separators."""
        if not self._columns:
            return b""
        cells = [self._cell(column, record) for column in self._columns]
        return self._separator.join(cells) + self._line_separator

    def format_value(self, value: bytes | None) -> bytes:
        """The text of a record if only its value is shown."""
        return self._data(value, self._decode_value) + self._line_separator

    def _cell(self, column: str, record: ConsumedRecord) -> bytes:
        match column:
            case "value":
                return self._data(record.value, self._decode_value)
            case "key":
                return self._data(record.key, self._decode_key)
            case "headers":
                return self._headers(record)
            case "timestamp":
                return _timestamp(record)
            case "partition":
                return b"Partition:%d" % record.partition
            case "offset":
                return b"Offset:%d" % record.offset
            case "epoch" if record.leader_epoch is not None:
                return b"Epoch:%d" % record.leader_epoch
            case _:
                return f"{column.capitalize()}:NOT_PRESENT".encode()

    def _headers(self, record: ConsumedRecord) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return self._headers_separator.join(
            name.encode() + b":" + self._data(value, self._decode_headers) for name, value in record.headers
        )

    def _data(self, data: bytes | None, decode: Decoder) -> bytes:
        return self._null if data is None else decode(data)


class LoggingMessageFormatter(MessageFormatter):
    """Formats records, and also writes a line about each to a log."""

    def __init__(self, properties: Mapping[str, str], log: TextIO) -> None:
        super().__init__(properties)
        self.only_value = False
        self._log = log

    def format(self, record: ConsumedRecord) -> bytes:
        self._log.write(f"{log_text(record)}\n")
        return super().format(record)


def log_text(record: ConsumedRecord) -> str:
    """The line that Kafka's LoggingMessageFormatter writes. No comma follows a key that is null."""
    has_time = record.timestamp_type != NO_TIMESTAMP_TYPE
    time = f"{record.timestamp_type}:{record.timestamp_ms}, " if has_time else ""
    key = "null " if record.key is None else f"{record.key.decode(errors='replace')}, "
    value = "null" if record.value is None else record.value.decode(errors="replace")
    return f"{time}key:{key}value:{value}"


def _timestamp(record: ConsumedRecord) -> bytes:
    if record.timestamp_type == NO_TIMESTAMP_TYPE:
        return b"NO_TIMESTAMP"
    return f"{record.timestamp_type}:{record.timestamp_ms}".encode()


def decoder_for(class_name: str | None) -> Decoder:
    """The decoder for a deserializer class that Kafka has."""
    if not class_name:
        return _unchanged
    decoder = _DECODERS.get(class_name.removeprefix(_SERIALIZATION_PACKAGE))
    if decoder is None:
        known = ", ".join(sorted(_DECODERS))
        raise CommandError(f"Unknown deserializer {class_name}: use one of Kafka's own ({known})")
    return decoder


def _unchanged(data: bytes) -> bytes:
    return data


def _number(struct_format: str, type_name: str) -> Decoder:
    packed = struct.Struct(struct_format)

    def decode(data: bytes) -> bytes:
        if len(data) != packed.size:
            raise CommandError(f"Size of data received by {type_name}Deserializer is not {packed.size}")
        return str(packed.unpack(data)[0]).encode()

    return decode


def _boolean(data: bytes) -> bytes:
    if data not in (b"\0", b"\1"):
        raise CommandError("Unexpected byte received by BooleanDeserializer")
    return b"true" if data == b"\1" else b"false"


def _uuid(data: bytes) -> bytes:
    import uuid

    try:
        return str(uuid.UUID(data.decode())).encode()
    except ValueError:
        raise CommandError("Error parsing data into UUID") from None


_DECODERS: dict[str, Decoder] = {
    "StringDeserializer": _unchanged,
    "ByteArrayDeserializer": _unchanged,
    "ByteBufferDeserializer": _unchanged,
    "BytesDeserializer": _unchanged,
    "ShortDeserializer": _number(">h", "Short"),
    "IntegerDeserializer": _number(">i", "Integer"),
    "LongDeserializer": _number(">q", "Long"),
    "FloatDeserializer": _number(">f", "Float"),
    "DoubleDeserializer": _number(">d", "Double"),
    "BooleanDeserializer": _boolean,
    "UUIDDeserializer": _uuid,
}
