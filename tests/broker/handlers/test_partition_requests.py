"""OffsetForLeaderEpoch, DeleteRecords, DescribeProducers, DescribeLogDirs: questions about partitions."""

from types import SimpleNamespace
from typing import Any

import pytest

from gralha.broker.handlers import describe_log_dirs
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from gralha.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from gralha.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from gralha.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from gralha.storage.disk import DiskError
from tests.broker.handlers.door import NOW_MS, Client, append, create_topic, make_broker


async def end_of_epoch(client, epoch, topic="a", current=-1):
    wanted = OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=[wanted])])
    found = (await client.ask(request)).topics[0].partitions[0]
    return found.error_code, found.leader_epoch, found.end_offset


async def test_the_end_of_an_epoch(broker, client):
    await create_topic(broker, "a")
    append(broker, "a", NOW_MS, NOW_MS)
    broker.replicas.find("a", 0).change_leader(1, 3, [1], [1])
    append(broker, "a", NOW_MS)
    assert await end_of_epoch(client, 0) == (0, 0, 2)
    assert await end_of_epoch(client, 2) == (0, 0, 2)
    assert await end_of_epoch(client, 3) == (0, 3, 3)
    assert await end_of_epoch(client, 4) == (0, -1, -1)
    assert await end_of_epoch(client, -1) == (0, -1, -1)


async def test_the_end_of_an_epoch_that_cannot_be_told(broker, client):
    await create_topic(broker, "a")
    assert await end_of_epoch(client, 0, current=1) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert await end_of_epoch(client, 0, topic="b") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)


async def delete_before(client, offset, topic="a"):
    wanted = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[wanted])])
    result = (await client.ask(request)).topics[0].partitions[0]
    return result.error_code, result.low_watermark


async def test_records_are_deleted_up_to_an_offset_and_never_come_back(broker, client):
    await create_topic(broker, "a")
    append(broker, "a", *[NOW_MS] * 5)
    assert await delete_before(client, 2) == (0, 2)
    assert await delete_before(client, 1) == (0, 2)
    assert await delete_before(client, -1) == (0, 5)
    assert broker.replicas.find("a", 0).log.log_start_offset == 5


@pytest.mark.parametrize("offset", [6, -2])
async def test_offsets_that_cannot_be_deleted(broker, client, offset):
    await create_topic(broker, "a")
    append(broker, "a", *[NOW_MS] * 5)
    assert await delete_before(client, offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


async def test_topics_whose_records_cannot_be_deleted(broker, client):
    await create_topic(broker, "compacted", cleanup_policy="compact")
    await create_topic(broker, "__consumer_offsets")
    assert await delete_before(client, 0, "compacted") == (ErrorCode.POLICY_VIOLATION, -1)
    assert await delete_before(client, 0, "__consumer_offsets") == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)
    assert await delete_before(client, 0, "nope") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


async def test_a_follower_deletes_nothing(broker, client):
    await create_topic(broker, "a")
    broker.replicas.find("a", 0).change_leader(2, 1, [1, 2], [1, 2])
    assert await delete_before(client, 0) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


async def test_the_producers_of_a_partition(broker, client):
    await create_topic(broker, "a")
    append(broker, "a", NOW_MS, NOW_MS + 5, producer_id=7, producer_epoch=1, base_sequence=0)
    append(broker, "a", NOW_MS, producer_id=8, producer_epoch=0, base_sequence=0, transactional=True)
    request = DescribeProducersRequest(topics=[TopicRequest(name="a", partition_indexes=[0])])
    partition = (await client.ask(request)).topics[0].partitions[0]
    assert [
        (
            one.producer_id,
            one.producer_epoch,
            one.last_sequence,
            one.last_timestamp,
            one.current_txn_start_offset,
        )
        for one in partition.active_producers
    ] == [(7, 1, 1, NOW_MS + 5, -1), (8, 0, 0, NOW_MS, 2)]


async def test_producers_of_what_is_not_there(broker, client):
    await create_topic(broker, "a")
    wanted = [TopicRequest(name=name, partition_indexes=[0, 5]) for name in ("a", "nope", "a b")]
    response = await client.ask(DescribeProducersRequest(topics=wanted))
    assert [[one.error_code for one in topic.partitions] for topic in response.topics] == [
        [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
        [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2,
        [ErrorCode.INVALID_TOPIC_EXCEPTION] * 2,
    ]


def sizes(result):
    return {
        (topic.name, one.partition_index): one.partition_size
        for topic in result.topics
        for one in topic.partitions
    }


async def test_folders_tell_what_they_hold(broker, client, tmp_path):
    await create_topic(broker, "a", 2)
    append(broker, "a", NOW_MS, index=1)
    size = broker.replicas.find("a", 1).log.size_bytes()
    (result,) = (await client.ask(DescribeLogDirsRequest(topics=None))).results
    assert (result.error_code, result.log_dir) == (0, str(tmp_path))
    assert sizes(result) == {("a", 0): 0, ("a", 1): size}
    assert 0 < result.usable_bytes < result.total_bytes


async def test_folders_tell_only_what_was_asked(broker, client):
    await create_topic(broker, "a", 2)
    topics = [
        DescribableLogDirTopic(topic="a", partitions=[1, 9]),
        DescribableLogDirTopic(topic="b", partitions=[0]),
    ]
    (result,) = (await client.ask(DescribeLogDirsRequest(topics=topics))).results
    assert list(sizes(result)) == [("a", 1)]
    (result,) = (await client.ask(DescribeLogDirsRequest(topics=[]))).results
    assert result.topics == []


async def test_each_folder_by_itself(tmp_path):
    folders = [str(tmp_path / name) for name in ("one", "two")]
    broker = make_broker(tmp_path, log_dirs=",".join(folders))
    await create_topic(broker, "a", 2)
    broker.logs.cordoned = frozenset(folders[1:])
    results = (await Client(broker).ask(DescribeLogDirsRequest(topics=None))).results
    assert [(one.log_dir, len(sizes(one)), one.is_cordoned) for one in results] == [
        (folders[0], 1, False),
        (folders[1], 1, True),
    ]


class BrokenDisk:
    def usage(self, path):
        raise DiskError("ask", path, "gone")


def test_a_folder_that_cannot_be_asked():
    broker: Any = SimpleNamespace(logs=SimpleNamespace(folders=["/data"], logs={}, disk=BrokenDisk()))
    context: Any = None
    (result,) = describe_log_dirs.handle(broker, context, DescribeLogDirsRequest(topics=None)).results
    assert (result.log_dir, result.error_code) == ("/data", ErrorCode.KAFKA_STORAGE_ERROR)
