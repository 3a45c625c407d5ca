"""A node as a process: event loop, real disk, real clock, signals.

Only this module, `process_usage.py` and `url_text.py` use the outside world. Everything that the node does
goes through the loop, the disk, the clock and the random generator that it is given, so that a simulation can
replace them.
"""

import asyncio
import contextlib
import ctypes
import gc
import random
import resource
import signal
import socket
import time
from collections.abc import Callable
from typing import Final

from gralha.broker.config import NodeConfig
from gralha.broker.lifecycle import RegistrationRefusedError
from gralha.broker.node import Node
from gralha.broker.process_usage import process_usage
from gralha.broker.start_error import StartError
from gralha.broker.url_text import text_at
from gralha.storage.cleaner_process import CleanerProcess
from gralha.storage.disk import DiskError
from gralha.storage.real_disk import RealDisk

# OPEN_MAX of macOS: a process may have this many open files there unless its administrator set another limit.
MACOS_FILES_MAX: Final = 10_240

# Options of mallopt(3), and what they are set to.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_KEPT_BYTES: Final = 16 * 1024 * 1024
_MAPPED_BYTES: Final = 4 * 1024 * 1024


class NodeFailedError(Exception):
    """The node did not start, or could not continue. `setting` is that of a `StartError`."""

    def __init__(self, message: str, setting: str | None = None) -> None:
        super().__init__(message)
        self.setting = setting


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


def hostname() -> str:
    return socket.gethostname()


def run_node(config: NodeConfig, on_ready: Callable[[Node], None]) -> None:
    """Runs until a signal. Raises NodeFailedError if the node ends by itself. A second signal ends it at
    once.
    """
    _raise_file_limit()
    _keep_freed_memory()
    try:
        import uvloop
    except ImportError:
        asyncio.run(_run(config, on_ready))
    else:
        uvloop.run(_run(config, on_ready))


def _keep_freed_memory() -> None:
    """Make glibc use a freed block again. By default it may return each block above 128 KiB to the kernel,
    which must clear the pages of the next one: a zstd batch of 100 KB then takes three times as long.
    """
    with contextlib.suppress(AttributeError, OSError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)


async def _run(config: NodeConfig, on_ready: Callable[[Node], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _stop_or_exit, stop)
    node = Node(
        config,
        RealDisk(),
        wall_clock_ms,
        # Nobody may guess the nonces and salts of SCRAM.
        random.SystemRandom(),
        CleanerProcess(),
        time.perf_counter,
        process_usage,
        text_at,
    )

    def ready(node: Node) -> None:
        # The objects of a started node stay, so the garbage collector need not look at them.
        gc.freeze()
        on_ready(node)

    try:
        await node.run(stop, ready)
    except (StartError, RegistrationRefusedError, DiskError) as error:
        setting = error.setting if isinstance(error, StartError) else None
        raise NodeFailedError(str(error), setting) from error


def _stop_or_exit(stop: asyncio.Event) -> None:
    if stop.is_set():
        raise SystemExit(130)
    stop.set()


def _raise_file_limit() -> None:
    """Raises the limit of open files as far as possible, because a partition has several files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (hard, min(hard, MACOS_FILES_MAX)):
        if limit <= soft:
            return
        # macOS refuses the limit that it names as the highest one.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            return
