"""A fake broker with one partition of one topic, which fetches, appends and fails as a test tells it.

It checks producers' sequence numbers like a real broker: a batch is not appended twice, and a batch that
comes too early is refused. `log` has the appended batches, in order.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from gralha.client.settings import ClientSettings
from gralha.protocol.apis import ApiKey
from gralha.protocol.batches import BatchHeader, patched_header, read_header
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from gralha.protocol.messages.init_producer_id import InitProducerIdResponse
from gralha.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from gralha.protocol.messages.metadata import MetadataResponse
from gralha.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, decode_records
from tests.client.fake_broker import FakeBroker, metadata

TOPIC = "sales"
TOPIC_ID = bytes(range(16))
# The possible steps of a script, besides an error code.
SERVE = 0
HANG_UP = -100
APPEND_AND_HANG_UP = -101


class BulkBroker(FakeBroker):
    """One partition. Scripts decide about the next requests. After their end all requests succeed."""

    def __init__(self) -> None:
        self.log: list[bytes] = []
        self.log_start = 0
        self.topic_id = TOPIC_ID
        self.topic_error = 0
        self.aborted: list[AbortedTransaction] = []
        self.init_script: list[int] = []
        self.metadata_script: list[int] = []
        self.fetch_script: list[int] = []
        self.produce_script: list[int] = []
        self.produced: list[tuple[int, int]] = []
        self.fetched: list[int] = []
        self.max_batch_bytes = 1 << 30
        self.batches_per_fetch = 1000
        super().__init__(
            {
                ApiKey.METADATA: self._metadata,
                ApiKey.FETCH: self._fetch,
                ApiKey.PRODUCE: self._produce,
                ApiKey.LIST_OFFSETS: self._list_offsets,
                ApiKey.INIT_PRODUCER_ID: self._init_producer_id,
            }
        )

    @property
    def log_end(self) -> int:
        return int(self._headers()[-1].next_offset) if self.log else self.log_start

    def _headers(self) -> list[BatchHeader]:
        return [read_header(batch, 0) for batch in self.log]

    def records(self) -> list[Record]:
        """All records of the log."""
        return [record for batch in self.log for record in decode_records(batch, 0, read_header(batch, 0))]

    def settings(self, **settings: object) -> ClientSettings:
        """The settings of a client of this broker, with short pauses."""
        fast: dict[str, object] = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 2, "fetch_max_wait_ms": 1}
        return ClientSettings(self.address, **(fast | settings))  # type: ignore[arg-type]

    def _init_producer_id(self, request: Message, version: int) -> InitProducerIdResponse | None:
        if self.init_script and self.init_script.pop(0) == HANG_UP:
            return None
        return InitProducerIdResponse(producer_id=77, producer_epoch=5)

    def _metadata(self, request: Message, version: int) -> MetadataResponse | None:
        if self.metadata_script and self.metadata_script.pop(0) == HANG_UP:
            return None
        response = metadata({1: self}, leaders={(TOPIC, 0): 1})
        response.topics[0].topic_id = self.topic_id
        if self.topic_error:
            response.topics[0].error_code = self.topic_error
            response.topics[0].partitions = []
        return response

    def _fetch(self, request: Message, version: int) -> Message | None:
        assert isinstance(request, FetchRequest)
        asked = request.topics[0].partitions[0]
        self.fetched.append(asked.fetch_offset)
        step = self.fetch_script.pop(0) if self.fetch_script else SERVE
        if step == HANG_UP:
            return None
        if step == SERVE and not self.log_start <= asked.fetch_offset <= self.log_end:
            step = ErrorCode.OFFSET_OUT_OF_RANGE
        if step == SERVE and request.topics[0].topic_id != self.topic_id:
            step = ErrorCode.UNKNOWN_TOPIC_ID
        found = [
            batch
            for batch, header in zip(self.log, self._headers(), strict=True)
            if header.last_offset >= asked.fetch_offset
        ]
        data = b"".join(found[: self.batches_per_fetch]) if step == SERVE else b""
        answer = PartitionData(
            partition_index=0,
            error_code=step,
            high_watermark=self.log_end,
            aborted_transactions=self.aborted,
            records=RecordBytes(data, 0, len(data)),
        )
        topic = FetchableTopicResponse(topic=TOPIC, topic_id=self.topic_id, partitions=[answer])
        return FetchResponse(responses=[topic])

    def _list_offsets(self, request: Message, version: int) -> Message:
        assert isinstance(request, ListOffsetsRequest)
        is_latest = request.topics[0].partitions[0].timestamp == -1
        answer = ListOffsetsPartitionResponse(
            partition_index=0, offset=self.log_end if is_latest else self.log_start
        )
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=TOPIC, partitions=[answer])])

    def _produce(self, request: Message, version: int) -> Message | None:
        assert isinstance(request, ProduceRequest)
        (sent,) = request.topic_data[0].partition_data
        assert sent.records is not None
        batch = sent.records.to_bytes()
        header = read_header(batch, 0)
        self.produced.append((header.base_sequence, header.record_count))
        step = self.produce_script.pop(0) if self.produce_script else SERVE
        if step == HANG_UP:
            return None
        answer = PartitionProduceResponse(index=0, error_code=step)
        if step in (SERVE, APPEND_AND_HANG_UP):
            answer = self._append(batch, header)
        if step == APPEND_AND_HANG_UP:
            return None
        topic = TopicProduceResponse(name=TOPIC, topic_id=self.topic_id, partition_responses=[answer])
        return ProduceResponse(responses=[topic])

    def _append(self, batch: bytes, header: BatchHeader) -> PartitionProduceResponse:
        if len(batch) > self.max_batch_bytes:
            return PartitionProduceResponse(index=0, error_code=ErrorCode.MESSAGE_TOO_LARGE)
        # A broker accepts any sequence number from an unknown producer.
        expected = header.base_sequence
        for known in self._headers():
            if header.producer_id >= 0 and header.base_sequence == known.base_sequence:
                return PartitionProduceResponse(index=0, base_offset=known.base_offset)
            expected = known.last_sequence + 1
        if header.producer_id >= 0 and header.base_sequence != expected:
            return PartitionProduceResponse(index=0, error_code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        base_offset = self.log_end
        self.log.append(patched_header(batch, 0, base_offset, 0) + batch[61:])
        return PartitionProduceResponse(index=0, base_offset=base_offset)


@contextmanager
def bulk_broker(*log: bytes) -> Iterator[BulkBroker]:
    """A fake broker with these batches in its log."""
    with BulkBroker() as broker:
        broker.log = list(log)
        yield broker
