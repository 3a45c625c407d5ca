"""A coordinator's runtime with a toy shard: steps, answers, faults of the disk, timers, the clock."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.coordination.numbers import COMMIT_TIMEOUT_MS, Number, Room, Told, play, reloaded
from tests.raft.virtual_loop import VirtualLoop
from tests.storage.disks import failing

from gralha.coordination.decision import NOTHING, Decision
from gralha.coordination.runtime import BATCH_RECORDS, TIMER_RETRY_MS, TIMERS_AT_ONCE_S, State
from gralha.protocol.errors import ErrorCode, UnknownMemberIdError
from gralha.replication.partition import Partition
from gralha.replication.subscriptions import HIGH_WATERMARK_MOVED, Subscriber
from gralha.storage.disk import DiskError


def is_waiting(answer: Told | Awaitable[Told]) -> bool:
    return isinstance(answer, asyncio.Future) and not answer.done()


# Steps


def test_a_decision_is_written_then_replayed_then_answered(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        assert room.set("a", 1) == Told(1)
        assert room.get("a") == Told(1)
        assert room.partition.log.log_end_offset == 1
        assert await reloaded(room) == {"a": 1}

    play(tmp_path, scenario)


def test_what_follows_a_decision_sees_what_was_replayed(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        waiting = room.wait_for("a")
        room.disk.before = failing("append", ".log")
        room.set("a", 1)
        assert is_waiting(waiting)  # nothing follows a decision that was not written
        room.disk.before = None
        room.set("a", 2)
        assert not isinstance(waiting, Told)
        assert await waiting == Told(2)

    play(tmp_path, scenario)


def test_an_error_that_a_decision_raises_is_the_answer(tmp_path: Path) -> None:
    def refuse(*_: object) -> Decision[Number]:
        raise UnknownMemberIdError

    async def scenario(room: Room) -> None:
        assert room.ask(refuse) == Told(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        assert room.runtime.state is State.ACTIVE

    play(tmp_path, scenario)


def test_while_the_partition_is_loaded_requests_are_told_to_come_back(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        room.lead(2)
        assert room.get("a") == Told(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    play(tmp_path, scenario)


def test_a_decision_that_is_not_atomic_is_written_in_several_batches(tmp_path: Path) -> None:
    keys = [str(number) for number in range(BATCH_RECORDS + 1)]

    async def scenario(room: Room) -> None:
        assert room.ask(lambda shard, _reply, _now_ms: shard.set_many(keys, 7)) == Told(7)
        assert await reloaded(room) == dict.fromkeys(keys, 7)

    play(tmp_path, scenario)


def test_what_was_written_before_a_refusal_counts(tmp_path: Path) -> None:
    """A decision that is not atomic may end in the middle; memory and log still agree."""
    keys = [str(number) for number in range(2 * BATCH_RECORDS)]

    async def scenario(room: Room) -> None:
        appends: list[str] = []

        def second_append_fails(action: str, path: str) -> None:
            if action == "append" and path.endswith(".log"):
                appends.append(path)
                if len(appends) == 2:
                    raise DiskError("append to", path, "No space left on device")

        room.disk.before = second_append_fails
        answer = room.ask(lambda shard, _reply, _now_ms: shard.set_many(keys, 7))
        assert answer == Told(error_code=ErrorCode.NOT_COORDINATOR)
        assert room.shard.numbers == dict.fromkeys(keys[:BATCH_RECORDS], 7)
        assert await reloaded(room) == dict.fromkeys(keys[:BATCH_RECORDS], 7)

    play(tmp_path, scenario)


# The log refuses


def test_a_full_disk_leaves_the_state_as_it_was(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "gralha.coordination")

    async def scenario(room: Room) -> None:
        room.set("a", 1)
        shard = room.shard
        room.disk.before = failing("append", ".log")
        assert room.set("a", 2) == Told(error_code=ErrorCode.NOT_COORDINATOR)
        assert room.set("b", 2) == Told(error_code=ErrorCode.NOT_COORDINATOR)
        assert room.get("a") == Told(1)
        assert [error.code for error in shard.failures] == [ErrorCode.NOT_COORDINATOR] * 2
        room.disk.before = None
        assert room.set("a", 3) == Told(3)
        assert room.shard is shard  # nothing was loaded again
        assert room.failures == []
        assert await reloaded(room) == {"a": 3}

    play(tmp_path, scenario)
    failed, recovered = (record.getMessage() for record in caplog.records)
    assert failed.startswith("__numbers-0 cannot be written: Cannot append")
    assert recovered == "__numbers-0 can be written again"


def test_too_few_replicas_are_no_coordinator(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        room.partition.in_sync_replicas = [1]
        assert room.set("a", 1) == Told(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        assert room.shard.numbers == {}
        room.partition.in_sync_replicas = [1, 2]
        assert is_waiting(room.set("a", 1))

    play(tmp_path, scenario, follower=True, min_insync_replicas="2")


@pytest.mark.parametrize("key", ["k" * 101, "k" * 90])
def test_a_record_that_cannot_be_written_costs_only_its_own_request(tmp_path: Path, key: str) -> None:
    """One key does not fit into a record, the other makes a batch that is too large for the topic."""

    async def scenario(room: Room) -> None:
        shard = room.shard
        assert room.set("a", 1) == Told(1)
        assert room.set(key, 1) == Told(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        assert room.get("a") == Told(1)
        assert room.shard is shard

    play(tmp_path, scenario, max_message_bytes="120")


# The log or the state machine breaks


def test_a_failed_sync_is_reported_and_the_state_loaded_again(tmp_path: Path) -> None:
    def sync_fails(action: str, path: str) -> None:
        if action == "append":
            raise DiskError("sync", path, "an error of the device")

    async def scenario(room: Room) -> None:
        room.set("a", 1)
        room.disk.before = sync_fails
        assert room.set("a", 2) == Told(error_code=ErrorCode.NOT_COORDINATOR)
        assert [str(failure) for failure in room.failures] == [
            f"Cannot sync {room.partition.log.folder}/00000000000000000000.log: an error of the device"
        ]
        await room.load()
        assert room.get("a") == Told(1)

    play(tmp_path, scenario)


def test_an_append_that_breaks_after_the_write_is_found_in_the_log(tmp_path: Path) -> None:
    class Broken(Subscriber):
        def partition_changed(self, partition: Partition, event: int, new_bytes: int) -> bool:
            raise ValueError("a bug of somebody else")

    async def scenario(room: Room) -> None:
        room.partition.subscribe(Broken(), HIGH_WATERMARK_MOVED)
        assert room.set("a", 1) == Told(error_code=ErrorCode.NOT_COORDINATOR)
        await room.load()
        assert room.shard.numbers == {"a": 1}

    play(tmp_path, scenario)


def raises_in_a_decision(*_: object) -> Decision[Number]:
    raise ZeroDivisionError


def test_a_state_machine_that_fails_is_loaded_again(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        room.set("a", 1)
        waiting = room.wait_for("a")
        room.shard.numbers["a"] = 666  # what is in memory is wrong
        assert room.ask(raises_in_a_decision) == Told(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        assert not isinstance(waiting, Told)
        assert await waiting == Told(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        await room.load()
        assert room.get("a") == Told(1)
        assert room.failures == []

    play(tmp_path, scenario)


def test_an_error_that_a_replay_raises_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record is in the log, so the request has not been refused: the state machine is broken."""

    def refuse(*_: object) -> None:
        raise UnknownMemberIdError

    async def scenario(room: Room) -> None:
        monkeypatch.setattr(room.shard, "replay", refuse)
        assert room.set("a", 1) == Told(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        await room.load()
        assert room.get("a") == Told(1)

    play(tmp_path, scenario)


# Answers wait for the high watermark


def test_answers_wait_until_what_they_rest_on_is_committed(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        waiting = room.wait_for("a")
        writing, reading = room.set("a", 1), room.get("a")
        assert is_waiting(writing)
        assert is_waiting(reading)
        assert is_waiting(waiting)
        room.fetch(1)
        assert not isinstance(writing, Told)
        assert not isinstance(reading, Told)
        assert not isinstance(waiting, Told)
        assert (await writing, await reading, await waiting) == (Told(1), Told(1), Told(1))
        assert room.get("a") == Told(1)  # at once

    play(tmp_path, scenario, follower=True)


def test_answers_leave_as_far_as_the_high_watermark_goes(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        first, second = room.set("a", 1), room.set("a", 2)
        room.fetch(1)
        assert not is_waiting(first)
        assert is_waiting(second)

    play(tmp_path, scenario, follower=True)


def test_a_commit_that_is_late_is_not_acknowledged(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        first = room.set("a", 1)
        await asyncio.sleep(1)
        second = room.set("a", 2)
        await asyncio.sleep(COMMIT_TIMEOUT_MS / 1000 - 0.5)
        assert not isinstance(first, Told)
        assert await first == Told(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        assert is_waiting(second)
        room.fetch(2)
        assert not isinstance(second, Told)
        assert await second == Told(2)
        assert room.get("a") == Told(2)

    play(tmp_path, scenario, follower=True)


def test_a_clock_that_is_set_back_keeps_nobody_waiting(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        answer = room.set("a", 1)
        room.clock_ahead_ms = -3_600_000
        assert not isinstance(answer, Told)
        assert await answer == Told(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)

    play(tmp_path, scenario, follower=True)


@pytest.mark.parametrize("leader", [1, 2])
def test_an_answer_does_not_outlive_its_leader_epoch(tmp_path: Path, leader: int) -> None:
    """Also if this broker leads again: in between, the records may have been replaced by others."""

    async def scenario(room: Room) -> None:
        answer, waiting = room.set("a", 1), room.wait_for("a")
        room.partition.change_leader(leader, 2, [1, 2], [1, 2])
        assert not isinstance(answer, Told)
        assert not isinstance(waiting, Told)
        assert await answer == Told(error_code=ErrorCode.NOT_COORDINATOR)
        assert await waiting == Told(error_code=ErrorCode.NOT_COORDINATOR)
        assert room.get("a") == Told(error_code=ErrorCode.NOT_COORDINATOR)

    play(tmp_path, scenario, follower=True)


def test_a_client_that_has_gone_is_forgotten(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        waiting = room.wait_for("a")
        assert isinstance(waiting, asyncio.Future)
        waiting.cancel()
        await asyncio.sleep(0)
        assert room.runtime._answers._waiting == {}
        assert room.set("a", 1) == Told(1)

    play(tmp_path, scenario)


# Timers


def set_at(room: Room, delay_ms: int, key: str, value: int) -> None:
    room.ask(lambda shard, _reply, now_ms: shard.set_at(now_ms + delay_ms, key, value))


def test_a_timer_writes_what_it_decides(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        set_at(room, 2_000, "a", 1)
        set_at(room, 1_000, "b", 2)
        await asyncio.sleep(1.5)
        assert room.shard.numbers == {"b": 2}
        await asyncio.sleep(1)
        assert await reloaded(room) == {"a": 1, "b": 2}

    play(tmp_path, scenario)


def test_a_decision_of_a_timer_that_cannot_be_written_is_made_again(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        room.disk.before = failing("append", ".log")
        set_at(room, 1_000, "a", 1)
        await asyncio.sleep(10)
        assert room.shard.numbers == {}
        room.disk.before = None
        await asyncio.sleep(TIMER_RETRY_MS / 1000)
        assert await reloaded(room) == {"a": 1}

    play(tmp_path, scenario)


def test_a_timer_that_is_scheduled_anew_meanwhile_is_not_run_twice(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        room.disk.before = failing("append", ".log")
        set_at(room, 1_000, "a", 1)
        await asyncio.sleep(1.1)
        set_at(room, 5_000, "a", 2)  # as a heartbeat puts off the end of a session
        room.disk.before = None
        await asyncio.sleep(2 * TIMER_RETRY_MS / 1000)
        assert room.shard.numbers == {}
        await asyncio.sleep(5)
        assert room.shard.numbers == {"a": 2}
        assert room.partition.log.log_end_offset == 1

    play(tmp_path, scenario)


def test_a_decision_that_nobody_waits_for_is_made_again_as_well(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        room.disk.before = failing("append", ".log")
        room.coordinator.run_all(lambda shard, _now_ms: shard.set("a", 1))
        assert room.shard.numbers == {}
        room.disk.before = None
        await asyncio.sleep(TIMER_RETRY_MS / 1000)
        assert room.shard.numbers == {"a": 1}

    play(tmp_path, scenario)


def test_timers_end_with_their_leader_epoch(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        set_at(room, 1_000, "a", 1)
        assert await reloaded(room) == {}
        await asyncio.sleep(2)
        assert room.shard.numbers == {}

    play(tmp_path, scenario)


def test_deadlines_move_when_the_process_did_not_run(tmp_path: Path) -> None:
    """After SIGSTOP, or in a machine that was suspended, heartbeats lie in the sockets, unread."""

    async def scenario(room: Room) -> None:
        assert isinstance(room.loop, VirtualLoop)
        set_at(room, 1_000, "a", 1)
        set_at(room, 5_000, "b", 2)
        room.loop.now += 60
        await asyncio.sleep(0.5)
        assert room.shard.numbers == {}
        set_at(room, 5_000, "a", 3)  # a heartbeat is read
        await asyncio.sleep(4)
        assert room.shard.numbers == {}
        await asyncio.sleep(2)
        assert room.shard.numbers == {"a": 3, "b": 2}, "time goes on"

    play(tmp_path, scenario)


def test_deadlines_move_with_a_clock_that_is_set(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        set_at(room, 10_000, "a", 1)
        room.clock_ahead_ms = 3_600_000
        room.get("a")
        await asyncio.sleep(9)
        assert room.shard.numbers == {}
        await asyncio.sleep(2)
        assert room.shard.numbers == {"a": 1}

    play(tmp_path, scenario)


def test_a_clock_that_is_slow_does_not_make_timers_come_again_and_again(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        set_at(room, 1_000, "a", 1)
        room.clock_ahead_ms = -900
        times = []

        def count_calls() -> None:
            times.append(room.loop.time())
            due()

        due, room.runtime._timers_due = room.runtime._timers_due, count_calls  # type: ignore[method-assign]
        await asyncio.sleep(3)
        assert room.shard.numbers == {"a": 1}
        assert len(times) <= 3

    play(tmp_path, scenario)


def test_others_have_their_turn_while_many_timers_are_due(tmp_path: Path) -> None:
    async def scenario() -> None:
        room = Room(tmp_path)
        await room.load()
        ran: list[str] = []

        def slowly(name: str) -> Callable[[int], Decision[Number]]:
            def action(_now_ms: int) -> Decision[Number]:
                end_s = time.perf_counter() + 2 * TIMERS_AT_ONCE_S
                while time.perf_counter() < end_s:
                    pass
                ran.append(name)
                return NOTHING

            return action

        for name in ("first", "second", "third"):
            room.shard.timers.schedule(name, 0, slowly(name))
        asyncio.get_running_loop().call_soon(ran.append, "a request")
        room.runtime._timers_due()
        while len(ran) < 4:
            await asyncio.sleep(0)
        assert ran == ["first", "a request", "second", "third"]
        room.coordinator.close()

    asyncio.run(scenario())  # in real time: the actions of the timers take some


def test_a_coordinator_that_has_ended_does_not_begin_again(tmp_path: Path) -> None:
    async def scenario(room: Room) -> None:
        runtime = room.runtime

        def lose_and_break(*_: object) -> Decision[Number]:
            room.partition.change_leader(2, 2, [1, 2], [1, 2])
            raise ZeroDivisionError

        assert room.ask(lose_and_break) == Told(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        await asyncio.sleep(1)
        assert runtime.state is State.CLOSED

    play(tmp_path, scenario)
