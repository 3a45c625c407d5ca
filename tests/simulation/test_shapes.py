"""Some batches of simulated producers take long to check, and clocks are set. Both really happen."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from gralha.protocol import compression
from gralha.protocol.batches import batches
from gralha.protocol.records import Record, decode_records
from gralha.replication import checking
from gralha.simulation.cluster import Settings, SimulatedCluster, SimulatedNode
from gralha.simulation.nemesis import CLOCK_JUMP_S
from gralha.simulation.presets import QUIET
from gralha.simulation.run import run_seed
from gralha.simulation.shapes import LARGE, MANY_HEADERS, Shapes
from gralha.storage.validation import INLINE_DECOMPRESSED_BYTES, SLICE


def test_every_shape_is_drawn_and_keeps_its_records() -> None:
    shapes = Shapes(Random(1))
    drawn: Counter[tuple[int, int]] = Counter()
    for _ in range(2000):
        shape = shapes.next()
        drawn[shape.codec, len(shape.headers or [])] += 1
    codecs = {compression.NONE, compression.GZIP, compression.SNAPPY, compression.LZ4, compression.ZSTD}
    assert {codec for codec, headers in drawn if headers == 0} == codecs
    assert {codec for codec, headers in drawn if headers == len(LARGE)} == codecs - {compression.NONE}
    assert drawn[compression.NONE, len(MANY_HEADERS)] > 0
    assert drawn[compression.NONE, 0] > 1000
    records = [Record(None, b"a", 5), Record(b"k", b"b", 6)]
    data = next(shape for shape in iter(shapes.next, None) if shape.headers == LARGE).encode(
        records, producer_id=1, producer_epoch=0, base_sequence=0
    )
    ((place, header),) = batches(data, 0, len(data))
    read = decode_records(data, place, header)
    assert [(one.key, one.value, one.timestamp) for one in read] == [(None, b"a", 5), (b"k", b"b", 6)]


def test_shapes_need_threads_and_slices() -> None:
    assert sum(len(value or b"") for _, value in LARGE) > INLINE_DECOMPRESSED_BYTES
    assert len(MANY_HEADERS) > SLICE


def test_batches_of_a_run_are_checked_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = 0
    work = checking._work

    def counted(run: checking.Run) -> None:
        nonlocal worked
        worked += len(run)
        work(run)

    monkeypatch.setattr(checking, "_work", counted)
    report = run_seed(1, Settings(seconds=20))
    assert report.is_good, str(report)
    assert worked > 3


def test_clocks_jump_far_and_nobody_is_fenced_or_elected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only clocks are set in this run, so the checks of a healthy cluster never pause."""
    jumps_ms: list[int] = []
    set_clock = SimulatedCluster.set_clock

    def noted(self: SimulatedCluster, node: SimulatedNode, ahead_ms: int) -> None:
        jumps_ms.append(ahead_ms)
        set_clock(self, node, ahead_ms)

    monkeypatch.setattr(SimulatedCluster, "set_clock", noted)
    report = run_seed(3, replace(QUIET, seconds=120, faults=("clock_jump",), fault_interval_s=5))
    assert report.is_good, str(report)
    assert max(jumps_ms) > 600_000
    assert min(jumps_ms) < -600_000
    assert max(map(abs, jumps_ms)) <= 1000 * CLOCK_JUMP_S[1]
