"""What the operating system knows of this process. It is a part of `run.py`: no other module calls it."""

import os
import resource
import time
from pathlib import Path

from gralha.broker.metrics.process import ProcessUsage

_PROC = Path("/proc/self")


def process_usage() -> ProcessUsage:
    """Reads everything that this system has. May wait: with many open files the kernel takes milliseconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_seconds = used.ru_utime + used.ru_stime
    max_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        # The name of the command may have spaces and brackets: the fields begin after its closing bracket.
        fields = (_PROC / "stat").read_text().rpartition(")")[2].split()
        open_files = len(os.listdir(_PROC / "fd"))
    except OSError:  # not Linux
        return ProcessUsage(cpu_seconds, max_files=max_files)
    return ProcessUsage(
        cpu_seconds,
        resident_bytes=int(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
        virtual_bytes=int(fields[20]),
        open_files=open_files,
        max_files=max_files,
        start_time_seconds=time.time() - (_seconds_since_boot() - int(fields[19]) / os.sysconf("SC_CLK_TCK")),
    )


def _seconds_since_boot() -> float:
    return float(Path("/proc/uptime").read_text().split()[0])
