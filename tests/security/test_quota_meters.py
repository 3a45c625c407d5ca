"""Rates and token buckets of quotas, against numbers of Kafka and a naive model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.security.quota_meters import Rate, TokenBucket, Windows, rounded

ELEVEN = Windows(11, 1_000)
START_MS = 1_000_000


def test_a_first_burst_counts_as_if_ten_windows_had_passed() -> None:
    rate = Rate(ELEVEN)
    rate.record(600, START_MS)
    assert rate.elapsed_ms(START_MS) == 10_000
    assert rate.per_second(START_MS) == 60.0
    assert rate.excess_ms(60, START_MS) == 0
    # (60 - 50) / 50 of ten seconds.
    assert rate.excess_ms(50, START_MS) == 2_000


def test_the_current_window_counts_with_the_part_that_has_passed() -> None:
    rate = Rate(ELEVEN)
    for second in range(10):
        rate.record(400, START_MS + second * 1_000)
    now_ms = START_MS + 10_500
    rate.record(2_300, now_ms)
    # Kafka's ClientQuotaManagerTest has these numbers: 6,300 in 10.5 s are 600 a second.
    assert rate.elapsed_ms(now_ms) == 10_500
    assert rate.per_second(now_ms) == 600
    assert rate.excess_ms(500, now_ms) == 2_100


def test_values_are_forgotten_a_window_after_the_last_one() -> None:
    rate = Rate(ELEVEN)
    rate.record(1_000, START_MS)
    rate.record(1_000, START_MS + 500)
    assert rate.per_second(START_MS + 11_499) > 0
    assert not rate.is_idle(START_MS + 11_499)
    assert rate.per_second(START_MS + 11_500) == 0
    assert rate.is_idle(START_MS + 11_500)


def test_a_value_that_is_taken_back_leaves_nothing() -> None:
    rate = Rate(ELEVEN)
    rate.record(1_000, START_MS)
    rate.record(-1_000, START_MS)
    assert rate.per_second(START_MS) == 0


def test_a_single_window_of_no_length_counts_as_a_millisecond() -> None:
    rate = Rate(Windows(1, 1_000))
    rate.record(5, START_MS)
    assert rate.per_second(START_MS) == 5_000


def test_a_burst_overdraws_a_bucket_once() -> None:
    """The example of KIP-599: a burst of 560 with a quota of 5 and 100 windows takes 12 seconds."""
    bucket = TokenBucket(Windows(100, 1_000))
    assert bucket.tokens(5, START_MS) == 500
    bucket.take(560, 5, START_MS)
    assert bucket.tokens(5, START_MS) == -60
    assert bucket.excess_ms(5, START_MS) == 12_000
    assert bucket.excess_ms(5, START_MS + 11_999) == 1
    assert bucket.excess_ms(5, START_MS + 12_000) == 0
    assert not bucket.is_idle(START_MS + 12_000)
    assert bucket.is_idle(START_MS + 112_000)


def test_halves_are_rounded_up_and_throttle_times_fit_into_an_int32() -> None:
    assert [rounded(one) for one in (0.4, 0.5, 1.5, 2.5)] == [0, 1, 2, 3]
    assert rounded(1e30) == 2**31 - 1


recordings = st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 1_000)), min_size=1, max_size=60)


@given(recordings, st.integers(1, 12), st.sampled_from([100, 1_000]))
def test_a_rate_counts_all_of_the_last_windows_and_little_more(
    steps: list[tuple[int, int]], count: int, window_ms: int
) -> None:
    windows = Windows(count, window_ms)
    rate = Rate(windows)
    now_ms = START_MS
    seen: list[tuple[int, int]] = []
    for delay_ms, value in steps:
        now_ms += delay_ms
        rate.record(value, now_ms)
        seen.append((now_ms, value))
        elapsed_ms = rate.elapsed_ms(now_ms)
        assert elapsed_ms >= max((count - 1) * window_ms, 1)
        assert elapsed_ms < (count + 1) * window_ms
        total = rate.per_second(now_ms) * elapsed_ms / 1_000
        # A window that has begun before the time that counts is counted as a whole.
        assert (
            total >= sum(one for at_ms, one in seen if now_ms - at_ms < count * window_ms - window_ms) - 0.01
        )
        assert total <= sum(one for at_ms, one in seen if now_ms - at_ms < (count + 1) * window_ms) + 0.01


@given(recordings, st.integers(1, 500))
def test_the_throttle_time_is_what_the_sum_needs_at_the_limit(
    steps: list[tuple[int, int]], limit: int
) -> None:
    rate = Rate(ELEVEN)
    now_ms = START_MS
    for delay_ms, value in steps:
        now_ms += delay_ms
        rate.record(value, now_ms)
    elapsed_ms = rate.elapsed_ms(now_ms)
    total = rate.per_second(now_ms) * elapsed_ms / 1_000
    needed_ms = total / limit * 1_000
    assert abs(rate.excess_ms(limit, now_ms) - max(needed_ms - elapsed_ms, 0)) <= 1


@given(recordings, st.integers(1, 50))
def test_a_strict_client_of_a_bucket_gets_its_rate_and_one_burst(
    steps: list[tuple[int, int]], limit: int
) -> None:
    bucket = TokenBucket(ELEVEN)
    now_ms = START_MS
    accepted = 0
    largest = 0
    for delay_ms, count in steps:
        now_ms += delay_ms
        if bucket.excess_ms(limit, now_ms) == 0:
            bucket.take(count, limit, now_ms)
            accepted += count
            largest = max(largest, count)
    # Half a millisecond of tokens is rounded away.
    allowed = limit * (now_ms - START_MS) / 1_000 + limit * 11 + largest + limit * len(steps) / 2_000
    assert accepted <= allowed


@pytest.mark.parametrize(
    ("milliseconds", "expected"), [(1.5, 2), (1e300, 0x7FFFFFFF), (float("inf"), 0x7FFFFFFF)]
)
def test_a_time_is_rounded_to_what_a_response_can_have(milliseconds: float, expected: int) -> None:
    assert rounded(milliseconds) == expected
