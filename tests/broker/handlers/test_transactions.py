"""The whole way of transactions v1 and v2 through one broker."""

import asyncio

import pytest

from gralha.protocol.coordinators import partition_for
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from gralha.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.transactions.transaction import State
from tests.broker.handlers.door import NOW_MS, Client
from tests.broker.handlers.fetching import begun
from tests.broker.handlers.group_messages import offset_fetch, txn_offset_commit
from tests.broker.handlers.transactional import (
    Transactional,
    coordinates,
    coordinating_broker,
    lead,
    no_leader,
    read,
    settled,
    state,
    until,
)

BOTH = pytest.mark.parametrize("version", [1, 2])


@pytest.fixture
def broker(tmp_path):
    broker = coordinating_broker(tmp_path)
    yield broker
    broker.close_coordinators()
    broker.logs.release()


@pytest.fixture
async def topic_id(broker, client):
    return await coordinates(broker, client)


@pytest.fixture
async def producer(client, topic_id):
    producer = Transactional(client)
    assert await producer.begin() == 0
    return producer


async def begin(client, version, name="t"):
    producer = Transactional(client, name, version)
    assert await producer.begin() == 0
    return producer


async def write(producer, *partitions, value=b"v"):
    if producer.version == 1:
        assert await producer.add(*partitions) == [0] * len(partitions)
    for index in partitions:
        assert await producer.produce(index, value=value) == 0


async def commit_offsets(client, producer, offset=42, **fields):
    version = 5 if producer.version == 2 else 4
    request = txn_offset_commit(version, None, offset=offset, producer=producer.identity, **fields)
    answer = await client.ask(request, version)
    return answer.topics[0].partitions[0].error_code


async def committed_offset(client, topic_id):
    request = offset_fetch(10, topic_id)
    request.require_stable = True
    one = (await client.ask(request, 10)).groups[0].topics[0].partitions[0]
    return one.error_code or one.committed_offset


async def end_offset(client, index=0):
    wanted = ListOffsetsTopic("a", [ListOffsetsPartition(index, -1, -1)])
    answer = await client.ask(ListOffsetsRequest(-1, 1, [wanted]), 7)
    return answer.topics[0].partitions[0].offset


@BOTH
@pytest.mark.parametrize("is_commit", [True, False])
async def test_records_and_offsets_are_visible_together(broker, client, topic_id, version, is_commit):
    producer = await begin(client, version)
    await write(producer, 0, 1)
    if version == 1:
        assert await producer.add_offsets() == 0
    assert await commit_offsets(client, producer) == 0
    for index in (0, 1):
        assert await read(client, index) == ([], 0)
        assert await read(client, index, is_committed=False) == ([b"v"], 0)
        assert await end_offset(client, index) == 0
    assert await committed_offset(client, topic_id) == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert await producer.end(is_commit) == 0
    await settled(broker)
    for index in (0, 1):
        assert await read(client, index) == ([b"v"] if is_commit else [], 2)
        assert await end_offset(client, index) == 2
    assert await committed_offset(client, topic_id) == (42 if is_commit else -1)
    assert state(broker).state is (State.COMPLETE_COMMIT if is_commit else State.COMPLETE_ABORT)


@BOTH
async def test_one_transaction_after_the_other(broker, client, topic_id, version):
    producer = await begin(client, version)
    for number in range(4):
        await write(producer, 0, value=b"%d" % number)
        assert await producer.end(number % 2 == 0) == 0
        await settled(broker)
    assert await read(client) == ([b"0", b"2"], 8)
    assert producer.epoch == (4 if version == 2 else 0)


@BOTH
async def test_two_producers_in_one_partition(broker, client, topic_id, version):
    first, second = await begin(client, version), await begin(client, version, "u")
    await write(first, 0, value=b"first")
    await write(second, 0, value=b"second")
    assert await second.end() == 0
    await settled(broker)
    assert await read(client) == ([], 0)
    assert await first.end(False) == 0
    await settled(broker)
    assert await read(client) == ([b"second"], 4)


@BOTH
async def test_a_new_producer_fences_the_old_one(broker, client, topic_id, version):
    old, new = await begin(client, version), Transactional(client, version=version)
    await write(old, 0, value=b"old")
    assert await new.begin() == ErrorCode.CONCURRENT_TRANSACTIONS
    await settled(broker)
    assert await new.begin() == 0
    assert (old.epoch, new.epoch) == (0, 2)
    assert await old.produce() == ErrorCode.INVALID_PRODUCER_EPOCH
    assert await old.add(0) == [ErrorCode.PRODUCER_FENCED]
    assert await old.add_offsets() == ErrorCode.PRODUCER_FENCED
    assert await old.end() == ErrorCode.PRODUCER_FENCED
    assert await commit_offsets(client, old) == ErrorCode.INVALID_PRODUCER_EPOCH
    await write(new, 0, value=b"new")
    assert await new.end() == 0
    await settled(broker)
    assert await read(client) == ([b"new"], 4)


async def test_a_transaction_of_no_partition(broker, client, topic_id):
    producer = await begin(client, 1)
    assert await producer.add() == []
    assert state(broker).state is State.ONGOING
    assert await producer.end() == 0
    await settled(broker)
    assert state(broker).state is State.COMPLETE_COMMIT


@BOTH
async def test_all_wait_while_the_markers_are_written(broker, client, topic_id, version):
    producer = await begin(client, version)
    await write(producer, 0)
    no_leader(broker)
    before = Transactional(client, version=version)
    before.id, before.epoch = producer.identity
    assert await producer.end() == 0
    assert state(broker).state is State.PREPARE_COMMIT
    assert await Transactional(client).begin() == ErrorCode.CONCURRENT_TRANSACTIONS
    assert await producer.begin(goes_on=True) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert await producer.add(1) == [ErrorCode.CONCURRENT_TRANSACTIONS]
    assert await producer.add_offsets() == ErrorCode.CONCURRENT_TRANSACTIONS
    assert await before.end() == ErrorCode.CONCURRENT_TRANSACTIONS
    assert await before.end(False) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert (await producer.describe()).transaction_state == "PrepareCommit"
    lead(broker)
    await settled(broker)
    assert await before.end() == 0
    assert await read(client) == ([b"v"], 2)
    await write(producer, 1)


async def test_a_produce_waits_while_the_markers_are_written(broker, client, producer):
    """With v2 the leader asks the coordinator again, so that the next transaction need not wait."""
    broker.verifier._retry_max_s = 20
    await write(producer, 0)
    no_leader(broker)
    assert await producer.end() == 0
    waiting = await begun(producer.produce(1))
    lead(broker)
    assert await waiting == 0


async def test_a_produce_does_not_wait_for_ever(broker, client, producer):
    await write(producer, 0)
    no_leader(broker)
    assert await producer.end() == 0
    assert await producer.produce(1) == ErrorCode.CONCURRENT_TRANSACTIONS
    v1 = Transactional(client, version=1)
    v1.id, v1.epoch = producer.identity
    assert await v1.produce(1) == ErrorCode.NOT_ENOUGH_REPLICAS
    lead(broker)
    await settled(broker)


# While the coordinator is asked


class Held:
    """Questions to the coordinator wait until they are released."""

    def __init__(self, broker):
        self._ask = broker.verifier._ask
        self._go = asyncio.Event()
        self.asked = []
        self.answered = 0
        broker.verifier._ask = self._hold

    async def _hold(self, broker_id, request):
        self.asked.append([one.transactional_id for one in request.transactions])
        response = await self._ask(broker_id, request)
        self.answered += 1
        go = self._go
        await go.wait()
        return response

    def release(self):
        self._go.set()

    def release_one(self):
        """Answer the question that waits. Later ones wait."""
        self._go.set()
        self._go = asyncio.Event()


async def plain(client, index=0):
    """Produce without a transaction."""
    data = encode_batch([Record(None, b"plain", NOW_MS)])
    partition = PartitionProduceData(index, RecordBytes(data, 0, len(data)))
    request = ProduceRequest(None, -1, 10_000, [TopicProduceData("a", bytes(16), [partition])])
    answer = await client.ask(request, 12)
    return answer.responses[0].partition_responses[0].error_code


async def test_a_produce_that_waits_delays_only_its_own_producer(broker, client, producer):
    other = await begin(client, 2, "u")
    await write(other, 0, value=b"other")
    held = Held(broker)
    waiting = await begun(producer.produce(0, value=b"late"))
    # Others write to the same partition meanwhile, in and outside of transactions.
    assert await other.produce(0, value=b"other") == 0
    assert await plain(client) == 0
    assert not waiting.done()
    held.release()
    assert await waiting == 0
    assert [await producer.end(), await other.end()] == [0, 0]
    await settled(broker)
    values, _ = await read(client)
    assert values == [b"other", b"other", b"plain", b"late"]


async def test_batches_of_one_producer_keep_their_order(broker, client, producer):
    held = Held(broker)
    waiting = [await begun(producer.produce(0, value=b"%d" % number)) for number in range(5)]
    held.release()
    assert await asyncio.gather(*waiting) == [0] * 5
    assert await producer.end() == 0
    await settled(broker)
    assert await read(client) == ([b"%d" % number for number in range(5)], 6)


async def test_a_batch_does_not_overtake_one_that_came_before_the_answer(broker, client, producer):
    held = Held(broker)
    first = await begun(producer.produce(0, value=b"0"))
    await until(lambda: held.answered == 1)
    second = await begun(producer.produce(0, value=b"1"))
    held.release_one()
    assert await first == 0
    third = asyncio.ensure_future(producer.produce(0, value=b"2"))
    await asyncio.sleep(0)
    held.release()
    assert [await second, await third] == [0, 0]
    assert await producer.end() == 0
    await settled(broker)
    assert await read(client) == ([b"0", b"1", b"2"], 4)


@BOTH
async def test_a_marker_makes_the_coordinators_agreement_void(broker, client, topic_id, version):
    """Otherwise the record would begin a transaction that nobody ever ends (KIP-890)."""
    producer = await begin(client, version)
    if version == 1:
        assert await producer.add(0) == [0]
    held = Held(broker)
    waiting = await begun(producer.produce(0, value=b"late"))
    await until(lambda: held.answered)
    assert state(broker).state is State.ONGOING
    assert await producer.end(False) == 0
    await settled(broker)
    held.release()
    assert await waiting == ErrorCode.INVALID_TXN_STATE
    assert await read(client) == ([], 1)


async def test_a_lost_leadership_while_the_coordinator_is_asked(broker, client, producer):
    held = Held(broker)
    waiting = await begun(producer.produce(0))
    no_leader(broker)
    held.release()
    assert await waiting == ErrorCode.NOT_LEADER_OR_FOLLOWER
    lead(broker)
    assert await producer.end() == 0
    await settled(broker)


async def test_leadership_that_was_lost_and_regained_makes_the_answer_for_a_group_void(
    broker, client, topic_id
):
    """The next leader may have written the end of the transaction. Nobody would end it a second time."""
    producer = await begin(client, 1)
    assert await producer.add_offsets() == 0
    held = Held(broker)
    waiting = await begun(commit_offsets(client, producer))
    await until(lambda: held.answered)
    index = partition_for("g", 5)
    partition = broker.replicas.find("__consumer_offsets", index)
    partition.change_leader(1, partition.leader_epoch + 1, [1], [1])
    broker.groups.leader_changed(partition)
    await until(lambda: broker.groups.is_active("g"))
    assert await producer.end(False) == 0
    await settled(broker)
    held.release()
    assert await waiting == ErrorCode.NOT_COORDINATOR
    assert await committed_offset(client, topic_id) == -1


async def test_a_client_that_is_gone_leaves_no_trace(broker, client, producer):
    held = Held(broker)
    Client(broker).sent(producer.produce_request(0), 12).close()
    await until(lambda: state(broker).state is State.ONGOING)
    held.release()
    assert await producer.end() == 0
    await settled(broker)


# The setting transaction.partition.verification.enable


async def test_without_verification_v1_is_believed(tmp_path):
    broker = coordinating_broker(tmp_path, transaction_partition_verification_enable="false")
    client = Client(broker)
    await coordinates(broker, client)
    held = Held(broker)
    producer = await begin(client, 1)
    assert await producer.produce(0) == 0
    assert held.asked == []
    # With v2 the leader always asks, because that adds the partition.
    held.release()
    other = await begin(client, 2, "u")
    assert await other.produce(1) == 0
    assert held.asked == [["u"]]
    broker.close_coordinators()
    broker.logs.release()
