"""The quorum's state machine: `step(event, now_ms) -> effects`, pure and synchronous.

The caller carries out the effects in their order, each before the next event, and reports back with events.
The caller promises that `SaveElection` is durable before it carries out the next effect, and that `Flushed`
speaks only of records on the device. The machine promises:

- An epoch has one leader, and epochs only grow.
- The high watermark only grows. Everything below it is on the disks of a majority of the voters.

How an event flows: `RaftState` does what is the same in every role (it refuses old epochs, and learns of
newer epochs and of leaders), then hands the event to the role that the node has.

    state.py          the interface for the caller, and the work that is the same in every role
    transitions.py    the roles, and the table of all changes from one role to another
    unattached.py, follower.py, prospective.py, candidate.py, leader.py, resigned.py
                      one role each: its data, its deadline, its requests and its answers
    role.py           the interface of a role
    context.py        the part of a node that stays when its role changes
    voter_changes.py, leadership.py
                      parts of the leader: changes of the voters, and progress of the replicas
    elections.py, discovery.py, voters.py, log_shape.py, events.py, timeouts.py
                      parts of the roles and of the context
"""

import logging
from random import Random

from gralha.protocol.errors import ErrorCode
from gralha.protocol.primitives import ZERO_UUID
from gralha.raft.context import Context, QuorumSafetyError
from gralha.raft.elections import is_up_to_date
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
    LeaderResponse,
    LogForgotten,
    PeerLost,
    RemoveVoter,
    Reply,
    Request,
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
    VoterResponse,
)
from gralha.raft.leader import Leader
from gralha.raft.leadership import Leadership
from gralha.raft.log_shape import LogShape
from gralha.raft.quorum_state import NOBODY, ElectionState
from gralha.raft.resigned import Resigned
from gralha.raft.role import Role, RoleState
from gralha.raft.timeouts import NEVER, Timeouts
from gralha.raft.transitions import Transitions
from gralha.raft.voter_changes import Change, probe_refusal
from gralha.raft.voters import ReplicaKey, VoterEndpoint, VoterHistory

log = logging.getLogger("gralha.raft")


class RaftState:
    """One node's view of its quorum. All changes go through `step`."""

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
        self._context = Context(
            key,
            timeouts,
            random,
            bootstrap=bootstrap,
            can_vote=can_vote,
            endpoints=endpoints,
            listener_name=listener_name,
        )
        self._transitions = Transitions(self._context)

    # For the caller

    @property
    def key(self) -> ReplicaKey:
        """The id and the disk of this node."""
        return self._context.key

    @property
    def role(self) -> Role:
        """The current role of this node."""
        return self._role.role

    @property
    def election(self) -> ElectionState:
        """The epoch, its leader if it is known, and the vote of this node."""
        return self._context.election

    @property
    def epoch(self) -> int:
        """The newest epoch that this node knows."""
        return self._context.epoch

    @property
    def leader_id(self) -> int:
        """The leader of the epoch, or -1 if this node knows none."""
        return self._role.leader_id

    @property
    def is_leader(self) -> bool:
        """True if this node may append."""
        return self.role is Role.LEADER

    @property
    def leadership(self) -> Leadership | None:
        """What this node knows about the replicas, if it leads."""
        leader = self._leader
        return None if leader is None else leader.leadership

    @property
    def is_waiting_to_resign(self) -> bool:
        """True if some voters have not heard yet that this node has resigned."""
        return isinstance(self._role, Resigned) and self._role.is_waiting

    @property
    def voters(self) -> VoterHistory:
        """The voters in this node's log."""
        return self._context.voters

    @property
    def is_voter(self) -> bool:
        """True if the newest voters in the log include this node."""
        return self._context.is_voter

    @property
    def log(self) -> LogShape:
        """The offsets and epochs of this node's log."""
        return self._context.log

    @property
    def high_watermark(self) -> int:
        """Everything below is committed; -1 while that is not known."""
        return self._context.high_watermark

    @property
    def wake_at_ms(self) -> int:
        """The machine needs a step at this time or earlier, because a deadline passes only in a step."""
        return self._context.wake_at_ms

    @property
    def _role(self) -> RoleState:
        return self._transitions.current

    @property
    def _leader(self) -> Leader | None:
        return self._role if isinstance(self._role, Leader) else None

    # Events and time

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        """Takes an event, and returns what the caller must do now."""
        self._notice_pause(now_ms)
        self._context.now_ms = max(self._context.now_ms, now_ms)
        self._take(event)
        if not isinstance(event, Appended):
            # The next step answers the fetches that wait, so that many appends make one answer.
            self._poll()
        return self._context.take_effects()

    def _notice_pause(self, now_ms: int) -> None:
        """If the machine could not run for a while, that time does not count.

        After SIGSTOP, or when a laptop slept, all deadlines have passed, although the other nodes may be
        healthy and their messages lie unread in the sockets. So it is after an effect for which the disk
        took long. A leader must not resign and a follower must not stand for election before it has listened.
        So everything that waits moves by as much as this step is late.
        """
        late_ms = now_ms - self.wake_at_ms
        if late_ms > self._context.timeouts.pause_ms:
            log.warning(
                "The quorum's node was held up for %d ms: its process did not run, or its disk was slow. Its "
                "deadlines move by that time",
                late_ms,
            )
            self._context.postpone(late_ms)
            self._role.postpone(late_ms)

    def _take(self, event: Event) -> None:
        match event:
            case Requested(token, request):
                self._requested(token, request)
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
                self._role.peer_lost(node_id)
            case SnapshotProgress():
                self._role.snapshot_progressed()
            case SnapshotFetched(snapshot, voters):
                self._context.is_fetching_snapshot = False
                if snapshot is not None:
                    self._role.snapshot_fetched(snapshot, voters)
            case LogForgotten(oldest, newest):
                self.log.forget_before(oldest, newest)
            case ShuttingDown():
                self._context.is_closing = True
                self._role.shut_down()

    def _start(self, event: Started) -> None:
        context = self._context
        context.log, context.voters = event.log, event.voters
        context.flushed_offset = event.log.end_offset
        if event.log.newest.end_offset > 0:
            context.high_watermark = event.log.newest.end_offset
        saved = event.election or ElectionState(0)
        # If the file was restored from a backup, the log may have a newer epoch.
        last_epoch = event.log.last_epoch
        context.election = saved if saved.epoch >= last_epoch else ElectionState(last_epoch)
        self._transitions.started()

    def _flushed(self, end_offset: int) -> None:
        context = self._context
        context.flushed_offset = min(max(context.flushed_offset, end_offset), context.log.end_offset)
        self._role.flushed()

    def _poll(self) -> None:
        """Checks the deadline, sends what is due, and sets the time of the next step."""
        context = self._context
        context.wake_at_ms = NEVER
        has_passed = self._role.deadline() <= context.now_ms
        if has_passed and not context.is_closing:
            self._role.deadline_passed()
        self._role.poll()
        deadline_ms = self._role.deadline()
        if deadline_ms < NEVER and not (has_passed and context.is_closing):
            context.wake_at(min(deadline_ms, context.after(context.timeouts.pulse_ms)))

    def _learn(self, leader_id: int, epoch: int, *, told_by: int = NOBODY) -> None:
        """A node has told its epoch, and perhaps the leader of that epoch."""
        known_id = self.election.leader_id
        if leader_id == self.key.id:
            leader_id = NOBODY
        if epoch > self.epoch:
            if leader_id == NOBODY:
                self._transitions.newer_epoch(epoch)
            else:
                self._transitions.newer_leader(epoch, leader_id)
        elif epoch == self.epoch and leader_id != NOBODY:
            if known_id not in (NOBODY, leader_id):
                raise QuorumSafetyError(f"{known_id} and {leader_id} both lead epoch {epoch}")
            self._role.leader_named(leader_id, by_leader=told_by == leader_id)

    # Requests of other nodes

    def _requested(self, token: int, request: Request) -> None:
        match request:
            case VoteRequest():
                self._vote_requested(token, request)
            case BeginEpochRequest():
                self._begin_requested(token, request)
            case EndEpochRequest():
                self._end_requested(token, request)
            case FetchRequest() | SnapshotRequest():
                self._fetch_requested(token, request)
            case AddVoter() | RemoveVoter() | UpdateVoter() | UpgradeVoters():
                self._change_requested(token, request)

    def _refusal(self, epoch: int, addressee: ReplicaKey | None = None) -> int:
        """The error for a request of a leader or a candidate, or 0."""
        if epoch < self.epoch:
            return int(ErrorCode.FENCED_LEADER_EPOCH)
        if addressee is not None and not self._is_me(addressee):
            return int(ErrorCode.INVALID_VOTER_KEY)
        return 0

    def _is_me(self, key: ReplicaKey) -> bool:
        same_disk = ZERO_UUID in (key.directory_id, self.key.directory_id) or key == self.key
        return key.id == NOBODY or (key.id == self.key.id and same_disk)

    def _vote_requested(self, token: int, request: VoteRequest) -> None:
        error = self._refusal(request.epoch, request.voter)
        if not error and request.epoch > self.epoch:
            self._transitions.newer_epoch(request.epoch)
        granted = not error and self._grant(request)
        self._context.emit(Reply(token, VoteResponse(error, self.leader_id, self.epoch, granted)))

    def _grant(self, request: VoteRequest) -> bool:
        if not is_up_to_date(request, self.log.last_epoch, self.log.end_offset):
            return False
        if request.pre_vote:
            return self._role.would_vote()
        if not self._role.may_vote_for(request.candidate):
            return False
        self._transitions.voted(request.candidate)
        return True

    def _begin_requested(self, token: int, request: BeginEpochRequest) -> None:
        error = self._refusal(request.epoch, request.voter)
        if not error:
            self._learn(request.leader_id, request.epoch, told_by=request.leader_id)
        self._context.emit(Reply(token, LeaderResponse(error, self.leader_id, self.epoch)))

    def _end_requested(self, token: int, request: EndEpochRequest) -> None:
        error = self._refusal(request.epoch)
        if not error:
            self._learn(request.leader_id, request.epoch)
            self._role.leader_resigned(request.leader_id, request.successors)
        self._context.emit(Reply(token, LeaderResponse(error, self.leader_id, self.epoch)))

    # Requests that only a leader can serve

    def _not_leading(self, epoch: int) -> int:
        """The error for a request to the leader of an epoch, or 0 if this node is that leader."""
        if epoch < self.epoch:
            return int(ErrorCode.FENCED_LEADER_EPOCH)
        if epoch > self.epoch:
            return int(ErrorCode.UNKNOWN_LEADER_EPOCH)
        return 0 if self.is_leader else int(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _fetch_requested(self, token: int, request: FetchRequest | SnapshotRequest) -> None:
        error, leader = self._not_leading(request.epoch), self._leader
        if error or leader is None:
            response = FetchResponse(error, self.leader_id, self.epoch, self.high_watermark)
            self._context.emit(Reply(token, response))
        elif isinstance(request, FetchRequest):
            leader.fetch_requested(token, request)
        else:
            leader.snapshot_requested(token, request)

    def _change_requested(self, token: int, request: Change, *, is_probed: bool = False) -> None:
        epoch = request.epoch if isinstance(request, UpdateVoter) else self.epoch
        error, leader = self._not_leading(epoch), self._leader
        if error or leader is None:
            self._refuse_change(token, error, "This node does not lead the quorum")
        elif isinstance(request, AddVoter) and not is_probed:
            leader.changes.addition_requested(token, request)
        else:
            leader.changes.requested(token, request)

    def _voter_probed(self, event: VoterProbed) -> None:
        token, request, _ = event.probe
        refusal = probe_refusal(event)
        if event.levels is None or refusal is not None:
            assert refusal is not None
            self._refuse_change(token, int(refusal.error), refusal.message)
        else:
            lowest, highest = event.levels
            voter = request.voter._replace(min_version=lowest, max_version=highest)
            self._change_requested(token, request._replace(voter=voter), is_probed=True)

    def _refuse_change(self, token: int, error: int, message: str) -> None:
        self._context.emit(Reply(token, VoterResponse(error, self.leader_id, self.epoch, message)))

    # Answers of other nodes

    def _answered(self, event: Answered) -> None:
        node_id, request, response = event
        if isinstance(request, VoteRequest):
            assert response is None or isinstance(response, VoteResponse)
            self._vote_answered(node_id, request, response)
        elif isinstance(request, FetchRequest):
            assert response is None or isinstance(response, FetchResponse)
            self._fetch_answered(node_id, request, response)
        else:
            failed = response is None or response.error_code != 0
            self._context.answered(node_id, request, failed)
            if response is not None:
                self._learn(response.leader_id, response.epoch)
            if request.epoch == self.epoch:
                self._role.told(node_id, request, failed)

    def _vote_answered(self, node_id: int, request: VoteRequest, response: VoteResponse | None) -> None:
        self._context.answered(node_id, request, failed=response is None)
        if response is not None:
            self._learn(response.leader_id, response.epoch, told_by=node_id)
        if request.epoch == self.epoch:
            granted = None if response is None else response.granted
            self._role.vote_answered(node_id, pre_vote=request.pre_vote, granted=granted)

    def _fetch_answered(self, node_id: int, request: FetchRequest, response: FetchResponse | None) -> None:
        failed = response is None or response.error_code != 0
        self._context.answered(node_id, request, failed)
        if failed:
            self._role.fetch_failed()
        else:
            self._context.discovery.succeeded()
        if response is not None:
            self._learn(response.leader_id, response.epoch)
            if not failed:
                self._role.fetched(request, response)
