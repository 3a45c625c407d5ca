"""Lets a query end by itself after its current batch.

Spark's own `stop` interrupts a query at any point, and under load the next batch begins before anybody sees
that the previous one is done. Before every batch a query checks whether it should still run. So this module
tells the query that it should not, and the query is stopped when no batch is under way. A query makes the
same check between the planning of a batch and its work, and would drop the batch. So it is told only while
jobs of the batch run.
"""

from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery


def has_jobs(query: StreamingQuery, session: SparkSession) -> bool:
    """Returns True if the query works on a batch that is already planned."""
    tracker = session.sparkContext.statusTracker()
    return not set(tracker.getActiveJobsIds()).isdisjoint(tracker.getJobIdsForGroup(str(query.runId)))


def begin_no_batch_after_this(query: StreamingQuery, session: SparkSession) -> bool:
    """Tells a query to start no other batch. Returns False if this version of Spark does not allow that."""
    jvm: Any = session._jvm
    try:
        execution = query._jsq.streamingQuery()
        state = execution.state()
        package = str(state.get().getClass().getName()).rpartition(".")[0]
        loader = execution.getClass().getClassLoader()
        terminated = jvm.java.lang.Class.forName(f"{package}.TERMINATED$", True, loader)
        state.set(terminated.getField("MODULE$").get(None))
    except (Py4JError, TypeError):
        # These are internals of Spark, and another version may differ.
        return False
    return True
