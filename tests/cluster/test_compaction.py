"""A broker process compacts a topic beside its clients, in a process of its own that is gone afterwards."""

import subprocess
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.received import place_of

from gralha.protocol.batches import batches
from gralha.storage.checkpoints import read_offsets
from gralha.storage.real_disk import RealDisk
from gralha.testing import GralhaCluster

TOPIC = "prices"
TIMEOUT_S = 30.0
KEYS = 50
ROUNDS = 100


@pytest.fixture
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster(config={"log.cleaner.backoff.ms": "50"}) as cluster:
        yield cluster


def create(cluster: GralhaCluster, partitions: int = 1, **config: str) -> None:
    settings = {name.replace("_", "."): value for name, value in config.items()}
    client = AdminClient({"bootstrap.servers": cluster.bootstrap})
    client.create_topics([NewTopic(TOPIC, partitions, 1, config=settings)])[TOPIC].result(TIMEOUT_S)


def produce(cluster: GralhaCluster, first_round: int, rounds: int) -> None:
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "compression.type": "lz4", "batch.num.messages": KEYS}
    )
    for number in range(first_round, first_round + rounds):
        for key in range(KEYS):
            # Hardly compressible, so that segments fill.
            producer.produce(TOPIC, b"%d " % number + _noise(number * KEYS + key), b"%d" % key)
        assert producer.flush(TIMEOUT_S) == 0


def _noise(number: int) -> bytes:
    return number.to_bytes(4, "big") + bytes((number * 31 + index * index * 17) % 251 for index in range(500))


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def first_dirty_offset(cluster: GralhaCluster, topic: str = TOPIC) -> int:
    path = cluster.data_folder() / "cleaner-offset-checkpoint"
    return read_offsets(RealDisk(), str(path)).get((topic, 0), 0)


def read_all(cluster: GralhaCluster) -> list[tuple[int, bytes | None, bytes | None]]:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        found: list[tuple[int, bytes | None, bytes | None]] = []
        while True:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"no end after {len(found)} records"
            if message.error() is not None:
                return found
            _, offset = place_of(message)
            found.append((offset, message.key(), message.value()))
    finally:
        consumer.close()


def children(pid: int) -> list[str]:
    command = ["ps", "--no-headers", "--ppid", str(pid), "-o", "pid"]
    return subprocess.run(command, capture_output=True, text=True).stdout.split()


def check_newest(found: list[tuple[int, bytes | None, bytes | None]], rounds: int) -> None:
    offsets = [offset for offset, _, _ in found]
    assert offsets == sorted(set(offsets))
    newest = {key: (offset, value) for offset, key, value in found}
    for key in range(KEYS):
        offset = (rounds - 1) * KEYS + key
        assert newest[b"%d" % key] == (offset, b"%d " % (rounds - 1) + _noise(offset))


def test_clients_find_the_newest_values_while_the_log_stays_small(cluster: GralhaCluster) -> None:
    create(cluster, cleanup_policy="compact", segment_bytes="1048576", min_cleanable_dirty_ratio="0.1")
    produce(cluster, 0, ROUNDS)
    # All but what is in the active segment.
    wait_until(lambda: first_dirty_offset(cluster) > ROUNDS * KEYS * 0.5, "nothing was compacted")
    before = first_dirty_offset(cluster)
    produce(cluster, ROUNDS, ROUNDS)
    wait_until(lambda: first_dirty_offset(cluster) > before + ROUNDS * KEYS * 0.3, "not compacted again")
    found = read_all(cluster)
    check_newest(found, 2 * ROUNDS)
    assert len([offset for offset, _, _ in found if offset < before]) <= KEYS
    # An idle broker has no second process.
    pid = cluster.process().pid
    wait_until(lambda: children(pid) == [], "the compacting process stayed")
    cluster.restart()
    assert read_all(cluster) == found
    check_newest(found, 2 * ROUNDS)


def test_a_killed_broker_leaves_a_log_that_is_whole(cluster: GralhaCluster) -> None:
    create(cluster, cleanup_policy="compact", segment_bytes="1048576", min_cleanable_dirty_ratio="0.01")
    for life in range(3):
        produce(cluster, life * ROUNDS, ROUNDS)
        cluster.kill()
        cluster.start()
        check_newest(read_all(cluster), (life + 1) * ROUNDS)
    wait_until(lambda: first_dirty_offset(cluster) > 2 * ROUNDS * KEYS, "nothing was compacted")
    check_newest(read_all(cluster), 3 * ROUNDS)


def test_committed_offsets_survive_the_compaction_of_their_topic() -> None:
    config = {
        "log.cleaner.backoff.ms": "50",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.segment.bytes": "1048576",
    }
    partitions = 100
    with GralhaCluster(config=config) as cluster:
        create(cluster, partitions)
        consumer = Consumer(
            {"bootstrap.servers": cluster.bootstrap, "group.id": "counting", "enable.auto.commit": False}
        )
        commits = 0
        while commits < 200 or first_dirty_offset(cluster, "__consumer_offsets") == 0:
            assert commits < 2000, "nothing was compacted"
            commits += 1
            consumer.commit(
                offsets=[TopicPartition(TOPIC, number, commits + number) for number in range(partitions)],
                asynchronous=False,
            )
        consumer.close()
        cluster.kill()
        # Where compaction has been, there is one record per partition at most, beside those of the group.
        end_offset = first_dirty_offset(cluster, "__consumer_offsets")
        left = [
            header.record_count
            for path in (cluster.data_folder() / "__consumer_offsets-0").glob("*.log")
            for _, header in batches(path.read_bytes(), 0, path.stat().st_size)
            if header.last_offset < end_offset
        ]
        assert sum(left) <= partitions + 10 < end_offset
        cluster.start()
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "counting"})
        found = consumer.committed(
            [TopicPartition(TOPIC, number) for number in range(partitions)], timeout=TIMEOUT_S
        )
        consumer.close()
        assert [one.offset for one in found] == [commits + number for number in range(partitions)]
