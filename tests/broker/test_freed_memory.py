"""A broker uses freed memory again. New pages of the kernel would make each batch slower."""

import subprocess
import sys

PROGRAM = """
import resource, sys
from gralha.broker import run

if sys.argv[1] == "kept":
    run._keep_freed_memory()
def use_buffers(times):
    for _ in range(times):
        buffers = [bytearray(100_000) for _ in range(8)]
use_buffers(10)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
use_buffers(100)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(how: str) -> int:
    ended = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True)
    return int(ended.stdout)


def test_buffers_that_are_used_again_cost_no_page_faults() -> None:
    assert page_faults("returned") > 1_000, "the C library returns freed memory to the kernel"
    assert page_faults("kept") < 100
