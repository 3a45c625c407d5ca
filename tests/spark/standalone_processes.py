"""The processes of a standalone cluster, as the system sees them."""

import time
from pathlib import Path

PATIENCE_S = 60


def children(pid: int) -> list[int]:
    """All processes below this one."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(status.parent.name)] = int(fields[1])
    below, found = [pid], []
    while below:
        one = below.pop()
        new = [child for child, parent in parents.items() if parent == one]
        below += new
        found += new
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def all_end(pids: list[int]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while any(alive(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def executors(worker_pid: int) -> list[int]:
    """The executors that a worker has started."""
    return [pid for pid in children(worker_pid) if b"CoarseGrainedExecutorBackend" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
