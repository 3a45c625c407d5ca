"""Finds the streams that a query reads, in Spark's order.

The offsets in a checkpoint have no names: the first line belongs to the first source, and so on. Spark
numbers the sources in the analysed plan from left to right, each once. So `y.union(x)` would continue from a
checkpoint of `x.union(y)` with the wrong offsets. The manifest has the order, and it is compared before a
start.
"""

from typing import Any

from pyspark.sql import DataFrame

# The topics of each source.
Sources = tuple[tuple[str, ...], ...]


def sources(rows: DataFrame) -> Sources:
    """The topics of each source of a streaming DataFrame. For another kind of source, its name."""
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()
    found: list[Any] = []
    for leaf in (leaves.apply(index) for index in range(leaves.size())):
        # An input that is used twice is one source, unless Spark renamed its columns (in a self-join).
        if leaf.isStreaming() and not any(leaf.equals(one) for one in found):
            found.append(leaf)
    return tuple(_described(leaf) for leaf in found)


def _described(leaf: Any) -> tuple[str, ...]:
    if str(leaf.nodeName()) == "StreamingRelationV2":
        topics = leaf.extraOptions().get("subscribe")
        return tuple(sorted(str(topics).split(","))) if topics else (str(leaf.sourceName()),)
    return (str(leaf.nodeName()),)
