"""The primitive types on Kafka's wire.

`Reader` reads one `bytes` object between two bounds. Every length is checked against the remaining bytes
before memory is allocated. Wrong input raises `ProtocolError`, never IndexError. `Writer` collects bytes.
Large record batches are kept by reference in the list of chunks that `finish` returns: as a range of a bytes
object, or as a range of a file (`Stored`) that goes from the page cache to the socket without a copy.

This is the hottest code of all: mypyc compiles it, and it also runs as plain Python.
"""

import base64
import binascii
from typing import Final, final

from librt.strings import (
    BytesWriter,
    read_f64_be,
    read_i16_be,
    read_i32_be,
    read_i64_be,
    write_f64_be,
    write_i16_be,
    write_i32_be,
    write_i64_be,
)
from mypy_extensions import i64, mypyc_attr

# A tagged field that this release does not know: its tag and its bytes, kept to be written back (KIP-482).
TaggedField = tuple[int, bytes]

ZERO_UUID: Final = bytes(16)
MAX_STRING_BYTES: Final[i64] = 0x7FFF
_NO_LIMIT: Final[i64] = 0x7FFFFFFFFFFFFFFF
# Below this size a copy into the buffer is cheaper than one more chunk for the socket.
SPLICE_FROM_BYTES: Final[i64] = 4096


class ProtocolError(ValueError):
    """The bytes are not a Kafka message, or the protocol cannot represent a value."""


def uuid_to_string(uuid: bytes) -> str:
    """Kafka's text form of a 16-byte UUID: URL-safe base64 without padding, 22 characters."""
    return base64.urlsafe_b64encode(uuid).decode("ascii").rstrip("=")


def uuid_from_string(text: str) -> bytes:
    """The 16 bytes of a UUID in Kafka's text form. Raises ValueError if the text is wrong."""
    try:
        uuid = base64.b64decode(text.encode("ascii") + b"==", altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        uuid = b""
    if len(uuid) != 16 or uuid_to_string(uuid) != text:
        raise ValueError(f"{text!r} is not a UUID: expected 22 characters of URL-safe base64")
    return uuid


@mypyc_attr(allow_interpreted_subclasses=True)
class Stored:
    """A range of a file. Its bytes are not in the memory of this process."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes

    def __len__(self) -> int:
        return self.size_bytes

    def send(self, socket_number: int, skip_bytes: int, max_bytes: int) -> int:
        """Have the kernel send a part, from `skip_bytes` on. Returns how many bytes the socket took.

        Returns 0 if the part has to be read. Raises BlockingIOError if the socket is full.
        """
        raise NotImplementedError

    def read(self, skip_bytes: int = 0, max_bytes: int | None = None) -> bytes:
        """Read the range from `skip_bytes` on, or a part of it. May wait."""
        raise NotImplementedError

    def read_nowait(self, skip_bytes: int, max_bytes: int) -> bytes | None:
        """As `read`, but returns None if the page cache lacks the bytes."""
        raise NotImplementedError


# A part of a message on its way to a socket.
Chunk = bytes | memoryview | Stored


def in_memory(chunks: list[Chunk]) -> list[bytes | memoryview]:
    """The chunks, with those in files read into memory. May wait."""
    return [chunk.read() if isinstance(chunk, Stored) else chunk for chunk in chunks]


@final
class RecordBytes:
    """Record batches inside a larger bytes object, or in a file. It is a reference, never a copy."""

    __slots__ = ("data", "end", "start", "stored")

    def __init__(self, data: bytes, start: i64, end: i64, stored: Stored | None = None) -> None:
        limit: i64 = len(data) if stored is None else stored.size_bytes
        if start < 0 or end < start or end > limit:
            raise ValueError(f"there is no range {start} to {end} in {limit} bytes")
        self.data: bytes = data
        self.start: i64 = start
        self.end: i64 = end
        # If this is not None, `data` is empty. Only who asks for it gets such records: see `Log.read`.
        self.stored: Stored | None = stored

    def size(self) -> int:
        return self.end - self.start

    def view(self) -> memoryview:
        if self.stored is not None:
            return memoryview(self.to_bytes())
        return memoryview(self.data)[self.start : self.end]

    def to_bytes(self) -> bytes:
        """The batches as bytes. Records in a file are read, which may wait."""
        if self.stored is not None:
            return self.stored.read()[self.start : self.end]
        # Python does not copy if the slice is the whole bytes object.
        return self.data[self.start : self.end]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecordBytes) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def __repr__(self) -> str:
        return f"RecordBytes({self.size()} bytes)"


@final
class Reader:
    """A position in a bytes object that moves forward over Kafka's primitive types."""

    __slots__ = ("data", "elements_left", "end", "position")

    def __init__(self, data: bytes, position: i64 = 0, end: int | None = None) -> None:
        limit: i64 = len(data) if end is None else end
        if position < 0 or limit < position or limit > len(data):
            raise ValueError(f"there is no range {position} to {limit} in {len(data)} bytes")
        self.data: bytes = data
        self.position: i64 = position
        self.end: i64 = limit
        # How many array elements the message may still have. An element of a few bytes becomes an object of a
        # few hundred bytes, so readers of untrusted input set a limit.
        self.elements_left: i64 = _NO_LIMIT

    def remaining(self) -> int:
        return self.end - self.position

    def take(self, count: i64) -> i64:
        """Moves over `count` bytes and returns their start."""
        position = self.position
        if count > self.end - position:
            raise ProtocolError(f"{count} bytes announced, {self.end - position} left")
        self.position = position + count
        return position

    # Numbers

    def int8(self) -> int:
        value: i64 = self.data[self.take(1)]
        return value if value < 128 else value - 256

    def int16(self) -> int:
        return read_i16_be(self.data, self.take(2))

    def uint16(self) -> int:
        value: int = read_i16_be(self.data, self.take(2))
        return value & 0xFFFF

    def int32(self) -> int:
        return read_i32_be(self.data, self.take(4))

    def uint32(self) -> int:
        value: int = read_i32_be(self.data, self.take(4))
        return value & 0xFFFFFFFF

    def int64(self) -> int:
        return read_i64_be(self.data, self.take(8))

    def float64(self) -> float:
        return read_f64_be(self.data, self.take(8))

    def boolean(self) -> bool:
        return self.data[self.take(1)] != 0

    def uuid(self) -> bytes:
        start = self.take(16)
        return self.data[start : start + 16]

    def unsigned_varint(self) -> i64:
        """Has at most five bytes and 32 bits."""
        first: i64 = self.data[self.take(1)]
        if first < 128:
            return first
        value = first & 0x7F
        shift: i64 = 7
        while shift < 35:
            byte: i64 = self.data[self.take(1)]
            value |= (byte & 0x7F) << shift
            if byte < 128:
                if value > 0xFFFFFFFF:
                    raise ProtocolError("varint of more than 32 bits")
                return value
            shift += 7
        raise ProtocolError("varint of more than 5 bytes")

    def varint(self) -> i64:
        value = self.unsigned_varint()
        return (value >> 1) ^ -(value & 1)

    # Strings

    def string(self) -> str:
        length: int = read_i16_be(self.data, self.take(2))
        if length < 0:
            raise ProtocolError("null instead of a string")
        return self._text(length)

    def nullable_string(self) -> str | None:
        length: int = read_i16_be(self.data, self.take(2))
        return None if length < 0 else self._text(length)

    def compact_string(self) -> str:
        length = self.unsigned_varint() - 1
        if length < 0:
            raise ProtocolError("null instead of a string")
        return self._text(length)

    def compact_nullable_string(self) -> str | None:
        length = self.unsigned_varint() - 1
        return None if length < 0 else self._text(length)

    def _text(self, length: i64) -> str:
        if length > MAX_STRING_BYTES:
            raise ProtocolError(f"string of {length} bytes, {MAX_STRING_BYTES} at most")
        start = self.take(length)
        try:
            return self.data[start : start + length].decode("utf-8")
        except UnicodeDecodeError as error:
            raise ProtocolError(f"string is not UTF-8: {error}") from error

    # Bytes

    def bytes_(self) -> bytes:
        length: int = read_i32_be(self.data, self.take(4))
        if length < 0:
            raise ProtocolError("null instead of bytes")
        return self.raw(length)

    def nullable_bytes(self) -> bytes | None:
        length: int = read_i32_be(self.data, self.take(4))
        return None if length < 0 else self.raw(length)

    def compact_bytes(self) -> bytes:
        length = self.unsigned_varint() - 1
        if length < 0:
            raise ProtocolError("null instead of bytes")
        return self.raw(length)

    def compact_nullable_bytes(self) -> bytes | None:
        length = self.unsigned_varint() - 1
        return None if length < 0 else self.raw(length)

    def raw(self, length: i64) -> bytes:
        """The next `length` bytes."""
        start = self.take(length)
        return self.data[start : start + length]

    def records(self) -> RecordBytes | None:
        length: int = read_i32_be(self.data, self.take(4))
        if length < 0:
            return None
        start = self.take(length)
        return RecordBytes(self.data, start, start + length)

    def compact_records(self) -> RecordBytes | None:
        length = self.unsigned_varint() - 1
        if length < 0:
            return None
        start = self.take(length)
        return RecordBytes(self.data, start, start + length)

    # Arrays. An element has at least one byte, so a count beyond the remaining bytes is wrong.

    def array_length(self) -> i64:
        length = self.nullable_array_length()
        if length < 0:
            raise ProtocolError("null instead of an array")
        return length

    def nullable_array_length(self) -> i64:
        """-1 for null."""
        length: int = read_i32_be(self.data, self.take(4))
        return self._bounded(length)

    def compact_array_length(self) -> i64:
        length = self._bounded(self.unsigned_varint() - 1)
        if length < 0:
            raise ProtocolError("null instead of an array")
        return length

    def compact_nullable_array_length(self) -> i64:
        """-1 for null."""
        return self._bounded(self.unsigned_varint() - 1)

    def _bounded(self, length: i64) -> i64:
        if length > self.end - self.position:
            raise ProtocolError(f"{length} elements announced, {self.end - self.position} bytes left")
        if length < 0:
            return -1
        self.elements_left -= length
        if self.elements_left < 0:
            raise ProtocolError("too many array elements in one message")
        return length

    # Tagged fields (KIP-482)

    def tagged_fields(self) -> tuple[TaggedField, ...]:
        """The tagged fields of a structure that has no known ones. Their bytes are kept."""
        count = self.unsigned_varint()
        if count == 0:
            return ()
        fields: list[TaggedField] = []
        tag: i64 = -1
        for _ in range(count):
            tag = self.next_tag(tag)
            end = self.tagged_field_end()
            fields.append((tag, self.raw(end - self.position)))
        return tuple(fields)

    def next_tag(self, last: i64) -> i64:
        """The tag of the next tagged field. Tags must ascend."""
        tag = self.unsigned_varint()
        if tag <= last:
            raise ProtocolError(f"tag {tag} follows tag {last}")
        return tag

    def tagged_field_end(self) -> i64:
        """Reads the size of a tagged field and returns its end."""
        size = self.unsigned_varint()
        if size > self.end - self.position:
            raise ProtocolError(f"{size} bytes announced, {self.end - self.position} left")
        return self.position + size

    def expect_end(self, position: i64) -> None:
        """Raises ProtocolError unless a known tagged field ends at the announced position."""
        if self.position != position:
            raise ProtocolError(f"tagged field ends at {self.position}, announced {position}")


@final
class Writer:
    """Collects bytes. Raises ValueError if a value does not fit its type."""

    __slots__ = ("_buffer", "_chunks", "_chunks_size", "_frame_chunk", "_frame_start")

    def __init__(self) -> None:
        self._buffer: BytesWriter = BytesWriter()
        self._chunks: list[Chunk] = []
        self._chunks_size: i64 = 0
        self._frame_chunk: i64 = 0
        self._frame_start: i64 = 0

    def size(self) -> int:
        return self._chunks_size + len(self._buffer)

    def finish(self) -> list[Chunk]:
        """All chunks in order. The writer is empty afterwards."""
        self._close_chunk()
        chunks = self._chunks
        self._chunks = []
        self._chunks_size = 0
        return chunks

    def finish_in_memory(self) -> list[bytes | memoryview]:
        """As `finish`, for `writelines`. Chunks in files are read, which may wait."""
        return in_memory(self.finish())

    def to_bytes(self) -> bytes:
        """All bytes as one object. Records are copied, too."""
        if len(self._chunks) == 0:
            return self._buffer.getvalue()
        return b"".join([*in_memory(self._chunks), self._buffer.getvalue()])

    def _close_chunk(self) -> None:
        size: i64 = len(self._buffer)
        if size > 0:
            self._chunks.append(self._buffer.getvalue())
            self._chunks_size += size
            self._buffer.truncate(0)

    # Frames: messages with their size in four bytes before them. A writer may have several frames.

    def begin_frame(self) -> None:
        """Begins a frame and leaves room for its size."""
        self._frame_chunk = len(self._chunks)
        self._frame_start = len(self._buffer)
        write_i32_be(self._buffer, 0)

    def end_frame(self) -> None:
        """Ends a frame and writes its size."""
        start = self._frame_start
        if self._frame_chunk == len(self._chunks):
            size: int = len(self._buffer) - start - 4
            self._buffer[start] = size >> 24
            self._buffer[start + 1] = (size >> 16) & 0xFF
            self._buffer[start + 2] = (size >> 8) & 0xFF
            self._buffer[start + 3] = size & 0xFF
            return
        # Records were added by reference, so the chunk with the size is closed. It is small: make a new one.
        head = self._chunks[self._frame_chunk]
        assert isinstance(head, bytes)
        size = len(self._buffer) - start - 4
        for chunk in self._chunks[self._frame_chunk :]:
            size += len(chunk)
        self._chunks[self._frame_chunk] = b"".join([head[:start], size.to_bytes(4, "big"), head[start + 4 :]])

    # Numbers

    def write_int8(self, value: int) -> None:
        if value < -128 or value > 127:
            raise ProtocolError(f"{value} does not fit into an int8")
        self._buffer.append(value & 0xFF)

    def write_int16(self, value: int) -> None:
        write_i16_be(self._buffer, value)

    def write_uint16(self, value: int) -> None:
        if value < 0 or value > 0xFFFF:
            raise ProtocolError(f"{value} does not fit into a uint16")
        self._buffer.append(value >> 8)
        self._buffer.append(value & 0xFF)

    def write_int32(self, value: int) -> None:
        write_i32_be(self._buffer, value)

    def write_uint32(self, value: int) -> None:
        if value < 0 or value > 0xFFFFFFFF:
            raise ProtocolError(f"{value} does not fit into a uint32")
        write_i32_be(self._buffer, value if value < 0x80000000 else value - 0x100000000)

    def write_int64(self, value: int) -> None:
        write_i64_be(self._buffer, value)

    def write_float64(self, value: float) -> None:
        write_f64_be(self._buffer, value)

    def write_boolean(self, value: bool) -> None:
        self._buffer.append(1 if value else 0)

    def write_uuid(self, value: bytes) -> None:
        if len(value) != 16:
            raise ProtocolError(f"a UUID has 16 bytes, not {len(value)}")
        self._buffer.write(value)

    def write_unsigned_varint(self, value: i64) -> None:
        if value < 0 or value > 0xFFFFFFFF:
            raise ProtocolError(f"{value} does not fit into an unsigned varint")
        while value > 127:
            self._buffer.append((value & 0x7F) | 0x80)
            value >>= 7
        self._buffer.append(value)

    def write_varint(self, value: i64) -> None:
        if value < -0x80000000 or value > 0x7FFFFFFF:
            raise ProtocolError(f"{value} does not fit into a varint")
        self.write_unsigned_varint(((value << 1) ^ (value >> 31)) & 0xFFFFFFFF)

    # Strings

    def write_string(self, value: str) -> None:
        self._write_short(value.encode("utf-8"))

    def write_nullable_string(self, value: str | None) -> None:
        if value is None:
            write_i16_be(self._buffer, -1)
        else:
            self._write_short(value.encode("utf-8"))

    def write_compact_string(self, value: str) -> None:
        self._write_compact(value.encode("utf-8"))

    def write_compact_nullable_string(self, value: str | None) -> None:
        if value is None:
            self._buffer.append(0)
        else:
            self._write_compact(value.encode("utf-8"))

    def _write_short(self, text: bytes) -> None:
        if len(text) > MAX_STRING_BYTES:
            raise ProtocolError(f"string of {len(text)} bytes, {MAX_STRING_BYTES} at most")
        write_i16_be(self._buffer, len(text))
        self._buffer.write(text)

    def _write_compact(self, text: bytes) -> None:
        if len(text) > MAX_STRING_BYTES:
            raise ProtocolError(f"string of {len(text)} bytes, {MAX_STRING_BYTES} at most")
        self.write_unsigned_varint(len(text) + 1)
        self._buffer.write(text)

    # Bytes

    def write_bytes(self, value: bytes) -> None:
        write_i32_be(self._buffer, len(value))
        self._buffer.write(value)

    def write_nullable_bytes(self, value: bytes | None) -> None:
        if value is None:
            write_i32_be(self._buffer, -1)
        else:
            self.write_bytes(value)

    def write_compact_bytes(self, value: bytes) -> None:
        self.write_unsigned_varint(len(value) + 1)
        self._buffer.write(value)

    def write_compact_nullable_bytes(self, value: bytes | None) -> None:
        if value is None:
            self._buffer.append(0)
        else:
            self.write_compact_bytes(value)

    def write_records(self, value: RecordBytes | None) -> None:
        if value is None:
            write_i32_be(self._buffer, -1)
        else:
            write_i32_be(self._buffer, value.size())
            self.write_raw_records(value)

    def write_compact_records(self, value: RecordBytes | None) -> None:
        if value is None:
            self._buffer.append(0)
        else:
            self.write_unsigned_varint(value.end - value.start + 1)
            self.write_raw_records(value)

    def write_raw_records(self, value: RecordBytes) -> None:
        """The record batches without a length. Large ones are added by reference."""
        size = value.end - value.start
        if size < SPLICE_FROM_BYTES:
            self._buffer.write(value.to_bytes())
            return
        self._close_chunk()
        if value.stored is not None and size == value.stored.size_bytes:
            self._chunks.append(value.stored)
        else:
            self._chunks.append(value.data if size == len(value.data) else value.view())
        self._chunks_size += size

    # Arrays

    def write_array_length(self, length: int) -> None:
        """-1 for null."""
        write_i32_be(self._buffer, length)

    def write_compact_array_length(self, length: i64) -> None:
        """-1 for null."""
        self.write_unsigned_varint(length + 1)

    # Tagged fields (KIP-482)

    def write_tagged_fields(self, fields: tuple[TaggedField, ...]) -> None:
        if len(fields) == 0:
            self._buffer.append(0)
            return
        self.write_unsigned_varint(len(fields))
        last: i64 = -1
        for tag, value in sorted(fields):
            if tag == last:
                raise ProtocolError(f"tag {tag} occurs twice")
            last = tag
            self.write_unsigned_varint(tag)
            self.write_unsigned_varint(len(value))
            self._buffer.write(value)
