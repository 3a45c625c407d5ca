"""The size of a batch: shares of a limit, waiting for more, and adapting to the duration of batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gralha.client.values import TopicPartition
from gralha.spark.admission import BackPressure, SmallBatches, limited, new_records

SIZES = st.lists(st.integers(0, 10**12), min_size=1, max_size=20)


def offsets(sizes: list[int], begin: int = 0) -> dict[TopicPartition, int]:
    return {TopicPartition("t", number): begin + size for number, size in enumerate(sizes)}


@given(SIZES, st.integers(1, 10**12), st.integers(0, 10**9))
def test_a_limit_is_kept_but_for_one_record_of_each_partition(
    sizes: list[int], limit: int, first: int
) -> None:
    begin, latest = offsets([0] * len(sizes), first), offsets(sizes, first)
    end = limited(begin, latest, limit)
    assert end.keys() == latest.keys()
    assert all(begin[key] <= end[key] <= latest[key] for key in end)
    assert new_records(begin, end) <= limit + sum(1 for size in sizes if size)


@given(SIZES, st.integers(1, 10**12))
def test_no_partition_starves(sizes: list[int], limit: int) -> None:
    begin, latest = offsets([0] * len(sizes)), offsets(sizes)
    end = limited(begin, latest, limit)
    assert all(end[key] > begin[key] for key in end if latest[key] > begin[key])


@given(SIZES, st.integers(1, 1000))
def test_batch_after_batch_reads_everything(sizes: list[int], limit: int) -> None:
    begin, latest = offsets([0] * len(sizes)), offsets([size % 300 for size in sizes])
    for _ in range(10_000):
        if begin == latest:
            return
        begin = limited(begin, latest, limit)
    raise AssertionError("never done")


def test_shares_follow_what_there_is_as_in_sparks_kafka_source() -> None:
    begin, latest = offsets([0, 0, 0]), offsets([100, 300, 600])
    assert limited(begin, latest, 100) == offsets([10, 30, 60])
    assert limited(begin, latest, 1000) == latest


def test_a_log_that_lost_its_end_takes_no_share() -> None:
    begin, latest = offsets([50, 0]), offsets([20, 100])
    assert limited(begin, latest, 10) == offsets([20, 10])


def test_small_batches_wait_for_enough_records() -> None:
    small = SmallBatches(min_records=100, max_delay_ms=60_000)
    assert small.lets_pass(1, now_ms=0)  # the first batch is not delayed
    assert not small.lets_pass(99, now_ms=10)
    assert small.lets_pass(100, now_ms=20)


def test_small_batches_do_not_wait_for_ever() -> None:
    small = SmallBatches(min_records=100, max_delay_ms=60_000)
    assert small.lets_pass(1, now_ms=0)
    assert not small.lets_pass(1, now_ms=59_999)
    assert small.lets_pass(1, now_ms=60_000)
    assert not small.lets_pass(1, now_ms=60_001)


def test_nothing_is_no_batch_however_long_it_waited() -> None:
    small = SmallBatches(min_records=100, max_delay_ms=60_000)
    assert not small.lets_pass(0, now_ms=0)
    assert small.lets_pass(5, now_ms=1)


def run(pressure: BackPressure, records_per_second: float, batches: int, *, wait_ms: int = 0) -> list[int]:
    """The batch sizes of a query that always has enough to read, and triggers every `wait_ms`."""
    now_ms, sizes = 0, []
    for _ in range(batches):
        records = pressure.max_records
        pressure.batch_started(records, now_ms)
        now_ms += max(int(records / records_per_second * 1000), wait_ms, 1)
        pressure.batch_finished(now_ms)
        sizes.append(records)
    return sizes


@given(st.floats(10, 5_000_000), st.integers(500, 60_000))
def test_batches_come_to_last_about_as_long_as_they_shall(rate: float, target_ms: int) -> None:
    pressure = BackPressure(target_ms)
    run(pressure, rate, batches=60)
    for records in run(pressure, rate, batches=10):
        assert 0.7 * target_ms <= records / rate * 1000 + 1000 / rate * 3
        assert records / rate * 1000 <= 1.3 * target_ms + 1000 / rate * 3


def test_a_query_that_slows_down_gets_smaller_batches_at_once() -> None:
    pressure = BackPressure(10_000)
    before = run(pressure, 100_000, batches=20)[-1]
    run(pressure, 25_000, batches=1)
    assert pressure.max_records <= before * 0.3


def test_a_small_quick_batch_says_nothing_about_large_ones() -> None:
    pressure = BackPressure(10_000)
    run(pressure, 100_000, batches=20)
    before = pressure.max_records
    pressure.batch_started(10, now_ms=0)
    pressure.batch_finished(now_ms=900)
    assert pressure.max_records == before


def test_waiting_for_a_trigger_does_not_hold_a_query_back_for_ever() -> None:
    pressure = BackPressure(10_000)
    sizes = run(pressure, 1_000_000, batches=60, wait_ms=10_000)
    assert sizes[-1] > 5_000_000


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**7)), max_size=50), st.integers(1, 10**6))
def test_there_is_always_room_for_a_record(batches: list[tuple[int, int]], target_ms: int) -> None:
    pressure, now_ms = BackPressure(target_ms), 0
    for records, duration_ms in batches:
        pressure.batch_started(records, now_ms)
        now_ms += duration_ms
        pressure.batch_finished(now_ms)
        assert pressure.max_records >= 1
