"""Answers requests: from the state if they read, as the leader if they write, or by asking the leader.

Writes are decided one after another, each on a state that has all records of the earlier ones. If another
instance takes over in the middle of a write, the write is decided again there or here, because it may or may
not have taken effect.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from gralha.registry import errors
from gralha.registry.election import Election, Identity
from gralha.registry.forwarding import Forwarded, Forwarder
from gralha.registry.parsing import Parser
from gralha.registry.registering import Decision
from gralha.registry.state import RegistryState
from gralha.registry.store import FencedError, Store, StoreFailure

Decide = Callable[[RegistryState], Decision]
_PAUSE_S: Final = 0.1
_log: Final = logging.getLogger(__name__)


class Service:
    """One instance of the registry."""

    def __init__(
        self,
        state: RegistryState,
        store: Store,
        identity: Identity,
        forwarder: Forwarder,
        *,
        timeout_ms: int = 10_000,
    ) -> None:
        self.state = state
        self.store = store
        self.identity = identity
        self.parser = Parser()
        self.leader: Identity | None = None
        self.election: Election | None = None
        self._forwarder = forwarder
        self._timeout_s = timeout_ms / 1000
        self._deciding = asyncio.Lock()
        # True while this instance is the leader and its producer has fenced all others.
        self._may_write = False
        self._changed = asyncio.Event()
        # Set when the present leader is not the leader any more.
        self._replaced = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None
        self._wanted: asyncio.Queue[Identity | None] = asyncio.Queue()
        self._leading: asyncio.Task[None] | None = None

    async def start(self, make_election: "Callable[[Callable[[Identity | None], None]], Election]") -> None:
        """Reads the topic, and joins the group meanwhile."""
        loop = asyncio.get_running_loop()

        def learn(leader: Identity | None) -> None:
            loop.call_soon_threadsafe(self._wanted.put_nowait, leader)

        self.election = make_election(learn)
        self.election.start()
        await self.store.start()
        self._leading = asyncio.create_task(self._follow_elections(), name="leading")

    async def follow(self) -> None:
        """Never returns. Raises the error after which this instance cannot go on."""
        assert self._leading is not None
        await asyncio.gather(self._leading, self.store.reading())

    async def stop(self) -> None:
        if self._leading is not None:
            self._leading.cancel()
        if self.election is not None:
            await asyncio.to_thread(self.election.stop)
        await self.store.close()
        await self._forwarder.close()

    @property
    def is_leader(self) -> bool:
        return self._may_write

    @property
    def _leads_by_election(self) -> bool:
        return self.leader is not None and self.leader.url == self.identity.url

    async def write(self, decide: Decide, forwarded: Forwarded) -> Any:
        """Decides on a request and writes its records, or asks the leader to. Returns the answer."""
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        while True:
            attempt = await self._attempt(decide, forwarded)
            if attempt is not None:
                return attempt[0]
            if asyncio.get_running_loop().time() > deadline:
                raise errors.no_leader()
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), _PAUSE_S)
            except TimeoutError:
                continue

    async def _attempt(self, decide: Decide, forwarded: Forwarded) -> tuple[Any] | None:
        """The answer, or None if nobody is known to lead at the moment."""
        if self._may_write:
            try:
                return (await self._decide(decide),)
            except FencedError:
                return None
        leader = self.leader
        if leader is None or self._leads_by_election:
            return None
        if forwarded.is_from_instance:
            # The other instance thinks that this one leads. Forwarding it again could go round in circles.
            return None
        return await self._ask_leader(leader, forwarded)

    async def _ask_leader(self, leader: Identity, forwarded: Forwarded) -> tuple[Any] | None:
        """The leader's answer. None if another instance leads meanwhile: the old one may be paused."""
        asked = asyncio.create_task(self._forwarder.forward(leader.url, forwarded), name="forward")
        replaced = asyncio.create_task(self._replaced.wait(), name="replaced")
        try:
            await asyncio.wait((asked, replaced), return_when=asyncio.FIRST_COMPLETED)
            return (asked.result(),) if asked.done() else None
        finally:
            asked.cancel()
            replaced.cancel()

    async def _decide(self, decide: Decide) -> Any:
        async with self._deciding:
            if not self._may_write:
                raise FencedError
            decision = decide(self.state)
            if decision.records:
                try:
                    await asyncio.shield(self._write(decision))
                except asyncio.CancelledError:
                    # The client has gone. The write goes on, and the next request must not overtake it.
                    if self._writing is not None:
                        await asyncio.wait([self._writing])
                    raise
            return decision.answer

    def _write(self, decision: Decision) -> asyncio.Task[None]:
        self._writing = asyncio.create_task(self._written(decision), name="write")
        return self._writing

    async def _written(self, decision: Decision) -> None:
        try:
            await self.store.write(decision.records)
        except BaseException:
            self._may_write = False
            self._lead_again()
            raise

    def _lead_again(self) -> None:
        """Another instance may lead, so the group is asked before this instance fences it."""
        if self.election is not None:
            self.election.check_now()

    async def _follow_elections(self) -> None:
        """Takes over when this instance is elected. Ends only with the service."""
        while True:
            leader = await self._wanted.get()
            if _url(leader) != _url(self.leader):
                self._replaced.set()
                self._replaced = asyncio.Event()
            self.leader = leader
            if not self._leads_by_election:
                if self._may_write:
                    _log.info("The leader is %s now", "nobody" if leader is None else leader.url)
                self._may_write = False
                self._changed.set()
                continue
            if not self._may_write:
                await self._take_over()

    async def _take_over(self) -> None:
        async with self._deciding:
            try:
                await self.store.lead()
            except (*StoreFailure, errors.RegistryError) as error:
                _log.warning("This instance cannot lead yet: %s", error)
                await asyncio.sleep(_PAUSE_S)
                self._lead_again()
                return
            self._may_write = True
        _log.info("This instance leads")
        self._changed.set()

    def alias(self, subject: str) -> str:
        return self.state.resolve_alias(subject)

    def describe(self) -> Mapping[str, object]:
        return {"leader": _url(self.leader), "position": self.store.position}


def _url(leader: Identity | None) -> str | None:
    return None if leader is None else leader.url
