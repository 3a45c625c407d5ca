"""Producer ids: unique in the cluster, handed out from blocks that the controller gives.

A block is reserved by a record in the metadata log, so no id is ever handed out twice, whatever crashes.
What is left of a block is lost with a restart; there are enough of them.
"""

import asyncio
from collections.abc import Awaitable, Callable

Block = tuple[int, int]  # the first id, and how many there are


class ProducerIds:
    def __init__(self, allocate_block: Callable[[], Awaitable[Block]]) -> None:
        self._allocate_block = allocate_block
        self._next = 0
        self._end = 0
        self._allocating = asyncio.Lock()

    async def next(self) -> int:
        """An id that nobody else has or will have."""
        while self._next == self._end:
            async with self._allocating:
                if self._next == self._end:
                    first, size = await self._allocate_block()
                    self._next, self._end = first, first + size
        identifier = self._next
        self._next += 1
        return identifier
