"""How one node of a cluster asks another: the port that raft and replication speak through. No I/O here.

`broker/peers.py` answers it with connections, the simulator with a network of its own making.
"""

from collections.abc import Callable
from typing import Protocol

from gralha.protocol.message import Message


class PeerError(Exception):
    """No answer came: nobody listens there, the connection was lost, or the time was over."""


class Peers(Protocol):
    """The other nodes, by id."""

    async def ask(self, node_id: int, request: Message, *, timeout_ms: int, lane: str = "") -> Message:
        """Send a request in its newest version that both sides speak, and wait for the answer.

        Requests on one lane share a connection, so a long poll holds up those behind it: whoever polls has a
        lane of its own. Raises PeerError.
        """

    def poll(
        self,
        node_id: int,
        request: Message,
        *,
        timeout_ms: int,
        lane: str,
        answered: Callable[[Message | PeerError], None],
    ) -> None:
        """As `ask`, for who asks again and again: without a task, a future and a timer for each request.

        `answered` gets the answer, or why there is none; once, and never before this returns. When the
        node ends nobody is told.
        """
