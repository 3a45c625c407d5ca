"""The quorum's state machine: `step(event, now_ms) -> effects`, pure and synchronous.

The caller carries out the effects in their order, each before the next event, and reports back with events.
What it owes: `SaveElection` is durable before anything that follows it, and `Flushed` speaks only of what is
on the device. What the machine owes: one leader per epoch, epochs that only grow, and a high watermark that
only grows, is on a majority of disks, and is set by a leader only once a record of its own epoch is among
what it covers (KAFKA-12619). After a restart a node that had led is RESIGNED, never LEADER (KAFKA-10527).

    machine.py    roles, time, requests under way        elections.py   votes
    following.py  Unattached and Follower                leadership.py  what a leader knows of the others
    leading.py    Leader and Resigned                    voters.py, log_shape.py, events.py
"""

from gralha.raft.elections import Ballot, Role, is_up_to_date, may_grant
from gralha.raft.events import (
    AddVoter,
    Answered,
    Appended,
    BeginEpochRequest,
    Effect,
    EndEpochRequest,
    Event,
    FetchRequest,
    FetchResponse,
    Flushed,
    LogForgotten,
    PeerLost,
    RemoveVoter,
    Reply,
    Requested,
    ShuttingDown,
    SnapshotFetched,
    SnapshotProgress,
    SnapshotRequest,
    Started,
    UpdateVoter,
    UpgradeVoters,
    VoteRequest,
    VoteResponse,
    VoterProbed,
)
from gralha.raft.leading import Leading
from gralha.raft.machine import NEVER
from gralha.raft.quorum_state import NOBODY, ElectionState


class RaftState(Leading):
    """One node's view of its quorum. All changes go through `step`."""

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        """Takes an event in; says what must be done now."""
        self._now_ms = max(self._now_ms, now_ms)
        self._take(event)
        if not isinstance(event, Appended):
            # Those who wait for records get them by the next step, so that many appends make one answer.
            self._poll()
        self._save_election()
        effects, self._effects = self._effects, []
        return effects

    def _take(self, event: Event) -> None:
        match event:
            case Requested():
                self._requested(event)
            case Answered():
                self._answered(event)
            case VoterProbed():
                self._voter_probed(event)
            case Appended(end_offset):
                if end_offset > self.log.end_offset:
                    self.log.append(self.epoch, self.log.end_offset, end_offset)
            case Flushed(end_offset):
                self._flushed(end_offset)
            case Started():
                self._start(event)
            case PeerLost(node_id):
                if self.role is Role.FOLLOWER and node_id == self.leader_id:
                    self._leader_lost()
            case SnapshotProgress():
                self._snapshot_progress()
            case SnapshotFetched():
                self._snapshot_fetched(event)
            case LogForgotten(oldest, newest):
                self.log.forget_before(oldest, newest)
            case ShuttingDown():
                self._shut_down()

    def _start(self, event: Started) -> None:
        self.log, self.voters = event.log, event.voters
        self.flushed_offset = self.log.end_offset
        if self.log.newest.end_offset > 0:
            self.high_watermark = self.log.newest.end_offset
        saved = event.election or ElectionState(0)
        # The log may have seen an epoch that the file has not, if the file was restored from a backup.
        last_epoch = self.log.last_epoch
        self.election = saved if saved.epoch >= last_epoch else ElectionState(last_epoch)
        # To ask early disturbs nobody who has a leader, and a cluster that starts need not wait.
        self._set_role(self._role_after_restart(), self._after(0, self._timeouts.election_ms // 5))
        if self.role is Role.RESIGNED:
            self._to_tell = self.voters.latest.others(self.key)
        if self.is_sole_voter:
            self._become_candidate()

    def _role_after_restart(self) -> Role:
        return Role.RESIGNED if self.election.leader_id == self.key.id else Role.UNATTACHED

    def _shut_down(self) -> None:
        self._closing = True
        if self.leadership is not None and not self.is_sole_voter:
            self._resign(self.leadership)

    @property
    def is_waiting_to_resign(self) -> bool:
        """Does it still have voters to tell that it leads no longer?"""
        return self.role is Role.RESIGNED and bool(self._to_tell)

    # Time

    def _poll(self) -> None:
        """Lets deadlines pass, sends what is due, and notes when to look again."""
        self.wake_at_ms = NEVER
        self._check_deadline()
        if self.role is Role.LEADER:
            assert self.leadership is not None
            self._poll_leader(self.leadership)
        elif self.role is Role.FOLLOWER:
            self._poll_follower()
        elif self.role is Role.UNATTACHED:
            self._poll_unattached()
        elif self.role is Role.RESIGNED:
            self._poll_resigned()
        else:
            self._poll_ballot()
        self._wake_at(self._deadline_ms)

    def _check_deadline(self) -> None:
        if self.leadership is not None:
            # A quorum of one is always there.
            self._deadline_ms = NEVER if self.is_sole_voter else self.leadership.quorum_deadline_ms
        if self._now_ms < self._deadline_ms:
            return
        if self._closing:
            self._deadline_ms = NEVER
        elif self.leadership is not None:
            self._resign(self.leadership)
        elif self.role is Role.RESIGNED:
            self._become_unattached(self.epoch + 1, self._after(0, self._timeouts.election_ms // 5))
        elif not self.may_stand:
            self._become_unattached(self.epoch, NEVER)
        elif self.role in (Role.PROSPECTIVE, Role.CANDIDATE):
            self._lose()
        else:
            self._become_prospective()

    # Elections

    def _become_prospective(self) -> None:
        self._ballot = Ballot(self.voters.latest, self.key)
        self._set_role(Role.PROSPECTIVE, self._election_timeout())
        self._count_votes(self._ballot)

    def _become_candidate(self) -> None:
        self._elect(ElectionState(self.epoch + 1, NOBODY, *self.key))
        self._ballot = Ballot(self.voters.latest, self.key)
        self._set_role(Role.CANDIDATE, self._election_timeout())
        self._count_votes(self._ballot)

    def _count_votes(self, ballot: Ballot) -> None:
        if ballot.is_won:
            if self.role is Role.PROSPECTIVE:
                self._become_candidate()
            else:
                self._become_leader(tuple(sorted(ballot.granted)))
        elif ballot.is_lost:
            self._lose()

    def _lose(self) -> None:
        """Waits a while, longer each time, at random: so one of several candidates will be alone."""
        self._losses += 1
        step_ms = max(self._timeouts.backoff_max_ms // 20, 1)
        limit_ms = min(step_ms << min(self._losses, 10), self._timeouts.backoff_max_ms)
        deadline_ms = self._after(step_ms, limit_ms)
        leader_id = self.election.leader_id
        if leader_id in (NOBODY, self.key.id):
            self._become_unattached(self.epoch, deadline_ms)
        else:
            # The others may be content with the leader: try to fetch from it again.
            self._become_follower(self.epoch, leader_id)
            self._deadline_ms = deadline_ms

    def _poll_ballot(self) -> None:
        assert self._ballot is not None
        for voter in self._ballot.undecided(self.key):
            request = VoteRequest(
                self.epoch,
                self.key,
                voter,
                self.log.last_epoch,
                self.log.end_offset,
                self.role is Role.PROSPECTIVE,
            )
            self._send(voter.id, request)

    def _vote_requested(self, token: int, request: VoteRequest) -> None:
        error = self._refusal(request.epoch, request.voter)
        if not error and request.epoch > self.epoch:
            self._become_unattached(request.epoch, self._election_timeout())
        granted = not error and self._grant(request)
        self._emit(Reply(token, VoteResponse(error, self.leader_id, self.epoch, granted)))

    def _grant(self, request: VoteRequest) -> bool:
        granted = is_up_to_date(request, self.log.last_epoch, self.log.end_offset) and may_grant(
            self.role, self.election, self._trusts_leader, request
        )
        if granted and not request.pre_vote:
            self._elect(ElectionState(self.epoch, NOBODY, *request.candidate))
            # The one it voted for gets time to win.
            self._become_unattached(self.epoch, self._election_timeout())
        return granted

    def _vote_answered(self, node_id: int, request: VoteRequest, response: VoteResponse | None) -> None:
        self._release_slot(node_id, request, failed=response is None)
        if response is not None:
            self._learn(response.leader_id, response.epoch, told_by=node_id)
        asked_as = Role.PROSPECTIVE if request.pre_vote else Role.CANDIDATE
        if self.role is not asked_as or request.epoch != self.epoch:
            return
        assert self._ballot is not None
        if response is None:
            self._ballot.unreachable.add(node_id)
        else:
            self._ballot.record(node_id, response.granted)
        self._count_votes(self._ballot)

    # Dispatch

    def _requested(self, event: Requested) -> None:
        token = event.token
        match event.request:
            case VoteRequest() as request:
                self._vote_requested(token, request)
            case BeginEpochRequest() as begin:
                self._begin_requested(token, begin)
            case EndEpochRequest() as end:
                self._end_requested(token, end)
            case FetchRequest() as fetch:
                self._fetch_requested(token, fetch)
            case SnapshotRequest() as snapshot:
                self._snapshot_requested(token, snapshot)
            case AddVoter() as addition:
                self._addition_requested(token, addition)
            case RemoveVoter() | UpdateVoter() | UpgradeVoters() as change:
                self._change_requested(token, change)

    def _answered(self, event: Answered) -> None:
        request, response = event.request, event.response
        if isinstance(request, VoteRequest):
            assert response is None or isinstance(response, VoteResponse)
            self._vote_answered(event.node_id, request, response)
        elif isinstance(request, FetchRequest):
            assert response is None or isinstance(response, FetchResponse)
            self._fetch_answered(event.node_id, request, response)
        else:
            failed = response is None or response.error_code != 0
            self._release_slot(event.node_id, request, failed)
            if response is not None:
                self._learn(response.leader_id, response.epoch)
            if request.epoch == self.epoch:
                self._told(event.node_id, request, failed)

    def _told(
        self, node_id: int, request: BeginEpochRequest | EndEpochRequest | UpdateVoter, failed: bool
    ) -> None:
        """A voter has heard that this node leads, or that it does no longer; or it has not."""
        if isinstance(request, EndEpochRequest) and not failed:
            self._to_tell = [key for key in self._to_tell if key.id != node_id]
        elif isinstance(request, BeginEpochRequest) and self.leadership is not None:
            # One that is down will ask by itself when it is up.
            due_ms = self._after(self._timeouts.fetch_ms // (10 if failed else 2))
            self.leadership.replica(request.voter).begin_due_ms = due_ms
