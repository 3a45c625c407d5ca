"""The bench finds the cost of counting requests by comparing rounds in turns."""

from __future__ import annotations

import pytest
from bench.measures import port_of, topic_with_partitions
from bench.meters import CASES, CONNECTIONS, COUNTING, SILENT, TwoListeners, halves, in_turns, percent_more

from tests.scrape import METRICS_ON, scrape


def test_rounds_are_taken_in_turns() -> None:
    order: list[str] = []
    # The machine becomes slower all the time. That affects both listeners equally.
    slowness = iter(range(1000, 1016))

    def take(name: str) -> float:
        order.append(name)
        return next(slowness) * (1.02 if name == COUNTING else 1.0)

    rounds = in_turns(take, 4)
    assert order == [COUNTING, SILENT, SILENT, COUNTING] * 4
    assert percent_more(rounds) == pytest.approx(2.0, abs=0.1)
    assert [percent_more(half) for half in halves(rounds)] == pytest.approx([2.0, 2.0], abs=0.1)


def test_disturbed_rounds_do_not_count() -> None:
    quiet = {COUNTING: [102.0] * 8, SILENT: [100.0] * 8}
    disturbed = {COUNTING: [102.0] * 5 + [150.0] * 3, SILENT: [100.0] * 6 + [900.0] * 2}
    assert percent_more(disturbed) == percent_more(quiet) == pytest.approx(2.0)


def test_both_listeners_answer_and_one_counts() -> None:
    with TwoListeners(METRICS_ON) as broker:
        for case in CASES:
            with topic_with_partitions(broker, case.name, CONNECTIONS, case.batch()):
                before = counted(broker)
                assert case.run(broker.silent_port, 40).requests == 40
                assert counted(broker) == before
                assert case.run(port_of(broker), 40).requests == 40
                assert counted(broker) == before + 40


def counted(broker: TwoListeners) -> float:
    """The requests for records that the broker has counted."""
    name = "kafka_network_requestmetrics_requests_total"
    samples = scrape(broker).samples
    return sum(
        value
        for (found, labels), value in samples.items()
        if found == name and dict(labels)["request"] in ("Produce", "Fetch")
    )
