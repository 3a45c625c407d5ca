"""When a failed query is restarted, after which pause, and when it is given up."""

from __future__ import annotations

import random

import pytest

from gralha.pipelines.restarts import BackOff, kind_of

AWAY = "gralha.client.errors.ConnectionFailedError: No broker answers at localhost:9092."
GONE = "gralha.client.errors.OffsetsLostError: sales-0 has no offset 5"
BUG = "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (AWAY, "passing"),
        ("Caused by: java.net.ConnectException: Connection refused", "passing"),
        ("ExecutorLostFailure (executor 1 exited)", "passing"),
        ("gralha.protocol.errors.NotLeaderOrFollowerError: not the leader", "passing"),
        ("gralha.protocol.errors.InvalidProducerEpochError: a newer epoch", "unknown"),
        ("gralha.protocol.errors.MessageTooLargeError: larger than the topic allows", "unknown"),
        ("gralha.client.errors.DeliveryError: not within delivery.timeout.ms=120000.", "passing"),
        ("gralha.client.errors.DeliveryRefusedError: Access to the topic is denied", "hopeless"),
        ("SourceError: The offsets of partition a-0 cannot be read: no leader", "passing"),
        ("SourceError: There is no topic a on localhost:9092.", "unknown"),
        (GONE, "hopeless"),
        ("AnalysisException: [UNRESOLVED_COLUMN]", "hopeless"),
        ("[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema", "hopeless"),
        # Lost records are hopeless, even if a broker was away before.
        (f"{AWAY}\n{GONE}", "hopeless"),
        (BUG, "unknown"),
        ("java.lang.OutOfMemoryError: Java heap space", "unknown"),
        ("org.apache.spark.SparkException: Python worker failed to connect back.", "passing"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_pauses_double_up_to_a_minute_and_never_end() -> None:
    back_off = BackOff(random.Random(1))
    pauses = [back_off.pause_after(AWAY, AWAY) for _ in range(20)]
    for pause, expected in zip(pauses, [1, 2, 4, 8, 16, 32, *[60] * 14], strict=True):
        assert pause is not None
        assert 0.8 * expected <= pause <= 1.2 * expected
    assert len(set(pauses)) == 20


def test_a_batch_that_is_done_makes_pauses_short_again() -> None:
    back_off = BackOff(random.Random(1))
    for _ in range(5):
        back_off.pause_after(AWAY, AWAY)
    back_off.worked()
    assert (back_off.pause_after(AWAY, AWAY) or 99) <= 1.2


def test_what_no_restart_mends_is_given_up_at_once() -> None:
    assert BackOff().pause_after(GONE, GONE) is None


def test_the_same_error_again_and_again_is_given_up() -> None:
    back_off = BackOff()
    assert [back_off.pause_after(BUG, BUG) is None for _ in range(3)] == [False, False, True]


def test_a_broker_that_is_away_meanwhile_does_not_hide_a_bug() -> None:
    back_off = BackOff()
    errors = [BUG, AWAY, BUG, AWAY, BUG]
    assert [back_off.pause_after(one, one) is None for one in errors] == [False, False, False, False, True]


def test_other_errors_and_batches_between_count_anew() -> None:
    back_off = BackOff()
    errors = [BUG, BUG, "KeyError: 'x'", BUG]
    for _ in range(3):
        assert all(back_off.pause_after(one, one) is not None for one in errors)
        back_off.worked()


def test_errors_that_are_new_each_time_are_given_up_as_well() -> None:
    back_off = BackOff()
    errors = [f"KeyError: {number}" for number in range(5)]
    found = [back_off.pause_after(one, one) is None for one in errors]
    assert found == [False, False, False, False, True]
