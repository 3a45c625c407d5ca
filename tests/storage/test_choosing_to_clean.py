"""Which log the cleaner chooses, and when."""

from __future__ import annotations

from gralha.protocol.records import Record
from gralha.storage.cleaning import LogToClean, look_at
from tests.storage.compacted import ROOT, Compacted
from tests.storage.compaction_cases import filled, new
from tests.storage.logs import NOW


def seen(log: Compacted, now_ms: int = NOW) -> LogToClean:
    return look_at(log.log, now_ms)


def test_everything_is_dirty_at_first() -> None:
    log = filled()
    found = seen(log)
    assert (found.first_dirty_offset, found.first_uncleanable_offset) == (0, 40)
    assert (found.dirty_ratio, found.cleanable_bytes) == (1.0, log.log.size_bytes())


async def test_min_cleanable_dirty_ratio() -> None:
    log = filled({"min.cleanable.dirty.ratio": "0.5"})
    assert await log.clean() == 1
    size_bytes = log.log.size_bytes()
    number = 0
    while log.log.size_bytes() <= 2 * size_bytes:
        assert await log.clean() == 0
        log.put(b"new %d" % number, b"x" * 50)
        number += 1
    assert await log.clean() == 1


async def test_what_is_not_flushed_or_not_replicated_is_not_cleaned() -> None:
    log = new()
    for number in range(40):
        log.put(b"%d" % number, b"x" * 50)
    log.log.roll(NOW)
    assert seen(log).cleanable_bytes == 0
    log.log.flush()
    log.log._high_watermark = 20
    bases = log.log.base_offsets
    assert seen(log).first_uncleanable_offset == max(base for base in bases if base <= 20)


def test_min_compaction_lag() -> None:
    log = new({"min.compaction.lag.ms": "100"})
    for number in range(20):
        log.append(Record(b"k", b"x" * 150, NOW + number))
    log.log.roll(NOW)
    log.log.flush()
    segments = log.log.segments
    assert seen(log, NOW + 100).first_uncleanable_offset == 0
    assert seen(log, NOW + 1000).first_uncleanable_offset == 20
    third = segments[3]
    assert seen(log, NOW + 100 + third.base_offset - 1).first_uncleanable_offset == third.base_offset
    log.log.first_dirty_offset = third.base_offset
    assert seen(log, NOW).first_uncleanable_offset == third.base_offset
    assert seen(log, NOW).cleanable_bytes == 0


async def test_max_compaction_lag_overrules_the_ratio() -> None:
    log = new({"min.cleanable.dirty.ratio": "1", "max.compaction.lag.ms": "1000"})
    for number in range(20):
        log.put(b"%d" % number, b"")
    assert await log.clean(NOW + 1000) == 0
    assert await log.clean(NOW + 1001) == 1
    assert await log.clean(NOW + 5000) == 0


async def test_a_checkpoint_that_does_not_fit_the_log_counts_as_none() -> None:
    log = filled()
    log.log.first_dirty_offset = 41
    assert seen(log).first_dirty_offset == 0
    log.log.increment_log_start_offset(10)
    log.log.first_dirty_offset = 5
    assert seen(log).first_dirty_offset == 10
    await log.clean()
    assert log.log.first_dirty_offset == 40


async def test_the_filthiest_log_comes_first() -> None:
    log = filled()
    other = log.manager.get_or_create("u", 0, bytes(16), log.config, NOW)
    other.request_flush = None
    await log.clean()
    for number in range(10):
        log.put(b"%d" % number, b"")
    other.append_as_leader(log.log.read(0, 1, 1, True, True), 0, NOW)
    other.high_watermark = 1
    other.roll(NOW)
    other.flush()
    assert await log.clean() == 2
    assert [job.folder for job, _ in log.worker.passes] == [f"{ROOT}/u-0", f"{ROOT}/t-0"]


async def test_only_compacted_logs_are_cleaned_and_only_if_the_cleaner_is_enabled() -> None:
    assert await filled({"cleanup.policy": "delete"}).clean() == 0
    assert await filled({"cleanup.policy": "compact,delete"}).clean() == 1
    log = filled()
    log.manager.cleaner.settings = log.manager.cleaner.settings._replace(enabled=False)
    assert await log.clean() == 0
