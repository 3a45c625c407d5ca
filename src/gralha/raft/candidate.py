"""Candidate: a voter that would win begins a new epoch, votes for itself, and asks the others for votes."""

from typing import TYPE_CHECKING

from gralha.raft.context import Context
from gralha.raft.elections import Ballot, ask_for_votes
from gralha.raft.quorum_state import NOBODY, ElectionState
from gralha.raft.role import Role, RoleState

if TYPE_CHECKING:
    from gralha.raft.transitions import Transitions


class Candidate(RoleState):
    """Counts its votes, until the deadline."""

    role = Role.CANDIDATE

    def __init__(self, context: Context, transitions: "Transitions") -> None:
        context.elect(ElectionState(context.epoch + 1, NOBODY, *context.key))
        super().__init__(context, transitions, context.election_deadline())
        self._ballot = Ballot(context.voters.latest, context.key)

    def begin(self) -> None:
        """Its own vote may be a majority."""
        self._count()

    def poll(self) -> None:
        """Asks the voters that have not answered."""
        ask_for_votes(self._context, self._ballot, pre_vote=False)

    def deadline_passed(self) -> None:
        """Too few voters have answered."""
        if self._context.may_stand:
            self._transitions.not_elected()
        else:
            self._transitions.may_not_stand()

    def vote_answered(self, node_id: int, *, pre_vote: bool, granted: bool | None) -> None:
        """Counts an answer."""
        if not pre_vote:
            self._ballot.record(node_id, granted)
            self._count()

    def _count(self) -> None:
        if self._ballot.is_won:
            self._transitions.election_won(tuple(sorted(self._ballot.granted)))
        elif self._ballot.is_lost:
            self._transitions.not_elected()
