"""ListOffsets finds the ends of a log and the offsets of times, within what the client may read."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from gralha.broker.handlers import list_offsets
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from gralha.protocol.special_timestamps import MAX_TIMESTAMP
from gralha.storage.disk import DiskError
from tests.broker.handlers.door import NOW_MS, Client, append, create_topic, make_broker

NOT_FOUND = (0, -1, -1, -1)
UNSUPPORTED = (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)


async def ask(client, timestamp, version=11, topic="a", replica_id=-1, isolation_level=0, leader_epoch=-1):
    """Error code, timestamp, offset and leader epoch."""
    wanted = ListOffsetsPartition(partition_index=0, timestamp=timestamp, current_leader_epoch=leader_epoch)
    request = ListOffsetsRequest(
        replica_id=replica_id,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=topic, partitions=[wanted])],
    )
    found = (await client.ask(request, version)).topics[0].partitions[0]
    return found.error_code, found.timestamp, found.offset, found.leader_epoch


@pytest.fixture
async def log(broker):
    """Records at the times +1000, +3000, +2000, +3000, in three batches."""
    await create_topic(broker, "a")
    append(broker, "a", NOW_MS + 1000)
    append(broker, "a", NOW_MS + 3000, NOW_MS + 2000)
    append(broker, "a", NOW_MS + 3000)
    return broker.replicas.find("a", 0).log


@pytest.mark.parametrize(
    ("timestamp", "found"),
    [
        (-1, (0, -1, 4, 0)),
        (-2, (0, -1, 0, 0)),
        (-3, (0, NOW_MS + 3000, 1, 0)),
        (-4, (0, -1, 0, 0)),
        (-5, NOT_FOUND),
        (-6, NOT_FOUND),
        (-7, UNSUPPORTED),
        (0, (0, NOW_MS + 1000, 0, 0)),
        (NOW_MS + 1000, (0, NOW_MS + 1000, 0, 0)),
        (NOW_MS + 1001, (0, NOW_MS + 3000, 1, 0)),
        (NOW_MS + 3000, (0, NOW_MS + 3000, 1, 0)),
        (NOW_MS + 3001, NOT_FOUND),
    ],
)
async def test_times_and_ends(client, log, timestamp, found):
    assert await ask(client, timestamp) == found


@pytest.mark.parametrize(("timestamp", "first_version"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11)])
async def test_special_timestamps_have_a_first_version(client, log, timestamp, first_version):
    assert await ask(client, timestamp, first_version - 1) == UNSUPPORTED
    assert (await ask(client, timestamp, first_version))[0] == 0


async def test_an_empty_log(broker, client):
    await create_topic(broker, "a")
    assert await ask(client, -1) == (0, -1, 0, 0)
    assert await ask(client, -2) == (0, -1, 0, 0)
    assert await ask(client, -3) == NOT_FOUND
    assert await ask(client, NOW_MS) == NOT_FOUND


async def test_the_start_follows_deleted_records(broker, client, log):
    log.increment_log_start_offset(2)
    assert await ask(client, -2) == (0, -1, 2, 0)
    assert await ask(client, NOW_MS) == (0, NOW_MS + 2000, 2, 0)


async def test_an_open_transaction_ends_what_read_committed_sees(broker, client, log):
    append(broker, "a", NOW_MS + 9000, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    assert await ask(client, -1, isolation_level=0) == (0, -1, 5, 0)
    assert await ask(client, -1, isolation_level=1) == (0, -1, 4, 0)
    assert await ask(client, NOW_MS + 9000, isolation_level=0) == (0, NOW_MS + 9000, 4, 0)
    assert await ask(client, NOW_MS + 9000, isolation_level=1) == NOT_FOUND
    assert await ask(client, -3, isolation_level=1) == NOT_FOUND
    assert await ask(client, -1, isolation_level=1, replica_id=-2) == (0, -1, 5, 0)
    assert await ask(client, NOW_MS + 9000, isolation_level=1, replica_id=2) == (0, NOW_MS + 9000, 4, 0)


@pytest.mark.parametrize(
    ("leader_epoch", "code"),
    [(0, 0), (1, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
async def test_the_clients_leader_epoch_is_checked(client, log, leader_epoch, code):
    assert (await ask(client, -1, leader_epoch=leader_epoch))[0] == code


async def test_an_older_leader_epoch_is_fenced(broker, client, log):
    broker.replicas.find("a", 0).change_leader(1, 3, [1], [1])
    assert (await ask(client, -1, leader_epoch=2))[0] == ErrorCode.FENCED_LEADER_EPOCH


async def test_a_follower_answers_only_debugging_clients(broker, client, log):
    broker.replicas.find("a", 0).change_leader(2, 1, [1, 2], [1, 2])
    assert (await ask(client, -1))[0] == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (await ask(client, -1, replica_id=-2))[2] == 4


async def test_leadership_lost_during_the_search(broker, client, log):
    asking = asyncio.create_task(ask(client, NOW_MS))
    await asyncio.sleep(0)  # the request is inside, its search has not been looked at
    broker.replicas.find("a", 0).change_leader(1, 1, [1], [1])
    assert await asking == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1, -1)


class BrokenLog:
    def offset_of_max_timestamp(self):
        raise DiskError("read", "a-0", "broken")


def test_a_disk_error_is_an_error_of_the_partition():
    answer = ListOffsetsPartitionResponse()
    partition: Any = SimpleNamespace(log=BrokenLog(), leader_epoch=0)
    search = list_offsets._Search(partition, MAX_TIMESTAMP, 5, answer)
    search.run()
    search.finish()
    assert answer == ListOffsetsPartitionResponse(error_code=ErrorCode.KAFKA_STORAGE_ERROR)


async def test_unknown_topics_and_partitions(client):
    assert (await ask(client, -1, topic="nope"))[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_partition_of_another_broker(tmp_path):
    broker = make_broker(tmp_path, brokers=2)
    await create_topic(broker, "a", 2)
    client = Client(broker)
    wanted = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in (0, 1, 2)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="a", partitions=wanted)])
    codes = [one.error_code for one in (await client.ask(request)).topics[0].partitions]
    assert sorted(codes[:2]) == [0, ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert codes[2] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_partition_that_is_asked_for_twice(client, log):
    wanted = ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name="a", partitions=[wanted, wanted])]
    )
    response = await client.ask(request)
    assert {one.error_code for one in response.topics[0].partitions} == {ErrorCode.INVALID_REQUEST}
