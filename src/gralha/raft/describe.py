"""DescribeQuorum: the leader, the voters and the observers, and how far each has got (KIP-836, KIP-853)."""

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartition,
    DescribeQuorumResponseTopic,
    Listener,
    Node,
    ReplicaState,
)
from gralha.raft.leadership import Leadership, Progress
from gralha.raft.quorum_records import TOPIC
from gralha.raft.state import RaftState
from gralha.raft.voters import ReplicaKey


def describe_quorum(
    request: DescribeQuorumRequest, version: int, state: RaftState, now_ms: int, wall_ms: int
) -> DescribeQuorumResponse:
    """The replicas, if this node leads. `now_ms` is the machine's time, `wall_ms` that of the wall clock."""
    asked = [(topic.topic_name, one.partition_index) for topic in request.topics for one in topic.partitions]
    if asked != [(TOPIC, 0)]:
        return _unknown_partitions(request)
    partition = DescribeQuorumResponsePartition(
        error_code=int(ErrorCode.NOT_LEADER_OR_FOLLOWER), leader_id=state.leader_id, leader_epoch=state.epoch
    )
    if state.leadership is not None:
        _fill_in(partition, state, state.leadership, version, now_ms, wall_ms)
    voters = state.voters.latest.voters if version >= 2 else ()
    return DescribeQuorumResponse(
        topics=[DescribeQuorumResponseTopic(TOPIC, [partition])],
        nodes=[Node(voter.key.id, [Listener(*one) for one in voter.endpoints]) for voter in voters],
    )


def _unknown_partitions(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """Refuses everything but the one partition that has a quorum, as Kafka does."""
    code = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return DescribeQuorumResponse(
        topics=[
            DescribeQuorumResponseTopic(
                topic.topic_name,
                [DescribeQuorumResponsePartition(one.partition_index, code) for one in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _fill_in(
    partition: DescribeQuorumResponsePartition,
    state: RaftState,
    leadership: Leadership,
    version: int,
    now_ms: int,
    wall_ms: int,
) -> None:
    def replica(key: ReplicaKey, progress: Progress) -> ReplicaState:
        is_leader = key.id == state.key.id
        return ReplicaState(
            key.id,
            key.directory_id if version >= 2 else bytes(16),
            state.log.end_offset if is_leader else progress.end_offset,
            wall_ms if is_leader else _wall_time(progress.last_fetch_ms, now_ms, wall_ms),
            wall_ms if is_leader else _wall_time(progress.last_caught_up_ms, now_ms, wall_ms),
        )

    voters = state.voters.latest
    partition.error_code = 0
    partition.high_watermark = max(state.high_watermark, 0)
    partition.current_voters = [replica(voter.key, leadership.replica(voter.key)) for voter in voters.voters]
    observers = leadership.observers(voters, now_ms)
    partition.observers = [replica(key, progress) for key, progress in observers]


def _wall_time(then_ms: int, now_ms: int, wall_ms: int) -> int:
    return wall_ms - (now_ms - then_ms) if then_ms >= 0 else -1
