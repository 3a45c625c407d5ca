"""The offsets that are stored after reading, and the time that a consumer waits for partitions."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from gralha.cli.consumer_perf_test import RebalanceTime
from gralha.cli.consumption import store_offsets


class Record:
    def __init__(self, partition: int, offset: int, epoch: int | None = None) -> None:
        self._place = partition, offset, epoch

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return self._place[0]

    def offset(self) -> int:
        return self._place[1]

    def leader_epoch(self) -> int | None:
        return self._place[2]


class FakeConsumer:
    """Notes the offsets that it should store, unless it fails."""

    def __init__(self, failure: int | None = None) -> None:
        self.stored: list[tuple[int, int, int | None]] = []
        self._failure = failure

    def store_offsets(self, offsets: list[Any]) -> None:
        if self._failure is not None:
            raise KafkaException(KafkaError(self._failure))
        self.stored += [(one.partition, one.offset, one.leader_epoch) for one in offsets]


def store(consumer: Any, *records: Any) -> None:
    store_offsets(consumer, list(records))


def test_the_next_offset_of_each_partition_is_kept() -> None:
    consumer = FakeConsumer()
    store(consumer, Record(0, 5, 0), Record(1, 7), Record(0, 6, 2))
    assert consumer.stored == [(0, 7, 2), (1, 8, None)]


def test_partitions_that_another_member_has_by_now_are_left_to_it() -> None:
    store(FakeConsumer(KafkaError._STATE), Record(0, 5))
    with pytest.raises(KafkaException):
        store(FakeConsumer(KafkaError._FAIL), Record(0, 5))


def test_time_without_partitions_is_time_spent_joining() -> None:
    joining = RebalanceTime(now=100.0)
    joining.assigned([("t", 0)], now=100.5)
    joining.assigned([("t", 1)], now=107.0)
    assert (joining.total_ms, joining.interval_ms) == (500, 500)
    joining.interval_ms = 0
    joining.revoked([("t", 0)], now=110.0)
    joining.revoked([("t", 1)], now=111.0)
    joining.assigned([("t", 2)], now=111.25)
    assert (joining.total_ms, joining.interval_ms) == (750, 250)
