"""A broker's state at the controller: registration, heartbeats, unfencing and controlled shutdown.

    STARTING   registers; the answer is the broker epoch
    FENCED     sends heartbeats; is unfenced when it has replayed the metadata up to its registration
    RUNNING    sends heartbeats; may lead
    STOPPING   asks other brokers to take over, and ends when it leads nothing (controlled shutdown)

If the controller does not know the epoch, the broker registers again. Every broker sends a heartbeat to a new
active controller at once, so that the controller soon knows which brokers are alive.
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
# While it is fenced or stops, a broker does not wait for the next regular heartbeat.
EAGER_INTERVAL_S: Final = 0.02
# After a heartbeat without an answer the next one follows soon.
RETRY_S: Final = 0.1

_UNKNOWN_HERE: Final = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED)
_TRY_AGAIN: Final = (ErrorCode.DUPLICATE_BROKER_REGISTRATION, ErrorCode.NOT_CONTROLLER)

# What a person can do about a refused registration.
_ADVICE: Final[dict[int, str]] = {
    ErrorCode.NOT_CONTROLLER: (
        "A majority of the voters must run: check that they do, that controller.quorum.voters is the same on "
        "all nodes and has their addresses, and that all folders were formatted with one cluster id."
    ),
    ErrorCode.DUPLICATE_BROKER_REGISTRATION: (
        "Another process uses this node.id: stop it, or give this node another id."
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
    """The controller refuses this broker. The message says why."""


class Lifecycle:
    def __init__(
        self,
        channel: ControllerChannel,
        introduction: BrokerRegistrationRequest,
        metadata_offset: Callable[[], int],
        times: LifecycleTimes,
        has_quorum: Callable[[], bool] = lambda: True,
    ) -> None:
        """`has_quorum` is False if so many controllers have died that none can be elected."""
        self._has_quorum = has_quorum
        self._channel = channel
        self._introduction = introduction
        self._metadata_offset = metadata_offset
        self._times = times
        self._wake = asyncio.Event()
        self._changed = asyncio.Event()
        self._is_ready = False
        # The folders that get no new partitions. None as long as there were none: that needs no heartbeat.
        self._cordoned: list[bytes] | None = None
        self._heard_s = 0.0  # the time of the controller's last answer
        self.standing = Standing.STARTING
        self.epoch = -1

    async def register(self) -> None:
        """Registers this broker and gets its epoch. Waits for the end of an older process of this broker."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._times.registration_timeout_ms / 1000
        while True:
            error = await self._try_to_register()
            if error is None:
                self._become(Standing.FENCED)
                return
            if error.code not in _TRY_AGAIN or loop.time() >= deadline:
                raise RegistrationRefusedError(self._refusal(error))
            log.info("waiting for registration: %s", error.message)
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
        """Sends heartbeats until the controlled shutdown is complete. The owner runs this as a task."""
        while self.standing is not Standing.STOPPED:
            was_answered = await self._heartbeat()
            try:
                async with asyncio.timeout(self._pause_s(was_answered)):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()

    def _pause_s(self, was_answered: bool) -> float:
        """The time until the next heartbeat."""
        if self.standing in (Standing.FENCED, Standing.STOPPING):
            return EAGER_INTERVAL_S
        interval_s = self._times.heartbeat_interval_ms / 1000
        # The session timeout continues to run.
        return interval_s if was_answered else min(RETRY_S, interval_s)

    async def _heartbeat(self) -> bool:
        """Sends a heartbeat. Returns True if a controller has answered."""
        request = BrokerHeartbeatRequest(
            broker_id=self._introduction.broker_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self._metadata_offset(),
            want_fence=not self._is_ready,
            want_shut_down=self.standing is Standing.STOPPING,
            cordoned_log_dirs=self._cordoned,
        )
        try:
            answer = await self._channel.ask(request, timeout_ms=self._times.heartbeat_interval_ms, lane=LANE)
        except KafkaError as error:
            log.info("the heartbeat was not answered: %s", error.message)
            return False
        self._heard_s = asyncio.get_running_loop().time()
        response = cast(BrokerHeartbeatResponse, answer)
        if response.error_code in _UNKNOWN_HERE:
            await self._register_again()
        elif response.error_code:
            log.warning("the heartbeat was refused: %s", error_for(response.error_code).message)
        elif self.standing is Standing.STOPPING:
            if response.should_shut_down:
                self._become(Standing.STOPPED)
        else:
            self._become(Standing.FENCED if response.is_fenced else Standing.RUNNING)
        return True

    async def _register_again(self) -> None:
        """The controller does not know this broker any more, or a cluster was restored. Registers as a new
        broker.
        """
        if self.standing is Standing.STOPPING:
            self._become(Standing.STOPPED)  # an unknown broker leads nothing
        else:
            await self.register()

    def ready(self) -> None:
        """All partitions of this broker are open: the controller may unfence it."""
        self._is_ready = True
        self._wake.set()

    def cordon(self, directory_ids: list[bytes]) -> None:
        """Tells the controller which folders get no new partitions. It then leaves this broker out if no
        folder is left.
        """
        if directory_ids != (self._cordoned or []):
            self._cordoned = directory_ids
            self._wake.set()

    def controller_changed(self, leader_id: int) -> None:
        """There is another active controller, which should get a heartbeat at once."""
        if leader_id >= 0:
            self._wake.set()

    def controller_lost(self) -> None:
        """A connection to the active controller broke. A heartbeat shows that this broker lives."""
        self._wake.set()

    def peer_died(self) -> None:
        """The process of a node has ended. Perhaps no controller is left for the controlled shutdown."""
        self._changed.set()

    def others_wait(self) -> None:
        """A stopping broker waits until all others have replayed its shutdown. A heartbeat reports that at
        once.
        """
        self._wake.set()

    async def wait_until_running(self) -> None:
        """Waits until the controller has unfenced this broker."""
        await self._wait_for(Standing.RUNNING)

    async def stop(self, timeout_s: float) -> bool:
        """Asks the controller to move all leadership away. Returns True if that was done in time.

        A broker that has heard of no controller for the length of a session does not wait any more: the
        controller, if there is one, has moved the leadership already. It does not wait either if most
        controllers have died, for example when a whole cluster is stopped at once.
        """
        if not self._is_ready:
            return True  # it was never unfenced, so it leads nothing
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
