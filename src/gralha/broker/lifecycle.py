"""A broker's standing with the controller: registered, alive, let in, and seen off.

    STARTING   registers; the answer is the broker epoch
    FENCED     heartbeats; the controller lets it in when it has followed the metadata up to its registration
    RUNNING    heartbeats; may lead
    STOPPING   asks to be relieved of what it leads, and ends when it leads nothing (controlled shutdown)

A controller that does not know the epoch any more wants a new registration. A new active controller hears
from every broker at once: it need not wait for the next regular heartbeat to know who is alive.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, NamedTuple, cast

from gralha.broker.controller_channel import ControllerChannel
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from gralha.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)

log = logging.getLogger("gralha.broker")

LANE: Final = "heartbeat"
REGISTRATION_RETRY_S: Final = 0.1
# Until it is let in, and while it stops, a broker does not wait for the next regular heartbeat.
EAGER_INTERVAL_S: Final = 0.02
# After a heartbeat that got no answer the next one follows soon.
RETRY_S: Final = 0.1

_UNKNOWN_HERE: Final = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED)
_TRY_AGAIN: Final = (ErrorCode.DUPLICATE_BROKER_REGISTRATION, ErrorCode.NOT_CONTROLLER)

# What a person can do about a refusal.
_ADVICE: Final[dict[int, str]] = {
    ErrorCode.NOT_CONTROLLER: (
        "A majority of the voters must be up: see that they run, that controller.quorum.voters is the same "
        "on all nodes and has their addresses, and that all folders were formatted with one cluster id."
    ),
    ErrorCode.DUPLICATE_BROKER_REGISTRATION: (
        "Another process serves with this node.id: stop it, or give this one another id."
    ),
    ErrorCode.INCONSISTENT_CLUSTER_ID: (
        "The cluster.id in meta.properties of this node is not the controller's: is this the right folder in "
        "log.dirs, and the right address in controller.quorum.voters?"
    ),
}


class Standing(Enum):
    STARTING = auto()
    FENCED = auto()
    RUNNING = auto()
    STOPPING = auto()
    STOPPED = auto()


class LifecycleTimes(NamedTuple):
    heartbeat_interval_ms: int = 2_000
    session_timeout_ms: int = 9_000
    registration_timeout_ms: int = 60_000


class RegistrationRefusedError(Exception):
    """The controller does not want this broker; the message says why."""


class Lifecycle:
    def __init__(
        self,
        channel: ControllerChannel,
        introduction: BrokerRegistrationRequest,
        metadata_offset: Callable[[], int],
        times: LifecycleTimes,
        has_quorum: Callable[[], bool] = lambda: True,
    ) -> None:
        """`has_quorum` is False when so many controllers have died that no controller can be elected."""
        self._has_quorum = has_quorum
        self._channel = channel
        self._introduction = introduction
        self._metadata_offset = metadata_offset
        self._times = times
        self._wake = asyncio.Event()
        self._changed = asyncio.Event()
        self._is_ready = False
        self._heard_s = 0.0  # when the controller answered last
        self.standing = Standing.STARTING
        self.epoch = -1

    async def register(self) -> None:
        """Introduce this broker, for its epoch. Waits for an older process of the same id to be gone."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._times.registration_timeout_ms / 1000
        while True:
            error = await self._try_to_register()
            if error is None:
                self._become(Standing.FENCED)
                return
            if error.code not in _TRY_AGAIN or loop.time() >= deadline:
                raise RegistrationRefusedError(self._refusal(error))
            log.info("waiting to be registered: %s", error.message)
            await asyncio.sleep(REGISTRATION_RETRY_S)

    def _refusal(self, error: KafkaError) -> str:
        broker_id = self._introduction.broker_id
        advice = _ADVICE.get(error.code, "The log of the active controller may say more.")
        return f"Broker {broker_id} cannot join the cluster. {error.message}. {advice}"

    async def _try_to_register(self) -> KafkaError | None:
        try:
            answer = await self._channel.ask(
                self._introduction, timeout_ms=self._times.session_timeout_ms, lane=LANE
            )
        except KafkaError as error:
            return error
        response = cast(BrokerRegistrationResponse, answer)
        if response.error_code:
            return error_for(response.error_code)
        self._heard_s = asyncio.get_running_loop().time()
        self.epoch = response.broker_epoch
        return None

    async def run(self) -> None:
        """The owner's task: heartbeats until the controller has let this broker go."""
        while self.standing is not Standing.STOPPED:
            was_answered = await self._heartbeat()
            try:
                async with asyncio.timeout(self._pause_s(was_answered)):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()

    def _pause_s(self, was_answered: bool) -> float:
        """How long to wait for the next heartbeat."""
        if self.standing in (Standing.FENCED, Standing.STOPPING):
            return EAGER_INTERVAL_S
        interval_s = self._times.heartbeat_interval_ms / 1000
        # The session runs on meanwhile.
        return interval_s if was_answered else min(RETRY_S, interval_s)

    async def _heartbeat(self) -> bool:
        """Send one; whether a controller has answered it."""
        request = BrokerHeartbeatRequest(
            broker_id=self._introduction.broker_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self._metadata_offset(),
            want_fence=not self._is_ready,
            want_shut_down=self.standing is Standing.STOPPING,
        )
        try:
            answer = await self._channel.ask(request, timeout_ms=self._times.heartbeat_interval_ms, lane=LANE)
        except KafkaError as error:
            log.info("no heartbeat: %s", error.message)
            return False
        self._heard_s = asyncio.get_running_loop().time()
        response = cast(BrokerHeartbeatResponse, answer)
        if response.error_code in _UNKNOWN_HERE:
            await self._register_again()
        elif response.error_code:
            log.warning("heartbeat refused: %s", error_for(response.error_code).message)
        elif self.standing is Standing.STOPPING:
            if response.should_shut_down:
                self._become(Standing.STOPPED)
        else:
            self._become(Standing.FENCED if response.is_fenced else Standing.RUNNING)
        return True

    async def _register_again(self) -> None:
        """The controller has struck us off, or a cluster was restored: we are as good as new."""
        if self.standing is Standing.STOPPING:
            self._become(Standing.STOPPED)  # what it does not know leads nothing
        else:
            await self.register()

    def ready(self) -> None:
        """Everything that the metadata places here has been opened: the controller may let this broker in."""
        self._is_ready = True
        self._wake.set()

    def controller_changed(self, leader_id: int) -> None:
        """There is another active controller: it should hear from us at once."""
        if leader_id >= 0:
            self._wake.set()

    def controller_lost(self) -> None:
        """A connection to the active controller broke, and it may fear for our life: let it hear of us."""
        self._wake.set()

    def peer_died(self) -> None:
        """The process of a node has ended: perhaps nobody is left who could relieve this broker."""
        self._changed.set()

    def others_wait(self) -> None:
        """A broker that stops waits until all have followed the metadata that relieved it: say so at once."""
        self._wake.set()

    async def wait_until_running(self) -> None:
        """Until the controller has let this broker in."""
        await self._wait_for(Standing.RUNNING)

    async def stop(self, timeout_s: float) -> bool:
        """Ask to be relieved of everything this broker leads. Whether that was granted in time.

        A broker that has heard of no controller for as long as a session lasts waits no longer: the
        controller, if there is one, has given to others what this broker led. Nor does it wait when most
        controllers have died, as when a whole cluster is stopped at once.
        """
        if not self._is_ready:
            return True  # it was never let in, so it leads nothing
        if self.standing not in (Standing.FENCED, Standing.RUNNING):
            return self.standing is Standing.STOPPED
        self._become(Standing.STOPPING)
        self._wake.set()
        return await self._is_relieved_before(asyncio.get_running_loop().time() + timeout_s)

    async def _is_relieved_before(self, deadline_s: float) -> bool:
        loop = asyncio.get_running_loop()
        while self.standing is not Standing.STOPPED:
            until_s = min(deadline_s, self._heard_s + self._times.session_timeout_ms / 1000)
            if loop.time() >= until_s or not self._has_quorum():
                return False
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(until_s):
                    await self._changed.wait()
        return True

    async def _wait_for(self, standing: Standing) -> None:
        while self.standing is not standing:
            self._changed.clear()
            await self._changed.wait()

    def _become(self, standing: Standing) -> None:
        if standing is not self.standing and self.standing is not Standing.STOPPED:
            log.debug("broker %d: %s", self._introduction.broker_id, standing.name)
            self.standing = standing
            self._changed.set()
