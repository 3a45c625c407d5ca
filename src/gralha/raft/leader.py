"""Leader: begins its epoch in the log, serves fetches, and commits what a majority of the voters has synced.

The leader counts the newest voters in its log, even if these are not committed. It moves the high watermark
only past a record of its own epoch (KAFKA-12619). It resigns if no majority of the voters fetches from it
(KAFKA-15489). `leadership.py` is what it knows about the replicas, and `voter_changes.py` is how it changes
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
    """Leads one epoch, until it resigns or learns of a newer epoch."""

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
        # If only the first snapshot has the voters, they become records: other nodes may lack that snapshot.
        record_voters = context.voters.latest_offset == -1
        change = AppendLeaderChange(
            context.epoch, context.key.id, voters, self._granting_voters, record_voters
        )
        context.append(change, 3 if record_voters else 1, voters if record_voters else None)

    def end(self, leader_id: int) -> None:
        """Answers all waiting requests: this node does not lead any more."""
        error = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for waiting in self.leadership.parked:
            self._context.emit(Reply(waiting.token, self._fetch_response(error, leader_id)))
        self.changes.end(leader_id)

    # Time

    def deadline(self) -> int:
        """A majority of the voters must fetch until then. The only voter is a majority by itself."""
        return NEVER if self._context.is_only_voter else self.leadership.quorum_deadline_ms

    def deadline_passed(self) -> None:
        """A majority of the voters has not fetched in time."""
        self._transitions.quorum_lost(self._successors())

    def postpone(self, late_ms: int) -> None:
        """Moves everything that waits by the time in which the process did not run."""
        self.leadership.postpone(late_ms)
        self.changes.postpone(late_ms)

    def shut_down(self) -> None:
        """Resigns, if there is another voter."""
        if not self._context.is_only_voter:
            self._transitions.shutting_down(self._successors())

    def _successors(self) -> tuple[ReplicaKey, ...]:
        return self.leadership.successors(self._context.voters.latest)

    def poll(self) -> None:
        """Tells voters that do not fetch who leads, and answers fetches that have news or time out."""
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
        """Plans the next BeginEpochRequest to a voter, in case that it does not fetch."""
        if isinstance(request, BeginEpochRequest):
            due_ms = self._context.after(self._context.timeouts.fetch_ms // (10 if failed else 2))
            self.leadership.replica(request.voter).begin_due_ms = due_ms

    # Requests of other nodes

    def would_vote(self) -> bool:
        """Returns False: the epoch has its leader."""
        return False

    def fetch_requested(self, token: int, request: FetchRequest) -> None:
        """Answers with records, a snapshot, or where to truncate. Waits if there is nothing new."""
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
        """Answers with the requested part of a snapshot."""
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
        """The key under which a replica counts. In a static quorum the keys of voters have no disks."""
        voter = self._context.voters.latest.match(key)
        return key if voter is None else voter.key

    def _redirect(self, token: int, request: FetchRequest) -> bool:
        """Answers with a snapshot or with the end of an epoch, if the replica cannot take records."""
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
        """Counts the leader's own device."""
        self._commit()

    def _commit(self) -> None:
        """Moves the high watermark to what a majority has on its devices."""
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
        """Ignores the snapshot: the leader's own log counts."""
