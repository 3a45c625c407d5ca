"""Producer ids, unique in the cluster. A broker takes them from blocks that the controller allocates.

A record in the metadata log reserves a block, so no id is ever handed out twice, whatever crashes. A restart
loses the rest of a block. There are enough ids.
"""

import asyncio
from collections.abc import Awaitable, Callable

from gralha.protocol.errors import CoordinatorLoadInProgressError

Block = tuple[int, int]  # the first id, and the number of ids


class ProducerIds:
    def __init__(self, allocate_block: Callable[[], Awaitable[Block]]) -> None:
        self._allocate_block = allocate_block
        self._next = 0
        self._end = 0
        self._allocating = asyncio.Lock()

    async def ready(self) -> None:
        """Wait until `take` has an id."""
        while self._next == self._end:
            async with self._allocating:
                if self._next == self._end:
                    first, size = await self._allocate_block()
                    self._next, self._end = first, first + size

    def take(self) -> int:
        """The next id. No other producer has it, or will have it.

        Raises COORDINATOR_LOAD_IN_PROGRESS if a block has to be allocated first: see `ready`.
        """
        if self._next == self._end:
            raise CoordinatorLoadInProgressError("No producer id is left: the next ones are being allocated")
        identifier = self._next
        self._next += 1
        return identifier

    async def next(self) -> int:
        """The next id, after a wait if a block has to be allocated."""
        await self.ready()
        return self.take()
