"""Producer ids: never the same twice, whatever comes in between."""

import asyncio

import pytest

from gralha.protocol.errors import CoordinatorLoadInProgressError, NotControllerError
from gralha.transactions.producer_ids import Block, NoProducerIdError, ProducerIds


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
    assert blocks.allocated == 3  # two, and the next one


async def test_an_id_that_is_missing_in_a_decision_is_there_for_the_next_one() -> None:
    """A coordinator that was never asked for an id has none, and cannot wait in the middle of a decision."""
    ids = ProducerIds(Blocks(0))
    with pytest.raises(CoordinatorLoadInProgressError):
        ids.take()
    await asyncio.sleep(0.01)
    assert [ids.take() for _ in range(3)] == [0, 1, 2]
    await asyncio.sleep(0.01)
    assert ids.take() == 3


async def test_without_a_controller_the_next_decision_asks_again() -> None:
    blocks = Blocks(0)
    is_there = False

    async def allocate() -> Block:
        if not is_there:
            raise NotControllerError
        return await blocks()

    ids = ProducerIds(allocate)
    for _ in range(2):
        with pytest.raises(CoordinatorLoadInProgressError):
            ids.take()
        await asyncio.sleep(0.01)
    is_there = True
    with pytest.raises(CoordinatorLoadInProgressError):
        ids.take()
    await asyncio.sleep(0.01)
    assert ids.take() == 0


async def test_those_who_wait_share_an_allocation_that_fails() -> None:
    """Each allocation may wait half a minute for a controller."""
    asked = 0

    async def allocate() -> Block:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        raise NotControllerError

    ids = ProducerIds(allocate)
    errors = await asyncio.gather(*(ids.ready() for _ in range(5)), return_exceptions=True)
    assert [type(error) for error in errors] == [NotControllerError] * 5
    assert asked == 1


async def test_an_unexpected_error_is_logged_and_answered(caplog: pytest.LogCaptureFixture) -> None:
    """Clients ask again after this error. Without it, their connections would end."""

    async def allocate() -> Block:
        await asyncio.sleep(0)
        raise ZeroDivisionError("a bug")

    ids = ProducerIds(allocate)
    answers = await asyncio.gather(ids.ready(), ids.next(), return_exceptions=True)
    assert [type(answer) for answer in answers] == [NoProducerIdError] * 2
    assert "a bug" in caplog.text
    with pytest.raises(NoProducerIdError):
        await ids.next()


async def test_one_who_gives_up_does_not_end_the_allocation_of_the_others() -> None:
    ids = ProducerIds(Blocks(0))
    first, second = (asyncio.ensure_future(ids.next()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == 0
