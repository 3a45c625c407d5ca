"""Scenarios of transactions: what readers see of them, who is fenced, and what happens to those left open.

An end of a transaction is a control record in each of its partitions, so it has an offset, too.
"""

from __future__ import annotations

from tests.clients.driver import TIMEOUT_S
from tests.clients.scenarios.stage import eventually
from tests.clients.scenarios.transaction_stage import TransactionScenario, TransactionStage
from tests.clients.transactions import COMMITTED, UNCOMMITTED

SHORT_TIMEOUT_MS = 1000
# The smallest that Kafka allows.
SEGMENT_BYTES = 1 << 20


def commit_is_visible_and_abort_is_not(stage: TransactionStage) -> None:
    where, producer = stage.partition(), stage.producer()
    producer.committed(where, "a", "b")
    producer.aborted(where, "c", "d")
    producer.committed(where, "e")
    seen = stage.read(where)
    assert seen.records == [(0, "a"), (1, "b"), (6, "e")]
    assert seen.position == 8
    everything = stage.read_uncommitted(where)
    assert everything.values == ["a", "b", "c", "d", "e"]
    assert everything.offsets == [0, 1, 3, 4, 6]
    assert everything.position == 8
    assert stage.ends(where) == (8, 8)


def several_partitions_and_topics_at_once(stage: TransactionStage) -> None:
    places = [(topic, number) for topic in (stage.topic(3), stage.topic(2)) for number in (0, 1)]
    producer = stage.producer()
    producer.begin()
    producer.send_all((place, f"first in {place}") for place in places)
    assert [stage.read_now(place).values for place in places] == [[], [], [], []]
    assert [stage.ends(place) for place in places] == [(0, 1)] * 4
    producer.commit()
    producer.begin()
    producer.send_all((place, f"second in {place}") for place in places)
    producer.abort()
    assert [stage.read(place).values for place in places] == [[f"first in {place}"] for place in places]
    assert [stage.ends(place) for place in places] == [(4, 4)] * 4


def open_transaction_holds_readers_back(stage: TransactionStage) -> None:
    """Readers of committed records wait for it, also with records of others behind its first one."""
    where, producer, other = stage.partition(), stage.producer(), stage.idempotent_producer()
    other.send(where, "before")
    producer.begin()
    producer.send(where, "in it")
    other.send(where, "behind")
    seen = stage.read_now(where)
    assert (seen.records, seen.position) == ([(0, "before")], 1)
    assert stage.read_uncommitted(where).values == ["before", "in it", "behind"]
    assert stage.ends(where) == (1, 3)
    producer.commit()
    assert stage.read(where).values == ["before", "in it", "behind"]
    assert stage.ends(where) == (4, 4)


def oldest_open_transaction_counts(stage: TransactionStage) -> None:
    """Transactions of several producers in a partition end in another order than they began in."""
    where = stage.partition()
    first, second, third = (stage.producer(transactional_id=f"{where[0]}.{name}") for name in "123")
    for number, producer in enumerate((first, second, third)):
        producer.begin()
        producer.send(where, f"{number} begins")
    second.commit()
    first.send(where, "0 goes on")
    assert stage.read_now(where).values == []
    first.abort()
    eventually(lambda: stage.ends(where) == (2, 6), TIMEOUT_S)
    assert stage.read_now(where).records == [(1, "1 begins")]
    third.commit()
    assert stage.read(where).values == ["1 begins", "2 begins"]
    assert stage.ends(where) == (7, 7)


def idempotent_producer_beside_transactions(stage: TransactionStage) -> None:
    """Its records do not belong to the transactions between whose batches they are."""
    where, producer, other = stage.partition(), stage.producer(), stage.idempotent_producer()
    staying = [f"{number} stays" for number in range(30)]
    producer.begin()
    for number, value in enumerate(staying[:20]):
        producer.send(where, f"{number} goes")
        other.send(where, value)
    producer.abort()
    for value in staying[20:]:
        other.send(where, value)
    assert stage.read(where).values == staying
    assert len(stage.read_uncommitted(where).values) == 50


def successor_fences(stage: TransactionStage) -> None:
    """The newer of two producers with a transactional id counts, and it ends what the older has begun."""
    where, older = stage.partition(), stage.producer()
    older.begin()
    older.send(where, "of the older")
    newer = stage.producer()
    newer.begin()
    newer.send(where, "of the newer")
    stage.fails(stage.client.fenced, older.commit)
    newer.commit()
    assert stage.read(where).values == ["of the newer"]
    newer.committed(where, "more of the newer")
    assert stage.read(where).values == ["of the newer", "more of the newer"]


def fenced_producer_cannot_write(stage: TransactionStage) -> None:
    where, older = stage.partition(), stage.producer()
    older.committed(where, "in time")
    newer = stage.producer()
    newer.committed(where, "of the newer")
    stage.fails(stage.client.fenced, older.begin, lambda: older.send(where, "too late"), older.commit)
    assert stage.read(where).values == ["in time", "of the newer"]
    assert stage.read_uncommitted(where).values == ["in time", "of the newer"]


def transaction_times_out(stage: TransactionStage) -> None:
    """The broker aborts it, so readers need not wait for its producer any longer."""
    where, slow = stage.partition(), stage.producer(SHORT_TIMEOUT_MS)
    slow.begin()
    slow.send(where, "slow")
    eventually(lambda: stage.ends(where) == (2, 2), TIMEOUT_S)
    stage.fails(stage.client.timed_out, slow.commit)
    stage.producer().committed(where, "next")
    assert stage.read(where).values == ["next"]


def killed_in_a_transaction(stage: TransactionStage) -> None:
    """Nothing of it is seen, and the successor need not wait for its timeout."""
    where, victim = stage.partition(), stage.producer_elsewhere()
    victim.committed(where, "whole")
    victim.begin()
    victim.send(where, "half")
    stage.crash(victim)
    assert stage.ends(where) == (2, 3)
    successor = stage.producer()
    assert stage.read(where).values == ["whole"]
    successor.committed(where, "again")
    seen = stage.read(where)
    assert seen.values == ["whole", "again"]
    assert stage.ends(where) == (seen.position, seen.position)


def many_small_transactions(stage: TransactionStage) -> None:
    where, producer = stage.partition(), stage.producer()
    for number in range(40):
        end = producer.aborted if number % 4 == 3 else producer.committed
        end(where, str(number))
    seen = stage.read(where)
    assert seen.values == [str(number) for number in range(40) if number % 4 != 3]
    assert seen.position == 80
    assert stage.read_uncommitted(where).values == [str(number) for number in range(40)]


def empty_transactions(stage: TransactionStage) -> None:
    where, producer = stage.partition(), stage.producer()
    producer.begin()
    producer.commit()
    producer.begin()
    producer.abort()
    producer.committed(where, "a record")
    assert stage.read(where).records == [(0, "a record")]


def reader_passes_aborted_ranges(stage: TransactionStage) -> None:
    """From in front of, inside of, and behind a long range without a single committed record."""
    where, producer = stage.partition(), stage.producer()
    producer.aborted(where, *map(str, range(100)))
    producer.committed(where, "in between")
    producer.aborted(where, *map(str, range(100)))
    producer.aborted(where, *map(str, range(100)))
    end = 101 + 2 + 2 * 101
    for start in (0, 50, 100, 101):
        seen = stage.read(where, start=start)
        assert (seen.records, seen.position) == ([(101, "in between")], end), start
    for start in (102, 103, 250, end - 1):
        seen = stage.read(where, start=start)
        assert (seen.records, seen.position) == ([], end), start
    assert len(stage.read_uncommitted(where).records) == 301
    assert stage.ends(where) == (end, end)


def aborted_transactions_in_several_segments(stage: TransactionStage) -> None:
    where, producer = stage.partition(segment_bytes=str(SEGMENT_BYTES)), stage.producer()
    large = "x" * (SEGMENT_BYTES // 8)
    for number in range(3):
        producer.begin()
        for _ in range(12):
            producer.send(where, large)
        producer.abort()
        producer.committed(where, f"after {number}")
    seen = stage.read(where)
    assert seen.records == [(13 + 15 * number, f"after {number}") for number in range(3)]
    assert seen.position == 45
    seen = stage.read(where, start=20)
    assert seen.offsets == [28, 43]


def too_long_timeout_is_refused(stage: TransactionStage) -> None:
    stage.fails(stage.client.timeout_too_long, lambda: stage.producer(timeout_ms=2_000_000_000))


def lag_is_to_the_last_stable_offset(stage: TransactionStage) -> None:
    where, producer = stage.partition(), stage.producer()
    producer.committed(where, "a", "b")
    producer.begin()
    producer.send(where, "c", "d", "e")
    seen = stage.read_now(where, COMMITTED, limit=1)
    assert (seen.position, seen.lag) == (1, 2)
    seen = stage.read_now(where, UNCOMMITTED, limit=1)
    assert (seen.position, seen.lag) == (1, 5)


SCENARIOS: list[TransactionScenario] = [
    commit_is_visible_and_abort_is_not,
    several_partitions_and_topics_at_once,
    open_transaction_holds_readers_back,
    oldest_open_transaction_counts,
    idempotent_producer_beside_transactions,
    successor_fences,
    fenced_producer_cannot_write,
    transaction_times_out,
    killed_in_a_transaction,
    many_small_transactions,
    empty_transactions,
    reader_passes_aborted_ranges,
    aborted_transactions_in_several_segments,
    too_long_timeout_is_refused,
    lag_is_to_the_last_stable_offset,
]
