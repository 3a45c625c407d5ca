"""Calls of the operating system that Python's `os` lacks in this form, or has on some systems only.

Everything here has a slower way on systems that lack a call: macOS, older kernels, other C libraries.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from collections.abc import Callable
from typing import Final

_BYTES_HEADER_SIZE: Final = bytes.__basicsize__ - 1
_IO_VECTOR: Final = struct.Struct("QQ")
_KEEP_SIZE: Final = 1
# Linux 6.5. The number is the same on all architectures.
_CACHESTAT: Final = 451
_IS_LINUX: Final = os.uname().sysname == "Linux"
_RANGE: Final = struct.Struct("QQ")
# Of the five counters only the first one counts here: the pages of the range in the page cache.
_COUNTERS: Final = struct.Struct("QQQQQ")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
# Only Linux has this flag.
_RWF_NOWAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)
# Only macOS has this command.
_FULL_SYNC: Final[int] = getattr(fcntl, "F_FULLFSYNC", -1)
_fdatasync: Final[Callable[[int], None] | None] = getattr(os, "fdatasync", None)


def _find_preadv2() -> ctypes._NamedFuncPointer | None:
    try:
        function = ctypes.CDLL(None, use_errno=True).preadv2
    except (OSError, AttributeError):
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_int]
    function.restype = ctypes.c_ssize_t
    return function


def _find_fallocate() -> ctypes._NamedFuncPointer | None:
    try:
        function = ctypes.CDLL(None, use_errno=True).fallocate
    except (OSError, AttributeError):
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    function.restype = ctypes.c_int
    return function


def _find_new_bytes() -> ctypes._NamedFuncPointer:
    function = ctypes.pythonapi.PyBytes_FromStringAndSize
    function.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t]
    function.restype = ctypes.py_object
    return function


def _find_cachestat() -> ctypes._NamedFuncPointer | None:
    """`syscall`, if the kernel has cachestat. An open file of any kind is enough to ask."""
    try:
        function = ctypes.CDLL(None, use_errno=True).syscall
    except (OSError, AttributeError):
        return None
    if not _IS_LINUX:
        return None  # another call has this number
    function.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint]
    function.restype = ctypes.c_long
    number = os.open(__file__, os.O_RDONLY | os.O_CLOEXEC)
    try:
        counters = bytes(_COUNTERS.size)
        return function if function(_CACHESTAT, number, _RANGE.pack(0, 1), counters, 0) == 0 else None
    finally:
        os.close(number)


_preadv2: Final = _find_preadv2()
_fallocate: Final = _find_fallocate()
_new_bytes: Final = _find_new_bytes()
_syscall: Final = _find_cachestat()

CAN_READ_NOWAIT: Final = _RWF_NOWAIT != 0
CAN_READ_DIRECTLY: Final = CAN_READ_NOWAIT and _preadv2 is not None


def read_nowait(number: int, position: int, length: int) -> bytes:
    """Read without waiting for the disk. Only if `CAN_READ_NOWAIT`."""
    buffer = bytearray(length)
    count = os.preadv(number, [buffer], position, _RWF_NOWAIT)
    return bytes(buffer if count == length else buffer[:count])


def read_directly(number: int, position: int, length: int) -> bytes:
    """Read without waiting into a new bytes object that nobody has seen yet.

    `os.preadv` fills only mutable buffers; turning one of a megabyte into bytes costs more than the read.
    """
    data: bytes = _new_bytes(None, length)
    vector = _IO_VECTOR.pack(id(data) + _BYTES_HEADER_SIZE, length)
    assert _preadv2 is not None
    count: int = _preadv2(number, vector, 1, position, _RWF_NOWAIT)
    if count < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return data if count == length else data[:count]


def reserve(number: int, position: int, length: int) -> bool:
    """Reserve room on the disk after the end of a file, which keeps its size. Returns whether that worked.

    A write into reserved room takes the kernel a fifth less time.
    """
    return _fallocate is not None and _fallocate(number, _KEEP_SIZE, position, length) == 0


def is_cached(number: int, position: int, length: int) -> bool:
    """Whether the page cache has the whole range of a file. False if the kernel cannot tell (before 6.5)."""
    if _syscall is None:
        return False
    counters = bytes(_COUNTERS.size)  # the kernel fills this object, which nobody else has seen
    if _syscall(_CACHESTAT, number, _RANGE.pack(position, length), counters, 0) != 0:
        return False
    pages: int = (position + length - 1) // _PAGE_BYTES - position // _PAGE_BYTES + 1
    cached: int = _COUNTERS.unpack(counters)[0]
    return cached >= pages


def sync(number: int) -> None:
    """Wait until a file or a folder is on the device."""
    if _FULL_SYNC != -1 and _sync_fully(number):
        return
    os.fsync(number)


def _sync_fully(number: int) -> bool:
    """On macOS `fsync` leaves data in the device's cache. Returns False if the file system cannot do more."""
    try:
        fcntl.fcntl(number, _FULL_SYNC)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOTSUP, errno.ENOTTY):
            return False
        raise
    return True


def sync_data(number: int) -> None:
    """As `sync`, without the times of the file, if the system can leave them out."""
    if _fdatasync is None:
        sync(number)
    else:
        _fdatasync(number)
