"""The part of a node that stays when its role changes: log, voters, election, time, effects, requests.

Every role is given this object and does everything through it. It keeps three promises for the roles:

- The election is saved before any effect that follows from it (`emit`).
- The epoch never decreases (`elect`), and committed records are never truncated (`truncate_for`).
- Each node is sent one request of a kind at a time (`send`).
"""

from random import Random

from gralha.raft.discovery import Discovery
from gralha.raft.events import (
    AdvanceHighWatermark,
    AppendFetched,
    AppendLeaderChange,
    AppendVoters,
    BatchShape,
    Effect,
    FetchRequest,
    InstallSnapshot,
    Outgoing,
    SaveElection,
    Send,
    Truncate,
)
from gralha.raft.log_shape import EpochEnd, LogShape
from gralha.raft.quorum_state import NOBODY, ElectionState
from gralha.raft.snapshots import SnapshotId
from gralha.raft.timeouts import NEVER, Timeouts
from gralha.raft.voters import ReplicaKey, VoterEndpoint, VoterHistory, VoterSet


class QuorumSafetyError(Exception):
    """A rule of the protocol is broken. The node stops, because it could lose data if it went on."""


class Context:
    """One node's view of its quorum, whatever its role is."""

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
        self.timeouts = timeouts
        self.bootstrap = bootstrap
        self.endpoints = endpoints
        self.listener_name = listener_name
        self.election = ElectionState(0)
        self.log = LogShape()
        self.voters = VoterHistory()
        self.high_watermark = -1
        self.flushed_offset = 0
        self.now_ms = 0
        self.wake_at_ms = NEVER
        # The elections that this node has lost in a row. Each one makes the next pause longer.
        self.elections_lost = 0
        self.discovery = Discovery(timeouts)
        # A snapshot is being fetched from a leader, perhaps from an earlier one.
        self.is_fetching_snapshot = False
        # When this voter may send its listeners to the leader again.
        self.update_due_ms = 0
        self.is_closing = False
        self._random = random
        # A node that may become a voter syncs its log before each fetch, even while it is an observer.
        self._can_vote = can_vote
        self._effects: list[Effect] = []
        self._election_unsaved = False
        # By node and kind of request, for this epoch: NEVER while a request is under way, and after a failure
        # the time of the next attempt.
        self._retry_at_ms: dict[tuple[int, type[Outgoing]], int] = {}

    # The election and the voters

    @property
    def epoch(self) -> int:
        """The newest epoch that this node knows."""
        return self.election.epoch

    def elect(self, election: ElectionState) -> None:
        """Changes the epoch, the leader or the vote. The change is saved before the next effect."""
        if election.epoch < self.epoch:
            raise QuorumSafetyError(f"epoch {election.epoch} after epoch {self.epoch}")
        if election.epoch > self.epoch:
            self._retry_at_ms.clear()
        if election != self.election:
            self.election = election
            self._election_unsaved = True

    def is_free_to_vote_for(self, candidate: ReplicaKey) -> bool:
        """Returns True if this node knows no leader of the epoch and has not voted for another candidate."""
        voted = ReplicaKey(self.election.voted_id, self.election.voted_directory_id)
        return self.election.leader_id == NOBODY and (voted.id == NOBODY or voted == candidate)

    @property
    def is_voter(self) -> bool:
        """True if the newest voters in the log include this node."""
        return self.voters.latest.match(self.key) is not None

    @property
    def is_only_voter(self) -> bool:
        """True if this node is the whole quorum."""
        return self.is_voter and len(self.voters.latest.voters) == 1

    @property
    def voters_are_uncommitted(self) -> bool:
        """True if the record of the newest voters is not committed yet."""
        offset = self.voters.latest_offset
        return offset is not None and offset >= self.high_watermark

    @property
    def may_stand(self) -> bool:
        """True if this node may stand for election.

        A voter whose removal is not known to be committed may stand, too. It may be the only node that has
        all the records that the remaining voters need.
        """
        was_voter = self.voters.previous.match(self.key) is not None
        return self.is_voter or (self.voters_are_uncommitted and was_voter)

    # Time

    def after(self, delay_ms: int, jitter_ms: int = 0) -> int:
        """The time after a delay, plus a random part below the jitter."""
        return self.now_ms + delay_ms + (self._random.randrange(jitter_ms) if jitter_ms > 0 else 0)

    def election_deadline(self) -> int:
        """The end of the time that a candidate has to be elected. It is random."""
        return self.after(self.timeouts.election_ms, self.timeouts.election_ms)

    def fetch_deadline(self) -> int:
        """The end of the time that the leader has to answer a fetch."""
        return self.after(self.timeouts.fetch_ms, self.timeouts.election_ms // 10)

    def early_deadline(self) -> int:
        """A random time soon, so that a cluster starts quickly. An early pre-vote disturbs no leader."""
        return self.after(0, self.timeouts.election_ms // 5)

    def next_attempt(self) -> int:
        """The time of the next attempt after a lost election.

        The pause before it is random, so that two candidates do not meet again and again. It grows with every
        lost election.
        """
        self.elections_lost += 1
        step_ms = max(self.timeouts.backoff_max_ms // 20, 1)
        limit_ms = min(step_ms << min(self.elections_lost, 10), self.timeouts.backoff_max_ms)
        return self.after(step_ms, limit_ms)

    def wake_at(self, time_ms: int) -> None:
        """Asks the caller for a step at this time, or earlier."""
        self.wake_at_ms = min(self.wake_at_ms, time_ms)

    def postpone(self, late_ms: int) -> None:
        """Moves everything that waits by the time in which the process did not run."""
        self.wake_at_ms += late_ms
        self.update_due_ms += late_ms
        self.discovery.due_ms += late_ms
        self._retry_at_ms = {slot: time_ms + late_ms for slot, time_ms in self._retry_at_ms.items()}

    # Effects and requests

    def emit(self, effect: Effect) -> None:
        """Adds an effect. If the election has changed, it is saved before."""
        self._save_election()
        self._effects.append(effect)

    def take_effects(self) -> list[Effect]:
        """The effects of this step. If the election has changed several times, the last one is saved."""
        self._save_election()
        effects, self._effects = self._effects, []
        return effects

    def _save_election(self) -> None:
        if self._election_unsaved:
            self._election_unsaved = False
            self._effects.append(SaveElection(self.election))

    def send(self, node_id: int, request: Outgoing) -> None:
        """Sends a request, unless one of its kind is under way to that node or has failed just now."""
        slot = (node_id, type(request))
        retry_at_ms = self._retry_at_ms.get(slot, 0)
        if retry_at_ms > self.now_ms:
            self.wake_at(retry_at_ms)
            return
        self._retry_at_ms[slot] = NEVER
        self.emit(Send(node_id, request))

    def answered(self, node_id: int, request: Outgoing, failed: bool) -> None:
        """A request is not under way any more. If it has failed, it can be sent again after a pause."""
        if request.epoch == self.epoch:
            retry_at_ms = self.after(self.timeouts.retry_ms) if failed else 0
            self._retry_at_ms[node_id, type(request)] = retry_at_ms

    # The log

    def may_fetch(self) -> bool:
        """Returns True if the log is synced, because the fetch offset of a voter says what its device has."""
        return not self._can_vote or self.flushed_offset >= self.log.end_offset

    def fetch_request(self, max_wait_ms: int) -> FetchRequest:
        """Asks for the records after this node's log."""
        return FetchRequest(
            self.epoch,
            self.key,
            self.log.end_offset,
            self.log.last_epoch,
            max(self.high_watermark, 0),
            max_wait_ms,
        )

    def append(self, effect: AppendLeaderChange | AppendVoters, count: int, voters: VoterSet | None) -> None:
        """Appends control records of this leader. The last one sets the voters, if any are given."""
        self.emit(effect)
        base_offset = self.log.end_offset
        self.log.append(self.epoch, base_offset, base_offset + count)
        if voters is not None:
            self.voters.append(base_offset + count - 1, voters)

    def append_fetched(self, records: object, batches: tuple[BatchShape, ...]) -> None:
        """Appends batches that the leader has sent."""
        self.emit(AppendFetched(records, batches))
        for batch in batches:
            self.log.append(batch.epoch, batch.base_offset, batch.next_offset)
            if batch.voters is not None:
                self.voters.append(batch.base_offset, batch.voters)

    def truncate_for(self, diverging: EpochEnd) -> None:
        """Truncates the log to the part that is equal to the leader's log."""
        end_offset = self.log.truncation_offset(diverging)
        if end_offset < self.high_watermark:
            raise QuorumSafetyError(
                f"leader {self.election.leader_id} of epoch {self.epoch} asks to truncate to {end_offset}, "
                f"but everything below {self.high_watermark} is committed"
            )
        if end_offset < self.log.end_offset:
            self.log.truncate_to(end_offset)
            self.voters.truncate_to(end_offset)
            self.flushed_offset = min(self.flushed_offset, end_offset)
            self.emit(Truncate(end_offset))

    def install_snapshot(self, snapshot: SnapshotId, voters: VoterSet | None) -> None:
        """Replaces the log by a fetched snapshot, if the snapshot is newer."""
        newer = (snapshot.epoch, snapshot.end_offset) > (self.log.last_epoch, self.log.end_offset)
        if not newer or snapshot.end_offset < self.high_watermark:
            return
        self.emit(InstallSnapshot(snapshot))
        self.log.reset(snapshot)
        self.voters.reset(snapshot.end_offset, voters)
        self.flushed_offset = snapshot.end_offset
        self.raise_high_watermark(snapshot.end_offset)

    def raise_high_watermark(self, offset: int) -> None:
        """Moves the high watermark forward, never back."""
        if offset > self.high_watermark:
            self.high_watermark = offset
            self.emit(AdvanceHighWatermark(offset))
