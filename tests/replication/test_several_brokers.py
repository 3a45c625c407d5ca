"""Followers fetch, cut and begin anew; leaders count them; partitions come and go. On a real event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gralha.metadata.image import ImageChange, PartitionImage, TopicImage
from gralha.protocol.errors import NotEnoughReplicasError
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.replication.leading import ACKS_ALL
from tests.replication.brokers import NOW_MS, TOPIC_ID, Brokers


@pytest.fixture
async def brokers(tmp_path: Path) -> AsyncIterator[Brokers]:
    brokers = Brokers(tmp_path)
    yield brokers
    await brokers.close()


def end_offsets(brokers: Brokers) -> list[int]:
    return [int(broker.partition.log.log_end_offset) for broker in brokers.by_id.values()]


def high_watermarks(brokers: Brokers) -> list[int]:
    return [int(broker.partition.log.high_watermark) for broker in brokers.by_id.values()]


def removals(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The log lines about removed records."""
    messages = [record.getMessage() for record in caplog.records]
    return [message for message in messages if "removed" in message or "cut" in message]


async def test_records_reach_all_replicas_and_then_count(brokers: Brokers) -> None:
    await brokers.place(1, (1, 2, 3))
    leader = brokers.by_id[1]
    leader.append(5, ACKS_ALL)
    assert leader.partition.log.high_watermark == 0
    await brokers.until(lambda: leader.partition.log.high_watermark == 5)
    assert end_offsets(brokers) == [5, 5, 5]
    await brokers.until(lambda: high_watermarks(brokers) == [5, 5, 5])
    assert len({broker.bytes_of_log() for broker in brokers.by_id.values()}) == 1


async def test_an_in_sync_replica_that_does_not_answer_holds_the_high_watermark_back(
    brokers: Brokers,
) -> None:
    brokers.cut = {(3, 1)}
    await brokers.place(1, (1, 2, 3))
    leader = brokers.by_id[1]
    leader.append()
    await brokers.until(lambda: end_offsets(brokers) == [1, 1, 0])
    assert leader.partition.log.high_watermark == 0
    brokers.fence(3)
    await brokers.place(1, (1, 2))
    assert leader.partition.log.high_watermark == 1
    brokers.fence(2)
    await brokers.place(1, (1,))
    leader.append()
    await brokers.until(lambda: end_offsets(brokers) == [2, 2, 0])
    assert leader.partition.log.high_watermark == 1
    with pytest.raises(NotEnoughReplicasError):
        leader.append(1, ACKS_ALL)


async def test_who_has_caught_up_is_proposed_and_who_is_fenced_is_not(brokers: Brokers) -> None:
    brokers.fence(3)
    await brokers.place(1, (1,))
    leader = brokers.by_id[1].partition
    await brokers.until(lambda: leader.in_sync_replicas == [1, 2])
    brokers.by_id[1].append()
    await brokers.until(lambda: end_offsets(brokers) == [1, 1, 1])
    assert leader.in_sync_replicas == [1, 2]
    assert leader.log.high_watermark == 1
    brokers.registered[3] = brokers.registered[3]._replace(fenced=False)
    brokers.tell((3,))
    await brokers.until(lambda: leader.in_sync_replicas == [1, 2, 3])


async def test_a_proposal_is_made_again_until_the_controller_answers(brokers: Brokers) -> None:
    brokers.agree = False
    await brokers.place(1, (1, 2))
    leader = brokers.by_id[1].partition
    await brokers.until(lambda: brokers.decided >= 2)
    assert (leader.in_sync_replicas, leader.led().counting) == ([1, 2], [1, 2, 3])
    brokers.agree = True
    await brokers.until(lambda: leader.in_sync_replicas == [1, 2, 3])
    assert leader.led().proposal is None


async def test_a_log_that_has_parted_is_cut_where_it_parted(
    brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gralha")
    await brokers.place(1, (1, 2, 3))
    brokers.by_id[1].append(3, ACKS_ALL)
    await brokers.until(lambda: high_watermarks(brokers) == [3, 3, 3])
    brokers.cut = {(2, 1), (3, 1)}
    await brokers.until(lambda: not brokers.by_id[1].has_waiting_fetches())
    brokers.by_id[1].append(4)  # nobody else will ever have these
    await brokers.place(2, (2, 3))
    brokers.by_id[2].append(2, ACKS_ALL)
    await brokers.until(lambda: end_offsets(brokers) == [5, 5, 5])
    assert len({broker.bytes_of_log() for broker in brokers.by_id.values()}) == 1
    await brokers.until(lambda: sorted(brokers.by_id[2].partition.in_sync_replicas) == [1, 2, 3])
    assert removals(caplog) == ["t-0: removed the records from offset 3 to 6, which leader 2 does not have"]


async def test_who_comes_after_the_leader_has_deleted_begins_where_it_begins(
    brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gralha")
    brokers.cut = {(3, 1)}
    brokers.fence(3)
    await brokers.place(1, (1, 2))
    brokers.by_id[1].append(10)
    await brokers.until(lambda: high_watermarks(brokers) == [10, 10, 0])
    brokers.by_id[1].partition.led().delete_records(7)
    brokers.cut = set()
    await brokers.until(lambda: end_offsets(brokers) == [10, 10, 10])
    assert [segment.base_offset for segment in brokers.by_id[3].partition.log.segments] == [7]
    assert removals(caplog) == []  # its log was empty
    # Broker 2 has followed: it heard of the new start at once.
    await brokers.until(lambda: brokers.by_id[1].partition.led().low_watermark() == 7)
    assert brokers.by_id[2].partition.log.log_start_offset == 7


async def test_a_leader_that_starts_inside_of_a_batch_is_followed(brokers: Brokers) -> None:
    """DeleteRecords stops inside of a batch. A new replica gets the whole batch (KAFKA-6975)."""
    brokers.cut = {(3, 1)}
    brokers.fence(3)
    await brokers.place(1, (1, 2))
    data = encode_batch([Record(b"k", b"v", NOW_MS) for _ in range(10)])
    brokers.by_id[1].partition.led().append(RecordBytes(data, 0, len(data)), 1, NOW_MS)
    brokers.by_id[1].append(3)
    await brokers.until(lambda: brokers.by_id[2].partition.log.high_watermark == 13)
    brokers.by_id[1].partition.led().delete_records(5)
    brokers.cut = set()
    brokers.registered[3] = brokers.registered[3]._replace(fenced=False)
    brokers.tell((3,))
    await brokers.until(lambda: 3 in brokers.by_id[1].partition.in_sync_replicas)
    log = brokers.by_id[3].partition.log
    assert (log.log_start_offset, log.log_end_offset) == (5, 13)
    assert brokers.by_id[3].bytes_of_log() == brokers.by_id[1].bytes_of_log()


async def test_an_error_of_a_fetcher_that_a_timer_wakes_up_ends_the_node(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lane would stay silent, and the replica would fall out of the in-sync replicas."""

    class BrokenState:
        def free_lane(self, _now_ms: int) -> None:
            raise ZeroDivisionError

    await brokers.place(1, (1, 2, 3))
    fetchers = brokers.by_id[2].replicas._fetchers
    assert fetchers is not None
    fetcher = fetchers._by_leader[1]
    with monkeypatch.context() as patch:
        patch.setattr(fetcher, "state", BrokenState())
        asyncio.get_running_loop().call_soon(fetcher.wake)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert [type(error) for error in brokers.failures] == [ZeroDivisionError]
    brokers.failures.clear()


async def test_a_partition_that_moves_away_leaves_no_log_and_one_that_comes_is_filled(
    brokers: Brokers, tmp_path: Path
) -> None:
    await brokers.place(1, (1, 2), (1, 2))
    brokers.by_id[1].append(4)
    await brokers.until(lambda: brokers.by_id[1].partition.log.high_watermark == 4)
    assert brokers.by_id[3].replicas.find("t", 0) is None
    await brokers.place(1, (1, 2), (1, 2, 3))
    await brokers.until(lambda: sorted(brokers.by_id[1].partition.in_sync_replicas) == [1, 2, 3])
    await brokers.place(3, (2, 3), (2, 3))
    assert brokers.by_id[1].replicas.find("t", 0) is None
    assert not (tmp_path / "1" / "t-0").exists()
    brokers.by_id[3].append(1)
    await brokers.until(lambda: brokers.by_id[2].partition.log.high_watermark == 5)


async def test_no_log_is_truncated_while_others_of_the_same_change_are_deleted(brokers: Brokers) -> None:
    broker = brokers.by_id[3]
    fetchers = broker.replicas._fetchers
    assert fetchers is not None

    def change(replicas: tuple[int, ...], partition_epoch: int) -> ImageChange:
        placed = PartitionImage(replicas, (1, 2), 1, 1, partition_epoch)
        return ImageChange([TopicImage("t", TOPIC_ID, {0: placed, 1: placed})], [], [], [])

    brokers.cut = {(3, 1)}
    broker.replicas.apply(change((1, 2, 3), 1))
    await broker.replicas.settled()
    assert len(fetchers._leaders) == 2
    followed: list[int] = []
    delete = broker.logs.delete_in_thread

    async def delete_and_note(topic: str, partition: int, now_ms: int) -> None:
        followed.append(len(fetchers._leaders))
        await delete(topic, partition, now_ms)

    broker.logs.delete_in_thread = delete_and_note  # type: ignore[method-assign]
    broker.replicas.apply(change((1, 2), 2))
    await broker.replicas.settled()
    assert followed == [0, 0]


async def test_a_log_of_a_partition_that_is_elsewhere_stays_if_it_was_not_served(
    brokers: Brokers, tmp_path: Path
) -> None:
    """What metadata the first change came from may be old; a report of strays is all there is."""
    broker = brokers.by_id[3]
    broker.logs.get_or_create("t", 0, bytes(range(16)), brokers.config, 0)
    await brokers.place(1, (1, 2), (1, 2))
    assert (tmp_path / "3" / "t-0").exists()
