"""Lets a query end by itself after the batch that it works on.

Spark's own `stop` interrupts a query wherever it is, and under load the next batch has begun before anybody
sees that the last one is done. Before every batch a query looks whether it is still meant to run. So it is
told that it is not, and is stopped only when no batch is under way any more. It looks once more between the
planning of a batch and its work, and would drop it there; so it is told while jobs of the batch run.
"""

from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery


def has_jobs(query: StreamingQuery, session: SparkSession) -> bool:
    """Whether the query works on a batch that is planned."""
    tracker = session.sparkContext.statusTracker()
    return not set(tracker.getActiveJobsIds()).isdisjoint(tracker.getJobIdsForGroup(str(query.runId)))


def begin_no_batch_after_this(query: StreamingQuery, session: SparkSession) -> bool:
    """Tell a query to begin no other batch; False when this Spark cannot be told."""
    jvm: Any = session._jvm
    try:
        execution = query._jsq.streamingQuery()
        state = execution.state()
        package = str(state.get().getClass().getName()).rpartition(".")[0]
        loader = execution.getClass().getClassLoader()
        terminated = jvm.java.lang.Class.forName(f"{package}.TERMINATED$", True, loader)
        state.set(terminated.getField("MODULE$").get(None))
    except (Py4JError, TypeError):
        # These are Spark's inner parts, and another version may have others.
        return False
    return True
