"""The folder of a checkpoint, on this machine or on a file system that Spark can reach.

A path without a scheme, or with `file:`, is read and written by Python. Any other path (hdfs://, s3a://, ...)
goes through Hadoop's file system in Spark's JVM, with Spark's settings and credentials.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from gralha.pipelines.errors import PipelineError
from gralha.pipelines.spark_errors import short
from gralha.spark.checkpoint_files import is_on_this_machine


class Folder(Protocol):
    """A folder with text files and folders. Paths inside are relative, with slashes."""

    path: str

    def names(self, inside: str = "") -> list[str]:
        """The names in a folder, sorted. Empty if it does not exist."""

    def read(self, name: str) -> str | None:
        """The text of a file. None if it does not exist."""

    def write(self, name: str, text: str) -> None:
        """Writes a file. After a crash it has the old text or the new one."""

    def move_aside(self, suffix: str) -> str:
        """Renames the folder by a suffix. Returns its new path."""


def folder(path: str, session: SparkSession) -> Folder:
    """The folder at a path. It need not exist."""
    return LocalFolder(full_path(path)) if is_on_this_machine(path) else HadoopFolder(path, session)


def full_path(path: str) -> str:
    """A path as messages and Spark have it."""
    if is_on_this_machine(path):
        return os.path.abspath(path.removeprefix("file://").removeprefix("file:"))
    return path.rstrip("/")


@contextmanager
def usable(path: str) -> Iterator[None]:
    """Raises PipelineError, as a sentence, if a folder cannot be read or written."""
    try:
        yield
    except (OSError, Py4JError, PySparkException) as error:
        why = short(error).rstrip(".")
        jar = (
            ""
            if "FileSystem" not in why
            else (
                f" Spark needs a jar for {urlsplit(path).scheme}://, "
                "for example --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION for s3a://."
            )
        )
        raise PipelineError(f"The folder {path} cannot be used: {why}.{jar}") from error


class LocalFolder:
    """A folder of this machine."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._root = Path(self.path)

    def names(self, inside: str = "") -> list[str]:
        place = self._root / inside
        return sorted(one.name for one in place.iterdir()) if place.is_dir() else []

    def read(self, name: str) -> str | None:
        try:
            # The reader of the text reports bytes that are not UTF-8.
            return (self._root / name).read_text("utf-8", "replace")
        except FileNotFoundError:
            return None

    def write(self, name: str, text: str) -> None:
        self._root.mkdir(parents=True, exist_ok=True)
        draft = self._root / f".{name}.new"
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._root / name)

    def move_aside(self, suffix: str) -> str:
        aside = self._root.with_name(self._root.name + suffix)
        self._root.rename(aside)
        return str(aside)


class HadoopFolder:
    """A folder on a file system that Spark's JVM knows."""

    def __init__(self, path: str, session: SparkSession) -> None:
        self.path = path.rstrip("/")
        jvm: Any = session._jvm
        self._hadoop = jvm.org.apache.hadoop.fs
        self._io = jvm.org.apache.commons.io.IOUtils
        configuration = session._jsc.sc().hadoopConfiguration()
        self._files = self._hadoop.Path(self.path).getFileSystem(configuration)

    def names(self, inside: str = "") -> list[str]:
        place = self._at(inside)
        if not self._files.exists(place):
            return []
        return sorted(str(status.getPath().getName()) for status in self._files.listStatus(place))

    def read(self, name: str) -> str | None:
        # Not every file system replaces a file in one step: the new text may still have its temporary name.
        places = [self._at(name), self._at(f".{name}.new")]
        place = next((one for one in places if self._files.exists(one)), None)
        if place is None:
            return None
        stream = self._files.open(place)
        try:
            return str(self._io.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        draft = self._at(f".{name}.new")
        stream = self._files.create(draft, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        self._files.delete(self._at(name), False)
        self._files.rename(draft, self._at(name))

    def move_aside(self, suffix: str) -> str:
        self._files.rename(self._at(""), self._hadoop.Path(self.path + suffix))
        return self.path + suffix

    def _at(self, name: str) -> Any:
        return self._hadoop.Path(f"{self.path}/{name}" if name else self.path)
