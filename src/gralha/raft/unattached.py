"""Unattached: a node that knows no leader asks the other nodes for one.

The node asks with a fetch. The leader answers with records. Another node names the leader, if it knows it.
"""

from gralha.raft.role import Role, RoleState
from gralha.raft.voters import ReplicaKey


class Unattached(RoleState):
    """Waits for a leader until the deadline, then stands for election if it may."""

    role = Role.UNATTACHED

    def poll(self) -> None:
        """Asks the node whose turn it is."""
        context, discovery = self._context, self._context.discovery
        targets = [*context.bootstrap, *(key.id for key in context.voters.latest.others(context.key))]
        if context.now_ms < discovery.due_ms:
            context.wake_at(discovery.due_ms)
        elif targets and context.may_fetch():
            context.send(discovery.target(targets), context.fetch_request(max_wait_ms=0))

    def deadline_passed(self) -> None:
        """No leader was found."""
        if self._context.may_stand:
            self._transitions.no_leader()
        else:
            self._transitions.may_not_stand()

    def may_vote_for(self, candidate: ReplicaKey) -> bool:
        """Returns True unless the node has voted for another, or knows the leader."""
        return self._context.is_free_to_vote_for(candidate)

    def fetch_failed(self) -> None:
        """Asks the next node, after a pause."""
        self._context.discovery.failed(self._context.now_ms)
