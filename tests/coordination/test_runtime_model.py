"""A coordinator under random requests, faults of the disk, slow followers and changes of the leader.

Numbers only grow, also the one that only transactions set. So two rules say it all: a number that a client
was told never goes back, and nobody waits for ever. When the leader changes, its log is cut at the high
watermark: the worst that may happen to it.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.coordination.numbers import NumberShard, Room, Told
from tests.raft.virtual_loop import run_virtual
from tests.storage.disks import failing

from gralha.coordination.answers import Answers
from gralha.coordination.producer import EndMarker, Producer
from gralha.coordination.runtime import Runtime, State
from gralha.protocol.errors import KafkaError
from gralha.replication.partition import Partition

KEYS = st.sampled_from("ab")
IN_TRANSACTIONS = "t"
PRODUCER = Producer(7, 0)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["set", "get", "wait", "timer"]), KEYS),
        st.tuples(st.sampled_from(["transaction", "get"]), st.just(IN_TRANSACTIONS)),
        st.tuples(st.just("end"), st.booleans()),
        st.tuples(st.just("fetch"), st.integers(0, 3)),
        st.tuples(st.just("disk"), st.booleans()),
        st.tuples(st.sampled_from(["lead again", "lose and lead", "break"]), st.none()),
        st.tuples(st.just("pass"), st.sampled_from([0.001, 0.5, 6.0])),
    ),
    max_size=40,
)


class Anomaly(Exception):  # noqa: N818 - the name of what went wrong
    pass


class Story:
    def __init__(self, room: Room) -> None:
        self.room = room
        self.last = 0
        self.told: dict[str, int] = {}  # the largest number that anybody was told of a key
        self.waiting: list[tuple[str | None, int, asyncio.Future[Told]]] = []

    def play(self, step: str, detail: object) -> None:
        room = self.room
        match step, detail:
            case "set", str(key):
                self.last += 1
                self.expect(key, room.set(key, self.last))
            case "get", str(key):
                self.expect(key, room.get(key))
            case "wait", str(key):
                self.expect(key, room.wait_for(key))
            case "timer", str(key):
                self.last += 1
                number = self.last
                room.ask(lambda shard, _reply, now_ms: shard.set_at(now_ms + 100, key, number))
            case "transaction", str(key):
                self.last += 1
                self.expect(None, room.set_in_transaction(PRODUCER, [key], self.last))
            case "end", bool(is_commit):
                self.expect(None, room.end(PRODUCER, is_commit))
            case "fetch", int(behind):
                room.fetch(max(room.partition.log.log_end_offset - behind, 0))
            case "disk", bool(is_full):
                room.disk.before = failing("append", ".log") if is_full else None
            case "lead again", _:
                room.lead(room.partition.leader_epoch + 1)
            case "lose and lead", _:
                room.lead(room.partition.leader_epoch + 1, leader=2)
                room.partition.log.truncate_to(room.partition.log.high_watermark)
                room.lead(room.partition.leader_epoch + 1)
            case "break", _:
                if room.runtime.state is State.ACTIVE:
                    room.shard.numbers.clear()
                    room.ask(lambda *_: None)  # type: ignore[arg-type]

    def expect(self, key: str | None, answer: Told | Awaitable[Told]) -> None:
        """Without a key the answer tells no number."""
        floor = self.told.get(key, 0) if key else 0  # what was told before this request was sent
        if isinstance(answer, Told):
            self.heard(key, floor, answer)
        else:
            assert isinstance(answer, asyncio.Future)
            self.waiting.append((key, floor, answer))

    def listen(self) -> None:
        still: list[tuple[str | None, int, asyncio.Future[Told]]] = []
        for key, floor, answer in self.waiting:
            if answer.done():
                self.heard(key, floor, answer.result())
            else:
                still.append((key, floor, answer))
        self.waiting = still

    def heard(self, key: str | None, floor: int, told: Told) -> None:
        if key and told.error_code == 0:
            number = told.value or 0
            if number < floor:
                raise Anomaly(f"{key} went back from {floor} to {number}")
            self.told[key] = max(self.told.get(key, 0), number)

    async def end(self) -> None:
        """End all faults. All waiting requests are answered, and the next coordinator knows everything."""
        self.room.disk.before = None
        for _ in range(3):
            await asyncio.sleep(6)
            self.room.fetch(self.room.partition.log.log_end_offset)
        for key in "ab":
            self.play("set", key)
        self.room.fetch(self.room.partition.log.log_end_offset)
        await asyncio.sleep(0.001)
        self.listen()
        if self.waiting:
            raise Anomaly(f"{len(self.waiting)} clients wait for ever")
        before, pending = dict(self.room.shard.numbers), dict(self.room.shard.pending)
        self.room.lead(self.room.partition.leader_epoch + 1)
        await self.room.load()
        if self.room.shard.numbers != before:
            raise Anomaly(f"the log says {self.room.shard.numbers}, memory said {before}")
        if self.room.shard.pending != pending:
            raise Anomaly(f"the log says {self.room.shard.pending} is pending, memory said {pending}")


def run(steps: list[tuple[str, object]]) -> None:
    async def scenario() -> None:
        with tempfile.TemporaryDirectory() as folder:
            room = Room(Path(folder), follower=True)
            await room.load()
            story = Story(room)
            for step, detail in steps:
                story.play(step, detail)
                await asyncio.sleep(detail if isinstance(detail, float) else 0)
                story.listen()
            await room.load()
            await story.end()
            room.coordinator.close()

    run_virtual(scenario())


@given(STEPS)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_that_was_told_goes_back(steps: list[tuple[str, object]]) -> None:
    run(steps)


# The bugs of others, put back


def answer_before_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer leaves when its records are appended (Redpanda 3003)."""

    def release(self: Answers) -> None:
        sent, self._sent = self._sent, []
        for call, response in sent:
            call.leave(response)

    monkeypatch.setattr(Answers, "release", release)


def answer_in_another_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A response leaves after the high watermark, even if another leader wrote there (Redpanda 3616)."""

    def partition_changed(self: Answers, partition: Partition, event: int, new_bytes: int) -> bool:
        while self._held and self._held[0].end_offset <= partition.log.high_watermark:
            held = self._held.popleft()
            held.call.leave(held.response)
        return False

    monkeypatch.setattr(Answers, "partition_changed", partition_changed)
    monkeypatch.setattr(Answers, "fail_all", lambda *_: None)
    monkeypatch.setattr(Answers, "close", lambda *_: None)


def end_transactions_in_the_log_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A marker is written, but the shard does not learn of it before it is loaded again."""

    def write_marker(self: Runtime[NumberShard], marker: EndMarker, now_ms: int) -> KafkaError | None:
        return self._appender.append_marker(marker, now_ms)

    monkeypatch.setattr(Runtime, "_write_marker", write_marker)


LOST = [("set", "a"), ("lose and lead", None), ("pass", 0.5), ("get", "a")]
REPLACED = [
    ("set", "a"),
    ("lose and lead", None),
    ("pass", 0.5),
    ("set", "b"),
    ("fetch", 0),
    ("pass", 0.5),
    ("get", "a"),
]

COMMITTED: list[tuple[str, object]] = [("transaction", "t"), ("end", True)]


@pytest.mark.parametrize(
    ("bug", "steps", "anomaly"),
    [
        (answer_before_the_commit, LOST, "a went back from 1 to 0"),
        (answer_in_another_epoch, REPLACED, "a went back from 1 to 0"),
        (end_transactions_in_the_log_only, COMMITTED, "the log says .*'t': 1.*, memory said "),
    ],
)
def test_a_bug_that_is_put_back_is_noticed(
    bug: Callable[[pytest.MonkeyPatch], None],
    steps: list[tuple[str, object]],
    anomaly: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(steps)
    bug(monkeypatch)
    with pytest.raises(Anomaly, match=anomaly):
        run(steps)
