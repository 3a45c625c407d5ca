"""Which process has a connection, from Linux's /proc."""

import os
from collections.abc import Iterable
from pathlib import Path

TABLE = Path("/proc/net/tcp")
LOOPBACK = "0100007F"


def owner_of(port: int, process_ids: Iterable[int]) -> int | None:
    """The process among these that has connected from a port of 127.0.0.1. None if no one has."""
    wanted = _inode_of(port)
    if wanted is None:
        return None
    return next((one for one in process_ids if wanted in _sockets_of(one)), None)


def _inode_of(port: int) -> str | None:
    """The number of the socket. A line has the local address second and the socket's number tenth."""
    address = f"{LOOPBACK}:{port:04X}"
    for line in TABLE.read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1] == address and fields[9] != "0":
            return f"socket:[{fields[9]}]"
    return None


def _sockets_of(process_id: int) -> set[str]:
    folder = f"/proc/{process_id}/fd"
    found = set()
    try:
        for name in os.listdir(folder):
            try:
                found.add(os.readlink(f"{folder}/{name}"))
            except FileNotFoundError:
                continue  # it was closed meanwhile
    except (FileNotFoundError, ProcessLookupError):
        pass  # the process has ended
    return found
