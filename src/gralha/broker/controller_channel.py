"""The way to the active controller: in this process if it is here, over the network if it is elsewhere.

While the quorum has no leader, or the one we know has just ceased to be it, a request is tried again until
its time is over: an election takes a moment, and who asked need not know of it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from gralha.protocol.errors import ErrorCode, InconsistentClusterIdError, NotControllerError
from gralha.protocol.message import Message
from gralha.protocol.peers import PeerError

RETRY_S: Final = 0.02
RETRY_MAX_S: Final = 0.5


class Controllers(Protocol):
    """The controllers, as `PeerConnections` reaches them."""

    async def ask(
        self, node_id: int, request: Message, *, timeout_ms: int, lane: str = "", version: int | None = None
    ) -> Message:
        """Send a request and wait for the answer. Raises PeerError."""


class Quorum(Protocol):
    """What has to be known of the quorum; `ControllerService` knows it."""

    @property
    def is_active(self) -> bool:
        """Is the active controller in this process?"""

    @property
    def leader_id(self) -> int:
        """The active controller, -1 if none is known."""

    @property
    def foreign_cluster(self) -> str | None:
        """Why none will be found, if the controllers are of another cluster."""


class ControllerChannel:
    def __init__(
        self,
        quorum: Quorum,
        controllers: Controllers,
        answer_here: Callable[[Message, int | None], Message | Awaitable[Message]],
    ) -> None:
        """`answer_here` handles a request as this node's own controller listener would."""
        self._quorum = quorum
        self._controllers = controllers
        self._answer_here = answer_here

    async def ask(
        self, request: Message, *, timeout_ms: int, lane: str = "", version: int | None = None
    ) -> Message:
        """The active controller's answer. NOT_CONTROLLER if none could be found in time.

        INCONSISTENT_CLUSTER_ID at once if that is why there is none: waiting would not help.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_ms / 1000
        pause_s = RETRY_S
        while True:
            left_ms = int((deadline - loop.time()) * 1000)
            try:
                response = await self._ask_once(request, max(left_ms, 1), lane, version)
                if getattr(response, "error_code", 0) != ErrorCode.NOT_CONTROLLER:
                    return response
                reason = "the controller has changed"
            except (PeerError, NotControllerError) as error:
                reason = str(error)
            if loop.time() + pause_s >= deadline:
                raise NotControllerError(f"No controller answered within {timeout_ms} ms: {reason}")
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, RETRY_MAX_S)

    async def _ask_once(self, request: Message, timeout_ms: int, lane: str, version: int | None) -> Message:
        if self._quorum.is_active:
            answer = self._answer_here(request, version)
            return answer if isinstance(answer, Message) else await answer
        leader_id = self._quorum.leader_id
        foreign_cluster = self._quorum.foreign_cluster
        if foreign_cluster is not None:
            raise InconsistentClusterIdError(foreign_cluster)
        if leader_id < 0:
            raise PeerError("the quorum has no leader")
        return await self._controllers.ask(
            leader_id, request, timeout_ms=timeout_ms, lane=lane, version=version
        )
