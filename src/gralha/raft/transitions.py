"""The roles of a node in the quorum, and all changes from one role to another.

    Unattached    knows no leader. Asks the other nodes for one.
    Follower      fetches the log of the leader.
    Prospective   misses the leader. Asks the voters whether they would vote for it (pre-vote, KIP-996).
    Candidate     begins a new epoch and asks the voters for their votes.
    Leader        appends to the log, and serves the fetches of the others.
    Resigned      led this epoch. Tells the voters that it does not lead any more.

    Unattached --+  no leader              majority                majority            quorum
                 +---------> Prospective ----------> Candidate ------------> Leader ----------> Resigned
    Follower ----+  in time               would vote              has voted             lost

`TRANSITIONS` is the table of all changes: for each role the reasons to leave it, each with the next role.

- Only a Candidate becomes Leader, because only a Candidate has the votes of a majority in its epoch.
- A node leads an epoch once. A Resigned node leads again only in a newer epoch, and a node that led when it
  stopped is Resigned after its restart (KAFKA-10527).
- A Leader or a Resigned node follows another only in a newer epoch, because an epoch has one leader.

Every change goes through `Transitions._become`, which raises QuorumSafetyError if the table does not have it.
"""

import logging
from enum import Enum
from typing import Final

from gralha.raft.candidate import Candidate
from gralha.raft.context import Context, QuorumSafetyError
from gralha.raft.follower import Follower
from gralha.raft.leader import Leader
from gralha.raft.prospective import Prospective
from gralha.raft.quorum_state import NOBODY, ElectionState
from gralha.raft.resigned import Resigned
from gralha.raft.role import Role, RoleState
from gralha.raft.timeouts import NEVER
from gralha.raft.unattached import Unattached
from gralha.raft.voters import ReplicaKey

log = logging.getLogger("gralha.raft")


class Why(Enum):
    """Why a node changes its role."""

    STARTED = "the node has started"
    LED_BEFORE = "the node led this epoch before it was restarted"
    ONLY_VOTER = "the node is the only voter"
    NO_LEADER = "no leader was heard in time"
    PRE_VOTE_WON = "a majority would vote for the node"
    ELECTION_WON = "a majority has voted for the node"
    NOT_ELECTED = "no majority for the node, and no leader is known"
    NOT_NEEDED = "no majority for the node, but a leader is known"
    MAY_NOT_STAND = "time is up, and the node is not a voter"
    VOTED = "the node has voted for another"
    QUORUM_LOST = "no majority of the voters fetches"
    SHUTTING_DOWN = "the node shuts down"
    REMOVED = "the node is removed from the voters"
    RESIGNATION_OVER = "the voters have had time to hear of the resignation"
    LEADER_FOUND = "the leader of the epoch is known now"
    NEWER_EPOCH = "another node knows a newer epoch"
    NEWER_LEADER = "another node leads a newer epoch"


_IN_ANY_ROLE: Final = {Why.NEWER_EPOCH: Role.UNATTACHED, Why.NEWER_LEADER: Role.FOLLOWER}

TRANSITIONS: Final[dict[Role, dict[Why, Role]]] = {
    Role.UNATTACHED: {
        Why.STARTED: Role.UNATTACHED,
        Why.LED_BEFORE: Role.RESIGNED,
        Why.ONLY_VOTER: Role.CANDIDATE,
        Why.NO_LEADER: Role.PROSPECTIVE,
        Why.MAY_NOT_STAND: Role.UNATTACHED,
        Why.VOTED: Role.UNATTACHED,
        Why.LEADER_FOUND: Role.FOLLOWER,
        **_IN_ANY_ROLE,
    },
    Role.FOLLOWER: {
        Why.NO_LEADER: Role.PROSPECTIVE,
        Why.MAY_NOT_STAND: Role.UNATTACHED,
        **_IN_ANY_ROLE,
    },
    Role.PROSPECTIVE: {
        Why.PRE_VOTE_WON: Role.CANDIDATE,
        Why.NOT_ELECTED: Role.UNATTACHED,
        Why.NOT_NEEDED: Role.FOLLOWER,
        Why.MAY_NOT_STAND: Role.UNATTACHED,
        Why.VOTED: Role.UNATTACHED,
        Why.LEADER_FOUND: Role.FOLLOWER,
        **_IN_ANY_ROLE,
    },
    Role.CANDIDATE: {
        Why.ELECTION_WON: Role.LEADER,
        Why.NOT_ELECTED: Role.UNATTACHED,
        Why.MAY_NOT_STAND: Role.UNATTACHED,
        Why.LEADER_FOUND: Role.FOLLOWER,
        **_IN_ANY_ROLE,
    },
    Role.LEADER: {
        Why.QUORUM_LOST: Role.RESIGNED,
        Why.SHUTTING_DOWN: Role.RESIGNED,
        Why.REMOVED: Role.RESIGNED,
        **_IN_ANY_ROLE,
    },
    Role.RESIGNED: {
        Why.ONLY_VOTER: Role.CANDIDATE,
        Why.RESIGNATION_OVER: Role.UNATTACHED,
        **_IN_ANY_ROLE,
    },
}


class Transitions:
    """The current role, and a method for each reason to change it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.current: RoleState = Unattached(context, self)

    def _become(self, why: Why, new: RoleState) -> None:
        old = self.current
        if TRANSITIONS[old.role].get(why) is not new.role:
            raise QuorumSafetyError(f"{old.role.value} must not become {new.role.value} because {why.value}")
        if new.role is not old.role:
            log.info(
                "This node is %s in epoch %d (was %s): %s",
                new.role.value,
                self._context.epoch,
                old.role.value,
                why.value,
            )
        self.current = new
        old.end(new.leader_id)
        new.begin()

    # At the start

    def started(self) -> None:
        """The node has started. The context has the log and the election from the disk."""
        context = self._context
        deadline_ms = context.early_deadline()
        if context.election.leader_id == context.key.id:
            others = tuple(context.voters.latest.others(context.key))
            self._become(Why.LED_BEFORE, Resigned(context, self, deadline_ms, others, successors=()))
        else:
            self._become(Why.STARTED, Unattached(context, self, deadline_ms))
        if context.is_only_voter:
            self._become(Why.ONLY_VOTER, Candidate(context, self))

    # Elections

    def no_leader(self) -> None:
        """A voter has heard no leader in time."""
        self._become(Why.NO_LEADER, Prospective(self._context, self))

    def pre_vote_won(self) -> None:
        """A majority would vote for this node."""
        self._become(Why.PRE_VOTE_WON, Candidate(self._context, self))

    def election_won(self, granting_voters: tuple[int, ...]) -> None:
        """A majority has voted for this node."""
        self._become(Why.ELECTION_WON, Leader(self._context, self, granting_voters))

    def not_elected(self) -> None:
        """A majority cannot be reached. The pause before the next attempt grows with every attempt."""
        context = self._context
        deadline_ms = context.next_attempt()
        if context.election.leader_id in (NOBODY, context.key.id):
            self._become(Why.NOT_ELECTED, Unattached(context, self, deadline_ms))
        else:
            # The others may hear the leader, so this node tries to fetch from it again.
            follower = Follower(context, self)
            follower.deadline_ms = deadline_ms
            self._become(Why.NOT_NEEDED, follower)

    def may_not_stand(self) -> None:
        """A node that cannot be elected has heard no leader in time. It searches until it finds one."""
        self._become(Why.MAY_NOT_STAND, Unattached(self._context, self, NEVER))

    def voted(self, candidate: ReplicaKey) -> None:
        """This node votes for a candidate, and gives it time to win."""
        context = self._context
        context.elect(ElectionState(context.epoch, NOBODY, *candidate))
        self._become(Why.VOTED, Unattached(context, self, context.election_deadline()))

    # Resigning

    def quorum_lost(self, successors: tuple[ReplicaKey, ...]) -> None:
        """No majority of the voters fetches from this leader."""
        self._resign(Why.QUORUM_LOST, successors)

    def shutting_down(self, successors: tuple[ReplicaKey, ...]) -> None:
        """This leader will stop soon."""
        self._resign(Why.SHUTTING_DOWN, successors)

    def removed(self, successors: tuple[ReplicaKey, ...]) -> None:
        """This leader has committed its own removal from the voters."""
        self._resign(Why.REMOVED, successors)

    def _resign(self, why: Why, successors: tuple[ReplicaKey, ...]) -> None:
        deadline_ms = self._context.election_deadline()
        self._become(why, Resigned(self._context, self, deadline_ms, successors, successors))

    def resignation_over(self) -> None:
        """The node that has led this epoch goes on in the next one."""
        context = self._context
        deadline_ms = context.early_deadline()
        context.elect(ElectionState(context.epoch + 1))
        self._become(Why.RESIGNATION_OVER, Unattached(context, self, deadline_ms))

    # Other nodes know more

    def leader_found(self, leader_id: int) -> None:
        """Another node leads this epoch."""
        self._context.elect(self._context.election._replace(leader_id=leader_id))
        self._become(Why.LEADER_FOUND, Follower(self._context, self))

    def newer_leader(self, epoch: int, leader_id: int) -> None:
        """Another node leads a newer epoch."""
        self._context.elect(ElectionState(epoch, leader_id))
        self._become(Why.NEWER_LEADER, Follower(self._context, self))

    def newer_epoch(self, epoch: int) -> None:
        """Another node knows a newer epoch, but not its leader."""
        context = self._context
        context.elect(ElectionState(epoch))
        self._become(Why.NEWER_EPOCH, Unattached(context, self, context.election_deadline()))
