"""Throttled replication: it keeps the configured rate, and in-sync replicas are never throttled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gralha.protocol.records import Record, encode_batch
from gralha.replication.quota import UNLIMITED, RateMeter, ReplicationQuota, is_throttled
from tests.replication.pair import FOLLOWER, LAG_TIME_MAX_MS, LEADER, NOW_MS, Pair

BATCH_BYTES = len(encode_batch([Record(b"k", bytes(1000), NOW_MS)]))
BATCHES = 200
RATE = 10 * BATCH_BYTES
STEP_MS = 20


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    pair = Pair(tmp_path, 2)
    yield pair
    pair.close()


def test_the_rate_is_over_the_last_windows() -> None:
    meter = RateMeter(windows=3, window_ms=1000)
    assert meter.bytes_per_second(0) == 0
    meter.record(500, 0)
    assert meter.bytes_per_second(10) == 500  # not 50,000: one window at least
    meter.record(500, 900)
    meter.record(2000, 1500)
    assert meter.bytes_per_second(2000) == 1500
    assert meter.bytes_per_second(2999) == pytest.approx(1000, rel=0.01)
    # The first window is forgotten.
    assert meter.bytes_per_second(3000) == pytest.approx(2000 / 1.5)
    assert meter.bytes_per_second(10_000) == 0


def test_without_a_rate_nothing_is_exceeded() -> None:
    quota = ReplicationQuota()
    quota.record(1 << 60, 0)
    assert not quota.is_exceeded(0)
    quota.bytes_per_second = 1
    assert quota.is_exceeded(0)


@pytest.mark.parametrize(
    ("replicas", "meant"),
    [
        ("", False),
        ("*", True),
        ("0:1,3:2", True),
        ("3:1, 3:2", True),
        ("3:1", False),
        ("2:3", False),
        ("13:2", False),
    ],
)
def test_which_replicas_are_meant(replicas: str, meant: bool) -> None:
    assert is_throttled(replicas, 3, 2) is meant


def fall_behind(pair: Pair) -> None:
    """The follower is out of sync, and has much to fetch, of the first partition."""
    pair.now_ms += 2 * LAG_TIME_MAX_MS  # else the leader would wait for it
    for broker in (pair.led, pair.followed):
        broker[0].change_leader(LEADER, 1, [LEADER, FOLLOWER], [LEADER], 2)
    for _ in range(BATCHES):
        pair.append(0, 1000)


def seconds_to_catch_up(pair: Pair) -> float:
    end_offset = pair.led[0].log.log_end_offset
    began_ms = pair.now_ms
    while pair.followed[0].log.log_end_offset < end_offset:
        if (poll := pair.state.next_request(pair.now_ms)) is not None:
            pair.state.answered(poll, pair.serve(poll.request), pair.now_ms, NOW_MS)
        pair.now_ms += STEP_MS
        assert pair.now_ms < 1_000_000
    return (pair.now_ms - began_ms) / 1000


def throttle(pair: Pair, side: str, rate: int = RATE) -> None:
    if side == "leader":
        pair.led[0].is_leader_throttled = True
        pair.leader_quota.bytes_per_second = rate
    else:
        pair.followed[0].is_follower_throttled = True
        pair.follower_quota.bytes_per_second = rate


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_catching_up_takes_as_long_as_the_rate_says(pair: Pair, side: str) -> None:
    fall_behind(pair)
    throttle(pair, side)
    seconds = seconds_to_catch_up(pair)
    # The first answers come before there is a rate.
    assert 0.8 * BATCHES * BATCH_BYTES / RATE <= seconds <= 1.2 * BATCHES * BATCH_BYTES / RATE


@pytest.mark.parametrize("side", ["leader", "follower", "nobody"])
def test_a_rate_that_is_high_enough_holds_nobody_back(pair: Pair, side: str) -> None:
    fall_behind(pair)
    if side != "nobody":
        throttle(pair, side, UNLIMITED - 1)
    assert seconds_to_catch_up(pair) < 1


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_other_partitions_go_on(pair: Pair, side: str) -> None:
    fall_behind(pair)
    throttle(pair, side, 1)
    for _ in range(5):
        pair.append(1)
        if (poll := pair.state.next_request(pair.now_ms)) is not None:
            pair.state.answered(poll, pair.serve(poll.request), pair.now_ms, NOW_MS)
        pair.now_ms += STEP_MS
    assert pair.followed[1].log.log_end_offset == 5
    assert pair.followed[0].log.log_end_offset < BATCHES


def test_who_is_in_sync_is_not_held_back_by_the_leader(pair: Pair) -> None:
    throttle(pair, "leader", 1)
    pair.leader_quota.record(1_000_000, 0)
    for number in range(1, 5):
        pair.append(0, 1000)
        pair.round()
        assert pair.followed[0].log.log_end_offset == number


def test_who_has_caught_up_is_not_held_back_as_a_follower(pair: Pair) -> None:
    pair.round()
    throttle(pair, "follower", 1)
    pair.follower_quota.record(1_000_000, 0)
    pair.append(0)
    pair.round()
    assert pair.followed[0].log.log_end_offset == 1
