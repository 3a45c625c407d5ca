"""The session factory: its settings, and its error if Java is missing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gralha.spark import session as sessions
from gralha.spark.home import spark_home
from gralha.spark.java import JavaError, find_java, java_version
from gralha.spark.session import cores, is_on_this_machine, prepare_environment, settings


@pytest.mark.parametrize(
    ("master", "here"),
    [
        ("local", True),
        ("local[4]", True),
        ("local[*,3]", True),
        ("local-cluster[2,1,1024]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077,127.0.0.1:7078", True),
        ("spark://localhost:7077,spark2:7077", False),
        ("spark://node1:7077", False),
        ("yarn", False),
        ("k8s://https://127.0.0.1:6443", False),
    ],
)
def test_whether_executors_run_here(master: str, here: bool) -> None:
    assert is_on_this_machine(master) is here


def test_shuffles_are_as_wide_as_the_machine() -> None:
    assert cores("local") == 1
    assert cores("local[3]") == 3
    assert cores("local[3,2]") == 3
    assert cores("local[*]") == cores("spark://127.0.0.1:7077") == os.cpu_count()
    assert settings("local[3]")["spark.sql.shuffle.partitions"] == "3"
    assert "spark.sql.shuffle.partitions" not in settings("yarn")


def test_a_cluster_elsewhere_keeps_its_own_way_to_the_driver_and_to_checkpoints() -> None:
    here, elsewhere = settings("local[*]"), settings("k8s://https://api:443")
    assert here["spark.driver.host"] == "127.0.0.1"
    assert {name for name in here if name not in elsewhere} == {
        "spark.driver.host",
        "spark.driver.bindAddress",
        "spark.python.unix.domain.socket.enabled",
        "spark.sql.shuffle.partitions",
        "spark.sql.streaming.checkpointFileManagerClass",
    }


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment without settings for Spark."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("SPARK_HOME", "SPARK_LOCAL_IP", "PYSPARK_PYTHON"):
        # Set first, so that the end of the test removes the values that the call sets.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return monkeypatch


def test_workers_run_this_interpreter(environment: pytest.MonkeyPatch) -> None:
    prepare_environment("local[*]")
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


def test_the_web_page_of_a_session_here_is_for_this_machine_only(environment: pytest.MonkeyPatch) -> None:
    prepare_environment("yarn")
    assert "SPARK_LOCAL_IP" not in os.environ
    prepare_environment("spark://localhost:7077")
    assert os.environ["SPARK_LOCAL_IP"] == "127.0.0.1"


def test_a_session_here_has_a_home_with_all_but_the_zipped_pyspark(environment: pytest.MonkeyPatch) -> None:
    prepare_environment("yarn")
    assert "SPARK_HOME" not in os.environ
    prepare_environment("local[*]")
    home = Path(os.environ["SPARK_HOME"])
    assert (home / "jars").resolve() == (spark_home() / "jars").resolve()
    assert (home / "bin" / "spark-submit").exists()
    assert not list(home.rglob("*.zip"))
    # The next process finds it, and nothing else is left.
    del os.environ["SPARK_HOME"]
    prepare_environment("local[*]")
    assert os.environ["SPARK_HOME"] == str(home)
    assert list(home.parent.iterdir()) == [home]


def test_a_home_that_cannot_be_made_is_done_without(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environment.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    prepare_environment("local[*]")
    assert "SPARK_HOME" not in os.environ


@pytest.mark.parametrize(("name", "value"), [("SPARK_HOME", "/opt/spark"), ("PYSPARK_PYTHON", "python3")])
def test_what_somebody_chose_keeps_its_home(environment: pytest.MonkeyPatch, name: str, value: str) -> None:
    environment.setenv(name, value)
    prepare_environment("local[*]")
    assert os.environ[name] == value
    assert os.environ.get("SPARK_HOME", "/opt/spark") == "/opt/spark"


def test_an_interpreter_that_somebody_chose_stays(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("PYSPARK_PYTHON", "./environment/bin/python")
    prepare_environment("local[*]")
    prepare_environment("yarn")
    assert os.environ["PYSPARK_PYTHON"] == "./environment/bin/python"


def test_on_other_machines_the_interpreter_goes_by_its_name(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    other = tmp_path / name
    other.symlink_to(sys.executable)
    environment.setenv("PATH", str(tmp_path))
    prepare_environment("yarn")
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    environment.delenv("PYSPARK_PYTHON")
    environment.setattr(sys, "executable", str(other))
    prepare_environment("yarn")
    assert os.environ["PYSPARK_PYTHON"] == name


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaError, match="needs Java 17 or newer, and there is no java here: install it"):
        sessions.session()


def test_an_old_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match=f"needs Java 17 or newer, and {java} is Java 11: install it"):
        find_java()


def test_a_java_home_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match="correct or unset JAVA_HOME"):
        find_java()


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_202"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("nonsense", None),
    ],
)
def test_versions_of_java(said: str, version: int | None) -> None:
    assert java_version(said) == version
