"""A disk in memory that forgets in a crash what was not synced.

Contents of files are durable after `sync`, entries of folders (new, renamed, removed) after `sync_folder`.
`crash` gives the disk as the next start finds it: of everything that was not synced, chance decides what is
there, the end of a file may be torn. `fail_at` makes one operation, and all that follow it, fail.
"""

import os
from random import Random

from gralha.storage.disk import Disk, DiskError, File, FolderLock


class Inode:
    def __init__(self, data=b"", synced=b""):
        self.data = bytearray(data)
        self.synced = bytes(synced)
        self.is_folder = False


class MemoryFile(File):
    """Finds its inode when it is first used, and keeps it, as a descriptor does."""

    def __init__(self, disk, path):
        self.disk, self.path = disk, path
        self._inode = None

    @property
    def inode(self):
        if self._inode is None:
            self._inode = self.disk.inode(self.path)
        return self._inode

    def append(self, chunks):
        self.disk.operation("append", self.path)
        for chunk in chunks:
            self.inode.data += chunk

    def read(self, position, length):
        return bytes(self.inode.data[position : position + length])

    def read_nowait(self, position, length):
        return self.read(position, length)

    def write_at(self, position, data):
        self.disk.operation("write", self.path)
        self.inode.data[position : position + len(data)] = data

    def truncate(self, size_bytes):
        self.disk.operation("truncate", self.path)
        del self.inode.data[size_bytes:]

    def sync(self):
        self.disk.operation("sync", self.path)
        self.disk.syncing(self.path)
        self.inode.synced = bytes(self.inode.data)

    def size(self):
        return len(self.inode.data)

    def modified_ms(self):
        return 0

    def rename(self, path):
        self.disk.rename(self.path, path)
        self.path = path

    def close(self):
        self._inode = None


class MemoryDisk(Disk):
    def __init__(self, root="/d"):
        self.root = root
        self.entries = {}
        self.durable = {}
        self.operations = []
        self.fail_at = None

    def syncing(self, path):
        """For tests that hold a sync up."""

    def operation(self, action, path):
        self.operations.append((action, path))
        if self.fail_at is not None and len(self.operations) >= self.fail_at:
            raise DiskError(action, path, "the test says so")

    def inode(self, path):
        inode = self.entries.get(path)
        if inode is None or inode.is_folder:
            raise DiskError("open", path, "no such file")
        return inode

    def open(self, path, create=False):
        if create and path not in self.entries:
            self.operation("create", path)
            self.entries[path] = Inode()
        return MemoryFile(self, path)

    def exists(self, path):
        return path == self.root or path in self.entries

    def list_folder(self, path):
        return sorted(os.path.basename(entry) for entry in self.entries if os.path.dirname(entry) == path)

    def list_folders(self, path):
        return [name for name in self.list_folder(path) if self.entries[f"{path}/{name}"].is_folder]

    def make_folder(self, path):
        if not self.exists(path):
            self.make_folder(os.path.dirname(path))
            self.operation("make", path)
            self.entries[path] = Inode()
            self.entries[path].is_folder = True

    def rename(self, path, new_path):
        self.operation("rename", path)
        self.entries[new_path] = self.entries.pop(path)

    def remove(self, path):
        if path in self.entries:
            self.operation("remove", path)
            del self.entries[path]

    def remove_folder(self, path):
        self.operation("remove", path)
        for entry in [entry for entry in self.entries if f"{entry}/".startswith(f"{path}/")]:
            del self.entries[entry]

    def sync_folder(self, path):
        self.operation("sync", path)
        for entry in [entry for entry in self.durable if os.path.dirname(entry) == path]:
            del self.durable[entry]
        self.durable.update(
            {entry: inode for entry, inode in self.entries.items() if os.path.dirname(entry) == path}
        )

    def read_file(self, path):
        return bytes(self.entries[path].data) if path in self.entries else None

    def write_file(self, path, data):
        self.operation("write", path)
        self.entries[path] = Inode(data)

    def sync_file(self, path):
        if path in self.entries:
            self.operation("sync", path)
            self.entries[path].synced = bytes(self.entries[path].data)

    def usage(self, path):
        return 2**40, 2**39

    def lock_folder(self, path):
        return FolderLock()

    def crash(self, random: Random) -> "MemoryDisk":
        """The disk as the next start finds it."""
        after = MemoryDisk(self.root)
        for folder in sorted({os.path.dirname(entry) for entry in {*self.entries, *self.durable}}):
            # The entries of one folder reach the device in any order, each whole or not at all.
            names = {entry for entry in {*self.entries, *self.durable} if os.path.dirname(entry) == folder}
            for name in sorted(names):
                kept = random.choice((self.entries, self.durable)).get(name)
                if kept is not None and after.exists(folder):
                    after.entries[name] = after.durable[name] = _survivor(kept, random)
        return after


def _survivor(inode, random):
    """A file as it is after a crash: what was synced, and some of what followed."""
    survivor = Inode()
    survivor.is_folder = inode.is_folder
    data, synced = bytes(inode.data), inode.synced
    if data[: len(synced)] == synced:
        data = data[: random.randint(len(synced), len(data))]
        if len(data) > len(synced) and random.random() < 0.3:
            spot = random.randrange(len(synced), len(data))
            data = data[:spot] + bytes(len(data) - spot)
    else:
        data = random.choice((data, synced))
    survivor.data = bytearray(data)
    survivor.synced = data
    return survivor
