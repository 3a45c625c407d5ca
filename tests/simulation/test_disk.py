"""What a simulated disk keeps after a power cut, and what it loses."""

from collections.abc import Callable
from random import Random

import pytest

from gralha.simulation.disk import IO_ERROR, PAGE_BYTES, HostDisk, SimulatedDisk
from gralha.storage.disk import DiskError


def new_disk(seed: int = 0) -> tuple[HostDisk, SimulatedDisk]:
    host = HostDisk(Random(seed), lambda: 7, lambda _text, _data: None)
    disk = host.mount()
    disk.make_folder("/d")
    disk.sync_folder("/")
    return host, disk


def outcomes(
    prepare: Callable[[SimulatedDisk], None], look: Callable[[SimulatedDisk], object]
) -> set[object]:
    """All possible states after a power cut."""
    found = set()
    for seed in range(60):
        host, disk = new_disk(seed)
        prepare(disk)
        host.lose_power()
        found.add(look(host.mount()))
    return found


def test_a_process_that_dies_loses_nothing() -> None:
    host, disk = new_disk()
    disk.open("/d/f", create=True).append([b"ab", memoryview(b"cd")])
    host.process_died()
    assert host.mount().read_file("/d/f") == b"abcd"


def test_a_dead_process_writes_nothing() -> None:
    host, disk = new_disk()
    file = disk.open("/d/f", create=True)
    host.process_died()
    with pytest.raises(DiskError, match="dead"):
        file.append([b"late"])
    with pytest.raises(DiskError, match="dead"):
        disk.write_file("/d/f", b"late")


def test_what_was_synced_survives_a_power_cut() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        file = disk.open("/d/f", create=True)
        file.append([b"kept"])
        file.sync()
        disk.sync_folder("/d")

    assert outcomes(prepare, lambda disk: disk.read_file("/d/f")) == {b"kept"}


def test_an_entry_that_was_not_synced_may_be_gone() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        file = disk.open("/d/f", create=True)
        file.append([b"kept"])
        file.sync()

    assert outcomes(prepare, lambda disk: disk.read_file("/d/f")) == {None, b"kept"}


def test_bytes_that_were_not_synced_survive_in_part_and_page_by_page() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        file = disk.open("/d/f", create=True)
        file.append([b"s" * 10])
        file.sync()
        disk.sync_folder("/d")
        file.append([b"x" * 3 * PAGE_BYTES])

    found = outcomes(prepare, lambda disk: disk.read_file("/d/f"))
    sizes = {len(data) for data in found if isinstance(data, bytes)}
    assert all(isinstance(data, bytes) and data[:10] == b"s" * 10 for data in found)
    assert {10, 10 + 3 * PAGE_BYTES} < sizes
    holes = [data for data in found if isinstance(data, bytes) and b"\0x" in data]
    assert holes, "a later page was written, an earlier one was not"


def test_a_file_is_replaced_as_a_whole() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        disk.write_file_atomically("/d/f", b"old")
        disk.write_file("/d/f.tmp", b"new")
        disk.sync_file("/d/f.tmp")
        disk.rename("/d/f.tmp", "/d/f")

    assert outcomes(prepare, lambda disk: disk.read_file("/d/f")) == {b"old", b"new"}


def test_without_a_sync_before_the_rename_the_new_file_may_be_empty() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        disk.write_file_atomically("/d/f", b"old")
        disk.write_file("/d/f.tmp", b"new")
        disk.rename("/d/f.tmp", "/d/f")
        disk.sync_folder("/d")

    assert b"" in outcomes(prepare, lambda disk: disk.read_file("/d/f"))


def test_a_folder_is_renamed_with_its_content_or_not_at_all() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        disk.make_folder("/d/a")
        disk.write_file_atomically("/d/a/f", b"1")
        disk.sync_folder("/d")
        disk.rename("/d/a", "/d/b")

    def look(disk: SimulatedDisk) -> object:
        return disk.read_file("/d/a/f"), disk.read_file("/d/b/f")

    assert outcomes(prepare, look) == {(b"1", None), (None, b"1")}


def test_a_removed_folder_may_come_back_with_all_it_had() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        disk.make_folder("/d/a")
        disk.write_file_atomically("/d/a/f", b"1")
        disk.sync_folder("/d")
        disk.remove_folder("/d/a")

    assert outcomes(prepare, lambda disk: disk.read_file("/d/a/f")) == {None, b"1"}


def test_a_truncation_that_was_not_synced_may_be_undone() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        file = disk.open("/d/f", create=True)
        file.append([b"abcd"])
        file.sync()
        disk.sync_folder("/d")
        file.truncate(2)

    assert outcomes(prepare, lambda disk: disk.read_file("/d/f")) == {b"ab", b"abcd"}


def test_a_full_disk_takes_nothing_and_leaves_what_is_there() -> None:
    host, disk = new_disk()
    file = disk.open("/d/f", create=True)
    file.append([b"ab"])
    host.is_full = True
    for work in (
        lambda: file.append([b"cd"]),
        lambda: disk.write_file("/d/g", b"1"),
        lambda: disk.open("/d/h", create=True),
        lambda: disk.make_folder("/d/i"),
    ):
        with pytest.raises(DiskError, match="No space left") as raised:
            work()
        assert not raised.value.is_fatal
    assert disk.usage("/d")[1] == 0
    assert (file.read(0, 9), disk.list_folder("/d")) == (b"ab", ["f"])
    host.heal()
    file.append([b"cd"])
    assert file.size() == 4


def test_after_a_failed_sync_later_ones_succeed_and_the_bytes_are_lost() -> None:
    host, disk = new_disk()
    file = disk.open("/d/f", create=True)
    file.sync()
    disk.sync_folder("/d")
    file.append([b"lost"])
    host.failing["sync"] = IO_ERROR
    with pytest.raises(DiskError) as raised:
        file.sync()
    assert raised.value.is_fatal
    host.heal()
    assert file.read(0, 9) == b"lost"
    file.append([b"kept"])
    file.sync()
    host.lose_power()
    assert host.mount().read_file("/d/f") == b"\0\0\0\0kept"


def test_the_cache_lacks_some_bytes() -> None:
    _, disk = new_disk()
    file = disk.open("/d/f", create=True)
    file.append([b"ab"])
    answers = {file.read_nowait(0, 2) for _ in range(1000)}
    assert answers == {None, b"ab"}
    assert file.modified_ms() == 7


def test_a_folder_has_one_owner_until_the_process_ends() -> None:
    host, disk = new_disk()
    lock = disk.lock_folder("/d")
    assert lock is not None
    assert disk.lock_folder("/d") is None
    lock.release()
    assert disk.lock_folder("/d") is not None
    assert host.mount().lock_folder("/d") is not None
