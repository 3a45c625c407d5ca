"""Batches with one error and a right CRC, as a broken or malicious client could send them."""

import random
import struct
from collections.abc import Callable
from typing import NamedTuple

from fastcrc import crc32

from gralha.protocol import compression
from gralha.protocol.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD

CODECS = (NONE, GZIP, SNAPPY, LZ4, ZSTD)
COMPRESSED = (GZIP, SNAPPY, LZ4, ZSTD)
HOUR_MS = 3_600_000


def varint(value: int) -> bytes:
    """A zigzag number."""
    rest = (value << 1) ^ (value >> 63)
    rest &= (1 << 64) - 1
    found = bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def overlong(value: int, size: int) -> bytes:
    """A number from 0 to 63, encoded in that many bytes."""
    return bytes([value << 1 | 0x80]) + b"\x80" * (size - 2) + b"\x00"


def sized(value: bytes | None) -> bytes:
    return varint(-1) if value is None else varint(len(value)) + value


class Parts(NamedTuple):
    """The fields of a record, as bytes."""

    attributes: bytes = b"\x00"
    timestamp_delta: bytes = varint(0)
    offset_delta: bytes = varint(0)
    key: bytes = sized(b"key")
    value: bytes = sized(b"value")
    headers: bytes = varint(0)
    size: bytes | None = None  # the record's own length, if it is not the right one
    trailing: bytes = b""

    def encoded(self) -> bytes:
        body = b"".join(self[:6]) + self.trailing
        return (varint(len(body)) if self.size is None else self.size) + body


def good_records(count: int = 3) -> list[Parts]:
    return [Parts(offset_delta=varint(index)) for index in range(count)]


def batch(
    records: bytes,
    count: int,
    now_ms: int,
    codec: int = NONE,
    *,
    last_delta: int | None = None,
    attributes: int = 0,
    max_timestamp: int | None = None,
    payload: bytes | None = None,
    base_timestamp: int | None = None,
    base_offset: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:
    """A batch of these (uncompressed) records; `payload` is sent in place of the compressed ones."""
    if payload is None:
        payload = compression.compress(codec, records)
    covered = struct.pack(
        ">hiqqqhii",
        attributes | codec,
        count - 1 if last_delta is None else last_delta,
        now_ms if base_timestamp is None else base_timestamp,
        now_ms if max_timestamp is None else max_timestamp,
        *producer,
        count,
    )
    covered += payload
    length = 9 + len(covered)
    return struct.pack(">qiibI", base_offset, length, -1, 2, crc32.iscsi(covered)) + covered


class Case(NamedTuple):
    """One batch; `settings` are those of the topic that it is sent to."""

    make: Callable[[int], bytes]  # gets the time
    settings: tuple[tuple[str, str], ...] = ()


def _of(records: list[Parts], codec: int, count: int | None = None, **options: object) -> Case:
    data = b"".join(record.encoded() for record in records)
    claimed = len(records) if count is None else count
    return Case(lambda now_ms: batch(data, claimed, now_ms, codec, **options))  # type: ignore[arg-type]


def _changed(codec: int, index: int = 1, **fields: bytes) -> Case:
    records = good_records()
    records[index] = records[index]._replace(**fields)
    return _of(records, codec)


def _raw(data: bytes, count: int, codec: int) -> Case:
    return Case(lambda now_ms: batch(data, count, now_ms, codec))


def _good() -> bytes:
    return b"".join(record.encoded() for record in good_records())


def structural(codec: int) -> dict[str, Case]:
    """Wrong records, inside any codec."""
    good = _good()
    one = good_records()[0].encoded()
    return {
        "right": _of(good_records(), codec),
        "3 claims 2": _of(good_records(), codec, 2),
        "3 claims 4": _of(good_records(), codec, 4),
        "3 claims 1": _of(good_records(), codec, 1),
        "a byte behind the last": _raw(good + b"\x00", 3, codec),
        "cut in the last": _raw(good[:-1], 3, codec),
        "cut in the last value": _raw(good[:-4], 3, codec),
        "no records": _raw(b"", 3, codec),
        "random bytes": _raw(random.Random(1).randbytes(100), 3, codec),
        "other random bytes": _raw(random.Random(7).randbytes(1000), 30, codec),
        "zeros": _raw(bytes(100), 3, codec),
        "size one more": _changed(codec, size=varint(len(one))),
        "size one less": _changed(codec, size=varint(len(one) - 2)),
        "size of the last one more": _changed(codec, 2, size=varint(len(one))),
        "size of the last one less": _changed(codec, 2, size=varint(len(one) - 2)),
        "size past the end": _changed(codec, size=varint(1000)),
        "size 0": _changed(codec, size=varint(0)),
        "size -1": _changed(codec, size=varint(-1)),
        "size of 2 GB": _changed(codec, size=varint(2**31 - 1)),
        "size in 6 bytes": _changed(codec, size=overlong(len(one) - 1, 6)),
        "size in 5 bytes": _changed(codec, size=overlong(len(one) - 1, 5)),
        "size that never ends": _raw(b"\xff" * 50, 3, codec),
        "a byte behind the fields": _changed(codec, trailing=b"\x00"),
        "a byte behind the fields of the last": _changed(codec, 2, trailing=b"\x00"),
        "attributes": _changed(codec, attributes=b"\x07"),
        "timestamp delta in 10 bytes": _changed(codec, timestamp_delta=overlong(0, 10)),
        "timestamp delta in 11 bytes": _changed(codec, timestamp_delta=overlong(0, 11)),
        "offset delta twice": _changed(codec, offset_delta=varint(0)),
        "offset delta too high": _changed(codec, offset_delta=varint(2)),
        "offset delta -1": _changed(codec, 0, offset_delta=varint(-1)),
        "offset delta of the last too high": _changed(codec, 2, offset_delta=varint(7)),
        "offset delta in 6 bytes": _changed(codec, offset_delta=overlong(1, 6)),
        "key past the end": _changed(codec, key=varint(1000) + b"key"),
        "key of the last past the end": _changed(codec, 2, key=varint(1000) + b"key"),
        "key of -1": _changed(codec, key=varint(-1)),
        "key of -5": _changed(codec, key=varint(-5)),
        "key in 6 bytes": _changed(codec, key=overlong(3, 6) + b"key"),
        "value past the end": _changed(codec, value=varint(1000) + b"value"),
        "value of the last past the end": _changed(codec, 2, value=varint(6) + b"value"),
        "value of -1": _changed(codec, value=varint(-1)),
        "value of -5": _changed(codec, value=varint(-5)),
        "-1 headers": _changed(codec, headers=varint(-1)),
        "1000 headers": _changed(codec, headers=varint(1000)),
        "1000 headers of the last": _changed(codec, 2, headers=varint(1000)),
        "a header": _changed(codec, headers=varint(1) + sized(b"h") + sized(b"x")),
        "a header without a value": _changed(codec, headers=varint(1) + sized(b"h") + sized(None)),
        "a header without a key": _changed(codec, headers=varint(1) + sized(None) + sized(b"x")),
        "a header past the end": _changed(codec, headers=varint(1) + varint(900) + b"h" + sized(b"x")),
        "a header's value past the end": _changed(codec, headers=varint(1) + sized(b"h") + varint(900)),
        "headers that are not there": _changed(codec, 2, headers=varint(2) + sized(b"h") + sized(b"x")),
        "more headers than counted": _changed(codec, headers=varint(1) + (sized(b"h") + sized(b"x")) * 2),
        "headers not counted": _changed(codec, headers=varint(0) + sized(b"h") + sized(b"x")),
        "a header that is not UTF-8": _changed(codec, headers=varint(1) + sized(b"\xff\xfe") + sized(b"x")),
    }


def by_settings(codec: int) -> dict[str, Case]:
    """Records that a setting of the topic forbids, and wrong headers."""
    late, early = varint(2 * HOUR_MS), varint(-2 * HOUR_MS)
    keyless = [one._replace(key=sized(None)) for one in good_records()]
    some_keyless = [keyless[0], good_records()[1], keyless[2]]
    compacted = (("cleanup.policy", "compact"),)
    append_time = (("message.timestamp.type", "LogAppendTime"),)
    recent = (("message.timestamp.before.max.ms", "60000"),)
    mixed = [
        good_records()[0]._replace(key=sized(None)),
        good_records()[1]._replace(timestamp_delta=late),
        good_records()[2]._replace(key=sized(None), timestamp_delta=late),
    ]
    return {
        "no keys where they are needed": _of(keyless, codec)._replace(settings=compacted),
        "some keys where they are needed": _of(some_keyless, codec)._replace(settings=compacted),
        "no keys, and a time out of range": _of(mixed, codec)._replace(settings=compacted),
        "no keys, and cut": _of(some_keyless, codec, 4)._replace(settings=compacted),
        "too late": _changed(codec, timestamp_delta=late),
        "too late, where the broker's time counts": _changed(codec, timestamp_delta=late)._replace(
            settings=append_time
        ),
        "too early": _changed(codec, timestamp_delta=early)._replace(settings=recent),
        "early": _changed(codec, timestamp_delta=early),
        "no timestamps": _of(good_records(), codec, base_timestamp=-1, max_timestamp=-1)._replace(
            settings=recent
        ),
        "max timestamp too late": _of(good_records(), codec, max_timestamp=4_000_000_000_000),
        "max timestamp too early": _of(good_records(), codec, max_timestamp=5),
        "the broker's time claimed": _of(good_records(), codec, attributes=8),
        "the broker's time claimed, far off": _of(
            good_records(), codec, attributes=8, max_timestamp=4_000_000_000_000
        ),
        "the broker's time claimed without one": _of(good_records(), codec, attributes=8, max_timestamp=-1),
        "the broker's time claimed where it counts": _of(good_records(), codec, attributes=8)._replace(
            settings=append_time
        ),
        "a control batch": _of(good_records(), codec, attributes=0x20),
        "base offset 5": _of(good_records(), codec, base_offset=5),
        "last delta 5": _of(good_records(), codec, last_delta=5),
        "last delta -1": _of(good_records(), codec, last_delta=-1),
        "no count": _of(good_records(), codec, 0, last_delta=2),
        "count -1": _of(good_records(), codec, -1, last_delta=2),
        "a producer without a sequence": _of(good_records(), codec, producer=(5, 0, -1)),
        "an unused attribute": _of(good_records(), codec, attributes=0x80),
        "a delete horizon": _of(good_records(), codec, attributes=0x40),
        **{
            f"{kind} becomes {name}": case._replace(settings=(("compression.type", name),))
            for name in ("uncompressed", "gzip", "lz4")
            for kind, case in {
                "right": _of(good_records(), codec),
                "3 claims 2": _of(good_records(), codec, 2),
                "size one more": _changed(codec, size=varint(20)),
                "offset delta twice": _changed(codec, offset_delta=varint(0)),
                "max timestamp too late": _of(good_records(), codec, max_timestamp=4_000_000_000_000),
            }.items()
        },
    }


def undecompressible(codec: int) -> dict[str, Case]:
    good = compression.compress(codec, _good() * 30)

    def sent(payload: bytes) -> Case:
        return Case(lambda now_ms: batch(b"", 3, now_ms, codec, payload=payload))

    return {
        "nothing": sent(b""),
        "random bytes": sent(random.Random(3).randbytes(100)),
        "plain records": sent(_good()),
        "cut": sent(good[:-5]),
        "cut in half": sent(good[: len(good) // 2]),
        "flipped": sent(
            good[: len(good) // 2] + bytes([good[len(good) // 2] ^ 0xFF]) + good[len(good) // 2 + 1 :]
        ),
        "bytes behind it": Case(
            lambda now_ms: batch(
                b"", 3, now_ms, codec, payload=compression.compress(codec, _good()) + b"xxxx"
            )
        ),
    }


def unknown_codecs() -> dict[str, Case]:
    return {
        f"codec {codec}": Case(lambda now_ms, codec=codec: batch(_good(), 3, now_ms, attributes=codec))  # type: ignore[misc]
        for codec in (5, 6, 7)
    }


def all_cases() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for codec in CODECS:
        name = compression.NAMES[codec]
        for kind, case in {**structural(codec), **by_settings(codec)}.items():
            cases[f"{name}: {kind}"] = case
    for codec in COMPRESSED:
        for kind, case in undecompressible(codec).items():
            cases[f"{compression.NAMES[codec]} itself: {kind}"] = case
    return cases | unknown_codecs()
