"""Requests from one node of a cluster to another: the interface that raft and replication use.

`broker/peers.py` implements it with connections, the simulator with a simulated network.
"""

from collections.abc import Callable
from typing import Protocol

from gralha.protocol.message import Message


class PeerError(Exception):
    """There is no answer: nobody listens there, the connection was lost, or the time is over."""


class AskingPeers(Protocol):
    """The other nodes, by id. Raft only asks them."""

    async def ask(self, node_id: int, request: Message, *, timeout_ms: int, lane: str = "") -> Message:
        """Sends a request in the newest common version, and waits for the answer. Raises PeerError.

        Requests on one lane share a connection, so a long poll delays those behind it. A long poll needs its
        own lane.
        """


class Peers(AskingPeers, Protocol):
    """The other nodes, for replication too: it polls leaders."""

    def poll(
        self,
        node_id: int,
        request: Message,
        *,
        timeout_ms: int,
        lane: str,
        answered: Callable[[Message | PeerError], None],
    ) -> None:
        """Like `ask`, for repeated requests. It needs no task, future or timer for each request.

        `answered` is called once with the answer, or with the error, and never before this returns. It is not
        called when this node is closed.
        """
