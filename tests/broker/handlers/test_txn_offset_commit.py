"""TxnOffsetCommit and OffsetFetch through the pipeline: offsets that count when their transaction commits."""

import asyncio

import pytest

from gralha.coordination.producer import EndMarker, Producer
from gralha.groups.caller import Caller
from gralha.protocol.apis import ApiKey
from gralha.protocol.coordinators import partition_for
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest
from gralha.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse
from tests.broker.handlers.door import agree_always, create_topic
from tests.broker.handlers.group_messages import REQUESTS, offset_commit, offset_fetch, txn_offset_commit

PRODUCER = Producer(7, 0)
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
VERSIONS = range(6)


@pytest.fixture
async def topic_id(broker, client):
    """The id of topic `a`; the coordinator is there and has loaded its partitions."""
    topic_id = await create_topic(broker, "a")
    await client.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
    await loaded(broker)
    agree_always(broker)
    return topic_id


async def loaded(broker):
    while any(runtime.state.name == "LOADING" for runtime in broker.groups._runtimes.values()):
        await asyncio.sleep(0)


def load_again(broker):
    """Begin a new leader epoch of the group's coordinator. It is loading when the next request comes."""
    partition = broker.replicas.find("__consumer_offsets", partition_for("g", 5))
    partition.change_leader(1, partition.leader_epoch + 1, [1], [1])
    broker.groups.leader_changed(partition)


async def commit(client, version=5, **fields):
    """The error codes for topic `a`, and for one that does not exist."""
    response = await client.ask(txn_offset_commit(version, None, **fields), version)
    return [partition.error_code for topic in response.topics for partition in topic.partitions]


async def end(broker, is_commit, producer=PRODUCER, coordinator_epoch=0):
    """Write a marker as the handler of WriteTxnMarkers does. Returns the error code."""
    answer = broker.groups.write_marker(
        partition_for("g", 5),
        EndMarker(producer, coordinator_epoch, is_commit),
        lambda error: TxnOffsetCommitResponse(throttle_time_ms=error.code),
        TxnOffsetCommitResponse(),
    )
    response = answer if isinstance(answer, TxnOffsetCommitResponse) else await answer
    return response.throttle_time_ms


async def fetched(client, topic_id, require_stable=False, version=10):
    """The offset of the group, or the error."""
    request = offset_fetch(version, topic_id)
    request.require_stable = require_stable
    response = await client.ask(request, version)
    topics = response.groups[0].topics if version >= 8 else response.topics
    return topics[0].partitions[0].error_code or topics[0].partitions[0].committed_offset


@pytest.mark.parametrize("version", VERSIONS)
async def test_offsets_count_when_the_transaction_commits(broker, client, topic_id, version):
    assert await commit(client, version, offset=42) == [0, UNKNOWN]
    assert await fetched(client, topic_id) == -1
    assert await end(broker, True) == 0
    assert await fetched(client, topic_id) == 42


async def test_offsets_of_an_aborted_transaction_are_forgotten(broker, client, topic_id):
    await client.ask(offset_commit(10, topic_id, offset=1))
    await commit(client, offset=42)
    assert await end(broker, False) == 0
    assert await fetched(client, topic_id) == 1


@pytest.mark.parametrize("version", [7, 8, 10])
async def test_a_consumer_that_wants_stable_offsets_asks_again(broker, client, topic_id, version):
    await client.ask(offset_commit(10, topic_id, offset=1))
    await commit(client, offset=42)
    assert await fetched(client, topic_id, True, version) == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert await fetched(client, topic_id, False, version) == 1
    await end(broker, True)
    assert await fetched(client, topic_id, True, version) == 42


async def test_only_an_answer_with_an_offset_needs_a_proof(broker, client, topic_id):
    """Consumers of a transaction that hangs ask ten times a second. Each proof is a record."""
    request = offset_fetch(10, topic_id).groups[0]
    (shard,) = [one for one in broker.groups.shards if "g" in one.groups] or broker.groups.shards[:1]
    who = Caller("client", "/127.0.0.1", 10)
    assert shard.fetch_offsets(who, request, True).proof is not None
    await commit(client, offset=42)
    shard = next(one for one in broker.groups.shards if "g" in one.groups)
    assert shard.fetch_offsets(who, request, True).proof is None
    assert shard.fetch_offsets(who, request, False).proof is None
    await end(broker, True)
    assert shard.fetch_offsets(who, request, True).proof is not None


@pytest.mark.parametrize("is_commit", [True, False])
async def test_a_coordinator_that_moves_knows_what_waits(broker, client, topic_id, is_commit):
    await client.ask(offset_commit(10, topic_id, offset=1))
    await commit(client, offset=42)
    load_again(broker)
    await loaded(broker)
    assert await fetched(client, topic_id, True) == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert await end(broker, is_commit) == 0
    load_again(broker)
    await loaded(broker)
    assert await fetched(client, topic_id, True) == (42 if is_commit else 1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_old_producers_do_not_know_that_a_coordinator_loads(broker, client, topic_id, version):
    load_again(broker)
    known = version >= 2
    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if known else ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await commit(client, version) == [code, code]


async def test_an_old_producer_is_fenced(broker, client, topic_id):
    assert await commit(client, producer=(7, 3)) == [0, UNKNOWN]
    fenced = ErrorCode.INVALID_PRODUCER_EPOCH
    assert await commit(client, producer=(7, 2)) == [fenced, fenced]
    assert await end(broker, True, Producer(7, 2)) == fenced


async def test_a_marker_of_an_old_epoch_ends_nothing(broker, client, topic_id):
    """The offsets that wait have no epoch of their own. So the log must check it before they are counted."""
    await client.ask(offset_commit(10, topic_id, offset=1))
    assert await commit(client, offset=42, producer=(7, 3)) == [0, UNKNOWN]
    for is_commit in (True, False):
        assert await end(broker, is_commit, Producer(7, 2)) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert await fetched(client, topic_id, True) == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert await end(broker, True, Producer(7, 3)) == 0
    assert await fetched(client, topic_id, True) == 42


@pytest.mark.parametrize(
    ("version", "fields", "code"),
    [
        (3, {"member_id": "nobody", "generation_id": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
        (5, {"member_id": "nobody", "generation_id": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
        (5, {"group_id": "none", "generation_id": 1}, ErrorCode.ILLEGAL_GENERATION),
        (5, {"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        (0, {"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
    ],
)
async def test_errors_of_the_group(client, topic_id, version, fields, code):
    await client.ask(offset_commit(10, topic_id))  # the group exists, without members
    assert await commit(client, version, **fields) == [code, UNKNOWN]


async def test_a_deleted_group_forgets_what_waits(broker, client, topic_id):
    await commit(client, offset=42)
    deleted = await client.ask(REQUESTS[ApiKey.DELETE_GROUPS](2, topic_id))
    assert deleted.results[0].error_code == 0
    await end(broker, True)
    assert await fetched(client, topic_id, True) == -1


async def test_before_its_topic_is_made_there_is_no_coordinator(broker, client):
    await create_topic(broker, "a")
    assert await commit(client) == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    assert await end(broker, True) == ErrorCode.NOT_LEADER_OR_FOLLOWER
