"""A Spark session for a command. It starts quietly, and Spark's output goes to a log file.

Spark and its Python workers inherit standard error when they start. During the start it is the log file, so
the terminal shows only the output of the command.
"""

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gralha.cli.program import CommandError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STANDARD_ERROR = 2
LINES_OF_LOG = 5


@contextmanager
def spark_session(
    master: str | None, name: str, config: Mapping[str, str], log: Path
) -> "Iterator[SparkSession]":
    """A session for a `with` statement. Raises CommandError with the end of its log if it does not start."""
    from gralha.spark.java import JavaError
    from gralha.spark.session import session

    log.parent.mkdir(parents=True, exist_ok=True)
    _keep_py4j_quiet(log)
    try:
        with _standard_error_to(log):
            started = session(master, name, config)
    except (JavaError, ModuleNotFoundError):
        raise
    except Exception as error:
        raise CommandError(_why_not(master, error, log)) from None
    try:
        yield started
    finally:
        with _standard_error_to(log):
            started.stop()


@contextmanager
def _standard_error_to(path: Path) -> Iterator[None]:
    sys.stderr.flush()
    kept = os.dup(STANDARD_ERROR)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.dup2(file, STANDARD_ERROR)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, STANDARD_ERROR)
        os.close(file)
        os.close(kept)


def _keep_py4j_quiet(log: Path) -> None:
    """Sends the log of py4j to the same file, because an interrupt makes it write errors."""
    handler = logging.FileHandler(log, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers = [handler]


def _why_not(master: str | None, error: Exception, log: Path) -> str:
    reason = str(error).strip().splitlines() or [type(error).__name__]
    lines = [line for line in _tail(log) if line.strip()]
    said = f" Last lines of the log: {' | '.join(lines)}" if lines else ""
    return f"Spark did not start on {master or 'this machine'}: {reason[0]} (log: {log}).{said}"


def _tail(log: Path) -> list[str]:
    try:
        return log.read_text(errors="replace").splitlines()[-LINES_OF_LOG:]
    except OSError:
        return []


def parse_conf(arguments: list[str]) -> dict[str, str]:
    """The settings of `--conf name=value`. Raises CommandError if a value is missing."""
    settings = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"--conf {argument}: write NAME=VALUE, for example spark.driver.memory=2g")
        settings[name.strip()] = value.strip()
    return settings
