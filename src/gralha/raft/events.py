"""The events that go into the quorum's state machine, the effects that come out, and the messages of nodes.

The messages are the machine's own; `wire.py` translates them to Kafka's and back. A request between nodes has
the epoch of the sender. Every response begins with an error code, and with the leader and the epoch that the
answering node knows.
"""

from typing import NamedTuple

from gralha.raft.log_shape import EpochEnd, LogShape
from gralha.raft.quorum_state import ElectionState
from gralha.raft.snapshots import SnapshotId
from gralha.raft.voters import ReplicaKey, Voter, VoterEndpoint, VoterHistory, VoterSet

# Between nodes


class VoteRequest(NamedTuple):
    """A candidate asks for a vote, or a prospective candidate whether it would get it (KIP-996)."""

    epoch: int
    candidate: ReplicaKey
    voter: ReplicaKey
    last_epoch: int
    end_offset: int
    pre_vote: bool


class VoteResponse(NamedTuple):
    """The answer to a VoteRequest."""

    error_code: int
    leader_id: int
    epoch: int
    granted: bool = False


class BeginEpochRequest(NamedTuple):
    """A leader tells a voter that it leads."""

    epoch: int
    leader_id: int
    voter: ReplicaKey


class EndEpochRequest(NamedTuple):
    """A leader resigns, and names the voters, the one with the longest log first."""

    epoch: int
    leader_id: int
    successors: tuple[ReplicaKey, ...]


class LeaderResponse(NamedTuple):
    """The answer to a BeginEpochRequest or an EndEpochRequest."""

    error_code: int
    leader_id: int
    epoch: int


class FetchRequest(NamedTuple):
    """A follower asks for the records after its log. A voter has its whole log on its device."""

    epoch: int
    replica: ReplicaKey
    offset: int
    last_epoch: int
    high_watermark: int
    max_wait_ms: int


class BatchShape(NamedTuple):
    """The offsets and the epoch of a batch, and the voters that it sets."""

    base_offset: int
    next_offset: int
    epoch: int
    voters: VoterSet | None = None


class FetchResponse(NamedTuple):
    """Records, or where to truncate, or a snapshot to begin with. The machine never looks into `records`."""

    error_code: int
    leader_id: int
    epoch: int
    high_watermark: int = -1
    diverging: EpochEnd | None = None
    snapshot: SnapshotId | None = None
    batches: tuple[BatchShape, ...] = ()
    records: object = None


class SnapshotRequest(NamedTuple):
    """A follower asks for a part of a snapshot."""

    epoch: int
    replica: ReplicaKey


class AddVoter(NamedTuple):
    """An administrator wants an observer to become a voter."""

    voter: Voter
    timeout_ms: int
    wait_for_commit: bool = True


class RemoveVoter(NamedTuple):
    """An administrator wants a voter to become an observer."""

    key: ReplicaKey
    timeout_ms: int


class UpdateVoter(NamedTuple):
    """A voter tells the leader its listeners."""

    epoch: int
    voter: Voter
    timeout_ms: int


class UpgradeVoters(NamedTuple):
    """An administrator wants the configured voters to be records, which can be changed (kraft.version 1)."""

    timeout_ms: int


class VoterResponse(NamedTuple):
    """The answer to a change of the voters."""

    error_code: int
    leader_id: int
    epoch: int
    message: str | None = None


Outgoing = VoteRequest | BeginEpochRequest | EndEpochRequest | FetchRequest | UpdateVoter
Request = Outgoing | SnapshotRequest | AddVoter | RemoveVoter | UpgradeVoters
Response = VoteResponse | LeaderResponse | FetchResponse | VoterResponse

# Events


class Started(NamedTuple):
    """The node has started. All this is on its device. The machine keeps and changes the objects."""

    election: ElectionState | None
    log: LogShape
    voters: VoterHistory


class Tick(NamedTuple):
    """The time has come at which the machine wanted to be woken."""


class Appended(NamedTuple):
    """This leader has appended records. The event comes before any other; a `Tick` then sends the records."""

    end_offset: int


class Flushed(NamedTuple):
    """All records below the offset are on this node's device."""

    end_offset: int


class Requested(NamedTuple):
    """Another node has sent a request. The token belongs to the answer."""

    token: int
    request: Request


class Answered(NamedTuple):
    """The one result of a `Send`: a response, or None if none came."""

    node_id: int
    request: Outgoing
    response: Response | None


class VoterProbed(NamedTuple):
    """The one result of a `ProbeVoter`: the levels of kraft.version that the node supports, or None."""

    probe: "ProbeVoter"
    levels: tuple[int, int] | None


class PeerLost(NamedTuple):
    """The process of a node has probably died: its last connection was lost without a goodbye."""

    node_id: int


class SnapshotProgress(NamedTuple):
    """A part of a snapshot has come from the leader."""


class SnapshotFetched(NamedTuple):
    """A fetched snapshot is on the device, with these voters in it; None if it could not be fetched."""

    snapshot: SnapshotId | None
    voters: VoterSet | None = None


class LogForgotten(NamedTuple):
    """The snapshots have changed. The log begins after the oldest one."""

    oldest: SnapshotId
    newest: SnapshotId


class ShuttingDown(NamedTuple):
    """The node will stop soon, so it must not lead."""


Event = (
    Started
    | Tick
    | Appended
    | Flushed
    | Requested
    | Answered
    | VoterProbed
    | PeerLost
    | SnapshotProgress
    | SnapshotFetched
    | LogForgotten
    | ShuttingDown
)

# Effects


class SaveElection(NamedTuple):
    """Write the quorum-state file before doing anything else."""

    election: ElectionState


class AppendLeaderChange(NamedTuple):
    """Append the first record of an epoch. With `record_voters` it has the voters of the first snapshot."""

    epoch: int
    leader_id: int
    voters: VoterSet
    granting_voters: tuple[int, ...]
    record_voters: bool = False


class AppendVoters(NamedTuple):
    """Append new voters. If the voters were configured (`is_first`), kraft.version 1 comes before them."""

    epoch: int
    voters: VoterSet
    is_first: bool = False


class AppendFetched(NamedTuple):
    """Append batches that the leader has sent."""

    records: object
    batches: tuple[BatchShape, ...]


class Truncate(NamedTuple):
    """Remove everything from the offset on."""

    end_offset: int


class FetchSnapshot(NamedTuple):
    """Fetch a snapshot from the leader; report with `SnapshotFetched`, exactly once."""

    node_id: int
    epoch: int
    snapshot: SnapshotId


class InstallSnapshot(NamedTuple):
    """Replace the whole log by a fetched snapshot."""

    snapshot: SnapshotId


class AdvanceHighWatermark(NamedTuple):
    """Everything below the offset is committed."""

    high_watermark: int


class Send(NamedTuple):
    """Send a request to another node; report with `Answered`, exactly once."""

    node_id: int
    request: Outgoing


class ProbeVoter(NamedTuple):
    """Ask a node that may become a voter for its versions; report with `VoterProbed`, exactly once."""

    token: int
    request: AddVoter
    endpoint: VoterEndpoint


class Reply(NamedTuple):
    """Answer a request."""

    token: int
    response: Response


class ReplyRecords(NamedTuple):
    """Answer a fetch with the records from the offset on, if there are any."""

    token: int
    offset: int
    response: FetchResponse


class ReplySnapshot(NamedTuple):
    """Answer with the requested part of a snapshot."""

    token: int


Effect = (
    SaveElection
    | AppendLeaderChange
    | AppendVoters
    | AppendFetched
    | Truncate
    | FetchSnapshot
    | InstallSnapshot
    | AdvanceHighWatermark
    | Send
    | ProbeVoter
    | Reply
    | ReplyRecords
    | ReplySnapshot
)
