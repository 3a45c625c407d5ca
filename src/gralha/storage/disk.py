"""The files of the operating system, as storage sees them.

Storage uses files only through a `Disk` and the `File`s that it opens. `real_disk.py` has the real ones. A
simulation replaces the disk by one that loses unsynced data and tears the last write.
"""

from __future__ import annotations

import os
import threading

from mypy_extensions import mypyc_attr

from gralha.protocol.primitives import Stored


class DiskError(Exception):
    """A file operation failed. After a failed sync the broker stops: nobody knows what is on the disk."""

    def __init__(self, action: str, path: str, reason: object) -> None:
        super().__init__(f"Cannot {action} {path}: {reason}")
        self.action = action
        self.path = path
        self.reason = str(reason)
        # Every other operation may be tried again.
        self.is_fatal = action == "sync"


class WouldBlock(Exception):  # noqa: N818 - not an error: the caller repeats the read in a thread
    """The page cache does not have the bytes."""


@mypyc_attr(allow_interpreted_subclasses=True)
class File:
    """One file. Writes go to its end. `write_at` is for tests and repairs."""

    def append(self, chunks: list[bytes | memoryview]) -> None:
        """Write all chunks to the end in one call. After an error the file has its old size."""
        raise NotImplementedError

    def read(self, position: int, length: int) -> bytes:
        """Read `length` bytes, fewer only at the end of the file. May wait for the disk."""
        raise NotImplementedError

    def read_nowait(self, position: int, length: int) -> bytes | None:
        """As `read`, but returns None if the bytes are not in the page cache."""
        raise NotImplementedError

    def stored(self, position: int, length: int) -> Stored | None:
        """The range, to be sent without reading it. None if that is not possible, or would have to wait."""
        return None

    def write_at(self, position: int, data: bytes) -> None:
        raise NotImplementedError

    def truncate(self, size_bytes: int) -> None:
        raise NotImplementedError

    def sync(self) -> None:
        """Wait until all data that was written before the call is on the device."""
        raise NotImplementedError

    def trim(self) -> None:
        """Give back space that was reserved ahead, because the file will hardly grow."""

    def size(self) -> int:
        raise NotImplementedError

    def modified_ms(self) -> int:
        raise NotImplementedError

    def rename(self, path: str) -> None:
        """Move the file. This object has the new name afterwards."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the descriptor. The file opens again when it is used."""
        raise NotImplementedError

    def retire(self) -> None:
        """As `close`, for a file that will be removed: an open descriptor would keep its space allocated."""
        self.close()


@mypyc_attr(allow_interpreted_subclasses=True)
class FolderLock:
    def release(self) -> None:
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class Disk:
    """Files and folders by their path."""

    def open(self, path: str, create: bool = False) -> File:
        raise NotImplementedError

    def new_lock(self) -> threading.Lock:
        """A lock for threads that may use the disk while they hold it."""
        return threading.Lock()

    def exists(self, path: str) -> bool:
        raise NotImplementedError

    def list_folder(self, path: str) -> list[str]:
        """The names in a folder, sorted."""
        raise NotImplementedError

    def list_folders(self, path: str) -> list[str]:
        """The names of the folders in a folder, sorted."""
        raise NotImplementedError

    def make_folder(self, path: str) -> None:
        """Create the folder and its parents unless it exists."""
        raise NotImplementedError

    def rename(self, path: str, new_path: str) -> None:
        raise NotImplementedError

    def remove(self, path: str) -> None:
        """Remove a file. No error if it does not exist."""
        raise NotImplementedError

    def remove_folder(self, path: str) -> None:
        """Remove a folder and its content."""
        raise NotImplementedError

    def sync_folder(self, path: str) -> None:
        """Make the creations, renames and removals in a folder durable."""
        raise NotImplementedError

    def read_file(self, path: str) -> bytes | None:
        """Read a whole file. None if it does not exist."""
        raise NotImplementedError

    def write_file(self, path: str, data: bytes) -> None:
        """Write a whole small file without syncing it."""
        raise NotImplementedError

    def write_file_atomically(self, path: str, data: bytes) -> None:
        """Replace the file durably: after a crash it has either the old or the new content."""
        self.replace_file(path, data)
        self.sync_folder(os.path.dirname(path))

    def replace_file(self, path: str, data: bytes) -> None:
        """As `write_file_atomically`, but the file may have its old content until the folder is synced."""
        temporary = path + ".tmp"
        self.write_file(temporary, data)
        self.sync_file(temporary)
        self.rename(temporary, path)

    def sync_file(self, path: str) -> None:
        """Sync a file by its name. No error if it does not exist."""
        raise NotImplementedError

    def usage(self, path: str) -> tuple[int, int]:
        """Total and usable bytes of the file system that holds the path."""
        raise NotImplementedError

    def lock_folder(self, path: str) -> FolderLock | None:
        """Take Kafka's `.lock` in a data folder. None if another process (or this one) has it."""
        raise NotImplementedError

    def close_idle_files(self) -> None:
        """Close descriptors that were not used since the last call. A thread may call this."""
