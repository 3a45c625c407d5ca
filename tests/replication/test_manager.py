"""The partitions of a broker follow the metadata, in order, though their files are made in threads."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gralha.metadata.image import ImageChange, PartitionImage, TopicImage
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.replication.manager import ReplicaManager
from gralha.storage.config import LogConfig
from gralha.storage.disk import DiskError
from gralha.storage.manager import LogManager
from gralha.storage.real_disk import RealDisk

BROKER = 1
NOW_MS = 1_700_000_000_000
OLD_ID, NEW_ID = bytes(15) + b"\x01", bytes(15) + b"\x02"


def topic(
    name: str, partitions: int, id_: bytes = OLD_ID, leader: int = BROKER, epoch: int = 0
) -> TopicImage:
    placed = PartitionImage((BROKER,), (BROKER,), leader, epoch, 0)
    return TopicImage(name, id_, dict.fromkeys(range(partitions), placed))


def change(
    *changed: TopicImage, deleted: tuple[TopicImage, ...] = (), configs: tuple[str, ...] = ()
) -> ImageChange:
    return ImageChange(list(changed), list(deleted), [(2, name) for name in configs], [])


class Fixture:
    def __init__(self, folder: Path) -> None:
        self.configs: dict[str, LogConfig] = {}
        self.failures: list[BaseException] = []
        self.logs = LogManager(RealDisk(), [str(folder)], LogConfig())
        self.logs.load(NOW_MS, lambda name: {})
        self.replicas = ReplicaManager(
            BROKER, self.logs, self.config_for, lambda: NOW_MS, self.failures.append
        )

    def config_for(self, name: str) -> LogConfig:
        return self.configs.get(name, LogConfig())

    def append(self, name: str) -> int:
        data = encode_batch([Record(b"key", b"value", NOW_MS)])
        partition = self.replicas.find(name, 0)
        assert partition is not None
        return partition.led().append(RecordBytes(data, 0, len(data)), 1, NOW_MS).first_offset


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Fixture]:
    fixture = Fixture(tmp_path)
    yield fixture
    fixture.logs.release()


async def test_a_topic_appears_when_its_logs_are_made(broker: Fixture, tmp_path: Path) -> None:
    broker.replicas.apply(change(topic("t", 40)))
    assert broker.replicas.find("t", 0) is None
    await broker.replicas.settled()
    assert sorted(broker.replicas.by_name["t"]) == list(range(40))
    assert broker.replicas.by_id[OLD_ID] is broker.replicas.by_name["t"]
    assert (tmp_path / "t-39" / f"{0:020d}.log").exists()
    assert broker.append("t") == 0


async def test_changes_keep_their_order_behind_files_in_the_making(broker: Fixture) -> None:
    broker.replicas.apply(change(topic("t", 3)))
    broker.replicas.apply(change(topic("t", 3, leader=2, epoch=1)))
    broker.replicas.apply(change(topic("other", 1, NEW_ID)))
    broker.replicas.apply(change(deleted=(topic("other", 1, NEW_ID),)))
    await broker.replicas.settled()
    partition = broker.replicas.find("t", 0)
    assert partition is not None
    assert (partition.leader_id, partition.leader_epoch) == (2, 1)
    assert broker.replicas.find("other", 0) is None
    assert ("other", 0) not in broker.logs.logs


async def test_what_needs_no_file_happens_at_once(broker: Fixture) -> None:
    broker.replicas.apply(change(topic("t", 1)))
    await broker.replicas.settled()
    broker.configs["t"] = LogConfig({"retention.ms": "5"})
    broker.replicas.apply(change(configs=("t",)))
    partition = broker.replicas.find("t", 0)
    assert partition is not None
    assert partition.log.config.retention_ms == 5
    broker.replicas.apply(change(deleted=(topic("t", 1),)))
    assert broker.replicas.find("t", 0) is None
    assert not partition.is_leader()


async def test_a_topic_created_again_is_empty(broker: Fixture) -> None:
    broker.replicas.apply(change(topic("t", 1)))
    await broker.replicas.settled()
    broker.append("t")
    # Both in one change, as after a snapshot that skipped what came in between.
    broker.replicas.apply(change(topic("t", 1, NEW_ID), deleted=(topic("t", 1, OLD_ID),)))
    await broker.replicas.settled()
    assert broker.append("t") == 0
    assert list(broker.replicas.by_id) == [NEW_ID]


async def test_a_log_of_another_topic_of_that_name_is_not_taken_over(broker: Fixture, tmp_path: Path) -> None:
    old = broker.logs.get_or_create("t", 0, OLD_ID, LogConfig(), NOW_MS)
    data = encode_batch([Record(b"key", b"value", NOW_MS)])
    old.append_as_leader(RecordBytes(data, 0, len(data)), 0, NOW_MS)
    broker.replicas.apply(change(topic("t", 1, NEW_ID)))
    await broker.replicas.settled()
    assert broker.append("t") == 0
    # The metadata never said that the old one was deleted: it is set aside, with its record.
    (stray,) = tmp_path.glob("t-0.*-stray")
    assert (stray / f"{0:020d}.log").stat().st_size == len(data)


async def test_a_damaged_partition_is_offline_and_can_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "partition.metadata").write_text("nonsense")
    broker = Fixture(tmp_path)
    broker.replicas.apply(change(topic("t", 2)))
    await broker.replicas.settled()
    assert broker.replicas.is_offline("t", 0)
    assert list(broker.replicas.by_name["t"]) == [1]
    broker.replicas.apply(change(deleted=(topic("t", 2),)))
    await broker.replicas.settled()
    assert not broker.replicas.is_offline("t", 0)
    broker.replicas.apply(change(topic("t", 1, NEW_ID)))
    await broker.replicas.settled()
    assert broker.append("t") == 0
    broker.logs.release()


async def test_logs_that_no_topic_claims_stay(broker: Fixture, tmp_path: Path) -> None:
    broker.logs.get_or_create("stray", 0, OLD_ID, LogConfig(), NOW_MS)
    broker.replicas.apply(change(topic("t", 1, NEW_ID)))
    await broker.replicas.settled()
    assert (tmp_path / "stray-0").exists()
    assert broker.replicas.find("stray", 0) is None


async def test_partitions_of_other_brokers_are_not_made(broker: Fixture) -> None:
    elsewhere = TopicImage("t", OLD_ID, {0: PartitionImage((2, 3), (2, 3), 2, 0, 0)})
    broker.replicas.apply(change(elsewhere))
    await broker.replicas.settled()
    assert broker.replicas.by_name == {}


async def test_a_disk_that_fails_is_reported_and_not_waited_for(broker: Fixture, tmp_path: Path) -> None:
    (tmp_path / "t-0").write_text("a file where the folder should be")
    broker.replicas.apply(change(topic("t", 1)))
    with pytest.raises(DiskError):
        await broker.replicas.settled()
    assert len(broker.failures) == 1
    await asyncio.wait_for(broker.replicas.settled(), 1)


class CutsOneAfterTheOther:
    """Stands in for the fetchers: a second cut of a log begins as soon as the first has been waited for."""

    def __init__(self, key: tuple[bytes, int]) -> None:
        self.truncations: dict[tuple[bytes, int], object] = {key: None}
        self.left = 2
        self.finished = asyncio.Event()

    async def truncated(self, topic_id: bytes, index: int) -> None:
        await asyncio.sleep(0)
        self.left -= 1
        if not self.left:
            del self.truncations[topic_id, index]
            self.finished.set()

    def follow(self, partition: object) -> None:
        pass

    forget = follow


async def test_nobody_becomes_leader_while_a_log_is_cut(broker: Fixture) -> None:
    broker.replicas.apply(change(topic("a", 1)))
    await broker.replicas.settled()
    cuts = CutsOneAfterTheOther((OLD_ID, 0))
    broker.replicas._fetchers = cuts  # type: ignore[assignment]
    broker.replicas.apply(change(topic("a", 1, epoch=5)))
    await broker.replicas.settled()
    partition = broker.replicas.find("a", 0)
    assert partition is not None
    assert (partition.leader_epoch, cuts.finished.is_set()) == (5, True)
