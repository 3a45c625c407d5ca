"""The requests of transactions, one by one, and the codes that clients of each version get."""

import asyncio

import pytest

from gralha.protocol.errors import ErrorCode, NotControllerError
from gralha.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from gralha.protocol.messages.describe_transactions import DescribeTransactionsRequest
from gralha.protocol.messages.end_txn import EndTxnRequest
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest
from gralha.protocol.messages.list_transactions import ListTransactionsRequest
from gralha.transactions import shard as shard_module
from tests.broker.handlers.door import create_topic
from tests.broker.handlers.fetching import begun
from tests.broker.handlers.transactional import (
    Transactional,
    coordinates,
    coordinating_broker,
    settled,
    state,
    until,
)

FENCED, OLD_FENCED = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING
UNKNOWN, NOT_TRIED = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED


@pytest.fixture
def broker(tmp_path):
    broker = coordinating_broker(tmp_path)
    yield broker
    broker.close_coordinators()
    broker.logs.release()


@pytest.fixture
async def producer(broker, client):
    """The second producer of its id: it has epoch 1."""
    await coordinates(broker, client)
    producer = Transactional(client)
    assert [await producer.begin(), await producer.begin()] == [0, 0]
    return producer


@pytest.fixture
def stale(client, producer):
    stale = Transactional(client)
    stale.id, stale.epoch = producer.id, 0
    return stale


@pytest.fixture
def stranger(client, producer):
    stranger = Transactional(client)
    stranger.id, stranger.epoch = 500, 0
    return stranger


# InitProducerId


@pytest.mark.parametrize("version", range(6))
async def test_each_version_begins(producer, version):
    assert await producer.begin(version=version) == 0
    assert producer.epoch == 2


@pytest.mark.parametrize(("version", "code"), [(3, OLD_FENCED), (4, FENCED), (5, FENCED)])
async def test_a_producer_that_may_not_go_on(stranger, version, code):
    assert await stranger.begin(version=version, goes_on=True) == code


@pytest.mark.parametrize(
    ("timeout_ms", "code"),
    [(0, 50), (-1, 50), (900_001, 50), (1, 0), (900_000, 0)],
)
async def test_timeouts(producer, timeout_ms, code):
    assert await producer.begin(timeout_ms) == code


async def test_before_the_topic_is_made_there_is_no_coordinator(broker, client):
    nobody = Transactional(client)
    unavailable = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await nobody.begin() == unavailable
    assert await nobody.end() == unavailable
    assert (await nobody.describe()).error_code == unavailable
    listed = await client.ask(ListTransactionsRequest())
    assert (listed.error_code, listed.transaction_states) == (0, [])


async def test_without_a_controller_the_client_comes_back(broker, client, producer):
    broker.controller.failure = NotControllerError()
    while broker.producer_ids._next != broker.producer_ids._end:
        broker.producer_ids.take()
    assert await Transactional(client, "new").begin() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    # An id that has a producer id needs no other one.
    assert await producer.begin() == 0


async def test_a_broker_without_producer_ids_gets_some_first(broker, client, producer):
    while broker.producer_ids._next != broker.producer_ids._end:
        broker.producer_ids.take()
    broker.producer_ids._reserve = None
    assert await Transactional(client, "new").begin() == 0


async def test_a_producer_may_add_offsets_before_there_is_a_group(broker, client):
    """With v1 a client asks for the group's coordinator afterwards."""
    await create_topic(broker, "a", 3)
    await client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]))
    await until(lambda: broker.transactions.is_active("t"))
    producer = Transactional(client)
    assert await producer.begin() == 0
    assert await producer.add_offsets(version=3) == 0
    assert [topic for topic, _ in state(broker).partitions] == ["__consumer_offsets"]


# AddPartitionsToTxn


@pytest.mark.parametrize("version", range(6))
async def test_all_partitions_or_none(broker, producer, version):
    assert await producer.add(0, 7, 1, version=version) == [NOT_TRIED, UNKNOWN, NOT_TRIED]
    assert await producer.add(0, topic="nope", version=version) == [UNKNOWN]
    assert state(broker).partitions == frozenset()
    assert await producer.add(0, 1, version=version) == [0, 0]
    assert state(broker).partitions == {("a", 0), ("a", 1)}


@pytest.mark.parametrize("version", range(6))
async def test_partitions_of_a_producer_that_is_not_the_newest(stale, stranger, version):
    assert await stale.add(0, version=version) == [OLD_FENCED if version < 2 else FENCED]
    assert await stranger.add(0, version=version) == [MAPPING]


@pytest.mark.parametrize("version", range(6))
async def test_partitions_of_an_empty_id(client, producer, version):
    assert await Transactional(client, "").add(0, version=version) == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize("version", [4, 5])
async def test_a_broker_asks_about_several_transactions(broker, client, producer, stranger, version):
    other = Transactional(client, "u")
    assert await other.begin() == 0
    topics = [AddPartitionsToTxnTopic("a", [0, 1])]
    asked = [
        AddPartitionsToTxnTransaction("t", producer.id, producer.epoch, True, topics),
        AddPartitionsToTxnTransaction("u", other.id, other.epoch, False, topics),
        AddPartitionsToTxnTransaction("t", stranger.id, stranger.epoch, False, topics),
        AddPartitionsToTxnTransaction("u", other.id, other.epoch, True, topics),
    ]
    response = await client.ask(AddPartitionsToTxnRequest(transactions=asked), version)
    found = [
        (
            result.transactional_id,
            [
                one.partition_error_code
                for topic in result.topic_results
                for one in topic.results_by_partition
            ],
        )
        for result in response.results_by_transaction
    ]
    abortable = ErrorCode.TRANSACTION_ABORTABLE
    assert found == [
        ("t", [abortable, abortable]),
        ("u", [0, 0]),
        ("t", [MAPPING, MAPPING]),
        ("u", [0, 0]),
    ]
    assert state(broker, "u").version == 2


# AddOffsetsToTxn


@pytest.mark.parametrize("version", range(5))
async def test_offsets_of_a_group(broker, producer, stale, stranger, version):
    assert await stale.add_offsets(version=version) == (OLD_FENCED if version < 2 else FENCED)
    assert await stranger.add_offsets(version=version) == MAPPING
    assert await producer.add_offsets(version=version) == 0
    (partition,) = state(broker).partitions
    assert partition[0] == "__consumer_offsets"


# EndTxn


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("is_commit", [True, False])
async def test_ends_of_a_producer_that_is_not_the_newest(stale, stranger, producer, version, is_commit):
    assert await producer.add(0) == [0]
    assert await stale.end(is_commit, version) == (OLD_FENCED if version < 2 else FENCED)
    assert await stranger.end(is_commit, version) == MAPPING


@pytest.mark.parametrize("version", range(5))
async def test_v1_ends_nothing_only_once(broker, producer, version):
    invalid = ErrorCode.INVALID_TXN_STATE
    assert [await producer.end(True, version), await producer.end(False, version)] == [invalid, invalid]
    await producer.add(0)
    assert await producer.end(True, version) == 0
    await settled(broker)
    assert [await producer.end(True, version), await producer.end(False, version)] == [0, invalid]


async def test_v2_aborts_nothing(broker, producer):
    assert await producer.end(True) == ErrorCode.INVALID_TXN_STATE
    assert await producer.end(False) == 0
    await settled(broker)
    assert producer.epoch == 2


@pytest.mark.parametrize("version", range(6))
async def test_the_end_has_the_next_epoch_from_version_5_on(broker, client, producer, version):
    await producer.add(0)
    response = await client.ask(EndTxnRequest("t", producer.id, producer.epoch, True), version)
    found = (response.error_code, response.producer_id, response.producer_epoch)
    assert found == ((0, producer.id, 2) if version == 5 else (0, -1, -1))


# Produce


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (3, ErrorCode.INVALID_TXN_STATE),
        (10, ErrorCode.INVALID_TXN_STATE),
        (11, ErrorCode.TRANSACTION_ABORTABLE),
        (12, ErrorCode.NONE),
    ],
)
async def test_a_partition_that_was_not_added(producer, version, code):
    assert await producer.produce(version=version) == code


@pytest.mark.parametrize("version", [3, 11, 12])
async def test_records_of_a_producer_that_is_not_the_newest(producer, stale, stranger, version):
    assert await stale.produce(version=version) == OLD_FENCED
    assert await stranger.produce(version=version) == MAPPING
    refused = await producer.produce(version=version, transactional_id=None)
    assert refused == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


async def test_a_false_epoch_is_not_in_the_way_of_the_true_one(client, producer):
    false = Transactional(client)
    false.id, false.epoch = producer.id, producer.epoch + 1
    assert await false.produce() == OLD_FENCED
    assert await producer.produce() == 0
    assert await false.produce() == OLD_FENCED


async def test_the_partition_itself_knows_that_an_epoch_is_old(broker, client, producer):
    """Its producer learns that it is fenced, also if the coordinator has a new producer id by now."""
    assert [await producer.produce(), await producer.end()] == [0, 0]
    await settled(broker)
    stale = Transactional(client, "another")
    stale.id, stale.epoch = producer.id, 1
    assert await stale.produce(version=11) == OLD_FENCED
    assert await stale.produce() == OLD_FENCED
    stale.epoch = 2
    assert await stale.produce() == MAPPING


# DescribeTransactions, ListTransactions


async def test_several_ids_are_described(client, producer):
    await producer.produce(1)
    response = await client.ask(DescribeTransactionsRequest(["", "t", "nope"]))
    empty, found, unknown = response.transaction_states
    assert empty.error_code == ErrorCode.INVALID_REQUEST
    assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert (found.transaction_state, found.producer_epoch) == ("Ongoing", 1)
    assert [(one.topic, one.partitions) for one in found.topics] == [("a", [1])]


@pytest.fixture
async def long_list(client, producer, monkeypatch):
    """A list of thirty ids that is being made. Each step looks at one id."""
    monkeypatch.setattr(shard_module, "IDS_AT_ONCE", 1)
    for number in range(29):
        await Transactional(client, f"t{number}").begin()
    return await begun(client.ask(ListTransactionsRequest()))


async def test_a_long_list_lets_others_have_their_turn(client, long_list):
    others = 0
    while not long_list.done():
        answer = await client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]))
        assert answer.coordinators[0].error_code == 0
        others += 1
        await asyncio.sleep(0)
    assert len((await long_list).transaction_states) == 30
    assert others >= 20


async def test_a_coordinator_that_moves_while_it_lists(broker, long_list):
    partition = broker.replicas.find("__transaction_state", 0)
    partition.change_leader(2, partition.leader_epoch + 1, [1, 2], [1, 2])
    broker.transactions.leader_changed(partition)
    assert 1 <= len((await long_list).transaction_states) < 30


@pytest.mark.parametrize("version", range(3))
async def test_lists(client, producer, version):
    await Transactional(client, "u").begin()
    await producer.produce()

    async def ids(**filters):
        response = await client.ask(ListTransactionsRequest(**filters), version)
        found = sorted(one.transactional_id for one in response.transaction_states)
        return response.error_code or (found, response.unknown_state_filters)

    assert await ids() == (["t", "u"], [])
    assert await ids(state_filters=["Ongoing", "nope"]) == (["t"], ["nope"])
    assert await ids(producer_id_filters=[producer.id]) == (["t"], [])
    if version >= 1:
        assert await ids(duration_filter=10**9) == (["u"], [])  # `u` has no transaction, as in Kafka
    if version >= 2:
        assert await ids(transactional_id_pattern="[u-z]") == (["u"], [])
        assert await ids(transactional_id_pattern="[") == ErrorCode.INVALID_REGULAR_EXPRESSION


# A coordinator that loads


def move(broker):
    """A new leader epoch: the coordinator is loading when the next request comes."""
    partition = broker.replicas.find("__transaction_state", 0)
    partition.change_leader(1, partition.leader_epoch + 1, [1], [1])
    broker.transactions.leader_changed(partition)


async def test_a_coordinator_that_moves_keeps_everything(broker, producer):
    await producer.produce()
    before = state(broker)
    move(broker)
    assert await producer.end() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    await until(lambda: broker.transactions.is_active("t"))
    assert state(broker) == before._replace(last_epoch=-1)
    assert await producer.end() == 0


async def test_while_a_coordinator_loads(broker, client, producer):
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    async def listed():
        return (await client.ask(ListTransactionsRequest())).error_code

    async def described():
        return (await producer.describe()).error_code

    for request in (producer.begin, producer.add_offsets, listed, described):
        move(broker)
        assert await request() == loading
    move(broker)
    assert await producer.add(0) == [loading]
    move(broker)
    assert await producer.produce() == ErrorCode.NOT_ENOUGH_REPLICAS
    await until(lambda: broker.transactions.is_active("t"))


async def test_another_broker_coordinates(broker, client, producer):
    partition = broker.replicas.find("__transaction_state", 0)
    partition.change_leader(2, partition.leader_epoch + 1, [1, 2], [1, 2])
    broker.transactions.leader_changed(partition)
    refused = ErrorCode.NOT_COORDINATOR
    assert [await producer.begin(), await producer.end()] == [refused, refused]
    assert (await client.ask(ListTransactionsRequest())).transaction_states == []
