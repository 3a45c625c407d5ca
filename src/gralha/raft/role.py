"""The interface of a role: the events that it may react to.

`state.py` does what is the same in every role and hands the rest to the role that the node has. A role
ignores the events that it does not mention. Requests that only a leader can serve are in `leader.py`.
"""

from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from gralha.raft.context import Context
from gralha.raft.events import (
    BeginEpochRequest,
    EndEpochRequest,
    FetchRequest,
    FetchResponse,
    UpdateVoter,
)
from gralha.raft.snapshots import SnapshotId
from gralha.raft.timeouts import NEVER
from gralha.raft.voters import ReplicaKey, VoterSet

if TYPE_CHECKING:
    from gralha.raft.transitions import Transitions


class Role(Enum):
    """The name of a role; `transitions.py` describes them."""

    UNATTACHED = "unattached"
    PROSPECTIVE = "prospective"
    CANDIDATE = "candidate"
    LEADER = "leader"
    FOLLOWER = "follower"
    RESIGNED = "resigned"


class RoleState:
    """A node in one role, from one transition to the next."""

    role: ClassVar[Role]

    def __init__(self, context: Context, transitions: "Transitions", deadline_ms: int = NEVER) -> None:
        self.deadline_ms = deadline_ms
        self._context = context
        self._transitions = transitions

    @property
    def leader_id(self) -> int:
        """The leader of the epoch, or -1 if this node knows none."""
        return self._context.election.leader_id

    def begin(self) -> None:
        """The node has this role from now on."""

    def end(self, leader_id: int) -> None:
        """The node has another role from now on, in which it knows this leader."""

    # Time

    def deadline(self) -> int:
        """The time at which `deadline_passed` is called."""
        return self.deadline_ms

    def deadline_passed(self) -> None:
        """Decides what the node becomes."""
        raise NotImplementedError

    def postpone(self, late_ms: int) -> None:
        """Moves everything that waits by the time in which the process did not run."""
        self.deadline_ms += late_ms

    def poll(self) -> None:
        """Sends the requests that are due, and asks to be woken for those that are not."""
        raise NotImplementedError

    # Requests of other nodes

    def would_vote(self) -> bool:
        """Returns True if this node would vote for a candidate with a complete log (pre-vote, KIP-996)."""
        return True

    def may_vote_for(self, candidate: ReplicaKey) -> bool:
        """Returns True if this node may vote in this epoch for a candidate with a complete log."""
        return False

    def leader_named(self, leader_id: int, *, by_leader: bool) -> None:
        """Another node, or the leader itself, names the leader of this epoch."""
        self._transitions.leader_found(leader_id)

    def leader_resigned(self, leader_id: int, successors: tuple[ReplicaKey, ...]) -> None:
        """The leader of this epoch resigns. The successors are the voters, the longest log first."""

    # Answers of other nodes. The role may have changed since the request.

    def vote_answered(self, node_id: int, *, pre_vote: bool, granted: bool | None) -> None:
        """A voter has granted or refused a vote in this epoch; None if it did not answer."""

    def fetch_failed(self) -> None:
        """A node did not answer a fetch, or it does not lead."""

    def fetched(self, request: FetchRequest, response: FetchResponse) -> None:
        """A leader has answered a fetch."""

    def told(
        self, node_id: int, request: BeginEpochRequest | EndEpochRequest | UpdateVoter, failed: bool
    ) -> None:
        """A node has answered a request of this epoch, or it has failed to."""

    # Other events

    def flushed(self) -> None:
        """More of this node's log is on its device."""

    def peer_lost(self, node_id: int) -> None:
        """The process of a node has probably died."""

    def snapshot_progressed(self) -> None:
        """A part of a snapshot has come."""

    def snapshot_fetched(self, snapshot: SnapshotId, voters: VoterSet | None) -> None:
        """A whole snapshot has come, with the voters in it."""
        self._context.install_snapshot(snapshot, voters)

    def shut_down(self) -> None:
        """The node will stop soon."""
