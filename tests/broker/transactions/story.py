"""One of two brokers that are sent the same requests of transactions, and the story of its answers.

    side = Side(bootstrap)
    side.begin_story("fencing")           # a topic and ids of its own
    producer = side.init()                # every request is written down with its answer
    side.end(producer, version=4)
    side.story                            # to be compared with the story of another broker

Producer ids differ between brokers, so a story has names for them, in the order in which they appear. Times
are left out. The version of each request is exact.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gralha.client.cluster import Cluster
from gralha.protocol.batches import batches
from gralha.protocol.control_records import control_type
from gralha.protocol.errors import ErrorCode, error_name
from gralha.protocol.message import Message
from gralha.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from gralha.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from gralha.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from gralha.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from gralha.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from gralha.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from gralha.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from gralha.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from gralha.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from gralha.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from gralha.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from gralha.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, decode_records, encode_batch

PATIENCE_S = 30
TIMEOUT_MS = 20_000
PARTITIONS = 3
GROUP, TRANSACTION = 0, 1
# While a coordinator begins.
NOT_READY = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.INVALID_TOPIC_EXCEPTION,  # Apache's FindCoordinator while it creates the topic
)


class Producer(NamedTuple):
    """What a producer knows of itself."""

    id: int
    epoch: int

    def newer(self, by: int = 1) -> "Producer":
        return self._replace(epoch=self.epoch + by)


NOBODY = Producer(-1, -1)


def until(check: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not check():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


class Side:
    def __init__(self, bootstrap: str) -> None:
        self.cluster = Cluster(bootstrap)
        self.story: list[Any] = []
        self.txn = "warm-up"
        self.topic = ""
        self.topic_id = b""
        self._names: dict[int, str] = {}
        for kind in (TRANSACTION, GROUP):
            until(lambda kind=kind: self._find(kind) == 0, "a coordinator")  # type: ignore[misc]
        until(lambda: self._ask_init().error_code not in NOT_READY, "the coordinator's log is loaded")
        until(self._group_is_ready, "the group coordinator's log is loaded")

    def _find(self, kind: int) -> int:
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=["warm-up"])
        answer: FindCoordinatorResponse = self.send(request, FindCoordinatorResponse, 4)
        return answer.coordinators[0].error_code

    def _ask_init(self) -> InitProducerIdResponse:
        request = InitProducerIdRequest(transactional_id=self.txn, transaction_timeout_ms=1000)
        answer: InitProducerIdResponse = self.send(request, InitProducerIdResponse, 5)
        return answer

    def _group_is_ready(self) -> bool:
        request = OffsetFetchRequest(group_id="warm-up", topics=None)
        return self.send(request, OffsetFetchResponse, 7).error_code not in NOT_READY

    def begin_story(self, name: str) -> None:
        """A new topic, and a transactional id that nobody has used."""
        self.story = []
        self._names = {}
        self.txn = self.topic = name
        request = CreateTopicsRequest([CreatableTopic(name, PARTITIONS, 1)], TIMEOUT_MS)
        created = self.cluster.send_to_controller(request, CreateTopicsResponse).topics[0]
        assert created.error_code == 0, created
        self.topic_id = created.topic_id
        until(lambda: set(self._leader_errors()) == {0}, "the topic has leaders")

    def _leader_errors(self) -> list[int]:
        wanted = [ListOffsetsPartition(index, -1, -1) for index in range(PARTITIONS)]
        request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(self.topic, wanted)])
        response = self.send(request, ListOffsetsResponse, 7)
        return [one.error_code for one in response.topics[0].partitions]

    def send(self, request: Message, response_class: Any, version: int) -> Any:
        return self.cluster.any_connection().send(request, response_class, max_version=version)

    def tell(self, what: str, *answer: Any) -> None:
        self.story.append((what, *answer))

    def named(self, producer_id: int) -> str:
        """A name for a producer id that both sides have."""
        if producer_id < 0:
            return str(producer_id)
        return self._names.setdefault(producer_id, f"p{len(self._names)}")

    # Requests to the coordinator

    def init(
        self, expected: Producer = NOBODY, timeout_ms: int = 60_000, version: int = 5, **fields: Any
    ) -> Producer:
        given: dict[str, Any] = {"transactional_id": self.txn, "transaction_timeout_ms": timeout_ms, **fields}
        if version >= 3:
            given |= {"producer_id": expected.id, "producer_epoch": expected.epoch}
        answer = self.send(InitProducerIdRequest(**given), InitProducerIdResponse, version)
        code, epoch = answer.error_code, answer.producer_epoch
        self.tell(f"init v{version}", error_name(code), self.named(answer.producer_id), epoch)
        return Producer(answer.producer_id, epoch)

    def add(
        self,
        producer: Producer,
        *partitions: int,
        topic: str | None = None,
        txn: str | None = None,
        version: int = 3,
    ) -> None:
        topics = [AddPartitionsToTxnTopic(topic or self.topic, list(partitions))]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.txn if txn is None else txn,
            v3_and_below_producer_id=producer.id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=topics,
        )
        answer = self.send(request, AddPartitionsToTxnResponse, version)
        self.tell(f"add v{version}", self._added(answer.results_by_topic_v3_and_below))

    def add_as_broker(
        self,
        producer: Producer,
        *partitions: int,
        verify_only: bool = False,
        version: int = 5,
        **names: str,
    ) -> None:
        topics = [AddPartitionsToTxnTopic(names.get("topic", self.topic), list(partitions))]
        transaction = AddPartitionsToTxnTransaction(
            names.get("txn", self.txn), *producer, verify_only=verify_only, topics=topics
        )
        answer = self.send(
            AddPartitionsToTxnRequest(transactions=[transaction]), AddPartitionsToTxnResponse, version
        )
        results = [
            (one.transactional_id, self._added(one.topic_results)) for one in answer.results_by_transaction
        ]
        what = "verify" if verify_only else "add as broker"
        self.tell(f"{what} v{version}", error_name(answer.error_code), results)

    def _added(self, topics: Sequence[Any]) -> list[tuple[str, int, str]]:
        return sorted(
            (topic.name, one.partition_index, error_name(one.partition_error_code))
            for topic in topics
            for one in topic.results_by_partition
        )

    def add_offsets(
        self, producer: Producer, group: str = "g", txn: str | None = None, version: int = 4
    ) -> None:
        request = AddOffsetsToTxnRequest(self.txn if txn is None else txn, *producer, group)
        answer = self.send(request, AddOffsetsToTxnResponse, version)
        self.tell(f"add offsets v{version}", error_name(answer.error_code))

    def end(
        self, producer: Producer, is_commit: bool = True, txn: str | None = None, version: int = 5
    ) -> Producer:
        request = EndTxnRequest(self.txn if txn is None else txn, *producer, is_commit)
        answer = self.send(request, EndTxnResponse, version)
        self.tell(
            f"{'commit' if is_commit else 'abort'} v{version}",
            error_name(answer.error_code),
            self.named(answer.producer_id),
            answer.producer_epoch,
        )
        return Producer(answer.producer_id, answer.producer_epoch)

    def state(self, txn: str | None = None) -> TransactionState:
        request = DescribeTransactionsRequest([self.txn if txn is None else txn])
        answer: TransactionState = self.send(request, DescribeTransactionsResponse, 0).transaction_states[0]
        return answer

    def describe(self, txn: str | None = None) -> None:
        one = self.state(txn)
        topics = sorted((topic.topic, sorted(topic.partitions)) for topic in one.topics)
        self.tell(
            "describe",
            error_name(one.error_code),
            one.transactional_id,
            one.transaction_state,
            one.transaction_timeout_ms,
            one.transaction_start_time_ms > 0 or one.transaction_start_time_ms,
            self.named(one.producer_id),
            one.producer_epoch,
            topics,
        )

    def forget_story(self) -> None:
        """Leave out what was only the preparation."""
        self.story = []

    def wait_until(self, state: str) -> None:
        """Wait until the transactional id has a state."""
        until(lambda: self.state().transaction_state == state, state)
        self.describe()

    def settle(self, txn: str | None = None) -> None:
        """Wait until all markers are written."""
        until(lambda: not self.state(txn).transaction_state.startswith("Prepare"), "the end of a transaction")
        self.describe(txn)

    def show(self, version: int = 2, **filters: Any) -> None:
        request = ListTransactionsRequest(**filters)
        answer: ListTransactionsResponse = self.send(request, ListTransactionsResponse, version)
        states = sorted(
            (one.transactional_id, self.named(one.producer_id), one.transaction_state)
            for one in answer.transaction_states
            if one.transactional_id.startswith(self.txn)
        )
        self.tell("list", error_name(answer.error_code), sorted(answer.unknown_state_filters), states)

    # Requests to the leader of a partition

    def produce(
        self,
        producer: Producer,
        sequence: int = 0,
        partition: int = 0,
        txn: str | None = "",
        version: int = 12,
        value: bytes = b"v",
        is_transactional: bool = True,
    ) -> None:
        batch = encode_batch(
            [Record(None, value, int(time.time() * 1000))],
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
            transactional=is_transactional,
        )
        data = PartitionProduceData(partition, RecordBytes(batch, 0, len(batch)))
        topic = TopicProduceData(self.topic, self.topic_id, [data])
        request = ProduceRequest(self.txn if txn == "" else txn, -1, TIMEOUT_MS, [topic])
        answer: ProduceResponse = self.send(request, ProduceResponse, version)
        one = answer.responses[0].partition_responses[0]
        self.tell(f"produce v{version}", error_name(one.error_code), one.base_offset, one.log_start_offset)

    def mark(
        self,
        producer: Producer,
        is_commit: bool = True,
        coordinator_epoch: int = 0,
        partitions: Sequence[int] = (0,),
        topic: str | None = None,
        transaction_version: int = 0,
        version: int = 2,
    ) -> None:
        topics = [WritableTxnMarkerTopic(topic or self.topic, list(partitions))]
        marker = WritableTxnMarker(*producer, is_commit, topics, coordinator_epoch, transaction_version)
        answer = self.send(WriteTxnMarkersRequest([marker]), WriteTxnMarkersResponse, version)
        codes = sorted(
            (topic.name, one.partition_index, error_name(one.error_code))
            for result in answer.markers
            for topic in result.topics
            for one in topic.partitions
        )
        self.tell(f"mark v{version}", codes)

    def producers(self, *partitions: int) -> None:
        request = DescribeProducersRequest([TopicRequest(self.topic, list(partitions or (0,)))])
        answer: DescribeProducersResponse = self.send(request, DescribeProducersResponse, 0)
        for partition in answer.topics[0].partitions:
            states = sorted(
                (
                    self.named(one.producer_id),
                    one.producer_epoch,
                    one.last_sequence,
                    one.coordinator_epoch,
                    one.current_txn_start_offset,
                    one.last_timestamp == -1,
                )
                for one in partition.active_producers
            )
            self.tell("producers", partition.partition_index, error_name(partition.error_code), states)

    def read(self, partition: int = 0, *, is_committed: bool = True) -> None:
        """Fetch and ListOffsets: what readers of committed records, or of all records, get."""
        wanted = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=int(is_committed),
            topics=[FetchTopic(self.topic, self.topic_id, [wanted])],
        )
        answer: FetchResponse = self.send(request, FetchResponse, 16)
        found = answer.responses[0].partitions[0]
        aborted = [
            (self.named(one.producer_id), one.first_offset) for one in found.aborted_transactions or []
        ]
        self.tell(
            "fetch",
            error_name(found.error_code),
            found.high_watermark,
            found.last_stable_offset,
            found.aborted_transactions is None or sorted(aborted),
            [] if found.records is None else self._batches(found.records),
        )
        offsets = ListOffsetsTopic(self.topic, [ListOffsetsPartition(partition, -1, -1)])
        listed = self.send(ListOffsetsRequest(-1, int(is_committed), [offsets]), ListOffsetsResponse, 7)
        one = listed.topics[0].partitions[0]
        self.tell("list offsets", error_name(one.error_code), one.offset)

    def _batches(self, records: RecordBytes) -> list[Any]:
        return [
            (
                header.base_offset,
                header.is_transactional,
                self.named(header.producer_id),
                header.producer_epoch,
                header.base_sequence,
                [
                    ("marker", control_type(one.key)) if header.is_control else one.value
                    for one in decode_records(records.data, position, header)
                ],
            )
            for position, header in batches(records.data, records.start, records.end)
        ]

    # Offsets of groups

    def commit_offsets(
        self,
        producer: Producer,
        offset: int = 7,
        group: str | None = None,
        txn: str | None = None,
        version: int = 5,
        **member: Any,
    ) -> None:
        partitions = [TxnOffsetCommitRequestPartition(0, offset, -1, "")]
        topics = [TxnOffsetCommitRequestTopic(self.topic, partitions)]
        request = TxnOffsetCommitRequest(
            self.txn if txn is None else txn,
            self.topic if group is None else group,
            *producer,
            topics=topics,
            **member,
        )
        answer = self.send(request, TxnOffsetCommitResponse, version)
        codes = [
            (topic.name, one.partition_index, error_name(one.error_code))
            for topic in answer.topics
            for one in topic.partitions
        ]
        self.tell(f"commit offsets v{version}", codes)

    def offsets(self, *, require_stable: bool = True) -> None:
        topics = [OffsetFetchRequestTopic(self.topic, [0])]
        request = OffsetFetchRequest(self.topic, topics, require_stable=require_stable)
        answer = self.send(request, OffsetFetchResponse, 7)
        one = answer.topics[0].partitions[0]
        self.tell("offsets", error_name(answer.error_code), error_name(one.error_code), one.committed_offset)

    # The topic

    def delete_topic(self) -> None:
        request = DeleteTopicsRequest([DeleteTopicState(self.topic)], timeout_ms=TIMEOUT_MS)
        answer = self.cluster.send_to_controller(request, DeleteTopicsResponse)
        assert answer.responses[0].error_code == 0, answer
        until(lambda: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION in self._leader_errors(), "the topic is gone")
