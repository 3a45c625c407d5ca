"""Who may win: the tally of an election, and whether to grant a vote.

A prospective candidate asks without a new epoch first (KIP-996). Who follows a leader that answers grants
nothing, so a node that is cut off cannot depose a leader that the others are content with.
"""

from enum import Enum

from gralha.raft.events import VoteRequest
from gralha.raft.quorum_state import NOBODY, ElectionState
from gralha.raft.voters import ReplicaKey, VoterSet


class Role(Enum):
    """What this node is in the quorum."""

    UNATTACHED = "unattached"
    PROSPECTIVE = "prospective"
    CANDIDATE = "candidate"
    LEADER = "leader"
    FOLLOWER = "follower"
    RESIGNED = "resigned"


class Ballot:
    """The votes of one election, or of the question before it."""

    def __init__(self, voters: VoterSet, key: ReplicaKey) -> None:
        self.voters = voters
        self.granted = {key.id}
        self.rejected: set[int] = set()
        self.unreachable: set[int] = set()

    def record(self, node_id: int, granted: bool) -> None:
        """Notes an answer."""
        self.unreachable.discard(node_id)
        (self.granted if granted else self.rejected).add(node_id)

    def undecided(self, key: ReplicaKey) -> list[ReplicaKey]:
        """Who has not answered."""
        answered = self.granted | self.rejected
        return [voter for voter in self.voters.others(key) if voter.id not in answered]

    @property
    def is_won(self) -> bool:
        """Has a majority agreed?"""
        return len(self.granted & set(self.voters.ids)) >= self.voters.majority

    @property
    def is_lost(self) -> bool:
        """Can nobody who is there make it a majority any more?"""
        possible = set(self.voters.ids) - self.rejected - self.unreachable
        return len(possible | self.granted) < self.voters.majority


def is_up_to_date(request: VoteRequest, last_epoch: int, end_offset: int) -> bool:
    """Whether a candidate's log has everything that this one could have seen committed."""
    return (request.last_epoch, request.end_offset) >= (last_epoch, end_offset)


def may_grant(role: Role, election: ElectionState, trusts_leader: bool, request: VoteRequest) -> bool:
    """Whether this node is free to agree, its log aside. The request is of this node's epoch."""
    if request.pre_vote:
        return role is not Role.LEADER and not (role is Role.FOLLOWER and trusts_leader)
    if role not in (Role.UNATTACHED, Role.PROSPECTIVE) or election.leader_id != NOBODY:
        return False
    voted = ReplicaKey(election.voted_id, election.voted_directory_id)
    return voted.id == NOBODY or voted == request.candidate
