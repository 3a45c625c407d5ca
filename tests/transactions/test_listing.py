"""Which transactional ids a ListTransactions request asks for."""

import pytest

from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.transactions.listing import NO_DURATION, unknown_states, wanted
from gralha.transactions.transaction import State, Transaction

NOW_MS = 10_000


def transaction(name: str, state: State = State.ONGOING, started_ms: int = 9_000) -> Transaction:
    return Transaction(name, 7, 0, 60_000, 9_000, state, started_ms=started_ms)


@pytest.mark.parametrize(
    ("pattern", "name", "is_wanted"),
    [
        ("pay.*", "payments-1", True),
        ("pay", "payments-1", False),  # as in Kafka the whole id has to match
        ("", "payments-1", True),
        (None, "payments-1", True),
    ],
)
def test_patterns(pattern: str | None, name: str, is_wanted: bool) -> None:
    assert wanted([], [], NO_DURATION, pattern).takes(transaction(name), NOW_MS) is is_wanted


def test_no_pattern_takes_for_ever() -> None:
    assert not wanted([], [], NO_DURATION, "(a+)+$").takes(transaction("a" * 200 + "b"), NOW_MS)


@pytest.mark.parametrize("pattern", ["(", "(?<=a)b", "a{1000}{1000}"])
def test_patterns_that_are_refused(pattern: str) -> None:
    with pytest.raises(KafkaError) as refused:
        wanted([], [], NO_DURATION, pattern)
    assert refused.value.code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert f"`{pattern}`" in refused.value.message


def test_states_ids_and_ages() -> None:
    ongoing, empty = transaction("a"), transaction("b", State.EMPTY, -1)
    assert [one.takes(ongoing, NOW_MS) for one in (wanted(["Ongoing"], [], -1, None),)] == [True]
    assert not wanted(["Ongoing"], [], -1, None).takes(empty, NOW_MS)
    assert not wanted(["Dead"], [], -1, None).takes(ongoing, NOW_MS)
    assert wanted([], [7, 8], -1, None).takes(ongoing, NOW_MS)
    assert not wanted([], [8], -1, None).takes(ongoing, NOW_MS)
    assert wanted([], [], 999, None).takes(ongoing, NOW_MS)
    assert not wanted([], [], 1_000, None).takes(ongoing, NOW_MS)
    assert unknown_states(["Ongoing", "Dead", "ongoing", "What"]) == ["ongoing", "What"]
