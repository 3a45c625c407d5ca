"""The simulated consumer: it reads each partition from its start, and records what it saw.

Half of the consumers use fetch sessions (KIP-227). Sometimes a consumer asks for the end of partitions first.
A fetch from the same leader must then return the records before that end. For a reader of committed records
the end is the last stable offset.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final, cast

from gralha.protocol.errors import ErrorCode
from gralha.protocol.fetch_numbers import READ_COMMITTED, READ_UNCOMMITTED
from gralha.protocol.messages.fetch import FetchResponse, PartitionData
from gralha.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from gralha.protocol.records import Record
from gralha.protocol.special_timestamps import EARLIEST, LATEST
from gralha.simulation.clients import FETCH_VERSION, REQUEST_TIMEOUT_MS, Bootstrap, Client
from gralha.simulation.fetch_session import FetchSession, Wanted, fetch_request
from gralha.simulation.history import Event, Poll, Seek
from gralha.simulation.reading import read_records

ENDS_CHANCE: Final = 0.2
SESSION_CHANCE: Final = 0.5
MAX_WAIT_MS: Final = 500


def text_of(record: Record) -> str:
    """The value of a record in the history. For a tombstone it has the key and the offset."""
    if record.value is None:
        return f"{(record.key or b'').decode()}=deleted@{record.offset}"
    return record.value.decode()


class Consumer(Client):
    def __init__(
        self,
        name: str,
        bootstrap: Bootstrap,
        topic: str,
        random: Random,
        record: Callable[[Event], None],
        complain: Callable[[str], None],
        reads_committed: bool = False,
    ) -> None:
        super().__init__(name, bootstrap, topic, random)
        self.reads_committed = reads_committed
        self._isolation_level = READ_COMMITTED if reads_committed else READ_UNCOMMITTED
        self.ends: dict[int, int] = {}
        self._complain = complain
        self.positions: dict[int, int] = {}
        # After a request to stop: the partitions that were read to their end.
        self.finished: dict[int, None] = {}
        self._record = record
        self._sessions: dict[int, FetchSession] | None = {} if random.random() < SESSION_CHANCE else None
        # Partitions whose log begins after this consumer's position.
        self._too_old: list[int] = []

    async def run(self) -> None:
        while not self.leaders:
            await self.back_off()
        self.positions = dict.fromkeys(sorted(self.leaders), 0)
        while len(self.finished) < len(self.positions):
            by_leader: dict[int, list[int]] = {}
            for partition, (leader, _) in sorted(self.leaders.items()):
                if leader >= 0:
                    by_leader.setdefault(leader, []).append(partition)
            results = await asyncio.gather(*(self._fetch(*one) for one in by_leader.items()))
            is_complete = sum(map(len, by_leader.values())) == len(self.leaders)
            if not all(results) or not is_complete:
                await self.back_off()

    async def _fetch(self, leader: int, partitions: list[int]) -> bool:
        """Fetch once from one leader. Returns whether there was no error."""
        loop = asyncio.get_running_loop()
        begun_at = loop.time()
        was_stopping = self.is_stopping
        await self._find_starts(leader, partitions)
        told: dict[int, int] = {}
        if self.random.random() < ENDS_CHANCE:
            told = await self._ask_for_ends(leader, partitions)
        known = self._known_ends(partitions)
        wanted = {one: Wanted(self.leaders[one][1], self.positions[one]) for one in partitions}
        response = await self._ask_for_records(leader, wanted, was_stopping)
        if response is None or response.error_code:
            return False
        answers = {one.partition_index: one for topic in response.responses for one in topic.partitions}
        self._look_for(told, wanted, answers)
        for answer in answers.values():
            if not answer.error_code:
                self._note_watermark(answer, known[answer.partition_index])
            self._take(answer, begun_at, loop.time(), was_stopping)
        return not any(answer.error_code for answer in answers.values())

    async def _ask_for_records(
        self, leader: int, wanted: dict[int, Wanted], was_stopping: bool
    ) -> FetchResponse | None:
        # A response in a session leaves out partitions without news, but a stopping consumer must see the
        # end.
        if self._sessions is None or was_stopping:
            request = fetch_request(self.topic, wanted, MAX_WAIT_MS, self._isolation_level)
            return cast("FetchResponse | None", await self.ask(leader, request, FETCH_VERSION))
        session = self._sessions.setdefault(leader, FetchSession(self.topic, self._isolation_level))
        request = session.request(wanted, MAX_WAIT_MS)
        response = cast("FetchResponse | None", await self.ask(leader, request, FETCH_VERSION))
        session.answered(response)
        return response

    def _look_for(
        self, told: dict[int, int], wanted: dict[int, Wanted], answers: dict[int, PartitionData]
    ) -> None:
        """Complain if the leader has told an end, but did not return the records before it."""
        for partition, end in told.items():
            answer = answers.get(partition)
            if (
                end <= wanted[partition].offset
                or wanted[partition].leader_epoch != self.leaders[partition][1]
            ):
                continue
            if answer is None or (not answer.error_code and not (answer.records and answer.records.size())):
                now = asyncio.get_running_loop().time()
                self._complain(
                    f"missing-records: {self.name} asked for offset {wanted[partition].offset} of "
                    f"{self.topic}-{partition} at {now:.3f} and got none, though the end is {end}"
                )

    def _take(self, answer: PartitionData, begun_at: float, now: float, was_stopping: bool) -> None:
        partition = answer.partition_index
        name = f"{self.topic}-{partition}"
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._too_old.append(partition)
        if answer.error_code:
            return
        records, self.positions[partition] = read_records(
            answer, self.positions[partition], self.reads_committed
        )
        if records:
            found = tuple((int(record.offset), text_of(record)) for record in records)
            self._record(Poll(self.name, name, found, begun_at, now, self.reads_committed))
        if was_stopping and self.positions[partition] >= self._end_in(answer):
            self.finished[partition] = None

    def _end_in(self, answer: PartitionData) -> int:
        """Up to where this consumer may read."""
        return answer.last_stable_offset if self.reads_committed else answer.high_watermark

    async def _offsets(self, leader: int, partitions: list[int], timestamp: int) -> dict[int, int]:
        parts = [
            ListOffsetsPartition(partition, self.leaders[partition][1], timestamp) for partition in partitions
        ]
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=self._isolation_level,
            topics=[ListOffsetsTopic(self.topic, parts)],
            timeout_ms=REQUEST_TIMEOUT_MS,
        )
        response = cast("ListOffsetsResponse | None", await self.ask(leader, request))
        answers = response.topics[0].partitions if response else []
        return {answer.partition_index: answer.offset for answer in answers if not answer.error_code}

    async def _find_starts(self, leader: int, partitions: list[int]) -> None:
        """Seek to the start of logs that begin after this consumer's position."""
        lost = [one for one in partitions if one in self._too_old]
        if not lost:
            return
        for partition, offset in (await self._offsets(leader, lost, EARLIEST)).items():
            self._too_old.remove(partition)
            self.positions[partition] = offset
            self._record(Seek(self.name, f"{self.topic}-{partition}", asyncio.get_running_loop().time()))

    async def _ask_for_ends(self, leader: int, partitions: list[int]) -> dict[int, int]:
        """Ask the leader for end offsets. They must not go back, because Spark would fail."""
        known = self._known_ends(partitions)
        told = await self._offsets(leader, partitions, LATEST)
        for partition, end in told.items():
            self._note_end(partition, end, known)
        return told

    def _known_ends(self, partitions: list[int]) -> dict[int, int]:
        return {one: max(self.ends.get(one, 0), self.positions[one]) for one in partitions}

    def _note_watermark(self, answer: PartitionData, known: int) -> None:
        """Complain if an old end makes this consumer believe that it is at the end."""
        partition, records = answer.partition_index, answer.records
        is_empty = records is None or records.size() == 0
        end = self._end_in(answer)
        if is_empty and end <= self.positions[partition] < known:
            self._complain_of_end(partition, known, end)
        self.ends[partition] = max(self.ends.get(partition, 0), end)

    def _complain_of_end(self, partition: int, known: int, told: int) -> None:
        now = asyncio.get_running_loop().time()
        name = f"{self.topic}-{partition}"
        self._complain(f"{self.name} saw the end of {name} go from {known} to {told} at {now:.3f}")

    def _note_end(self, partition: int, end: int, known: dict[int, int]) -> None:
        """Complain if an end is before the known one."""
        if end < known[partition]:
            self._complain_of_end(partition, known[partition], end)
        self.ends[partition] = end
