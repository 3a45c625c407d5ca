"""Requests to the active controller: in this process if it is here, otherwise over the network.

While the quorum has no leader, or the known leader has just resigned, a request is repeated until its time is
over. An election takes only a moment, and clients need not know about it. If the controller hangs, a request
does not wait for it after the quorum has elected another one.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from gralha.broker.pipeline import RequestContext
from gralha.protocol import apis
from gralha.protocol.envelopes import address_bytes, open_response, principal_bytes, sealed_request
from gralha.protocol.errors import (
    ErrorCode,
    InconsistentClusterIdError,
    NotControllerError,
    RequestTimedOutError,
    UnknownServerError,
)
from gralha.protocol.message import Message
from gralha.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from gralha.protocol.peers import PeerError
from gralha.protocol.primitives import ProtocolError

RETRY_S: Final = 0.02
RETRY_MAX_S: Final = 0.5
# How long a replaced controller may still answer a request.
LAST_WORDS_S: Final = 1.0
FORWARD_LANE: Final = "forward"
# The controller does not take envelopes from this broker at all. Another try would not help.
ENVELOPE_REFUSED: Final = (
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE,
)

log = logging.getLogger("gralha.broker")


class Controllers(Protocol):
    """The controllers. `PeerConnections` implements it."""

    async def ask(
        self, node_id: int, request: Message, *, timeout_ms: int, lane: str = "", version: int | None = None
    ) -> Message:
        """Sends a request and waits for the answer. Raises PeerError."""


class Quorum(Protocol):
    """The part of the quorum's state that the channel needs. `ControllerService` implements it."""

    @property
    def is_active(self) -> bool:
        """True if the active controller is in this process."""

    @property
    def leader_id(self) -> int:
        """The id of the active controller, or -1 if it is not known."""

    @property
    def foreign_cluster(self) -> str | None:
        """A sentence if most controllers belong to another cluster, so that none becomes active. Or None."""


class ControllerChannel:
    def __init__(
        self,
        quorum: Quorum,
        controllers: Controllers,
        answer_here: Callable[[Message], Message | Awaitable[Message]],
    ) -> None:
        """`answer_here` handles a request like this node's own controller listener."""
        self._quorum = quorum
        self._controllers = controllers
        self._answer_here = answer_here
        self._leader_changed = asyncio.Event()

    def leader_changed(self, leader_id: int) -> None:
        """The quorum has another leader, or none."""
        if leader_id >= 0:
            self._leader_changed.set()
            self._leader_changed = asyncio.Event()

    async def ask(self, request: Message, *, timeout_ms: int, lane: str = "") -> Message:
        """The active controller's answer to a request of this broker. NOT_CONTROLLER if none came in time.

        Raises INCONSISTENT_CLUSTER_ID at once if the controllers belong to another cluster, because waiting
        would not help.
        """

        async def here() -> Message:
            answer = self._answer_here(request)
            return _checked(answer if isinstance(answer, Message) else await answer)

        async def there(leader_id: int, left_ms: int) -> Message:
            return _checked(await self._controllers.ask(leader_id, request, timeout_ms=left_ms, lane=lane))

        return await self._ask(here, there, timeout_ms)

    async def forward(
        self,
        request: Message,
        context: RequestContext,
        decide: Callable[[], Awaitable[Message]],
        *,
        timeout_ms: int,
    ) -> Message:
        """The active controller's answer to a request of a client. `decide` asks this node's controller.

        Raises REQUEST_TIMED_OUT if no controller has decided in time, and the errors of the decision.
        """
        version = context.api_version
        peer = context.peer
        envelope = EnvelopeRequest(
            request_data=sealed_request(request, version, context.client_id),
            # Without a principal the request is this broker's own.
            request_principal=None
            if peer.is_this_node
            else principal_bytes(peer.principal, peer.is_token_authenticated),
            client_host_address=address_bytes(peer.host),
        )

        async def here() -> Message:
            return await decide()

        async def there(leader_id: int, left_ms: int) -> Message:
            answer = await self._controllers.ask(leader_id, envelope, timeout_ms=left_ms, lane=FORWARD_LANE)
            return _opened(_checked(answer), request, version)

        try:
            return await self._ask(here, there, timeout_ms)
        except NotControllerError as error:
            raise RequestTimedOutError(error.message) from None

    async def _ask(
        self,
        here: Callable[[], Awaitable[Message]],
        there: Callable[[int, int], Awaitable[Message]],
        timeout_ms: int,
    ) -> Message:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_ms / 1000
        pause_s = RETRY_S
        reason = "it did not decide"
        try:
            async with asyncio.timeout_at(deadline):
                while True:
                    try:
                        return await self._ask_once(here, there, deadline)
                    except (PeerError, NotControllerError) as error:
                        reason = str(error)
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, RETRY_MAX_S)
        except TimeoutError:
            raise NotControllerError(f"No controller answered within {timeout_ms} ms: {reason}") from None

    async def _ask_once(
        self,
        here: Callable[[], Awaitable[Message]],
        there: Callable[[int, int], Awaitable[Message]],
        deadline: float,
    ) -> Message:
        if self._quorum.is_active:
            return await here()
        leader_id = self._quorum.leader_id
        foreign_cluster = self._quorum.foreign_cluster
        if foreign_cluster is not None:
            raise InconsistentClusterIdError(foreign_cluster)
        if leader_id < 0:
            raise PeerError("the quorum has no leader")
        left_ms = int((deadline - asyncio.get_running_loop().time()) * 1000)
        return await self._unless_replaced(there(leader_id, max(left_ms, 1)))

    async def _unless_replaced(self, asking: Awaitable[Message]) -> Message:
        """The answer of a controller. Raises PeerError soon after the quorum has another leader."""
        answer = asyncio.ensure_future(asking)
        replaced = asyncio.ensure_future(self._leader_changed.wait())
        try:
            await asyncio.wait([answer, replaced], return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                await asyncio.wait([answer], timeout=LAST_WORDS_S)
            if answer.done():
                return answer.result()
            raise PeerError("the quorum has another leader")
        finally:
            answer.cancel()
            replaced.cancel()


def _checked(response: Message) -> Message:
    """The response, unless it says that another node is the active controller."""
    if getattr(response, "error_code", 0) == ErrorCode.NOT_CONTROLLER:
        raise NotControllerError("the controller has changed")
    return response


def _opened(answer: Message, request: Message, version: int) -> Message:
    """The response to a forwarded request."""
    assert isinstance(answer, EnvelopeResponse)
    if answer.error_code in ENVELOPE_REFUSED:
        # The client has done nothing wrong, so as in Kafka it does not learn of the brokers' own rights.
        name = ErrorCode(answer.error_code).name
        log.error("The active controller refuses requests that this broker forwards: %s", name)
        raise UnknownServerError
    if answer.response_data is None or answer.error_code:
        raise PeerError(f"the controller refused the request: {ErrorCode(answer.error_code).name}")
    try:
        return open_response(answer.response_data, apis.APIS[request.API_KEY], version)
    except ProtocolError as error:
        raise PeerError(f"the answer cannot be read: {error}") from None
