"""Reads files of a query's checkpoint: by Python on this machine, or through Spark on any file system."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The text of a file by its path in the checkpoint, None if it does not exist.
ReadFile = Callable[[str], str | None]


def is_on_this_machine(path: str) -> bool:
    """Returns True if the path is on this machine only. Spark may know a path without a scheme otherwise."""
    return urlsplit(path).scheme in ("", "file")


def local_file_of(checkpoint: str) -> ReadFile:
    """Reads files of a checkpoint on this machine."""
    root = Path(checkpoint.removeprefix("file://").removeprefix("file:"))

    def read(name: str) -> str | None:
        try:
            return (root / name).read_text("utf-8")
        except FileNotFoundError:
            return None

    return read


def file_of_query(session: "SparkSession", query_id: str) -> ReadFile:
    """Reads files of the checkpoint of a running query, through the file system of Spark."""
    jvm: Any = session._jvm
    # The session of a batch is a copy that has no queries. Both share this map.
    shared: Any = session._jsparkSession.sharedState()
    running = shared.activeStreamingQueries().get(jvm.java.util.UUID.fromString(query_id))
    root = running.resolvedCheckpointRoot()
    path = jvm.org.apache.hadoop.fs.Path
    files = path(root).getFileSystem(session._jsc.sc().hadoopConfiguration())

    def read(name: str) -> str | None:
        place = path(f"{root}/{name}")
        if not files.exists(place):
            return None
        stream = files.open(place)
        try:
            return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    return read
