"""Clients inside the simulation: a producer and a consumer that behave as real ones do, and write down what
they did and saw.

The producer is idempotent with acks=all: each partition has a few batches under way at once, a batch without
a good answer is sent again with its sequence numbers until the delivery times out, and what then became of it
is unknown. The consumer follows each partition from its start. Both find leaders by asking for metadata anew
after every trouble.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final, cast

from gralha.broker.peers import Address, PeerConnections
from gralha.protocol.batches import batches
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from gralha.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from gralha.protocol.peers import PeerError
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, decode_records, encode_batch
from gralha.simulation.history import Event, Outcome, Poll, Seek, Send

REQUEST_TIMEOUT_MS: Final = 5_000
DELIVERY_TIMEOUT_S: Final = 30.0
BACKOFF_S: Final = (0.05, 0.15)
# Versions that name topics by their names.
PRODUCE_VERSION: Final = 12
FETCH_VERSION: Final = 12
# Answers after which a batch is in no log for certain, if all its answers were such.
REFUSALS: Final = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.CORRUPT_MESSAGE,
)
# Without an answer, and without one that counts.
NO_ANSWER: Final = -2


class Client:
    """What a client knows of the cluster."""

    def __init__(self, name: str, bootstrap: list[Address], topic: str, random: Random) -> None:
        self.name = name
        self.topic = topic
        self.random = random
        self.leaders: dict[int, tuple[int, int]] = {}  # by partition: the leader and its epoch
        self.is_stopping = False
        self._bootstrap = bootstrap
        self._addresses: dict[int, Address] = {}
        self.peers = PeerConnections(name, self._address)

    def _address(self, node_id: int) -> Address | None:
        """Negative ids are the addresses that the client was given."""
        return self._bootstrap[-1 - node_id] if node_id < 0 else self._addresses.get(node_id)

    async def ask(self, node_id: int, request: Message, version: int | None = None) -> Message | None:
        try:
            return await self.peers.ask(node_id, request, timeout_ms=REQUEST_TIMEOUT_MS, version=version)
        except PeerError:
            return None

    def any_node(self) -> int:
        candidates: list[int] = [*self._addresses, *range(-len(self._bootstrap), 0)]
        return self.random.choice(candidates)

    async def refresh(self) -> None:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=self.topic)], allow_auto_topic_creation=False
        )
        response = cast("MetadataResponse | None", await self.ask(self.any_node(), request))
        if response is None:
            return
        self._addresses = {broker.node_id: (broker.host, broker.port) for broker in response.brokers}
        for topic in response.topics:
            for partition in topic.partitions:
                known = self.leaders.get(partition.partition_index, (-1, -1))
                if partition.leader_epoch >= known[1]:
                    leader = (partition.leader_id, partition.leader_epoch)
                    self.leaders[partition.partition_index] = leader

    async def back_off(self) -> None:
        await asyncio.sleep(self.random.uniform(*BACKOFF_S))
        await self.refresh()

    async def create_topic(self, partitions: int, replication_factor: int, configs: dict[str, str]) -> None:
        """Until it is there."""
        request = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=self.topic,
                    num_partitions=partitions,
                    replication_factor=replication_factor,
                    configs=[CreatableTopicConfig(name, value) for name, value in configs.items()],
                )
            ],
            timeout_ms=REQUEST_TIMEOUT_MS,
        )
        while True:
            answer = cast("CreateTopicsResponse | None", await self.ask(self.any_node(), request))
            codes = [topic.error_code for topic in answer.topics] if answer else []
            if ErrorCode.NONE in codes or ErrorCode.TOPIC_ALREADY_EXISTS in codes:
                return
            await self.back_off()


class _Batch:
    def __init__(self, values: list[str], sequence: int, now: float) -> None:
        self.values = values
        self.sequence = sequence
        self.begun_at = now
        self.was_refused_only = True


class _Stream:
    """A partition as a producer writes it: a producer id, the next sequence number, what is under way."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.producer_id = -1
        self.producer_epoch = -1
        self.next_sequence = 0
        self.pending: list[_Batch] = []


class Producer(Client):
    def __init__(
        self,
        name: str,
        bootstrap: list[Address],
        topic: str,
        random: Random,
        record: Callable[[Event], None],
        clock: Callable[[], int],
    ) -> None:
        super().__init__(name, bootstrap, topic, random)
        self.acknowledged = 0
        self.last_acknowledged_at = 0.0
        # The longest time between two acknowledgements.
        self.longest_silence_s = 0.0
        self.pause_s = 0.1
        self.batches_at_once = 3
        self._record = record
        self._clock = clock
        self._values = 0

    async def run(self) -> None:
        while not self.leaders:
            await self.back_off()
        await asyncio.gather(*(self._write(_Stream(partition)) for partition in sorted(self.leaders)))

    async def _write(self, stream: _Stream) -> None:
        loop = asyncio.get_running_loop()
        while stream.pending or not self.is_stopping:
            if stream.producer_id < 0 and not await self._introduce(stream):
                await self.back_off()
                continue
            if not self.is_stopping:
                wanted = self.random.randint(1, self.batches_at_once)
                while len(stream.pending) < wanted:
                    self._add_batch(stream, loop.time())
            codes = await asyncio.gather(*(self._attempt(stream, batch) for batch in stream.pending[:5]))
            if self._settle(stream, codes, loop.time()):
                await asyncio.sleep(self.random.expovariate(1 / self.pause_s))
            else:
                await self.back_off()

    async def _introduce(self, stream: _Stream) -> bool:
        """A producer id of its own for each partition: one that has to be given up takes only that along."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        response = cast("InitProducerIdResponse | None", await self.ask(self.any_node(), request))
        if response is None or response.error_code:
            return False
        stream.producer_id, stream.producer_epoch = response.producer_id, response.producer_epoch
        stream.next_sequence = 0
        return True

    def _add_batch(self, stream: _Stream, now: float) -> None:
        values = []
        for _ in range(self.random.randint(1, 4)):
            self._values += 1
            values.append(f"{self.name}:{self._values}")
        stream.pending.append(_Batch(values, stream.next_sequence, now))
        stream.next_sequence += len(values)

    async def _attempt(self, stream: _Stream, batch: _Batch) -> int:
        """Send a batch; the error code. A batch that was acknowledged leaves the pending ones."""
        leader, _ = self.leaders[stream.partition]
        data = encode_batch(
            [Record(None, value.encode(), self._clock()) for value in batch.values],
            producer_id=stream.producer_id,
            producer_epoch=stream.producer_epoch,
            base_sequence=batch.sequence,
        )
        part = PartitionProduceData(stream.partition, RecordBytes(data, 0, len(data)))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=REQUEST_TIMEOUT_MS - 1000,
            topic_data=[TopicProduceData(name=self.topic, partition_data=[part])],
        )
        if leader < 0:
            return NO_ANSWER
        response = cast("ProduceResponse | None", await self.ask(leader, request, PRODUCE_VERSION))
        if response is None:
            batch.was_refused_only = False
            return NO_ANSWER
        answer = response.responses[0].partition_responses[0]
        if answer.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self._acknowledge(stream, batch, answer)
            return ErrorCode.NONE
        if answer.error_code not in REFUSALS:
            batch.was_refused_only = False
        return answer.error_code

    def _acknowledge(self, stream: _Stream, batch: _Batch, answer: PartitionProduceResponse) -> None:
        now = asyncio.get_running_loop().time()
        self.longest_silence_s = max(self.longest_silence_s, now - self.last_acknowledged_at)
        self.last_acknowledged_at = now
        self.acknowledged += len(batch.values)
        stream.pending.remove(batch)
        offset = answer.base_offset if answer.base_offset >= 0 else None
        self._complete(stream, batch, now, Outcome.OK, offset)

    def _complete(
        self, stream: _Stream, batch: _Batch, now: float, outcome: Outcome, offset: int | None
    ) -> None:
        for index, value in enumerate(batch.values):
            place = None if offset is None else offset + index
            partition = f"{self.topic}-{stream.partition}"
            self._record(Send(self.name, partition, value, batch.begun_at, now, outcome, place))

    def _settle(self, stream: _Stream, codes: list[int], now: float) -> bool:
        """Decide on what was not acknowledged; False when it should be tried again after a moment."""
        if not stream.pending:
            return True
        first = next((code for code in codes if code), NO_ANSWER)
        is_late = now - stream.pending[0].begun_at > DELIVERY_TIMEOUT_S
        is_final = first != NO_ANSWER and not ErrorCode(first).retriable
        if is_late or is_final:
            # Nobody knows whether they will be there, and those behind them cannot be sent without them.
            for batch in stream.pending:
                outcome = Outcome.FAILED if batch.was_refused_only else Outcome.UNKNOWN
                self._complete(stream, batch, now, outcome, None)
            stream.pending.clear()
            stream.producer_id = -1
        return False


class Consumer(Client):
    def __init__(
        self,
        name: str,
        bootstrap: list[Address],
        topic: str,
        random: Random,
        record: Callable[[Event], None],
        complain: Callable[[str], None],
    ) -> None:
        super().__init__(name, bootstrap, topic, random)
        self.high_watermarks: dict[int, int] = {}
        self._complain = complain
        self.positions: dict[int, int] = {}
        # Since it was told to stop: the partitions that it has read to their end.
        self.finished: dict[int, None] = {}
        self._record = record

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
            if not all(results) or not results:
                await self.back_off()

    async def _fetch(self, leader: int, partitions: list[int]) -> bool:
        """One fetch from one leader; whether all was well."""
        loop = asyncio.get_running_loop()
        begun_at = loop.time()
        was_stopping = self.is_stopping
        request = FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=1024 * 1024,
            topics=[FetchTopic(topic=self.topic, partitions=[self._part(one) for one in partitions])],
        )
        response = cast("FetchResponse | None", await self.ask(leader, request, FETCH_VERSION))
        if response is None or response.error_code or not response.responses:
            return False
        answers = response.responses[0].partitions
        for answer in answers:
            self._take(answer, begun_at, loop.time(), was_stopping)
        return not any(answer.error_code for answer in answers)

    def _part(self, partition: int) -> FetchPartition:
        return FetchPartition(
            partition=partition,
            current_leader_epoch=self.leaders[partition][1],
            fetch_offset=self.positions[partition],
            partition_max_bytes=256 * 1024,
        )

    def _take(self, answer: PartitionData, begun_at: float, now: float, was_stopping: bool) -> None:
        partition = answer.partition_index
        name = f"{self.topic}-{partition}"
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self.positions[partition] = max(answer.log_start_offset, 0)
            self._record(Seek(self.name, name, now))
        if answer.error_code:
            return
        self._see_high_watermark(name, partition, answer.high_watermark, now)
        records = self._records(partition, answer.records)
        if records:
            self._record(Poll(self.name, name, tuple(records), begun_at, now))
        if was_stopping and self.positions[partition] >= answer.high_watermark:
            self.finished[partition] = None

    def _see_high_watermark(self, name: str, partition: int, high_watermark: int, now: float) -> None:
        before = self.high_watermarks.get(partition, 0)
        if high_watermark < before:
            self._complain(
                f"{self.name} saw {name}'s high watermark go from {before} to {high_watermark} at {now:.3f}"
            )
        self.high_watermarks[partition] = high_watermark

    def _records(self, partition: int, data: RecordBytes | None) -> list[tuple[int, str]]:
        position = self.positions[partition]
        found: list[tuple[int, str]] = []
        if data is None:
            return found
        for place, header in batches(data.data, data.start, data.end):
            if not header.is_control:
                for record in decode_records(data.data, place, header):
                    if record.offset >= position:
                        found.append((int(record.offset), (record.value or b"").decode()))
            self.positions[partition] = max(self.positions[partition], int(header.next_offset))
        return found
