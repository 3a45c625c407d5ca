"""The background work of the active controller: its beginning, its end, and errors that end the node."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from gralha.broker import active_duties
from gralha.broker.active_duties import ActiveDuties
from gralha.metadata.controller.liveness import SESSION_TIMEOUT_MS
from gralha.metadata.image import MetadataImage
from gralha.metadata.service import ControllerService
from gralha.protocol.errors import PolicyViolationError
from tests.metadata.cluster import context
from tests.metadata.controller.several import Cluster
from tests.raft.virtual_loop import VirtualLoop, run_virtual


class Service:
    """The part of ControllerService that the duties use. Every decision is committed at once."""

    def __init__(self) -> None:
        self.cluster = Cluster(3, [1, 2, 3])
        self.context = context(node_id=100)
        self.error: Exception | None = None
        self.tell: Callable[[bool], None] = lambda _: None

    @property
    def latest_image(self) -> MetadataImage:
        return self.cluster.image

    def subscribe_leadership(self, subscriber: Callable[[bool], None]) -> None:
        self.tell = subscriber

    async def execute(self, decide: Callable[[MetadataImage], object]) -> object:
        if self.error is not None:
            raise self.error
        return self.cluster.take(decide(self.cluster.image))

    @property
    def fenced(self) -> list[int]:
        return [broker.id for broker in self.cluster.image.brokers.values() if broker.fenced]


class Duties:
    def __init__(self, dead: tuple[int, ...] = ()) -> None:
        self.service = Service()
        self.failures: list[BaseException] = []
        self.duties = ActiveDuties(
            cast(ControllerService, self.service), lambda: dead, self.failures.append, lambda: 0
        )


SESSION_S = SESSION_TIMEOUT_MS / 1000


def test_brokers_are_fenced_while_this_node_leads_and_not_before_or_after() -> None:
    async def run() -> None:
        duties = Duties()
        await asyncio.sleep(2 * SESSION_S)
        assert duties.service.fenced == []
        duties.service.tell(True)
        await asyncio.sleep(SESSION_S / 2)
        duties.service.tell(False)
        await asyncio.sleep(2 * SESSION_S)
        assert duties.service.fenced == []
        duties.service.tell(True)
        await asyncio.sleep(SESSION_S + 0.5)
        assert duties.service.fenced == [1, 2, 3]
        duties.duties.close()

    run_virtual(run())


def test_a_node_that_died_before_this_one_led_is_fenced_at_once() -> None:
    async def run() -> None:
        duties = Duties(dead=(2,))
        duties.service.tell(True)
        await asyncio.sleep(0.01)
        assert duties.service.fenced == [2]
        duties.duties.close()

    run_virtual(run())


def test_who_dies_is_fenced_without_waiting_for_the_next_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_duties, "TICK_S", 3600.0)

    async def run() -> None:
        duties = Duties()
        duties.service.tell(True)
        await asyncio.sleep(1)
        duties.service.context.liveness.died(3)
        duties.duties.wake()
        await asyncio.sleep(0.01)
        assert duties.service.fenced == [3]
        duties.duties.close()

    run_virtual(run())


@pytest.mark.parametrize("is_waiting_for_a_commit", [False, True])
def test_while_this_process_stands_still_no_session_ends(is_waiting_for_a_commit: bool) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        duties = Duties()
        duties.service.tell(True)
        await asyncio.sleep(1)
        committed = asyncio.Event()
        if is_waiting_for_a_commit:
            execute = duties.service.execute

            async def wait_and_execute(decide: Callable[[MetadataImage], object]) -> object:
                await committed.wait()
                return await execute(decide)

            duties.service.execute = wait_and_execute  # type: ignore[method-assign]
            duties.service.context.liveness.died(1)
            await asyncio.sleep(0.5)
        loop.now += 100  # SIGSTOP
        committed.set()
        await asyncio.sleep(SESSION_S / 2)
        assert duties.service.fenced == ([1] if is_waiting_for_a_commit else [])
        await asyncio.sleep(SESSION_S)
        assert duties.service.fenced == [1, 2, 3], "their time goes on"
        duties.duties.close()

    run_virtual(run())


def test_a_decision_that_is_refused_comes_up_again() -> None:
    async def run() -> None:
        duties = Duties(dead=(1,))
        duties.service.error = PolicyViolationError()
        duties.service.tell(True)
        await asyncio.sleep(1)
        assert duties.service.fenced == []
        duties.service.error = None
        await asyncio.sleep(1)
        assert duties.service.fenced == [1]
        assert duties.failures == []
        duties.duties.close()

    run_virtual(run())


def test_a_bug_ends_the_node() -> None:
    async def run() -> None:
        duties = Duties()
        duties.service.error = ZeroDivisionError("a bug")
        duties.service.tell(True)
        await asyncio.sleep(SESSION_S + 1)
        assert duties.failures == [duties.service.error]
        duties.duties.close()

    run_virtual(run())
