"""Prepares each Python worker that Spark starts, in its first task.

After every task a worker collects garbage among all its objects. With Spark's and our modules loaded that
takes 30 to 50 ms, in which a task could read a hundred thousand rows. Loaded modules stay, so they are hidden
from the collector, and later collections look only at what tasks have left.
"""

import gc

_is_settled = False


def settle() -> None:
    """Hides all loaded objects from the garbage collector."""
    global _is_settled
    if not _is_settled:
        _is_settled = True
        gc.collect()
        gc.freeze()
