"""Answers that only read, but must be the newest, wait for the commit of a record that changes nothing."""

import asyncio
from pathlib import Path

from tests.coordination.numbers import BROKER, COMMIT_TIMEOUT_MS, FOLLOWER, Room, Told, play

from gralha.protocol.errors import ErrorCode


async def written_and_committed(room: Room) -> None:
    room.set("a", 1)
    room.fetch(1)
    assert room.partition.log.high_watermark == 1


def test_such_an_answer_waits_for_the_followers(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        await written_and_committed(room)
        assert room.get("a") == Told(1)  # one that need not be the newest
        answer = room.get_newest("a")
        assert isinstance(answer, asyncio.Future)
        room.fetch(1)  # may have been sent before the request came
        await asyncio.sleep(0)
        assert not answer.done()
        room.fetch(2)
        assert await answer == Told(1)
        assert room.shard.numbers == {"a": 1}

    play(tmp_path, scenario, follower=True)


def test_a_replaced_leader_never_gives_it(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        await written_and_committed(room)
        answer = room.get_newest("a")
        assert isinstance(answer, asyncio.Future)
        room.lead(2, FOLLOWER)
        assert (await answer).error_code == ErrorCode.NOT_COORDINATOR

    play(tmp_path, scenario, follower=True)


def test_one_that_is_cut_off_gives_an_error(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        await written_and_committed(room)
        answer = room.get_newest("a")
        assert isinstance(answer, asyncio.Future)
        await asyncio.sleep(COMMIT_TIMEOUT_MS / 1000 + 0.1)
        assert answer.result().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE

    play(tmp_path, scenario, follower=True)


def test_a_leader_without_followers_in_sync_answers_at_once(tmp_path: Path) -> None:
    """Nobody else can be elected. So offsets can be read, even if min.insync.replicas allows no writes."""

    async def scenario(room: Room) -> None:
        await written_and_committed(room)
        room.partition.change_leader(BROKER, 1, [BROKER, FOLLOWER], [BROKER])
        end_offset = room.partition.log.log_end_offset
        assert room.get_newest("a") == Told(1)
        assert room.partition.log.log_end_offset == end_offset

    play(tmp_path, scenario, follower=True, min_insync_replicas="2")


def test_a_leader_that_is_the_only_replica_writes_nothing(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        room.set("a", 1)
        assert room.get_newest("a") == Told(1)
        assert room.partition.log.log_end_offset == 1

    play(tmp_path, scenario)
