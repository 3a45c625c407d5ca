"""Leader: begins its epoch in the log, serves fetches, and commits what a majority of the voters has synced.

The leader counts by the newest voters in its log, even if these are not committed. It sets the high watermark
only when a record of its own epoch is below it (KAFKA-12619). It resigns if no majority of the voters fetches
from it (KAFKA-15489). `leadership.py` has what it knows about the replicas, `voter_changes.py` how it changes
the voters.
"""

from typing import TYPE_CHECKING

from gralha.protocol.errors import ErrorCode
from gralha.raft.context import Context
from gralha.raft.events import (
    AppendLeaderChange,
    BeginEpochRequest,
    EndEpochRequest,
    FetchRequest,
    FetchResponse,
    Reply,
    ReplyRecords,
    ReplySnapshot,
    SnapshotRequest,
    UpdateVoter,
)
from gralha.raft.leadership import Leadership, Parked
from gralha.raft.quorum_state import ElectionState
from gralha.raft.role import Role, RoleState
from gralha.raft.snapshots import SnapshotId
from gralha.raft.timeouts import NEVER
from gralha.raft.voter_changes import VoterChanges
from gralha.raft.voters import ReplicaKey, VoterSet

if TYPE_CHECKING:
    from gralha.raft.transitions import Transitions


class Leader(RoleState):
    """Leads one epoch, until the end of it or until it resigns."""

    role = Role.LEADER

    def __init__(
        self, context: Context, transitions: "Transitions", granting_voters: tuple[int, ...]
    ) -> None:
        super().__init__(context, transitions)
        context.elect(ElectionState(context.epoch, context.key.id))
        context.elections_lost = 0
        timeout_ms = context.timeouts.fetch_ms * 3 // 2
        self.leadership = Leadership(context.key, context.log.end_offset, timeout_ms, context.now_ms)
        self.changes = VoterChanges(context, self.leadership)
        self._granting_voters = granting_voters

    def begin(self) -> None:
        """Appends the first record of the epoch."""
        context = self._context
        voters = context.voters.latest
        # Voters that only the first snapshot has become records, for nodes that were formatted without it.
        record_voters = context.voters.latest_offset == -1
        change = AppendLeaderChange(
            context.epoch, context.key.id, voters, self._granting_voters, record_voters
        )
        context.append(change, 3 if record_voters else 1, voters if record_voters else None)

    def end(self, leader_id: int) -> None:
        """Answers those who wait that this node does not lead any more."""
        error = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for waiting in self.leadership.parked:
            self._context.emit(Reply(waiting.token, self._fetch_response(error, leader_id)))
        self.changes.end(leader_id)

    # Time

    def deadline(self) -> int:
        """When the quorum is lost. A leader that is the only voter is a quorum by itself."""
        return NEVER if self._context.is_only_voter else self.leadership.quorum_deadline_ms

    def deadline_passed(self) -> None:
        """No majority of the voters has fetched for too long."""
        self._transitions.quorum_lost(self._successors())

    def postpone(self, late_ms: int) -> None:
        """Moves everything that waits by the time in which the process did not run."""
        self.leadership.postpone(late_ms)
        self.changes.postpone(late_ms)

    def shut_down(self) -> None:
        """Hands the lead on, if there is another voter."""
        if not self._context.is_only_voter:
            self._transitions.shutting_down(self._successors())

    def _successors(self) -> tuple[ReplicaKey, ...]:
        return self.leadership.successors(self._context.voters.latest)

    def poll(self) -> None:
        """Tells voters that do not fetch that there is a leader, and answers the fetches that have waited."""
        context = self._context
        for voter in context.voters.latest.others(context.key):
            replica = self.leadership.replica(voter)
            if replica.begin_due_ms <= context.now_ms:
                context.send(voter.id, BeginEpochRequest(context.epoch, context.key.id, voter))
            else:
                context.wake_at(replica.begin_due_ms)
        self.changes.poll()
        parked, self.leadership.parked = self.leadership.parked, []
        for waiting in parked:
            self._answer_or_park(waiting)

    def told(
        self, node_id: int, request: BeginEpochRequest | EndEpochRequest | UpdateVoter, failed: bool
    ) -> None:
        """Tells a voter again later. A voter that is down looks for the leader by itself when it starts."""
        if isinstance(request, BeginEpochRequest):
            due_ms = self._context.after(self._context.timeouts.fetch_ms // (10 if failed else 2))
            self.leadership.replica(request.voter).begin_due_ms = due_ms

    # Requests of other nodes

    def would_vote(self) -> bool:
        """A leader needs no other."""
        return False

    def fetch_requested(self, token: int, request: FetchRequest) -> None:
        """Answers with records, or where to truncate, or a snapshot; waits if there is nothing new."""
        context = self._context
        self._note_alive(request)
        if self._redirect(token, request):
            return
        if request.replica.id >= 0:
            key = self._as_voter(request.replica)
            self.leadership.fetched(key, request.offset, context.log.end_offset, context.now_ms)
            self._commit()
        role = self._transitions.current
        if role is not self:
            # This fetch has committed the leader's own removal.
            error = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            context.emit(Reply(token, self._fetch_response(error, role.leader_id)))
        else:
            self._answer_or_park(Parked(token, request, context.after(request.max_wait_ms)))

    def snapshot_requested(self, token: int, request: SnapshotRequest) -> None:
        """Answers with the part of a snapshot that was asked for."""
        self._note_alive(request)
        self._context.emit(ReplySnapshot(token))

    def _note_alive(self, request: FetchRequest | SnapshotRequest) -> None:
        context = self._context
        key = self._as_voter(request.replica)
        if context.voters.latest.match(key) is not None:
            self.leadership.replica(key).begin_due_ms = context.after(context.timeouts.fetch_ms // 2)
            self.leadership.heard(key, context.voters.latest, context.now_ms)
            self.leadership.directories[key.id] = request.replica.directory_id

    def _as_voter(self, key: ReplicaKey) -> ReplicaKey:
        """The key under which a replica counts: a static quorum does not know the voters' disks."""
        voter = self._context.voters.latest.match(key)
        return key if voter is None else voter.key

    def _redirect(self, token: int, request: FetchRequest) -> bool:
        """Sends a replica to a snapshot, or back to where the two logs are the same, if it must."""
        log = self._context.log
        if log.needs_snapshot(request.offset, request.last_epoch):
            response = self._fetch_response()._replace(snapshot=log.newest)
        elif (diverging := log.divergence(request.offset, request.last_epoch)) is not None:
            response = self._fetch_response()._replace(diverging=diverging)
        else:
            return False
        self._context.emit(Reply(token, response))
        return True

    def _answer_or_park(self, waiting: Parked) -> None:
        context, request = self._context, waiting.request
        has_news = context.log.end_offset > request.offset or context.high_watermark > request.high_watermark
        if not has_news and waiting.deadline_ms > context.now_ms:
            self.leadership.parked.append(waiting)
            context.wake_at(waiting.deadline_ms)
        elif not self._redirect(waiting.token, request):
            context.emit(ReplyRecords(waiting.token, request.offset, self._fetch_response()))

    def _fetch_response(self, error_code: int = 0, leader_id: int | None = None) -> FetchResponse:
        context = self._context
        leader_id = context.key.id if leader_id is None else leader_id
        return FetchResponse(error_code, leader_id, context.epoch, context.high_watermark)

    # Commits

    def flushed(self) -> None:
        """The leader's own device counts, too."""
        self._commit()

    def _commit(self) -> None:
        """Commits what a majority has on its devices."""
        context, leadership = self._context, self.leadership
        own = leadership.replica(self._as_voter(context.key))
        own.end_offset = max(own.end_offset, context.flushed_offset)
        offset = min(leadership.majority_offset(context.voters.latest), context.log.end_offset)
        if leadership.may_commit(offset) and offset > context.high_watermark:
            context.raise_high_watermark(offset)
            self.changes.committed()
            if not context.is_voter and not context.voters_are_uncommitted:
                # The leader has committed its own removal. From now on a voter must lead.
                self._transitions.removed(self._successors())

    def snapshot_fetched(self, snapshot: SnapshotId, voters: VoterSet | None) -> None:
        """Of no use: the leader's own log is the one that counts."""
