"""Requests are counted by API, version, time and error code."""

from itertools import pairwise

import pytest

from gralha.broker.request_meters import (
    LIMITS_MS,
    REQUESTS_PER_READING,
    SMALL_BYTES,
    ApiMeter,
    Durations,
    ReadMeter,
    RequestMeters,
)
from gralha.protocol.apis import ApiKey
from gralha.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
    ReplicaState,
)
from gralha.protocol.messages.heartbeat import HeartbeatResponse
from gralha.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse


def class_of(milliseconds: float) -> int:
    durations = Durations()
    durations.add(milliseconds / 1000)
    assert sum(durations.counts()) == 1
    return durations.counts().index(1)


def test_each_limit_is_in_its_class_and_a_bit_more_is_in_the_next() -> None:
    assert list(LIMITS_MS) == sorted(LIMITS_MS)
    for number, limit in enumerate(LIMITS_MS):
        assert class_of(limit) == number
        assert class_of(limit + 0.01) == number + 1


def test_between_two_limits_the_upper_one_counts() -> None:
    for number, (lower, upper) in enumerate(pairwise(LIMITS_MS)):
        assert class_of((lower + upper) / 2) == number + 1


def test_durations_add_up() -> None:
    durations = Durations()
    for seconds in (0.001, 0.002, 3600):
        durations.add(seconds)
    assert durations.sum_s == pytest.approx(3600.003)
    assert durations.counts()[-1] == 1


def produced(*codes: int) -> ProduceResponse:
    partitions = [PartitionProduceResponse(index=0, error_code=code, base_offset=0) for code in codes]
    return ProduceResponse(responses=[TopicProduceResponse(name="a", partition_responses=partitions)])


def test_each_error_code_of_a_response_counts() -> None:
    meter = ApiMeter()
    meter.answered(produced(0, 3, 0, 3, 6))
    meter.answered(HeartbeatResponse(error_code=27))
    meter.answered(HeartbeatResponse())
    data = [PartitionData(partition_index=0, error_code=code, high_watermark=0) for code in (0, 1)]
    meter.answered(FetchResponse(responses=[FetchableTopicResponse(topic="a", partitions=data)]))
    assert meter.successes == 5
    assert meter.errors == {3: 2, 6: 1, 27: 1, 1: 1}


@pytest.mark.parametrize(
    ("request_", "is_follower"),
    [
        (FetchRequest(), False),
        (FetchRequest(replica_id=2), True),
        (FetchRequest(replica_state=ReplicaState(replica_id=2, replica_epoch=1)), True),
        (FetchRequest(replica_state=ReplicaState()), False),
        (None, False),
    ],
)
def test_fetches_of_followers_are_apart(request_: FetchRequest | None, is_follower: bool) -> None:
    meters = RequestMeters(lambda: 0.0)
    assert (meters.of(ApiKey.FETCH, request_) is meters.follower_fetch) == is_follower


def test_every_api_has_one_meter() -> None:
    meters = RequestMeters(lambda: 0.0)
    found = [meters.of(key, None) for key in ApiKey]
    assert len({id(one) for one in found}) == len(ApiKey)
    assert all(meters.of(key, None) is one for key, one in zip(ApiKey, found, strict=True))


def test_requests_are_counted_by_version_in_any_order() -> None:
    meter = ApiMeter()
    for version in (3, 3, 0, 3, 12, 0):
        meter.received(version, 10)
    versions = meter.versions()
    assert {version: count for version, count in enumerate(versions) if count} == {0: 2, 3: 3, 12: 1}
    assert meter.versions() == versions
    assert meter.request_bytes == 60


class Clock:
    def __init__(self) -> None:
        self.now_s = 5.0
        self.readings = 0

    def __call__(self) -> float:
        self.readings += 1
        return self.now_s


def handle_one_ms(meter: ReadMeter, clock: Clock, size_bytes: int, api_key: int = ApiKey.PRODUCE) -> ApiMeter:
    """A request of a read, whose handler takes a millisecond and answers at once."""
    found = meter.received(api_key, 9, size_bytes, None)
    meter.handled(found)
    clock.now_s += 0.001
    meter.leaves(found)
    return found


def test_each_large_request_of_a_read_has_its_own_queue_time() -> None:
    clock = Clock()
    meter = RequestMeters(clock).of_reads()
    meter.begin()
    for _ in range(4):
        produce = handle_one_ms(meter, clock, SMALL_BYTES + 1)
    meter.end(True)
    assert produce.queue.sum_s == pytest.approx(0.000 + 0.001 + 0.002 + 0.003)
    assert produce.total.sum_s == pytest.approx(4 * 0.004)
    assert clock.readings == 5


@pytest.mark.parametrize("count", range(1, 12))
def test_small_produce_requests_share_readings_of_the_clock(count: int) -> None:
    clock = Clock()
    meter = RequestMeters(clock).of_reads()
    meter.begin()
    for _ in range(count):
        produce = handle_one_ms(meter, clock, SMALL_BYTES)
    meter.end(True)
    assert sum(produce.queue.counts()) == sum(produce.total.counts()) == count
    # Each is off by less than the time between two readings.
    exact_s = sum(number * 0.001 for number in range(count))
    assert produce.queue.sum_s == pytest.approx(exact_s, abs=0.002 * count)
    assert clock.readings == 2 + (count - 1) // REQUESTS_PER_READING


def test_a_small_request_does_not_wait_for_later_ones() -> None:
    clock = Clock()
    meter = RequestMeters(clock).of_reads()
    meter.begin()
    for _ in range(2):
        produce = handle_one_ms(meter, clock, SMALL_BYTES)
    clock.now_s += 0.002
    other = handle_one_ms(meter, clock, SMALL_BYTES, ApiKey.METADATA)
    clock.now_s += 1
    meter.end(True)
    assert produce.queue.sum_s <= 0.004
    assert other.queue.sum_s == pytest.approx(0.004)
    assert (produce.total.sum_s, other.total.sum_s) == pytest.approx((2 * 1.005, 1.005))
    # The next read begins again.
    meter.begin()
    handle_one_ms(meter, clock, SMALL_BYTES)
    meter.end(True)
    assert produce.queue.sum_s <= 0.004
    assert produce.total.sum_s == pytest.approx(2 * 1.005 + 0.001)


def test_durations_of_changing_classes() -> None:
    durations = Durations()
    for milliseconds in (0.1, 0.3, 0.4, 3, 0.3, 20000, 30000, 3, 0.1):
        durations.add(milliseconds / 1000)
    durations.add_many(0.003, 5)
    counts = {number: count for number, count in enumerate(durations.counts()) if count}
    assert counts == {0: 2, 1: 3, 4: 7, 15: 2}
    assert durations.counts() == durations.counts()
