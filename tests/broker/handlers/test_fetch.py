"""Fetch reads batches within its limits, and waits for more when there are too few.

Sessions and transactions through the handler are in test_fetch_views.py.
"""

import asyncio
import threading

import pytest

from gralha.protocol.errors import ErrorCode
from tests.broker.handlers.door import NOW_MS, Client, append, create_topic, make_broker
from tests.broker.handlers.fetching import (
    BY_ID,
    BY_NAME,
    LONG_MS,
    begun,
    codes,
    fetch,
    fetch_request,
    found,
    partitions_of,
)
from tests.replication.parts import waiting_for_high_watermark
from tests.storage.disks import QuietDisk, failing

LOG_OF_A_0 = f"a-0/{0:020d}.log"


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
    """a-0, of three, all of them empty."""
    await create_topic(broker, "a", 3)
    return broker.replicas.find("a", 0)


@pytest.fixture
def size(broker, partition):
    """Two batches with one record each in every partition; answers the size of one batch."""
    for index in range(3):
        append(broker, "a", NOW_MS, index=index)
        append(broker, "a", NOW_MS, index=index)
    return partition.log.size_bytes() // 2


# What is read


async def test_batches_from_an_offset_on(client, size):
    response = await fetch(client, {0: 0, 1: 1, 2: 2})
    assert found(response) == {0: [0, 1], 1: [1], 2: []}
    told = partitions_of(response)[1]
    assert (told.error_code, told.high_watermark, told.last_stable_offset, told.log_start_offset) == (
        0,
        2,
        2,
        0,
    )


async def test_an_offset_inside_a_batch_brings_the_whole_batch(broker, client, partition):
    append(broker, "a", *[NOW_MS] * 5)
    assert found(await fetch(client, {0: 3})) == {0: [0]}


@pytest.mark.parametrize("offset", [-1, 3])
async def test_an_offset_out_of_range(client, size, offset):
    response = await fetch(client, {0: offset, 1: 0})
    assert codes(response) == {0: ErrorCode.OFFSET_OUT_OF_RANGE, 1: 0}
    assert found(response) == {0: [], 1: [0, 1]}
    assert partitions_of(response)[0].high_watermark == -1


async def test_an_offset_before_the_start_is_out_of_range(client, partition, size):
    partition.led().delete_records(1)
    response = await fetch(client, {0: 0, 1: 0})
    assert codes(response) == {0: ErrorCode.OFFSET_OUT_OF_RANGE, 1: 0}
    assert partitions_of(await fetch(client, {0: 1}))[0].log_start_offset == 1


async def test_nothing_above_the_high_watermark(broker, client):
    await create_topic(broker, "b", flush_messages=1)
    partition = broker.replicas.find("b", 0)
    partition.log.request_flush = lambda log, end_offset: None
    append(broker, "b", NOW_MS)
    partition.log.flush()
    partition.log.on_flushed()
    append(broker, "b", NOW_MS)
    response = await fetch(client, {0: 0}, topic="b")
    assert found(response) == {0: [0]}
    assert partitions_of(response)[0].high_watermark == 1


async def test_a_topic_by_its_id(broker, client):
    topic_id = await create_topic(broker, "b")
    append(broker, "b", NOW_MS)
    response = await fetch(client, {0: 0, 1: 0}, version=BY_ID, topic="", topic_id=topic_id)
    assert codes(response) == {0: 0, 1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert found(response)[0] == [0]
    assert response.responses[0].topic_id == topic_id


async def test_topics_and_partitions_that_are_not_there(client, partition):
    assert codes(await fetch(client, {0: 0, 9: 0})) == {0: 0, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    missing = await fetch(client, {0: 0}, topic="nope")
    assert codes(missing) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    unknown = await fetch(client, {0: 0}, version=BY_ID, topic_id=bytes([9]) * 16)
    assert codes(unknown) == {0: ErrorCode.UNKNOWN_TOPIC_ID}


async def test_a_partition_of_another_broker(tmp_path):
    broker = make_broker(tmp_path, brokers=2)
    topic_id = await create_topic(broker, "a", 2)
    (elsewhere,) = {0, 1} - set(broker.replicas.by_name["a"])
    for version in (BY_NAME, BY_ID):
        response = await fetch(Client(broker), {elsewhere: 0}, version=version, topic_id=topic_id)
        assert codes(response) == {elsewhere: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    broker.logs.release()


@pytest.mark.parametrize(
    ("leader_epoch", "code"),
    [(3, 0), (2, ErrorCode.FENCED_LEADER_EPOCH), (4, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
async def test_the_clients_leader_epoch_is_checked(client, partition, leader_epoch, code):
    partition.change_leader(1, 3, [1], [1])
    assert codes(await fetch(client, {0: 0}, leader_epoch=leader_epoch)) == {0: code}


# Limits


async def test_the_limit_of_the_response(client, size):
    assert found(await fetch(client, {0: 0, 1: 0, 2: 0}, max_bytes=3 * size)) == {0: [0, 1], 1: [0], 2: []}
    assert found(await fetch(client, {0: 0, 1: 0, 2: 0}, max_bytes=3 * size - 1)) == {0: [0, 1], 1: [], 2: []}
    assert found(await fetch(client, {0: 0, 1: 0, 2: 0}, max_bytes=2 * size)) == {0: [0, 1], 1: [], 2: []}


async def test_the_limit_of_a_partition(client, size):
    assert found(await fetch(client, {0: 0, 1: 0}, partition_max_bytes=size)) == {0: [0], 1: [0]}
    assert found(await fetch(client, {0: 0, 1: 0}, partition_max_bytes=2 * size)) == {0: [0, 1], 1: [0, 1]}


async def test_the_limit_of_the_broker(tmp_path):
    broker = make_broker(tmp_path, fetch_max_bytes=1024)
    await create_topic(broker, "a")
    for _ in range(20):
        append(broker, "a", NOW_MS)
    log = broker.replicas.find("a", 0).log
    fitting = 1024 // (log.size_bytes() // 20)
    assert 1 < fitting < 20
    assert found(await fetch(Client(broker), {0: 0})) == {0: list(range(fitting))}
    broker.logs.release()


@pytest.mark.parametrize("max_bytes", [0, 1, -1])
async def test_one_whole_batch_beyond_every_limit(client, size, max_bytes):
    """Of the first partition that has something, so that a large batch stops nobody (KIP-74)."""
    response = await fetch(client, {0: 2, 1: 0, 2: 0}, max_bytes=max_bytes)
    assert found(response) == {0: [], 1: [0], 2: []}
    response = await fetch(client, {0: 2, 1: 0, 2: 0}, partition_max_bytes=max_bytes)
    assert found(response) == {0: [], 1: [0], 2: []}


async def test_a_batch_that_does_not_fit_behind_others_is_left_out(broker, client, size):
    append(broker, "a", *[NOW_MS] * 100, index=1)
    assert found(await fetch(client, {0: 0, 1: 2, 2: 0}, max_bytes=4 * size)) == {0: [0, 1], 1: [], 2: [0, 1]}


# Waiting


async def test_nothing_is_waited_for_when_there_is_enough(client, size):
    assert found(await fetch(client, {0: 1}, min_bytes=size, max_wait_ms=LONG_MS)) == {0: [1]}


@pytest.mark.parametrize(("min_bytes", "max_wait_ms"), [(0, LONG_MS), (1, 0), (1, -1)])
async def test_who_does_not_want_to_wait_is_answered(client, partition, min_bytes, max_wait_ms):
    response = await fetch(client, {0: 0}, min_bytes=min_bytes, max_wait_ms=max_wait_ms)
    assert (codes(response), found(response)) == ({0: 0}, {0: []})
    assert waiting_for_high_watermark(partition) == 0


async def test_min_bytes_beyond_max_bytes_asks_for_max_bytes(client, size):
    response = await fetch(client, {0: 0}, min_bytes=10 * size, max_bytes=2 * size, max_wait_ms=LONG_MS)
    assert found(response) == {0: [0, 1]}


async def test_an_error_is_not_waited_with(client, partition):
    response = await fetch(client, {0: 0, 9: 0}, max_wait_ms=LONG_MS)
    assert codes(response) == {0: 0, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


async def test_a_new_batch_wakes_a_fetch_up(broker, client, partition):
    asking = await begun(fetch(client, {0: 0, 1: 0}, max_wait_ms=LONG_MS))
    assert waiting_for_high_watermark(partition) == 1
    append(broker, "a", NOW_MS, index=1)
    assert found(await asking) == {0: [], 1: [0]}
    assert [waiting_for_high_watermark(broker.replicas.find("a", index)) for index in (0, 1)] == [0, 0]


async def test_all_that_a_writer_brings_in_one_go_is_read(broker, client, partition):
    asking = await begun(fetch(client, {0: 0}, max_wait_ms=LONG_MS))
    append(broker, "a", NOW_MS)
    append(broker, "a", NOW_MS)
    assert found(await asking) == {0: [0, 1]}


async def test_a_fetch_sleeps_until_it_has_min_bytes(broker, client, size):
    asking = await begun(fetch(client, {0: 1, 1: 2}, min_bytes=3 * size, max_wait_ms=LONG_MS))
    append(broker, "a", NOW_MS, index=1)
    asking = await begun(asking)
    append(broker, "a", NOW_MS, index=0)
    assert found(await asking) == {0: [1, 2], 1: [2]}


async def test_other_partitions_wake_nobody_up(broker, client, partition):
    asking = await begun(fetch(client, {0: 0}, max_wait_ms=LONG_MS))
    append(broker, "a", NOW_MS, index=1)
    asking = await begun(asking)
    append(broker, "a", NOW_MS, index=0)
    assert found(await asking) == {0: [0]}


async def test_patience_ends(client, size):
    response = await fetch(client, {0: 1, 1: 2}, min_bytes=10_000, max_wait_ms=1)
    assert found(response) == {0: [1], 1: []}


async def test_a_flush_wakes_a_fetch_up(broker, client):
    await create_topic(broker, "b", flush_messages=1)
    partition = broker.replicas.find("b", 0)
    partition.log.request_flush = lambda log, end_offset: None
    asking = await begun(fetch(client, {0: 0}, topic="b", max_wait_ms=LONG_MS))
    append(broker, "b", NOW_MS)
    asking = await begun(asking)
    partition.log.flush()
    partition.log.on_flushed()
    assert found(await asking) == {0: [0]}


async def test_a_fetch_is_woken_by_the_brokers_own_flush(broker, client):
    await create_topic(broker, "b", flush_messages=1)
    asking = await begun(fetch(client, {0: 0}, topic="b", max_wait_ms=LONG_MS))
    append(broker, "b", NOW_MS)
    assert found(await asking) == {0: [0]}


async def test_a_lost_leader_wakes_a_fetch_up(client, partition):
    asking = await begun(fetch(client, {0: 0, 1: 0}, max_wait_ms=LONG_MS))
    partition.change_leader(2, 1, [1, 2], [1, 2])
    assert codes(await asking) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER, 1: 0}


async def test_a_new_epoch_wakes_a_fetch_up_that_names_the_old_one(client, partition):
    asking = await begun(fetch(client, {0: 0}, leader_epoch=0, max_wait_ms=LONG_MS))
    partition.change_leader(1, 1, [1], [1])
    assert codes(await asking) == {0: ErrorCode.FENCED_LEADER_EPOCH}


async def test_who_hangs_up_while_waiting_leaves_nothing_behind(broker, client, partition):
    pipeline = client.sent(fetch_request({0: 0, 1: 0}, max_wait_ms=LONG_MS), BY_NAME)
    waiting = [broker.replicas.find("a", index) for index in (0, 1)]
    assert [waiting_for_high_watermark(one) for one in waiting] == [1, 1]
    pipeline.close()
    await asyncio.sleep(0)
    assert [waiting_for_high_watermark(one) for one in waiting] == [0, 0]
    append(broker, "a", NOW_MS)
    await asyncio.sleep(0)
    assert pipeline.take_out() == []


# The disk


async def test_what_the_page_cache_lacks_is_read_in_a_thread(client, disk, size):
    disk.cold = True
    assert found(await fetch(client, {0: 0, 1: 1})) == {0: [0, 1], 1: [1]}


async def test_a_cold_fetch_waits_too(broker, client, disk, partition, size):
    disk.cold = True
    asking = asyncio.create_task(fetch(client, {0: 1}, min_bytes=2 * size, max_wait_ms=LONG_MS))
    async with asyncio.timeout(20):
        while not waiting_for_high_watermark(partition):
            await asyncio.sleep(0.001)
    append(broker, "a", NOW_MS)
    assert found(await asking) == {0: [1, 2]}
    assert waiting_for_high_watermark(partition) == 0


@pytest.mark.parametrize("event", ["a batch", "another leader"])
async def test_what_comes_during_a_cold_read_is_not_slept_through(
    broker, client, disk, partition, size, event
):
    """While a thread reads, nothing wakes the fetch: it must look again before it waits."""
    reading, go_on = threading.Event(), threading.Event()

    def hold(action, path):
        if action == "read" and threading.current_thread() is not threading.main_thread():
            reading.set()
            assert go_on.wait(20)

    disk.cold, disk.before = True, hold
    asking = asyncio.create_task(fetch(client, {0: 1}, min_bytes=2 * size, max_wait_ms=LONG_MS))
    async with asyncio.timeout(20):
        while not reading.is_set():
            await asyncio.sleep(0.001)
    if event == "a batch":
        append(broker, "a", NOW_MS)
    else:
        partition.change_leader(2, 1, [1, 2], [1, 2])
    go_on.set()
    assert found(await asking)[0][:1] == [1]
    assert waiting_for_high_watermark(partition) == 0


async def test_the_timer_does_not_read_again_beside_a_cold_read(broker, client, disk, partition):
    """The bytes that woke it are not in the page cache, and the read takes longer than max_wait_ms."""
    begun_reading, go_on, reads = threading.Event(), threading.Event(), []

    def hold(action, path):
        if action == "read" and threading.current_thread() is not threading.main_thread():
            reads.append(path)
            begun_reading.set()
            go_on.wait(20)

    end = partition.log.log_end_offset
    asking = await begun(fetch(client, {0: end}, max_wait_ms=100))
    disk.cold, disk.before = True, hold
    append(broker, "a", NOW_MS)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, begun_reading.wait, 20)
    timer_is_over = loop.time() + 0.2
    while loop.time() < timer_is_over:
        await asyncio.sleep(0.01)
    reads_before = len(reads)
    go_on.set()
    response = await asking
    assert found(response) == {0: [end]}
    assert reads_before == 1


async def test_who_hangs_up_during_a_cold_read_leaves_nothing_behind(broker, client, disk, partition, size):
    disk.cold = True
    pipeline = client.sent(fetch_request({0: 2, 1: 1}, min_bytes=10_000, max_wait_ms=LONG_MS), BY_NAME)
    (slot,) = pipeline.slots
    assert slot.deferred is not None
    pipeline.close()
    await asyncio.get_running_loop().run_in_executor(None, broker.readers.shutdown)
    await asyncio.sleep(0)
    assert waiting_for_high_watermark(partition) == 0


async def test_a_disk_error_is_an_error_of_its_partition(client, disk, size):
    disk.before = failing("read", LOG_OF_A_0)
    for disk.cold in (False, True):
        response = await fetch(client, {0: 0, 1: 0})
        assert codes(response) == {0: ErrorCode.KAFKA_STORAGE_ERROR, 1: 0}
        assert found(response) == {0: [], 1: [0, 1]}
    disk.before = None
    assert found(await fetch(client, {0: 0})) == {0: [0, 1]}


async def test_a_damaged_partition_is_offline(broker, client):
    broker.logs.offline["a", 0] = ValueError("the test says so")
    topic_id = await create_topic(broker, "a", 2)
    for version in (BY_NAME, BY_ID):
        response = await fetch(client, {0: 0, 1: 0}, version=version, topic_id=topic_id)
        assert codes(response) == {0: ErrorCode.KAFKA_STORAGE_ERROR, 1: 0}
