"""A request of each group API, in any version; the group has a committed offset and no members."""

from collections.abc import Callable

from gralha.protocol.apis import ApiKey
from gralha.protocol.message import Message
from gralha.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from gralha.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from gralha.protocol.messages.delete_groups import DeleteGroupsRequest
from gralha.protocol.messages.describe_groups import DescribeGroupsRequest
from gralha.protocol.messages.heartbeat import HeartbeatRequest
from gralha.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from gralha.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from gralha.protocol.messages.list_groups import ListGroupsRequest
from gralha.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from gralha.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from gralha.protocol.messages.sync_group import SyncGroupRequest
from gralha.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)


def join_group(version, topic_id, group_id="g", member_id="nobody"):
    # A member id that the group does not know is answered at once.
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )


def leave_group(version, topic_id, group_id="g"):
    if version >= 3:
        return LeaveGroupRequest(group_id=group_id, members=[MemberIdentity(member_id="nobody")])
    return LeaveGroupRequest(group_id=group_id, member_id="nobody")


def offset_commit(version, topic_id, group_id="g", offset=5):
    topic = OffsetCommitRequestTopic(topic_id=topic_id) if version >= 10 else OffsetCommitRequestTopic("a")
    topic.partitions = [OffsetCommitRequestPartition(0, offset, committed_metadata="here")]
    return OffsetCommitRequest(group_id=group_id, topics=[topic])


def offset_fetch(version, topic_id, group_id="g"):
    if version < 8:
        return OffsetFetchRequest(group_id=group_id, topics=[OffsetFetchRequestTopic("a", [0])])
    topic = OffsetFetchRequestTopics(topic_id=topic_id) if version >= 10 else OffsetFetchRequestTopics("a")
    topic.partition_indexes = [0]
    return OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(group_id=group_id, topics=[topic]),
            OffsetFetchRequestGroup(group_id="other", topics=None),
        ]
    )


def txn_offset_commit(version, _topic_id, group_id="g", offset=5, producer=(7, 0), **fields):
    topics = [
        TxnOffsetCommitRequestTopic(
            name, [TxnOffsetCommitRequestPartition(0, offset, committed_metadata="here")]
        )
        for name in ("a", "nope")
    ]
    return TxnOffsetCommitRequest(
        transactional_id="t",
        group_id=group_id,
        producer_id=producer[0],
        producer_epoch=producer[1],
        topics=topics,
        **fields,
    )


REQUESTS: dict[ApiKey, Callable[..., Message]] = {
    ApiKey.JOIN_GROUP: join_group,
    ApiKey.SYNC_GROUP: lambda version, _, group_id="g": SyncGroupRequest(
        group_id=group_id,
        generation_id=1,
        member_id="nobody",
        protocol_type="consumer",
        protocol_name="range",
    ),
    ApiKey.HEARTBEAT: lambda version, _, group_id="g": HeartbeatRequest(
        group_id=group_id, generation_id=1, member_id="nobody"
    ),
    ApiKey.LEAVE_GROUP: leave_group,
    ApiKey.OFFSET_COMMIT: offset_commit,
    ApiKey.OFFSET_FETCH: offset_fetch,
    ApiKey.TXN_OFFSET_COMMIT: txn_offset_commit,
    ApiKey.OFFSET_DELETE: lambda version, _, group_id="g": OffsetDeleteRequest(
        group_id=group_id, topics=[OffsetDeleteRequestTopic("a", [OffsetDeleteRequestPartition(0)])]
    ),
    ApiKey.LIST_GROUPS: lambda version, _: ListGroupsRequest(),
    ApiKey.DESCRIBE_GROUPS: lambda version, _, group_id="g": DescribeGroupsRequest(groups=[group_id, "nope"]),
    ApiKey.DELETE_GROUPS: lambda version, _, group_id="g": DeleteGroupsRequest(
        groups_names=[group_id, "nope"]
    ),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: lambda version, _, group_id="g": ConsumerGroupHeartbeatRequest(
        group_id=group_id, member_id="nobody", member_epoch=3
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: lambda version, _, group_id="g": ConsumerGroupDescribeRequest(
        group_ids=[group_id, ""]
    ),
}
