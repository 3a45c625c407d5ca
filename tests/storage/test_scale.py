"""Many partitions and long logs: what is opened and read is counted, not timed."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import encode_batch, patched_header
from gralha.storage.config import LogConfig
from gralha.storage.index import OffsetIndex, TimeIndex
from gralha.storage.manager import LogManager
from gralha.storage.segment import segment_path
from tests.storage.disks import QuietDisk
from tests.storage.logs import NOW, TOPIC_ID, append, batch, make_log, offsets

PARTITIONS = 10_000
MAX_OPEN = 128


def open_descriptors(folder: Path) -> int:
    links = Path("/proc/self/fd").iterdir()
    return sum(os.path.lexists(link) and str(folder) in os.readlink(link) for link in links)


def test_ten_thousand_partitions(tmp_path: Path) -> None:
    disk = QuietDisk(MAX_OPEN)
    manager = LogManager(disk, [str(tmp_path)], LogConfig())
    manager.load(NOW, lambda _: {})
    config = LogConfig()
    for partition in range(PARTITIONS):
        log = manager.get_or_create("t", partition, TOPIC_ID, config, NOW)
        if partition % 10 == 0:
            append(log, 3)
    assert open_descriptors(tmp_path) <= MAX_OPEN + 1
    manager.close()

    disk = QuietDisk(MAX_OPEN)
    manager = LogManager(disk, [str(tmp_path)], LogConfig())
    manager.load(NOW, lambda _: {})
    assert len(manager.logs) == PARTITIONS
    assert open_descriptors(tmp_path) <= MAX_OPEN + 1
    reads = Counter(os.path.splitext(path)[1] for path, _ in disk.reads())
    assert reads[".log"] <= 2 * PARTITIONS // 10  # an empty one is not even opened
    assert reads[".snapshot"] == PARTITIONS // 10
    assert sum(reads.values()) <= 2 * PARTITIONS + 4 * PARTITIONS // 10 + 10
    # Idle ones are closed without a word.
    disk.events.clear()
    for partition in range(0, PARTITIONS, 100):
        append(manager.logs["t", partition])
    assert {int(log.log_end_offset) for log in manager.logs.values()} == {0, 3, 4}
    manager.close()
    synced = Counter(path for action, path, _ in disk.events if action == "sync")
    assert len(synced) < PARTITIONS // 100 * 6 + 20


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """10 GB in ten segments: batches of a megabyte of which only the header is on the disk."""
    folder = tmp_path_factory.mktemp("long")
    disk = QuietDisk()
    (folder / "t-0").mkdir()
    size = 1 << 20
    template = bytearray(encode_batch([]))[:61]
    template[8:12] = (size - 12).to_bytes(4, "big")
    template[23:27] = (999).to_bytes(4, "big")  # 1000 records each
    offset = 0
    for _ in range(10):
        base = offset
        paths = [
            segment_path(str(folder / "t-0"), base, suffix) for suffix in (".log", ".index", ".timeindex")
        ]
        for path in paths:
            disk.write_file(path, b"")
        offset_index, time_index = OffsetIndex(disk, paths[1], base), TimeIndex(disk, paths[2], base)
        offset_index.start_empty()
        time_index.start_empty()
        file = disk.open(paths[0])
        for number in range(1024):
            template[35:43] = (NOW + offset).to_bytes(8, "big")
            file.write_at(number * size, patched_header(bytes(template), 0, offset, 0))
            offset_index.append(offset + 999, number * size)
            time_index.append(NOW + offset, offset + 999)
            offset += 1000
        file.truncate(1024 * size)
        offset_index.save(sync=False)
        time_index.save(sync=False)
    return folder


def test_the_middle_of_a_long_log_is_found_by_its_indexes(long_log: Path) -> None:
    disk = QuietDisk()
    log = make_log(disk, long_log, clean=True)
    assert (log.log_end_offset, log.size_bytes()) == (10_240_000, 10 << 30)
    assert sum(length for _, length in disk.reads()) < 200_000  # what opening read
    disk.events.clear()
    for offset in (5_000_500, 0, 10_239_999, 7_777_777):
        disk.events.clear()
        found = log.read(offset, 1 << 20, 10_240_000, True, True)
        first = offset // 1000 * 1000
        assert offsets(found) == [(first, first + 999)]
        data_reads = [length for path, length in disk.reads() if path.endswith(".log")]
        assert sum(data_reads) <= (1 << 20) + 3 * 8192
        assert len(disk.reads()) <= 8
    # Reading on: the position is known.
    disk.events.clear()
    found = log.read(7_778_000, 3 << 20, 10_240_000, True, True)
    assert [first for first, _ in offsets(found)] == [7_778_000, 7_779_000, 7_780_000]
    assert len(disk.reads()) == 1


def test_a_time_in_a_long_log_is_found_by_its_indexes(long_log: Path) -> None:
    disk = QuietDisk()
    log = make_log(disk, long_log, clean=True)
    log.load_timestamps()
    disk.events.clear()
    segment = log.segments[6]
    wanted = NOW + 6_500_000
    assert log.segments[5].largest_timestamp() < wanted <= segment.largest_timestamp()
    headers, _ = segment.scan(segment.offset_index.lookup(segment.time_index.lookup(wanted, True), True))
    assert headers[0][1].base_offset == 6_500_000
    assert sum(length for _, length in disk.reads()) < 100_000


def test_a_follower_takes_many_batches_at_once(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = make_log(disk, tmp_path)
    data = b"".join(batch(1, base_offset=offset, leader_epoch=0) for offset in range(3000))
    disk.events.clear()
    log.append_as_follower(RecordBytes(data, 0, len(data)))
    assert log.log_end_offset == 3000
    assert sum(action == "append" for action, _, _ in disk.events) == 1
