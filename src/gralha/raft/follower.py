"""Follower: fetches the leader's log, and truncates its own log where the two differ.

A follower trusts a leader that has answered. While it does, it grants no pre-vote, so that no other node can
depose the leader. If the leader does not answer until the deadline, the follower stands for election.
"""

from typing import TYPE_CHECKING

from gralha.raft.context import Context
from gralha.raft.events import FetchRequest, FetchResponse, FetchSnapshot, UpdateVoter
from gralha.raft.role import Role, RoleState
from gralha.raft.voters import ReplicaKey

if TYPE_CHECKING:
    from gralha.raft.transitions import Transitions


class Follower(RoleState):
    """Follows the leader of the epoch."""

    role = Role.FOLLOWER

    def __init__(self, context: Context, transitions: "Transitions") -> None:
        super().__init__(context, transitions, context.fetch_deadline())
        self._trusts_leader = False

    # Time

    def poll(self) -> None:
        """Sends the next fetch when the log is synced."""
        context = self._context
        if context.is_fetching_snapshot or not context.may_fetch():
            return
        self._update_voter()
        context.send(self.leader_id, context.fetch_request(context.timeouts.fetch_wait_ms))

    def _update_voter(self) -> None:
        """Sends its listeners to the leader if the record of the voters has others (KIP-853)."""
        context = self._context
        voter = context.voters.latest.match(context.key)
        if voter is None or not context.voters.is_dynamic or not context.endpoints:
            return
        if voter.endpoints != context.endpoints and context.now_ms >= context.update_due_ms:
            context.update_due_ms = context.after(3 * context.timeouts.fetch_ms)
            new = voter._replace(endpoints=context.endpoints)
            context.send(self.leader_id, UpdateVoter(context.epoch, new, context.timeouts.request_ms))

    def deadline_passed(self) -> None:
        """The leader has not answered in time."""
        if self._context.may_stand:
            self._transitions.no_leader()
        else:
            self._transitions.may_not_stand()

    # Requests of other nodes

    def would_vote(self) -> bool:
        """Returns False while the leader answers."""
        return not self._trusts_leader

    def leader_named(self, leader_id: int, *, by_leader: bool) -> None:
        """The node follows that leader already."""

    def leader_resigned(self, leader_id: int, successors: tuple[ReplicaKey, ...]) -> None:
        """Stands for election soon: the voter with the longest log at once, the others a little later."""
        if leader_id != self.leader_id:
            return
        context = self._context
        self._trusts_leader = False
        places = [place for place, key in enumerate(successors) if key.id == context.key.id]
        step_ms = context.timeouts.election_ms // 10
        turn_ms = context.after(step_ms * places[0]) if places else context.after(step_ms, step_ms)
        self.deadline_ms = min(self.deadline_ms, turn_ms)

    # Answers of the leader

    def fetched(self, request: FetchRequest, response: FetchResponse) -> None:
        """Takes what the leader has sent, if the log still ends at the offset of the request."""
        context = self._context
        if (
            response.leader_id != self.leader_id
            or request.epoch != context.epoch
            or request.offset != context.log.end_offset
            or context.is_fetching_snapshot
        ):
            return
        if any(batch.epoch > context.epoch for batch in response.batches):
            # The leader has lost its epoch while it was reading, and has sent records of the next leader.
            # This log may have parted from the next leader's before them (KAFKA-18723).
            return
        self.deadline_ms = context.fetch_deadline()
        self._trusts_leader = True
        context.elections_lost = 0
        if response.diverging is not None:
            context.truncate_for(response.diverging)
        elif response.snapshot is not None:
            context.is_fetching_snapshot = True
            context.emit(FetchSnapshot(self.leader_id, context.epoch, response.snapshot))
        else:
            if response.batches:
                context.append_fetched(response.records, response.batches)
            context.raise_high_watermark(min(response.high_watermark, context.log.end_offset))

    def snapshot_progressed(self) -> None:
        """The leader answers, so it gets more time."""
        self.deadline_ms = self._context.fetch_deadline()

    # Other events

    def peer_lost(self, node_id: int) -> None:
        """If the leader has died, this node asks the other voters soon whether they miss it, too."""
        if node_id == self.leader_id:
            context = self._context
            self._trusts_leader = False
            self.deadline_ms = min(self.deadline_ms, context.after(0, context.timeouts.election_ms // 20))
