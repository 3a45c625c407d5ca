"""The values of calls about groups, independent of protocol versions."""

from typing import Final, NamedTuple

from gralha.client.cluster import Broker
from gralha.client.values import TopicPartition

# States and types, as brokers spell them.
EMPTY: Final = "Empty"
DEAD: Final = "Dead"
CLASSIC: Final = "Classic"
CONSUMER: Final = "Consumer"
# The protocol type of classic groups of consumers. A group that has only offsets has an empty one.
CONSUMER_PROTOCOL: Final = "consumer"
CONSUMER_PROTOCOLS: Final = (CONSUMER_PROTOCOL, "")


class GroupListing(NamedTuple):
    """A group without its members. State and type are empty if the broker is too old to tell them."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class GroupMember(NamedTuple):
    """A member of a group. Only consumer groups (KIP-848) have epochs and target assignments."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: list[TopicPartition]
    target_assignment: list[TopicPartition] | None = None
    epoch: int | None = None
    # Whether the member uses the consumer protocol, if known. Members of both protocols can be in one group.
    is_upgraded: bool | None = None


class GroupDescription(NamedTuple):
    """A group of consumers, its members and its coordinator."""

    group_id: str
    type: str
    state: str
    assignor: str
    coordinator: Broker
    members: list[GroupMember]
    epoch: int | None = None
    assignment_epoch: int | None = None


class CommittedOffset(NamedTuple):
    """The committed offset of a group in a partition: the offset of the next record to read."""

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""
