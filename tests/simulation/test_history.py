"""For every anomaly, a small history that has it and a similar one that does not."""

from collections.abc import Iterable

import pytest

from gralha.simulation.history import (
    Event,
    Outcome,
    Poll,
    Seek,
    Send,
    TransactionEnd,
    check,
    from_lines,
    summary,
    to_lines,
)


def send(
    value: str,
    offset: int | None,
    at: float = 0,
    outcome: Outcome = Outcome.OK,
    process: str = "p",
    transaction: str | None = None,
) -> Send:
    return Send(process, "t-0", value, at, at + 1, outcome, offset, transaction)


def poll(*records: tuple[int, str], at: float = 10, process: str = "c", committed: bool = False) -> Poll:
    return Poll(process, "t-0", records, at, at + 1, committed)


def end(transaction: str, is_commit: bool, at: float = 5, outcome: Outcome = Outcome.OK) -> TransactionEnd:
    return TransactionEnd(transaction, is_commit, at, at + 1, outcome)


def kinds(history: Iterable[Event], **options: object) -> list[str]:
    return sorted({anomaly.kind for anomaly in check(history, **options)})  # type: ignore[arg-type]


A, B, C = send("a", 0), send("b", 1, at=2), send("c", 2, at=4)
ALL = poll((0, "a"), (1, "b"), (2, "c"))

GOOD: dict[str, list[Event]] = {
    "nothing": [],
    "all is read": [A, B, C, ALL],
    "in several polls": [A, B, C, poll((0, "a")), poll((1, "b"), (2, "c"), at=12)],
    "offsets between batches (markers) belong to nobody": [A, send("b", 5, at=2), poll((0, "a"), (5, "b"))],
    "what nobody knows the fate of is there": [
        A,
        send("b", None, 2, Outcome.UNKNOWN),
        poll((0, "a"), (1, "b")),
    ],
    "what nobody knows the fate of is not there": [
        A,
        send("b", None, 2, Outcome.UNKNOWN),
        poll((0, "a")),
    ],
    "what was refused is not there": [A, send("b", None, 2, Outcome.FAILED), poll((0, "a"))],
    "acknowledged as a duplicate, without an offset": [A, send("b", None, 2), poll((0, "a"), (1, "b"))],
    "going back after a seek": [A, B, poll((0, "a"), (1, "b")), Seek("c", "t-0", 12), poll((0, "a"), at=13)],
    "skipping after a seek": [
        A,
        B,
        C,
        poll((0, "a")),
        Seek("c", "t-0", 12),
        poll((2, "c"), at=13),
        poll((0, "a"), (1, "b"), (2, "c"), process="d"),
    ],
    "two sends at the same time end up in any order": [
        send("a", 1),
        send("b", 0),
        poll((0, "b"), (1, "a")),
    ],
    "a committed transaction": [
        send("a", 0, transaction="x"),
        end("x", True),
        poll((0, "a"), committed=True),
    ],
    "read while it is being committed": [
        send("a", 0, transaction="x"),
        end("x", True, at=5),
        poll((0, "a"), at=5.1, committed=True),
    ],
    "an aborted transaction that only dirty readers see": [
        send("a", 0, transaction="x"),
        end("x", False),
        poll((0, "a")),
        B,
        poll((1, "b"), process="d", committed=True),
    ],
    "passed over, since aborted": [
        A,
        send("b", 1, transaction="x"),
        end("x", False),
        C,
        poll((0, "a"), (2, "c"), committed=True),
    ],
    "nobody knows whether it was committed": [
        send("a", 0, transaction="x"),
        end("x", True, outcome=Outcome.UNKNOWN),
        poll((0, "a"), committed=True),
    ],
}

BAD: dict[str, tuple[list[Event], list[str]]] = {
    "lost": ([A, B, C, poll((0, "a"), (2, "c"))], ["lost-write", "poll-skip"]),
    "lost, between readers": (
        [A, B, C, poll((0, "a")), poll((2, "c"), process="d")],
        ["lost-write"],
    ),
    "lost with its commit": (
        [send("a", 0, transaction="x"), end("x", True), B, poll((1, "b"), committed=True)],
        ["lost-write"],
    ),
    "unseen": ([A, B, poll((0, "a"))], ["unseen"]),
    "unseen in a partition without readers": ([A], ["unseen"]),
    "twice in the log": ([A, B, poll((0, "a"), (1, "b"), (2, "a"))], ["duplicate"]),
    "acknowledged with another offset": ([A, poll((3, "a"))], ["duplicate"]),
    "one offset, two values for two readers": (
        [A, send("b", None, 0, Outcome.UNKNOWN), poll((0, "a")), poll((0, "b"), process="d")],
        ["inconsistent-offsets"],
    ),
    "one offset for two acknowledgements": (
        [A, send("b", 0), poll((0, "a"))],
        ["inconsistent-offsets", "unseen"],
    ),
    "back": ([A, B, poll((0, "a"), (1, "b")), poll((0, "a"), at=12)], ["nonmonotonic-poll"]),
    "back within a poll": ([A, B, poll((1, "b"), (0, "a"))], ["nonmonotonic-poll"]),
    "skipped by one of two": (
        [A, B, C, ALL, poll((0, "a"), (2, "c"), process="d")],
        ["poll-skip"],
    ),
    "acknowledged earlier, yet behind": (
        [send("a", 1), send("b", 0, at=2), poll((0, "b"), (1, "a"))],
        ["nonmonotonic-send"],
    ),
    "refused, yet read": ([send("a", None, 0, Outcome.FAILED), poll((0, "a"))], ["aborted-read"]),
    "aborted, yet read": (
        [send("a", 0, transaction="x"), end("x", False), poll((0, "a"), committed=True)],
        ["aborted-read"],
    ),
    "read before its commit": (
        [send("a", 0, transaction="x"), poll((0, "a"), at=2, committed=True), end("x", True, at=5)],
        ["precommitted-read"],
    ),
    "read though its transaction never ended": (
        [send("a", 0, transaction="x"), poll((0, "a"), committed=True)],
        ["precommitted-read"],
    ),
    "from nowhere": ([A, poll((0, "a"), (1, "z"))], ["phantom"]),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_history_has_no_anomaly(name: str) -> None:
    assert check(GOOD[name]) == []


@pytest.mark.parametrize("name", BAD)
def test_each_anomaly_is_found(name: str) -> None:
    history, expected = BAD[name]
    assert kinds(history) == expected


def test_the_end_need_not_have_been_read() -> None:
    assert kinds([A, B, poll((0, "a"))], all_was_read=False) == []
    assert kinds([A, B, C, poll((0, "a"), (2, "c"))], all_was_read=False) == ["lost-write", "poll-skip"]


def test_what_was_read_once_and_is_gone_at_the_end_is_lost() -> None:
    history: list[Event] = [A, B, C, ALL, poll((0, "a"), (2, "c"), process="last")]
    assert "lost-write" not in kinds(history)
    assert "lost-write" in kinds(history, final_readers=["last"])


def test_partitions_are_judged_apart() -> None:
    other = Send("p", "t-1", "z", 0, 1, Outcome.OK, 0)
    assert kinds([A, other, poll((0, "a")), Poll("c", "t-1", ((0, "z"),), 2, 3)]) == []


def test_a_history_survives_being_written_down() -> None:
    for history in [*GOOD.values(), *(history for history, _ in BAD.values())]:
        assert from_lines(to_lines(history)) == history


def test_an_anomaly_says_what_happened() -> None:
    anomalies = check([A, B, C, poll((0, "a"), (2, "c"))])
    assert str(anomalies[0]) == (
        "lost-write in t-0: b of p, acknowledged at 3.000 with offset 1; offset 2 was read"
    )
    assert summary(anomalies) == "1 lost-write, 1 poll-skip"
    assert summary([]) == "no anomalies"


def test_a_long_history_is_judged_at_once() -> None:
    """A hundred thousand records; quadratic work would take minutes."""
    count = 100_000
    history: list[Event] = [
        Send("p", "t-0", str(number), number, number + 0.5, Outcome.OK, number) for number in range(count)
    ]
    history += [
        Poll("c", "t-0", tuple((offset, str(offset)) for offset in range(start, start + 100)), count, count)
        for start in range(0, count, 100)
    ]
    assert check(history) == []
