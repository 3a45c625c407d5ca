"""A producer with transactions for tests of handlers, and a broker that coordinates it.

producer = Transactional(client, "t", version=2)
await producer.begin()
await producer.produce()          # the error code; v1: after `await producer.add(0)`
await producer.end()
await settled(broker)
"""

import asyncio

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from gralha.protocol.messages.cluster_records import FeatureLevelRecord
from gralha.protocol.messages.describe_transactions import DescribeTransactionsRequest
from gralha.protocol.messages.end_txn import EndTxnRequest
from gralha.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest
from gralha.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, batches, decode_records, encode_batch
from gralha.transactions.transaction import PREPARED
from tests.broker.handlers.door import NOW_MS, create_topic, make_broker
from tests.broker.handlers.transaction_messages import add_partitions

PATIENCE_S = 20
TIMEOUT_MS = 60_000


def coordinating_broker(folder, **configs):
    """A broker with transactions v2, whose topic of transactions has one partition."""
    broker = make_broker(
        folder,
        transaction_state_log_num_partitions=1,
        transaction_state_log_replication_factor=1,
        transaction_state_log_min_isr=1,
        **configs,
    )
    broker.controller.commit([FeatureLevelRecord("transaction.version", 2)])
    return broker


async def coordinates(broker, client):
    """Topic `a` with three partitions, and coordinators that are loaded. Returns the topic's id."""
    topic_id = await create_topic(broker, "a", 3)
    for kind in (0, 1):
        await client.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=["t"]))
    await until(lambda: broker.transactions.is_active("t") and broker.groups.is_active("g"))
    return topic_id


async def until(check):
    async with asyncio.timeout(PATIENCE_S):
        while not check():
            await asyncio.sleep(0.001)


def state(broker, name="t"):
    """The transaction in the coordinator's memory."""
    (shard,) = broker.transactions.shards
    return shard.transactions.get(name)


async def settled(broker):
    """All markers are written."""
    await until(
        lambda: all(
            one.state not in PREPARED
            for shard in broker.transactions.shards
            for one in shard.transactions.values()
        )
    )


def no_leader(broker, index=0):
    """The partition takes no markers, until `lead` is called."""
    partition = broker.replicas.find("a", index)
    partition.change_leader(2, partition.leader_epoch + 1, [1, 2], [1, 2])


def lead(broker, index=0):
    partition = broker.replicas.find("a", index)
    partition.change_leader(1, partition.leader_epoch + 1, [1], [1])


class Transactional:
    """A producer. Its methods return error codes."""

    def __init__(self, client, name="t", version=2):
        self.client = client
        self.name = name
        self.version = version
        self.id = self.epoch = -1
        self.sequences = {}

    @property
    def identity(self):
        return self.id, self.epoch

    async def begin(self, timeout_ms=TIMEOUT_MS, version=5, goes_on=False):
        request = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=timeout_ms)
        if goes_on:
            request.producer_id, request.producer_epoch = self.identity
        answer = await self.client.ask(request, version)
        if answer.error_code == ErrorCode.NONE:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        return answer.error_code

    async def add(self, *partitions, version=3, topic="a"):
        request = add_partitions(version, self.name, self.identity, partitions, topic)
        answer = await self.client.ask(request, version)
        if version < 4:
            topics = answer.results_by_topic_v3_and_below
        else:
            assert answer.error_code == 0
            topics = answer.results_by_transaction[0].topic_results
        return [one.partition_error_code for each in topics for one in each.results_by_partition]

    def produce_request(self, index=0, value=b"v", sequence=None, transactional_id=""):
        if sequence is None:
            sequence = self.sequences.get(index, 0)
            self.sequences[index] = sequence + 1
        data = encode_batch(
            [Record(None, value, NOW_MS)],
            producer_id=self.id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        partition = PartitionProduceData(index, RecordBytes(data, 0, len(data)))
        name = self.name if transactional_id == "" else transactional_id
        return ProduceRequest(name, -1, 10_000, [TopicProduceData("a", bytes(16), [partition])])

    async def produce(self, index=0, version=None, **options):
        version = version or (12 if self.version == 2 else 11)
        async with asyncio.timeout(PATIENCE_S):
            answer = await self.client.ask(self.produce_request(index, **options), version)
        return answer.responses[0].partition_responses[0].error_code

    async def add_offsets(self, group="g", version=4):
        answer = await self.client.ask(AddOffsetsToTxnRequest(self.name, self.id, self.epoch, group), version)
        return answer.error_code

    async def end(self, is_commit=True, version=None):
        version = (5 if self.version == 2 else 4) if version is None else version
        answer = await self.client.ask(EndTxnRequest(self.name, self.id, self.epoch, is_commit), version)
        if answer.error_code == ErrorCode.NONE and version >= 5:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        return answer.error_code

    async def describe(self):
        answer = await self.client.ask(DescribeTransactionsRequest([self.name]))
        return answer.transaction_states[0]


async def read(client, index=0, is_committed=True):
    """The values that a consumer gets, and the last stable offset."""
    wanted = FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_bytes=1 << 20, isolation_level=int(is_committed), topics=[FetchTopic("a", bytes(16), [wanted])]
    )
    found = (await client.ask(request, 12)).responses[0].partitions[0]
    assert found.error_code == 0
    records = found.records
    begins: dict[int, list[int]] = {}
    for one in found.aborted_transactions or []:
        begins.setdefault(one.producer_id, []).append(one.first_offset)
    values, aborted = [], set()
    for position, header in batches(records.data, records.start, records.end) if records else []:
        if header.is_control:
            aborted.discard(header.producer_id)
            continue
        if header.base_offset in begins.get(header.producer_id, []):
            aborted.add(header.producer_id)
        if header.producer_id not in aborted:
            values += [one.value for one in decode_records(records.data, position, header)]
    return values, found.last_stable_offset
