"""Requests of the members of groups, for stories. The group has the name of the story's topic."""

from collections.abc import Sequence

from gralha.protocol.errors import ErrorCode, error_name
from gralha.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from gralha.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from gralha.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from gralha.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.broker.transactions.story import Side

# Nobody is removed from a group for being late.
SESSION_TIMEOUT_MS = 60_000


def join(side: Side, member_id: str = "", metadata: bytes = b"", instance: str | None = None) -> str:
    """JoinGroup. A new member gets its id first, and joins with it then."""
    request = JoinGroupRequest(
        side.topic,
        SESSION_TIMEOUT_MS,
        SESSION_TIMEOUT_MS,
        member_id,
        instance,
        "consumer",
        [JoinGroupRequestProtocol("range", metadata)],
    )
    answer: JoinGroupResponse = side.send(request, JoinGroupResponse, 9)
    side.tell("join", error_name(answer.error_code), answer.generation_id)
    if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        return join(side, answer.member_id, metadata, instance)
    return answer.member_id


def sync(side: Side, member_id: str, generation_id: int, instance: str | None = None) -> None:
    request = SyncGroupRequest(
        side.topic,
        generation_id,
        member_id,
        instance,
        "consumer",
        "range",
        [SyncGroupRequestAssignment(member_id, b"")],
    )
    answer: SyncGroupResponse = side.send(request, SyncGroupResponse, 5)
    side.tell("sync", error_name(answer.error_code))


def leave(side: Side, member_id: str) -> None:
    request = LeaveGroupRequest(group_id=side.topic, members=[MemberIdentity(member_id)])
    answer: LeaveGroupResponse = side.send(request, LeaveGroupResponse, 5)
    side.tell("leave", error_name(answer.error_code))


def heartbeat(side: Side, member_id: str, epoch: int, owned: Sequence[int] = ()) -> None:
    """ConsumerGroupHeartbeat of a member that subscribes to the topic."""
    request = ConsumerGroupHeartbeatRequest(
        side.topic,
        member_id,
        epoch,
        rebalance_timeout_ms=SESSION_TIMEOUT_MS,
        subscribed_topic_names=[side.topic],
        server_assignor="uniform",
        topic_partitions=[TopicPartitions(side.topic_id, list(owned))] if owned else [],
    )
    answer: ConsumerGroupHeartbeatResponse = side.send(request, ConsumerGroupHeartbeatResponse, 1)
    side.tell("heartbeat", error_name(answer.error_code), answer.member_epoch)
