"""The Spark session of a command. It starts quietly, and Spark's output goes to a log file.

Spark and its Python workers inherit standard error when they start. During the start it is the log file, so
the terminal shows only the output of the command. PySpark also logs every error in a query, as pages of JSON
with Java's stack. That goes to the log file, too. With --verbose everything goes to the terminal.
"""

import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from gralha.cli.program import CommandError
from gralha.cli.waiting import Waiting
from gralha.spark.session import LOCAL_MASTER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STANDARD_ERROR = 2
LINES_OF_LOG = 5
# PySpark's loggers of errors in queries. They write to standard error, and do not pass records on.
LOGGERS_OF_QUERIES = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
MASTER = "spark.master"
DEFAULT_MASTER_PORT = 7077


def no_more_settings() -> Mapping[str, str]:
    return {}


class CommandSpark:
    """Spark for one command, in a `with` block.

    It starts once: while the file is loaded if the file uses Spark at its top level, otherwise when the
    command needs it. `before_start` checks everything that can be checked without Spark, and returns more
    settings.
    """

    def __init__(
        self,
        master: str | None,
        name: str,
        conf: Mapping[str, str],
        log: Path,
        *,
        keeps_log: bool = True,
        is_verbose: bool = False,
        say: Callable[[str], None] = print,
        before_start: Callable[[], Mapping[str, str]] = no_more_settings,
    ) -> None:
        # That of --master, otherwise that of the file. With None it is this machine, or that of spark-submit.
        self._master = master
        self._name = name
        self._conf = conf
        self._log = log
        self._keeps_log = keeps_log
        self._is_verbose = is_verbose
        self._say = say
        self._before_start = before_start
        self._session: SparkSession | None = None

    @property
    def master(self) -> str:
        """Where Spark runs, for people."""
        return self._master or LOCAL_MASTER

    def session(self, declared: Mapping[str, str] | None = None) -> "SparkSession":
        """The session. `declared` has the settings that the file declares, weaker than those of --conf."""
        if self._session is None:
            self._make_folder()
            conf = {**(declared or {}), **self._before_start(), **self._conf}
            self._master = self._master or conf.get(MASTER)
            self._session = self._started({name: one for name, one in conf.items() if name != MASTER})
        return self._session

    def _started(self, conf: Mapping[str, str]) -> "SparkSession":
        from gralha.spark.java import JavaError
        from gralha.spark.session import session

        check_master(self._master)
        began = time.monotonic()
        try:
            if not self._is_verbose:
                _log_to(self._log)
            with self._counted(), self._quiet():
                started = session(self._master, self._name, conf)
        except (JavaError, ModuleNotFoundError):
            raise
        except Exception as error:
            raise CommandError(self._why_not(error)) from None
        self._say(f"Spark started in {time.monotonic() - began:.1f} s.")
        return started

    def _make_folder(self) -> None:
        folder = self._log.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CommandError(
                f"The folder {folder} cannot be written to: {error.strerror or error}. "
                "Choose another one with --checkpoints"
            ) from None

    def _why_not(self, error: Exception) -> str:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        lines = [line for line in _tail(self._log) if line.strip()]
        said = f" Last lines of the log: {' | '.join(lines)}" if lines else ""
        # The log of a short command is in a temporary folder.
        place = f" (log: {self._log})" if self._keeps_log else " (--verbose shows the whole log)"
        return f"Spark did not start on {self.master}: {reason[0]}{place}.{said}"

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Says that Spark starts. On a terminal it counts the seconds, unless the log is shown there."""
        if self._is_verbose or not sys.stderr.isatty():
            self._say("Starting Spark ...")
            yield
            return
        # While Spark starts, standard error is the log file.
        with (
            os.fdopen(os.dup(STANDARD_ERROR), "w") as terminal,
            Waiting("Starting Spark", terminal, after_s=0),
        ):
            yield

    def _quiet(self) -> AbstractContextManager[None]:
        return nullcontext() if self._is_verbose else _standard_error_to(self._log)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            with self._quiet():
                self._session.stop()


def check_master(master: str | None) -> None:
    """Fails at once if no master of a standalone Spark cluster listens. Spark would try for a minute."""
    if master is None or not master.startswith("spark://"):
        return
    addresses = master.removeprefix("spark://").split(",")
    for address in addresses:
        try:
            parts = urlsplit(f"//{address}")
            socket.create_connection((parts.hostname or "", parts.port or DEFAULT_MASTER_PORT), 10).close()
            return
        except (OSError, ValueError):
            continue
    raise CommandError(
        f"No Spark master listens on {' or '.join(addresses)}. Start one with `gralha spark up`, "
        "or check --master."
    )


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


def _log_to(log: Path) -> None:
    """Sends Python's log to the file, with the errors in queries and those of py4j after an interrupt."""
    from pyspark.logger import PySparkLogger

    handler = logging.FileHandler(log, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().handlers = [handler]
    logging.captureWarnings(capture=True)
    for name in LOGGERS_OF_QUERIES:
        logger = PySparkLogger.getLogger(name)
        logger.handlers = []
        logger.addHandler(logging.FileHandler(log, delay=True))


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
