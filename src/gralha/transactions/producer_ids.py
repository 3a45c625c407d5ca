"""Producer ids, unique in the cluster. A broker takes them from blocks that the controller allocates.

A record in the metadata log reserves a block, so no id is ever handed out twice, whatever crashes. A restart
loses the rest of a block. There are enough ids.

A coordinator takes ids in the middle of a decision, where it cannot wait. So the next block is allocated
before the present one is used up, and whenever an id is missing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from gralha.protocol.errors import CoordinatorLoadInProgressError, KafkaError

log = logging.getLogger("gralha.transactions")

Block = tuple[int, int]  # the first id, and the number of ids

# The next block is allocated when this share of the ids of a block is left.
LEFT_SHARE: Final = 0.1


class ProducerIds:
    def __init__(self, allocate_block: Callable[[], Awaitable[Block]]) -> None:
        self._allocate_block = allocate_block
        self._next = 0
        self._end = 0
        self._early = 0  # at this id the next block is allocated
        self._reserve: Block | None = None
        self._allocating = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None  # allocates a block that nobody waits for

    async def ready(self) -> None:
        """Wait until `take` has an id."""
        while not self._has_id():
            async with self._allocating:
                if not self._has_id():
                    self._begin_block(await self._allocate_block())

    def take(self) -> int:
        """The next id. No other producer has it, or will have it.

        Raises COORDINATOR_LOAD_IN_PROGRESS if there is none yet. The next block is being allocated then.
        """
        if not self._has_id():
            self._allocate_soon()
            raise CoordinatorLoadInProgressError("No producer id is left: the next ones are being allocated")
        identifier = self._next
        self._next += 1
        if self._next >= self._early and self._reserve is None:
            self._allocate_soon()
        return identifier

    async def next(self) -> int:
        """The next id, after a wait if a block has to be allocated."""
        await self.ready()
        return self.take()

    def _has_id(self) -> bool:
        if self._next == self._end and self._reserve is not None:
            reserve, self._reserve = self._reserve, None
            self._begin_block(reserve)
        return self._next < self._end

    def _begin_block(self, block: Block) -> None:
        first, size = block
        self._next, self._end = first, first + size
        self._early = self._end - int(size * LEFT_SHARE)

    def _allocate_soon(self) -> None:
        if self._task is None:
            self._task = asyncio.ensure_future(self._fill_reserve())

    async def _fill_reserve(self) -> None:
        try:
            async with self._allocating:
                if self._reserve is None:
                    self._reserve = await self._allocate_block()
        except KafkaError as error:
            # There is no controller. The next `take` tries again.
            log.info("No block of producer ids: %s", error.message)
        finally:
            self._task = None
