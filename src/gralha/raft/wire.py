"""Translates the messages of the state machine to Kafka's messages and back."""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, TypeVar, cast

from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages import (
    add_raft_voter,
    api_versions,
    begin_quorum_epoch,
    describe_quorum,
    end_quorum_epoch,
    fetch,
    fetch_snapshot,
    remove_raft_voter,
    update_raft_voter,
    vote,
)
from gralha.protocol.primitives import RecordBytes
from gralha.raft.events import (
    AddVoter,
    BeginEpochRequest,
    EndEpochRequest,
    FetchRequest,
    FetchResponse,
    LeaderResponse,
    Outgoing,
    RemoveVoter,
    Request,
    Response,
    SnapshotRequest,
    UpdateVoter,
    VoteRequest,
    VoteResponse,
    VoterResponse,
)
from gralha.raft.log_shape import EpochEnd
from gralha.raft.quorum_records import TOPIC, TOPIC_ID, batch_shapes
from gralha.raft.snapshots import SnapshotId
from gralha.raft.voters import ReplicaKey, Voter, VoterEndpoint

FETCH_BYTES: Final = 8 * 1024 * 1024
_REMOVAL_TIMEOUT_MS: Final = 30_000

Partition = TypeVar("Partition")


class _Listener(Protocol):
    """A listener of a voter, in any request."""

    name: str
    host: str
    port: int


class WrongQuorumError(Exception):
    """A message is not for this quorum."""

    def __init__(self, error_code: ErrorCode) -> None:
        super().__init__(error_code.name)
        self.error_code = int(error_code)


class Sender(NamedTuple):
    """What this node tells about itself in requests."""

    cluster_id: str | None
    endpoints: tuple[VoterEndpoint, ...]


# Requests to other nodes


def encode_request(request: Outgoing, sender: Sender) -> Message:
    """Kafka's message for a request, in its newest version."""
    match request:
        case VoteRequest():
            return _encode_vote(request, sender)
        case BeginEpochRequest(epoch, leader_id, voter):
            begin = begin_quorum_epoch.BeginQuorumEpochRequestPartition(
                voter_directory_id=voter.directory_id, leader_id=leader_id, leader_epoch=epoch
            )
            return begin_quorum_epoch.BeginQuorumEpochRequest(
                cluster_id=sender.cluster_id,
                voter_id=voter.id,
                topics=[begin_quorum_epoch.BeginQuorumEpochRequestTopic(TOPIC, [begin])],
                leader_endpoints=[begin_quorum_epoch.LeaderEndpoint(*one) for one in sender.endpoints],
            )
        case EndEpochRequest(epoch, leader_id, successors):
            end = end_quorum_epoch.EndQuorumEpochRequestPartition(
                leader_id=leader_id,
                leader_epoch=epoch,
                preferred_successors=[one.id for one in successors],
                preferred_candidates=[end_quorum_epoch.ReplicaInfo(*one) for one in successors],
            )
            return end_quorum_epoch.EndQuorumEpochRequest(
                cluster_id=sender.cluster_id,
                topics=[end_quorum_epoch.EndQuorumEpochRequestTopic(TOPIC, [end])],
                leader_endpoints=[end_quorum_epoch.LeaderEndpoint(*one) for one in sender.endpoints],
            )
        case FetchRequest():
            return _encode_fetch(request, sender)
        case UpdateVoter(epoch, voter):
            return update_raft_voter.UpdateRaftVoterRequest(
                cluster_id=sender.cluster_id,
                current_leader_epoch=epoch,
                voter_id=voter.key.id,
                voter_directory_id=voter.key.directory_id,
                listeners=[update_raft_voter.Listener(*one) for one in voter.endpoints],
                kraft_version_feature=update_raft_voter.KRaftVersionFeature(
                    voter.min_version, voter.max_version
                ),
            )


def _encode_vote(request: VoteRequest, sender: Sender) -> Message:
    partition = vote.VoteRequestPartition(
        replica_epoch=request.epoch,
        replica_id=request.candidate.id,
        replica_directory_id=request.candidate.directory_id,
        voter_directory_id=request.voter.directory_id,
        last_offset_epoch=request.last_epoch,
        last_offset=request.end_offset,
        pre_vote=request.pre_vote,
    )
    return vote.VoteRequest(
        cluster_id=sender.cluster_id,
        voter_id=request.voter.id,
        topics=[vote.VoteRequestTopic(TOPIC, [partition])],
    )


def _encode_fetch(request: FetchRequest, sender: Sender) -> Message:
    partition = fetch.FetchPartition(
        current_leader_epoch=request.epoch,
        fetch_offset=request.offset,
        last_fetched_epoch=request.last_epoch,
        partition_max_bytes=FETCH_BYTES,
        replica_directory_id=request.replica.directory_id,
        high_watermark=request.high_watermark,
    )
    return fetch.FetchRequest(
        cluster_id=sender.cluster_id,
        replica_state=fetch.ReplicaState(request.replica.id),
        max_wait_ms=request.max_wait_ms,
        max_bytes=FETCH_BYTES,
        topics=[fetch.FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])],
    )


def encode_snapshot_request(
    replica: ReplicaKey, epoch: int, snapshot: SnapshotId, position: int, cluster_id: str | None
) -> fetch_snapshot.FetchSnapshotRequest:
    """Asks for the part of a snapshot that begins at a position."""
    partition = fetch_snapshot.FetchSnapshotRequestPartition(
        current_leader_epoch=epoch,
        snapshot_id=fetch_snapshot.SnapshotId(*snapshot),
        position=position,
        replica_directory_id=replica.directory_id,
    )
    return fetch_snapshot.FetchSnapshotRequest(
        cluster_id=cluster_id,
        replica_id=replica.id,
        max_bytes=FETCH_BYTES,
        topics=[fetch_snapshot.FetchSnapshotRequestTopic(TOPIC, [partition])],
    )


# Requests of other nodes


def decode_request(message: Message, version: int, cluster_id: str | None) -> Request:
    """A request for the state machine. Raises WrongQuorumError if it is not for this quorum."""
    asked: str | None = getattr(message, "cluster_id", None)
    if asked is not None and cluster_id is not None and asked != cluster_id:
        raise WrongQuorumError(ErrorCode.INCONSISTENT_CLUSTER_ID)
    match message:
        case vote.VoteRequest():
            return _decode_vote(message)
        case begin_quorum_epoch.BeginQuorumEpochRequest():
            begin = _only(message.topics)
            voter = ReplicaKey(message.voter_id, begin.voter_directory_id)
            return BeginEpochRequest(begin.leader_epoch, begin.leader_id, voter)
        case end_quorum_epoch.EndQuorumEpochRequest():
            end = _only(message.topics)
            successors = [
                ReplicaKey(one.candidate_id, one.candidate_directory_id) for one in end.preferred_candidates
            ]
            successors = successors or [ReplicaKey(one) for one in end.preferred_successors]
            return EndEpochRequest(end.leader_epoch, end.leader_id, tuple(successors))
        case fetch.FetchRequest():
            return _decode_fetch(message, version)
        case fetch_snapshot.FetchSnapshotRequest():
            part = _only(message.topics)
            return SnapshotRequest(
                part.current_leader_epoch, ReplicaKey(message.replica_id, part.replica_directory_id)
            )
        case add_raft_voter.AddRaftVoterRequest():
            added = Voter(
                ReplicaKey(message.voter_id, message.voter_directory_id), _endpoints(message.listeners)
            )
            return AddVoter(added, message.timeout_ms, message.ack_when_committed)
        case remove_raft_voter.RemoveRaftVoterRequest():
            return RemoveVoter(ReplicaKey(message.voter_id, message.voter_directory_id), _REMOVAL_TIMEOUT_MS)
        case update_raft_voter.UpdateRaftVoterRequest():
            levels = message.kraft_version_feature
            updated = Voter(
                ReplicaKey(message.voter_id, message.voter_directory_id),
                _endpoints(message.listeners),
                levels.min_supported_version,
                levels.max_supported_version,
            )
            return UpdateVoter(message.current_leader_epoch, updated, _REMOVAL_TIMEOUT_MS)
    raise WrongQuorumError(ErrorCode.UNSUPPORTED_VERSION)


def sender_id(message: Message, version: int) -> int | None:
    """The node that has sent a request, also one for another cluster; None if the request does not tell."""
    try:
        asked = decode_request(message, version, None)
    except WrongQuorumError:
        return None
    match asked:
        case VoteRequest():
            return asked.candidate.id
        case FetchRequest() | SnapshotRequest():
            return asked.replica.id
        case BeginEpochRequest() | EndEpochRequest():
            return asked.leader_id
        case UpdateVoter():
            return asked.voter.key.id
    return None


class _Topic(Protocol[Partition]):
    """Any topic in a request."""

    partitions: list[Partition]


def _only(topics: Sequence[_Topic[Partition]]) -> Partition:
    """The one partition that a message about the metadata log has."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise WrongQuorumError(ErrorCode.INVALID_REQUEST)
    partition = topics[0].partitions[0]
    name = getattr(topics[0], "topic_name", None) or getattr(topics[0], "name", None) or TOPIC
    index = getattr(partition, "partition_index", 0) or getattr(partition, "partition", 0)
    if name != TOPIC or index != 0:
        raise WrongQuorumError(ErrorCode.INVALID_REQUEST)
    return partition


def _endpoints(listeners: Sequence[_Listener]) -> tuple[VoterEndpoint, ...]:
    return tuple(VoterEndpoint(one.name, one.host, one.port) for one in listeners)


def _decode_vote(message: vote.VoteRequest) -> VoteRequest:
    asked = _only(message.topics)
    last_epoch, epoch = asked.last_offset_epoch, asked.replica_epoch
    if min(asked.last_offset, last_epoch, asked.replica_id) < 0 or last_epoch > epoch:
        raise WrongQuorumError(ErrorCode.INVALID_REQUEST)
    return VoteRequest(
        epoch,
        ReplicaKey(asked.replica_id, asked.replica_directory_id),
        ReplicaKey(message.voter_id, asked.voter_directory_id),
        last_epoch,
        asked.last_offset,
        asked.pre_vote,
    )


def _decode_fetch(message: fetch.FetchRequest, version: int) -> FetchRequest:
    asked = _only(message.topics)
    if min(message.max_wait_ms, asked.fetch_offset, asked.last_fetched_epoch) < 0:
        raise WrongQuorumError(ErrorCode.INVALID_REQUEST)
    state = message.replica_state or fetch.ReplicaState()
    replica_id = state.replica_id if version >= 15 else message.replica_id
    return FetchRequest(
        asked.current_leader_epoch,
        ReplicaKey(replica_id, asked.replica_directory_id),
        asked.fetch_offset,
        asked.last_fetched_epoch,
        asked.high_watermark,
        message.max_wait_ms,
    )


# Responses to other nodes


def encode_response(
    request: Message, version: int, response: Response, leader: tuple[str, int] | None
) -> Message:
    """The answer, in a version. `leader` is the host and port of the leader, if they are known."""
    error, leader_id, epoch = response.error_code, response.leader_id, response.epoch
    node = (leader_id, *leader) if leader is not None and leader_id >= 0 else None
    match request:
        case vote.VoteRequest():
            granted = isinstance(response, VoteResponse) and response.granted
            voted = vote.VoteResponsePartition(0, error, leader_id, epoch, granted)
            return vote.VoteResponse(
                topics=[vote.VoteResponseTopic(TOPIC, [voted])],
                node_endpoints=[vote.NodeEndpoint(*node)] if node and version >= 1 else [],
            )
        case begin_quorum_epoch.BeginQuorumEpochRequest():
            begun = begin_quorum_epoch.BeginQuorumEpochResponsePartition(0, error, leader_id, epoch)
            return begin_quorum_epoch.BeginQuorumEpochResponse(
                topics=[begin_quorum_epoch.BeginQuorumEpochResponseTopic(TOPIC, [begun])],
                node_endpoints=[begin_quorum_epoch.NodeEndpoint(*node)] if node and version >= 1 else [],
            )
        case end_quorum_epoch.EndQuorumEpochRequest():
            ended = end_quorum_epoch.EndQuorumEpochResponsePartition(0, error, leader_id, epoch)
            return end_quorum_epoch.EndQuorumEpochResponse(
                topics=[end_quorum_epoch.EndQuorumEpochResponseTopic(TOPIC, [ended])],
                node_endpoints=[end_quorum_epoch.NodeEndpoint(*node)] if node and version >= 1 else [],
            )
        case fetch.FetchRequest():
            assert isinstance(response, FetchResponse)
            return _encode_fetched(response, version, node)
        case fetch_snapshot.FetchSnapshotRequest():
            part = request.topics[0].partitions[0]
            return encode_snapshot_response(part.snapshot_id, response, 0, 0, None, version, node)
    return _encode_voter_response(request, cast(VoterResponse, response), node)


def _encode_fetched(response: FetchResponse, version: int, node: tuple[int, str, int] | None) -> Message:
    diverging, snapshot = response.diverging, response.snapshot
    partition = fetch.PartitionData(
        error_code=response.error_code,
        high_watermark=response.high_watermark,
        current_leader=fetch.LeaderIdAndEpoch(response.leader_id, response.epoch),
        records=cast("RecordBytes | None", response.records) or RecordBytes(b"", 0, 0),
    )
    if diverging is not None:
        partition.diverging_epoch = fetch.EpochEndOffset(diverging.epoch, diverging.end_offset)
    if snapshot is not None:
        partition.snapshot_id = fetch.SnapshotId(snapshot.end_offset, snapshot.epoch)
    return fetch.FetchResponse(
        responses=[fetch.FetchableTopicResponse(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])],
        node_endpoints=[fetch.NodeEndpoint(*node)] if node and version >= 16 else [],
    )


def encode_snapshot_response(
    snapshot_id: fetch_snapshot.SnapshotId,
    response: Response,
    size_bytes: int,
    position: int,
    data: bytes | None,
    version: int,
    node: tuple[int, str, int] | None,
) -> Message:
    """A part of a snapshot, or the error in the response."""
    data = data or b""
    partition = fetch_snapshot.FetchSnapshotResponsePartition(
        error_code=response.error_code,
        snapshot_id=snapshot_id,
        current_leader=fetch_snapshot.LeaderIdAndEpoch(response.leader_id, response.epoch),
        size=size_bytes,
        position=position,
        unaligned_records=RecordBytes(data, 0, len(data)),
    )
    return fetch_snapshot.FetchSnapshotResponse(
        topics=[fetch_snapshot.FetchSnapshotResponseTopic(TOPIC, [partition])],
        node_endpoints=[fetch_snapshot.NodeEndpoint(*node)] if node and version >= 1 else [],
    )


def _encode_voter_response(
    request: Message, response: VoterResponse, node: tuple[int, str, int] | None
) -> Message:
    error, message = response.error_code, response.message
    if isinstance(request, add_raft_voter.AddRaftVoterRequest):
        return add_raft_voter.AddRaftVoterResponse(error_code=error, error_message=message)
    if isinstance(request, remove_raft_voter.RemoveRaftVoterRequest):
        return remove_raft_voter.RemoveRaftVoterResponse(error_code=error, error_message=message)
    leader = update_raft_voter.CurrentLeader(response.leader_id, response.epoch)
    if node is not None:
        leader.host, leader.port = node[1:]
    return update_raft_voter.UpdateRaftVoterResponse(error_code=error, current_leader=leader)


def encode_refusal(request: Message, error_code: int) -> Message:
    """The answer to a request that is not for this quorum, or to a request at a node that stops."""
    match request:
        case describe_quorum.DescribeQuorumRequest():
            return describe_quorum.DescribeQuorumResponse(error_code=error_code)
        case vote.VoteRequest():
            return vote.VoteResponse(error_code=error_code)
        case begin_quorum_epoch.BeginQuorumEpochRequest():
            return begin_quorum_epoch.BeginQuorumEpochResponse(error_code=error_code)
        case end_quorum_epoch.EndQuorumEpochRequest():
            return end_quorum_epoch.EndQuorumEpochResponse(error_code=error_code)
        case fetch.FetchRequest():
            return fetch.FetchResponse(error_code=error_code)
        case fetch_snapshot.FetchSnapshotRequest():
            return fetch_snapshot.FetchSnapshotResponse(error_code=error_code)
    return _encode_voter_response(request, VoterResponse(error_code, -1, -1), None)


# Responses of other nodes


def decode_response(message: Message) -> Response | None:
    """An answer for the state machine, or None if the message has none."""
    match message:
        case vote.VoteResponse() if not message.error_code:
            voted = _only(message.topics)
            return VoteResponse(voted.error_code, voted.leader_id, voted.leader_epoch, voted.vote_granted)
        case begin_quorum_epoch.BeginQuorumEpochResponse() if not message.error_code:
            begun = _only(message.topics)
            return LeaderResponse(begun.error_code, begun.leader_id, begun.leader_epoch)
        case end_quorum_epoch.EndQuorumEpochResponse() if not message.error_code:
            ended = _only(message.topics)
            return LeaderResponse(ended.error_code, ended.leader_id, ended.leader_epoch)
        case fetch.FetchResponse() if not message.error_code:
            return _decode_fetched(message)
        case update_raft_voter.UpdateRaftVoterResponse():
            leader = message.current_leader or update_raft_voter.CurrentLeader()
            return VoterResponse(message.error_code, leader.leader_id, leader.leader_epoch)
    return None


def _decode_fetched(message: fetch.FetchResponse) -> FetchResponse:
    found = _only(message.responses)
    leader = found.current_leader or fetch.LeaderIdAndEpoch()
    diverging = found.diverging_epoch or fetch.EpochEndOffset()
    snapshot = found.snapshot_id or fetch.SnapshotId()
    records = found.records or RecordBytes(b"", 0, 0)
    return FetchResponse(
        found.error_code,
        leader.leader_id,
        leader.leader_epoch,
        found.high_watermark,
        EpochEnd(diverging.epoch, diverging.end_offset) if diverging.epoch >= 0 else None,
        SnapshotId(snapshot.end_offset, snapshot.epoch) if snapshot.epoch >= 0 else None,
        batch_shapes(records, check=True),
        records,
    )


def kraft_versions(message: Message) -> tuple[int, int] | None:
    """The levels of kraft.version in an ApiVersions response; None if the message is an error."""
    if not isinstance(message, api_versions.ApiVersionsResponse) or message.error_code:
        return None
    named = [one for one in message.supported_features if one.name == "kraft.version"]
    return (named[0].min_version, named[0].max_version) if named else (0, 0)


def leader_endpoints(message: Message) -> list[tuple[int, str, int]]:
    """The ids, hosts and ports of leaders in a request or an answer."""
    if isinstance(message, begin_quorum_epoch.BeginQuorumEpochRequest) and message.leader_endpoints:
        first = message.leader_endpoints[0]
        return [(_only(message.topics).leader_id, first.host, first.port)]
    return [(one.node_id, one.host, one.port) for one in getattr(message, "node_endpoints", ())]
