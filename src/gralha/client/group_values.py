"""What the calls about groups give: plain values, free of protocol versions."""

from typing import Final, NamedTuple

from gralha.client.cluster import Broker
from gralha.client.values import TopicPartition

# States and types, spelt as brokers spell them.
EMPTY: Final = "Empty"
DEAD: Final = "Dead"
CLASSIC: Final = "Classic"
CONSUMER: Final = "Consumer"
# The protocol type of those classic groups that consumers make; one that only keeps offsets has none.
CONSUMER_PROTOCOL: Final = "consumer"
CONSUMER_PROTOCOLS: Final = (CONSUMER_PROTOCOL, "")


class GroupListing(NamedTuple):
    """A group without its members; state and type are empty where the broker is too old to tell."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class GroupMember(NamedTuple):
    """A member of a group. Only consumer groups (KIP-848) know epochs and what a member is to get."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: list[TopicPartition]
    target_assignment: list[TopicPartition] | None = None
    epoch: int | None = None
    # Whether it speaks the new protocol in a group on its way there; None where that is not known.
    is_upgraded: bool | None = None


class GroupDescription(NamedTuple):
    """A group of consumers, its members and the broker that coordinates it."""

    group_id: str
    type: str
    state: str
    assignor: str
    coordinator: Broker
    members: list[GroupMember]
    epoch: int | None = None
    assignment_epoch: int | None = None


class CommittedOffset(NamedTuple):
    """How far a group has come in a partition: the offset of the record to read next."""

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""
