"""What consumers in a classic group tell each other: the bytes of subscriptions and assignments.

The coordinator passes them on as they are. It looks into them to know which topics a group reads, and when
classic members meet the consumer protocol (KIP-848). An int16 with the version comes first; a newer version
than we know is read as the newest that we know, since new fields only ever come at the end.

The readers raise ProtocolError when the bytes are malformed: members may put anything there.
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
    """The version that the bytes of a subscription or an assignment say they have."""
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
    """A reader of what follows the version, and the version to read it in."""
    version = protocol_version(data)
    return Reader(data, 2), min(version, NEWEST_VERSION)


def _write(message: Message, version: int) -> bytes:
    """A version that we do not know is written as the newest that we know, and says so."""
    version = min(version, NEWEST_VERSION)
    writer = Writer()
    writer.write_int16(version)
    message.encode(writer, version)
    return writer.to_bytes()
