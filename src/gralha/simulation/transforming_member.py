"""Consume-transform-produce by the members of a group: they share the inputs, and rebalance all the time.

A transaction has the outputs of some inputs of one partition, and the group's offset after them. The offset
is committed with the generation, or the member epoch, in which the inputs were read (KIP-447). If the group
has given the partition to another member since then, the coordinator refuses the offset, and the transaction
is aborted. Each process has a transactional id of its own, so nothing else fences a member that lost its
partitions.

The group is a classic one or a consumer group (KIP-848). A task sends the heartbeats, as in real clients.
"""

import asyncio
from random import Random
from typing import Final

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from gralha.simulation.classic_member import ClassicMember
from gralha.simulation.clients import Bootstrap
from gralha.simulation.consumer_member import ConsumerMember
from gralha.simulation.group_history import GroupEvent
from gralha.simulation.history import Event
from gralha.simulation.members import NO_COORDINATOR
from gralha.simulation.transactional import AbortError, Identity, Transaction, TransactionWorld
from gralha.simulation.transformer import GROUP_ID, TransformerLife

BEAT_S: Final = 0.5
WAIT_S: Final = 0.2
VANISH_CHANCE: Final = 0.5
# The coordinator has given the member's partitions away, or is about to do so.
NOT_A_MEMBER: Final = (
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.FENCED_MEMBER_EPOCH,
)


class _Watched:
    """A `GroupWorld` of members that commit nothing by themselves."""

    def __init__(self, world: TransactionWorld) -> None:
        self._world = world

    def record(self, event: Event) -> None:
        self._world.record(event)

    def record_group(self, event: GroupEvent) -> None:
        """The checks of groups are about commits without transactions."""

    def complain(self, text: str) -> None:
        self._world.complain(text)


class _ClassicMember(ClassicMember):
    async def commit(self, partitions: list[int] | None = None) -> bool:
        return True


class _ConsumerMember(ConsumerMember):
    async def commit(self, partitions: list[int] | None = None) -> bool:
        return True


class TransformingMember(TransformerLife):
    def __init__(
        self,
        identity: Identity,
        number: int,
        bootstrap: Bootstrap,
        topic: str,
        random: Random,
        world: TransactionWorld,
        source: str,
        is_classic: bool,
    ) -> None:
        super().__init__(identity, number, bootstrap, topic, random, world, source, -1)
        kind = _ClassicMember if is_classic else _ConsumerMember
        self.member = kind(self.name, bootstrap, source, random, _Watched(world), GROUP_ID)
        # The generation in which the inputs of the open transaction were read.
        self._read_in: tuple[str, int] = ("", -1)
        self._read_at = -1
        self._must_seek = False
        # The partitions of the member must not change while their offsets are fetched.
        self._turn = asyncio.Lock()

    def positions(self) -> dict[str, int]:
        return {self.member.name_of(one): position for one, position in self.member.positions.items()}

    async def run(self) -> None:
        beating = asyncio.ensure_future(self._beat())
        try:
            await super().run()
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
        if self.is_stopping or self.random.random() >= VANISH_CHANCE:
            await self._leave()

    async def _leave(self) -> None:
        if self.member.epoch >= 0:
            await self.member.leave()

    async def _beat(self) -> None:
        while True:
            async with self._turn:
                await self._take_part()
            if self.member.epoch >= 0:
                await asyncio.sleep(BEAT_S)

    async def _take_part(self) -> None:
        member = self.member
        if not member.leaders:
            await member.back_off()
        elif member._coordinator == NO_COORDINATOR:
            await member._find_coordinator()
        elif member.epoch < 0:
            await member.join()
        else:
            await member.heartbeat()

    async def begun(self) -> None:
        self._must_seek = True

    async def fill(self, transaction: Transaction) -> bool:
        if self._must_seek and not await self._seek():
            return False
        owned = self.member.positions
        if not owned:
            await asyncio.sleep(WAIT_S)
            return False
        self.partition = self.random.choice(sorted(owned))
        self.position = self._read_at = owned[self.partition]
        self._read_in = self.member.member_id, self.member.epoch
        filled = await super().fill(transaction)
        if not filled:
            self._advance(self.position)
        return filled

    async def _seek(self) -> bool:
        """After an abort: go back to the committed offsets of the partitions that the member has."""
        async with self._turn:
            member = self.member
            if member.positions and not await member.begin_at_committed(list(member.positions)):
                await member.back_off()
                return False
            self._must_seek = False
            return True

    def _advance(self, position: int) -> None:
        """Go on after the inputs, if the member still has the partition.

        The epoch of a consumer group may be another one meanwhile. A member that has lost the partition and
        got it back has fetched the committed offset.
        """
        if self.member.positions.get(self.partition) == self._read_at:
            self.member.positions[self.partition] = position

    def offset_request(self) -> TxnOffsetCommitRequest:
        request = super().offset_request()
        request.member_id, request.generation_id = self._read_in
        return request

    def check_code(self, transaction: Transaction, code: int, request: str) -> None:
        if request == "TxnOffsetCommit" and code in NOT_A_MEMBER:
            raise AbortError
        super().check_code(transaction, code, request)

    def ended(self, is_commit: bool) -> None:
        if is_commit:
            self._advance(self._after)
        else:
            self._must_seek = True
