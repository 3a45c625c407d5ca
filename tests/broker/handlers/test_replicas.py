"""Requests about a partition that has other replicas: followers' fetches, acks=all, leaders elsewhere."""

import asyncio

import pytest

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from gralha.protocol.messages.fetch import ReplicaState
from gralha.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from gralha.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.replication.cluster_view import ClusterView
from tests.broker.handlers.door import NOW_MS, append, create_topic, make_broker
from tests.broker.handlers.fetching import LONG_MS, begun, codes, fetch, found, partitions_of
from tests.replication.parts import waiting_for_end, waiting_for_high_watermark, waiting_for_start
from tests.storage.logs import end_transaction, idempotent

NEWEST = 18
LAG_MS = 30_000
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


@pytest.fixture
def broker(tmp_path):
    broker = make_broker(tmp_path, brokers=3, replica_selector_class=RACK_AWARE)
    yield broker
    broker.logs.release()


@pytest.fixture
async def partition(broker):
    """a-0 with replicas on 1, 2 and 3, all in sync; 1 leads it in epoch 5."""
    await create_topic(broker, "a")
    return replicated(broker, "a")


def replicated(broker, topic, index=0):
    partition = broker.replicas.find(topic, index)
    partition.cluster = ClusterView(
        lambda: 0, lambda one: broker.image.brokers.get(one), lambda: 1, lambda *proposal: None, LAG_MS
    )
    partition.log.config = partition.log.config.with_overrides({"min.insync.replicas": "2"})
    partition.change_leader(1, 5, [1, 2, 3], [1, 2, 3])
    return partition


def replica_fetch(client, partition, replica, offset, last_epoch=5, leader_epoch=5, log_start=0, **options):
    """A follower's fetch."""
    broker_epoch = client.broker.image.brokers[replica].epoch if replica in (1, 2, 3) else -1
    return fetch(
        client,
        {0: offset},
        version=NEWEST,
        topic="",
        topic_id=partition.topic_id,
        leader_epoch=leader_epoch,
        replica_state=ReplicaState(replica_id=replica, replica_epoch=broker_epoch),
        last_fetched_epoch=last_epoch,
        log_start_offset=log_start,
        **options,
    )


def consumer_fetch(client, partition, offset, **options):
    return fetch(client, {0: offset}, version=NEWEST, topic="", topic_id=partition.topic_id, **options)


async def all_fetch(client, partition, offset, **options):
    for replica in (2, 3):
        await replica_fetch(client, partition, replica, offset, **options)


# Followers


async def test_a_follower_reads_to_the_end_and_a_consumer_to_the_high_watermark(broker, client, partition):
    append(broker, "a", NOW_MS)
    append(broker, "a", NOW_MS)
    assert found(await replica_fetch(client, partition, 2, 0)) == {0: [0, 1]}
    assert found(await consumer_fetch(client, partition, 0)) == {0: []}
    await all_fetch(client, partition, 1)
    assert found(await consumer_fetch(client, partition, 0)) == {0: [0]}
    # The response to the fetch that moves the high watermark has the new one.
    await replica_fetch(client, partition, 2, 2)
    assert partitions_of(await replica_fetch(client, partition, 3, 2))[0].high_watermark == 2


async def test_a_waiting_follower_is_woken_by_an_append_and_a_consumer_by_the_high_watermark(
    broker, client, partition
):
    following = await begun(replica_fetch(client, partition, 2, 0, max_wait_ms=LONG_MS))
    consuming = await begun(consumer_fetch(client, partition, 0, max_wait_ms=LONG_MS))
    append(broker, "a", NOW_MS)
    assert found(await following) == {0: [0]}
    await asyncio.sleep(0)
    assert not consuming.done()
    await all_fetch(client, partition, 1)
    assert found(await consuming) == {0: [0]}
    assert (waiting_for_high_watermark(partition), waiting_for_end(partition)) == (0, 0)


async def test_a_follower_whose_log_has_parted_is_told_where_at_once(broker, client, partition):
    append(broker, "a", NOW_MS)
    answer = partitions_of(
        await replica_fetch(client, partition, 2, 3, last_epoch=4, max_wait_ms=LONG_MS, min_bytes=1)
    )[0]
    assert (answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset) == (4, 0)
    assert partition.led().followers[2].log_end_offset == -1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"leader_epoch": 4}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_epoch": 6}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"replica": 9}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"offset": 7, "last_epoch": -1}, ErrorCode.OFFSET_OUT_OF_RANGE),
        ({"last_epoch": 8}, ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
async def test_what_a_follower_may_not_ask(client, partition, options, code):
    asked = {"replica": 2, "offset": 0, **options}
    assert codes(await replica_fetch(client, partition, **asked)) == {0: code}


# acks=all


def produce_request(partition, acks=-1, timeout_ms=LONG_MS):
    data = encode_batch([Record(b"key", b"value", NOW_MS)])
    wanted = PartitionProduceData(index=0, records=RecordBytes(data, 0, len(data)))
    topic = TopicProduceData(topic_id=partition.topic_id, partition_data=[wanted])
    return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[topic])


async def produce(client, partition, **options):
    response = await client.ask(produce_request(partition, **options))
    return response, response.responses[0].partition_responses[0]


async def test_a_write_is_acknowledged_when_all_in_sync_replicas_have_it(client, partition):
    writing = await begun(produce(client, partition))
    await replica_fetch(client, partition, 2, 1)
    assert not writing.done()
    await replica_fetch(client, partition, 3, 1)
    _, answer = await writing
    assert (answer.error_code, answer.base_offset) == (0, 0)


async def test_a_write_of_an_epoch_that_is_over_fails_though_its_offset_is_passed(client, partition):
    writing = await begun(produce(client, partition))
    partition.change_leader(2, 6, [1, 2, 3], [1, 2, 3])
    partition.change_leader(1, 7, [1, 2, 3], [1, 2, 3])
    await all_fetch(client, partition, 1, leader_epoch=7)
    assert partition.log.high_watermark == 1
    response, answer = await writing
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (2, 6)
    assert [(node.node_id, node.host) for node in response.node_endpoints] == [(2, "host2")]


async def test_a_write_that_takes_too_long_and_one_without_enough_replicas(client, partition):
    _, late = await produce(client, partition, timeout_ms=1)
    assert (late.error_code, late.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, -1)
    partition.change_leader(1, 5, [1, 2, 3], [1])
    _, refused = await produce(client, partition)
    assert refused.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert partition.log.log_end_offset == 1


@pytest.mark.parametrize("version", [9, 13])
async def test_who_writes_to_the_wrong_broker_is_told_the_right_one(broker, client, partition, version):
    partition.change_leader(3, 6, [1, 2, 3], [1, 2, 3])
    request = produce_request(partition, acks=1)
    request.topic_data[0].name = "a"
    response = await client.ask(request, version)
    answer = response.responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if version < 10:
        assert answer.current_leader is None
    else:
        assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (3, 6)
        assert [node.node_id for node in response.node_endpoints] == [3]


# Consumers


async def test_who_reads_from_the_wrong_broker_is_told_the_right_one(broker, client, partition):
    partition.change_leader(3, 6, [1, 2, 3], [1, 2, 3])
    response = await consumer_fetch(client, partition, 0, leader_epoch=5)
    answer = partitions_of(response)[0]
    assert answer.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (3, 6)
    assert [(node.node_id, node.host) for node in response.node_endpoints] == [(3, "host3")]


async def test_a_consumer_is_sent_to_the_replica_in_its_rack_if_that_has_the_offset(
    broker, client, partition
):
    controller = broker.controller
    brokers = {one.id: one._replace(rack=f"rack{one.id}") for one in controller.image.brokers.values()}
    controller.image = controller.image._replace(brokers=brokers)
    append(broker, "a", NOW_MS)
    await all_fetch(client, partition, 1)

    async def preferred(rack, offset=0):
        answer = partitions_of(await consumer_fetch(client, partition, offset, rack_id=rack))[0]
        assert (answer.preferred_read_replica == -1) == (len(answer.records.to_bytes()) > 0)
        return answer.preferred_read_replica

    assert [await preferred(rack) for rack in ("rack1", "rack2", "rack3", "rack4")] == [-1, 2, 3, -1]
    partition.change_leader(1, 5, [1, 2, 3], [1, 3])
    assert await preferred("rack2") == -1


async def test_a_follower_serves_consumers_up_to_what_it_knows_to_be_committed(broker, client, partition):
    append(broker, "a", NOW_MS)
    await all_fetch(client, partition, 1)
    append(broker, "a", NOW_MS)
    partition.change_leader(3, 6, [1, 2, 3], [1, 2, 3])
    assert found(await consumer_fetch(client, partition, 0, leader_epoch=6)) == {0: [0]}
    beyond = await consumer_fetch(client, partition, 3, leader_epoch=6)
    assert codes(beyond) == {0: ErrorCode.OFFSET_NOT_AVAILABLE}
    old = await fetch(client, {0: 0}, version=10)
    assert codes(old) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}


async def end_offset(client, version=11):
    wanted = ListOffsetsPartition(partition_index=0, timestamp=-1)
    topic = ListOffsetsTopic(name="a", partitions=[wanted])
    request = ListOffsetsRequest(replica_id=-1, topics=[topic])
    answer = (await client.ask(request, version)).topics[0].partitions[0]
    return answer.error_code, answer.offset


async def test_a_new_leader_does_not_tell_an_end_that_may_be_too_old(broker, client, partition):
    append(broker, "a", NOW_MS)
    append(broker, "a", NOW_MS)
    await all_fetch(client, partition, 1)
    partition.change_leader(1, 6, [1, 2, 3], [1, 2, 3])
    assert await end_offset(client) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)
    assert await end_offset(client, 4) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    # A consumer that has reached the old high watermark gets an error: it may not be the end.
    for offset in (2, 1):
        answer = await consumer_fetch(client, partition, offset)
        assert codes(answer) == {0: ErrorCode.OFFSET_NOT_AVAILABLE}
    assert found(await consumer_fetch(client, partition, 0)) == {0: [0]}
    waiting = await begun(consumer_fetch(client, partition, 2, max_wait_ms=LONG_MS))
    await all_fetch(client, partition, 2, leader_epoch=6)
    assert await end_offset(client) == (0, 2)
    append(broker, "a", NOW_MS)
    await all_fetch(client, partition, 3, last_epoch=6, leader_epoch=6)
    assert found(await waiting) == {0: [2]}


async def test_an_end_that_is_not_known_is_not_told_beside_the_records_of_others(broker, client):
    await create_topic(broker, "b", partitions=6)  # two of them on each broker
    behind, other = broker.replicas.by_name["b"]
    partition = replicated(broker, "b", behind)
    for index in (behind, behind, other):
        append(broker, "b", NOW_MS, index=index)
    assert partition.log.high_watermark == 0
    partition.change_leader(1, 6, [1, 2, 3], [1, 2, 3])
    answer = await fetch(client, {behind: 0, other: 0}, topic="b", max_wait_ms=LONG_MS)
    assert codes(answer) == {behind: ErrorCode.OFFSET_NOT_AVAILABLE, other: 0}
    assert found(answer)[other] == [0]
    assert partitions_of(answer)[behind].high_watermark == -1


async def test_a_reader_of_committed_records_is_not_woken_by_an_open_transaction(broker, client, partition):
    partition.change_leader(1, 6, [1], [1])
    asking = await begun(
        consumer_fetch(client, partition, 0, isolation_level=1, max_wait_ms=LONG_MS, min_bytes=1)
    )
    idempotent(partition.log, 0, transactional=True)
    partition.untold_bytes += 100
    partition.led().advance_high_watermark()
    for _ in range(5):
        await asyncio.sleep(0)
    assert partition.log.high_watermark == 1
    assert not asking.done()
    end_transaction(partition.log, 7, commit=True)
    partition.untold_bytes += 100
    partition.led().advance_high_watermark()
    assert found(await asking) == {0: [0, 1]}


# DeleteRecords


async def delete_before(client, offset, timeout_ms=LONG_MS):
    wanted = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="a", partitions=[wanted])], timeout_ms=timeout_ms
    )
    result = (await client.ask(request)).topics[0].partitions[0]
    return result.error_code, result.low_watermark


async def test_deleted_records_are_gone_when_all_replicas_have_followed(broker, client, partition):
    append(broker, "a", *[NOW_MS] * 3)
    await all_fetch(client, partition, 3)
    following = await begun(replica_fetch(client, partition, 2, 3, max_wait_ms=LONG_MS))
    deleting = await begun(delete_before(client, 2))
    assert partitions_of(await following)[0].log_start_offset == 2
    await replica_fetch(client, partition, 2, 3, log_start=2)
    assert not deleting.done()
    await replica_fetch(client, partition, 3, 3, log_start=2)
    assert await deleting == (0, 2)
    assert waiting_for_start(partition) == 0


async def test_a_deletion_that_takes_too_long_or_loses_its_leader(broker, client, partition):
    append(broker, "a", *[NOW_MS] * 3)
    await all_fetch(client, partition, 3)
    assert await delete_before(client, 1, timeout_ms=1) == (ErrorCode.REQUEST_TIMED_OUT, -1)
    deleting = await begun(delete_before(client, 2))
    partition.change_leader(2, 6, [1, 2, 3], [1, 2, 3])
    assert await deleting == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert waiting_for_start(partition) == 0
