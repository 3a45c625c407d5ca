"""Transactions, right and wrong: Apache Kafka 4.3's answers and ours, side by side.

Each scenario runs on both brokers. The codes and fields of all answers are equal. Two things are not
compared: the messages of refused Produce requests (Kafka has none), and answers while markers are being
written, because nobody knows how long that takes.
"""

from collections.abc import Iterator

import pytest

from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka
from tests.broker.transactions.scenarios import SCENARIOS
from tests.broker.transactions.story import Side

# One coordinator for all ids, so that a list shows all of them in one order.
SETTINGS = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}


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
