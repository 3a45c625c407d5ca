"""WriteTxnMarkers through the pipeline: control batches, and who may not write them."""

import asyncio

import pytest

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.broker.handlers.door import NOW_MS, append, create_topic
from tests.broker.handlers.fetching import begun
from tests.broker.handlers.transactional import read

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
VERSIONS = pytest.mark.parametrize("version", [1, 2])


@pytest.fixture(autouse=True)
async def topic(broker):
    await create_topic(broker, "a", 3)


def marker(producer=(7, 1), is_commit=True, indexes=(0,), coordinator_epoch=0, topic="a", level=0):
    topics = [WritableTxnMarkerTopic(topic, list(indexes))]
    return WritableTxnMarker(producer[0], producer[1], is_commit, topics, coordinator_epoch, level)


async def mark(client, *markers, version=2):
    """The error codes of each marker."""
    response = await client.ask(WriteTxnMarkersRequest(list(markers)), version)
    assert [one.producer_id for one in response.markers] == [one.producer_id for one in markers]
    return [
        [one.error_code for topic in result.topics for one in topic.partitions] for result in response.markers
    ]


def write(broker, producer=(7, 1), index=0):
    append(
        broker,
        "a",
        NOW_MS,
        index=index,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=0,
        transactional=True,
    )


@VERSIONS
@pytest.mark.parametrize("is_commit", [True, False])
async def test_a_marker_ends_a_transaction(broker, client, version, is_commit):
    write(broker)
    assert await read(client) == ([], 0)
    assert await mark(client, marker(is_commit=is_commit), version=version) == [[0]]
    assert await read(client) == ([b"value"] if is_commit else [], 2)


@VERSIONS
async def test_a_marker_without_a_transaction_is_written(client, version):
    assert await mark(client, marker(), version=version) == [[0]]
    assert await read(client) == ([], 1)


async def test_a_repeated_marker_ends_nothing(broker, client):
    write(broker)
    assert await mark(client, marker(is_commit=False)) == [[0]]
    assert await mark(client, marker(is_commit=True)) == [[0]]
    assert await read(client) == ([], 3)


async def test_markers_of_several_producers(broker, client):
    for number in (7, 8):
        write(broker, (number, 1), index=number - 7)
    codes = await mark(client, marker((8, 1), False, (1, 2)), marker((7, 1), True, (0, 9)))
    assert codes == [[0, 0], [0, UNKNOWN]]
    assert await read(client, 0) == ([b"value"], 2)
    assert await read(client, 1) == ([], 2)


async def test_topics_that_do_not_exist(client):
    assert await mark(client, marker(topic="nope")) == [[UNKNOWN]]


async def test_an_older_producer_epoch(broker, client):
    write(broker, (7, 2))
    assert await mark(client, marker((7, 1))) == [[ErrorCode.INVALID_PRODUCER_EPOCH]]
    assert await read(client) == ([], 0)


async def test_a_coordinator_that_was_replaced(broker, client):
    write(broker)
    assert await mark(client, marker(coordinator_epoch=5)) == [[0]]
    write(broker, (7, 2))
    fenced = ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert await mark(client, marker((7, 2), coordinator_epoch=4)) == [[fenced]]
    assert await read(client) == ([b"value"], 2)
    assert await mark(client, marker((7, 2), coordinator_epoch=5)) == [[0]]


async def test_with_v2_the_epoch_must_be_newer(broker, client):
    """A marker that comes late does not end the next transaction (KIP-1228)."""
    write(broker)
    assert await mark(client, marker(level=2)) == [[ErrorCode.INVALID_PRODUCER_EPOCH]]
    assert await read(client) == ([], 0)
    assert await mark(client, marker((7, 2), level=2)) == [[0]]
    assert await read(client) == ([b"value"], 2)


async def test_a_partition_of_another_leader(broker, client):
    broker.replicas.find("a", 0).change_leader(2, 5, [1, 2], [1, 2])
    assert await mark(client, marker()) == [[ErrorCode.NOT_LEADER_OR_FOLLOWER]]


async def test_the_answer_waits_for_the_followers(broker, client):
    partition = broker.replicas.find("a", 0)
    write(broker)
    partition.change_leader(1, 5, [1, 2], [1, 2])
    waiting = await begun(mark(client, marker(indexes=(0, 1))))
    partition.change_leader(2, 6, [1, 2], [1, 2])
    async with asyncio.timeout(20):
        assert await waiting == [[ErrorCode.NOT_LEADER_OR_FOLLOWER, 0]]


async def test_no_topic_of_groups(client):
    refused = await mark(client, marker(topic="__consumer_offsets"))
    assert refused == [[ErrorCode.NOT_LEADER_OR_FOLLOWER]]
