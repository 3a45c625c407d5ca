"""What goes into the quorum's state machine, what comes out, and what nodes say to each other.

Messages are the machine's own: `wire.py` translates them from and to Kafka's. Every request has the epoch of
who asks, every response begins with an error code, the leader and the epoch as the answering node sees them.
"""

from typing import NamedTuple

from gralha.raft.log_shape import EpochEnd, LogShape
from gralha.raft.quorum_state import ElectionState
from gralha.raft.snapshots import SnapshotId
from gralha.raft.voters import ReplicaKey, Voter, VoterEndpoint, VoterHistory, VoterSet

# Between nodes


class VoteRequest(NamedTuple):
    """A candidate asks for a vote; before, whether it would get one (KIP-996)."""

    epoch: int
    candidate: ReplicaKey
    voter: ReplicaKey
    last_epoch: int
    end_offset: int
    pre_vote: bool


class VoteResponse(NamedTuple):
    """Granted or not."""

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
    """A leader resigns, and says who has most of its log."""

    epoch: int
    leader_id: int
    successors: tuple[ReplicaKey, ...]


class LeaderResponse(NamedTuple):
    """The answer to both."""

    error_code: int
    leader_id: int
    epoch: int


class FetchRequest(NamedTuple):
    """A follower asks for what comes after its log; a voter has all that on its device."""

    epoch: int
    replica: ReplicaKey
    offset: int
    last_epoch: int
    high_watermark: int
    max_wait_ms: int


class BatchShape(NamedTuple):
    """A batch in a log, and the voters that it sets."""

    base_offset: int
    next_offset: int
    epoch: int
    voters: VoterSet | None = None


class FetchResponse(NamedTuple):
    """Records; or where to truncate; or a snapshot to begin with. The machine never looks into `records`."""

    error_code: int
    leader_id: int
    epoch: int
    high_watermark: int = -1
    diverging: EpochEnd | None = None
    snapshot: SnapshotId | None = None
    batches: tuple[BatchShape, ...] = ()
    records: object = None


class SnapshotRequest(NamedTuple):
    """A follower asks for part of a snapshot."""

    epoch: int
    replica: ReplicaKey


class AddVoter(NamedTuple):
    """Somebody wants an observer to be a voter."""

    voter: Voter
    timeout_ms: int
    wait_for_commit: bool = True


class RemoveVoter(NamedTuple):
    """Somebody wants a voter to be none."""

    key: ReplicaKey
    timeout_ms: int


class UpdateVoter(NamedTuple):
    """A voter tells where it listens."""

    epoch: int
    voter: Voter
    timeout_ms: int


class UpgradeVoters(NamedTuple):
    """Somebody wants the configured voters to be records, so that they can be changed (kraft.version 1)."""

    timeout_ms: int


class VoterResponse(NamedTuple):
    """The answer to a change of voters."""

    error_code: int
    leader_id: int
    epoch: int
    message: str | None = None


Outgoing = VoteRequest | BeginEpochRequest | EndEpochRequest | FetchRequest | UpdateVoter
Request = Outgoing | SnapshotRequest | AddVoter | RemoveVoter | UpgradeVoters
Response = VoteResponse | LeaderResponse | FetchResponse | VoterResponse

# Events


class Started(NamedTuple):
    """The node is up; this is what its disk says, all of it on the device. The machine keeps the objects."""

    election: ElectionState | None
    log: LogShape
    voters: VoterHistory


class Tick(NamedTuple):
    """Time has passed: the machine asked to be woken."""


class Appended(NamedTuple):
    """This leader's log has new records. To be told before any other event; a `Tick` then sends them."""

    end_offset: int


class Flushed(NamedTuple):
    """All records below the offset are on this node's device."""

    end_offset: int


class Requested(NamedTuple):
    """Another node asks; the token is for the answer."""

    token: int
    request: Request


class Answered(NamedTuple):
    """The one outcome of a `Send`: a response, or None if none came."""

    node_id: int
    request: Outgoing
    response: Response | None


class VoterProbed(NamedTuple):
    """The one outcome of a `ProbeVoter`: which levels of kraft.version it can; None if it gave no answer."""

    probe: "ProbeVoter"
    levels: tuple[int, int] | None


class PeerLost(NamedTuple):
    """A connection to a node broke."""

    node_id: int


class SnapshotProgress(NamedTuple):
    """A part of the snapshot that is being fetched has come."""


class SnapshotFetched(NamedTuple):
    """The snapshot is on the device, with these voters in it; None: it could not be had."""

    snapshot: SnapshotId | None
    voters: VoterSet | None = None


class LogForgotten(NamedTuple):
    """Snapshots have come and gone; the log begins after the oldest."""

    oldest: SnapshotId
    newest: SnapshotId


class ShuttingDown(NamedTuple):
    """The node will stop soon: lead no longer."""


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
    """Begin the epoch in the log; with `record_voters` in it, which only a snapshot had so far."""

    epoch: int
    leader_id: int
    voters: VoterSet
    granting_voters: tuple[int, ...]
    record_voters: bool = False


class AppendVoters(NamedTuple):
    """Record new voters; `is_first` if they were configured so far: that raises the quorum's version."""

    epoch: int
    voters: VoterSet
    is_first: bool = False


class AppendFetched(NamedTuple):
    """Write what the leader has sent."""

    records: object
    batches: tuple[BatchShape, ...]


class Truncate(NamedTuple):
    """Drop everything from the offset on."""

    end_offset: int


class FetchSnapshot(NamedTuple):
    """Get a snapshot from the leader; report with `SnapshotFetched`, exactly once."""

    node_id: int
    epoch: int
    snapshot: SnapshotId


class InstallSnapshot(NamedTuple):
    """Let a fetched snapshot take the place of the whole log."""

    snapshot: SnapshotId


class AdvanceHighWatermark(NamedTuple):
    """Everything below the offset is committed."""

    high_watermark: int


class Send(NamedTuple):
    """Ask another node; report with `Answered`, exactly once."""

    node_id: int
    request: Outgoing


class ProbeVoter(NamedTuple):
    """Ask a node that shall vote whether it is there; report with `VoterProbed`, exactly once."""

    token: int
    request: AddVoter
    endpoint: VoterEndpoint


class Reply(NamedTuple):
    """Answer."""

    token: int
    response: Response


class ReplyRecords(NamedTuple):
    """Answer a fetch with what the log has from the offset on, which may be nothing."""

    token: int
    offset: int
    response: FetchResponse


class ReplySnapshot(NamedTuple):
    """Answer with the part of the snapshot that was asked for."""

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
