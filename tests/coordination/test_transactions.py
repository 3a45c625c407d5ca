"""Records in a producer's transaction, and the markers that end it, with a toy shard."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest
from tests.coordination.numbers import COMMIT_TIMEOUT_MS, Number, NumberShard, Room, Told, play, reloaded
from tests.storage.disks import failing

from gralha.coordination.producer import Producer
from gralha.coordination.runtime import BATCH_RECORDS, State
from gralha.protocol.batches import batches
from gralha.protocol.errors import ErrorCode

SEVEN = Producer(7, 0)
EIGHT = Producer(8, 3)


def is_waiting(answer: Told | Awaitable[Told]) -> bool:
    return isinstance(answer, asyncio.Future) and not answer.done()


def test_records_of_a_transaction_are_one_transactional_batch(tmp_path: Path) -> None:
    keys = [str(number) for number in range(BATCH_RECORDS + 1)]

    async def scenario(room: Room) -> None:
        assert room.set_in_transaction(EIGHT, keys, 1) == Told(1)
        log = room.partition.log
        found = log.read(0, 1_000_000, log.log_end_offset, True, True)
        ((_, header),) = batches(found.data, found.start, found.end)
        assert header.is_transactional
        assert not header.is_control
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (8, 3, 0)
        assert log.last_stable_offset() == 0

    play(tmp_path, scenario)


def test_such_a_decision_is_atomic_whatever_it_says(tmp_path: Path) -> None:
    keys = [str(number) for number in range(BATCH_RECORDS + 1)]

    async def scenario(room: Room) -> None:
        def not_atomic(shard: NumberShard, *_: object) -> object:
            return shard.set_in_transaction(SEVEN, keys, 1)._replace(is_atomic=False)

        assert room.ask(not_atomic) == Told(1)  # type: ignore[arg-type]
        log = room.partition.log
        found = log.read(0, 1_000_000, log.log_end_offset, True, True)
        assert len(batches(found.data, found.start, found.end)) == 1

    play(tmp_path, scenario)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_decides_what_becomes_of_them(tmp_path: Path, is_commit: bool) -> None:
    async def scenario(room: Room) -> None:
        room.set("a", 1)
        room.set_in_transaction(SEVEN, ["a", "b"], 2)
        room.set_in_transaction(EIGHT, ["c"], 3)
        assert room.shard.numbers == {"a": 1}
        assert room.end(SEVEN, is_commit) == Told()
        expected = {"a": 2, "b": 2} if is_commit else {"a": 1}
        assert room.shard.numbers == expected
        assert room.shard.pending == {8: [Number("c", 3)]}
        assert await reloaded(room) == expected
        assert room.shard.pending == {8: [Number("c", 3)]}

    play(tmp_path, scenario)


def test_a_marker_without_a_transaction_is_written(tmp_path: Path) -> None:
    """The coordinator sends markers again until it knows that they are written."""

    async def scenario(room: Room) -> None:
        room.set_in_transaction(SEVEN, ["a"], 1)
        assert room.end(SEVEN, True) == Told()
        assert room.end(SEVEN, True) == Told()
        assert room.end(EIGHT, False) == Told()
        assert room.partition.log.log_end_offset == 4
        assert await reloaded(room) == {"a": 1}

    play(tmp_path, scenario)


def test_the_answer_to_a_marker_waits_for_the_commit(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        room.set_in_transaction(SEVEN, ["a"], 1)
        ended, reading = room.end(SEVEN, True), room.get("a")
        room.fetch(1)
        assert is_waiting(ended)
        assert is_waiting(reading)
        room.fetch(2)
        assert not isinstance(ended, Told)
        assert not isinstance(reading, Told)
        assert (await ended, await reading) == (Told(), Told(1))

    play(tmp_path, scenario, follower=True)


# Refusals


def test_an_old_producer_is_fenced(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        room.set_in_transaction(Producer(7, 5), ["a"], 1)
        fenced = Told(error_code=ErrorCode.INVALID_PRODUCER_EPOCH)
        assert room.set_in_transaction(Producer(7, 4), ["b"], 2) == fenced
        assert [error.code for error in room.shard.failures] == [ErrorCode.INVALID_PRODUCER_EPOCH]
        assert room.end(Producer(7, 4), True) == fenced
        assert room.shard.pending == {7: [Number("a", 1)]}
        assert room.runtime.state is State.ACTIVE

    play(tmp_path, scenario)


def test_an_old_transaction_coordinator_is_fenced(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        room.set_in_transaction(SEVEN, ["a"], 1)
        room.end(SEVEN, True, coordinator_epoch=3)
        room.set_in_transaction(SEVEN, ["a"], 2)
        fenced = Told(error_code=ErrorCode.TRANSACTION_COORDINATOR_FENCED)
        assert room.end(SEVEN, True, coordinator_epoch=2) == fenced
        assert room.shard.numbers == {"a": 1}
        assert room.end(SEVEN, True, coordinator_epoch=3) == Told()
        assert room.shard.numbers == {"a": 2}

    play(tmp_path, scenario)


RETRY = Told(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_a_marker_for_a_partition_of_another_broker_is_tried_there(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        assert room.end(SEVEN, True, partition_index=1) == RETRY
        room.lead(2, leader=2)
        assert room.end(SEVEN, True) == RETRY

    play(tmp_path, scenario)


def test_a_marker_is_tried_again_while_the_partition_is_loaded(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        room.lead(2)
        assert room.end(SEVEN, True) == RETRY
        await room.load()
        assert room.end(SEVEN, True) == Told()

    play(tmp_path, scenario)


def test_a_marker_is_tried_again_after_an_error_of_the_log(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        room.set_in_transaction(SEVEN, ["a"], 1)
        room.disk.before = failing("append", ".log")
        assert room.end(SEVEN, True) == RETRY
        assert room.shard.numbers == {}
        room.disk.before = None
        assert room.end(SEVEN, True) == Told()
        assert await reloaded(room) == {"a": 1}

    play(tmp_path, scenario)


def test_a_marker_is_tried_again_if_it_is_not_committed_in_time(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        ended = room.end(SEVEN, True)
        await asyncio.sleep(COMMIT_TIMEOUT_MS / 1000 + 1)
        assert not isinstance(ended, Told)
        assert await ended == RETRY

    play(tmp_path, scenario, follower=True)


def test_a_marker_that_is_lost_with_its_leader_epoch_is_tried_again(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        ended = room.end(SEVEN, True)
        room.partition.change_leader(2, 2, [1, 2], [1, 2])
        assert not isinstance(ended, Told)
        assert await ended == RETRY

    play(tmp_path, scenario, follower=True)
