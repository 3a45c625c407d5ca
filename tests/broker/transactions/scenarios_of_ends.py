"""Requests that come in after a transaction was decided, or has timed out. See scenarios.py."""

from collections.abc import Callable

from tests.broker.transactions.scenarios import STRANGER, scenario
from tests.broker.transactions.story import Producer, Side

# The coordinators of both brokers have a lower epoch, because nothing has been elected again.
LATER_COORDINATOR = 5
TIMEOUT_MS = 100


# Markers are owed


def decide_without_markers(side: Side, end: Callable[[Producer], Producer]) -> tuple[Producer, Producer]:
    """Decide a transaction of which a partition takes no marker. Returns the producer before and after.

    The partition knows a marker of a later coordinator, so it refuses those of this one. That is for good:
    the transaction stays decided, and owes its marker.
    """
    producer = side.init()
    side.add(producer, 0)
    side.produce(producer, version=11)
    side.mark(producer, coordinator_epoch=LATER_COORDINATOR)
    after = end(producer)
    side.describe()
    return producer, after


def ask_for_more(side: Side, producer: Producer) -> None:
    """Everything that would begin the next transaction, of both versions."""
    side.add(producer, 1)
    side.add_as_broker(producer, 1)
    side.add_as_broker(producer, 0, verify_only=True)
    side.add_offsets(producer)
    for version in (7, 11, 12):
        side.produce(producer, partition=1, version=version)
    for version in (3, 4, 5):
        side.commit_offsets(producer, version=version)
    side.offsets()


def ask_for_another_end(side: Side, producer: Producer) -> None:
    for version in (1, 4, 5):
        side.end(producer, version=version)
        side.end(producer, is_commit=False, version=version)


def ask_for_a_new_producer(side: Side, *expected: Producer) -> None:
    side.init()
    for one in (*expected, STRANGER):
        side.init(one)
        side.init(one.newer())
    side.describe()


@scenario
def is_committed_and_owes_markers_v1(side: Side) -> None:
    producer, _ = decide_without_markers(side, lambda producer: side.end(producer, version=4))
    ask_for_more(side, producer)
    ask_for_another_end(side, producer)
    ask_for_a_new_producer(side, producer)


@scenario
def is_aborted_and_owes_markers_v1(side: Side) -> None:
    producer, _ = decide_without_markers(side, lambda producer: side.end(producer, False, version=4))
    ask_for_more(side, producer)
    ask_for_another_end(side, producer)
    ask_for_a_new_producer(side, producer)


@scenario
def is_committed_and_owes_markers_v2(side: Side) -> None:
    producer, after = decide_without_markers(side, side.end)
    for one in (producer, after):
        ask_for_more(side, one)
        ask_for_another_end(side, one)
    ask_for_a_new_producer(side, producer, after)


@scenario
def is_aborted_and_owes_markers_v2(side: Side) -> None:
    producer, after = decide_without_markers(side, lambda producer: side.end(producer, False))
    for one in (producer, after):
        ask_for_more(side, one)
        ask_for_another_end(side, one)
    ask_for_a_new_producer(side, producer, after)


# The transaction has timed out


def time_out(side: Side) -> Producer:
    """A transaction that its coordinator has aborted, because it was open for too long."""
    producer = side.init(timeout_ms=TIMEOUT_MS)
    side.add(producer, 0)
    side.produce(producer, version=11)
    side.wait_until("CompleteAbort")
    return producer


@scenario
def times_out_and_commits(side: Side) -> None:
    for version in (4, 5):
        side.end(time_out(side), version=version)
        side.describe()


@scenario
def times_out_and_aborts(side: Side) -> None:
    for version in (4, 5):
        producer = time_out(side)
        after = side.end(producer, is_commit=False, version=version)
        side.describe()
        if version == 5:
            side.produce(after)
            side.end(after)
            side.settle()
            side.read()


@scenario
def times_out_and_goes_on_writing(side: Side) -> None:
    producer = time_out(side)
    ask_for_more(side, producer)
    for version in (7, 11, 12):
        side.produce(producer, 1, version=version)
    side.describe()
    side.producers(0, 1)
    side.read()


@scenario
def times_out_and_begins_again(side: Side) -> None:
    producer = time_out(side)
    side.init(producer)
    side.init(producer.newer())
    side.init()
    side.describe()
