"""Apache Kafka's own kafka-dump-log reads what compaction leaves, and finds nothing wrong but the gaps."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from gralha.protocol.records import Record
from gralha.storage.real_disk import RealDisk
from tests.apache.kafka import run_tool
from tests.storage.compacted import Compacted, committed, raw_batches
from tests.storage.logs import NOW


def fill(log: Compacted, rounds: int) -> None:
    """Every compression, tombstones, headers, producers, committed and aborted transactions."""
    for number in range(rounds):
        records = [
            Record(b"%d" % (number * 7 % 5), b"v" * 30, NOW - 90 + number, [("h", b"x")]),
            Record(b"gone %d" % (number % 4), None if number % 3 else b"", NOW),
        ]
        log.append(*records, compression=number % 5)
        log.put(b"once %d" % number, b"x", compression=number % 5)
        sequence = number % rounds
        log.put(b"own", b"%d" % number, producer_id=3, producer_epoch=0, base_sequence=sequence)
        log.put(b"own", b"t", producer_id=5, producer_epoch=0, base_sequence=sequence, transactional=True)
        if number % 3 == 0:
            log.end_transaction(5, commit=number % 2 == 0)
    log.end_transaction(5, commit=True)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Compacted:
    log = Compacted(
        RealDisk(),
        {"segment.bytes": "4000", "index.interval.bytes": "300"},
        root=str(tmp_path_factory.mktemp("compacted")),
    )

    async def clean() -> None:
        await log.clean(NOW)
        log.put(b"dirt", b"")
        await log.clean(NOW + 10)

    fill(log, 60)
    asyncio.run(clean())
    log.log.close()
    return log


def dump(log: Compacted, pattern: str, *options: str) -> tuple[str, str]:
    files = sorted(str(path) for path in Path(log.log.folder).glob(pattern))
    assert files
    done = run_tool("kafka-dump-log", *options, "--files", ",".join(files))
    return done.stdout, done.stderr


def test_it_finds_every_batch_and_nothing_wrong_but_gaps(log: Compacted) -> None:
    dumped, complaints = dump(log, "*.*[gx]", "--deep-iteration")
    assert "isvalid: false" not in dumped
    assert "Mismatch" not in dumped
    lines = [line for line in complaints.splitlines() if "is followed by" not in line]
    assert all("Non-consecutive offsets" in line for line in lines)
    log.log.closed = False
    ours = [(int.from_bytes(data[at : at + 8], "big")) for data, at in raw_batches(log.log)]
    records = [int(record.offset) for record in committed(log.log)]
    log.log.closed = True
    batches = [line for line in dumped.splitlines() if line.startswith("baseOffset:")]
    assert [int(line.split()[1]) for line in batches] == ours
    assert any(f"deleteHorizonMs: OptionalLong[{NOW + 1000}]" in line for line in batches)
    assert any("count: 0" in line for line in batches)
    theirs = [int(offset) for offset in re.findall(r"^\| offset: (\d+) .*keySize", dumped, re.MULTILINE)]
    assert set(records) <= set(theirs)
    assert len(log.log.segments) > 1


def test_it_finds_the_indexes_sane(log: Compacted) -> None:
    dumped, complaints = dump(log, "*.*index", "--index-sanity-check")
    assert complaints == ""
    for path in Path(log.log.folder).glob("*.*index"):
        if path.suffix != ".txnindex" and path.stat().st_size:
            assert f"{path} passed sanity check." in dumped
