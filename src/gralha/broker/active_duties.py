"""The background work of the active controller: it fences dead brokers and balances leaders.

The work begins and ends with the leadership of the quorum. A decision that the controller refuses is logged,
and a later tick makes it again. Any other error is a bug and ends the node, so that another controller takes
over: a controller that does not fence any more is worse than none.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from gralha.metadata.controller.active import ActiveController, Decide
from gralha.metadata.service import ControllerService
from gralha.protocol.errors import KafkaError

log = logging.getLogger("gralha.controller")

TICK_S: Final = 0.1
# If a tick is later than this, the process was stopped or its event loop was blocked.
PAUSE_S: Final = 1.0


class ActiveDuties:
    def __init__(
        self,
        service: ControllerService,
        dead_nodes: Callable[[], Iterable[int]],
        on_failure: Callable[[BaseException], None],
        clock: Callable[[], int],
    ) -> None:
        """`dead_nodes` returns the nodes that have died, as this node knows, also before it became active.
        `clock` is the wall-clock time in milliseconds.
        """
        self._service = service
        self._dead_nodes = dead_nodes
        self._on_failure = on_failure
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ran_at = 0.0
        self._wake = asyncio.Event()
        service.subscribe_leadership(self._leadership_changed)

    def wake(self) -> None:
        """Makes the next tick come at once."""
        self._wake.set()

    def close(self) -> None:
        """Ends the work."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _leadership_changed(self, is_active: bool) -> None:
        self.close()
        if is_active:
            loop = asyncio.get_running_loop()
            self._ran_at = loop.time()
            self._beat()
            self._task = loop.create_task(self._run())
            self._task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_failure(error)

    def _beat(self) -> None:
        """Runs all the time, also while the task waits for a commit, so that pauses are noticed."""
        self._note_pause()
        self._wake.set()
        self._timer = asyncio.get_running_loop().call_later(TICK_S, self._beat)

    def _note_pause(self) -> None:
        """A process that does not run hears no heartbeats, so this time must not count for sessions."""
        now = asyncio.get_running_loop().time()
        paused_s = now - self._ran_at - TICK_S
        self._ran_at = now
        if paused_s > PAUSE_S:
            log.warning(
                "this process did not run for %.1f s; all broker sessions are extended by that time", paused_s
            )
            self._service.context.liveness.paused(_to_ms(paused_s))

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        service = self._service
        active = ActiveController(service.latest_image, service.context, _to_ms(loop.time()))
        for node_id in self._dead_nodes():
            service.context.liveness.died(node_id)
        while True:
            self._wake.clear()
            self._note_pause()
            for decide in active.tick(_to_ms(loop.time()), self._clock()):
                await self._decide(decide)
            await self._wake.wait()

    async def _decide(self, decide: Decide) -> None:
        try:
            await self._service.execute(decide)
        except KafkaError as error:
            log.warning("a decision of the controller failed: %s", error.message)


def _to_ms(seconds: float) -> int:
    return int(seconds * 1000)
