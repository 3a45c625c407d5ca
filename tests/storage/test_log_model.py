"""The log against a model, which is a list of batches, through random sequences of events.

The model keeps what was written as (first offset, last offset, bytes after the assigned fields, epoch,
timestamps). Whatever the log answers must follow from that list. An unclean end cuts or garbles the files
somewhere above what was flushed; the log must come back with everything flushed and a prefix of the rest.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gralha.protocol.errors import OffsetOutOfRangeError
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import batches
from gralha.storage.config import LogConfig
from gralha.storage.log import Log
from gralha.storage.opening import open_log
from tests.storage.disks import QuietDisk
from tests.storage.logs import NOW, as_records, batch

CONFIG = {
    "segment.bytes": "900",
    "index.interval.bytes": "250",
    "retention.bytes": "2500",
    "retention.ms": "-1",
}
FRACTION = st.floats(0, 1)


class Written:
    def __init__(self, first: int, data: bytes, epoch: int, timestamp: int) -> None:
        header_end = int.from_bytes(data[23:27], "big")
        self.first = first
        self.last = first + header_end
        self.body = data[16:]
        self.size = len(data)
        self.epoch = epoch
        self.timestamp = timestamp


class LogMachine(RuleBasedStateMachine):
    @initialize(compact=st.booleans())
    def begin(self, compact: bool) -> None:
        self.config = LogConfig({**CONFIG, "cleanup.policy": "compact,delete" if compact else "delete"})
        self.folder = tempfile.mkdtemp(prefix="gralha-log-model-")
        self.disk = QuietDisk(max_open_files=4)
        self.model: list[Written] = []
        self.start = 0
        self.end = 0
        self.high_watermark = 0
        self.epoch = 0
        # Per producer: next sequence and the last batch (sequence, count, offset).
        self.producers: dict[int, tuple[int, int, int]] = {}
        self.next_producer = 0
        self.log = self._open(clean=False, recovery_point=0)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.log.release()
            shutil.rmtree(self.folder)

    def _open(self, clean: bool, recovery_point: int) -> Log:
        return open_log(
            self.disk,
            f"{self.folder}/t-0",
            "t",
            0,
            self.config,
            now_ms=NOW,
            log_start_offset=self.start,
            recovery_point=recovery_point,
            clean=clean,
        )

    def _offset(self, fraction: float, low: int, high: int) -> int:
        return low + round((high - low) * fraction)

    def _forget_from(self, offset: int) -> None:
        """The model after a truncation."""
        self.model = [written for written in self.model if written.last < offset]
        self.end = offset
        self.start = min(self.start, offset)
        self.high_watermark = min(self.high_watermark, offset)
        self._restarted()

    def _restarted(self) -> None:
        """The producers after a restart: those whose last batch is still in the log."""
        present = {written.first for written in self.model if written.first >= self.start}
        self.producers = {key: value for key, value in self.producers.items() if value[2] in present}

    # Writing

    @rule(count=st.integers(1, 4), size=st.sampled_from([1, 30, 100]), timestamp=st.integers(0, 30))
    def append(self, count: int, size: int, timestamp: int) -> None:
        data = batch(count, timestamp, size)
        result = self.log.append_as_leader(as_records(data), self.epoch, NOW)
        assert (result.first_offset, result.last_offset) == (self.end, self.end + count - 1)
        self._written(data, timestamp)

    def _written(self, data: bytes, timestamp: int) -> None:
        self.model.append(Written(self.end, data, self.epoch, timestamp))
        self.end = self.model[-1].last + 1

    @rule(gap=st.integers(0, 20), count=st.integers(1, 3))
    def append_as_follower(self, gap: int, count: int) -> None:
        data = batch(count, NOW, base_offset=self.end + gap, leader_epoch=self.epoch)
        self.log.append_as_follower(RecordBytes(data, 0, len(data)))
        self.end += gap
        self._written(data, NOW)

    @rule(known=st.booleans(), count=st.integers(1, 3), choice=st.integers(0, 9))
    def append_idempotent(self, known: bool, count: int, choice: int) -> None:
        if known and self.producers:
            producer_id = sorted(self.producers)[choice % len(self.producers)]
            last_sequence, last_count, _ = self.producers[producer_id]
            sequence = last_sequence + last_count
        else:
            producer_id, sequence = self.next_producer, 0
            self.next_producer += 1
        data = batch(count, NOW, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        result = self.log.append_as_leader(as_records(data), self.epoch, NOW)
        assert (result.duplicate, result.first_offset) == (False, self.end)
        self.producers[producer_id] = (sequence, count, self.end)
        self._written(data, NOW)

    @precondition(lambda self: self.producers)
    @rule(choice=st.integers(0, 9))
    def retry(self, choice: int) -> None:
        producer_id = sorted(self.producers)[choice % len(self.producers)]
        sequence, count, offset = self.producers[producer_id]
        data = batch(count, NOW, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        result = self.log.append_as_leader(as_records(data), self.epoch, NOW)
        assert (result.duplicate, result.first_offset, result.last_offset) == (
            True,
            offset,
            offset + count - 1,
        )

    @rule()
    def new_epoch(self) -> None:
        self.epoch += 1
        self.log.assign_epoch_start(self.epoch, self.end)

    @rule()
    def roll(self) -> None:
        self.log.roll(NOW)

    @rule(fraction=FRACTION)
    def flush(self, fraction: float) -> None:
        offset = self._offset(fraction, self.start, self.end)
        self.log.flush(offset)
        assert self.log.flushed_offset >= offset

    @rule(fraction=FRACTION)
    def advance_high_watermark(self, fraction: float) -> None:
        self.high_watermark = self._offset(fraction, self.high_watermark, self.end)
        self.log.high_watermark = self.high_watermark

    # Forgetting

    @rule(fraction=FRACTION)
    def truncate(self, fraction: float) -> None:
        offset = self._offset(fraction, self.start, self.end)
        assert self.log.truncate_to(offset) == (offset < self.end)
        if offset < self.end:
            self.model = [written for written in self.model if written.last < offset]
            end = self._end_on_disk()
            assert end <= offset
            self._forget_from(end)

    @rule(distance=st.integers(-5, 50))
    def start_anew(self, distance: int) -> None:
        offset = max(self.end + distance, 0)
        self.log.truncate_fully_and_start_at(offset)
        self._forget_from(0)
        self.start = self.end = self.high_watermark = offset

    @rule(fraction=FRACTION)
    def delete_records(self, fraction: float) -> None:
        offset = self._offset(fraction, self.start, self.high_watermark)
        self.log.increment_log_start_offset(offset)
        self.start = max(self.start, offset)

    @rule()
    def apply_retention(self) -> None:
        size_before = self.log.size_bytes()
        self.log.apply_retention(NOW)
        assert self.log.log_start_offset <= max(self.high_watermark, self.start)
        assert (
            self.log.size_bytes() >= min(size_before, 2500 - 900) or self.log.log_start_offset == self.start
        )
        self.start = int(self.log.log_start_offset)

    # Restarting

    @rule()
    def restart(self) -> None:
        self.log.close()
        self.log = self._open(clean=True, recovery_point=0)
        assert self.log.recovery_point == self.end
        self._reopened()

    @rule(kind=st.sampled_from(["whole", "cut", "zeros", "garbage", "flip"]), fraction=FRACTION)
    def crash(self, kind: str, fraction: float) -> None:
        flushed, recovery_point = int(self.log.flushed_offset), int(self.log.recovery_point)
        damaged = self._damage(kind, fraction, max(flushed, recovery_point))
        self.log.release()
        self.log = self._open(clean=False, recovery_point=recovery_point)
        end = int(self.log.log_end_offset)
        assert flushed <= end <= self.end
        assert damaged or end == self.end
        self.model = [written for written in self.model if written.last < end]
        assert end == self._end_on_disk()
        self.end = end
        self._reopened()

    def _end_on_disk(self) -> int:
        """The end of the last batch, or where the empty last segment begins."""
        return max(
            [
                *(written.last + 1 for written in self.model),
                int(self.log.segments[-1].base_offset),
                self.start,
            ]
        )

    def _damage(self, kind: str, fraction: float, safe_offset: int) -> bool:
        """Damage the files above the offset. Returns whether batches may be lost."""
        for segment in self.log.segments[-1:]:
            Path(segment.file_path(".index")).write_bytes(b"rub")
        unsafe: list[tuple[Path, int, int]] = []
        for segment in self.log.segments:
            path = Path(segment.file_path(".log"))
            data = path.read_bytes()
            for position, header in batches(data, 0, len(data)):
                if header.last_offset >= safe_offset:
                    unsafe.append((path, position, int(header.size_bytes)))
        if kind in ("zeros", "garbage"):
            path = Path(self.log.active.file_path(".log"))
            path.write_bytes(path.read_bytes() + (b"\0" * 300 if kind == "zeros" else b"\xa5" * 7))
            return False
        if kind == "whole" or not unsafe:
            return False
        path, position, size = unsafe[min(int(fraction * len(unsafe)), len(unsafe) - 1)]
        harmed = bytearray(path.read_bytes())
        if kind == "cut":
            # In a compacted log, whole batches that are missing look like a gap.
            del harmed[position + max(int(fraction * size), int(self.config.compact)) :]
        else:
            harmed[position + 17 + int(fraction * (size - 18))] ^= 1
        path.write_bytes(harmed)
        return True

    def _reopened(self) -> None:
        self.high_watermark = max(self.start, min(self.high_watermark, self.end))
        self.log.high_watermark = self.high_watermark
        self._restarted()

    # Reading

    @rule(fraction=FRACTION, end_fraction=FRACTION, max_bytes=st.integers(0, 1500), min_one=st.booleans())
    def read(self, fraction: float, end_fraction: float, max_bytes: int, min_one: bool) -> None:
        offset = self._offset(fraction, self.start, self.end)
        end_offset = self._offset(end_fraction, self.start, self.end)
        found = self.log.read(offset, max_bytes, end_offset, min_one, fraction > 0.5)
        visible = (
            [w for w in self.model if w.last >= offset and w.last < end_offset] if offset < end_offset else []
        )
        got = batches(found.data, found.start, found.end)
        for (position, header), written in zip(got, visible, strict=False):
            assert (header.base_offset, header.partition_leader_epoch) == (written.first, written.epoch)
            assert found.data[position + 16 : position + int(header.size_bytes)] == written.body
        assert len(got) <= len(visible)
        if visible and (min_one or visible[0].size <= max_bytes):
            assert got
        assert found.size() <= max(max_bytes, visible[0].size if visible and min_one else 0)

    @rule(outside=st.integers(1, 5))
    def read_outside(self, outside: int) -> None:
        for offset in (self.start - outside, self.end + outside):
            with pytest.raises(OffsetOutOfRangeError):
                self.log.read(offset, 100, self.end, True, True)

    @rule(timestamp=st.integers(0, 31))
    def search_by_time(self, timestamp: int) -> None:
        found = self.log.offset_for_timestamp(timestamp)
        expected = None
        for written in self.model:
            if written.last >= self.start and written.timestamp >= timestamp:
                expected = (written.timestamp, max(written.first, self.start), written.epoch)
                break
        assert found == expected

    @invariant()
    def offsets_agree(self) -> None:
        if not hasattr(self, "folder"):
            return
        log = self.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start, self.end)
        assert log.high_watermark == self.high_watermark
        assert log.recovery_point <= log.flushed_offset <= self.end
        bases = [int(segment.base_offset) for segment in log.segments]
        assert bases == sorted(set(bases))
        assert bases[0] <= self.start
        assert log.base_offsets == bases
        epochs = [(w.epoch, w.first) for w in self.model if w.last >= self.start]
        for epoch in {epoch for epoch, _ in epochs}:
            later = [first for other, first in epochs if other > epoch]
            assert log.end_offset_for_epoch(epoch)[1] <= (later[0] if later else self.end)


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(
    max_examples=150,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
