"""After a failed sync the next process writes again what may not be on the device."""

from random import Random

import pytest

from gralha.simulation.disk import IO_ERROR, HostDisk
from gralha.storage.checkpoints import RECOVERY_POINT_FILE, write_offsets
from gralha.storage.disk import Disk, DiskError
from gralha.storage.failed_sync import MARK, mark_failed_sync, write_unsynced_again

FOLDER = "/data"
OLD = f"{FOLDER}/t-0/{0:020d}.log"
NEW = f"{FOLDER}/t-0/{100:020d}.log"


@pytest.fixture
def host() -> HostDisk:
    return HostDisk(Random(1), lambda: 0, lambda _text, _data: None)


def begin(host: HostDisk) -> Disk:
    """Two segments: one below the recovery point, one whose sync failed."""
    disk = host.mount()
    disk.make_folder(f"{FOLDER}/t-0")
    for path in (OLD, NEW):
        disk.open(path, create=True).append([b"record" * 2000])
    for folder in ("/", FOLDER, f"{FOLDER}/t-0"):
        disk.sync_folder(folder)
    disk.sync_file(OLD)
    write_offsets(disk, f"{FOLDER}/{RECOVERY_POINT_FILE}", {("t", 0): 100})
    host.failing["sync"] = IO_ERROR
    with pytest.raises(DiskError):
        disk.sync_file(NEW)
    host.failing.clear()
    return disk


def after_power_cut(host: HostDisk, path: str) -> bytes | None:
    host.lose_power()
    return host.mount().read_file(path)


def test_a_later_sync_succeeds_and_saves_nothing(host: HostDisk) -> None:
    disk = begin(host)
    disk.sync_file(NEW)
    assert after_power_cut(host, NEW) != b"record" * 2000


def test_what_was_written_again_is_on_the_device(host: HostDisk) -> None:
    mark_failed_sync(begin(host), [FOLDER])
    disk = host.mount()
    write_unsynced_again(disk, [FOLDER])
    assert not disk.exists(f"{FOLDER}/{MARK}")
    assert after_power_cut(host, NEW) == b"record" * 2000


def test_what_was_on_the_device_before_is_left_alone(host: HostDisk) -> None:
    written: list[str] = []
    host.note = lambda text, _data: written.append(text)
    mark_failed_sync(begin(host), [FOLDER])
    written.clear()
    write_unsynced_again(host.mount(), [FOLDER])
    assert not any(OLD in text for text in written)
    assert any(NEW in text for text in written)


def test_without_the_mark_nothing_is_done(host: HostDisk) -> None:
    disk = begin(host)
    write_unsynced_again(disk, [FOLDER])
    assert after_power_cut(host, NEW) != b"record" * 2000


def test_the_mark_stays_if_it_fails_again(host: HostDisk) -> None:
    mark_failed_sync(begin(host), [FOLDER])
    host.failing["sync"] = IO_ERROR
    disk = host.mount()
    with pytest.raises(DiskError):
        write_unsynced_again(disk, [FOLDER])
    assert disk.exists(f"{FOLDER}/{MARK}")
