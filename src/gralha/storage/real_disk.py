"""The operating system's files. No other module of storage opens files.

A `RealFile` does not keep its descriptor for ever. The disk closes descriptors that were not used lately if
too many are open, and idle ones from time to time. A file opens its descriptor again when it needs one.
Threads may read and sync a file while the event loop appends to it, or while the disk takes its descriptor
away: a system call keeps the descriptor object alive until it returns, and the descriptor is closed after the
last reference to the object.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import shutil
import threading
from typing import Final

from mypy_extensions import mypyc_attr

from gralha.protocol.primitives import Stored
from gralha.storage.disk import Disk, DiskError, File, FolderLock
from gralha.storage.system_calls import (
    CAN_READ_DIRECTLY,
    CAN_READ_NOWAIT,
    is_cached,
    read_directly,
    read_nowait,
    reserve,
    sync,
    sync_data,
)

# A non-blocking read of at least this size goes straight into the bytes object that it returns.
_DIRECT_READ_BYTES: Final = 16 * 1024
# From the first size on a file reserves space ahead: a quarter of its size, up to the second size.
_RESERVE_FROM_BYTES: Final = 1024 * 1024
_RESERVE_BYTES_MAX: Final = 16 * 1024 * 1024
# What the system says if a file system or the kernel lacks a call.
_UNSUPPORTED: Final = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class _Descriptor:
    """An open file descriptor that is closed after the last reference to this object is gone.

    Threads share these objects, and compiled code makes that delicate. The system calls are methods, because
    the caller of a method keeps the object alive until it returns. Compiled code releases a variable after
    its last use. If a caller had only the number, another thread could close it, and the system could give it
    to another file, before the call. `__del__` only puts the number into a list for closing later, because
    closing lets other threads run while an attribute may still point to the object.
    """

    def __init__(self, number: int, closing: list[int]) -> None:
        self.number = number
        self.closing = closing

    def __del__(self) -> None:
        self.closing.append(self.number)

    def write(self, chunks: list[bytes | memoryview], position: int, length: int) -> None:
        written = os.pwritev(self.number, chunks, position)
        if written != length:
            self.write_rest(b"".join(chunks)[written:], position + written)

    def write_rest(self, rest: bytes, position: int) -> None:
        while rest:
            written = os.pwrite(self.number, rest, position)
            position += written
            rest = rest[written:]

    def read(self, position: int, length: int) -> bytes:
        data = os.pread(self.number, length, position)
        while 0 < len(data) < length:
            more = os.pread(self.number, length - len(data), position + len(data))
            if not more:
                break
            data += more
        return data

    def read_nowait(self, position: int, length: int) -> bytes:
        if not CAN_READ_NOWAIT:
            return self.read(position, length)
        if length >= _DIRECT_READ_BYTES and CAN_READ_DIRECTLY:
            return read_directly(self.number, position, length)
        return read_nowait(self.number, position, length)

    def is_cached(self, position: int, length: int) -> bool:
        # The kernel counts pages that it is still reading. It reads in order, so the last one tells.
        return is_cached(self.number, position, length) and self._has_page(position + length - 1)

    def _has_page(self, position: int) -> bool:
        try:
            return len(self.read_nowait(position, 1)) == 1
        except OSError:
            return False

    def send(self, socket_number: int, position: int, length: int) -> int:
        return os.sendfile(socket_number, self.number, position, length)

    def truncate(self, size_bytes: int) -> None:
        os.ftruncate(self.number, size_bytes)

    def reserve(self, position: int, length: int) -> bool:
        return reserve(self.number, position, length)

    def sync(self) -> None:
        sync_data(self.number)


class _StoredRange(Stored):
    """A range of an open file. The file may be renamed or removed meanwhile.

    If the file is truncated meanwhile, the range is lost, also if the file grows again: it would have some
    bytes of the records before, and some of the records after that.
    """

    def __init__(self, file: RealFile, descriptor: _Descriptor, position: int, length: int) -> None:
        super().__init__(length)
        self.file = file
        self.descriptor = descriptor
        self.position = position
        self.truncations = file.truncations

    def send(self, socket_number: int, skip_bytes: int, max_bytes: int) -> int:
        self._check()
        position = self.position + skip_bytes
        length = min(self.size_bytes - skip_bytes, max_bytes)
        if not self.descriptor.is_cached(position, length):
            return 0
        try:
            count = self.descriptor.send(socket_number, position, length)
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                return 0
            raise
        if count == 0:
            raise self._is_lost()
        return count

    def read(self, skip_bytes: int = 0, max_bytes: int | None = None) -> bytes:
        length = self.size_bytes - skip_bytes
        if max_bytes is not None:
            length = min(length, max_bytes)
        try:
            data = self.descriptor.read(self.position + skip_bytes, length)
        except OSError as error:
            raise DiskError("read", self.file.path, error.strerror) from error
        self._check()
        if len(data) < length:
            raise self._is_lost()
        return data

    def read_nowait(self, skip_bytes: int, max_bytes: int) -> bytes | None:
        length = min(self.size_bytes - skip_bytes, max_bytes)
        try:
            data = self.descriptor.read_nowait(self.position + skip_bytes, length)
        except OSError:
            return None  # `read` tells why
        self._check()
        return data if len(data) == length else None

    def _check(self) -> None:
        if self.file.truncations != self.truncations:
            raise self._is_lost()

    def _is_lost(self) -> DiskError:
        what = f"the records up to position {self.position + self.size_bytes}"
        return DiskError("send", self.file.path, f"{what} were truncated meanwhile")


class _DescriptorPool:
    """Limits the number of open descriptors. Files that were used since the last look stay open."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.open_files: dict[RealFile, None] = {}
        self.closing: list[int] = []
        self.lock = threading.Lock()

    def open(self, file: RealFile, flags: int) -> _Descriptor:
        with self.lock:
            descriptor = file.descriptor
            if descriptor is None:
                number = os.open(file.path, flags | os.O_CLOEXEC, 0o644)
                descriptor = _Descriptor(number, self.closing)
                if not file.retired:
                    file.descriptor = descriptor
                    self.open_files[file] = None
                    self._make_room(file)
        self.close_unused()
        return descriptor

    def _make_room(self, newest: RealFile) -> None:
        while len(self.open_files) > self.limit:
            oldest = next(iter(self.open_files))
            del self.open_files[oldest]
            if oldest is newest or oldest.recently_used:
                oldest.recently_used = False
                self.open_files[oldest] = None
            else:
                oldest.descriptor = None

    def close_idle(self) -> None:
        """Close the files that were not used since the last call.

        A file with unsynced writes stays open. If nobody has the file open, the operating system may forget
        that a write to the device failed, and the next sync would succeed.
        """
        with self.lock:
            for file in list(self.open_files):
                if file.recently_used:
                    file.recently_used = False
                elif not file.unsynced:
                    del self.open_files[file]
                    file.descriptor = None
        self.close_unused()

    def discard(self, file: RealFile, for_good: bool) -> None:
        with self.lock:
            if for_good:
                file.retired = True
            self.open_files.pop(file, None)
            file.descriptor = None
        self.close_unused()

    def close_unused(self) -> None:
        closing = self.closing
        while closing:
            try:
                number = closing.pop()
            except IndexError:
                return  # another thread was quicker
            os.close(number)


class RealFile(File):
    """A file of the operating system, opened when first used."""

    def __init__(self, path: str, pool: _DescriptorPool) -> None:
        self.path = path
        self.pool = pool
        self.descriptor: _Descriptor | None = None
        self.recently_used = False
        # Whether the file will be removed. Each use then opens a descriptor of its own.
        self.retired = False
        self.size_bytes = -1
        self.reserved_bytes = 0
        self.broken = False
        # Whether this process has written to the file since the last sync.
        self.unsynced = False
        # How often the file may have lost bytes that a reader has seen.
        self.truncations = 0

    def _open(self, flags: int = os.O_RDWR) -> _Descriptor:
        descriptor = self.descriptor
        if descriptor is None:
            try:
                descriptor = self.pool.open(self, flags)
            except OSError as error:
                raise DiskError("open", self.path, error.strerror) from error
        self.recently_used = True
        return descriptor

    def create(self) -> None:
        self._open(os.O_RDWR | os.O_CREAT)

    def append(self, chunks: list[bytes | memoryview]) -> None:
        descriptor = self._open()
        position = self.size()
        length = 0
        for chunk in chunks:
            length += len(chunk)
        if self.broken:
            raise DiskError("append to", self.path, "an earlier write could not be undone")
        if position >= _RESERVE_FROM_BYTES and position + length > self.reserved_bytes:
            self._reserve(descriptor, position, length)
        self.unsynced = True
        try:
            descriptor.write(chunks, position, length)
        except OSError as error:
            self._undo(descriptor, position)
            raise DiskError("append to", self.path, error.strerror) from error
        self.size_bytes = position + length

    def _reserve(self, descriptor: _Descriptor, position: int, length: int) -> None:
        """Reserve space for later writes. A failure (a full disk, for example) does not matter here."""
        length += min(position // 4, _RESERVE_BYTES_MAX)
        descriptor.reserve(position, length)
        self.reserved_bytes = position + length

    def trim(self) -> None:
        if self.reserved_bytes > self.size():
            try:
                self._open().truncate(self.size_bytes)
            except OSError as error:
                raise DiskError("truncate", self.path, error.strerror) from error
            # The file has the same content as before, so it needs no sync.
            self.reserved_bytes = 0

    def _undo(self, descriptor: _Descriptor, size_bytes: int) -> None:
        """Cut the bytes of a failed write. If even that fails, nothing may be appended after them."""
        try:
            descriptor.truncate(size_bytes)
        except OSError:
            self.broken = True

    def read(self, position: int, length: int) -> bytes:
        try:
            return self._open().read(position, length)
        except OSError as error:
            raise DiskError("read", self.path, error.strerror) from error

    def read_nowait(self, position: int, length: int) -> bytes | None:
        try:
            data = self._open().read_nowait(position, length)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                return None
            if error.errno in _UNSUPPORTED:
                # The file system or the kernel does not support this, so the read may have to wait.
                return self.read(position, length)
            raise DiskError("read", self.path, error.strerror) from error
        if len(data) < length and position + len(data) < self.size():
            return None
        return data

    def stored(self, position: int, length: int) -> Stored | None:
        descriptor = self._open()
        if not descriptor.is_cached(position, length):
            return None
        return _StoredRange(self, descriptor, position, length)

    def write_at(self, position: int, data: bytes) -> None:
        self.unsynced = True
        try:
            self._open().write_rest(data, position)
        except OSError as error:
            raise DiskError("write to", self.path, error.strerror) from error
        self.size_bytes = max(self.size(), position + len(data))

    def truncate(self, size_bytes: int) -> None:
        self.unsynced = True
        # Before the bytes are lost: another thread may be sending them.
        self.truncations += 1
        try:
            self._open().truncate(size_bytes)
        except OSError as error:
            raise DiskError("truncate", self.path, error.strerror) from error
        self.size_bytes = size_bytes
        self.reserved_bytes = 0
        self.broken = False

    def sync(self) -> None:
        # In this order: data that the event loop writes during this sync needs the next one.
        self.unsynced = False
        try:
            self._open().sync()
        except OSError as error:
            self.unsynced = True
            raise DiskError("sync", self.path, error.strerror) from error

    def size(self) -> int:
        if self.size_bytes < 0:
            try:
                with self.pool.lock:
                    self.size_bytes = os.stat(self.path).st_size
            except OSError as error:
                raise DiskError("look at", self.path, error.strerror) from error
        return self.size_bytes

    def modified_ms(self) -> int:
        try:
            return os.stat(self.path).st_mtime_ns // 1_000_000
        except OSError as error:
            raise DiskError("look at", self.path, error.strerror) from error

    def rename(self, path: str) -> None:
        try:
            # With the lock: another thread that opens the file must not see the old path after the rename.
            with self.pool.lock:
                os.rename(self.path, path)
                self.path = path
        except OSError as error:
            raise DiskError("rename", self.path, error.strerror) from error

    def close(self) -> None:
        self.pool.discard(self, False)

    def retire(self) -> None:
        self.pool.discard(self, True)


# The folders that this process has locked. A lock of `lockf` keeps out other processes only.
_LOCKED_FOLDERS: Final[set[str]] = set()


class _RealFolderLock(FolderLock):
    def __init__(self, number: int, folder: str) -> None:
        self.number = number
        self.folder = folder

    def release(self) -> None:
        if self.number >= 0:
            os.close(self.number)
            self.number = -1
            _LOCKED_FOLDERS.discard(self.folder)


@mypyc_attr(allow_interpreted_subclasses=True)
class RealDisk(Disk):
    """The operating system's files. At most half of the descriptors that the process may have are open."""

    def __init__(self, max_open_files: int | None = None) -> None:
        if max_open_files is None:
            soft_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            max_open_files = min(max(soft_limit // 2, 16), 16384)
        self.pool = _DescriptorPool(max_open_files)

    def open(self, path: str, create: bool = False) -> File:
        file = RealFile(path, self.pool)
        if create:
            file.create()
        return file

    def close_idle_files(self) -> None:
        self.pool.close_idle()

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def list_folder(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(path))
        except OSError as error:
            raise DiskError("list", path, error.strerror) from error

    def list_folders(self, path: str) -> list[str]:
        try:
            with os.scandir(path) as entries:
                return sorted([entry.name for entry in entries if entry.is_dir()])
        except OSError as error:
            raise DiskError("list", path, error.strerror) from error

    def make_folder(self, path: str) -> None:
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise DiskError("create", path, error.strerror) from error

    def rename(self, path: str, new_path: str) -> None:
        try:
            os.rename(path, new_path)
        except OSError as error:
            raise DiskError("rename", path, error.strerror) from error

    def remove(self, path: str) -> None:
        # A reader of the file may have left a descriptor to close.
        self.pool.close_unused()
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise DiskError("remove", path, error.strerror) from error

    def remove_folder(self, path: str) -> None:
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise DiskError("remove", path, error.strerror) from error

    def sync_folder(self, path: str) -> None:
        try:
            _sync(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise DiskError("sync", path, error.strerror) from error

    def sync_file(self, path: str) -> None:
        try:
            _sync(path, os.O_RDWR)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise DiskError("sync", path, error.strerror) from error

    def read_file(self, path: str) -> bytes | None:
        try:
            with open(path, "rb", buffering=0) as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DiskError("read", path, error.strerror) from error

    def write_file(self, path: str, data: bytes) -> None:
        try:
            with open(path, "wb") as file:
                file.write(data)
        except OSError as error:
            raise DiskError("write", path, error.strerror) from error

    def usage(self, path: str) -> tuple[int, int]:
        try:
            status = os.statvfs(path)
        except OSError as error:
            raise DiskError("look at", path, error.strerror) from error
        return status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize

    def lock_folder(self, path: str) -> FolderLock | None:
        folder = os.path.realpath(path)
        # This comes first, because closing the file again would end the lock that this process has.
        if folder in _LOCKED_FOLDERS:
            return None
        name = os.path.join(path, ".lock")
        try:
            number = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise DiskError("open", name, error.strerror) from error
        try:
            fcntl.lockf(number, fcntl.LOCK_EX | fcntl.LOCK_NB)  # as Java does
        except OSError:
            os.close(number)
            return None
        _LOCKED_FOLDERS.add(folder)
        return _RealFolderLock(number, folder)


def _sync(path: str, flags: int) -> None:
    number = os.open(path, flags | os.O_CLOEXEC)
    try:
        sync(number)
    finally:
        os.close(number)
