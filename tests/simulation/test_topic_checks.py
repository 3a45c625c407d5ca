"""The checkers of compacted topics and of retention: histories with an anomaly, and histories without."""

from gralha.simulation.history import Event, Outcome, Poll, Send
from gralha.simulation.topic_checks import Starts, check_compacted, check_retained

OK, UNKNOWN = Outcome.OK, Outcome.UNKNOWN


def send(value: str, offset: int | None, at: float = 0.0, outcome: Outcome = OK) -> Send:
    return Send("p", "t-0", value, at, at + 0.1, outcome, offset)


def final(*records: tuple[int, str]) -> Poll:
    return Poll("final", "t-0", records, 90, 91)


def compacted(*events: Event) -> list[str]:
    return [anomaly.kind for anomaly in check_compacted(list(events), "final")]


def test_older_values_of_a_key_may_be_gone() -> None:
    assert (
        compacted(send("a=1", 0, 0), send("b=1", 1, 1), send("a=2", 2, 2), final((1, "b=1"), (2, "a=2")))
        == []
    )


def test_the_last_value_of_a_key_may_not() -> None:
    history = send("a=1", 0, 0), send("b=1", 1, 1), send("a=2", 2, 2)
    assert compacted(*history, final((2, "a=2"))) == ["key-lost"]
    assert compacted(*history, final((0, "a=1"), (1, "b=1"))) == ["key-lost"]


def test_a_tombstone_is_a_value() -> None:
    history = send("a=1", 0, 0), send("a=deleted@1", 1, 1)
    assert compacted(*history, final((1, "a=deleted@1"))) == []
    assert compacted(*history, final((0, "a=1"))) == ["key-lost"]


def test_a_send_without_an_answer_may_replace_what_was_acknowledged() -> None:
    history = send("a=1", 0, 0), send("a=2", 1, 1), send("a=3", None, 2, UNKNOWN)
    assert compacted(*history, final((2, "a=3"))) == []
    assert compacted(send("a=1", 0), send("a=deleted@None", None, 1, UNKNOWN), final()) == ["key-lost"]
    assert compacted(send("a=0", 0), send("a=1", 1, 1), final((2, "a=deleted@2"))) == []


def test_a_value_from_nowhere_is_noticed_in_a_compacted_log_too() -> None:
    assert compacted(send("a=1", 0), send("a=2", 1, 1), final((5, "a=9"))) == ["phantom"]


def test_a_log_that_was_not_compacted_proves_nothing() -> None:
    assert compacted(send("a=1", 0), final((0, "a=1"))) == ["not-deleted"]


def retained(starts: Starts, *events: Event) -> list[str]:
    return [anomaly.kind for anomaly in check_retained(list(events), "final", starts, 8.0)]


def test_old_records_may_be_gone() -> None:
    starts: Starts = {"t-0": [(0.0, 0), (9.0, 1)]}
    early = Poll("c", "t-0", ((0, "v0"), (1, "v1")), 1, 2)
    assert retained(starts, send("v0", 0, 0), send("v1", 1, 5), early, final((1, "v1"))) == []


def test_young_records_may_not() -> None:
    starts: Starts = {"t-0": [(0.0, 0), (9.0, 2)]}
    history = send("v0", 0, 0), send("v1", 1, 5), send("v2", 2, 6)
    assert retained(starts, *history, final((2, "v2"))) == ["deleted-too-early"]


def test_what_the_log_still_has_must_be_read() -> None:
    starts: Starts = {"t-0": [(0.0, 0), (9.0, 1)]}
    history = send("v0", 0, 0), send("v1", 1, 5), send("v2", 2, 6)
    assert retained(starts, *history, final((2, "v2"))) == ["lost-write"]


def test_a_log_that_keeps_everything_proves_nothing() -> None:
    assert retained({"t-0": [(0.0, 0)]}, send("v0", 0), final((0, "v0"))) == ["not-deleted"]
