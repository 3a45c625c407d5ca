"""The bytes of subscriptions and assignments that the consumers of a classic group exchange.

The coordinator passes these bytes on. It reads them to learn the topics of a group, and when classic members
are in a consumer group (KIP-848). The bytes begin with an int16, the version. A version that we do not know
is read as the newest that we know, because new fields come at the end.

The readers raise ProtocolError if the bytes are malformed: members may put anything there.
"""

from typing import Final

from gralha.protocol.message import Message
from gralha.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from gralha.protocol.primitives import ProtocolError, Reader, Writer

# The protocol type of classic groups whose members are consumers.
CONSUMER_PROTOCOL_TYPE: Final = "consumer"
NEWEST_VERSION: Final = ConsumerProtocolSubscription.MAX_VERSION


def protocol_version(data: bytes) -> int:
    """The version in the bytes of a subscription or an assignment."""
    version = Reader(data).int16()
    if version < 0:
        raise ProtocolError(f"the consumer protocol has no version {version}")
    return version


def read_subscription(data: bytes) -> ConsumerProtocolSubscription:
    return ConsumerProtocolSubscription.decode(*_versioned(data))


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    return ConsumerProtocolAssignment.decode(*_versioned(data))


def write_subscription(subscription: ConsumerProtocolSubscription, version: int = NEWEST_VERSION) -> bytes:
    return _write(subscription, version)


def write_assignment(assignment: ConsumerProtocolAssignment, version: int = NEWEST_VERSION) -> bytes:
    return _write(assignment, version)


def _versioned(data: bytes) -> tuple[Reader, int]:
    """A reader of the bytes after the version, and the version in which to read them."""
    version = protocol_version(data)
    return Reader(data, 2), min(version, NEWEST_VERSION)


def _write(message: Message, version: int) -> bytes:
    """Write a message in a version, or in the newest that we know."""
    version = min(version, NEWEST_VERSION)
    writer = Writer()
    writer.write_int16(version)
    message.encode(writer, version)
    return writer.to_bytes()
