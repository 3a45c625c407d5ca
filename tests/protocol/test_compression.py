"""The four codecs: they and other programs read what they write, and every input stays within limits."""

from __future__ import annotations

import contextlib
import gzip
import io
import subprocess
import sys
import zlib

import cramjam
import lz4.frame
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gralha.protocol import compression
from gralha.protocol.errors import CorruptMessageError, MessageTooLargeError, UnsupportedCompressionTypeError

CODECS = [compression.GZIP, compression.SNAPPY, compression.LZ4, compression.ZSTD]
TEXT = b"a jackdaw is a gralha is a kavka; " * 3000


@pytest.mark.parametrize("codec", [compression.NONE, *CODECS])
@given(data=st.binary(max_size=2000), repeat=st.integers(1, 100))
@example(data=b"", repeat=1)
@example(data=bytes(range(256)) * 128, repeat=1)
@example(data=bytes(range(256)) * 128, repeat=9)
def test_what_is_compressed_comes_back(codec: int, data: bytes, repeat: int) -> None:
    data *= repeat
    assert compression.decompress(codec, compression.compress(codec, data), len(data)) == data


@pytest.mark.parametrize("codec", CODECS)
def test_output_of_several_chunks_comes_back(codec: int) -> None:
    data = bytes(3 * compression.CHUNK_BYTES + 5)
    assert compression.decompress(codec, compression.compress(codec, data), len(data)) == data


@pytest.mark.parametrize("codec", [compression.NONE, *CODECS])
def test_one_byte_more_than_allowed_is_refused(codec: int) -> None:
    packed = compression.compress(codec, TEXT)
    with pytest.raises(MessageTooLargeError):
        compression.decompress(codec, packed, len(TEXT) - 1)
    with pytest.raises(MessageTooLargeError):
        compression.decompress(codec, packed, 0)


@pytest.mark.parametrize("codec", CODECS)
def test_any_kind_of_buffer_is_taken(codec: int) -> None:
    packed = compression.compress(codec, memoryview(TEXT))
    inside = memoryview(b"before" + packed + b"after")[6:-5]
    assert compression.decompress(codec, inside, len(TEXT)) == TEXT
    assert compression.decompress(codec, bytearray(packed), len(TEXT)) == TEXT


@pytest.mark.parametrize("codec", [compression.GZIP, compression.ZSTD])
def test_a_few_frames_are_one_and_very_many_are_refused(codec: int) -> None:
    frame = compression.compress(codec, b"x")
    assert compression.decompress(codec, frame * 100, 1000) == b"x" * 100
    with pytest.raises(CorruptMessageError, match="more than 256 frames"):
        compression.decompress(codec, frame * 300, 1000)


@pytest.mark.parametrize("codec", CODECS)
def test_every_cut_is_noticed(codec: int) -> None:
    packed = compression.compress(codec, TEXT)
    for length in range(len(packed)):
        try:
            plain = compression.decompress(codec, packed[:length], len(TEXT))
        except CorruptMessageError:
            continue
        # Xerial snappy has no end mark: a cut between two blocks is seen by the count of records.
        assert codec == compression.SNAPPY
        assert TEXT.startswith(plain)


@pytest.mark.parametrize("codec", CODECS)
@given(junk=st.binary(max_size=200))
def test_junk_is_corrupt_and_nothing_else(codec: int, junk: bytes) -> None:
    with contextlib.suppress(CorruptMessageError, MessageTooLargeError):
        compression.decompress(codec, junk, 1 << 20)


@pytest.mark.parametrize("codec", CODECS)
@given(place=st.integers(0, 1 << 30), byte=st.integers(0, 255))
def test_a_changed_byte_is_corrupt_and_nothing_else(codec: int, place: int, byte: int) -> None:
    packed = bytearray(compression.compress(codec, TEXT))
    packed[place % len(packed)] = byte
    with contextlib.suppress(CorruptMessageError, MessageTooLargeError):
        compression.decompress(codec, packed, 1 << 20)


@pytest.mark.parametrize("codec", [-1, 5, 6, 7, 99])
def test_a_codec_that_does_not_exist(codec: int) -> None:
    with pytest.raises(UnsupportedCompressionTypeError):
        compression.compress(codec, b"")
    with pytest.raises(UnsupportedCompressionTypeError):
        compression.decompress(codec, b"", 10)
    with pytest.raises(UnsupportedCompressionTypeError):
        compression.codec_name(codec)


def test_names_are_those_of_compression_type() -> None:
    assert [compression.codec_name(codec) for codec in range(5)] == ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.mark.parametrize(
    ("codec", "low", "high"), [(compression.GZIP, 1, 9), (compression.LZ4, 1, 12), (compression.ZSTD, -1, 19)]
)
def test_the_level_counts(codec: int, low: int, high: int) -> None:
    data = b"".join(i.to_bytes(2, "big") * (i % 7) for i in range(9000))
    quick, small = compression.compress(codec, data, low), compression.compress(codec, data, high)
    assert len(small) < len(quick)
    assert compression.decompress(codec, small, len(data)) == data


class TestGzip:
    def test_reads_members_in_a_row_as_java_does(self) -> None:
        both = gzip.compress(TEXT) + gzip.compress(b"second")
        assert compression.decompress(compression.GZIP, both, len(TEXT) + 6) == TEXT + b"second"
        with pytest.raises(MessageTooLargeError):
            compression.decompress(compression.GZIP, both, len(TEXT) + 5)

    def test_zeros_after_the_last_member_are_ignored(self) -> None:
        assert compression.decompress(compression.GZIP, gzip.compress(b"x") + bytes(7), 1) == b"x"

    def test_a_wrong_checksum_is_corrupt(self) -> None:
        packed = bytearray(gzip.compress(TEXT))
        packed[-5] ^= 1
        with pytest.raises(CorruptMessageError):
            compression.decompress(compression.GZIP, packed, len(TEXT))

    def test_zlib_without_the_gzip_header_is_corrupt(self) -> None:
        with pytest.raises(CorruptMessageError):
            compression.decompress(compression.GZIP, zlib.compress(TEXT), len(TEXT))

    def test_python_reads_ours(self) -> None:
        packed = compression.compress(compression.GZIP, TEXT)
        assert gzip.GzipFile(fileobj=io.BytesIO(packed)).read() == TEXT


class TestSnappy:
    def test_ours_is_in_xerial_blocks_of_32_kb(self) -> None:
        packed = compression.compress(compression.SNAPPY, bytes(70_000))
        assert packed.startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
        position, sizes = 16, []
        while position < len(packed):
            length = int.from_bytes(packed[position : position + 4], "big")
            sizes.append(len(cramjam.snappy.decompress_raw(packed[position + 4 : position + 4 + length])))
            position += 4 + length
        assert sizes == [32768, 32768, 70_000 - 65536]

    def test_raw_snappy_is_read_too(self) -> None:
        raw = bytes(cramjam.snappy.compress_raw(TEXT))
        assert compression.decompress(compression.SNAPPY, raw, len(TEXT)) == TEXT

    def test_streams_in_a_row(self) -> None:
        one = compression.compress(compression.SNAPPY, TEXT)
        assert compression.decompress(compression.SNAPPY, one + one, 2 * len(TEXT)) == TEXT * 2

    def test_the_limit_holds_for_the_sum_of_the_blocks(self) -> None:
        packed = compression.compress(compression.SNAPPY, bytes(100_000))
        with pytest.raises(MessageTooLargeError):
            compression.decompress(compression.SNAPPY, packed, 99_999)

    def test_a_declared_size_is_not_believed(self) -> None:
        liar = b"\xff\xff\xff\xff\x0f" + b"\x00a" * 10
        with pytest.raises(CorruptMessageError, match="cannot hold"):
            compression.decompress(compression.SNAPPY, liar, 1 << 40)


class TestLz4:
    def test_blocks_are_independent_and_of_64_kb(self) -> None:
        info = lz4.frame.get_frame_info(compression.compress(compression.LZ4, TEXT))
        assert not info["block_linked"]
        assert info["block_size"] == 64 * 1024
        assert info["content_size"] == 0

    def test_frames_with_sizes_and_checksums_are_read(self) -> None:
        packed = lz4.frame.compress(TEXT, store_size=True, content_checksum=True, block_checksum=True)
        assert compression.decompress(compression.LZ4, packed, len(TEXT)) == TEXT


class TestZstd:
    def test_frames_in_a_row(self) -> None:
        one = compression.compress(compression.ZSTD, TEXT)
        assert compression.decompress(compression.ZSTD, one + one, 2 * len(TEXT)) == TEXT * 2
        with pytest.raises(MessageTooLargeError):
            compression.decompress(compression.ZSTD, one + one, 2 * len(TEXT) - 1)

    def test_junk_after_a_frame_is_corrupt(self) -> None:
        with pytest.raises(CorruptMessageError):
            compression.decompress(
                compression.ZSTD, compression.compress(compression.ZSTD, TEXT) + b"x", 1 << 20
            )


BOMB = """
import sys
from gralha.protocol import compression as c
from gralha.protocol.errors import MessageTooLargeError
codec, limit = int(sys.argv[1]), int(sys.argv[2])
part = c.compress(codec, bytes(1 << 20))
if codec == c.SNAPPY:
    bomb = part + part[16:] * 99                # more blocks
elif codec == c.LZ4:
    bomb = part[:-4] + part[7:-4] * 99 + part[-4:]  # more blocks between the header and the end mark
else:
    bomb = part * 100                           # more frames
assert c.decompress(codec, c.compress(codec, b"warm"), 4) == b"warm"
def memory(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) * 1024
open("/proc/self/clear_refs", "w").write("5")  # the high-water mark starts anew
before = memory("VmRSS")
try:
    c.decompress(codec, bomb, limit)
except MessageTooLargeError:
    print(memory("VmHWM") - before)
else:
    sys.exit("the bomb went off")
"""


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_takes_no_more_memory_than_allowed(codec: int) -> None:
    limit = 32 << 20
    run = subprocess.run(
        [sys.executable, "-c", BOMB, str(codec), str(limit)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert limit / 2 < int(run.stdout) < limit + 4 * compression.CHUNK_BYTES
