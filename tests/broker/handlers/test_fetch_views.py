"""Fetch responses for read_committed consumers (transactions) and in sessions (only changes)."""

import pytest

from gralha.protocol.control_records import encode_end_marker
from gralha.protocol.errors import ErrorCode
from gralha.protocol.primitives import RecordBytes
from gralha.storage.log import COORDINATOR
from tests.broker.handlers.door import NOW_MS, append, create_topic
from tests.broker.handlers.fetching import (
    BY_ID,
    LONG_MS,
    begun,
    codes,
    fetch,
    found,
    partitions_of,
)

COMMITTED = 1
FULL, FIRST = 0, 1  # session epochs: a full request makes the session, the next is its first


@pytest.fixture
async def partition(broker):
    await create_topic(broker, "a", 2)
    return broker.replicas.find("a", 0)


# Transactions


def write_in_transaction(broker, producer_id, sequence=0):
    append(
        broker,
        "a",
        NOW_MS,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=True,
    )


def end_transaction(partition, producer_id, commit):
    marker = encode_end_marker(
        commit=commit, coordinator_epoch=0, producer_id=producer_id, producer_epoch=0, timestamp_ms=NOW_MS
    )
    records = RecordBytes(marker, 0, len(marker))
    partition.log.append_as_leader(records, partition.leader_epoch, NOW_MS, origin=COORDINATOR)
    partition.untold_bytes += len(marker)
    partition.led().advance_high_watermark()


@pytest.fixture
def open_transaction(broker, partition):
    """Offset 0 is plain, 1 belongs to an open transaction of producer 5, 2 is plain."""
    append(broker, "a", NOW_MS)
    write_in_transaction(broker, 5)
    append(broker, "a", NOW_MS)


def aborted(response):
    told = partitions_of(response)[0].aborted_transactions
    return None if told is None else [(one.producer_id, one.first_offset) for one in told]


async def test_read_committed_ends_before_an_open_transaction(client, open_transaction):
    response = await fetch(client, {0: 0}, isolation_level=COMMITTED)
    assert found(response) == {0: [0]}
    assert aborted(response) == []
    told = partitions_of(response)[0]
    assert (told.high_watermark, told.last_stable_offset) == (3, 1)


@pytest.mark.parametrize("offset", [1, 2, 3])
async def test_read_committed_beyond_the_last_stable_offset_is_empty(client, open_transaction, offset):
    response = await fetch(client, {0: offset}, isolation_level=COMMITTED)
    assert (codes(response), found(response)) == ({0: 0}, {0: []})


async def test_records_that_a_transaction_held_back_count_at_its_end(client, partition, open_transaction):
    """Otherwise the request would wait for more bytes than the marker has, although many are there."""
    wanted = {"isolation_level": COMMITTED, "min_bytes": 150, "max_wait_ms": LONG_MS}
    waiting = await begun(fetch(client, {0: 1}, **wanted))
    end_transaction(partition, 5, commit=True)
    assert found(await waiting) == {0: [1, 2, 3]}


async def test_read_uncommitted_sees_all(client, open_transaction):
    response = await fetch(client, {0: 0})
    assert found(response) == {0: [0, 1, 2]}
    assert aborted(response) is None
    assert partitions_of(response)[0].last_stable_offset == 1


async def test_an_aborted_transaction_is_told(client, partition, open_transaction):
    end_transaction(partition, 5, commit=False)
    response = await fetch(client, {0: 0}, isolation_level=COMMITTED)
    assert (found(response), aborted(response)) == ({0: [0, 1, 2, 3]}, [(5, 1)])
    assert partitions_of(response)[0].last_stable_offset == 4
    uncommitted = await fetch(client, {0: 0})
    assert (found(uncommitted), aborted(uncommitted)) == ({0: [0, 1, 2, 3]}, None)


async def test_an_aborted_transaction_is_not_told_beyond_its_end(broker, client, partition, open_transaction):
    end_transaction(partition, 5, commit=False)
    append(broker, "a", NOW_MS)
    assert aborted(await fetch(client, {0: 3}, isolation_level=COMMITTED)) == [(5, 1)]
    assert aborted(await fetch(client, {0: 4}, isolation_level=COMMITTED)) == []


async def test_a_committed_transaction_is_read_as_anything_else(client, partition, open_transaction):
    end_transaction(partition, 5, commit=True)
    response = await fetch(client, {0: 0}, isolation_level=COMMITTED)
    assert (found(response), aborted(response)) == ({0: [0, 1, 2, 3]}, [])


async def test_the_oldest_open_transaction_counts(broker, client, partition, open_transaction):
    write_in_transaction(broker, 6)
    end_transaction(partition, 6, commit=False)
    assert found(await fetch(client, {0: 0}, isolation_level=COMMITTED)) == {0: [0]}
    end_transaction(partition, 5, commit=True)
    response = await fetch(client, {0: 0}, isolation_level=COMMITTED)
    assert (found(response), aborted(response)) == ({0: [0, 1, 2, 3, 4, 5]}, [(6, 3)])


async def test_the_end_of_a_transaction_wakes_a_fetch_up(client, partition, open_transaction):
    asking = await begun(fetch(client, {0: 1}, isolation_level=COMMITTED, max_wait_ms=LONG_MS))
    end_transaction(partition, 5, commit=False)
    response = await asking
    assert (found(response), aborted(response)) == ({0: [1, 2, 3]}, [(5, 1)])


# Sessions (KIP-227)


@pytest.fixture
async def session(broker, client, partition):
    """A session with two partitions, whose batches it has returned already. Its next epoch is 1."""
    for index in (0, 1):
        append(broker, "a", NOW_MS, index=index)
    response = await fetch(client, {0: 0, 1: 0}, session_epoch=FULL)
    assert found(response) == {0: [0], 1: [0]}
    assert response.session_id > 0
    return response.session_id


async def test_without_a_session_every_partition_is_told(client, partition):
    response = await fetch(client, {0: 0, 1: 0})
    assert (response.session_id, found(response)) == (0, {0: [], 1: []})


async def test_only_news_is_told(broker, client, session):
    first = await fetch(client, {0: 1, 1: 1}, session_id=session, session_epoch=FIRST)
    assert (first.session_id, first.responses) == (session, [])
    append(broker, "a", NOW_MS, index=1)
    second = await fetch(client, {}, session_id=session, session_epoch=FIRST + 1)
    assert (second.session_id, found(second)) == (session, {1: [1]})
    third = await fetch(client, {1: 2}, session_id=session, session_epoch=FIRST + 2)
    assert third.responses == []


async def test_a_session_sleeps_and_is_woken_up(broker, client, session):
    asking = await begun(
        fetch(client, {0: 1, 1: 1}, session_id=session, session_epoch=FIRST, max_wait_ms=LONG_MS)
    )
    append(broker, "a", NOW_MS, index=1)
    assert found(await asking) == {1: [1]}


async def test_errors_are_told_and_so_is_their_end(client, partition, session):
    partition.change_leader(2, 1, [1, 2], [1, 2])
    failed = await fetch(client, {0: 1, 1: 1}, session_id=session, session_epoch=FIRST)
    assert codes(failed) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    partition.change_leader(1, 2, [1, 2], [1])
    assert codes(await fetch(client, {}, session_id=session, session_epoch=FIRST + 1)) == {0: 0}
    assert codes(await fetch(client, {}, session_id=session, session_epoch=FIRST + 2)) == {}


async def test_forgotten_partitions_are_not_told(client, session):
    response = await fetch(client, {}, session_id=session, session_epoch=FIRST, forgotten=[0])
    assert found(response) == {1: [0]}


async def test_all_partitions_get_their_turn(broker, client, partition):
    """The partition that was served last comes last. Otherwise a busy partition starves the others."""
    for index in (0, 1):
        for _ in range(3):
            append(broker, "a", NOW_MS, index=index)
    first = await fetch(client, {0: 0, 1: 0}, session_epoch=FULL, max_bytes=1)
    assert found(first) == {0: [0], 1: []}
    second = await fetch(client, {0: 1}, session_id=first.session_id, session_epoch=FIRST, max_bytes=1)
    assert found(second) == {1: [0]}


@pytest.mark.parametrize(
    ("other_session", "epoch", "version", "code"),
    [
        (1, FIRST, 12, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (0, FIRST + 1, 12, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (0, FIRST, BY_ID, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ],
)
async def test_an_error_of_the_session_has_no_session(client, session, other_session, epoch, version, code):
    response = await fetch(
        client, {}, version=version, session_id=session ^ other_session, session_epoch=epoch
    )
    assert (response.error_code, response.session_id, response.responses) == (code, 0, [])


async def test_the_end_of_a_session(broker, client, session):
    last = await fetch(client, {0: 0}, session_id=session, session_epoch=-1)
    assert (last.session_id, found(last)) == (0, {0: [0]})
    assert len(broker.fetch_sessions) == 0


async def test_a_request_that_the_session_has_overtaken(broker, client, session):
    """If it were answered, its records would count as sent twice, or never."""
    asking = await begun(
        fetch(client, {0: 1, 1: 1}, session_id=session, session_epoch=FIRST, max_wait_ms=LONG_MS)
    )
    await fetch(client, {}, session_id=session, session_epoch=FIRST + 1)
    append(broker, "a", NOW_MS)
    response = await asking
    assert (response.error_code, response.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0)
    again = await fetch(client, {}, session_id=session, session_epoch=FIRST + 2)
    assert found(again) == {0: [1]}
