"""Keys go to the same partitions as with Kafka's own clients."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as murmur2_of_kafka_python

from gralha.client.partitioner import murmur2, partition_for_key

# From UtilsTest in Kafka's Java clients.
JAVA = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("key", "expected"), JAVA.items())
def test_the_hash_is_java_s(key: bytes, expected: int) -> None:
    assert murmur2(key, 0, len(key)) == expected & 0xFFFFFFFF


@settings(deadline=None)
@given(st.binary(max_size=50), st.binary(max_size=5), st.integers(1, 1000))
def test_the_hash_is_that_of_another_client(key: bytes, around: bytes, partitions: int) -> None:
    data = around + key + around
    hashed = murmur2(data, len(around), len(around) + len(key))
    assert hashed == murmur2_of_kafka_python(key) & 0xFFFFFFFF
    partition = partition_for_key(data, len(around), len(around) + len(key), partitions)
    assert partition == (hashed & 0x7FFFFFFF) % partitions
