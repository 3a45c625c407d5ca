"""A broker that stops: how long it waits for a controlled shutdown."""

import asyncio
from typing import cast

import pytest

from gralha.broker.controller_channel import ControllerChannel
from gralha.broker.lifecycle import Lifecycle, LifecycleTimes, Standing
from gralha.protocol.errors import ErrorCode, error_for
from gralha.protocol.message import Message
from gralha.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from gralha.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)

PATIENCE_S = 10
LONG_S = 3600.0


class Controller:
    """It lets the broker in, and relieves it after `refusals` requests; None: never."""

    def __init__(self) -> None:
        self.is_there = True
        self.refusals: int | None = None
        self.has_quorum = True

    async def ask(self, request: Message, *, timeout_ms: int, lane: str) -> Message:
        if not self.is_there:
            raise error_for(ErrorCode.NOT_CONTROLLER, "the quorum has no leader")
        if isinstance(request, BrokerRegistrationRequest):
            return BrokerRegistrationResponse(broker_epoch=7)
        assert isinstance(request, BrokerHeartbeatRequest)
        if request.want_shut_down and self.refusals is not None:
            self.refusals -= 1
        relieved = self.refusals is not None and self.refusals < 0
        return BrokerHeartbeatResponse(is_fenced=False, should_shut_down=relieved)


async def running(controller: Controller, session_ms: int) -> tuple[Lifecycle, "asyncio.Task[None]"]:
    channel = cast(ControllerChannel, controller)
    introduction = BrokerRegistrationRequest(broker_id=1)
    times = LifecycleTimes(10, session_ms, 1000)
    lifecycle = Lifecycle(channel, introduction, lambda: 0, times, lambda: controller.has_quorum)
    await lifecycle.register()
    lifecycle.ready()
    task = asyncio.create_task(lifecycle.run())
    await lifecycle.wait_until_running()
    return lifecycle, task


@pytest.mark.timeout(PATIENCE_S)
async def test_without_a_controller_it_waits_no_longer_than_a_session_lasts() -> None:
    controller = Controller()
    lifecycle, task = await running(controller, session_ms=100)
    controller.is_there = False
    assert not await lifecycle.stop(LONG_S)
    assert lifecycle.standing is Standing.STOPPING
    task.cancel()


@pytest.mark.timeout(PATIENCE_S)
async def test_a_controller_that_answers_is_waited_for() -> None:
    controller = Controller()
    lifecycle, task = await running(controller, session_ms=100)
    controller.refusals = 10  # at 20 ms each: longer than a session
    assert await lifecycle.stop(LONG_S)
    await task


@pytest.mark.timeout(PATIENCE_S)
async def test_it_does_not_wait_for_ever() -> None:
    lifecycle, task = await running(Controller(), session_ms=PATIENCE_S * 1000)
    assert not await lifecycle.stop(0.1)
    task.cancel()


@pytest.mark.timeout(PATIENCE_S)
async def test_it_does_not_wait_when_most_controllers_have_died() -> None:
    controller = Controller()
    lifecycle, task = await running(controller, session_ms=PATIENCE_S * 1000)
    controller.is_there = False
    stopping = asyncio.ensure_future(lifecycle.stop(LONG_S))
    lifecycle.peer_died()
    await asyncio.sleep(0.01)
    assert not stopping.done()
    controller.has_quorum = False
    lifecycle.peer_died()
    assert not await stopping
    task.cancel()
