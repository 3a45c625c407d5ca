"""Two-phase commit (KIP-939): Apache Kafka 4.3's answers and ours, side by side.

Apache Kafka 4.3 serves InitProducerId version 6 only with `unstable.api.versions.enable`. It has transactions
without a timeout, but it does not keep transactions yet: `keep_prepared_txn` is UNSUPPORTED_VERSION.
"""

from collections.abc import Callable, Iterator

import pytest

from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka
from tests.broker.transactions.story import Side

SETTINGS = {
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.max.timeout.ms": "60000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "50",
    "transaction.two.phase.commit.enable": "true",
}
UNSTABLE = {"unstable.api.versions.enable": "true"}


@pytest.fixture(scope="module")
def sides() -> Iterator[tuple[Side, Side]]:
    """Apache Kafka's and ours."""
    with ApacheKafka(SETTINGS | UNSTABLE) as apache, GralhaCluster(config=SETTINGS) as gralha:
        pair = Side(apache.bootstrap), Side(gralha.bootstrap)
        yield pair
        for side in pair:
            side.cluster.close()


def without_timeout(side: Side) -> None:
    """No timeout in the request is too long or too short, and later producers have their own."""
    for timeout_ms in (1, 60_001, 0, -1):
        producer = side.init(timeout_ms=timeout_ms, version=6, enable_2pc=True)
        side.describe()
    side.produce(producer)
    side.describe()
    side.show()
    side.end(producer)
    side.settle()
    side.init(version=6)
    side.describe()


def survives_a_timeout(side: Side) -> None:
    """The transaction of another producer times out meanwhile."""
    producer = side.init(timeout_ms=100, version=6, enable_2pc=True)
    side.produce(producer)
    first, side.txn = side.txn, f"{side.txn}-other"
    other = side.init(timeout_ms=100)
    side.produce(other, partition=1)
    side.wait_until("CompleteAbort")
    side.txn = first
    side.describe()
    side.end(producer)
    side.settle()
    side.read()


def is_ended_by_another_producer(side: Side) -> None:
    """As `kafka-transactions force-terminate` does."""
    producer = side.init(timeout_ms=100, version=6, enable_2pc=True)
    side.produce(producer)
    side.init()
    side.settle()
    side.describe()
    side.end(producer)
    side.init()
    side.describe()
    side.read()


def is_recovered(side: Side) -> None:
    """A producer with version 6 and without `keep_prepared_txn` aborts, as with the earlier versions."""
    producer = side.init(version=6, enable_2pc=True)
    side.produce(producer)
    side.init(version=6, enable_2pc=True)
    side.settle()
    side.init(producer.newer(), version=6, enable_2pc=True)
    side.describe()


STORIES = (without_timeout, survives_a_timeout, is_ended_by_another_producer, is_recovered)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_same_story(sides: tuple[Side, Side], story: Callable[[Side], None]) -> None:
    for side in sides:
        side.begin_story(story.__name__.replace("_", "-"))
        story(side)
    theirs, ours = sides
    assert ours.story == theirs.story


def test_only_ours_keeps_transactions(sides: tuple[Side, Side]) -> None:
    for side in sides:
        side.begin_story("keeps")
        producer = side.init(version=6, enable_2pc=True)
        side.produce(producer)
        side.forget_story()
        kept = side.init(version=6, keep_prepared_txn=True)
        side.end(producer)
        side.settle()
        if kept.id >= 0:
            side.end(kept)
            side.settle()
    theirs, ours = sides

    def state(name: str, epoch: int, *partitions: int, timeout_ms: int = 2**31 - 1) -> tuple[object, ...]:
        topics = [("keeps", list(partitions))] if partitions else []
        return ("describe", "NONE", "keeps", name, timeout_ms, True, "p0", epoch, topics)

    assert theirs.story == [
        ("init v6", "UNSUPPORTED_VERSION", "-1", -1),
        ("commit v5", "NONE", "p0", 1),
        state("CompleteCommit", 1),
    ]
    assert ours.story == [
        ("init v6", "NONE", "p0", 1),
        ("commit v5", "PRODUCER_FENCED", "-1", -1),
        # The producer that took over has not asked for two-phase commit, so its own timeout counts.
        state("Ongoing", 0, 0, timeout_ms=60_000),
        ("commit v5", "NONE", "p0", 2),
        state("CompleteCommit", 2, timeout_ms=60_000),
    ]


def test_a_broker_that_does_not_allow_it() -> None:
    """Apache Kafka still serves version 6. Here clients learn from ApiVersions that there is none."""
    off = SETTINGS | {"transaction.two.phase.commit.enable": "false"}
    with ApacheKafka(off | UNSTABLE) as apache, GralhaCluster(config=off) as gralha:
        theirs, ours = Side(apache.bootstrap), Side(gralha.bootstrap)
        theirs.begin_story("off")
        theirs.init(version=6, enable_2pc=True)
        assert theirs.story == [("init v6", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "-1", -1)]
        assert ours.cluster.any_connection().versions[22] == (0, 5)
        for side in (theirs, ours):
            side.cluster.close()
