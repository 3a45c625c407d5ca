"""Produce appends each partition's batch separately, and answers as soon as acks allows it."""

import asyncio

import pytest

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from gralha.protocol.primitives import ProtocolError, RecordBytes
from gralha.protocol.records import Record, encode_batch
from tests.broker.handlers.door import NOW_MS, Client, create_topic, make_broker
from tests.replication.parts import waiting_for_high_watermark
from tests.storage.disks import QuietDisk, failing

BY_NAME, BY_ID = 12, 13
ALL = -1
LONG_MS = 600_000  # far beyond what a test waits
PATIENCE_S = 20
LOG_OF_A_0 = f"a-0/{0:020d}.log"
REFUSED = (-1, -1, -1)  # base offset, append time, log start offset


def batch(count=1, value=b"value", **options):
    return encode_batch([Record(b"key", value, NOW_MS)] * count, **options)


def request(batches, topic="a", topic_id=bytes(16), acks=ALL, timeout_ms=LONG_MS):
    """`batches`: the bytes for each partition, or None."""
    data = [
        PartitionProduceData(index=index, records=None if one is None else RecordBytes(one, 0, len(one)))
        for index, one in batches.items()
    ]
    topics = [TopicProduceData(name=topic, topic_id=topic_id, partition_data=data)]
    return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=topics)


async def produce(client, batches, version=BY_NAME, **options):
    """The answer for each partition."""
    async with asyncio.timeout(PATIENCE_S):
        response = await client.ask(request(batches, **options), version)
    return {one.index: one for one in response.responses[0].partition_responses}


async def codes(client, batches, **options):
    return {index: one.error_code for index, one in (await produce(client, batches, **options)).items()}


async def begun(asking):
    """The request is inside the broker, and not answered."""
    task = asyncio.create_task(asking)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    return task


def offsets_of(answer):
    return answer.base_offset, answer.log_append_time_ms, answer.log_start_offset


@pytest.fixture
def disk():
    return QuietDisk()


@pytest.fixture
def broker(tmp_path, disk):
    broker = make_broker(tmp_path, disk=disk)
    yield broker
    broker.logs.release()


@pytest.fixture
async def partition(broker):
    """a-0, of two."""
    await create_topic(broker, "a", 2)
    return broker.replicas.find("a", 0)


@pytest.fixture
async def unflushed(broker):
    """Partition b-0 acknowledges only flushed records, and only the test flushes them."""
    await create_topic(broker, "b", flush_messages=1)
    partition = broker.replicas.find("b", 0)
    partition.log.request_flush = lambda log, end_offset: None
    return partition


def flush(partition):
    partition.log.flush()
    partition.log.on_flushed()


@pytest.mark.parametrize("acks", [1, ALL])
async def test_batches_get_the_next_offsets(client, partition, acks):
    first = await produce(client, {0: batch(3), 1: batch(2)}, acks=acks)
    assert {index: (one.error_code, *offsets_of(one)) for index, one in first.items()} == {
        0: (0, 0, -1, 0),
        1: (0, 0, -1, 0),
    }
    second = await produce(client, {0: batch()}, acks=acks)
    assert offsets_of(second[0]) == (3, -1, 0)
    assert (partition.log.log_end_offset, partition.log.high_watermark) == (4, 4)


async def test_the_brokers_time_is_told_where_it_counts(broker, client):
    await create_topic(broker, "a", message_timestamp_type="LogAppendTime")
    assert (await produce(client, {0: batch()}))[0].log_append_time_ms == NOW_MS


async def test_a_topic_by_its_id(broker, client):
    topic_id = await create_topic(broker, "a")
    answer = await produce(client, {0: batch(), 1: batch()}, version=BY_ID, topic="", topic_id=topic_id)
    assert {index: one.error_code for index, one in answer.items()} == {
        0: 0,
        1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


async def test_topics_and_partitions_that_are_not_there(client, partition):
    assert await codes(client, {0: batch(), 2: batch()}) == {0: 0, 2: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert await codes(client, {0: batch()}, topic="nope") == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert await codes(client, {0: batch()}, version=BY_ID, topic_id=bytes([9]) * 16) == {
        0: ErrorCode.UNKNOWN_TOPIC_ID
    }


async def test_a_partition_of_another_broker(tmp_path):
    broker = make_broker(tmp_path, brokers=2)
    topic_id = await create_topic(broker, "a", 2)
    (elsewhere,) = {0, 1} - set(broker.replicas.by_name["a"])
    for version in (BY_NAME, BY_ID):
        found = await codes(Client(broker), {elsewhere: batch()}, version=version, topic_id=topic_id)
        assert found == {elsewhere: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    broker.logs.release()


@pytest.mark.parametrize("acks", [2, -2, 0x7FFF])
async def test_acks_that_do_not_exist(client, partition, acks):
    assert await codes(client, {0: batch()}, acks=acks) == {0: ErrorCode.INVALID_REQUIRED_ACKS}
    assert partition.log.log_end_offset == 0


def with_a_bit_flipped(data):
    return data[:-1] + bytes([data[-1] ^ 1])


OLD_MESSAGE = bytes(8) + (22).to_bytes(4) + bytes(4) + b"\x01" + bytes(17)
TRANSACTIONAL = batch(producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (None, ErrorCode.INVALID_RECORD),
        (b"", ErrorCode.INVALID_RECORD),
        (OLD_MESSAGE, ErrorCode.INVALID_RECORD),
        (batch() + batch(), ErrorCode.INVALID_RECORD),
        (with_a_bit_flipped(batch()), ErrorCode.CORRUPT_MESSAGE),
        (TRANSACTIONAL, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (batch(value=bytes(1_100_000)), ErrorCode.MESSAGE_TOO_LARGE),
    ],
    ids=["null", "nothing", "magic 1", "two batches", "damaged", "without a transactional id", "too large"],
)
async def test_what_is_refused_leaves_the_other_partitions_alone(broker, partition, data, code):
    client = Client(broker, max_request_bytes=1 << 22)
    answers = await produce(client, {0: data, 1: batch()})
    assert {index: one.error_code for index, one in answers.items()} == {0: code, 1: 0}
    assert offsets_of(answers[0]) == REFUSED
    assert partition.log.log_end_offset == 0


async def test_records_that_are_refused_are_named(broker, client):
    await create_topic(broker, "a", cleanup_policy="compact")
    data = encode_batch([Record(b"key", b"1", NOW_MS), Record(None, b"2", NOW_MS)])
    answer = (await produce(client, {0: data}))[0]
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [one.batch_index for one in answer.record_errors] == [1]


async def test_internal_topics_are_not_for_clients(broker, client):
    await create_topic(broker, "__consumer_offsets")
    found = await codes(client, {0: batch()}, topic="__consumer_offsets")
    assert found == {0: ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert broker.replicas.find("__consumer_offsets", 0).log.log_end_offset == 0


async def test_a_retry_is_answered_with_the_original_offset(client, partition):
    sent = [batch(2, producer_id=7, producer_epoch=0, base_sequence=sequence) for sequence in (0, 2)]
    for data, offset in zip(sent, (0, 2), strict=True):
        assert (await produce(client, {0: data}))[0].base_offset == offset
    retry = (await produce(client, {0: sent[0]}))[0]
    assert (retry.error_code, retry.base_offset) == (0, 0)
    assert partition.log.log_end_offset == 4


async def test_a_gap_in_a_producers_order_is_refused(client, partition):
    data = batch(producer_id=7, producer_epoch=0, base_sequence=0)
    gap = batch(producer_id=7, producer_epoch=0, base_sequence=5)
    assert await codes(client, {0: data}) == {0: 0}
    assert await codes(client, {0: gap}) == {0: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}


async def test_a_follower_names_the_leader(client, partition):
    partition.change_leader(2, 4, [1, 2], [1, 2])
    answer = (await produce(client, {0: batch()}))[0]
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (2, 4)


async def test_too_few_in_sync_replicas(broker, client):
    await create_topic(broker, "a", min_insync_replicas=2)
    broker.replicas.find("a", 0).change_leader(1, 1, [1, 2], [1])
    assert await codes(client, {0: batch()}) == {0: ErrorCode.NOT_ENOUGH_REPLICAS}
    assert await codes(client, {0: batch()}, acks=1) == {0: 0}


# Rows of batches


def row(*sequences):
    return [batch(producer_id=7, producer_epoch=0, base_sequence=sequence) for sequence in sequences]


@pytest.mark.parametrize("version", [BY_NAME, BY_ID])
async def test_who_follows_a_refused_one_is_refused_until_the_row_comes_again(broker, client, version):
    """After OUT_OF_ORDER_SEQUENCE_NUMBER librdkafka would send all batches again with another producer id."""
    topic_id = await create_topic(broker, "a", min_insync_replicas=2)
    options = {"version": version, "topic_id": topic_id} if version == BY_ID else {}
    partition = broker.replicas.find("a", 0)
    first, second, third, fourth = row(0, 1, 2, 3)
    # The last leader wrote the first batch, but did not acknowledge it.
    partition.log.append_as_leader(RecordBytes(first, 0, len(first)), 0, NOW_MS)
    partition.change_leader(1, 1, [1, 2], [1])
    for data in (first, second):
        assert await codes(client, {0: data}, **options) == {0: ErrorCode.NOT_ENOUGH_REPLICAS}
    partition.change_leader(1, 1, [1], [1])
    for data in (third, fourth):
        assert await codes(client, {0: data}, **options) == {0: ErrorCode.NOT_ENOUGH_REPLICAS}
    answers = [(await produce(client, {0: data}, **options))[0] for data in (first, second, third, fourth)]
    assert [(one.error_code, one.base_offset) for one in answers] == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert partition.log.log_end_offset == 4
    assert await codes(client, {0: row(4)[0]}, **options) == {0: 0}
    assert not broker.replicas.refusals.rows


async def test_a_later_one_is_not_the_first_of_a_producer_whose_first_was_refused(client, partition):
    """The leader has no producer state yet, so it would accept every sequence number."""
    partition.change_leader(2, 4, [1, 2], [1, 2])
    first, second = row(0, 1)
    assert await codes(client, {0: first}) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    partition.change_leader(1, 5, [1], [1])
    assert await codes(client, {0: second}) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert [await codes(client, {0: data}) for data in (first, second)] == [{0: 0}, {0: 0}]


async def test_nor_if_the_topic_was_not_known_here(broker, client):
    first, second = row(0, 1)
    assert await codes(client, {0: first}) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    await create_topic(broker, "a", 1)
    assert await codes(client, {0: second}) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert [await codes(client, {0: data}) for data in (first, second)] == [{0: 0}, {0: 0}]


async def test_what_stays_out_of_sequence_is_told_the_second_time(client, disk, partition):
    first, second, third = row(0, 1, 2)
    assert await codes(client, {0: first}) == {0: 0}
    disk.before = failing("append", LOG_OF_A_0)
    assert await codes(client, {0: second}) == {0: ErrorCode.KAFKA_STORAGE_ERROR}
    disk.before = None
    assert await codes(client, {0: third}) == {0: ErrorCode.KAFKA_STORAGE_ERROR}
    assert await codes(client, {0: third}) == {0: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}


async def test_a_new_producer_epoch_begins_another_row(client, partition):
    partition.change_leader(2, 4, [1, 2], [1, 2])
    assert await codes(client, {0: row(0)[0]}) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    partition.change_leader(1, 5, [1], [1])
    data = batch(producer_id=7, producer_epoch=1, base_sequence=1)
    assert await codes(client, {0: data}) == {0: 0}


async def test_rows_of_producers_that_do_not_come_back_are_forgotten(client, broker, partition):
    partition.change_leader(2, 4, [1, 2], [1, 2])
    refusals = broker.replicas.refusals
    assert await codes(client, {0: row(0)[0]}) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    refusals.forget_old()
    assert refusals.rows
    refusals.forget_old()
    assert not refusals.rows


async def test_of_too_many_rows_the_oldest_are_forgotten(client, broker, partition, monkeypatch):
    monkeypatch.setattr("gralha.replication.refusals.ROWS_MAX", 3)
    partition.change_leader(2, 4, [1, 2], [1, 2])
    for producer_id in range(5):
        data = batch(producer_id=producer_id, producer_epoch=0, base_sequence=0)
        assert await codes(client, {0: data}) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert [key[0] for key in broker.replicas.refusals.rows] == [2, 3, 4]


# acks=0


async def test_without_acks_nothing_is_answered(client, partition):
    pipeline = client.sent(request({0: batch(), 1: batch()}, acks=0), BY_NAME)
    assert (pipeline.take_out(), list(pipeline.slots)) == ([], [])
    assert partition.log.log_end_offset == 1


async def test_without_acks_an_error_ends_the_connection(client, partition):
    with pytest.raises(ProtocolError, match="acks=0"):
        client.sent(request({0: with_a_bit_flipped(batch()), 1: batch()}, acks=0), BY_NAME)
    with pytest.raises(ProtocolError, match="acks=0"):
        client.sent(request({5: batch()}, acks=0), BY_NAME)


# The disk


async def test_a_disk_error_is_an_error_of_its_partition(client, disk, partition):
    disk.before = failing("append", LOG_OF_A_0)
    answers = await produce(client, {0: batch(), 1: batch()})
    assert {index: one.error_code for index, one in answers.items()} == {
        0: ErrorCode.KAFKA_STORAGE_ERROR,
        1: 0,
    }
    assert offsets_of(answers[0]) == REFUSED
    disk.before = None
    assert offsets_of((await produce(client, {0: batch()}))[0]) == (0, -1, 0)


async def test_a_damaged_partition_is_offline(broker, client):
    broker.logs.offline["a", 0] = ValueError("the test says so")
    topic_id = await create_topic(broker, "a", 2)
    for version in (BY_NAME, BY_ID):
        found = await codes(client, {0: batch(), 1: batch()}, version=version, topic_id=topic_id)
        assert found == {0: ErrorCode.KAFKA_STORAGE_ERROR, 1: 0}


# acks=all, waiting


async def test_acks_all_waits_for_the_disk(client, unflushed):
    asking = await begun(produce(client, {0: batch(3)}, topic="b"))
    assert waiting_for_high_watermark(unflushed) == 1
    flush(unflushed)
    answer = (await asking)[0]
    assert (answer.error_code, *offsets_of(answer)) == (0, 0, -1, 0)
    assert waiting_for_high_watermark(unflushed) == 0


async def test_the_broker_flushes_what_acks_all_waits_for(broker, client, disk):
    await create_topic(broker, "b", flush_messages=1)
    disk.events.clear()
    assert (await produce(client, {0: batch()}, topic="b"))[0].error_code == 0
    assert any(action == "sync" and path.endswith(f"b-0/{0:020d}.log") for action, path, _ in disk.events)


async def test_other_acks_do_not_wait_for_the_disk(client, unflushed):
    assert await codes(client, {0: batch()}, topic="b", acks=1) == {0: 0}
    assert unflushed.log.high_watermark == 0


async def test_a_flush_of_less_acknowledges_less(client, unflushed):
    await produce(client, {0: batch(2)}, topic="b", acks=1)
    asking = await begun(produce(client, {0: batch()}, topic="b"))
    unflushed.log.flushed_offset = 2
    unflushed.log.on_flushed()
    assert (unflushed.log.high_watermark, waiting_for_high_watermark(unflushed)) == (2, 1)
    flush(unflushed)
    assert (await asking)[0].base_offset == 2


async def test_what_is_not_flushed_in_time_is_told(client, unflushed):
    answer = (await produce(client, {0: batch()}, topic="b", timeout_ms=1))[0]
    assert (answer.error_code, *offsets_of(answer)) == (ErrorCode.REQUEST_TIMED_OUT, *REFUSED)
    await asyncio.sleep(0)
    assert waiting_for_high_watermark(unflushed) == 0


async def test_a_retry_of_what_is_not_flushed_waits_too(client, unflushed):
    data = batch(producer_id=7, producer_epoch=0, base_sequence=0)
    await produce(client, {0: data}, topic="b", acks=1)
    asking = await begun(produce(client, {0: data}, topic="b"))
    flush(unflushed)
    assert (await asking)[0].base_offset == 0
    assert unflushed.log.log_end_offset == 1


@pytest.mark.parametrize("leader", [1, 2])
async def test_a_change_of_leader_leaves_it_open_what_became_of_a_batch(client, unflushed, leader):
    """Even if the same broker leads again, because another one may have led in between."""
    asking = await begun(produce(client, {0: batch()}, topic="b"))
    unflushed.change_leader(leader, 1, [1, 2], [1, 2])
    answer = (await asking)[0]
    assert (answer.error_code, *offsets_of(answer)) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, *REFUSED)
    assert waiting_for_high_watermark(unflushed) == 0


async def test_one_partition_that_waits_holds_the_answer_of_all(broker, client):
    await create_topic(broker, "b", 2, flush_messages=1)
    first, second = (broker.replicas.find("b", index) for index in (0, 1))
    for partition in (first, second):
        partition.log.request_flush = lambda log, end_offset: None
    asking = await begun(produce(client, {0: batch(), 1: batch()}, topic="b"))
    flush(second)
    assert (waiting_for_high_watermark(second), waiting_for_high_watermark(first)) == (0, 1)
    await asyncio.sleep(0)
    assert not asking.done()
    flush(first)
    assert {index: one.error_code for index, one in (await asking).items()} == {0: 0, 1: 0}


async def test_who_hangs_up_while_waiting_leaves_nothing_behind(client, unflushed):
    pipeline = client.sent(request({0: batch()}, topic="b"), BY_NAME)
    assert waiting_for_high_watermark(unflushed) == 1
    pipeline.close()
    await asyncio.sleep(0)
    assert waiting_for_high_watermark(unflushed) == 0
