"""A compacted log for tests, and what is left in it."""

from __future__ import annotations

from typing import Any

from gralha.protocol.batches import BatchHeader
from gralha.protocol.records import read_header
from tests.storage.compacted import ROOT, Compacted, committed, raw_batches
from tests.storage.logs import NOW
from tests.storage.test_crashes import ForgetfulDisk

DAY = 86_400_000


def new(config: dict[str, str] | None = None, **settings: Any) -> Compacted:
    return Compacted(ForgetfulDisk(ROOT), config, **settings)


def headers(log: Compacted) -> list[BatchHeader]:
    return [read_header(data, position) for data, position in raw_batches(log.log)]


def left(log: Compacted) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(int(record.offset), record.key, record.value) for record in committed(log.log)]


def filled(config: dict[str, str] | None = None) -> Compacted:
    log = new(config)
    for number in range(40):
        log.put(b"%d" % number, b"x" * 50)
    log.log.roll(NOW)
    log.log.flush()
    return log
