"""What the active controller does besides answering: fencing the dead, balancing leaders."""

import asyncio
import logging
from typing import Final

from gralha.metadata.controller.active import ActiveController, Decide
from gralha.metadata.service import ControllerService
from gralha.protocol.errors import KafkaError

log = logging.getLogger("gralha.controller")

TICK_S: Final = 0.1


class ActiveDuties:
    """Begins and ends with the leadership of the quorum."""

    def __init__(self, service: ControllerService) -> None:
        self._service = service
        self._task: asyncio.Task[None] | None = None
        service.subscribe_leadership(self._leadership_changed)

    def _leadership_changed(self, is_active: bool) -> None:
        self.close()
        if is_active:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def close(self) -> None:
        """Do no more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        service = self._service
        active = ActiveController(service.latest_image, service.context, int(loop.time() * 1000))
        while True:
            for decide in active.tick(int(loop.time() * 1000)):
                await self._decide(decide)
            await asyncio.sleep(TICK_S)

    async def _decide(self, decide: Decide) -> None:
        try:
            await self._service.execute(decide)
        except KafkaError as error:
            log.warning("a decision of the controller failed: %s", error.message)
