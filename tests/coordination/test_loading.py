"""Loading a partition: every batch counts for what it is, and damage is tried again."""

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import pytest
from tests.coordination.numbers import START_MS, UNREADABLE, NumberShard, Room, Told, play, reloaded
from tests.storage.disks import failing
from tests.storage.logs import end_transaction

from gralha.coordination import loading
from gralha.coordination.loading import read_chunk
from gralha.coordination.runtime import LOAD_RETRY_S, REPLAYED_AT_ONCE, TIMER_RETRY_MS, Runtime, State
from gralha.coordination.timers import Timers
from gralha.protocol.errors import ErrorCode
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.storage.log import COORDINATOR


def write(room: Room, *records: tuple[bytes | None, bytes | None], **options: object) -> None:
    """Append a batch that the shard itself would not write."""
    stored = [Record(key, value, START_MS) for key, value in records]
    data = encode_batch(stored, **options)  # type: ignore[arg-type]
    room.partition.log.append_as_leader(RecordBytes(data, 0, len(data)), 1, START_MS, origin=COORDINATOR)


def in_transaction(producer_id: int, producer_epoch: int = 0) -> dict[str, object]:
    return {"producer_id": producer_id, "producer_epoch": producer_epoch, "transactional": True}


def test_records_are_replayed_in_their_order(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        for number in range(3 * REPLAYED_AT_ONCE):
            room.set(str(number % 7), number)
        room.set("3", None)
        before = room.shard.numbers
        assert await reloaded(room) == before

    play(tmp_path, scenario)


def test_records_of_a_transaction_come_with_their_producer(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        write(room, (b"a", b"1"), **in_transaction(7))
        write(room, (b"b", b"2"), **in_transaction(8))
        room.set("c", 3)
        assert await reloaded(room) == {"c": 3}
        assert sorted(room.shard.pending) == [7, 8]
        end_transaction(room.partition.log, 7, commit=True)
        end_transaction(room.partition.log, 8, commit=False)
        assert await reloaded(room) == {"a": 1, "c": 3}
        assert room.shard.pending == {}

    play(tmp_path, scenario)


def test_an_idempotent_batch_is_no_part_of_a_transaction(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        write(room, (b"a", b"1"), producer_id=7, producer_epoch=0, base_sequence=0)
        assert await reloaded(room) == {"a": 1}

    play(tmp_path, scenario)


def test_unknown_kinds_of_records_are_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(room: Room) -> None:
        write(room, (b"?new", b"1"), (b"a", b"2"), (None, b"3"))
        assert await reloaded(room) == {"a": 2}

    play(tmp_path, scenario)
    assert [record.getMessage() for record in caplog.records] == [
        "A record of a kind that this version does not know is ignored: b'?n'"
    ]


def test_a_log_longer_than_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "CHUNK_BYTES", 200)

    async def scenario(room: Room) -> None:
        for number in range(20):
            room.set(str(number), number)
        assert await reloaded(room) == {str(number): number for number in range(20)}

    play(tmp_path, scenario)


def test_what_cannot_be_loaded_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(room: Room) -> None:
        room.set("a", 1)
        write(room, (b"b", UNREADABLE))
        room.lead(2)
        await asyncio.sleep(LOAD_RETRY_S / 2)
        assert room.runtime.state is State.LOADING
        assert "__numbers-0 cannot be loaded; the next try is in 5 s" in caplog.text
        room.partition.log.truncate_to(1)
        await asyncio.sleep(LOAD_RETRY_S)
        assert room.get("a") == Told(1)

    play(tmp_path, scenario)


def test_a_shard_may_decide_when_it_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NumberShard, "counts_loads", True)

    async def scenario(room: Room) -> None:
        await asyncio.sleep(0.001)
        assert room.shard.loads == 1
        room.disk.before = failing("append", ".log")
        room.lead(2)
        await asyncio.sleep(0.1)
        assert room.shard.loads == 1
        room.disk.before = None
        await asyncio.sleep(TIMER_RETRY_MS / 1000)
        assert room.shard.loads == 2

    play(tmp_path, scenario)


def test_a_shard_that_cannot_start_is_loaded_again_after_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def on_loaded(self: NumberShard, now_ms: int) -> None:
        tries.append(now_ms)
        if len(tries) < 3:
            raise ZeroDivisionError

    async def scenario(room: Room) -> None:
        room.set("a", 1)
        monkeypatch.setattr(NumberShard, "on_loaded", on_loaded)
        room.lead(2)
        await room.load()
        assert room.get("a") == Told(1)
        assert len(tries) == 3
        pauses_s = [(later - earlier) / 1000 for earlier, later in pairwise(tries)]
        assert pauses_s == pytest.approx([LOAD_RETRY_S] * 2, abs=0.1)

    play(tmp_path, scenario)


@pytest.mark.parametrize("failing_part", ["next_deadline_ms", "new_shard"])
def test_any_error_of_a_load_is_tried_again(
    tmp_path: Path,
    failing_part: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The timers are armed after the records are replayed, and a new shard is made before."""

    async def scenario(room: Room) -> None:
        room.set("a", 1)
        monkeypatch.setattr(NumberShard, "on_loaded", fail)
        room.lead(2)
        await asyncio.sleep(LOAD_RETRY_S / 2)
        monkeypatch.undo()
        caplog.clear()
        if failing_part == "new_shard":
            monkeypatch.setattr(NumberShard, "__init__", fail)
        else:
            monkeypatch.setattr(Timers, "next_deadline_ms", fail)
        await asyncio.sleep(LOAD_RETRY_S)
        assert room.runtime.state is State.LOADING
        assert "a part of the shard" in caplog.text
        monkeypatch.undo()
        await asyncio.sleep(LOAD_RETRY_S)
        assert room.get("a") == Told(1)

    def fail(*_arguments: object) -> NoReturn:
        raise ZeroDivisionError("a part of the shard")

    play(tmp_path, scenario)


def test_a_shard_that_cannot_be_made_is_no_dead_end_for_a_failed_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that fails makes a new shard, and the load of that shard tries again."""

    async def scenario(room: Room) -> None:
        room.set("a", 1)
        monkeypatch.setattr(NumberShard, "__init__", fail)
        monkeypatch.setattr(NumberShard, "get", fail)
        assert room.get("a") == Told(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        assert room.get("a") == Told(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        await asyncio.sleep(LOAD_RETRY_S / 2)
        monkeypatch.undo()
        await asyncio.sleep(LOAD_RETRY_S)
        assert room.get("a") == Told(1)

    def fail(*_arguments: object) -> NoReturn:
        raise ZeroDivisionError

    play(tmp_path, scenario)


def test_partitions_are_loaded_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that starts has many partitions to load, and must hear its clients meanwhile."""
    reading, most = 0, 0

    async def scenario(room: Room) -> None:
        room.set("a", 1)

        async def read_slowly(pool: object, function: object, *arguments: object) -> object:
            nonlocal reading, most
            reading += 1
            most = max(most, reading)
            await asyncio.sleep(1)
            reading -= 1
            return read_chunk(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(room.loop, "run_in_executor", read_slowly)
        coordinator = room.coordinator
        others = [Runtime(room.partition, coordinator._ports, coordinator._loading_turn) for _ in range(2)]
        while any(other.state is State.LOADING for other in others):
            await asyncio.sleep(0.1)
        assert most == 1
        assert [other.shard.numbers for other in others] == [{"a": 1}] * 2
        for other in others:
            other.close()

    play(tmp_path, scenario)
