"""The disk of a simulated host: files in memory, a page cache that a power cut empties, and faults.

The content of a file is durable after a sync. The entries of a folder (created, renamed, removed) are durable
after a sync of the folder. The end of a process loses nothing. `lose_power` leaves a random state of
everything that was not synced: a folder keeps some of its last changes, a file is cut anywhere after its
synced part, and some pages there are not written. A rename has happened or not, never half.

`mount` gives each process its own `Disk`, which does nothing after the process was killed. Tests can turn
faults on and off: `is_full` and `failing` (actions that fail). A failed sync does what Linux does: the pages
count as written, later syncs succeed, and the bytes are lost.
"""

import os
import threading
from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple, cast

from gralha.simulation.threads import SimulatedLock, Steps
from gralha.storage.disk import Disk, DiskError, File, FolderLock

PAGE_BYTES: Final = 4096
TOTAL_BYTES: Final = 2**40
NO_SPACE: Final = "No space left on device"
NO_FILE: Final = "No such file or directory"
IO_ERROR: Final = "Input/output error"
NOT_CACHED_CHANCE: Final = 0.01


class Inode:
    """A file: the content that processes see, and the content on the device."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.durable = bytearray()
        # Both are the same up to here.
        self.same_bytes = 0
        self.modified_ms = 0

    def sync(self) -> None:
        start = self.same_bytes
        self.durable[start:] = self.data[start:]
        self.same_bytes = len(self.data)

    def sync_in_vain(self) -> None:
        """The device failed: the kernel treats the pages as if they had been written."""
        start = self.same_bytes
        self.durable[start:] = bytes(len(self.data) - start)
        self.same_bytes = len(self.data)

    def differs_from(self, position: int) -> None:
        """Data was written at the position. Where it equals the device's data, nothing changes."""
        while position < self.same_bytes:
            end = min(position + PAGE_BYTES, self.same_bytes)
            if self.data[position:end] != self.durable[position:end]:
                break
            position = end
        self.same_bytes = min(self.same_bytes, position)

    def after_power_cut(self, random: Random) -> "Inode":
        survivor = Inode()
        survivor.modified_ms = self.modified_ms
        start = min(self.same_bytes, len(self.durable), len(self.data))
        if start < len(self.durable) and random.random() < 0.5:
            survivor.data = bytearray(self.durable)  # all later changes are lost, even the truncation
        else:
            survivor.data = self.durable[:start] + _some_pages(self.data, start, random)
        survivor.sync()
        return survivor


def _some_pages(data: bytearray, start: int, random: Random) -> bytearray:
    """The rest of the unsynced bytes: a part of them, in which some pages may be zeros."""
    end = random.choice((start, len(data), random.randint(start, len(data))))
    rest = data[start:end]
    if random.random() < 0.3:
        for page in range(start // PAGE_BYTES, (end - 1) // PAGE_BYTES + 1):
            if random.random() < 0.3:
                first = max(page * PAGE_BYTES, start) - start
                last = min((page + 1) * PAGE_BYTES, end) - start
                rest[first:last] = bytes(last - first)
    return rest


class _Change(NamedTuple):
    """One change of a folder: removed entries and new entries."""

    gone: tuple[str, ...]
    new: tuple[tuple[str, "Entry"], ...]


class Folder:
    """The entries of a folder: as processes see them, and as they are on the device."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.durable: dict[str, Entry] = {}
        self.unsynced: list[_Change] = []

    def change(self, gone: tuple[str, ...] = (), new: "tuple[tuple[str, Entry], ...]" = ()) -> None:
        change = _Change(gone, new)
        _apply(change, self.entries)
        self.unsynced.append(change)

    def sync(self) -> None:
        self.durable = dict(self.entries)
        self.unsynced.clear()

    def lose_power(self, random: Random) -> None:
        for change in self.unsynced[: random.randint(0, len(self.unsynced))]:
            _apply(change, self.durable)
        self.entries = dict(self.durable)
        self.unsynced.clear()


Entry = Inode | Folder


def _apply(change: _Change, entries: dict[str, Entry]) -> None:
    for name in change.gone:
        entries.pop(name, None)
    entries.update(change.new)


class HostDisk:
    """The disk of a host. It survives the processes."""

    def __init__(
        self,
        random: Random,
        clock: Callable[[], int],
        note: Callable[[str, bytes], None],
        threads: Steps | None = None,
    ) -> None:
        """`threads` may pause where they use the disk."""
        self.threads = threads or Steps(lambda: 1.0)
        self.root = Folder()
        self.clock = clock
        self.note = note
        self.is_full = False
        # Actions of DiskError that fail: "append to", "read", "sync", "write", "create", ...
        self.failing: dict[str, str] = {}
        self.syncs = 0
        self._random = random
        self._mounted: SimulatedDisk | None = None

    def mount(self) -> "SimulatedDisk":
        """The disk for a new process."""
        self.process_died()
        self._mounted = SimulatedDisk(self)
        return self._mounted

    def process_died(self) -> None:
        if self._mounted is not None:
            self._mounted.is_gone = True
            self._mounted = None

    def lose_power(self) -> None:
        self.process_died()
        self.note("power cut", b"")
        self._keep(self.root, {})

    def _keep(self, folder: Folder, survivors: dict[Inode, Inode]) -> None:
        """Set a folder and its content to their state after a power cut."""
        folder.lose_power(self._random)
        for name, entry in sorted(folder.entries.items(), key=lambda item: item[0]):
            if isinstance(entry, Folder):
                self._keep(entry, survivors)
                continue
            if entry not in survivors:
                survivors[entry] = entry.after_power_cut(self._random)
            folder.entries[name] = folder.durable[name] = survivors[entry]

    def draw_is_cached(self) -> bool:
        return self._random.random() >= NOT_CACHED_CHANCE

    def check(self, action: str, path: str, needs_room: bool = False) -> None:
        if action in self.failing:
            raise DiskError(action, path, self.failing[action])
        if needs_room and self.is_full:
            raise DiskError(action, path, NO_SPACE)

    def heal(self) -> None:
        self.is_full = False
        self.failing.clear()


class SimulatedFile(File):
    """A file of a process. It looks up its inode at the first use and keeps it, like a descriptor."""

    def __init__(self, disk: "SimulatedDisk", path: str) -> None:
        self.disk = disk
        self.path = path
        self._inode: Inode | None = None

    def _open(self) -> Inode:
        inode = self._inode
        if inode is None:
            inode = self._inode = self.disk.inode(self.path)
        return inode

    def append(self, chunks: list[bytes | memoryview]) -> None:
        inode = self._open()
        self.disk.check("append to", self.path, needs_room=True)
        data = b"".join(chunks)
        inode.data += data
        self.disk.written(inode, "append to", self.path, data)

    def read(self, position: int, length: int) -> bytes:
        self.disk.check("read", self.path)
        return bytes(self._open().data[position : position + length])

    def read_nowait(self, position: int, length: int) -> bytes | None:
        return self.read(position, length) if self.disk.host.draw_is_cached() else None

    def write_at(self, position: int, data: bytes) -> None:
        inode = self._open()
        self.disk.check("write to", self.path, needs_room=True)
        inode.data[position : position + len(data)] = data
        inode.differs_from(position)
        self.disk.written(inode, "write to", self.path, data)

    def truncate(self, size_bytes: int) -> None:
        inode = self._open()
        self.disk.check("truncate", self.path)
        del inode.data[size_bytes:]
        if size_bytes > len(inode.data):
            inode.data += bytes(size_bytes - len(inode.data))
        inode.same_bytes = min(inode.same_bytes, size_bytes)
        self.disk.written(inode, "truncate", self.path, b"%d" % size_bytes)

    def sync(self) -> None:
        self.disk.sync_inode(self._open(), self.path)

    def size(self) -> int:
        return len(self._open().data)

    def modified_ms(self) -> int:
        return self._open().modified_ms

    def rename(self, path: str) -> None:
        self._open()
        self.disk.rename(self.path, path)
        self.path = path

    def close(self) -> None:
        self._inode = None


class _Lock(FolderLock):
    def __init__(self, locked: dict[str, None], path: str) -> None:
        self._locked = locked
        self._path = path

    def release(self) -> None:
        self._locked.pop(self._path, None)


class SimulatedDisk(Disk):
    """A host's disk as one process sees it."""

    def __init__(self, host: HostDisk) -> None:
        self.host = host
        self.is_gone = False
        self._locked: dict[str, None] = {}

    def new_lock(self) -> threading.Lock:
        return cast(threading.Lock, SimulatedLock(self.host.threads))

    def check(self, action: str, path: str, needs_room: bool = False) -> None:
        # No pause in "open": the thread holds a real lock of the process there.
        if action != "open":
            self.host.threads.pause()
        if self.is_gone:
            raise DiskError(action, path, "the process is dead")
        self.host.check(action, path, needs_room)

    def written(self, inode: Inode, action: str, path: str, data: bytes = b"") -> None:
        inode.modified_ms = self.host.clock()
        self.host.note(f"{action} {path}", data)

    def _find(self, path: str) -> Entry | None:
        entry: Entry | None = self.host.root
        for name in path.split("/"):
            if name and isinstance(entry, Folder):
                entry = entry.entries.get(name)
            elif name:
                return None
        return entry

    def _folder(self, action: str, path: str) -> Folder:
        folder = self._find(path)
        if not isinstance(folder, Folder):
            raise DiskError(action, path, NO_FILE)
        return folder

    def inode(self, path: str) -> Inode:
        self.check("open", path)
        inode = self._find(path)
        if not isinstance(inode, Inode):
            raise DiskError("open", path, NO_FILE)
        return inode

    def _is_file(self, path: str) -> bool:
        return isinstance(self._find(path), Inode)

    def _enter(self, action: str, path: str, entry: Entry) -> None:
        folder, name = os.path.split(path)
        self._folder(action, folder).change(new=((name, entry),))

    def open(self, path: str, create: bool = False) -> File:
        if create and not self._is_file(path):
            self.check("open", path, needs_room=True)
            inode = Inode()
            self._enter("open", path, inode)
            self.written(inode, "create", path)
        return SimulatedFile(self, path)

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def list_folder(self, path: str) -> list[str]:
        self.check("list", path)
        return sorted(self._folder("list", path).entries)

    def list_folders(self, path: str) -> list[str]:
        entries = self._folder("list", path).entries
        return [name for name in self.list_folder(path) if isinstance(entries[name], Folder)]

    def make_folder(self, path: str) -> None:
        if self._find(path) is None:
            self.make_folder(os.path.dirname(path))
            self.check("create", path, needs_room=True)
            self._enter("create", path, Folder())
            self.host.note(f"create {path}", b"")

    def rename(self, path: str, new_path: str) -> None:
        self.check("rename", path)
        (source_path, name), (target_path, new_name) = os.path.split(path), os.path.split(new_path)
        source, target = self._folder("rename", source_path), self._folder("rename", target_path)
        if name not in source.entries:
            raise DiskError("rename", path, NO_FILE)
        entry = source.entries[name]
        if source is target:
            source.change((name,), ((new_name, entry),))
        else:
            target.change(new=((new_name, entry),))
            source.change(gone=(name,))
        self.host.note(f"rename {path} {new_path}", b"")

    def remove(self, path: str) -> None:
        self.check("remove", path)
        if self._is_file(path):
            self._unlink(path)

    def remove_folder(self, path: str) -> None:
        self.check("remove", path)
        if self._find(path) is not None:
            self._unlink(path)

    def _unlink(self, path: str) -> None:
        folder, name = os.path.split(path)
        self._folder("remove", folder).change(gone=(name,))
        self.host.note(f"remove {path}", b"")

    def sync_folder(self, path: str) -> None:
        self.check("sync", path)
        self._folder("sync", path).sync()
        self.host.note(f"sync {path}", b"")

    def sync_inode(self, inode: Inode, path: str) -> None:
        self.host.syncs += 1
        try:
            self.check("sync", path)
        except DiskError:
            inode.sync_in_vain()
            raise
        inode.sync()
        self.host.note(f"sync {path}", b"")

    def read_file(self, path: str) -> bytes | None:
        self.check("read", path)
        return bytes(self.inode(path).data) if self._is_file(path) else None

    def write_file(self, path: str, data: bytes) -> None:
        self.check("write", path, needs_room=True)
        if self._is_file(path):
            inode = self.inode(path)
            inode.data[:] = data
            inode.same_bytes = 0
        else:
            inode = Inode()
            inode.data += data
            self._enter("write", path, inode)
        self.written(inode, "write", path, data)

    def sync_file(self, path: str) -> None:
        if self._is_file(path):
            self.sync_inode(self.inode(path), path)

    def usage(self, path: str) -> tuple[int, int]:
        return TOTAL_BYTES, 0 if self.host.is_full else TOTAL_BYTES // 2

    def lock_folder(self, path: str) -> FolderLock | None:
        if path in self._locked:
            return None
        self._locked[path] = None
        return _Lock(self._locked, path)
