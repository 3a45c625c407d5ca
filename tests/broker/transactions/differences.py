"""Where our answers differ from Apache Kafka's, with both answers. See scenarios.py.

Each difference says why no client that follows the protocol is worse off.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.broker.transactions.story import Producer, Side


class Difference(NamedTuple):
    run: Callable[[Side], None]
    theirs: list[Any]
    ours: list[Any]


def open_transaction(side: Side) -> Producer:
    """The story begins after the first batch of a producer's second epoch."""
    side.init()
    producer = side.init()
    side.produce(producer)
    side.forget_story()
    return producer


def zombie_begins_again(side: Side) -> None:
    """A producer with an old epoch asks for the next one, while its successor has an open transaction.

    Kafka aborts the transaction of the successor, and fences the producer only when it asks again. Clients
    send their own id and epoch (KIP-360) only after the end of their own transaction. So only two can ask in
    this way: a producer that was replaced, and a request that was repeated and comes in late. Neither of them
    may abort anything.
    """
    producer = open_transaction(side)
    side.init(producer.newer(-1))
    side.settle()
    side.init(producer.newer(-1))
    side.end(producer)
    side.settle()


def stranger_begins_again(side: Side) -> None:
    """The same with an epoch that nobody has had yet."""
    producer = open_transaction(side)
    side.init(producer.newer())
    side.settle()
    side.end(producer)
    side.settle()


def described(name: str, state: str, epoch: int, *partitions: int) -> tuple[Any, ...]:
    """The state of the transactional id: name, state, timeout, has it begun, producer, epoch, topics."""
    topics = [(name, list(partitions))] if partitions else []
    return ("describe", "NONE", name, state, 60_000, True, "p0", epoch, topics)


def told(request: str, code: str, *producer: Any) -> tuple[Any, ...]:
    return (f"{request} v5", code, *(producer or ("-1", -1)))


ZOMBIE, OTHER = "zombie-begins-again", "stranger-begins-again"
DIFFERENCES: dict[str, Difference] = {
    ZOMBIE: Difference(
        zombie_begins_again,
        [
            told("init", "CONCURRENT_TRANSACTIONS"),
            described(ZOMBIE, "CompleteAbort", 2),
            told("init", "PRODUCER_FENCED"),
            told("commit", "INVALID_TXN_STATE"),
            described(ZOMBIE, "CompleteAbort", 2),
        ],
        [
            told("init", "PRODUCER_FENCED"),
            described(ZOMBIE, "Ongoing", 1, 0),
            told("init", "PRODUCER_FENCED"),
            told("commit", "NONE", "p0", 2),
            described(ZOMBIE, "CompleteCommit", 2),
        ],
    ),
    OTHER: Difference(
        stranger_begins_again,
        [
            told("init", "CONCURRENT_TRANSACTIONS"),
            described(OTHER, "CompleteAbort", 2),
            told("commit", "INVALID_TXN_STATE"),
            described(OTHER, "CompleteAbort", 2),
        ],
        [
            told("init", "PRODUCER_FENCED"),
            described(OTHER, "Ongoing", 1, 0),
            told("commit", "NONE", "p0", 2),
            described(OTHER, "CompleteCommit", 2),
        ],
    ),
}
