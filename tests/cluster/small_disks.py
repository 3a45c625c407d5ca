"""Disks that can be filled: a file system of a few megabytes for each broker, in a mount namespace.

A process holds the namespace, and with it the file systems, until its standard input ends; brokers start
inside. That needs no rights where Linux lets people make user namespaces (Debian does), and leaves no mount
behind.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

FILLER = "filler"
PIECE_BYTES = 1 << 20


class SmallDisks:
    def __init__(self, folders: Sequence[Path], size_mb: int) -> None:
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        mounts = " && ".join(f"mount -t tmpfs -o size={size_mb}m none '{folder}'" for folder in folders)
        # `cat` ends with its input, so the disks go when whoever made them is gone.
        script = f"{mounts} && echo ready && exec cat"
        self._holder = subprocess.Popen(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"ready\n", "unshare cannot make a file system here"

    def inside(self, command: Sequence[str]) -> list[str]:
        """The command for a process that sees these disks; it keeps its process id."""
        enter = ["nsenter", f"--target={self._holder.pid}", "--user", "--preserve-credentials", "--mount"]
        return [*enter, f"--wdns={os.getcwd()}", *command]

    def fill(self, folder: Path) -> None:
        """Fill the disk at `folder` to the last byte."""
        filler = os.open(self._seen_from_here(folder) / FILLER, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            while os.write(filler, bytes(PIECE_BYTES)) == PIECE_BYTES:
                pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        finally:
            os.close(filler)

    def empty(self, folder: Path) -> None:
        """Free the space again."""
        (self._seen_from_here(folder) / FILLER).unlink(missing_ok=True)

    def close(self) -> None:
        assert self._holder.stdin is not None
        self._holder.stdin.close()
        self._holder.wait()

    def _seen_from_here(self, folder: Path) -> Path:
        return Path(f"/proc/{self._holder.pid}/root") / folder.relative_to("/")
