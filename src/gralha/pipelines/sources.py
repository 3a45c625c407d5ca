"""Finds the streams that a query reads, in the order in which Spark numbers them.

The offsets in a checkpoint have no names: the first line is of the first source, and so on. Spark numbers
the sources as they stand in the analysed plan, from left to right, each once. So `y.union(x)` would resume
from a checkpoint of `x.union(y)` with each other's offsets. The order is kept in the manifest and compared
before a start.
"""

from typing import Any

from pyspark.sql import DataFrame

# The topics of each source.
Sources = tuple[tuple[str, ...], ...]


def sources(rows: DataFrame) -> Sources:
    """The topics that each source of a streaming DataFrame reads; of another source, what it is called."""
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()
    found: list[Any] = []
    for leaf in (leaves.apply(index) for index in range(leaves.size())):
        # An input that is used twice is one source, unless Spark had to tell its columns apart (a self-join).
        if leaf.isStreaming() and not any(leaf.equals(one) for one in found):
            found.append(leaf)
    return tuple(_described(leaf) for leaf in found)


def _described(leaf: Any) -> tuple[str, ...]:
    if str(leaf.nodeName()) == "StreamingRelationV2":
        topics = leaf.extraOptions().get("subscribe")
        return tuple(sorted(str(topics).split(","))) if topics else (str(leaf.sourceName()),)
    return (str(leaf.nodeName()),)
