"""Resigned: a node that led this epoch tells the voters that it does not lead any more (EndQuorumEpoch).

A node that led when it stopped is Resigned after its restart, never Leader (KAFKA-10527). It may have lost
records of that epoch that others have.
"""

from typing import TYPE_CHECKING

from gralha.raft.context import Context
from gralha.raft.events import BeginEpochRequest, EndEpochRequest, UpdateVoter
from gralha.raft.quorum_state import NOBODY
from gralha.raft.role import Role, RoleState
from gralha.raft.voters import ReplicaKey

if TYPE_CHECKING:
    from gralha.raft.transitions import Transitions


class Resigned(RoleState):
    """Tells the voters until the deadline, then waits for a leader in the next epoch."""

    role = Role.RESIGNED

    def __init__(
        self,
        context: Context,
        transitions: "Transitions",
        deadline_ms: int,
        voters: tuple[ReplicaKey, ...],
        successors: tuple[ReplicaKey, ...],
    ) -> None:
        super().__init__(context, transitions, deadline_ms)
        self._to_tell = list(voters)
        self._successors = successors

    @property
    def leader_id(self) -> int:
        """The epoch has no leader any more."""
        return NOBODY

    @property
    def is_waiting(self) -> bool:
        """True if some voters have not heard of the resignation yet."""
        return bool(self._to_tell)

    def poll(self) -> None:
        """Tells the voters that have not heard of it."""
        context = self._context
        for key in self._to_tell:
            context.send(key.id, EndEpochRequest(context.epoch, context.key.id, self._successors))

    def deadline_passed(self) -> None:
        """The voters have had time to hear of the resignation."""
        self._transitions.resignation_over()

    def told(
        self, node_id: int, request: BeginEpochRequest | EndEpochRequest | UpdateVoter, failed: bool
    ) -> None:
        """Does not tell a voter again that has heard of it."""
        if isinstance(request, EndEpochRequest) and not failed:
            self._to_tell = [key for key in self._to_tell if key.id != node_id]
