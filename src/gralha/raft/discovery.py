"""The search for the leader: a node without one asks the other nodes, one after the other.

Between two requests it pauses, longer each time, because many nodes may be searching at once.
"""

from collections.abc import Sequence

from gralha.raft.timeouts import Timeouts


class Discovery:
    """The next node to ask, and when."""

    def __init__(self, timeouts: Timeouts) -> None:
        self.due_ms = 0
        self._timeouts = timeouts
        self._turn = 0
        self._failures = 0

    def target(self, node_ids: Sequence[int]) -> int:
        """The node whose turn it is."""
        return node_ids[self._turn % len(node_ids)]

    def failed(self, now_ms: int) -> None:
        """The node did not answer, or it does not lead. The next node is asked after a pause."""
        self._turn += 1
        pause_ms = self._timeouts.retry_ms << min(self._failures, 10)
        self._failures += 1
        self.due_ms = now_ms + min(pause_ms, self._timeouts.backoff_max_ms // 10)

    def succeeded(self) -> None:
        """The leader has answered, so the next pause is short again."""
        self._failures = 0
