"""Kafka's four compressions of record batches: gzip, snappy, lz4 and zstd.

The codecs write the formats of Apache Kafka: gzip members, snappy in the framing of snappy-java ("xerial": a
16-byte header, then length-prefixed raw blocks), lz4 frames of independent 64 KB blocks, zstd frames. They
also read raw snappy, which some clients send.

`decompress` never returns more than `max_bytes`. The output grows in chunks and stops at the limit. A
declared length (snappy) is checked before memory is allocated. The libraries are imported at their first use,
because most commands do not need them.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Any, Final

from gralha.protocol.errors import CorruptMessageError, MessageTooLargeError, UnsupportedCompressionTypeError

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4

NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")

# One step of decompression has at most this many bytes of output.
CHUNK_BYTES: Final = 1 << 20

XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
# A snappy copy element of 3 bytes stands for at most 64 bytes, so no valid block grows more than this.
_SNAPPY_RATIO_MAX: Final = 22

_LZ4_BLOCK_64_KB: Final = 4
_ZSTD_LEVEL_DEFAULT: Final = 3

Buffer = bytes | bytearray | memoryview

# A producer writes one frame. The cost of many empty frames grows with their square: each copies the rest.
_FRAMES_MAX: Final = 256
_TOO_MANY_FRAMES: Final = f"it has more than {_FRAMES_MAX} frames"


def codec_name(codec: int) -> str:
    """Kafka's name of a codec, as in `compression.type`."""
    if 0 <= codec < len(NAMES):
        return NAMES[codec]
    raise UnsupportedCompressionTypeError(f"There is no compression type {codec}")


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """Compress the data as a Kafka client does in a batch. `level` is for gzip, lz4 and zstd."""
    if codec == NONE:
        return bytes(data)
    if codec == GZIP:
        compressor = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, 31)
        return compressor.compress(data) + compressor.flush()
    if codec == SNAPPY:
        return _compress_xerial(memoryview(data))
    if codec == LZ4:
        return _compress_lz4(data, 0 if level is None else level)
    if codec == ZSTD:
        compressed: bytes = _zstd().compress(data, _ZSTD_LEVEL_DEFAULT if level is None else level)
        return compressed
    raise UnsupportedCompressionTypeError(f"There is no compression type {codec}")


def decompress(codec: int, data: Buffer, max_bytes: int) -> bytes:
    """The original bytes. Raises CORRUPT_MESSAGE, or MESSAGE_TOO_LARGE if they are more than `max_bytes`."""
    if codec == NONE:
        if len(data) > max_bytes:
            raise _too_large(max_bytes)
        return bytes(data)
    if codec == GZIP:
        return _decompress_gzip(data, max_bytes)
    if codec == SNAPPY:
        return _decompress_snappy(memoryview(data), max_bytes)
    if codec == LZ4:
        return _decompress_lz4(data, max_bytes)
    if codec == ZSTD:
        return _decompress_zstd(data, max_bytes)
    raise UnsupportedCompressionTypeError(f"There is no compression type {codec}")


def _too_large(max_bytes: int) -> MessageTooLargeError:
    return MessageTooLargeError(f"The decompressed records are larger than the {max_bytes} bytes allowed")


def _corrupt(codec: str, reason: object) -> CorruptMessageError:
    return CorruptMessageError(f"The {codec} data cannot be decompressed: {reason}")


def _drain(stream: Any, data: Buffer, room: int, chunks: list[bytes]) -> int:
    """Decompress one frame into `chunks`. Returns the number of bytes, `room` + 1 if it is too large.

    Works with every decompressor that has `decompress(data, max_length)` and keeps its unread input.
    """
    size = 0
    while True:
        chunk = stream.decompress(data, min(CHUNK_BYTES, room + 1 - size))
        data = b""
        size += len(chunk)
        if size > room:
            return size
        if chunk:
            chunks.append(chunk)
        if stream.eof:
            return size
        if not chunk and stream.needs_input:
            raise EOFError("it ends too early")


def _join(chunks: list[bytes]) -> bytes:
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


# --- gzip ---------------------------------------------------------------------------------------------


def _decompress_gzip(data: Buffer, max_bytes: int) -> bytes:
    chunks: list[bytes] = []
    room = max_bytes
    rest: Buffer = data
    try:
        for _ in range(_FRAMES_MAX):  # Java's stream reads concatenated gzip members as one
            stream = zlib.decompressobj(31)
            while not stream.eof:
                chunk = stream.decompress(rest, min(CHUNK_BYTES, room + 1))
                room -= len(chunk)
                if room < 0:
                    raise _too_large(max_bytes)
                if not chunk and not stream.eof and not stream.unconsumed_tail:
                    raise EOFError("it ends too early")
                chunks.append(chunk)
                rest = stream.unconsumed_tail
            rest = stream.unused_data
            if rest[:2] != b"\x1f\x8b":  # Java ignores bytes after the last member
                return _join(chunks)
        raise EOFError(_TOO_MANY_FRAMES)
    except (zlib.error, EOFError) as error:
        raise _corrupt("gzip", error) from None


# --- lz4 and zstd -------------------------------------------------------------------------------------


def _compress_lz4(data: Buffer, level: int) -> bytes:
    import lz4.frame

    # Kafka's reader accepts only independent blocks.
    compressed: bytes = lz4.frame.compress(
        data, compression_level=level, block_size=_LZ4_BLOCK_64_KB, block_linked=False, store_size=False
    )
    return compressed


def _decompress_lz4(data: Buffer, max_bytes: int) -> bytes:
    import lz4.frame

    chunks: list[bytes] = []
    try:
        size = _drain(lz4.frame.LZ4FrameDecompressor(), data, max_bytes, chunks)
    except (RuntimeError, EOFError) as error:
        raise _corrupt("lz4", error) from None
    if size > max_bytes:
        raise _too_large(max_bytes)
    return _join(chunks)


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _decompress_zstd(data: Buffer, max_bytes: int) -> bytes:
    zstd = _zstd()
    chunks: list[bytes] = []
    room = max_bytes
    rest: Buffer = data
    try:
        for _ in range(_FRAMES_MAX):  # zstd-jni reads concatenated frames as one
            stream = zstd.ZstdDecompressor()
            room -= _drain(stream, rest, room, chunks)
            if room < 0:
                raise _too_large(max_bytes)
            rest = stream.unused_data
            if not rest:
                return _join(chunks)
        raise EOFError(_TOO_MANY_FRAMES)
    except (zstd.ZstdError, EOFError) as error:
        raise _corrupt("zstd", error) from None


# --- snappy -------------------------------------------------------------------------------------------


def _compress_xerial(data: memoryview) -> bytes:
    from cramjam import snappy

    chunks: list[bytes] = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        chunks.append(len(block).to_bytes(4, "big"))
        chunks.append(block)
    return b"".join(chunks)


def _decompress_snappy(data: memoryview, max_bytes: int) -> bytes:
    from cramjam import DecompressionError, snappy

    try:
        if bytes(data[:8]) != XERIAL_MAGIC:
            return _decompress_block(snappy.decompress_raw, data, max_bytes, max_bytes)
        return _decompress_xerial(snappy.decompress_raw, data, max_bytes)
    except DecompressionError as error:
        raise _corrupt("snappy", error) from None


def _decompress_xerial(
    decompress_raw: Callable[[memoryview], Any], data: memoryview, max_bytes: int
) -> bytes:
    chunks: list[bytes] = []
    room = max_bytes
    position = len(_XERIAL_HEADER)
    while position < len(data):
        length = int.from_bytes(data[position : position + 4], "big")
        if bytes(data[position : position + 8]) == XERIAL_MAGIC:  # a second stream was appended to the first
            position += len(_XERIAL_HEADER)
            continue
        position += 4
        if length > len(data) - position:
            raise _corrupt("snappy", "a block ends too early")
        block = _decompress_block(decompress_raw, data[position : position + length], room, max_bytes)
        position += length
        room -= len(block)
        chunks.append(block)
    return _join(chunks)


def _decompress_block(
    decompress_raw: Callable[[memoryview], Any], block: memoryview, room: int, max_bytes: int
) -> bytes:
    """Decompress one raw snappy block. Checks its declared length before the library allocates memory."""
    declared = _snappy_length(block)
    if declared > len(block) * _SNAPPY_RATIO_MAX:
        raise _corrupt("snappy", f"{len(block)} bytes cannot hold the {declared} they declare")
    if declared > room:
        raise _too_large(max_bytes)
    return bytes(decompress_raw(block))


def _snappy_length(block: memoryview) -> int:
    length = 0
    for index, byte in enumerate(block[:5]):
        length |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return length
    raise _corrupt("snappy", "it does not begin with a length")
