"""The counters of topics: totals never go back, and changes of the ISR count by their direction."""

import pytest

from gralha.replication.counters import Counters, TopicCounters


def test_the_partitions_of_a_topic_share_their_counters() -> None:
    counters = Counters()
    assert counters.of("a") is counters.of("a")
    assert counters.of("a") is not counters.of("b")


def test_the_total_keeps_topics_that_have_gone() -> None:
    counters = Counters()
    counters.of("a").bytes_in = 5
    counters.of("b").bytes_in = 7
    counters.retire("a")
    counters.retire("a")
    assert list(counters.topics) == ["b"]
    assert counters.total().bytes_in == 12
    counters.of("a").bytes_in = 1
    assert counters.total().bytes_in == 13


def test_every_counter_is_in_the_total() -> None:
    names = [
        "messages_in",
        "bytes_in",
        "bytes_out",
        "bytes_rejected",
        "replication_bytes_in",
        "replication_bytes_out",
        "produce_requests",
        "failed_produce_requests",
        "fetch_requests",
        "failed_fetch_requests",
        "failed_follower_appends",
        "isr_shrinks",
        "isr_expands",
    ]
    counters = Counters()
    for topic in ("a", "b"):
        for number, name in enumerate(names, start=1):
            setattr(counters.of(topic), name, number)
    counters.retire("a")
    total = counters.total()
    assert [getattr(total, name) for name in names] == [2 * number for number in range(1, len(names) + 1)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [([1, 2, 3], [1, 2], (1, 0)), ([1], [1, 2], (0, 1)), ([1, 2], [2, 1], (0, 0))],
)
def test_a_change_of_the_isr_has_a_direction(
    before: list[int], after: list[int], expected: tuple[int, int]
) -> None:
    counters = TopicCounters()
    counters.isr_changed(before, after)
    assert (counters.isr_shrinks, counters.isr_expands) == expected
