"""Batches whose check takes long wait at their partition, in order. Other partitions do not wait."""

import asyncio
from concurrent.futures import Executor, Future
from typing import Any

import pytest
from fastcrc import crc32

from gralha.protocol import compression
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from gralha.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from gralha.protocol.primitives import Reader, RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.replication import checking
from gralha.replication import leading as leading_module
from gralha.replication.leading import Leading
from gralha.storage.validation import SLICE
from tests.broker.handlers.door import NOW_MS, Client, create_topic, frame, make_broker
from tests.storage.disks import QuietDisk, failing

VERSION = 12
BY_ID = 13
ALL = -1
LONG_MS = 600_000
PATIENCE_S = 20
MAX_REQUEST_BYTES = 1 << 24


class HeldThreads(Executor):
    """Threads that do nothing until the test lets them."""

    def __init__(self):
        self.waiting = []

    def submit(self, work, /, *args, **options):
        future: Future[Any] = Future()
        self.waiting.append((future, work, args))
        return future

    def run_one(self):
        future, work, args = self.waiting.pop(0)
        try:
            future.set_result(work(*args))
        except BaseException as error:
            future.set_exception(error)

    def shutdown(self, wait=True, *, cancel_futures=False):
        """There is nothing to end."""


def small(value=b"value", count=1, **options):
    return encode_batch([Record(b"key", value, NOW_MS)] * count, **options)


def large(key=b"key", count=1, **options):
    """A batch that is small on the wire, and takes a thread to decompress."""
    records = [Record(key, bytes(400_000), NOW_MS)] * count
    return encode_batch(records, compression=compression.LZ4, **options)


def request(batches, topic="a", acks=ALL, timeout_ms=LONG_MS, topic_id=bytes(16)):
    data = [PartitionProduceData(index, RecordBytes(one, 0, len(one))) for index, one in batches.items()]
    topics = [TopicProduceData(name=topic, topic_id=topic_id, partition_data=data)]
    return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=topics)


async def produce(client, data, index=0, version=VERSION, **options):
    async with asyncio.timeout(PATIENCE_S):
        response = await client.ask(request({index: data}, **options), version)
    return response.responses[0].partition_responses[0]


async def turns(count=20):
    for _ in range(count):
        await asyncio.sleep(0)


async def begun(asking):
    """The request is inside the broker, and not answered."""
    task = asyncio.create_task(asking)
    await turns()
    assert not task.done()
    return task


def outcome(answer):
    return answer.error_code, answer.base_offset


@pytest.fixture
def disk():
    return QuietDisk()


@pytest.fixture
def broker(tmp_path, disk):
    broker = make_broker(tmp_path, disk=disk)
    yield broker
    broker.replicas.checks.close()
    broker.logs.release()


@pytest.fixture
def threads(broker):
    broker.replicas.checks._threads.shutdown()
    broker.replicas.checks._threads = HeldThreads()
    return broker.replicas.checks._threads


@pytest.fixture
def client(broker):
    return Client(broker, max_request_bytes=MAX_REQUEST_BYTES)


@pytest.fixture
async def partition(broker):
    """a-0, of six."""
    await create_topic(broker, "a", 6)
    return broker.replicas.find("a", 0)


def is_at_rest(broker, partition):
    """Nothing is left of requests: no batch, no check, no subscription."""
    checks = broker.replicas.checks
    subscribers = (partition._high_watermark_subscribers, partition._end_subscribers)
    return (
        checks.is_idle()
        and (partition.leading is None or not partition.leading.queue)
        and not any(map(len, subscribers))
    )


@pytest.mark.parametrize("acks", [1, ALL])
@pytest.mark.parametrize("codec", [compression.GZIP, compression.SNAPPY, compression.LZ4, compression.ZSTD])
async def test_a_large_batch_is_checked_and_appended(broker, client, partition, acks, codec):
    data = encode_batch([Record(b"key", bytes(300_000), NOW_MS)] * 3, compression=codec)
    assert outcome(await produce(client, data, acks=acks)) == (0, 0)
    assert partition.log.log_end_offset == 3
    bad = bytearray(data)
    bad[57:61] = (2).to_bytes(4)
    bad[23:27] = (1).to_bytes(4)
    assert (await produce(client, with_crc(bad), acks=acks)).error_code == ErrorCode.INVALID_RECORD
    await turns()
    assert is_at_rest(broker, partition)


def with_crc(data):
    return bytes(data[:17]) + crc32.iscsi(bytes(data[21:])).to_bytes(4) + bytes(data[21:])


async def test_batches_of_the_partition_wait_and_those_of_others_do_not(broker, client, partition, threads):
    first = await begun(produce(client, large(count=2)))
    second = await begun(produce(Client(broker), small()))
    third = await begun(produce(Client(broker), small(count=3)))
    assert outcome(await produce(Client(broker), small(), index=1)) == (0, 0)
    assert partition.log.log_end_offset == 0
    threads.run_one()
    assert [outcome(await one) for one in (first, second, third)] == [(0, 0), (0, 2), (0, 3)]
    await turns()
    assert is_at_rest(broker, partition)


async def test_answers_leave_in_the_order_of_the_requests(broker, client, partition, threads):
    answered = asyncio.Event()
    pipeline = client._pipeline(answered.set, pytest.fail)
    frames = [frame(request({0: large()}), VERSION), frame(request({1: small()}, acks=0), VERSION)]
    frames += [frame(request({1: small()}), VERSION), frame(request({0: small()}), VERSION)]
    for number, one in enumerate(frames):
        data = one[:8] + number.to_bytes(4) + one[12:]
        assert pipeline.feed(data, 0, len(data)) == len(data)
    assert pipeline.take_out() == []
    assert broker.replicas.find("a", 1).log.log_end_offset == 2
    await turns()
    threads.run_one()
    async with asyncio.timeout(PATIENCE_S):
        while pipeline.slots:
            await asyncio.sleep(0)
    out = b"".join(pipeline.take_out())
    correlation_ids = []
    while out:
        size = 4 + int.from_bytes(out[:4])
        correlation_ids.append(Reader(out, 4).int32())
        out = out[size:]
    assert correlation_ids == [0, 2, 3]


async def test_a_retry_behind_its_original_gets_the_original_offset(client, partition, threads):
    data = large(producer_id=7, producer_epoch=0, base_sequence=0)
    first = await begun(produce(client, data))
    retry = await begun(produce(client, data))
    threads.run_one()
    assert outcome(await first) == (0, 0)
    await turns()
    threads.run_one()
    assert outcome(await retry) == (0, 0)
    assert partition.log.log_end_offset == 1


async def test_a_producer_keeps_its_order(client, partition, threads):
    first = await begun(produce(client, large(producer_id=7, producer_epoch=0, base_sequence=0)))
    second = await begun(produce(client, small(producer_id=7, producer_epoch=0, base_sequence=1)))
    threads.run_one()
    assert [outcome(await first), outcome(await second)] == [(0, 0), (0, 1)]


# What changes while a batch waits


async def across_epochs(client, partition, threads, leader, acks=1):
    """The responses to a batch that is being checked, and to the next one, when the leader epoch ends."""
    asking = [await begun(produce(client, data, acks=acks)) for data in (large(), small())]
    partition.change_leader(leader, partition.leader_epoch + 1, [1, 2], [1, 2])
    threads.run_one()
    await turns()
    partition.change_leader(1, partition.leader_epoch + 1, [1], [1])
    return [outcome(await one) for one in asking]


@pytest.mark.parametrize("acks", [1, ALL])
@pytest.mark.parametrize("leader", [1, 2, -1])
async def test_nothing_is_acknowledged_in_another_epoch(broker, client, partition, threads, leader, acks):
    """Also if the same broker leads again: another may have led in between."""
    answers = await across_epochs(client, partition, threads, leader, acks)
    assert answers == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)] * 2
    assert partition.log.log_end_offset == 0
    assert is_at_rest(broker, partition)


if not leading_module.__file__.endswith(".so"):  # compiled classes cannot be patched

    async def test_put_back_an_append_in_the_next_epoch(client, partition, threads, monkeypatch):
        """The bug: a waiting batch is appended in the leader epoch in which its check ends."""
        append_checked = Leading.append_checked
        monkeypatch.setattr(Leading, "refuse_queued", lambda self, error: None)
        monkeypatch.setattr(
            Leading,
            "append_checked",
            lambda self, check, acks, now_ms: append_checked(self.partition.led(), check, acks, now_ms),
        )
        answers = await across_epochs(client, partition, threads, 1)
        assert (0, 0) in answers

    async def test_the_epoch_is_looked_at_before_the_append_too(client, partition, threads, monkeypatch):
        """Each of the two guards is enough."""
        monkeypatch.setattr(Leading, "refuse_queued", lambda self, error: None)
        answers = await across_epochs(client, partition, threads, 1)
        assert answers == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)] * 2


@pytest.mark.parametrize(
    ("version", "code"),
    [(VERSION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (BY_ID, ErrorCode.UNKNOWN_TOPIC_ID)],
)
async def test_a_topic_that_is_deleted(broker, client, threads, version, code):
    topic_id = await create_topic(broker, "a")
    partition = broker.replicas.find("a", 0)
    asking = [
        await begun(produce(client, data, version=version, topic_id=topic_id)) for data in (large(), small())
    ]
    await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="a")], timeout_ms=LONG_MS))
    assert [outcome(await one) for one in asking] == [(code, -1)] * 2
    threads.run_one()
    await turns()
    assert is_at_rest(broker, partition)


async def test_settings_that_change_count(client, partition, threads):
    asking = [await begun(produce(client, data)) for data in (large(key=None, count=2), small())]
    partition.log.config = partition.log.config.with_overrides({"cleanup.policy": "compact"})
    threads.run_one()
    await turns()
    threads.run_one()  # it is checked again
    refused, accepted = [await one for one in asking]
    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert [one.batch_index for one in refused.record_errors] == [0, 1]
    assert outcome(accepted) == (0, 0)


async def test_in_sync_replicas_that_leave_count(broker, client, threads):
    await create_topic(broker, "a", min_insync_replicas=2)
    partition = broker.replicas.find("a", 0)
    partition.change_leader(1, 1, [1, 2], [1, 2], partition_epoch=5)
    asking = await begun(produce(client, large()))
    partition.change_leader(1, 1, [1, 2], [1], partition_epoch=6)
    threads.run_one()
    assert outcome(await asking) == (ErrorCode.NOT_ENOUGH_REPLICAS, -1)
    assert partition.log.log_end_offset == 0


async def test_a_full_disk_refuses_one_batch(client, partition, threads, disk):
    asking = [await begun(produce(client, data)) for data in (large(), small())]
    fail = failing("append", f"a-0/{0:020d}.log")

    def fail_once(*action):
        try:
            fail(*action)
        except Exception:
            disk.before = None
            raise

    disk.before = fail_once
    threads.run_one()
    assert [outcome(await one) for one in asking] == [(ErrorCode.KAFKA_STORAGE_ERROR, -1), (0, 0)]


async def test_a_check_that_fails_refuses_one_batch(client, partition, threads, monkeypatch):
    asking = [await begun(produce(client, data)) for data in (large(), small())]
    monkeypatch.setattr(compression, "decompress", lambda *_: 1 // 0)
    threads.run_one()
    assert [outcome(await one) for one in asking] == [(ErrorCode.UNKNOWN_SERVER_ERROR, -1), (0, 0)]


async def test_a_broker_that_shuts_down(broker, client, partition, threads):
    asking = [await begun(produce(client, data)) for data in (large(), small())]
    broker.replicas.checks.close()
    assert [outcome(await one) for one in asking] == [(ErrorCode.KAFKA_STORAGE_ERROR, -1)] * 2
    threads.run_one()
    await turns()
    assert partition.log.log_end_offset == 0
    assert is_at_rest(broker, partition)


# acks, time and room


async def test_without_acks_nothing_is_answered(client, partition, threads):
    pipeline = client.sent(request({0: large()}, acks=0), VERSION)
    await turns()
    threads.run_one()
    await turns()
    assert (pipeline.take_out(), list(pipeline.slots)) == ([], [])
    assert partition.log.log_end_offset == 1


async def test_without_acks_an_error_ends_the_connection(client, partition, threads):
    bad = bytearray(large(count=2))
    bad[57:61] = (1).to_bytes(4)
    bad[23:27] = (0).to_bytes(4)
    broken: list[str] = []
    pipeline = client._pipeline(lambda: None, broken.append)
    data = frame(request({0: with_crc(bad)}, acks=0), VERSION)
    pipeline.feed(data, 0, len(data))
    await turns()
    assert broken == []
    threads.run_one()
    await turns()
    assert broken == ["a batch sent with acks=0 was refused"]


async def test_a_client_that_hangs_up_leaves_nothing_behind(broker, client, partition, threads):
    """Its batches are still appended."""
    for acks in (0, 1, ALL):
        pipeline = client.sent(request({0: large(), 1: small()}, acks=acks), VERSION)
        await turns()
        pipeline.close()
        threads.run_one()
        await turns()
        assert is_at_rest(broker, partition)
    assert (partition.log.log_end_offset, broker.replicas.find("a", 1).log.log_end_offset) == (3, 3)


async def test_the_time_for_acks_begins_with_the_append(broker, client, threads):
    await create_topic(broker, "b", flush_messages=1)
    partition = broker.replicas.find("b", 0)
    partition.log.request_flush = lambda log, end_offset: None
    pipeline = client.sent(request({0: large()}, topic="b", timeout_ms=1), VERSION)
    await turns()
    early = pipeline.timer
    assert early is None
    threads.run_one()
    await turns()
    assert pipeline.timer is not None
    async with asyncio.timeout(PATIENCE_S):
        while pipeline.slots:
            await asyncio.sleep(0.001)
    response = b"".join(pipeline.take_out())
    assert int(ErrorCode.REQUEST_TIMED_OUT).to_bytes(2) in response
    assert is_at_rest(broker, partition)


async def test_acks_all_waits_on_after_the_append(broker, client, threads):
    await create_topic(broker, "b", flush_messages=1)
    partition = broker.replicas.find("b", 0)
    partition.log.request_flush = lambda log, end_offset: None
    asking = await begun(produce(client, large(), topic="b"))
    threads.run_one()
    await turns()
    assert (asking.done(), partition.log.log_end_offset) == (False, 1)
    partition.log.flush()
    partition.log.on_flushed()
    assert outcome(await asking) == (0, 0)
    assert is_at_rest(broker, partition)


async def test_a_partition_that_waits_holds_the_answer_of_all(client, partition, threads):
    async def ask():
        response = await client.ask(request({1: small(), 0: large(), 2: small()}), VERSION)
        return response.responses[0].partition_responses

    asking = await begun(ask())
    threads.run_one()
    assert [(one.index, *outcome(one)) for one in await asking] == [(1, 0, 0), (0, 0, 0), (2, 0, 0)]


async def test_requests_that_wait_keep_little(broker, client, partition, threads):
    """They do not keep their receive buffer. The broker does not read from a connection that keeps much."""
    pipeline = client.sent(request({0: large()}), VERSION)
    waiting = frame(request({0: small()}), VERSION)
    pipeline.feed(bytes(500_000) + waiting, 500_000, 500_000 + len(waiting))
    assert len(partition.leading.queue[1].records.data) < 1000
    assert not pipeline.is_full()
    for _ in range(5):
        data = frame(request({0: small(value=bytes(1_000_000))}), VERSION)
        pipeline.feed(data, 0, len(data))
    assert pipeline.is_full()
    assert len(partition.leading.queue) <= 7
    await turns()
    threads.run_one()
    async with asyncio.timeout(PATIENCE_S):
        while pipeline.slots:
            await asyncio.sleep(0)
    pipeline.take_out()
    assert (pipeline.is_full(), pipeline.kept_bytes) == (False, 0)


async def test_few_threads_decompress_at_a_time(broker, client, partition, threads):
    asking = [await begun(produce(client, large(), index=index)) for index in range(6)]
    assert len(threads.waiting) == checking.RUNS_MAX == 4
    for _ in range(5):  # the fifth run has two batches
        threads.run_one()
        await turns()
    assert [outcome(await one) for one in asking] == [(0, 0)] * 6


async def test_a_thread_takes_several_batches_of_a_partition(client, partition, threads):
    asking = [await begun(produce(client, large())) for _ in range(checking.RUN_BATCHES + 2)]
    for _ in range(3):  # one batch, then as many as a run may have, then the last one
        assert len(threads.waiting) == 1
        threads.run_one()
        await turns()
    assert [outcome(await one) for one in asking] == [(0, offset) for offset in range(len(asking))]


async def test_a_run_ends_when_it_has_decompressed_much(client, partition, threads):
    data = encode_batch([Record(b"key", bytes(checking.RUN_BYTES), NOW_MS)], compression=compression.ZSTD)
    asking = [await begun(produce(client, data)) for _ in range(3)]
    for count in range(1, 4):
        threads.run_one()
        await turns()
        assert partition.log.log_end_offset == count
    assert [outcome(await one) for one in asking] == [(0, 0), (0, 1), (0, 2)]


async def test_busy_partitions_leave_a_turn_to_another(client, partition, threads):
    """Four partitions get new batches all the time. Once the threads worked for these partitions only."""
    asking = [await begun(produce(client, large(), index=index)) for index in range(checking.RUNS_MAX)]
    patient = await begun(produce(client, large(), index=5))
    while not patient.done():
        assert len(asking) < 20
        asking.append(await begun(produce(client, large(), index=len(asking) % checking.RUNS_MAX)))
        threads.run_one()
        await turns()
    assert outcome(await patient) == (0, 0)
    while threads.waiting:
        threads.run_one()
        await turns()
    for one in asking:
        assert (await one).error_code == 0


async def test_one_huge_batch_is_in_memory_at_a_time(broker, client, partition, threads):
    huge = encode_batch([Record(b"key", bytes(20_000_000), NOW_MS)], compression=compression.ZSTD)
    asking = [await begun(produce(client, huge, index=index)) for index in range(3)]
    for _ in asking:
        threads.run_one()  # finds that it is huge
        await turns()
    assert len(threads.waiting) == 1
    others = await begun(produce(client, large(), index=3))
    assert len(threads.waiting) == 2
    for _ in range(4):
        threads.run_one()
        await turns()
    assert [outcome(await one) for one in (*asking, others)] == [(0, 0)] * 4
    assert broker.replicas.checks._huge is None
    assert is_at_rest(broker, partition)


async def test_a_huge_batch_that_is_refused_makes_room(broker, client, partition, threads):
    huge = encode_batch([Record(b"key", bytes(20_000_000), NOW_MS)], compression=compression.ZSTD)
    asking = [await begun(produce(client, huge, index=index)) for index in range(2)]
    for _ in asking:
        threads.run_one()
        await turns()
    partition.change_leader(2, partition.leader_epoch + 1, [1, 2], [1, 2])
    for _ in asking:
        threads.run_one()
        await turns()
    assert outcome(await asking[0]) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert outcome(await asking[1]) == (0, 0)
    assert is_at_rest(broker, partition)


async def test_the_event_loop_goes_on_between_slices(broker, client, partition):
    turns_taken = 0

    async def count_turns():
        nonlocal turns_taken
        while True:
            turns_taken += 1
            await asyncio.sleep(0)

    data = encode_batch([Record(None, None, NOW_MS)] * (10 * SLICE))
    counting = asyncio.create_task(count_turns())
    assert outcome(await produce(client, data)) == (0, 0)
    counting.cancel()
    assert turns_taken >= 10


# Answers


async def test_the_start_of_the_log_is_told_where_kafka_tells_it(client, partition):
    for _ in range(3):
        await produce(client, small())
    partition.leading.delete_records(2)
    bad = small(count=2)[:57] + (3).to_bytes(4) + small(count=2)[61:]
    bad = bad[:23] + (2).to_bytes(4) + bad[27:]
    answer = await produce(client, with_crc(bad))
    assert (answer.error_code, answer.base_offset) == (ErrorCode.INVALID_RECORD, -1)
    assert answer.log_start_offset == 2
    damaged = await produce(client, bad)
    assert (damaged.error_code, damaged.log_start_offset) == (ErrorCode.CORRUPT_MESSAGE, -1)


async def test_the_true_max_timestamp_is_stored(client, partition):
    data = bytearray(small(count=3))
    data[35:43] = (NOW_MS + 10**15).to_bytes(8)
    assert outcome(await produce(client, with_crc(data))) == (0, 0)
    assert partition.log.offset_of_max_timestamp()[0] == NOW_MS
