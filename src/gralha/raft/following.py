"""Following: finding the leader, fetching its log, truncating what it has not, beginning with its snapshot.

A voter fetches only when everything that it has is on its device: the offset that it fetches from says so,
and counts. An observer, which never votes, need not wait.
"""

from gralha.protocol.errors import ErrorCode
from gralha.raft.elections import Role
from gralha.raft.events import (
    AdvanceHighWatermark,
    AppendFetched,
    BeginEpochRequest,
    EndEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshot,
    InstallSnapshot,
    LeaderResponse,
    Reply,
    SnapshotFetched,
    Truncate,
    UpdateVoter,
)
from gralha.raft.log_shape import EpochEnd
from gralha.raft.machine import Machine, QuorumSafetyError
from gralha.raft.quorum_state import NOBODY
from gralha.raft.voters import ReplicaKey


class Following(Machine):
    """The parts of Unattached and Follower."""

    # Asking

    def _is_durable(self) -> bool:
        """Whether this node may say that it has its log."""
        return not self._can_vote or self.flushed_offset >= self.log.end_offset

    def _fetch_request(self, max_wait_ms: int) -> FetchRequest:
        return FetchRequest(
            self.epoch,
            self.key,
            self.log.end_offset,
            self.log.last_epoch,
            max(self.high_watermark, 0),
            max_wait_ms,
        )

    def _poll_unattached(self) -> None:
        """Asks one node after the other for the leader; the leader itself answers with records."""
        targets = [*self._bootstrap, *(key.id for key in self.voters.latest.others(self.key))]
        if self._now_ms < self._discovery_due_ms:
            self._wake_at(self._discovery_due_ms)
        elif targets and self._is_durable():
            self._send(targets[self._discovery_turn % len(targets)], self._fetch_request(0))

    def _poll_follower(self) -> None:
        if self._fetching_snapshot or not self._is_durable():
            return
        self._maybe_update_voter()
        self._send(self.leader_id, self._fetch_request(self._timeouts.fetch_wait_ms))

    def _maybe_update_voter(self) -> None:
        """Tells the leader where this voter listens, if the voters' record says otherwise (KIP-853)."""
        voter = self.voters.latest.match(self.key)
        if voter is None or not self.voters.is_dynamic or not self._endpoints:
            return
        if voter.endpoints != self._endpoints and self._now_ms >= self._update_due_ms:
            self._update_due_ms = self._after(3 * self._timeouts.fetch_ms)
            new = voter._replace(endpoints=self._endpoints)
            self._send(self.leader_id, UpdateVoter(self.epoch, new, self._timeouts.request_ms))

    # Answers

    def _fetch_answered(self, node_id: int, request: FetchRequest, response: FetchResponse | None) -> None:
        ok = response is not None and response.error_code == 0
        self._release_slot(node_id, request, failed=not ok)
        if ok:
            self._discovery_failures = 0
        elif self.role is Role.UNATTACHED:
            self._discover_later()
        if response is None:
            return
        self._learn(response.leader_id, response.epoch)
        if (
            not ok
            or self.role is not Role.FOLLOWER
            or response.leader_id != self.leader_id
            or request.epoch != self.epoch
            or request.offset != self.log.end_offset
            or self._fetching_snapshot
        ):
            return
        self._deadline_ms = self._fetch_timeout()
        self._trusts_leader = True
        self._losses = 0
        self._take_fetched(request, response)

    def _discover_later(self) -> None:
        """The next node is asked after a while, longer each time: there may be many like this one."""
        self._discovery_turn += 1
        pause_ms = self._timeouts.retry_ms << min(self._discovery_failures, 10)
        self._discovery_failures += 1
        self._discovery_due_ms = self._after(min(pause_ms, self._timeouts.backoff_max_ms // 10))

    def _take_fetched(self, request: FetchRequest, response: FetchResponse) -> None:
        if response.diverging is not None:
            self._truncate_for(response.diverging)
            return
        if response.snapshot is not None:
            self._fetching_snapshot = True
            self._emit(FetchSnapshot(self.leader_id, self.epoch, response.snapshot))
            return
        if response.batches:
            self._emit(AppendFetched(response.records, response.batches))
            for batch in response.batches:
                self.log.append(batch.epoch, batch.base_offset, batch.next_offset)
                if batch.voters is not None:
                    self.voters.append(batch.base_offset, batch.voters)
        self._raise_high_watermark(min(response.high_watermark, self.log.end_offset))

    def _raise_high_watermark(self, offset: int) -> None:
        if offset > self.high_watermark:
            self.high_watermark = offset
            self._emit(AdvanceHighWatermark(offset))

    def _truncate_for(self, diverging: EpochEnd) -> None:
        cut = self.log.cut_for(diverging)
        if cut < self.high_watermark:
            raise QuorumSafetyError(
                f"leader {self.leader_id} of epoch {self.epoch} asks to truncate to {cut}, but everything "
                f"below {self.high_watermark} is committed"
            )
        if cut < self.log.end_offset:
            self.log.truncate_to(cut)
            self.voters.truncate_to(cut)
            self.flushed_offset = min(self.flushed_offset, cut)
            self._emit(Truncate(cut))

    def _snapshot_fetched(self, event: SnapshotFetched) -> None:
        self._fetching_snapshot = False
        snapshot = event.snapshot
        if snapshot is None:
            return
        newer = (snapshot.epoch, snapshot.end_offset) > (self.log.last_epoch, self.log.end_offset)
        if self.role is Role.LEADER or not newer or snapshot.end_offset < self.high_watermark:
            return
        self._emit(InstallSnapshot(snapshot))
        self.log.reset(snapshot)
        self.voters.reset(snapshot.end_offset, event.voters)
        self.flushed_offset = snapshot.end_offset
        self._raise_high_watermark(snapshot.end_offset)

    def _snapshot_progress(self) -> None:
        if self.role is Role.FOLLOWER:
            self._deadline_ms = self._fetch_timeout()

    # What leaders say

    def _refusal(self, epoch: int, addressee: ReplicaKey | None = None) -> int:
        """Why a request of who leads or wants to lead is turned down; 0 if it is not."""
        if epoch < self.epoch:
            return int(ErrorCode.FENCED_LEADER_EPOCH)
        if addressee is not None and not self._is_me(addressee):
            return int(ErrorCode.INVALID_VOTER_KEY)
        return 0

    def _is_me(self, key: ReplicaKey) -> bool:
        unknown = bytes(16)
        same_disk = key.directory_id in (unknown, self.key.directory_id) or self.key.directory_id == unknown
        return key.id == NOBODY or (key.id == self.key.id and same_disk)

    def _leader_response(self, error_code: int) -> LeaderResponse:
        return LeaderResponse(error_code, self.leader_id, self.epoch)

    def _begin_requested(self, token: int, request: BeginEpochRequest) -> None:
        error = self._refusal(request.epoch, request.voter)
        if not error:
            self._learn(request.leader_id, request.epoch, told_by=request.leader_id)
        self._emit(Reply(token, self._leader_response(error)))

    def _end_requested(self, token: int, request: EndEpochRequest) -> None:
        error = self._refusal(request.epoch)
        if not error:
            self._learn(request.leader_id, request.epoch)
            if self.role is Role.FOLLOWER and self.leader_id == request.leader_id:
                self._trusts_leader = False
                self._deadline_ms = min(self._deadline_ms, self._turn_among(request.successors))
        self._emit(Reply(token, self._leader_response(error)))

    def _turn_among(self, successors: tuple[ReplicaKey, ...]) -> int:
        """When to stand for election: who has most of the log at once, the next ones a little later."""
        places = [place for place, key in enumerate(successors) if key.id == self.key.id]
        step_ms = self._timeouts.election_ms // 10
        return self._after(step_ms * places[0]) if places else self._after(step_ms, step_ms)

    def _leader_lost(self) -> None:
        """The connection to the leader broke: it may have died. Ask soon whether others think so too."""
        self._trusts_leader = False
        self._deadline_ms = min(self._deadline_ms, self._after(0, self._timeouts.election_ms // 20))
