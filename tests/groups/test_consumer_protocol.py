"""Subscriptions and assignments have the bytes that Apache Kafka 4.3's ConsumerProtocol makes of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.groups.consumer_protocol import (
    NEWEST_VERSION,
    protocol_version,
    read_assignment,
    read_subscription,
    write_assignment,
    write_subscription,
)
from gralha.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from gralha.protocol.primitives import ProtocolError

OWNED = [TopicPartition("a", [0, 2]), TopicPartition("b", [1])]
FULL = ConsumerProtocolSubscription(["a", "b"], b"\7", OWNED, 4, "r")
ASSIGNMENT = ConsumerProtocolAssignment(OWNED, None)
TOPICS = "00000002000161000162" + "0000000107"
PARTITIONS = "00000002" + "0001610000000200000000" + "00000002" + "0001620000000100000001"
# By version, and what of the subscription the version can carry.
SUBSCRIPTIONS = [
    ("0000" + TOPICS, ConsumerProtocolSubscription(["a", "b"], b"\7")),
    ("0001" + TOPICS + PARTITIONS, ConsumerProtocolSubscription(["a", "b"], b"\7", OWNED)),
    ("0002" + TOPICS + PARTITIONS + "00000004", ConsumerProtocolSubscription(["a", "b"], b"\7", OWNED, 4)),
    ("0003" + TOPICS + PARTITIONS + "00000004" + "000172", FULL),
]


@pytest.mark.parametrize("version", range(4))
def test_subscriptions_have_kafkas_bytes(version: int) -> None:
    data, carried = SUBSCRIPTIONS[version]
    assert write_subscription(FULL, version).hex() == data
    assert read_subscription(bytes.fromhex(data)) == carried
    assert protocol_version(bytes.fromhex(data)) == version


@pytest.mark.parametrize("version", range(4))
def test_assignments_have_kafkas_bytes(version: int) -> None:
    data = f"{version:04x}" + PARTITIONS + "ffffffff"
    assert write_assignment(ASSIGNMENT, version).hex() == data
    assert read_assignment(bytes.fromhex(data)) == ASSIGNMENT


def test_the_newest_version_is_written_unless_told_otherwise() -> None:
    assert write_subscription(FULL) == write_subscription(FULL, 3) == write_subscription(FULL, 99)
    assert write_assignment(ASSIGNMENT) == write_assignment(ASSIGNMENT, 3) == write_assignment(ASSIGNMENT, 99)
    assert (
        ConsumerProtocolSubscription.MAX_VERSION == ConsumerProtocolAssignment.MAX_VERSION == NEWEST_VERSION
    )


def test_newer_versions_are_read_as_the_newest_known() -> None:
    newer = bytes.fromhex("0063" + SUBSCRIPTIONS[3][0][4:] + "abcdef")
    assert read_subscription(newer) == FULL
    assert protocol_version(newer) == 99
    assert read_assignment(bytes.fromhex("0063" + PARTITIONS + "ffffffff" + "ab")) == ASSIGNMENT


@pytest.mark.parametrize("data", ["", "00", "0000", "ffff00000000ffffffff", "0000ffffffff", "00007fffffff"])
def test_malformed_bytes_are_refused(data: str) -> None:
    with pytest.raises(ProtocolError):
        read_subscription(bytes.fromhex(data))
    with pytest.raises(ProtocolError):
        read_assignment(bytes.fromhex(data))


@given(st.binary(max_size=80))
def test_members_may_send_anything_as_a_subscription(data: bytes) -> None:
    try:
        subscription = read_subscription(data)
    except ProtocolError:
        return
    assert read_subscription(write_subscription(subscription)) == subscription


@given(st.binary(max_size=80))
def test_leaders_may_send_anything_as_an_assignment(data: bytes) -> None:
    try:
        assignment = read_assignment(data)
    except ProtocolError:
        return
    assert read_assignment(write_assignment(assignment)) == assignment
