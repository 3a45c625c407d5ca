"""Information about a broker that clients do not show, read with our own codec.

It has a group as its coordinator describes it, of either protocol, whether a topic is served yet, and
whether a partition has an open transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gralha.client.addresses import parse_address
from gralha.client.connection import Connection
from gralha.client.security import ClientSecurity
from gralha.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from gralha.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from gralha.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from tests.clients import access
from tests.clients.driver import Login, Tls, security_for_java

LATEST_TIMESTAMP = -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1


@dataclass(frozen=True)
class GroupView:
    type: str
    state: str
    member_ids: frozenset[str]
    # Only for consumer groups: no request tells the generation of a classic group.
    epoch: int | None


def group_view(bootstrap: str, group: str) -> GroupView:
    """Describes a group. An unknown group is a classic group in the state Dead, as in Kafka."""
    with Connection.open(parse_address(bootstrap), security=access.own_client(bootstrap)) as connection:
        (consumer_group,) = connection.send(
            ConsumerGroupDescribeRequest([group]), ConsumerGroupDescribeResponse
        ).groups
        if consumer_group.error_code == 0:
            members = frozenset(member.member_id for member in consumer_group.members)
            return GroupView("consumer", consumer_group.group_state, members, consumer_group.group_epoch)
        (classic,) = connection.send(DescribeGroupsRequest([group]), DescribeGroupsResponse).groups
        members = frozenset(member.member_id for member in classic.members)
        return GroupView("classic", classic.group_state, members, None)


def is_served(
    bootstrap: str, topic: str, partitions: int, tls: Tls | None = None, login: Login | None = None
) -> bool:
    """Returns True if the leader of every partition knows it, a moment after Metadata has named it."""
    answered = list_ends(bootstrap, topic, range(partitions), tls=tls, login=login)
    return all(partition.error_code == 0 for partition in answered)


def has_open_transaction(bootstrap: str, topic: str, partition: int) -> bool:
    """Returns True if records of a partition have to wait for the end of a transaction."""
    tls, login = access.of(bootstrap)
    (committed,) = list_ends(bootstrap, topic, [partition], READ_COMMITTED, tls, login)
    (uncommitted,) = list_ends(bootstrap, topic, [partition], READ_UNCOMMITTED, tls, login)
    return committed.offset != uncommitted.offset


def list_ends(
    bootstrap: str,
    topic: str,
    partitions: Iterable[int],
    isolation_level: int = READ_UNCOMMITTED,
    tls: Tls | None = None,
    login: Login | None = None,
) -> list[ListOffsetsPartitionResponse]:
    wanted = [
        ListOffsetsPartition(partition_index=number, timestamp=LATEST_TIMESTAMP) for number in partitions
    ]
    request = ListOffsetsRequest(
        replica_id=-1, isolation_level=isolation_level, topics=[ListOffsetsTopic(topic, wanted)]
    )
    security = ClientSecurity.from_kafka(security_for_java(tls, login))
    with Connection.open(parse_address(bootstrap), security=security) as connection:
        (answered,) = connection.send(request, ListOffsetsResponse).topics
    return answered.partitions
