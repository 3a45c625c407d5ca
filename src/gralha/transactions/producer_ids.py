"""Producer ids, unique in the cluster. A broker takes them from blocks that the controller allocates.

A record in the metadata log reserves a block, so no id is ever handed out twice, whatever crashes. A restart
loses the rest of a block. There are enough ids.

A coordinator takes ids in the middle of a decision, where it cannot wait. So the next block is allocated
before the present one is used up, and whenever an id is missing. After `NoProducerIdError` the request waits,
and is decided again.
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


class NoProducerIdError(CoordinatorLoadInProgressError):
    def __init__(self) -> None:
        super().__init__("No producer id is left: the next ones are being allocated")


class ProducerIds:
    def __init__(self, allocate_block: Callable[[], Awaitable[Block]]) -> None:
        self._allocate_block = allocate_block
        self._next = 0
        self._end = 0
        self._early = 0  # at this id the next block is allocated
        self._reserve: Block | None = None
        self._allocation: asyncio.Task[None] | None = None

    async def ready(self) -> None:
        """Wait until `take` has an id. All who wait share one allocation, also if it fails."""
        while not self._has_id():
            await asyncio.shield(self._allocate())

    def take(self) -> int:
        """The next id. No other producer has it, or will have it.

        Raises `NoProducerIdError` if there is none yet. The next block is being allocated then.
        """
        if not self._has_id():
            self._allocate()
            raise NoProducerIdError()
        identifier = self._next
        self._next += 1
        if self._next >= self._early and self._reserve is None:
            self._allocate()
        return identifier

    async def next(self) -> int:
        """The next id, after a wait if a block has to be allocated."""
        await self.ready()
        return self.take()

    def _has_id(self) -> bool:
        if self._next == self._end and self._reserve is not None:
            (first, size), self._reserve = self._reserve, None
            self._next, self._end = first, first + size
            self._early = self._end - int(size * LEFT_SHARE)
        return self._next < self._end

    def _allocate(self) -> "asyncio.Task[None]":
        """Allocate the next block, unless that is under way."""
        if self._allocation is None:
            self._allocation = asyncio.ensure_future(self._fill_reserve())
            self._allocation.add_done_callback(self._allocated)
        return self._allocation

    async def _fill_reserve(self) -> None:
        """Raises a KafkaError, which is the answer to all requests that wait."""
        try:
            self._reserve = await self._allocate_block()
        except KafkaError as error:
            # There is no controller. The next one who needs an id tries again.
            log.info("No block of producer ids: %s", error.message)
            raise
        except Exception as error:
            log.exception("No block of producer ids")
            raise NoProducerIdError() from error

    def _allocated(self, allocation: "asyncio.Task[None]") -> None:
        self._allocation = None
        if not allocation.cancelled():
            allocation.exception()  # is logged already, and is not lost if nobody waits
