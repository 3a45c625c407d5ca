"""A partition as its leader has it: who may write, when the high watermark moves, who is told."""

from pathlib import Path

import pytest

from gralha.protocol.errors import (
    FencedLeaderEpochError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    UnknownLeaderEpochError,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.replication.leading import ACKS_ALL
from gralha.replication.partition import Partition
from gralha.replication.subscriptions import HIGH_WATERMARK_MOVED, Subscriber
from gralha.storage.config import LogConfig
from gralha.storage.opening import open_log
from gralha.storage.real_disk import RealDisk
from tests.replication.parts import following, waiting_for_high_watermark

BROKER = 1
NOW_MS = 1_700_000_000_000
TOPIC_ID = bytes(range(16))


def batch(count: int = 1) -> RecordBytes:
    data = encode_batch([Record(b"key", b"value", NOW_MS) for _ in range(count)])
    return RecordBytes(data, 0, len(data))


def new_partition(folder: Path, **config: str) -> Partition:
    settings = {name.replace("_", "."): value for name, value in config.items()}
    log = open_log(RealDisk(), str(folder), "t", 0, LogConfig(settings), now_ms=NOW_MS, topic_id=TOPIC_ID)
    return Partition("t", TOPIC_ID, 0, log, BROKER)


@pytest.fixture
def partition(tmp_path: Path) -> Partition:
    partition = new_partition(tmp_path)
    partition.change_leader(BROKER, 3, [BROKER], [BROKER])
    return partition


class Listener(Subscriber):
    def __init__(self, enough_bytes: int = 0) -> None:
        self.enough_bytes = enough_bytes
        self.heard: list[int] = []

    def partition_changed(self, partition: Partition, event: int, new_bytes: int) -> bool:
        self.heard.append(new_bytes)
        return sum(self.heard) >= self.enough_bytes


def test_only_the_leader_takes_records(tmp_path: Path) -> None:
    partition = new_partition(tmp_path)
    with pytest.raises(NotLeaderOrFollowerError):
        partition.led().append(batch(), ACKS_ALL, NOW_MS)
    partition.change_leader(2, 1, [BROKER, 2], [2])
    with pytest.raises(NotLeaderOrFollowerError):
        partition.led().append(batch(), 1, NOW_MS)
    assert partition.log.log_end_offset == 0


def test_a_new_leader_starts_its_epoch_at_the_end_of_its_log(partition: Partition) -> None:
    partition.led().append(batch(5), 1, NOW_MS)
    partition.change_leader(BROKER, 4, [BROKER], [BROKER])
    partition.led().append(batch(2), 1, NOW_MS)
    assert partition.log.end_offset_for_epoch(3) == (3, 5)
    assert partition.log.end_offset_for_epoch(4) == (4, 7)


def test_a_client_with_another_idea_of_the_leader_is_told(partition: Partition) -> None:
    partition.check_leader(-1)
    partition.check_leader(3)
    with pytest.raises(FencedLeaderEpochError):
        partition.check_leader(2)
    with pytest.raises(UnknownLeaderEpochError):
        partition.check_leader(4)


def test_the_only_replica_moves_the_high_watermark_by_itself(partition: Partition) -> None:
    result = partition.led().append(batch(3), ACKS_ALL, NOW_MS)
    assert (result.first_offset, result.last_offset) == (0, 2)
    assert partition.log.high_watermark == 3


@pytest.mark.parametrize(("allowed", "acknowledged"), [("1", 0), ("3", 2), ("4", 3), ("100", 3)])
def test_flush_messages_bounds_what_is_acknowledged_and_not_on_the_disk(
    tmp_path: Path, allowed: str, acknowledged: int
) -> None:
    partition = new_partition(tmp_path, flush_messages=allowed)
    partition.change_leader(BROKER, 0, [BROKER], [BROKER])
    partition.led().append(batch(3), ACKS_ALL, NOW_MS)
    assert partition.log.high_watermark == acknowledged
    partition.log.flush()
    partition.led().advance_high_watermark()
    assert partition.log.high_watermark == 3


def test_after_a_crash_a_log_that_must_flush_flushes_what_it_found(tmp_path: Path) -> None:
    partition = new_partition(tmp_path, flush_messages="1")
    partition.change_leader(BROKER, 0, [BROKER], [BROKER])
    partition.led().append(batch(3), ACKS_ALL, NOW_MS)
    partition.log.flush()
    partition.log.release()
    again = new_partition(tmp_path, flush_messages="1")
    asked: list[int] = []
    again.log.request_flush = lambda log, offset: asked.append(offset)
    again.change_leader(BROKER, 1, [BROKER], [BROKER])
    assert (again.log.log_end_offset, asked) == (3, [3])
    again.log.flush()
    assert again.log.on_flushed is not None
    again.log.on_flushed()
    assert again.log.high_watermark == 3


@pytest.mark.parametrize("leads", [True, False])
def test_a_log_that_must_flush_from_now_on_flushes_what_it_has(tmp_path: Path, leads: bool) -> None:
    """A follower asks for no more records before that, and without records nobody else asks for a flush."""
    partition = new_partition(tmp_path)
    partition.change_leader(BROKER, 0, [BROKER, 2], [BROKER])
    partition.led().append(batch(3), 1, NOW_MS)
    if not leads:
        partition.change_leader(2, 1, [BROKER, 2], [BROKER, 2])
    asked: list[int] = []
    partition.log.request_flush = lambda log, offset: asked.append(offset)
    partition.configure(LogConfig({"flush.messages": "1"}))
    assert (asked, partition.acknowledged_offset()) == ([3], 0)
    told: list[bool] = []
    if not leads:
        following(partition).on_vouching = lambda: told.append(True)
    partition.configure(LogConfig())
    assert (asked, partition.acknowledged_offset(), bool(told)) == ([3], 3, not leads)


def test_too_few_in_sync_replicas_refuse_acks_all_only(tmp_path: Path) -> None:
    partition = new_partition(tmp_path, min_insync_replicas="2")
    partition.change_leader(BROKER, 0, [BROKER, 2, 3], [BROKER])
    with pytest.raises(NotEnoughReplicasError):
        partition.led().append(batch(), ACKS_ALL, NOW_MS)
    assert partition.led().append(batch(), 1, NOW_MS).first_offset == 0


def test_min_insync_replicas_beyond_the_replication_factor_asks_for_all_there_are(tmp_path: Path) -> None:
    partition = new_partition(tmp_path, min_insync_replicas="2")
    partition.change_leader(BROKER, 0, [BROKER], [BROKER])
    assert partition.led().append(batch(), ACKS_ALL, NOW_MS).first_offset == 0


def test_waiters_are_told_of_new_bytes_until_they_have_enough(partition: Partition) -> None:
    size = batch().size()
    patient, easy = Listener(2 * size), Listener()
    partition.subscribe(patient, HIGH_WATERMARK_MOVED)
    partition.subscribe(easy, HIGH_WATERMARK_MOVED)
    for _ in range(3):
        partition.led().append(batch(), 1, NOW_MS)
    assert patient.heard == [size, size]
    assert easy.heard == [size]
    assert waiting_for_high_watermark(partition) == 0


def test_waiters_are_told_when_the_leader_changes(partition: Partition) -> None:
    waiter = Listener()
    partition.subscribe(waiter, HIGH_WATERMARK_MOVED)
    partition.change_leader(2, 4, [BROKER, 2], [2])
    assert waiter.heard == [0]


def test_a_waiter_that_leaves_hears_nothing(partition: Partition) -> None:
    waiter = Listener()
    partition.subscribe(waiter, HIGH_WATERMARK_MOVED)
    partition.unsubscribe(waiter, HIGH_WATERMARK_MOVED)
    partition.unsubscribe(waiter, HIGH_WATERMARK_MOVED)
    partition.led().append(batch(), 1, NOW_MS)
    assert waiter.heard == []


def test_delete_records_moves_the_start_up_to_the_high_watermark(partition: Partition) -> None:
    for _ in range(3):
        partition.led().append(batch(2), 1, NOW_MS)
    assert partition.led().delete_records(3) == 3
    assert partition.led().delete_records(1) == 3
    for offset in (7, -2):
        with pytest.raises(OffsetOutOfRangeError):
            partition.led().delete_records(offset)
    assert partition.led().delete_records(-1) == 6
    assert partition.log.log_end_offset == 6


def test_a_compacted_topic_keeps_its_records(tmp_path: Path) -> None:
    partition = new_partition(tmp_path, cleanup_policy="compact")
    partition.change_leader(BROKER, 0, [BROKER], [BROKER])
    with pytest.raises(PolicyViolationError):
        partition.led().delete_records(-1)


class Busy(Subscriber):
    """Appends to the partition when it is told, and lets another subscriber wait for more."""

    def __init__(self, follower: Subscriber) -> None:
        self.follower = follower

    def partition_changed(self, partition: Partition, event: int, new_bytes: int) -> bool:
        partition.led().append(batch(), ACKS_ALL, NOW_MS)
        partition.subscribe(self.follower, HIGH_WATERMARK_MOVED)
        return True


def test_nobody_is_forgotten_who_begins_to_wait_while_others_are_told(partition: Partition) -> None:
    patient, late = Listener(1 << 30), Listener(1 << 30)
    partition.subscribe(Busy(late), HIGH_WATERMARK_MOVED)
    partition.subscribe(patient, HIGH_WATERMARK_MOVED)
    partition.led().append(batch(), ACKS_ALL, NOW_MS)
    assert waiting_for_high_watermark(partition) == 2
    heard = len(patient.heard), len(late.heard)
    partition.led().append(batch(), ACKS_ALL, NOW_MS)
    assert (len(patient.heard), len(late.heard)) == (heard[0] + 1, heard[1] + 1)


def test_a_subscriber_hears_of_the_append_that_another_subscriber_makes(partition: Partition) -> None:
    size = batch().size()
    before, after = Listener(1 << 30), Listener(1 << 30)
    partition.subscribe(before, HIGH_WATERMARK_MOVED)
    partition.subscribe(Busy(Listener()), HIGH_WATERMARK_MOVED)
    partition.subscribe(after, HIGH_WATERMARK_MOVED)
    partition.led().append(batch(), ACKS_ALL, NOW_MS)
    assert (sum(before.heard), sum(after.heard)) == (2 * size, 2 * size)
