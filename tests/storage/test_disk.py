"""The real disk: appends that fail leave nothing, descriptors stay bounded, locks hold."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from gralha.storage.disk import DiskError
from gralha.storage.real_disk import RealDisk


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """Limit the size of this process's files. The system cuts or refuses a write that is too long."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def open_descriptors(folder: Path) -> int:
    """How many open descriptors of this process belong to files in the folder."""
    return sum(
        link.exists() and link.readlink().is_relative_to(folder) for link in Path("/proc/self/fd").iterdir()
    )


@pytest.mark.parametrize("length", [1, 100, 16 * 1024, 300_000])
def test_what_was_appended_is_read(tmp_path: Path, length: int) -> None:
    file = RealDisk().open(str(tmp_path / "f"), create=True)
    data = os.urandom(length)
    file.append([data[: length // 2], memoryview(data)[length // 2 :]])
    file.append([b"end"])
    assert file.size() == length + 3
    for read in (file.read, file.read_nowait):
        assert read(0, length) == data
        assert read(length // 3, length) == (data + b"end")[length // 3 : length // 3 + length]
        assert read(length, 1000) == b"end"
        assert read(length + 3, 10) == b""


def test_a_failed_append_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = RealDisk().open(str(tmp_path / "f"), create=True)
    file.append([b"a" * 900])
    with file_size_limit(1000), pytest.raises(DiskError, match="append to"):
        file.append([b"b" * 50, b"c" * 200])
    assert (tmp_path / "f").read_bytes() == b"a" * 900
    assert file.size() == 900
    file.append([b"d" * 200])
    assert (tmp_path / "f").read_bytes() == b"a" * 900 + b"d" * 200


def test_descriptors_stay_bounded(tmp_path: Path) -> None:
    disk = RealDisk(max_open_files=8)
    files = [disk.open(str(tmp_path / str(number)), create=True) for number in range(50)]
    for turn in range(3):
        for number, file in enumerate(files):
            file.append([b"%d-%d " % (number, turn)])
            assert open_descriptors(tmp_path) <= 9
    assert (tmp_path / "49").read_bytes() == b"49-0 49-1 49-2 "
    for file in files:
        file.close()
    assert open_descriptors(tmp_path) == 0


def test_threads_share_few_descriptors(tmp_path: Path) -> None:
    """A descriptor that is taken away while a thread reads is not given to another file too early."""
    disk = RealDisk(max_open_files=2)
    files = [disk.open(str(tmp_path / str(number)), create=True) for number in range(20)]
    for number, file in enumerate(files):
        file.append([bytes([number]) * 20_000])

    def read_all(seed: int) -> int:
        wrong = 0
        for turn in range(1500):
            number = (seed + turn * 7) % 20
            data = files[number].read(0, 20_000) if turn % 2 else files[number].read_nowait(0, 20_000)
            wrong += data not in (bytes([number]) * 20_000, None)
        return wrong

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(read_all, range(4))) == [0, 0, 0, 0]
    for file in files:
        file.close()
    assert open_descriptors(tmp_path) == 0


def test_a_file_goes_on_under_its_new_name(tmp_path: Path) -> None:
    disk = RealDisk(max_open_files=1)
    file = disk.open(str(tmp_path / "old"), create=True)
    file.append([b"one"])
    file.rename(str(tmp_path / "new"))
    disk.open(str(tmp_path / "other"), create=True).append([b"x"])  # takes the only descriptor
    file.append([b"two"])
    assert (tmp_path / "new").read_bytes() == b"onetwo"
    assert not (tmp_path / "old").exists()


def test_a_missing_file_is_a_disk_error(tmp_path: Path) -> None:
    disk = RealDisk()
    with pytest.raises(DiskError, match="nowhere"):
        disk.open(str(tmp_path / "nowhere")).read(0, 1)
    assert disk.read_file(str(tmp_path / "nowhere")) is None
    disk.remove(str(tmp_path / "nowhere"))
    disk.sync_file(str(tmp_path / "nowhere"))


def test_one_owner_per_folder(tmp_path: Path) -> None:
    disk = RealDisk()
    lock = disk.lock_folder(str(tmp_path))
    assert lock is not None
    assert disk.lock_folder(str(tmp_path)) is None
    lock.release()
    again = disk.lock_folder(str(tmp_path))
    assert again is not None
    again.release()


def test_atomic_writes_replace(tmp_path: Path) -> None:
    disk = RealDisk()
    disk.write_file_atomically(str(tmp_path / "f"), b"one")
    disk.write_file_atomically(str(tmp_path / "f"), b"two")
    assert os.listdir(tmp_path) == ["f"]
    assert (tmp_path / "f").read_bytes() == b"two"


def blocks_bytes(path: Path) -> int:
    return os.stat(path).st_blocks * 512


def test_a_growing_file_has_room_taken_ahead_and_gives_the_rest_back(tmp_path: Path) -> None:
    file = RealDisk().open(str(tmp_path / "log"), create=True)
    megabyte = bytes(1024 * 1024)
    file.append([megabyte])
    assert blocks_bytes(tmp_path / "log") <= 1024 * 1024 + 8192
    file.append([megabyte])
    assert file.size() == os.stat(tmp_path / "log").st_size == 2 * 1024 * 1024
    assert blocks_bytes(tmp_path / "log") >= 2 * 1024 * 1024 + 256 * 1024
    file.trim()
    assert file.size() == os.stat(tmp_path / "log").st_size == 2 * 1024 * 1024
    assert blocks_bytes(tmp_path / "log") <= 2 * 1024 * 1024 + 8192
    file.append([b"more"])
    assert file.read(2 * 1024 * 1024 - 1, 10) == b"\x00more"


def test_idle_files_are_closed(tmp_path: Path) -> None:
    disk = RealDisk()
    files = [disk.open(f"{tmp_path}/{number}", create=True) for number in range(3)]
    for file in files:
        file.append([b"record"])
    files[0].sync()
    files[1].append([bytes(2 << 20)])
    files[1].append([b"has room reserved ahead"])
    files[1].sync()
    files[1].trim()
    disk.close_idle_files()
    assert len(disk.pool.open_files) == 3, "all were used since the start"
    assert files[0].read(0, 6) == b"record"
    disk.close_idle_files()
    assert list(disk.pool.open_files) == [files[0], files[2]], "one was used, one has writes to be synced"
    files[2].sync()
    disk.close_idle_files()
    disk.close_idle_files()
    assert not disk.pool.open_files
    for file in (files[0], files[2]):
        file.append([b"!"])
        assert file.read(0, 10) == b"record!"
