"""Producer ids: never the same twice, whatever comes in between."""

import asyncio

from gralha.transactions.producer_ids import Block, ProducerIds


class Blocks:
    """A controller that hands out blocks of three."""

    def __init__(self, first: int) -> None:
        self.next = first
        self.allocated = 0

    async def __call__(self) -> Block:
        await asyncio.sleep(0)
        self.allocated += 1
        self.next += 3
        return self.next - 3, 3


async def test_ids_follow_each_other_over_blocks() -> None:
    ids = ProducerIds(Blocks(1000))
    assert [await ids.next() for _ in range(7)] == list(range(1000, 1007))


async def test_askers_at_the_same_time_share_a_block() -> None:
    blocks = Blocks(0)
    ids = ProducerIds(blocks)
    found = await asyncio.gather(*(ids.next() for _ in range(6)))
    assert sorted(found) == list(range(6))
    assert blocks.allocated == 2
