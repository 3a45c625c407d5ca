"""The other nodes that are connected with this one, and those that have died.

A node has several connections with another one: for heartbeats, for the metadata log, for forwarded requests,
for replication. A connection that ends says little about the process behind it: servers close idle
connections, clients give up slow ones, routers forget some. So a node becomes suspect only when the other
side has closed its last connection. This node then connects to the addresses where the suspect listens:

    every address refuses        the process has ended; that is reported at once, long before any timeout
    somebody answers             the process lives
    anything else (silence)      the process may hang, or the network may be cut: the timeouts decide

A process that is about to end may close its connections first and answer for a moment longer. So this node
looks a few times more, with growing pauses, until the suspect connects again.

An address may belong to a proxy, which accepts a connection and closes it again because nobody listens behind
it. So a connection that ends before its first answer counts as a refusal when that happens twice.

The class does no I/O itself: `look` connects to an address (`peers.look_for_life` in a real node).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Final

log = logging.getLogger("gralha.broker")

Address = tuple[str, int]

# The pause before the second look at an address that closed the first connection.
SECOND_LOOK_S: Final = 0.1
# The pauses after looks that did not find the process dead.
PAUSES_S: Final = (0.2, 0.4, 0.8, 1.6, 3.2)


class Life(Enum):
    """The result of an attempt to connect to an address."""

    ANSWERED = auto()
    REFUSED = auto()
    CLOSED = auto()  # accepted, and closed before the first answer
    SILENT = auto()


class Presence:
    """The connections of this node with others, by the other node's id."""

    def __init__(
        self,
        addresses_of: Callable[[int], list[Address]],
        look: Callable[[Address], Awaitable[Life]],
        on_lost: Callable[[int], None],
        on_death: Callable[[int], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        """`on_lost` is called for every suspect, `on_death` for nodes whose process has ended.

        `on_failure` is called when a search breaks down, and ends this node.
        """
        self._addresses_of = addresses_of
        self._look = look
        self._on_lost = on_lost
        self._on_death = on_death
        self._on_failure = on_failure
        # Nodes whose process has ended, and which were not heard since.
        self.dead: set[int] = set()
        self._connections: dict[int, set[object]] = {}
        self._searches: dict[int, asyncio.Task[None]] = {}

    def connected(self, node_id: int, connection: object) -> None:
        """A connection with a node is open, and the node was heard on it."""
        self._connections.setdefault(node_id, set()).add(connection)
        self.alive(node_id)

    def alive(self, node_id: int) -> None:
        """A node lives, as other nodes report."""
        self.dead.discard(node_id)
        self._end_search(node_id)

    def disconnected(self, node_id: int, connection: object, closed_here: bool) -> None:
        """A connection with a node has ended. Unknown connections are ignored."""
        connections = self._connections.get(node_id)
        if connections is None or connection not in connections:
            return
        connections.remove(connection)
        if connections:
            return
        del self._connections[node_id]
        if not closed_here:
            self._on_lost(node_id)
            self._begin_search(node_id)

    def close(self) -> None:
        """Ends all searches."""
        for node_id in list(self._searches):
            self._end_search(node_id)

    def _begin_search(self, node_id: int) -> None:
        self._end_search(node_id)
        search = asyncio.get_running_loop().create_task(self._search(node_id))
        search.add_done_callback(self._searched)
        self._searches[node_id] = search

    def _end_search(self, node_id: int) -> None:
        search = self._searches.pop(node_id, None)
        if search is not None:
            search.cancel()

    def _searched(self, search: asyncio.Task[None]) -> None:
        if not search.cancelled() and (error := search.exception()) is not None:
            self._on_failure(error)

    async def _search(self, node_id: int) -> None:
        is_dead = await self._is_dead(node_id)
        for pause_s in PAUSES_S:
            if is_dead:
                break
            await asyncio.sleep(pause_s)
            is_dead = await self._is_dead(node_id)
        del self._searches[node_id]
        if is_dead:
            log.info("the process of node %d has ended: its addresses refuse connections", node_id)
            self.dead.add(node_id)
            self._on_death(node_id)

    async def _is_dead(self, node_id: int) -> bool:
        addresses = self._addresses_of(node_id)
        signs = await asyncio.gather(*(self._look_twice(address) for address in addresses))
        return bool(signs) and all(sign is Life.REFUSED for sign in signs)

    async def _look_twice(self, address: Address) -> Life:
        sign = await self._look(address)
        if sign is Life.CLOSED:
            await asyncio.sleep(SECOND_LOOK_S)
            sign = await self._look(address)
        return Life.REFUSED if sign is Life.CLOSED else sign
