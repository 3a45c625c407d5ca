"""Random histories of a compacted log against a model of what must be left of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from gralha.protocol.records import Record, decode_records, read_header
from gralha.storage.log import AppendResult
from tests.storage.compacted import Compacted, Model, committed, content, raw_batches
from tests.storage.logs import NOW
from tests.storage.test_crashes import ForgetfulDisk

KEYS = st.sampled_from([b"a", b"b", b"c", b"", b"long" * 20, b"long" * 20 + b"er"])
VALUES = st.none() | st.binary(max_size=40)
HEADERS = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2)
RECORDS = st.builds(Record, KEYS, VALUES, st.integers(NOW - 50, NOW), HEADERS)


@dataclass
class Write:
    records: list[Record]
    compression: int
    # 0 is nobody; 3 writes in transactions.
    producer: int


@dataclass
class End:
    commit: bool


@dataclass
class Clean:
    after_ms: int


@dataclass
class Restart:
    clean: bool


WRITES = st.builds(Write, st.lists(RECORDS, min_size=1, max_size=5), st.integers(0, 4), st.integers(0, 3))
STEPS = st.lists(
    st.one_of(
        WRITES,
        WRITES,
        WRITES,
        st.builds(End, st.booleans()),
        st.builds(Clean, st.sampled_from([0, 999, 1000])),
        st.builds(Restart, st.booleans()),
    ),
    max_size=25,
)


@dataclass
class History:
    log: Compacted
    model: Model = field(default_factory=Model)
    now_ms: int = NOW
    sequences: dict[int, int] = field(default_factory=dict)
    # The last batch of each producer, to be sent again.
    last: dict[int, tuple[Write, AppendResult]] = field(default_factory=dict)
    open: list[tuple[int, list[Record]]] = field(default_factory=list)

    def options(self, write: Write, sequence: int) -> dict[str, object]:
        if not write.producer:
            return {"compression": write.compression}
        return {
            "compression": write.compression,
            "producer_id": write.producer,
            "producer_epoch": 0,
            "base_sequence": sequence,
            "transactional": write.producer == 3,
        }

    def write(self, write: Write) -> None:
        sequence = self.sequences.get(write.producer, 0)
        result = self.log.append(*write.records, **self.options(write, sequence))
        self.sequences[write.producer] = sequence + len(write.records)
        self.last[write.producer] = (write, result)
        if write.producer == 3:
            self.open.append((int(result.first_offset), write.records))
        else:
            self.model.add(int(result.first_offset), write.records)

    def end(self, commit: bool) -> None:
        if self.open:
            self.log.end_transaction(3, commit)
            for offset, records in self.open if commit else []:
                self.model.add(offset, records)
            self.open = []

    async def clean(self, after_ms: int) -> None:
        self.now_ms += after_ms
        await self.log.clean(self.now_ms)
        for job, result in self.log.worker.passes:
            self.model.clean(job, result.end_offset)

    def check_aborted(self) -> None:
        """Of aborted transactions no record is left where compaction has been."""
        visible = {int(record.offset) for record in committed(self.log.log)}
        for data, position in raw_batches(self.log.log):
            header = read_header(data, position)
            if not header.is_control and header.next_offset <= self.log.log.first_dirty_offset:
                assert visible.issuperset(int(one.offset) for one in decode_records(data, position, header))

    def restart(self, clean: bool) -> None:
        """A broker that ended well, or was killed (the system lives on: all that was written is there)."""
        disk, log = self.log.disk, self.log.log
        end_offset, first_dirty = log.log_end_offset, log.first_dirty_offset
        if clean:
            self.log.manager.close()
        else:
            self.log.manager._checkpoints.collect(self.log.manager.logs)()
            self.log.manager.release()
        settings = self.log.manager.cleaner.settings
        self.log = Compacted(disk, dedupe_buffer_bytes=settings.dedupe_buffer_bytes)
        assert self.log.log.log_end_offset == end_offset
        assert self.log.log.first_dirty_offset == first_dirty

    def restart_from_batches(self) -> None:
        """As a replica that has fetched the log knows it: all that is not in the batches is forgotten."""
        self.log.manager.release()
        disk = self.log.disk
        for name in disk.list_folder("/d/t-0"):
            if not name.endswith(".log"):
                disk.remove(f"/d/t-0/{name}")
        for name in ("recovery-point-offset-checkpoint", "cleaner-offset-checkpoint"):
            disk.remove(f"/d/{name}")
        self.log = Compacted(disk)

    def check(self) -> None:
        log = self.log.log
        started = {offset for offset, records in self.open for offset in range(offset, offset + len(records))}
        for offset in range(int(log.log_end_offset) + 1):
            found = [(int(one.offset), content(one)) for one in committed(log, offset)]
            assert [one for one in found if one[0] not in started] == self.model.left(offset)
        assert log.log_start_offset == 0

    def check_producers(self) -> None:
        """A retry of a producer's last batch is recognised, and the next one fits."""
        for producer, (write, result) in self.last.items():
            if producer:
                sequence = self.sequences[producer]
                again = self.log.append(*write.records, **self.options(write, sequence - len(write.records)))
                assert (again.duplicate, again.first_offset) == (True, result.first_offset)
                self.write(Write([Record(b"a", b"next", NOW)], 0, producer))


async def run(steps: list[object], map_bytes: int) -> None:
    history = History(Compacted(ForgetfulDisk("/d"), dedupe_buffer_bytes=map_bytes))
    for step in steps:
        end_offset = history.log.log.log_end_offset
        match step:
            case Write():
                history.write(step)
            case End(commit):
                history.end(commit)
            case Clean(after_ms):
                await history.clean(after_ms)
                assert history.log.log.log_end_offset == end_offset
                history.check()
            case Restart(clean):
                history.restart(clean)
                history.check()
    # Whatever is dirty is cleaned, and whatever waits for its horizon has waited long enough.
    for _ in range(2):
        await history.clean(2000)
        history.write(Write([Record(b"dirt", b"", NOW)], 0, 0))
        history.check()
    history.check_aborted()
    history.restart_from_batches()
    history.check()
    history.check_producers()
    history.check()
    history.log.manager.release()


@settings(max_examples=150, deadline=None)
@given(STEPS, st.sampled_from([1, 500, 10**6]))
def test_what_is_left(steps: list[object], map_bytes: int) -> None:
    asyncio.run(run(steps, map_bytes))
