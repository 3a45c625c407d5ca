"""Apache Kafka's own kafka-dump-log reads every kind of file that a log leaves, and complains of none."""

from __future__ import annotations

from pathlib import Path

import pytest

from gralha.protocol import compression
from gralha.storage.log import Log
from tests.apache.kafka import run_tool
from tests.storage.disks import QuietDisk
from tests.storage.logs import NOW, append, crash, end_transaction, idempotent, make_log

CONFIG = {"segment.bytes": "4000", "index.interval.bytes": "300"}


def fill(log: Log) -> None:
    """Every compression, producers, an open, a committed and aborted transactions, times out of order."""
    for number in range(60):
        append(
            log, number % 4 + 1, epoch=number // 25, timestamp=NOW + number * 7 % 50, compression=number % 5
        )
        idempotent(log, number, producer_id=3, epoch=number // 25)
        idempotent(log, number, producer_id=5, epoch=number // 25, transactional=True)
        if number % 3 == 0:
            end_transaction(log, 5, commit=number % 2 == 0)


@pytest.fixture(scope="module", params=["closed", "recovered"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    disk = QuietDisk()
    log = make_log(disk, tmp_path_factory.mktemp(request.param), CONFIG)
    fill(log)
    if request.param == "recovered":
        log = crash(disk, log, recovery_point=0)
        append(log, epoch=2)
    log.close()
    assert len(log.segments) > 3
    return Path(log.folder)


def dump(folder: Path, pattern: str, *options: str) -> str:
    files = sorted(str(path) for path in folder.glob(pattern))
    assert files
    done = run_tool("kafka-dump-log", *options, "--files", ",".join(files))
    assert complaints(done.stderr) == []
    return done.stdout


def complaints(text: str) -> list[str]:
    """What the tool finds wrong, but for one thing it finds in every file that does not begin at offset 0:

    that -1 is followed by the first offset. Kafka 4.3 begins to compare with -1, whatever the file.
    """
    lines = text.splitlines()
    found = []
    for header, line in zip(lines[::2], lines[1::2], strict=True):
        base = int(Path(header.rpartition(" ")[2]).stem)
        if line.strip() != f"-1 is followed by {base}":
            found += [header, line]
    return found


def test_batches_and_indexes(folder: Path) -> None:
    dumped = dump(folder, "*.*[gx]", "--deep-iteration")  # .log, .index, .timeindex, .txnindex
    assert "isvalid: false" not in dumped
    assert "Mismatch" not in dumped
    assert "Non-consecutive" not in dumped
    batches = [line for line in dumped.splitlines() if line.startswith("baseOffset:")]
    # Each batch begins where the one before it ends.
    ends = [(int(line.split()[1]), int(line.split()[3])) for line in batches]
    assert [first for first, _ in ends[1:]] == [last + 1 for _, last in ends[:-1]]
    assert {line.split("compresscodec: ")[1].split()[0] for line in batches} == set(compression.NAMES)
    assert "endTxnMarker: ABORT" in dumped
    assert "producerId: 5 firstOffset:" in dumped


def test_index_sanity(folder: Path) -> None:
    dumped = dump(folder, "*.*index", "--index-sanity-check")
    for path in folder.glob("*.*index"):
        if path.suffix != ".txnindex" and path.stat().st_size:
            assert f"{path} passed sanity check." in dumped


def test_snapshots(folder: Path) -> None:
    dumped = dump(folder, "*.snapshot")
    assert (
        "producerId: 3 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: OptionalLong.empty"
        in dumped
    )
    assert "producerId: 5" in dumped
    assert "corrupt" not in dumped.lower()
