"""The rules by which `make bench` compares two brokers."""

from __future__ import annotations

from bench.rounds import alternate, is_warm, medians, turns, warm_up, warm_up_or_say


def test_the_order_of_rounds() -> None:
    assert turns(["a", "b"], 1) == ["a", "b", "b", "a"]
    assert turns(["a", "b"], 2) == ["a", "b", "b", "a", "a", "b", "b", "a"]


def test_rounds_are_taken_in_turn_and_the_median_counts() -> None:
    taken: list[str] = []

    def take(subject: list[float]) -> dict[str, float]:
        taken.append("first" if subject is first else "second")
        return {"rate": subject.pop(0)}

    first, second = [1.0, 9.0, 3.0, 2.0], [5.0, 5.0, 6.0, 50.0]
    results = alternate({"first": first, "second": second}, take, 2)
    assert taken == ["first", "second", "second", "first"] * 2
    assert results == {"first": {"rate": 2.5}, "second": {"rate": 5.5}}


def test_medians_of_several_measures() -> None:
    rounds = [{"a": 1.0, "b": 8.0}, {"a": 3.0, "b": 6.0}, {"a": 2.0, "b": 7.0}]
    assert medians(rounds) == {"a": 2.0, "b": 7.0}


def test_a_rate_that_rises_is_not_warm() -> None:
    assert not is_warm([100])
    assert not is_warm([100, 100, 100])
    assert not is_warm([10, 20, 40, 80])
    assert not is_warm([100, 100, 100, 106])


def test_a_rate_that_stopped_rising_is_warm() -> None:
    assert is_warm([50, 100, 101, 99, 103])
    assert is_warm([100, 80, 90, 85])


def test_one_slow_window_does_not_prolong_the_warm_up() -> None:
    assert is_warm([50, 100, 101, 20, 100])


def test_windows_run_until_the_broker_is_warm() -> None:
    rates = iter([10.0, 50.0, 90.0, 100.0, 101.0, 102.0, 100.0, 1000.0])
    assert warm_up(lambda: next(rates)) == [10, 50, 90, 100, 101, 102, 100]


def test_the_page_says_if_a_broker_did_not_become_warm() -> None:
    said: list[tuple[str, bool]] = []

    def say(text: str, on_page: bool = False) -> None:
        said.append((text, on_page))

    rates = iter([100.0, 100.0, 100.0, 100.0])
    warm_up_or_say(say, "Gralha", "fetch", lambda: next(rates))
    assert said == []
    warm_up_or_say(say, "Apache Kafka", "fetch", lambda: 1.0, seconds_max=0)
    assert said == [("Apache Kafka was not warm after 0 s: its rate still rose before fetch", True)]


def test_the_warm_up_has_an_end() -> None:
    rate = 1.0

    def rising() -> float:
        nonlocal rate
        rate *= 2
        return rate

    assert warm_up(rising, seconds_max=0) == [2.0]
