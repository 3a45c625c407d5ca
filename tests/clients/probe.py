"""Information about a broker that clients do not show, read with our own codec.

It has a group as its coordinator describes it, of either protocol, and whether a topic is served yet.
"""

from __future__ import annotations

from dataclasses import dataclass

from gralha.client.addresses import parse_address
from gralha.client.connection import Connection
from gralha.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from gralha.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from gralha.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

LATEST_TIMESTAMP = -1


@dataclass(frozen=True)
class GroupView:
    type: str
    state: str
    member_ids: frozenset[str]
    # Only for consumer groups: no request tells the generation of a classic group.
    epoch: int | None


def group_view(bootstrap: str, group: str) -> GroupView:
    """Describes a group. An unknown group is a classic group in the state Dead, as in Kafka."""
    with Connection.open(parse_address(bootstrap)) as connection:
        (consumer_group,) = connection.send(
            ConsumerGroupDescribeRequest([group]), ConsumerGroupDescribeResponse
        ).groups
        if consumer_group.error_code == 0:
            members = frozenset(member.member_id for member in consumer_group.members)
            return GroupView("consumer", consumer_group.group_state, members, consumer_group.group_epoch)
        (classic,) = connection.send(DescribeGroupsRequest([group]), DescribeGroupsResponse).groups
        members = frozenset(member.member_id for member in classic.members)
        return GroupView("classic", classic.group_state, members, None)


def is_served(bootstrap: str, topic: str, partitions: int) -> bool:
    """Returns True if the leader of every partition knows it, a moment after Metadata has named it."""
    wanted = [
        ListOffsetsPartition(partition_index=number, timestamp=LATEST_TIMESTAMP)
        for number in range(partitions)
    ]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(topic, wanted)])
    with Connection.open(parse_address(bootstrap)) as connection:
        (answered,) = connection.send(request, ListOffsetsResponse).topics
    return all(partition.error_code == 0 for partition in answered.partitions)
