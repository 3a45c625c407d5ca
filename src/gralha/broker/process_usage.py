"""What the operating system knows of this process. It is a part of `run.py`: no other module calls it."""

import os
import resource
import sys
import time
from pathlib import Path

from gralha.broker.metrics.process import ProcessUsage

_PROC = Path("/proc/self")


def process_usage() -> ProcessUsage:
    """Reads everything that this system has. May wait: with many open files the kernel takes milliseconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_seconds = used.ru_utime + used.ru_stime
    max_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if sys.platform != "linux":
        return ProcessUsage(cpu_seconds, max_files=max_files)
    try:
        # The name of the command may have spaces and brackets: the fields begin after its closing bracket.
        fields = (_PROC / "stat").read_text().rpartition(")")[2].split()
        open_files = len(os.listdir(_PROC / "fd"))
    except OSError:  # there is no /proc
        return ProcessUsage(cpu_seconds, max_files=max_files)
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return ProcessUsage(
        cpu_seconds,
        resident_bytes=int(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
        virtual_bytes=int(fields[20]),
        open_files=open_files,
        max_files=max_files,
        start_time_seconds=time.time() - age_s,
    )
