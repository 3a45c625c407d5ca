"""Prospective: a voter that misses the leader asks the others whether they would vote for it (KIP-996).

The pre-vote is held in the epoch that the node has. Voters that hear the leader refuse, so a node that has
lost its network cannot depose a healthy leader.
"""

from typing import TYPE_CHECKING

from gralha.raft.context import Context
from gralha.raft.elections import Ballot, ask_for_votes
from gralha.raft.quorum_state import NOBODY
from gralha.raft.role import Role, RoleState
from gralha.raft.voters import ReplicaKey

if TYPE_CHECKING:
    from gralha.raft.transitions import Transitions


class Prospective(RoleState):
    """Counts the voters that would vote for it, until the deadline."""

    role = Role.PROSPECTIVE

    def __init__(self, context: Context, transitions: "Transitions") -> None:
        super().__init__(context, transitions, context.election_deadline())
        self._ballot = Ballot(context.voters.latest, context.key)

    def begin(self) -> None:
        """Its own vote may be a majority."""
        self._count()

    def poll(self) -> None:
        """Asks the voters that have not answered."""
        ask_for_votes(self._context, self._ballot, pre_vote=True)

    def deadline_passed(self) -> None:
        """Too few voters have answered."""
        if self._context.may_stand:
            self._transitions.not_elected()
        else:
            self._transitions.may_not_stand()

    def may_vote_for(self, candidate: ReplicaKey) -> bool:
        """A prospective candidate may vote for another: it has not voted for itself."""
        return self._context.is_free_to_vote_for(candidate)

    def leader_named(self, leader_id: int, *, by_leader: bool) -> None:
        """A node that knows the leader and misses it follows it again only if the leader itself answers."""
        is_missed = self._context.election.leader_id != NOBODY
        if by_leader or not is_missed:
            self._transitions.leader_found(leader_id)

    def vote_answered(self, node_id: int, *, pre_vote: bool, granted: bool | None) -> None:
        """Counts an answer."""
        if pre_vote:
            self._ballot.record(node_id, granted)
            self._count()

    def _count(self) -> None:
        if self._ballot.is_won:
            self._transitions.pre_vote_won()
        elif self._ballot.is_lost:
            self._transitions.not_elected()
