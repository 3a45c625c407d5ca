"""Starts `gralha` as on a system that lacks what only Linux has: python -m tests.broker.other_system up

This comes before the first import of Gralha, whose modules look at the system when they are imported.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import socket
import sys
from typing import Any

ONLY_LINUX_FUNCTIONS = ("preadv2", "fallocate", "syscall", "prctl")
# The number that macOS has for it.
F_FULLFSYNC = 51
_load = ctypes.CDLL
_fcntl = fcntl.fcntl
_set_limit = resource.setrlimit


class Library:
    """A C library without the functions that only Linux has."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._library = _load(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        if name in ONLY_LINUX_FUNCTIONS:
            raise AttributeError(name)
        return getattr(self._library, name)


def full_sync(number: int, command: int, argument: int = 0) -> Any:
    if command != F_FULLFSYNC:
        return _fcntl(number, command, argument)
    os.fsync(number)
    return 0


def refuse_highest(kind: int, limits: tuple[int, int]) -> None:
    if kind == resource.RLIMIT_NOFILE and limits[0] == limits[1]:
        raise ValueError("current limit exceeds maximum limit")
    _set_limit(kind, limits)


def pretend() -> None:
    """Take away what only Linux has, and give what macOS has."""
    for module, name in ((os, "RWF_NOWAIT"), (os, "fdatasync"), (os, "sendfile"), (socket, "MSG_MORE")):
        delattr(module, name)
    replacements: list[tuple[Any, str, Any]] = [
        (ctypes, "CDLL", Library),
        (fcntl, "F_FULLFSYNC", F_FULLFSYNC),
        (fcntl, "fcntl", full_sync),
        (resource, "setrlimit", refuse_highest),
    ]
    for module, name, value in replacements:
        setattr(module, name, value)


if __name__ == "__main__":
    pretend()
    from gralha.cli.main import main

    sys.exit(main())
