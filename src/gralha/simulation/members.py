"""The base of members of both kinds of groups: find the coordinator, read owned partitions, commit.

A member begins at the committed offset of a partition. It reads in fetch sessions and commits about every
second. After a while it leaves the group, or ends without leaving, and another member replaces it. With
`stays` a member lives until the end of the run. Processes are named `group/member.life`.

`classic_member.py` and `consumer_member.py` add the protocols of groups.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final, Protocol, cast

from gralha.protocol.batches import batches
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.fetch import FetchResponse, PartitionData
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from gralha.protocol.records import decode_records
from gralha.simulation.clients import FETCH_VERSION, Bootstrap, Client
from gralha.simulation.fetch_session import FetchSession, Wanted
from gralha.simulation.group_history import Commit, Fetched, GroupEvent, Owned
from gralha.simulation.history import Event, Outcome, Poll, Seek

SESSION_S: Final = 6.0
REBALANCE_S: Final = 10.0
HEARTBEAT_S: Final = 1.0
COMMIT_S: Final = (0.5, 2.0)
LIFE_S: Final = (3.0, 25.0)
REST_S: Final = (0.0, 3.0)
VANISH_CHANCE: Final = 0.3
# The process sometimes pauses for this long.
PAUSE_CHANCE: Final = 0.01
PAUSE_S: Final = (4.0, 12.0)
# A member must not miss its heartbeats because a broker is slow.
MEMBER_TIMEOUT_MS: Final = 1_500
NO_COORDINATOR: Final = -10_000
# Versions that have topic names, not topic ids.
COMMIT_VERSION: Final = 9
OFFSET_FETCH_VERSION: Final = 9
# After these errors the member is still in its group.
COORDINATOR_MOVED: Final = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


class GroupWorld(Protocol):
    """Collects what members see."""

    def record(self, event: Event) -> None: ...

    def record_group(self, event: GroupEvent) -> None: ...

    def complain(self, text: str) -> None: ...


class GroupMember(Client):
    # Members of consumer groups send their id and epoch in OffsetFetch.
    is_classic = True

    def __init__(
        self, name: str, bootstrap: Bootstrap, topic: str, random: Random, world: GroupWorld, group: str
    ) -> None:
        super().__init__(name, bootstrap, topic, random)
        self.group = group
        self.world = world
        self.stays = False
        self.member_id = ""
        # The generation in a classic group, the member epoch in a consumer group.
        self.epoch = -1
        self.positions: dict[int, int] = {}
        self.committed: dict[int, int] = {}
        self.joined = 0
        self._lives = 0
        self._coordinator = NO_COORDINATOR
        self._sessions: dict[int, FetchSession] = {}
        self._heartbeat_at = 0.0
        self._commit_at = 0.0

    @property
    def process(self) -> str:
        return f"{self.group}/{self.name}.{self._lives}"

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    # The life of a member

    async def run(self) -> None:
        while not self.is_stopping:
            self._lives += 1
            ends_at = self.now + self.random.uniform(*LIFE_S)
            self.member_id = ""
            await self._live(lambda: self.is_stopping or (not self.stays and self.now >= ends_at))  # noqa: B023
            self.drop_all()
            self.epoch = -1
            if not self.is_stopping:
                await asyncio.sleep(self.random.uniform(*REST_S))

    async def _live(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            if not self.leaders:
                await self.back_off()
            elif self._coordinator == NO_COORDINATOR:
                await self._find_coordinator()
            elif self.epoch < 0:
                await self.join()
            else:
                await self._work()
        if self.epoch >= 0 and (self.is_stopping or self.random.random() >= VANISH_CHANCE):
            await self.commit()
            await self.leave()

    async def _work(self) -> None:
        if self.random.random() < PAUSE_CHANCE:
            await asyncio.sleep(self.random.uniform(*PAUSE_S))
            await self.commit()
        if self.epoch >= 0 and self.now >= self._heartbeat_at:
            self._heartbeat_at = self.now + HEARTBEAT_S
            await self.heartbeat()
        if self.epoch >= 0 and self.positions:
            await self._read()
        elif self.epoch >= 0:
            await asyncio.sleep(0.3)
        if self.epoch >= 0 and self.now >= self._commit_at:
            self._commit_at = self.now + self.random.uniform(*COMMIT_S)
            await self.commit()

    async def join(self) -> None:
        raise NotImplementedError

    async def heartbeat(self) -> None:
        raise NotImplementedError

    async def leave(self) -> None:
        raise NotImplementedError

    def lost(self, partition: int) -> None:
        """The member does not own a partition any more."""
        self.positions.pop(partition, None)

    def drop_all(self) -> None:
        for partition in list(self.positions):
            self.lost(partition)

    # The coordinator

    async def ask_coordinator(
        self, request: Message, version: int | None = None, timeout_ms: int = MEMBER_TIMEOUT_MS
    ) -> Message | None:
        if self._coordinator == NO_COORDINATOR:
            return None
        answer = await self.ask(self._coordinator, request, version, timeout_ms)
        if answer is None:
            self._coordinator = NO_COORDINATOR
        return answer

    def has_moved(self, error_code: int) -> bool:
        """Whether another broker is, or may be, the coordinator."""
        if error_code not in COORDINATOR_MOVED:
            return False
        self._coordinator = NO_COORDINATOR
        return True

    async def _find_coordinator(self) -> None:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[self.group])
        answer = cast(
            "FindCoordinatorResponse | None",
            await self.ask(self.any_node(), request, None, MEMBER_TIMEOUT_MS),
        )
        if answer is None or answer.coordinators[0].error_code:
            await self.back_off()
            return
        found = answer.coordinators[0]
        self.know_address(found.node_id, (found.host, found.port))
        self._coordinator = found.node_id
        await asyncio.sleep(self.random.uniform(0, 0.1))

    # Reading

    async def begin_at_committed(self, partitions: list[int]) -> bool:
        """Fetch the committed offsets and begin there. Returns whether the offsets are known."""
        begun_at = self.now
        topics = [OffsetFetchRequestTopics(name=self.topic, partition_indexes=partitions)]
        group = OffsetFetchRequestGroup(self.group, self.member_id, self.epoch, topics)
        if self.is_classic:
            group = OffsetFetchRequestGroup(self.group, topics=topics)
        request = OffsetFetchRequest(groups=[group], require_stable=True)
        answer = cast("OffsetFetchResponse | None", await self.ask_coordinator(request, OFFSET_FETCH_VERSION))
        if answer is None or answer.groups[0].error_code:
            self.has_moved(0 if answer is None else answer.groups[0].error_code)
            return False
        found = {one.partition_index: one for one in answer.groups[0].topics[0].partitions}
        if any(one.error_code for one in found.values()):
            return False
        for index, one in found.items():
            name = self.name_of(index)
            self.world.record_group(
                Fetched(self.process, self.group, name, one.committed_offset, begun_at, self.now)
            )
            self.positions[index] = max(one.committed_offset, 0)
            self.committed[index] = one.committed_offset
            self.world.record(Seek(self.process, name, self.now))
        return True

    def name_of(self, partition: int) -> str:
        return f"{self.topic}-{partition}"

    async def _read(self) -> None:
        by_leader: dict[int, dict[int, Wanted]] = {}
        for partition, position in self.positions.items():
            leader, epoch = self.leaders[partition]
            if leader >= 0:
                by_leader.setdefault(leader, {})[partition] = Wanted(epoch, position)
        results = await asyncio.gather(*(self._fetch(*one) for one in by_leader.items()))
        if not all(results) or not by_leader:
            await self.back_off()

    async def _fetch(self, leader: int, wanted: dict[int, Wanted]) -> bool:
        begun_at = self.now
        session = self._sessions.setdefault(leader, FetchSession(self.topic))
        request = session.request(wanted, 300)
        response = cast(
            "FetchResponse | None", await self.ask(leader, request, FETCH_VERSION, MEMBER_TIMEOUT_MS)
        )
        session.answered(response)
        if response is None or response.error_code:
            return False
        answers = [one for topic in response.responses for one in topic.partitions]
        for answer in answers:
            if not answer.error_code and answer.partition_index in self.positions:
                self._take(answer, begun_at)
        return not any(answer.error_code for answer in answers)

    def _take(self, answer: PartitionData, begun_at: float) -> None:
        index = answer.partition_index
        position = self.positions[index]
        found: list[tuple[int, str]] = []
        data = answer.records
        if data is None:
            return
        for place, header in batches(data.data, data.start, data.end):
            if not header.is_control:
                found += [
                    (int(record.offset), (record.value or b"").decode())
                    for record in decode_records(data.data, place, header)
                    if record.offset >= position
                ]
            self.positions[index] = max(self.positions[index], int(header.next_offset))
        if found:
            self.world.record(Poll(self.process, self.name_of(index), tuple(found), begun_at, self.now))

    # Committing

    async def commit(self, partitions: list[int] | None = None) -> bool:
        """Commit the positions. Returns False if the coordinator does not know the member."""
        offsets = {
            one: position
            for one, position in self.positions.items()
            if self.committed.get(one) != position and (partitions is None or one in partitions)
        }
        if not offsets or self._coordinator == NO_COORDINATOR:
            return True
        begun_at = self.now
        parts = [OffsetCommitRequestPartition(one, offset) for one, offset in offsets.items()]
        request = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=self.epoch,
            member_id=self.member_id,
            topics=[OffsetCommitRequestTopic(name=self.topic, partitions=parts)],
        )
        answer = cast("OffsetCommitResponse | None", await self.ask_coordinator(request, COMMIT_VERSION))
        codes = (
            {}
            if answer is None
            else {one.partition_index: one.error_code for topic in answer.topics for one in topic.partitions}
        )
        for one, offset in offsets.items():
            code = codes.get(one)
            outcome = Outcome.UNKNOWN
            if code == ErrorCode.NONE:
                outcome = Outcome.OK
                self.committed[one] = offset
            self.world.record_group(
                Commit(self.process, self.group, self.name_of(one), offset, begun_at, self.now, outcome)
            )
        return self.commit_answered(next((code for code in codes.values() if code), 0))

    def commit_answered(self, error_code: int) -> bool:
        self.has_moved(error_code)
        return True

    def record_owned(self, partition: int, generation: int | None, since: float, until: float) -> None:
        name = self.name_of(partition)
        self.world.record_group(Owned(self.process, self.group, name, generation, since, until))
