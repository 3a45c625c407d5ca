"""Power cuts at any moment of a compaction: the log loses nothing that matters, and stays in order.

The disk forgets what was not synced. Of the changes of a folder since its last sync any may be lost, but each
of them happened as a whole or not at all: a rename never leaves a file without a name.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import pytest

from gralha.protocol.records import Record
from gralha.storage.disk import DiskError
from tests.raft.memory_disk import Inode, _survivor
from tests.storage.compacted import ROOT, Compacted, committed, content
from tests.storage.logs import NOW
from tests.storage.test_crashes import ForgetfulDisk


class JournalDisk(ForgetfulDisk):
    def __init__(self, root: str = ROOT) -> None:
        super().__init__(root)
        # The changes of folders since they were synced: the new name, the old one, and the file.
        self.pending: list[tuple[str | None, str | None, Inode | None]] = []

    def open(self, path: str, create: bool = False) -> Any:
        is_new = create and path not in self.entries
        file = super().open(path, create)
        if is_new:
            self.pending.append((path, None, self.entries[path]))
        return file

    def write_file(self, path: str, data: bytes) -> None:
        super().write_file(path, data)
        self.pending.append((path, None, self.entries[path]))

    def make_folder(self, path: str) -> None:
        is_new = not self.exists(path)
        super().make_folder(path)
        if is_new:
            self.pending.append((path, None, self.entries[path]))

    def rename(self, path: str, new_path: str) -> None:
        super().rename(path, new_path)
        self.pending.append((new_path, path, None))

    def remove(self, path: str) -> None:
        if path in self.entries:
            super().remove(path)
            self.pending.append((None, path, None))

    def sync_folder(self, path: str) -> None:
        super().sync_folder(path)
        self.pending = [
            change for change in self.pending if (change[0] or change[1] or "").rpartition("/")[0] != path
        ]

    def crash(self, random: Random) -> JournalDisk:
        entries = dict(self.durable)
        chance = random.choice((0.0, 0.3, 0.7, 0.95, 1.0))
        for new_path, old_path, inode in self.pending:
            if random.random() < chance and (old_path is None or old_path in entries):
                moved = inode if old_path is None else entries.pop(old_path)
                if new_path is not None:
                    entries[new_path] = moved
        after = JournalDisk(self.root)
        for path, inode in entries.items():
            folder = path.rpartition("/")[0]
            if folder == self.root or folder in entries:
                after.entries[path] = after.durable[path] = _survivor(inode, random)
        return after


class Written:
    """All records that were written in all rounds, by offset."""

    def __init__(self) -> None:
        self.records: dict[int, object] = {}

    def fill(self, log: Compacted, random: Random, batches_max: int = 25) -> None:
        for _ in range(random.randint(5, batches_max)):
            records = [
                Record(b"%d" % random.randrange(6), random.randbytes(random.randrange(60)), NOW)
                for _ in range(random.randint(1, 3))
            ]
            first = log.append(*records, compression=random.randrange(5)).first_offset
            self.records.update({first + number: content(one) for number, one in enumerate(records)})
            if random.random() < 0.3:
                log.log.roll(NOW)
        log.log.flush()
        log.manager._checkpoints.collect(log.manager.logs)()

    def check(self, log: Compacted, is_clean: bool = False) -> None:
        found = {int(record.offset): content(record) for record in committed(log.log)}
        newest = {self.records[offset][0]: offset for offset in sorted(self.records)}  # type: ignore[index]
        assert list(found) == sorted(found)
        assert found.items() <= self.records.items()
        assert found.keys() >= set(newest.values())
        if is_clean:
            assert found.keys() == set(newest.values())
        assert log.log.log_end_offset == max(self.records) + 1
        assert log.log.log_start_offset == 0
        ends = [segment.read_next_offset() for segment in log.log.segments[:-1]]
        assert all(end <= base for end, base in zip(ends, log.log.base_offsets[1:], strict=True))


async def clean(log: Compacted) -> None:
    with suppress(DiskError):  # with which the broker ends
        await log.clean()


def journal(log: Compacted) -> JournalDisk:
    assert isinstance(log.disk, JournalDisk)
    return log.disk


def lost_power(log: Compacted, random: Random) -> Compacted:
    log.manager.release()
    return started(journal(log).crash(random), random)


def started(disk: JournalDisk, random: Random) -> Compacted:
    # With the smaller one, a turn takes several passes.
    return Compacted(disk, dedupe_buffer_bytes=random.choice((500, 10**6)))


async def filled(seed: int) -> tuple[Compacted, Written, Random]:
    """A log that has been cleaned once and is dirty again."""
    random = Random(seed)
    log, written = started(JournalDisk(), random), Written()
    written.fill(log, random, 10)
    await log.clean()
    written.fill(log, random, 10)
    log.log.roll(NOW)
    log.log.flush()
    return log, written, random


@pytest.mark.parametrize("seed", range(4))
async def test_power_goes_at_each_operation(seed: int) -> None:
    log, written, _ = await filled(seed)
    before = len(journal(log).operations)
    await log.clean()
    written.check(log, is_clean=True)
    operations = range(before + 1, len(journal(log).operations) + 2)
    assert len(operations) > 20
    for operation in operations:
        log, written, random = await filled(seed)
        journal(log).fail_at = operation
        await clean(log)
        for _ in range(2):
            log = lost_power(log, random)
            written.check(log)
        await log.clean()
        written.check(log, is_clean=True)


@pytest.mark.parametrize("seed", range(20))
async def test_power_goes_again_and_again(seed: int) -> None:
    random = Random(seed)
    log, written = started(JournalDisk(), random), Written()
    for _ in range(6):
        written.fill(log, random)
        journal(log).fail_at = len(journal(log).operations) + random.randint(1, 120)
        await clean(log)
        log = lost_power(log, random)
        written.check(log)
    await log.clean()
    written.check(log, is_clean=True)


@pytest.mark.parametrize("seed", range(4))
async def test_power_goes_while_a_start_finishes_a_swap(seed: int) -> None:
    log, written, random = await filled(seed)
    before = len(journal(log).operations)
    await log.clean()
    swapping = next(
        number
        for number, (action, path) in enumerate(journal(log).operations)
        if number >= before and action == "rename" and path.endswith(".log")
    )
    log, written, random = await filled(seed)
    # The first of the old segments is renamed, and no more.
    journal(log).fail_at = swapping + 2
    await clean(log)
    log.manager.release()
    disk = journal(log).crash(Random(seed))
    assert any(name.endswith(".swap") for name in disk.list_folder(f"{ROOT}/t-0"))
    for operation in range(1, 60):
        copy = disk.crash(Random(0))  # all of it is durable
        copy.fail_at = operation
        try:
            Compacted(copy)
        except DiskError:
            written.check(Compacted(copy.crash(random)))
        else:
            return
    pytest.fail("a start has that many operations?")
