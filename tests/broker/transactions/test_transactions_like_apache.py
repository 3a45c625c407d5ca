"""Transactions, right and wrong: Apache Kafka 4.3's answers and ours, side by side.

Each scenario runs on both brokers. The codes and fields of all answers are equal, except for the messages of
refused Produce requests (Kafka has none). `differences.py` has the scenarios with other answers.

Markers are written soon, and nobody knows when. The answers while they are owed are compared with a partition
that never takes its marker.
"""

from collections.abc import Iterator

import pytest

from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka
from tests.broker.transactions import scenarios_of_ends, scenarios_of_members
from tests.broker.transactions.differences import DIFFERENCES
from tests.broker.transactions.scenarios import SCENARIOS
from tests.broker.transactions.story import Side

SETTINGS = {
    # One coordinator for all ids, so that a list shows all of them in one order.
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    # A transaction is aborted soon after its timeout, also by Apache Kafka.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "50",
}
# Importing these adds their scenarios.
MORE = (scenarios_of_ends, scenarios_of_members)


@pytest.fixture(scope="module")
def sides() -> Iterator[tuple[Side, Side]]:
    """Apache Kafka's and ours."""
    with ApacheKafka(SETTINGS) as apache, GralhaCluster(config=SETTINGS) as gralha:
        pair = Side(apache.bootstrap), Side(gralha.bootstrap)
        yield pair
        for side in pair:
            side.cluster.close()


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_same_story(sides: tuple[Side, Side], name: str) -> None:
    for side in sides:
        side.begin_story(name)
        SCENARIOS[name](side)
    theirs, ours = sides
    assert ours.story == theirs.story


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_story_that_differs_on_purpose(sides: tuple[Side, Side], name: str) -> None:
    difference = DIFFERENCES[name]
    for side in sides:
        side.begin_story(name)
        difference.run(side)
    theirs, ours = sides
    assert theirs.story == difference.theirs
    assert ours.story == difference.ours
