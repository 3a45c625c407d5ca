"""When a node is suspected, and when a suspect counts as dead."""

import asyncio
from collections.abc import Callable

import pytest

from gralha.broker import presence
from gralha.broker.presence import Address, Life, Presence

BROKER: Address = ("host", 9092)
CONTROLLER: Address = ("host", 9093)


class Neighbourhood:
    """Node 2, at two addresses that show what they are told to, one look after the other."""

    def __init__(self) -> None:
        self.signs: dict[Address, list[Life]] = {BROKER: [Life.REFUSED], CONTROLLER: [Life.REFUSED]}
        self.suspects: list[int] = []
        self.dead: list[int] = []
        self.failures: list[BaseException] = []
        self.presence = Presence(
            lambda _: list(self.signs),
            self._look,
            self.suspects.append,
            self.dead.append,
            self.failures.append,
        )

    async def _look(self, address: Address) -> Life:
        await asyncio.sleep(0)
        return self.signs[address].pop(0)

    async def settled(self, is_done: Callable[[], bool]) -> None:
        """Let the search go on for a while."""
        while not is_done():
            await asyncio.sleep(0.01)

    @property
    def searches(self) -> int:
        return len(self.presence._searches)


@pytest.fixture
async def neighbourhood() -> Neighbourhood:
    return Neighbourhood()


async def search(neighbourhood: Neighbourhood) -> None:
    """Node 2 connects once and closes that connection."""
    neighbourhood.presence.connected(2, "lane")
    neighbourhood.presence.disconnected(2, "lane", closed_here=False)
    await neighbourhood.settled(lambda: neighbourhood.searches == 0)


async def test_a_node_that_nobody_listens_for_is_dead(neighbourhood: Neighbourhood) -> None:
    await search(neighbourhood)
    assert (neighbourhood.suspects, neighbourhood.dead) == ([2], [2])
    assert neighbourhood.presence.dead == {2}


LOOKS = 1 + len(presence.PAUSES_S)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "PAUSES_S", (0.0,) * len(presence.PAUSES_S))
    monkeypatch.setattr(presence, "SECOND_LOOK_S", 0.0)


@pytest.mark.parametrize("sign", [Life.ANSWERED, Life.SILENT])
async def test_a_node_that_may_live_is_not_dead(neighbourhood: Neighbourhood, sign: Life) -> None:
    neighbourhood.signs = {BROKER: [Life.REFUSED] * LOOKS, CONTROLLER: [sign] * LOOKS}
    await search(neighbourhood)
    assert (neighbourhood.suspects, neighbourhood.dead) == ([2], [])
    assert neighbourhood.presence.dead == set()


async def test_a_connection_that_ends_before_an_answer_is_tried_twice(neighbourhood: Neighbourhood) -> None:
    neighbourhood.signs = {BROKER: [Life.CLOSED, Life.CLOSED], CONTROLLER: [Life.CLOSED, Life.REFUSED]}
    await search(neighbourhood)
    assert neighbourhood.dead == [2]
    neighbourhood.signs = {BROKER: [Life.CLOSED, Life.ANSWERED] * LOOKS}
    await search(neighbourhood)
    assert neighbourhood.dead == [2], "the second time it lives"


async def test_a_node_that_answers_a_last_time_and_ends_is_dead(neighbourhood: Neighbourhood) -> None:
    neighbourhood.signs = {CONTROLLER: [Life.ANSWERED, Life.SILENT, Life.REFUSED]}
    await search(neighbourhood)
    assert neighbourhood.dead == [2]


async def test_a_node_whose_address_is_not_known_is_not_dead(neighbourhood: Neighbourhood) -> None:
    neighbourhood.signs = {}
    await search(neighbourhood)
    assert (neighbourhood.suspects, neighbourhood.dead) == ([2], [])


async def test_only_the_last_connection_counts(neighbourhood: Neighbourhood) -> None:
    connections = neighbourhood.presence
    for lane in ("one", "other", "third"):
        connections.connected(2, lane)
    connections.disconnected(2, "one", closed_here=False)
    connections.disconnected(2, "never up", closed_here=False)
    connections.disconnected(2, "other", closed_here=True)
    assert neighbourhood.suspects == []
    connections.disconnected(2, "third", closed_here=False)
    assert neighbourhood.suspects == [2]
    connections.close()


async def test_a_connection_that_this_side_closes_makes_nobody_suspect(neighbourhood: Neighbourhood) -> None:
    neighbourhood.presence.connected(2, "lane")
    neighbourhood.presence.disconnected(2, "lane", closed_here=True)
    assert (neighbourhood.suspects, neighbourhood.searches) == ([], 0)


async def test_a_node_that_connects_again_ends_the_search(neighbourhood: Neighbourhood) -> None:
    connections = neighbourhood.presence
    connections.connected(2, "lane")
    connections.disconnected(2, "lane", closed_here=False)
    connections.connected(2, "next")
    assert neighbourhood.searches == 0
    for _ in range(5):
        await asyncio.sleep(0)
    assert neighbourhood.dead == []


async def test_a_dead_node_that_is_heard_of_lives_again(neighbourhood: Neighbourhood) -> None:
    await search(neighbourhood)
    neighbourhood.presence.alive(2)
    assert neighbourhood.presence.dead == set()


async def test_a_search_that_breaks_down_is_reported(neighbourhood: Neighbourhood) -> None:
    neighbourhood.signs = {BROKER: []}  # the look raises an IndexError
    neighbourhood.presence.connected(2, "lane")
    neighbourhood.presence.disconnected(2, "lane", closed_here=False)
    await neighbourhood.settled(lambda: bool(neighbourhood.failures))
    assert [type(error) for error in neighbourhood.failures] == [IndexError]
    assert neighbourhood.dead == []
