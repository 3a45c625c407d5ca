"""Batches that wait for their check, beside changes of leaders and settings, in any order of events.

Whatever happens: a batch has one outcome. Those that are accepted lie in the log in the order in which they
were sent, and in the epoch in which they were sent. None of them is malformed, or lacks a key that it needs.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from gralha.protocol import compression
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, batches, decode_records, encode_batch
from gralha.replication import leading as leading_module
from gralha.replication.checking import Checks
from gralha.replication.leading import Leading, QueuedBatch
from gralha.replication.partition import Partition
from gralha.storage.log import AppendResult, Log
from gralha.storage.validation import DONE, BatchCheck
from tests.protocol.malformed_batches import batch as malformed
from tests.storage.disks import QuietDisk
from tests.storage.logs import NOW, make_log

PARTITIONS = 2
HERE, ELSEWHERE = 1, 2
SMALL, LARGE, KEYLESS, BAD, LARGE_BAD = range(5)
COMPACTED = {"cleanup.policy": "compact"}
PADDING = bytes(300_000)
REFUSALS = (ErrorCode.INVALID_RECORD, ErrorCode.NOT_LEADER_OR_FOLLOWER)


class HeldThreads(Executor):
    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, work: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, lambda: work(*args, **options)))
        return future

    def run_one(self, place: int) -> None:
        if not self.waiting:
            return
        future, work = self.waiting.pop(place % len(self.waiting))
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)


class Sent(QueuedBatch):
    """A batch of a client, and its outcome."""

    def __init__(self, leading: Leading, records: RecordBytes, value: bytes, kind: int) -> None:
        super().__init__(leading, records, None)
        self.value = value
        self.kind = kind
        self.epoch = leading.leader_epoch
        self.outcomes: list[int] = []
        self.was_compacted = False  # when it was appended

    def append(self, check: BatchCheck, now_ms: int) -> None:
        try:
            self.leading.append_checked(check, 1, now_ms)
        except KafkaError as error:
            self.refuse(error)
        else:
            self.was_compacted = self.leading.partition.log.config.compact
            self.outcomes.append(ErrorCode.NONE)

    def refuse(self, error: BaseException) -> None:
        assert isinstance(error, KafkaError)
        self.outcomes.append(error.code)


def batch_of(kind: int, value: bytes) -> bytes:
    if kind in (BAD, LARGE_BAD):
        codec = compression.ZSTD if kind == LARGE_BAD else compression.NONE
        return malformed(value + PADDING, 3, NOW, codec)
    if kind == SMALL:
        return encode_batch([Record(b"key", value, NOW)])
    records = [Record(None if kind == KEYLESS else b"key", value, NOW), Record(b"key", PADDING, NOW)]
    return encode_batch(records, compression=compression.ZSTD)


class World:
    def __init__(self, folder: Path) -> None:
        self.checks = Checks(lambda: NOW)
        self.checks._threads.shutdown()
        self.threads = HeldThreads()
        self.checks._threads = self.threads  # type: ignore[assignment]
        self.partitions = []
        self.sent: list[list[Sent]] = [[] for _ in range(PARTITIONS)]
        for index in range(PARTITIONS):
            log = make_log(QuietDisk(), folder / str(index))
            self.partitions.append(Partition("a", bytes(16), index, log, HERE))
            self.lead(index, HERE)

    def lead(self, index: int, leader: int) -> None:
        partition = self.partitions[index]
        partition.change_leader(leader, partition.leader_epoch + 1, [HERE, ELSEWHERE], [HERE])

    def configure(self, index: int, is_compacted: bool) -> None:
        log = self.partitions[index].log
        log.config = log.config.with_overrides(COMPACTED if is_compacted else {"cleanup.policy": "delete"})

    def send(self, index: int, kind: int) -> None:
        leading = self.partitions[index].leading
        if leading is None:
            return
        value = b"%d" % len(self.sent[index])
        data = batch_of(kind, value)
        sent = Sent(leading, RecordBytes(data, 0, len(data)), value, kind)
        self.sent[index].append(sent)
        try:
            sent.check = leading.begin_append(sent.records, 1, NOW)
        except KafkaError as error:
            sent.refuse(error)
            return
        if sent.check is None or not sent.check.is_done:
            self.checks.enqueue(sent)
        else:
            sent.append(sent.check, NOW)

    async def rest(self) -> None:
        """Let all checks and requests end."""
        for _ in range(1000):
            self.threads.run_one(0)
            await asyncio.sleep(0)
            if self.checks.is_idle() and not self.threads.waiting:
                return
        raise AssertionError("it does not end")

    def anomalies(self, index: int) -> set[str]:
        partition, sent = self.partitions[index], self.sent[index]
        found = set()
        if any(len(one.outcomes) != 1 for one in sent):
            found.add("a batch has none, or more than one, outcome")
        if not all(code in (ErrorCode.NONE, *REFUSALS) for one in sent for code in one.outcomes):
            found.add("an unexpected error")
        accepted = [one for one in sent if one.outcomes == [ErrorCode.NONE]]
        if any(one.kind in (BAD, LARGE_BAD) for one in accepted):
            found.add("a batch that cannot be read is accepted")
        if any(one.kind == KEYLESS and one.was_compacted for one in accepted):
            found.add("a record without a key is in a compacted topic")
        in_log = stored(partition)
        if [value for value, _ in in_log] != [one.value for one in accepted]:
            found.add("batches are lost, or in another order")
        elif [epoch for _, epoch in in_log] != [one.epoch for one in accepted]:
            found.add("a batch is acknowledged in another epoch")
        return found


def stored(partition: Partition) -> list[tuple[bytes | None, int]]:
    """The first value of each batch in the log, and the epoch that wrote it."""
    found = []
    log = partition.log
    offset = 0
    while offset < log.log_end_offset:
        records = log.read(offset, 1 << 26, log.log_end_offset, True, True)
        for position, header in batches(records.data, records.start, records.end):
            try:
                value = decode_records(records.data, position, header)[0].value
            except KafkaError:
                value = None
            found.append((value, int(header.partition_leader_epoch)))
            offset = int(header.next_offset)
    return found


INDEXES = st.integers(0, PARTITIONS - 1)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), INDEXES, st.sampled_from([SMALL, LARGE, KEYLESS, BAD, LARGE_BAD])),
        st.tuples(st.just("thread"), st.integers(0, 3), st.none()),
        st.tuples(st.just("turn"), st.integers(1, 4), st.none()),
        st.tuples(st.just("lead"), INDEXES, st.sampled_from([HERE, ELSEWHERE])),
        st.tuples(st.just("configure"), INDEXES, st.booleans()),
    ),
    max_size=40,
)


async def play(folder: Path, events: list[tuple[str, int, Any]]) -> set[str]:
    """The anomalies that these events cause."""
    world = World(folder)
    for event, number, what in events:
        if event == "send":
            world.send(number, what)
        elif event == "thread":
            world.threads.run_one(number)
        elif event == "lead":
            world.lead(number, what)
        elif event == "configure":
            world.configure(number, what)
        else:
            for _ in range(number):
                await asyncio.sleep(0)
    await world.rest()
    found = world.anomalies(0) | world.anomalies(1)
    world.checks.close()
    for partition in world.partitions:
        partition.log.release()
    return found


def anomalies_of(events: list[tuple[str, int, Any]]) -> set[str]:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(play(Path(folder), events))


@given(EVENTS)
def test_any_order_of_events(events: list[tuple[str, int, Any]]) -> None:
    assert anomalies_of(events) == set()


# The model finds bugs that are put back


def append_in_the_next_epoch(patch: pytest.MonkeyPatch) -> None:
    append_checked = Leading.append_checked

    def by_any_leader(self: Leading, check: BatchCheck, acks: int, now_ms: int) -> AppendResult:
        return append_checked(self.partition.led(), check, acks, now_ms)

    patch.setattr(Leading, "refuse_queued", lambda self, error: None)
    patch.setattr(Leading, "append_checked", by_any_leader)


def overtake_the_queue(patch: pytest.MonkeyPatch) -> None:
    def begin_append(self: Leading, records: RecordBytes, acks: int, now_ms: int) -> BatchCheck:
        check = self.partition.log.check(records, now_ms)
        check.begin()
        return check

    patch.setattr(Leading, "begin_append", begin_append)


def believe_old_settings(patch: pytest.MonkeyPatch) -> None:
    append_checked = Log.append_checked

    def as_it_is(self: Log, check: BatchCheck, leader_epoch: int, now_ms: int) -> AppendResult:
        check.config = self.config
        return append_checked(self, check, leader_epoch, now_ms)

    patch.setattr(Leading, "is_current", lambda self, check: True)
    patch.setattr(Log, "append_checked", as_it_is)


def forget_to_refuse(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Checks, "_refuse", lambda self, leading, queued, error: leading.queue.popleft())


def store_what_is_malformed(patch: pytest.MonkeyPatch) -> None:
    def walk(self: BatchCheck) -> bool:
        self.step = DONE
        return True

    patch.setattr(BatchCheck, "walk", walk)


if not leading_module.__file__.endswith(".so"):  # compiled classes cannot be patched

    @pytest.mark.parametrize(
        ("bug", "anomaly"),
        [
            (append_in_the_next_epoch, "a batch is acknowledged in another epoch"),
            (overtake_the_queue, "batches are lost, or in another order"),
            (believe_old_settings, "a record without a key is in a compacted topic"),
            (forget_to_refuse, "a batch has none, or more than one, outcome"),
            (store_what_is_malformed, "a batch that cannot be read is accepted"),
        ],
    )
    def test_a_bug_put_back_is_found(
        bug: Callable[[pytest.MonkeyPatch], None], anomaly: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bug(monkeypatch)
        settings_ = settings(max_examples=3000, database=None, deadline=None, phases=[Phase.generate])
        find(EVENTS, lambda events: anomaly in anomalies_of(events), settings=settings_, random=Random(5))
