"""What is done once to each of Spark's Python workers, by the first task of ours that it runs.

After every task a worker collects garbage among all of its objects. With Spark's and our modules loaded that
takes 30 to 50 ms, in which a task reads a hundred thousand rows. What is loaded stays, so it is taken out of
the collector's view, and the next collection looks at what tasks have left only.
"""

import gc

_is_settled = False


def settle() -> None:
    """Let the collector pass over all that is loaded by now."""
    global _is_settled
    if not _is_settled:
        _is_settled = True
        gc.collect()
        gc.freeze()
