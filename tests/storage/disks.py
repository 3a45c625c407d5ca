"""Disks for tests: the real one, with something added. They also stand in front of a compiled `RealDisk`."""

from __future__ import annotations

from collections.abc import Callable

from gralha.protocol.primitives import Stored
from gralha.storage.disk import Disk, DiskError, File, FolderLock
from gralha.storage.real_disk import RealDisk


class WrappedFile(File):
    def __init__(self, disk: QuietDisk, path: str, file: File) -> None:
        self.disk = disk
        self.path = path
        self.file = file

    def append(self, chunks: list[bytes | memoryview]) -> None:
        self.disk.note("append", self.path)
        self.file.append(chunks)

    def read(self, position: int, length: int) -> bytes:
        self.disk.note("read", self.path, length)
        data = self.file.read(position, length)
        if self.disk.after_read is not None:
            self.disk.after_read(self.path)
        return data

    def read_nowait(self, position: int, length: int) -> bytes | None:
        self.disk.note("read", self.path, length)
        if self.disk.cold:
            return None
        return self.file.read_nowait(position, length)

    def stored(self, position: int, length: int) -> Stored | None:
        return None if self.disk.cold else self.file.stored(position, length)

    def write_at(self, position: int, data: bytes) -> None:
        self.file.write_at(position, data)

    def truncate(self, size_bytes: int) -> None:
        self.file.truncate(size_bytes)

    def sync(self) -> None:
        self.disk.note("sync", self.path)

    def size(self) -> int:
        return self.file.size()

    def modified_ms(self) -> int:
        return self.file.modified_ms()

    def rename(self, path: str) -> None:
        self.disk.note("rename", self.path)
        self.file.rename(path)
        self.path = path

    def close(self) -> None:
        self.file.close()

    def retire(self) -> None:
        self.file.retire()


class QuietDisk(Disk):
    """Does not sync, but notes what was done: (action, path, bytes). Reads without waiting fail if `cold`."""

    def __init__(self, max_open_files: int = 256) -> None:
        self.real = RealDisk(max_open_files)
        self.events: list[tuple[str, str, int]] = []
        self.cold = False
        # Called with each action and path before it is done; may raise.
        self.before: Callable[[str, str], None] | None = None
        # Called with the path after each read that may wait: what others do beside a thread that reads.
        self.after_read: Callable[[str], None] | None = None

    def note(self, action: str, path: str, length: int = 0) -> None:
        if self.before is not None:
            self.before(action, path)
        self.events.append((action, path, length))

    def reads(self) -> list[tuple[str, int]]:
        """The reads since `events` was emptied."""
        return [(path, length) for action, path, length in self.events if action == "read"]

    def open(self, path: str, create: bool = False) -> File:
        return WrappedFile(self, path, self.real.open(path, create))

    def exists(self, path: str) -> bool:
        return self.real.exists(path)

    def list_folder(self, path: str) -> list[str]:
        return self.real.list_folder(path)

    def list_folders(self, path: str) -> list[str]:
        return self.real.list_folders(path)

    def make_folder(self, path: str) -> None:
        self.real.make_folder(path)

    def rename(self, path: str, new_path: str) -> None:
        self.note("rename", path)
        self.real.rename(path, new_path)

    def remove(self, path: str) -> None:
        self.note("remove", path)
        self.real.remove(path)

    def remove_folder(self, path: str) -> None:
        self.note("remove", path)
        self.real.remove_folder(path)

    def sync_folder(self, path: str) -> None:
        self.note("sync", path)

    def sync_file(self, path: str) -> None:
        self.note("sync", path)

    def read_file(self, path: str) -> bytes | None:
        self.note("read", path)
        return self.real.read_file(path)

    def write_file(self, path: str, data: bytes) -> None:
        self.note("write", path)
        self.real.write_file(path, data)

    def usage(self, path: str) -> tuple[int, int]:
        return self.real.usage(path)

    def lock_folder(self, path: str) -> FolderLock | None:
        return self.real.lock_folder(path)


def failing(action: str, ending: str) -> Callable[[str, str], None]:
    """For `QuietDisk.before`: that action on paths with that ending fails."""

    def before(done: str, path: str) -> None:
        if done == action and path.endswith(ending):
            raise DiskError(action, path, "the test says so")

    return before
