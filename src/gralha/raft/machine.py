"""What all roles of a quorum's node share: time, effects, requests under way, and becoming something else.

    election timeout           majority says it would vote          majority votes
    UNATTACHED --> PROSPECTIVE --------------------------> CANDIDATE ------------> LEADER
    FOLLOWER   -->      |                                      |                     |
        ^               +-- lost: back to where it was         +-- lost: UNATTACHED  +-- no quorum: RESIGNED
        +--- whoever hears of a leader in an epoch that is not older than its own

A deadline passes at the first step after it; `wake_at_ms` tells when the machine has to be stepped at last.
"""

import logging
from random import Random
from typing import Final, NamedTuple

from gralha.raft.elections import Ballot, Role
from gralha.raft.events import Effect, Outgoing, SaveElection, Send
from gralha.raft.leadership import Leadership
from gralha.raft.log_shape import LogShape
from gralha.raft.quorum_state import NOBODY, ElectionState
from gralha.raft.voters import ReplicaKey, VoterEndpoint, VoterHistory

log = logging.getLogger("gralha.raft")

NEVER: Final = 2**62


class QuorumSafetyError(Exception):
    """Something that cannot happen while nodes keep their promises: to go on could lose data."""


class Timeouts(NamedTuple):
    """Kafka's `controller.quorum.*`, with its defaults."""

    election_ms: int = 1000
    fetch_ms: int = 2000
    backoff_max_ms: int = 1000
    request_ms: int = 2000
    retry_ms: int = 20
    fetch_wait_ms: int = 500


class Machine:
    """One node's view of its quorum."""

    def __init__(
        self,
        key: ReplicaKey,
        timeouts: Timeouts,
        random: Random,
        *,
        bootstrap: tuple[int, ...] = (),
        can_vote: bool = True,
        endpoints: tuple[VoterEndpoint, ...] = (),
        listener_name: str = "",
    ) -> None:
        self.key = key
        self.role = Role.UNATTACHED
        self.election = ElectionState(0)
        self.log = LogShape()
        self.voters = VoterHistory()
        self.high_watermark = -1
        self.flushed_offset = 0
        self.leadership: Leadership | None = None
        self.wake_at_ms = NEVER
        self._timeouts = timeouts
        self._random = random
        self._bootstrap = bootstrap
        # Whether this node may be a voter some day: then it always syncs before it fetches.
        self._can_vote = can_vote
        self._endpoints = endpoints
        self._listener_name = listener_name
        self._now_ms = 0
        self._deadline_ms = NEVER
        self._effects: list[Effect] = []
        self._election_unsaved = False
        self._ballot: Ballot | None = None
        self._losses = 0
        # Requests of this epoch: under way (NEVER), or not to be repeated before a time.
        self._retry_at_ms: dict[tuple[int, type[Outgoing]], int] = {}
        self._trusts_leader = False
        self._fetching_snapshot = False
        self._discovery_turn = 0
        self._discovery_failures = 0
        self._discovery_due_ms = 0
        self._update_due_ms = 0
        self._to_tell: list[ReplicaKey] = []
        self._successors: tuple[ReplicaKey, ...] = ()
        self._closing = False

    @property
    def epoch(self) -> int:
        """The newest epoch that this node knows."""
        return self.election.epoch

    @property
    def leader_id(self) -> int:
        """Who leads in this epoch, as far as known."""
        return NOBODY if self.role is Role.RESIGNED else self.election.leader_id

    @property
    def is_leader(self) -> bool:
        """May this node append?"""
        return self.role is Role.LEADER

    @property
    def is_voter(self) -> bool:
        """Does this node vote, by the newest voters in its log?"""
        return self.voters.latest.match(self.key) is not None

    @property
    def may_stand(self) -> bool:
        """Whether it can be a candidate.

        One whose removal is not known to be committed can: it may be the only one that has all records that
        the remaining voters need.
        """
        offset = self.voters.latest_offset
        uncommitted = offset is not None and offset >= self.high_watermark
        return self.is_voter or (uncommitted and self.voters.previous.match(self.key) is not None)

    @property
    def is_sole_voter(self) -> bool:
        """Is this node the whole quorum?"""
        return self.is_voter and len(self.voters.latest.voters) == 1

    def _as_voter(self, key: ReplicaKey) -> ReplicaKey:
        """The key under which a replica counts: a static quorum knows no disks."""
        voter = self.voters.latest.match(key)
        return key if voter is None else voter.key

    # Effects and time

    def _emit(self, effect: Effect) -> None:
        # The election is on the device before anything that follows from it; in a step, the last one will do.
        self._save_election()
        self._effects.append(effect)

    def _save_election(self) -> None:
        if self._election_unsaved:
            self._election_unsaved = False
            self._effects.append(SaveElection(self.election))

    def _elect(self, election: ElectionState) -> None:
        if election.epoch < self.epoch:
            raise QuorumSafetyError(f"epoch {election.epoch} after epoch {self.epoch}")
        if election.epoch > self.epoch:
            self._retry_at_ms.clear()
        if election != self.election:
            self.election = election
            self._election_unsaved = True

    def _after(self, delay_ms: int, jitter_ms: int = 0) -> int:
        return self._now_ms + delay_ms + (self._random.randrange(jitter_ms) if jitter_ms > 0 else 0)

    def _election_timeout(self) -> int:
        return self._after(self._timeouts.election_ms, self._timeouts.election_ms)

    def _fetch_timeout(self) -> int:
        return self._after(self._timeouts.fetch_ms, self._timeouts.election_ms // 10)

    def _wake_at(self, time_ms: int) -> None:
        self.wake_at_ms = min(self.wake_at_ms, time_ms)

    def _send(self, node_id: int, request: Outgoing) -> None:
        """One request of a kind to each node at a time; a failed one again after a while."""
        slot = (node_id, type(request))
        retry_at_ms = self._retry_at_ms.get(slot, 0)
        if retry_at_ms > self._now_ms:
            self._wake_at(retry_at_ms)
            return
        self._retry_at_ms[slot] = NEVER
        self._emit(Send(node_id, request))

    def _release_slot(self, node_id: int, request: Outgoing, failed: bool) -> None:
        if request.epoch == self.epoch:
            retry_at_ms = self._after(self._timeouts.retry_ms) if failed else 0
            self._retry_at_ms[node_id, type(request)] = retry_at_ms

    # Roles

    def _set_role(self, role: Role, deadline_ms: int) -> None:
        if role is not self.role:
            log.info("%s in epoch %d, was %s", role.value, self.epoch, self.role.value)
        self.role = role
        self._deadline_ms = deadline_ms
        if role is not Role.LEADER and self.leadership is not None:
            leadership, self.leadership = self.leadership, None
            self._dismiss(leadership)

    def _dismiss(self, leadership: Leadership) -> None:
        """Answers whoever waits for this leader that it leads no longer."""
        raise NotImplementedError

    def _become_unattached(self, epoch: int, deadline_ms: int) -> None:
        """In a new epoch it knows neither leader nor vote; in its own it keeps both."""
        if epoch > self.epoch:
            self._elect(ElectionState(epoch))
        self._set_role(Role.UNATTACHED, deadline_ms)

    def _become_follower(self, epoch: int, leader_id: int) -> None:
        if epoch > self.epoch:
            self._elect(ElectionState(epoch, leader_id))
        else:
            self._elect(self.election._replace(leader_id=leader_id))
        self._trusts_leader = False
        self._set_role(Role.FOLLOWER, self._fetch_timeout())

    def _learn(self, leader_id: int, epoch: int, *, told_by: int = NOBODY) -> None:
        """Somebody knows of an epoch, and perhaps of its leader.

        Who asks whether it could be elected knew of the leader and doubts it: only the leader's own word, not
        that of others, makes it follow again.
        """
        known = self.election.leader_id
        if leader_id == self.key.id:
            leader_id = NOBODY
        if epoch > self.epoch:
            if leader_id == NOBODY:
                self._become_unattached(epoch, self._election_timeout())
            else:
                self._become_follower(epoch, leader_id)
        elif epoch == self.epoch and leader_id != NOBODY:
            if known not in (NOBODY, leader_id):
                raise QuorumSafetyError(f"{known} and {leader_id} both lead epoch {epoch}")
            doubted = self.role is Role.PROSPECTIVE and known != NOBODY and told_by != leader_id
            if self.role is not Role.FOLLOWER and not doubted:
                self._become_follower(epoch, leader_id)
