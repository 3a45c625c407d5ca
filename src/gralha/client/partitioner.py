"""The partition of a key, as Java's default partitioner computes it: murmur2 modulo the partitions.

Records with the same key go to the same partition, no matter which client wrote them.

This module is compiled with mypyc; it also runs uncompiled.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_le
from mypy_extensions import i64

_SEED: Final[i64] = 0x9747B28C
_MIX: Final[i64] = 0x5BD1E995
_LOW: Final[i64] = 0xFFFFFFFF
_POSITIVE: Final[i64] = 0x7FFFFFFF


def murmur2(data: bytes, start: i64, end: i64) -> i64:
    """The unsigned 32-bit hash of some bytes, as `Utils.murmur2` in Kafka's Java clients."""
    length = end - start
    hashed = (_SEED ^ length) & _LOW
    position = start
    # The product of two 32-bit numbers fits into 63 bits if one is below 2**31, so nothing overflows.
    while end - position >= 4:
        word = ((i64(read_i32_le(data, position)) & _LOW) * _MIX) & _LOW
        word ^= word >> 24
        word = (word * _MIX) & _LOW
        hashed = ((hashed * _MIX) & _LOW) ^ word
        position += 4
    rest = end - position
    if rest == 3:
        hashed ^= i64(data[position + 2]) << 16
    if rest >= 2:
        hashed ^= i64(data[position + 1]) << 8
    if rest >= 1:
        hashed ^= i64(data[position])
        hashed = (hashed * _MIX) & _LOW
    hashed ^= hashed >> 13
    hashed = (hashed * _MIX) & _LOW
    return hashed ^ (hashed >> 15)


def partition_for_key(data: bytes, start: i64, end: i64, partitions: i64) -> i64:
    """The partition of the key between two positions."""
    return (murmur2(data, start, end) & _POSITIVE) % partitions
