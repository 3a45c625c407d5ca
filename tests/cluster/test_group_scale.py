"""A thousand groups on one broker: all members join, and only silent members are removed.

How quickly heartbeats are answered meanwhile is measured by `make bench`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from tests.cluster.many_groups import BROKER_CONFIG, MEMBERS_PER_GROUP, Member, join_classic, many_groups

from gralha.client.addresses import parse_address
from gralha.client.connection import Connection
from gralha.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from gralha.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from gralha.testing import GralhaCluster

GROUPS = 1000
TOPIC = "shared"
HEARTBEATING_S = 3
SHORT_SESSION_MS = 1000
EVERYBODY = {("classic", "Stable"): GROUPS // 2, ("consumer", "Stable"): GROUPS // 2}


def states(connection: Connection) -> Counter[tuple[str, str]]:
    """How many groups there are of each type and state."""
    response = connection.send(ListGroupsRequest(), ListGroupsResponse)
    assert response.error_code == 0
    return Counter((group.group_type, group.group_state) for group in response.groups)


async def test_a_thousand_groups_of_three_members() -> None:
    config = {**BROKER_CONFIG, "group.min.session.timeout.ms": str(SHORT_SESSION_MS)}
    with (
        GralhaCluster(config=config) as cluster,
        Connection.open(parse_address(cluster.bootstrap)) as connection,
    ):
        new = CreateTopicsRequest([CreatableTopic(TOPIC, MEMBERS_PER_GROUP, 1)], timeout_ms=10_000)
        connection.send(new, CreateTopicsResponse)
        async with many_groups(cluster.ports[1], GROUPS, TOPIC) as groups:
            assert states(connection) == EVERYBODY
            lines = [member.line for member in groups[0]]
            await join_classic(lines, "silent", TOPIC, SHORT_SESSION_MS)
            await stay_alive(groups, HEARTBEATING_S)
            assert states(connection) == {**EVERYBODY, ("classic", "Empty"): 1}


async def stay_alive(groups: list[list[Member]], seconds: float) -> None:
    """Let everybody send heartbeats, one round after the other; none may be refused."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        codes = await asyncio.gather(*[member.heartbeat() for group in groups for member in group])
        assert set(codes) == {0}
