"""Requests are counted by API, version, time and error code."""

from itertools import pairwise

import pytest

from gralha.broker.request_meters import LIMITS_MS, ApiMeter, Durations, RequestMeters
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
