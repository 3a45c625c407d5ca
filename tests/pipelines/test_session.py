"""Spark for a command, with a stand-in for Spark itself: what is said, where the noise goes."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.logger import PySparkLogger

import gralha.spark.session
from gralha.cli.pipeline_session import LOGGERS_OF_QUERIES, CommandSpark, check_master
from gralha.cli.program import CommandError
from gralha.testing.process import free_ports

NOISE = "pages of Java"


class NoisySpark:
    """Writes to standard error while it starts and stops, and logs the errors of queries, as Spark does."""

    def __init__(self) -> None:
        self.starts: list[tuple[str | None, Mapping[str, str]]] = []
        self.is_stopped = False

    def session(self, master: str | None, _name: str, config: Mapping[str, str]) -> NoisySpark:
        self.starts.append((master, config))
        os.write(2, b"log of the start\n")
        return self

    def fail(self) -> None:
        for name in LOGGERS_OF_QUERIES:
            logger = PySparkLogger.getLogger(name)
            logger.propagate = False
            logger.error(NOISE)

    def stop(self) -> None:
        os.write(2, b"log of the end\n")
        self.is_stopped = True


@pytest.fixture
def noisy(monkeypatch: pytest.MonkeyPatch) -> Iterator[NoisySpark]:
    """The log of this process is as before after the test."""
    root = logging.getLogger()
    loggers = [root, *(PySparkLogger.getLogger(name) for name in LOGGERS_OF_QUERIES)]
    before = [list(logger.handlers) for logger in loggers]
    made = NoisySpark()
    monkeypatch.setattr(gralha.spark.session, "session", made.session)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        yield made
    logging.captureWarnings(capture=False)
    for logger, handlers in zip(loggers, before, strict=True):
        logger.handlers = handlers


def test_the_terminal_has_words_and_the_log_has_the_rest(
    noisy: NoisySpark, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "new" / "spark.log"
    with CommandSpark(None, "test", {}, log) as spark:
        assert spark.session() is spark.session()
        noisy.fail()
        warnings.warn("a warning", stacklevel=1)
    out, err = capfd.readouterr()
    assert out.splitlines()[0] == "Starting Spark ..."
    assert out.splitlines()[1].startswith("Spark started in 0.")
    assert err == ""
    text = log.read_text()
    assert text.count(NOISE) == len(LOGGERS_OF_QUERIES)
    assert all(part in text for part in ("log of the start", "a warning", "log of the end"))
    assert noisy.is_stopped


def test_with_verbose_all_of_it_is_on_the_terminal(
    noisy: NoisySpark, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in LOGGERS_OF_QUERIES:
        PySparkLogger.getLogger(name).handlers = [logging.StreamHandler()]
    with CommandSpark(None, "test", {}, tmp_path / "spark.log", is_verbose=True) as spark:
        spark.session()
        noisy.fail()
    err = capfd.readouterr().err
    assert all(part in err for part in ("log of the start", NOISE, "log of the end"))
    assert not (tmp_path / "spark.log").exists()


@pytest.mark.parametrize("keeps_log", [True, False])
def test_a_spark_that_does_not_start_says_where_to_look(
    noisy: NoisySpark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, keeps_log: bool
) -> None:
    def fail(*_arguments: object) -> None:
        os.write(2, b"Invalid maximum heap size\n")
        raise RuntimeError("Java gateway process exited\nmore")

    monkeypatch.setattr(gralha.spark.session, "session", fail)
    log = tmp_path / "spark.log"
    with (
        pytest.raises(CommandError) as error,
        CommandSpark(None, "test", {}, log, keeps_log=keeps_log) as spark,
    ):
        spark.session()
    place = f"log: {log}" if keeps_log else "--verbose shows the whole log"
    assert str(error.value) == (
        f"Spark did not start on local[*]: Java gateway process exited ({place}). "
        "Last lines of the log: Invalid maximum heap size"
    )


def test_a_spark_that_nobody_needs_does_not_start(noisy: NoisySpark, tmp_path: Path) -> None:
    with CommandSpark(None, "test", {}, tmp_path / "spark.log"):
        pass
    assert (noisy.starts, noisy.is_stopped) == ([], False)


def test_settings_of_the_file_count_and_those_of_the_command_line_count_more(
    noisy: NoisySpark, tmp_path: Path
) -> None:
    declared = {"spark.master": "local[3]", "a": "file", "b": "file", "c": "file"}
    with CommandSpark(
        *(None, "test", {"c": "command line"}, tmp_path / "spark.log"),
        before_start=lambda: {"b": "shipped", "c": "shipped"},
    ) as spark:
        spark.session(declared)
        assert spark.master == "local[3]"
    assert noisy.starts == [("local[3]", {"a": "file", "b": "shipped", "c": "command line"})]


def test_a_master_that_does_not_listen_is_said_at_once(noisy: NoisySpark, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with (
        pytest.raises(
            CommandError, match=f"No Spark master listens on localhost:{port}. Start one with `gralha"
        ),
        CommandSpark(f"spark://localhost:{port}", "test", {}, tmp_path / "spark.log") as spark,
    ):
        spark.session()
    assert noisy.starts == []


def test_one_of_several_masters_is_enough() -> None:
    (port,) = free_ports(1)
    with socket.create_server(("localhost", 0)) as listening:
        check_master(f"spark://localhost:{port},localhost:{listening.getsockname()[1]}")
    for master in (None, "local[2]", "yarn", "k8s://https://localhost:1"):
        check_master(master)
