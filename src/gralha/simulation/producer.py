"""The simulated producer: idempotent, acks=all, with the retries of librdkafka or of the Java client.

Each partition has up to five batches in flight. After an error the producer waits for the responses of all
batches in flight. Then it sends all of them again, in their order and with their sequence numbers, until the
delivery times out. The outcome of a batch is unknown then. The producer sends no new batch before the old
ones are done.

OUT_OF_ORDER_SEQUENCE_NUMBER is special. A cluster that loses nothing never returns it for the first batch in
flight. Real producers fail then, so that is a failure of the run. For a later batch librdkafka takes a new
producer id and sends all batches again with it, because it assumes that none of them is in the log. The Java
client just sends the batches again. Each simulated producer does one of the two, drawn from the seed.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final, cast

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record
from gralha.simulation.clients import REQUEST_TIMEOUT_MS, Bootstrap, Client
from gralha.simulation.history import Event, Outcome, Send
from gralha.simulation.shapes import Shape, Shapes

DELIVERY_TIMEOUT_S: Final = 30.0
BATCHES_AT_ONCE: Final = 5
# A version that has topic names, not topic ids.
PRODUCE_VERSION: Final = 12
# A batch is certainly in no log if all its responses had one of these errors.
REFUSALS: Final = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.CORRUPT_MESSAGE,
)
TOMBSTONE_CHANCE: Final = 0.1
DELETED: Final = "=deleted"
# The code of a batch without a response.
NO_ANSWER: Final = -2


class _Batch:
    def __init__(self, values: list[str], sequence: int, now: float, shape: Shape) -> None:
        self.values = values
        self.shape = shape
        self.sequence = sequence
        self.begun_at = now
        self.is_out = False
        self.attempts = 0
        self.was_refused_only = True


class _Stream:
    """A producer's state for a partition: the producer id, the next sequence number, the pending batches."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.producer_id = -1
        self.producer_epoch = -1
        self.next_sequence = 0
        # The batches that are not acknowledged, sent or not, in the order of their sequence numbers.
        self.pending: list[_Batch] = []
        self.next_batch_at = 0.0
        self.leader_id = -1
        # After an error: nothing is sent before all batches in flight have a response.
        self.is_draining = False
        self.changed = asyncio.Event()

    @property
    def is_anything_out(self) -> bool:
        return any(batch.is_out for batch in self.pending)

    @property
    def has_room(self) -> bool:
        """Whether a new batch may be sent. Brokers remember five, so no new batch follows a retry."""
        first_try = all(batch.is_out and batch.attempts == 1 for batch in self.pending)
        return len(self.pending) < BATCHES_AT_ONCE and first_try


class Producer(Client):
    def __init__(
        self,
        name: str,
        bootstrap: Bootstrap,
        topic: str,
        random: Random,
        record: Callable[[Event], None],
        clock: Callable[[], int],
        complain: Callable[[str], None],
    ) -> None:
        super().__init__(name, bootstrap, topic, random)
        self.acknowledged = 0
        self.last_acknowledged_at = 0.0
        # The longest time between two acknowledgements.
        self.longest_silence_s = 0.0
        self.pause_s = 0.1
        # How many keys the records of a compacted topic have. Some of the records are tombstones.
        self.keys = 0
        self.shapes = Shapes()
        self.takes_new_ids = random.random() < 0.5
        self._record = record
        self._clock = clock
        self._complain = complain
        self._values = 0
        self._attempts: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        while not self.leaders:
            await self.back_off()
        await asyncio.gather(*(self._write(_Stream(partition)) for partition in sorted(self.leaders)))

    async def _write(self, stream: _Stream) -> None:
        loop = asyncio.get_running_loop()
        while stream.pending or not self.is_stopping:
            stream.changed.clear()
            if stream.is_draining:
                if not stream.is_anything_out:
                    await self._recover(stream)
                    continue
            elif stream.producer_id < 0:
                await self._introduce(stream)
                continue
            elif self._may_send(stream):
                self._send_all(stream, loop.time())
            await self._rest(stream, loop.time())

    def _may_send(self, stream: _Stream) -> bool:
        """Whether the leader may get batches. A new leader waits for the responses of the old one."""
        if not stream.is_anything_out:
            stream.leader_id, _ = self.leaders[stream.partition]
        return stream.leader_id == self.leaders[stream.partition][0]

    async def _rest(self, stream: _Stream, now: float) -> None:
        """Wait for a response, or until the next batch is due."""
        try:
            async with asyncio.timeout(max(stream.next_batch_at - now, 0.01)):
                await stream.changed.wait()
        except TimeoutError:
            pass

    async def _recover(self, stream: _Stream) -> None:
        """All batches have a response: look for the leader, and begin again with the first batch."""
        await self.back_off()
        stream.is_draining = False
        now = asyncio.get_running_loop().time()
        if stream.pending and now - stream.pending[0].begun_at > DELIVERY_TIMEOUT_S:
            self._give_up(stream, now)

    async def _introduce(self, stream: _Stream) -> None:
        """Get a producer id for this partition only, so that a new id does not affect other partitions."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        response = cast("InitProducerIdResponse | None", await self.ask(self.any_node(), request))
        if response is None or response.error_code:
            await self.back_off()
            return
        stream.producer_id, stream.producer_epoch = response.producer_id, response.producer_epoch
        stream.next_sequence = 0
        for batch in stream.pending:
            batch.sequence = stream.next_sequence
            stream.next_sequence += len(batch.values)

    def _send_all(self, stream: _Stream, now: float) -> None:
        if not self.is_stopping and now >= stream.next_batch_at and stream.has_room:
            stream.next_batch_at = now + self.random.expovariate(1 / self.pause_s)
            self._add_batch(stream, now)
        for batch in stream.pending:
            if not batch.is_out:
                batch.is_out = True
                batch.attempts += 1
                # Build the request now: the stream may get another producer id before it is sent.
                request = self._request(stream, batch)
                attempt = asyncio.ensure_future(self._attempt(stream, batch, request))
                self._attempts.add(attempt)
                attempt.add_done_callback(self._attempts.discard)

    def _add_batch(self, stream: _Stream, now: float) -> None:
        values = []
        for _ in range(self.random.randint(1, 4)):
            self._values += 1
            values.append(self._new_value())
        stream.pending.append(_Batch(values, stream.next_sequence, now, self.shapes.next()))
        stream.next_sequence += len(values)

    def _new_value(self) -> str:
        value = f"{self.name}:{self._values}"
        if not self.keys:
            return value
        key = f"k{self.random.randrange(self.keys)}"
        return f"{key}{DELETED}" if self.random.random() < TOMBSTONE_CHANCE else f"{key}={value}"

    def _record_of(self, value: str) -> Record:
        if not self.keys:
            return Record(None, value.encode(), self._clock())
        data = None if value.endswith(DELETED) else value.encode()
        return Record(value.partition("=")[0].encode(), data, self._clock())

    def _request(self, stream: _Stream, batch: _Batch) -> ProduceRequest:
        data = batch.shape.encode(
            [self._record_of(value) for value in batch.values],
            producer_id=stream.producer_id,
            producer_epoch=stream.producer_epoch,
            base_sequence=batch.sequence,
        )
        part = PartitionProduceData(stream.partition, RecordBytes(data, 0, len(data)))
        return ProduceRequest(
            acks=-1,
            timeout_ms=REQUEST_TIMEOUT_MS - 1000,
            topic_data=[TopicProduceData(name=self.topic, partition_data=[part])],
        )

    async def _attempt(self, stream: _Stream, batch: _Batch, request: ProduceRequest) -> None:
        """Send a batch and take its response."""
        leader = stream.leader_id
        response = None if leader < 0 else await self.ask(leader, request, PRODUCE_VERSION)
        if batch not in stream.pending:
            return  # the producer has given the batch up
        batch.is_out = False
        code: int = NO_ANSWER
        if response is not None:
            answer = cast(ProduceResponse, response).responses[0].partition_responses[0]
            code = answer.error_code
            if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                self._acknowledge(stream, batch, answer)
        if batch in stream.pending:
            if code not in REFUSALS and leader >= 0:
                batch.was_refused_only = False
            self._note_trouble(stream, batch, code)
        stream.changed.set()

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
        for index, sent in enumerate(batch.values):
            value = sent
            place = None if offset is None else offset + index
            partition = f"{self.topic}-{stream.partition}"
            if value.endswith(DELETED):
                value = f"{value}@{place}"  # the name that consumers use
            self._record(Send(self.name, partition, value, batch.begun_at, now, outcome, place))

    def _note_trouble(self, stream: _Stream, batch: _Batch, code: int) -> None:
        stream.is_draining = True
        if code == NO_ANSWER or ErrorCode(code).retriable:
            return
        now = asyncio.get_running_loop().time()
        is_first = batch is stream.pending[0]
        if code != ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER or is_first:
            self._complain(
                f"{self.name} was told {ErrorCode(code).name} for {batch.values[0]} of "
                f"{self.topic}-{stream.partition}, sequence {batch.sequence}, at {now:.3f}"
            )
            self._give_up(stream, now)
        elif self.takes_new_ids:
            stream.producer_id = -1

    def _give_up(self, stream: _Stream, now: float) -> None:
        """Give up all pending batches: a later batch cannot be sent without the earlier ones."""
        for batch in stream.pending:
            is_nowhere = batch.was_refused_only and not batch.is_out
            outcome = Outcome.FAILED if is_nowhere else Outcome.UNKNOWN
            self._complete(stream, batch, now, outcome, None)
        stream.pending = []
        stream.producer_id = -1
