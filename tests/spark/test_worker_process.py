"""The preparation of a worker by its first task."""

import subprocess
import sys

PROGRAM = """
import gc
import pyspark.worker
from gralha.spark import worker_process

assert gc.get_freeze_count() == 0, "importing it changes nothing: the driver imports it, too"
worker_process.settle()
frozen = gc.get_freeze_count()
assert frozen > 10_000 > len(gc.get_objects()), (frozen, len(gc.get_objects()))
later = [[] for _ in range(100)]
worker_process.settle()
assert gc.get_freeze_count() == frozen, "once is enough: what tasks leave behind has to go"
"""


def test_what_is_loaded_is_looked_at_no_more() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)
