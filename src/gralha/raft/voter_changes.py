"""Changes of the voters by the leader: AddVoter, RemoveVoter, UpdateVoter and UpgradeVoters (KIP-853).

A change is a record with the new voters. They count as soon as the record is in the log. The leader appends a
change only if it has committed a record of its own epoch, and if the previous change is committed
(KAFKA-20740). So two successive voter sets differ by one voter, and any majority of the one shares a voter
with any majority of the other.
"""

from typing import NamedTuple

from gralha.protocol.errors import ErrorCode
from gralha.protocol.primitives import ZERO_UUID
from gralha.raft.context import Context
from gralha.raft.events import (
    AddVoter,
    AppendVoters,
    ProbeVoter,
    RemoveVoter,
    Reply,
    UpdateVoter,
    UpgradeVoters,
    VoterProbed,
    VoterResponse,
)
from gralha.raft.leadership import Leadership
from gralha.raft.quorum_records import DYNAMIC_KRAFT_VERSION
from gralha.raft.voters import ReplicaKey, Voter, VoterEndpoint, VoterSet

Change = AddVoter | RemoveVoter | UpdateVoter | UpgradeVoters


class Refusal(NamedTuple):
    """The reason why a change is refused."""

    error: ErrorCode
    message: str


class PendingChange(NamedTuple):
    """A change that is in the log but not committed, and the request that waits for it."""

    token: int
    offset: int
    deadline_ms: int
    is_answered: bool


_INCOMPLETE_KEY = Refusal(
    ErrorCode.INVALID_REQUEST,
    "A voter needs its node id and the directory.id of its meta.properties, and one of them is missing",
)


def _is_complete(key: ReplicaKey) -> bool:
    return key.id >= 0 and key.directory_id != ZERO_UUID


def probe_refusal(event: VoterProbed) -> Refusal | None:
    """Refuses a new voter that did not answer, or that is too old."""
    (_, request, endpoint), levels = event
    voter_id = request.voter.key.id
    if levels is None:
        return Refusal(
            ErrorCode.REQUEST_TIMED_OUT,
            f"Controller {voter_id} does not answer at {endpoint.host}:{endpoint.port}: is it running?",
        )
    if not levels[0] <= DYNAMIC_KRAFT_VERSION <= levels[1]:
        return Refusal(
            ErrorCode.INVALID_REQUEST,
            f"Controller {voter_id} does not support kraft.version {DYNAMIC_KRAFT_VERSION}",
        )
    return None


class VoterChanges:
    """The changes by one leader, one at a time."""

    def __init__(self, context: Context, leadership: Leadership) -> None:
        self._context = context
        self._leadership = leadership
        self._pending: PendingChange | None = None

    # Requests

    def addition_requested(self, token: int, request: AddVoter) -> None:
        """Probes the new voter first: with a voter that does not run the quorum could lose its majority."""
        name = self._context.listener_name
        endpoints = [one for one in request.voter.endpoints if not name or one.listener == name]
        refusal = self._addition_refusal(request, endpoints)
        if refusal is not None:
            self._refuse(token, refusal)
        else:
            self._context.emit(ProbeVoter(token, request, endpoints[0]))

    def _addition_refusal(self, request: AddVoter, endpoints: list[VoterEndpoint]) -> Refusal | None:
        if not _is_complete(request.voter.key):
            return _INCOMPLETE_KEY
        if not endpoints:
            text = f"The new voter has no listener {self._context.listener_name}, which the controllers use"
            return Refusal(ErrorCode.INVALID_REQUEST, text)
        outcome = self._refusal() or self._added(request)
        return outcome if isinstance(outcome, Refusal) else None

    def requested(self, token: int, request: Change) -> None:
        """Appends the new voters, or refuses. All checks are done again after a probe."""
        outcome = self._outcome(request)
        if outcome is None:
            self._reply(token)
        elif isinstance(outcome, Refusal):
            self._refuse(token, outcome)
        else:
            self._append(token, request, outcome)

    def _outcome(self, request: Change) -> VoterSet | Refusal | None:
        """The new voters, or None if the voters need no change."""
        match request:
            case UpdateVoter():
                return self._updated(request)
            case UpgradeVoters():
                return self._upgraded()
            case RemoveVoter() if not _is_complete(request.key):
                return _INCOMPLETE_KEY
            case RemoveVoter():
                return self._refusal() or self._removed(request)
            case AddVoter():
                return self._refusal() or self._added(request)

    def _append(self, token: int, request: Change, voters: VoterSet) -> None:
        context = self._context
        is_first = isinstance(request, UpgradeVoters)
        if context.is_only_voter:
            # So far no other voter had to fetch. The second one gets time to begin (Kafka's leader resigns).
            self._leadership.quorum_is_there(context.now_ms)
        context.append(AppendVoters(context.epoch, voters, is_first), 2 if is_first else 1, voters)
        if is_first:
            self._leadership.voters_recorded(voters)
        wait = not isinstance(request, AddVoter) or request.wait_for_commit
        if not wait:
            self._reply(token)
        deadline_ms = context.after(max(request.timeout_ms, 0))
        self._pending = PendingChange(token, context.log.end_offset - 1, deadline_ms, not wait)

    # After the change is appended

    def poll(self) -> None:
        """Answers the request if its change is not committed in time."""
        change = self._pending
        if change is None or change.is_answered:
            return
        if change.deadline_ms <= self._context.now_ms:
            text = "Timed out before the change was committed. It may be committed later"
            self._refuse(change.token, Refusal(ErrorCode.REQUEST_TIMED_OUT, text))
            self._pending = change._replace(is_answered=True)
        else:
            self._context.wake_at(change.deadline_ms)

    def postpone(self, late_ms: int) -> None:
        """Moves the deadline of a change by the time in which the process did not run."""
        if self._pending is not None:
            self._pending = self._pending._replace(deadline_ms=self._pending.deadline_ms + late_ms)

    def committed(self) -> None:
        """The high watermark has moved, perhaps past the change."""
        change = self._pending
        if change is not None and change.offset < self._context.high_watermark:
            self._pending = None
            if not change.is_answered:
                self._reply(change.token)

    def end(self, leader_id: int) -> None:
        """The node does not lead any more. The next leader decides about the change."""
        change = self._pending
        if change is not None and not change.is_answered:
            text = "This node does not lead any more. The change may be committed later, or lost"
            response = VoterResponse(
                int(ErrorCode.NOT_LEADER_OR_FOLLOWER), leader_id, self._context.epoch, text
            )
            self._context.emit(Reply(change.token, response))

    def _reply(self, token: int) -> None:
        self._context.emit(Reply(token, VoterResponse(0, self._context.key.id, self._context.epoch)))

    def _refuse(self, token: int, refusal: Refusal) -> None:
        context = self._context
        response = VoterResponse(int(refusal.error), context.key.id, context.epoch, refusal.message)
        context.emit(Reply(token, response))

    # The new voters

    def _refusal(self) -> Refusal | None:
        """The reason why no change is possible now, or None."""
        if not self._context.voters.is_dynamic:
            text = "The voters of this cluster are configured and cannot be changed: its kraft.version is 0"
            return Refusal(ErrorCode.UNSUPPORTED_VERSION, text)
        if not self._leadership.may_commit(self._context.high_watermark) or self._is_uncommitted():
            text = "Timed out because an earlier change of the voters is not committed yet"
            return Refusal(ErrorCode.REQUEST_TIMED_OUT, text)
        return None

    def _is_uncommitted(self) -> bool:
        return self._context.voters_are_uncommitted

    def _added(self, request: AddVoter) -> VoterSet | Refusal:
        voters, key = self._context.voters.latest, request.voter.key
        if voters.find(key.id) is not None:
            text = f"Controller {key.id} is already a voter: {list(voters.ids)}"
            return Refusal(ErrorCode.DUPLICATE_VOTER, text)
        if not self._leadership.is_caught_up(key, self._context.now_ms):
            text = f"Controller {key.id} with that directory id does not fetch the log, or lags behind"
            return Refusal(ErrorCode.REQUEST_TIMED_OUT, text)
        return voters.adding(request.voter)

    def _removed(self, request: RemoveVoter) -> VoterSet | Refusal:
        voters = self._context.voters.latest
        remaining = voters.removing(request.key)
        if remaining == voters:
            text = f"Controller {request.key.id} with that directory id is not one of {list(voters.ids)}"
            return Refusal(ErrorCode.VOTER_NOT_FOUND, text)
        if not remaining.voters:
            return Refusal(ErrorCode.INVALID_REQUEST, "The last voter cannot be removed")
        return remaining

    def _updated(self, request: UpdateVoter) -> VoterSet | Refusal | None:
        voters = self._context.voters
        known = voters.latest.match(request.voter.key)
        if known is None:
            ids = list(voters.latest.ids)
            text = f"Controller {request.voter.key.id} is not one of the voters {ids}"
            return Refusal(ErrorCode.VOTER_NOT_FOUND, text)
        if not voters.is_dynamic or known == request.voter:
            return None
        return self._refusal() or voters.latest.updating(request.voter)

    def _upgraded(self) -> VoterSet | Refusal | None:
        """The configured voters, with the disks that they have."""
        voters, leadership = self._context.voters, self._leadership
        if voters.is_dynamic:
            return self._refusal()
        if not leadership.may_commit(self._context.high_watermark):
            text = "Timed out because the leader has not committed a record of its epoch yet"
            return Refusal(ErrorCode.REQUEST_TIMED_OUT, text)
        found: list[Voter] = []
        for voter in voters.latest.voters:
            voter_id = voter.key.id
            directory_id = leadership.directories.get(voter_id, ZERO_UUID)
            if directory_id == ZERO_UUID:
                leader_id = self._context.key.id
                text = f"Controller {voter_id} has not fetched since controller {leader_id} leads"
                return Refusal(ErrorCode.INVALID_UPDATE_VERSION, text)
            if not voter.endpoints:
                text = f"Controller {voter_id} has no listener for controllers"
                return Refusal(ErrorCode.INVALID_UPDATE_VERSION, text)
            found.append(voter._replace(key=ReplicaKey(voter_id, directory_id)))
        return VoterSet.of(found)
