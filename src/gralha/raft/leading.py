"""Leading: serving fetches, counting what is on a majority of disks, changing the voters, resigning.

The leader counts by the newest voters in its log, committed or not. It changes them only when it has
committed something in its own epoch and the last change is committed: so two voter sets that follow each
other differ by one voter, and any majorities of them overlap (KIP-853).
"""

from gralha.protocol.errors import ErrorCode
from gralha.protocol.primitives import ZERO_UUID
from gralha.raft.elections import Role
from gralha.raft.events import (
    AddVoter,
    AppendLeaderChange,
    AppendVoters,
    BeginEpochRequest,
    EndEpochRequest,
    FetchRequest,
    FetchResponse,
    ProbeVoter,
    RemoveVoter,
    Reply,
    ReplyRecords,
    ReplySnapshot,
    SnapshotRequest,
    UpdateVoter,
    UpgradeVoters,
    VoterProbed,
    VoterResponse,
)
from gralha.raft.following import Following
from gralha.raft.leadership import Leadership, Parked, PendingChange
from gralha.raft.quorum_records import DYNAMIC_KRAFT_VERSION
from gralha.raft.quorum_state import ElectionState
from gralha.raft.voters import ReplicaKey, Voter, VoterEndpoint, VoterSet


def _is_complete(key: ReplicaKey) -> bool:
    return key.id >= 0 and key.directory_id != ZERO_UUID


class Leading(Following):
    """The parts of Leader and Resigned."""

    def _become_leader(self, granting_voters: tuple[int, ...]) -> None:
        self._elect(ElectionState(self.epoch, self.key.id))
        self._losses = 0
        timeout_ms = self._timeouts.fetch_ms * 3 // 2
        self.leadership = Leadership(self.key, self.log.end_offset, timeout_ms, self._now_ms)
        self._set_role(Role.LEADER, self._after(timeout_ms))
        voters = self.voters.latest
        # Voters that only the first snapshot knows become records, for those who were formatted without it.
        record_voters = self.voters.latest_offset == -1
        self._emit(AppendLeaderChange(self.epoch, self.key.id, voters, granting_voters, record_voters))
        base_offset = self.log.end_offset
        self.log.append(self.epoch, base_offset, base_offset + (3 if record_voters else 1))
        if record_voters:
            self.voters.append(base_offset + 2, voters)

    def _poll_leader(self, leadership: Leadership) -> None:
        for voter in self.voters.latest.others(self.key):
            replica = leadership.replica(voter)
            if replica.begin_due_ms <= self._now_ms:
                self._send(voter.id, BeginEpochRequest(self.epoch, self.key.id, voter))
            else:
                self._wake_at(replica.begin_due_ms)
        self._expire_change(leadership)
        parked, leadership.parked = leadership.parked, []
        for waiting in parked:
            self._answer_or_park(leadership, waiting)

    def _note_alive(self, leadership: Leadership, request: FetchRequest | SnapshotRequest) -> None:
        key = self._as_voter(request.replica)
        if self.voters.latest.match(key) is not None:
            leadership.replica(key).begin_due_ms = self._after(self._timeouts.fetch_ms // 2)
            leadership.heard(key, self.voters.latest, self._now_ms)
            leadership.directories[key.id] = request.replica.directory_id

    # Fetches

    def _not_leading(self, epoch: int) -> int:
        """Why a request for the leader cannot be served; 0 if it can."""
        if epoch < self.epoch:
            return int(ErrorCode.FENCED_LEADER_EPOCH)
        if epoch > self.epoch:
            return int(ErrorCode.UNKNOWN_LEADER_EPOCH)
        return 0 if self.leadership is not None else int(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _fetch_response(self, error_code: int = 0) -> FetchResponse:
        return FetchResponse(error_code, self.leader_id, self.epoch, self.high_watermark)

    def _fetch_requested(self, token: int, request: FetchRequest) -> None:
        error = self._not_leading(request.epoch)
        if error or self.leadership is None:
            self._emit(Reply(token, self._fetch_response(error)))
            return
        self._note_alive(self.leadership, request)
        if self._redirect(token, request):
            return
        if request.replica.id >= 0:
            key = self._as_voter(request.replica)
            self.leadership.fetched(key, request.offset, self.log.end_offset, self._now_ms)
            self._count(self.leadership)
        self._park(token, request)

    def _park(self, token: int, request: FetchRequest) -> None:
        if self.leadership is None:
            # What this fetch committed was the leader's own removal.
            self._emit(Reply(token, self._fetch_response(int(ErrorCode.NOT_LEADER_OR_FOLLOWER))))
        else:
            waiting = Parked(token, request, self._after(request.max_wait_ms))
            self._answer_or_park(self.leadership, waiting)

    def _redirect(self, token: int, request: FetchRequest) -> bool:
        """Sends a replica to a snapshot, or back to where its log is the leader's, if it must."""
        if self.log.needs_snapshot(request.offset, request.last_epoch):
            self._emit(Reply(token, self._fetch_response()._replace(snapshot=self.log.newest)))
            return True
        diverging = self.log.divergence(request.offset, request.last_epoch)
        if diverging is not None:
            self._emit(Reply(token, self._fetch_response()._replace(diverging=diverging)))
        return diverging is not None

    def _answer_or_park(self, leadership: Leadership, waiting: Parked) -> None:
        request = waiting.request
        has_news = self.log.end_offset > request.offset or self.high_watermark > request.high_watermark
        if not has_news and waiting.deadline_ms > self._now_ms:
            leadership.parked.append(waiting)
            self._wake_at(waiting.deadline_ms)
        elif not self._redirect(waiting.token, request):
            self._emit(ReplyRecords(waiting.token, request.offset, self._fetch_response()))

    def _snapshot_requested(self, token: int, request: SnapshotRequest) -> None:
        error = self._not_leading(request.epoch)
        if error or self.leadership is None:
            self._emit(Reply(token, self._fetch_response(error)))
            return
        self._note_alive(self.leadership, request)
        self._emit(ReplySnapshot(token))

    # Commits

    def _flushed(self, end_offset: int) -> None:
        self.flushed_offset = min(max(self.flushed_offset, end_offset), self.log.end_offset)
        if self.leadership is not None:
            self._count(self.leadership)

    def _count(self, leadership: Leadership) -> None:
        """Commits what a majority has on its disks."""
        own = leadership.replica(self._as_voter(self.key))
        own.end_offset = max(own.end_offset, self.flushed_offset)
        offset = min(leadership.majority_offset(self.voters.latest), self.log.end_offset)
        if leadership.may_commit(offset) and offset > self.high_watermark:
            self._raise_high_watermark(offset)
            self._finish_change(leadership)

    def _finish_change(self, leadership: Leadership) -> None:
        change = leadership.change
        if change is not None and change.offset < self.high_watermark:
            leadership.change = None
            if not change.is_answered:
                self._emit(Reply(change.token, self._voter_response()))
        if not self.is_voter and not self._voters_uncommitted():
            # It has led its own removal to the end; now somebody who votes must lead.
            self._resign(leadership)

    # Voters

    def _voter_response(self, error_code: int = 0, message: str | None = None) -> VoterResponse:
        return VoterResponse(error_code, self.leader_id, self.epoch, message)

    def _not_leader_response(self, error: int = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)) -> VoterResponse:
        return self._voter_response(error, "This node does not lead the quorum")

    def _incomplete_key_response(self) -> VoterResponse:
        text = "A voter is named by its node id and the directory.id in its meta.properties: one is missing"
        return self._voter_response(int(ErrorCode.INVALID_REQUEST), text)

    def _voters_uncommitted(self) -> bool:
        """Whether the newest voters in the log are not committed yet (KAFKA-20740)."""
        offset = self.voters.latest_offset
        return offset is not None and offset >= self.high_watermark

    def _change_refusal(self, leadership: Leadership) -> VoterResponse | None:
        if not self.voters.is_dynamic:
            text = "The voters of this cluster are configured: its kraft.version is 0"
            return self._voter_response(int(ErrorCode.UNSUPPORTED_VERSION), text)
        text = "Timed out while an earlier change of the voters was not committed"
        if not leadership.may_commit(self.high_watermark) or self._voters_uncommitted():
            return self._voter_response(int(ErrorCode.REQUEST_TIMED_OUT), text)
        return None

    def _addition_requested(self, token: int, request: AddVoter) -> None:
        """A voter that is not there could cost the quorum its majority: first it has to answer."""
        name = self._listener_name
        endpoints = [one for one in request.voter.endpoints if not name or one.listener == name]
        refusal = self._addition_refusal(request, endpoints)
        self._emit(Reply(token, refusal) if refusal else ProbeVoter(token, request, endpoints[0]))

    def _addition_refusal(self, request: AddVoter, endpoints: list[VoterEndpoint]) -> VoterResponse | None:
        leadership = self.leadership
        if leadership is None:
            return self._not_leader_response()
        if not _is_complete(request.voter.key):
            return self._incomplete_key_response()
        if not endpoints:
            text = f"The new voter has no listener {self._listener_name}, on which controllers talk here"
            return self._voter_response(int(ErrorCode.INVALID_REQUEST), text)
        outcome = self._change_refusal(leadership) or self._added(leadership, request)
        return outcome if isinstance(outcome, VoterResponse) else None

    def _voter_probed(self, event: VoterProbed) -> None:
        """Everything is looked at again: the quorum may have changed while the voter was asked."""
        (token, request, endpoint), levels = event
        voter_id = request.voter.key.id
        if levels is None:
            text = f"Controller {voter_id} does not answer at {endpoint.host}:{endpoint.port}: is it running?"
            self._emit(Reply(token, self._voter_response(int(ErrorCode.REQUEST_TIMED_OUT), text)))
        elif not levels[0] <= DYNAMIC_KRAFT_VERSION <= levels[1]:
            text = f"Controller {voter_id} does not support kraft.version {DYNAMIC_KRAFT_VERSION}"
            self._emit(Reply(token, self._voter_response(int(ErrorCode.INVALID_REQUEST), text)))
        else:
            voter = request.voter._replace(min_version=levels[0], max_version=levels[1])
            self._change_requested(token, request._replace(voter=voter))

    def _change_requested(
        self, token: int, request: AddVoter | RemoveVoter | UpdateVoter | UpgradeVoters
    ) -> None:
        leadership = self.leadership
        error = self._not_leading(request.epoch if isinstance(request, UpdateVoter) else self.epoch)
        if error or leadership is None:
            self._emit(Reply(token, self._not_leader_response(error)))
            return
        is_first = isinstance(request, UpgradeVoters)
        if isinstance(request, UpdateVoter):
            outcome = self._updated(request)
        elif isinstance(request, UpgradeVoters):
            outcome = self._upgraded(leadership)
        elif isinstance(request, RemoveVoter) and not _is_complete(request.key):
            outcome = self._incomplete_key_response()
        else:
            refusal = self._change_refusal(leadership)
            outcome = refusal or (
                self._added(leadership, request) if isinstance(request, AddVoter) else self._removed(request)
            )
        if isinstance(outcome, VoterResponse):
            self._emit(Reply(token, outcome))
            return
        if self.is_sole_voter:
            # Nobody had to be heard of so far: a second voter gets its time (Kafka's leader resigns).
            leadership.quorum_is_there(self._now_ms)
        self._append_voters(outcome, is_first)
        if is_first:
            leadership.voters_recorded(outcome)
        wait = not isinstance(request, AddVoter) or request.wait_for_commit
        if not wait:
            self._emit(Reply(token, self._voter_response()))
        deadline_ms = self._after(max(request.timeout_ms, 0))
        leadership.change = PendingChange(token, self.log.end_offset - 1, deadline_ms, not wait)

    def _append_voters(self, voters: VoterSet, is_first: bool) -> None:
        self._emit(AppendVoters(self.epoch, voters, is_first))
        base_offset = self.log.end_offset
        end_offset = base_offset + (2 if is_first else 1)
        self.log.append(self.epoch, base_offset, end_offset)
        self.voters.append(end_offset - 1, voters)

    def _added(self, leadership: Leadership, request: AddVoter) -> VoterSet | VoterResponse:
        voters, key = self.voters.latest, request.voter.key
        if voters.find(key.id) is not None:
            text = f"Controller {key.id} is a voter already: {list(voters.ids)}"
            return self._voter_response(int(ErrorCode.DUPLICATE_VOTER), text)
        if not leadership.is_caught_up(key, self._now_ms):
            text = f"Controller {key.id} with that directory id does not fetch the log, or lags behind"
            return self._voter_response(int(ErrorCode.REQUEST_TIMED_OUT), text)
        return voters.adding(request.voter)

    def _removed(self, request: RemoveVoter) -> VoterSet | VoterResponse:
        voters = self.voters.latest
        remaining = voters.removing(request.key)
        if remaining == voters:
            text = f"Controller {request.key.id} with that directory id is none of {list(voters.ids)}"
            return self._voter_response(int(ErrorCode.VOTER_NOT_FOUND), text)
        if not remaining.voters:
            text = "The last voter cannot be removed"
            return self._voter_response(int(ErrorCode.INVALID_REQUEST), text)
        return remaining

    def _updated(self, request: UpdateVoter) -> VoterSet | VoterResponse:
        assert self.leadership is not None
        voters = self.voters.latest
        known = voters.match(request.voter.key)
        if known is None:
            text = f"Controller {request.voter.key.id} is none of the voters {list(voters.ids)}"
            return self._voter_response(int(ErrorCode.VOTER_NOT_FOUND), text)
        if not self.voters.is_dynamic or known == request.voter:
            return self._voter_response()
        return self._change_refusal(self.leadership) or voters.updating(request.voter)

    def _upgraded(self, leadership: Leadership) -> VoterSet | VoterResponse:
        """The configured voters, with the disks that they have."""
        if self.voters.is_dynamic:
            return self._change_refusal(leadership) or self._voter_response()
        if not leadership.may_commit(self.high_watermark):
            text = "Timed out: the leader has not committed anything in its epoch yet"
            return self._voter_response(int(ErrorCode.REQUEST_TIMED_OUT), text)
        found: list[Voter] = []
        for voter in self.voters.latest.voters:
            directory_id = leadership.directories.get(voter.key.id, ZERO_UUID)
            if directory_id == ZERO_UUID:
                text = f"Controller {voter.key.id} has not been heard of since controller {self.key.id} leads"
                return self._voter_response(int(ErrorCode.INVALID_UPDATE_VERSION), text)
            if not voter.endpoints:
                text = f"Controller {voter.key.id} has no listener for controllers"
                return self._voter_response(int(ErrorCode.INVALID_UPDATE_VERSION), text)
            found.append(voter._replace(key=ReplicaKey(voter.key.id, directory_id)))
        return VoterSet.of(found)

    def _expire_change(self, leadership: Leadership) -> None:
        change = leadership.change
        if change is not None and not change.is_answered:
            if change.deadline_ms <= self._now_ms:
                text = "Timed out before the change was committed; it may be committed later"
                self._emit(Reply(change.token, self._voter_response(int(ErrorCode.REQUEST_TIMED_OUT), text)))
                leadership.change = change._replace(is_answered=True)
            else:
                self._wake_at(change.deadline_ms)

    # Resigning

    def _resign(self, leadership: Leadership) -> None:
        self._successors = leadership.successors(self.voters.latest)
        self._to_tell = list(self._successors)
        self._set_role(Role.RESIGNED, self._election_timeout())

    def _poll_resigned(self) -> None:
        for key in self._to_tell:
            self._send(key.id, EndEpochRequest(self.epoch, self.key.id, self._successors))

    def _dismiss(self, leadership: Leadership) -> None:
        error = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for waiting in leadership.parked:
            self._emit(Reply(waiting.token, self._fetch_response(error)))
        change = leadership.change
        if change is not None and not change.is_answered:
            text = "This node leads no longer; the change may be committed or not"
            self._emit(Reply(change.token, self._voter_response(error, text)))
