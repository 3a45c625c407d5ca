"""Keys go to the same partitions as with Apache Kafka's Java client, so records of a key keep one order."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPTS = Path(sys.executable).parent
PARTITIONS = 7
# Keys of every length modulo four, with bytes above 127, and one with a negative hash.
PARTITION_OF_KEY = {
    "a": 5,
    "ab": 0,
    "abc": 4,
    "abcd": 5,
    "21": 3,
    "foobar": 0,
    "gralha": 5,
    "maçã": 0,
    "ação": 6,
    "Ωmega": 3,
    "日本語": 6,
    "user-1": 3,
    "user-2": 0,
    "user-42": 1,
    "user-7": 2,
    "uma chave um pouco mais comprida": 2,
    "pedido 0017": 3,
}


def murmur2(data: bytes) -> int:
    """Kafka's hash of a key (32-bit MurmurHash2 with its own seed), as an unsigned number."""
    mask, multiplier = 0xFFFFFFFF, 0x5BD1E995
    value = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * multiplier & mask
        word = (word ^ word >> 24) * multiplier & mask
        value = value * multiplier & mask ^ word
    if rest := data[whole:]:
        value = (value ^ int.from_bytes(rest, "little")) * multiplier & mask
    value = (value ^ value >> 13) * multiplier & mask
    return value ^ value >> 15


def partition_of(key: bytes) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % PARTITIONS


# The results of Apache Kafka's Utils.murmur2.
@pytest.mark.parametrize(
    ("data", "value"), [(b"21", -973932308), (b"abc", 479470107), (b"foobar", -790332482)]
)
def test_the_hash_is_that_of_apache_kafka(data: bytes, value: int) -> None:
    assert murmur2(data) == value & 0xFFFFFFFF


def test_the_partitions_follow_from_the_hash() -> None:
    assert {key: partition_of(key.encode()) for key in PARTITION_OF_KEY} == PARTITION_OF_KEY
    assert len(set(PARTITION_OF_KEY.values())) == PARTITIONS


def test_the_console_producer_chooses_the_same_partitions(
    bootstrap: str, new_name: Callable[[str], str]
) -> None:
    topic = new_name("partitioner")

    def run(name: str, *arguments: str, lines: str = "") -> str:
        line = [str(SCRIPTS / name), "--bootstrap-server", bootstrap, "--topic", topic, *arguments]
        done = subprocess.run(line, input=lines, capture_output=True, encoding="utf-8", timeout=30)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("kafka-topics", "--create", "--partitions", str(PARTITIONS))
    run(
        "kafka-console-producer",
        *["--property", "parse.key=true", "--property", "key.separator=|"],
        lines="".join(f"{key}|value\n" for key in PARTITION_OF_KEY),
    )
    shown = run(
        "kafka-console-consumer",
        *["--from-beginning", "--max-messages", str(len(PARTITION_OF_KEY))],
        *["--property", "print.partition=true", "--property", "print.key=true"],
        *["--property", "print.value=false"],
    )
    expected = [f"Partition:{partition}\t{key}" for key, partition in PARTITION_OF_KEY.items()]
    assert sorted(shown.splitlines()) == sorted(expected)
