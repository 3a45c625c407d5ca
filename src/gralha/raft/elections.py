"""Elections: asking for votes, counting them, and comparing logs."""

from gralha.raft.context import Context
from gralha.raft.events import VoteRequest
from gralha.raft.voters import ReplicaKey, VoterSet


class Ballot:
    """The votes of one election, or of the pre-vote before it."""

    def __init__(self, voters: VoterSet, key: ReplicaKey) -> None:
        self.voters = voters
        self.granted = {key.id}
        self.rejected: set[int] = set()
        self.unreachable: set[int] = set()

    def record(self, node_id: int, granted: bool | None) -> None:
        """Counts an answer. `granted` is None if the voter did not answer."""
        if granted is None:
            self.unreachable.add(node_id)
            return
        self.unreachable.discard(node_id)
        (self.granted if granted else self.rejected).add(node_id)

    def undecided(self, key: ReplicaKey) -> list[ReplicaKey]:
        """The voters that have not answered."""
        answered = self.granted | self.rejected
        return [voter for voter in self.voters.others(key) if voter.id not in answered]

    @property
    def is_won(self) -> bool:
        """True if a majority has granted its votes."""
        return len(self.granted & set(self.voters.ids)) >= self.voters.majority

    @property
    def is_lost(self) -> bool:
        """True if a majority cannot be reached any more."""
        possible = set(self.voters.ids) - self.rejected - self.unreachable
        return len(possible | self.granted) < self.voters.majority


def ask_for_votes(context: Context, ballot: Ballot, *, pre_vote: bool) -> None:
    """Asks the voters that have not answered."""
    for voter in ballot.undecided(context.key):
        request = VoteRequest(
            context.epoch, context.key, voter, context.log.last_epoch, context.log.end_offset, pre_vote
        )
        context.send(voter.id, request)


def is_up_to_date(request: VoteRequest, last_epoch: int, end_offset: int) -> bool:
    """Returns True if a candidate's log is at least as complete as a log that ends here."""
    return (request.last_epoch, request.end_offset) >= (last_epoch, end_offset)
