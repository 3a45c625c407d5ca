"""`gralha spark up` as a person runs it: a table, tasks on its workers, nothing left behind."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from gralha.spark.standalone import StandaloneCluster, StandaloneError, is_free
from gralha.testing import GralhaCluster
from gralha.testing.process import free_ports
from tests.spark.shared_session import quick_java
from tests.spark.standalone_processes import all_end, children

PATIENCE_S = 60
UP = [sys.executable, "-m", "gralha", "spark", "up"]
COUNT = """
import pathlib
from gralha.spark.packages import package_for_executors
from gralha.spark.session import session
config = package_for_executors(pathlib.Path("gralha.zip"))
# Else the first executor may have done all tasks before the second one is there.
config |= {{"spark.scheduler.minRegisteredResourcesRatio": "1", "spark.ui.enabled": "false"}}
spark = session({master!r}, config=config)
def where(_):
    import os, gralha.client.bulk_reader
    return os.getppid(), gralha.__file__
pids, files = map(set, zip(*spark.range(40, numPartitions=4).rdd.map(where).collect()))
print("pids", len(pids), "shipped", all("/gralha_packages/" in file for file in files))
spark.stop()
"""
# The login for the write is in the environment of the workers alone.
WRITE_AND_READ = """
import json, os, pathlib, sys
from gralha.spark.packages import package_for_executors
from gralha.spark.session import session
options = json.loads(sys.argv[1])
assert "GRALHA_TEST_LOGIN" not in os.environ
config = package_for_executors(pathlib.Path("gralha.zip")) | {{"spark.ui.enabled": "false"}}
spark = session({master!r}, config=config)
rows = spark.range(40, numPartitions=4).selectExpr("CAST(id AS STRING) AS value")
on_workers = {{**options, "kafka.sasl.jaas.config": "${{env:GRALHA_TEST_LOGIN}}"}}
rows.write.format("gralha").options(**on_workers).option("topic", "app.rows").mode("append").save()
print("rows", spark.read.format("gralha").options(**options).option("subscribe", "app.rows").load().count())
spark.stop()
"""
# One name for two interpreters, as on other machines.
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an interpreter with all packages of this one, except Gralha."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder, with_pip=False, symlinks=True)
    packages = Path(pyspark.__file__).parents[1]
    # Gralha itself is installed with a .pth file, which is not read there.
    (next(folder.glob("lib/python*/site-packages")) / "packages.pth").write_text(f"{packages}\n")
    there = subprocess.run([folder / "bin" / PYTHON, "-c", "import pyspark, gralha"], capture_output=True)
    assert b"No module named 'gralha'" in there.stderr
    return folder / "bin"


@pytest.fixture(scope="module")
def first_port() -> int:
    """A port with three free ones after it."""
    return next(port for port in free_ports(20) if all(is_free(port + offset) for offset in range(4)))


@pytest.fixture(scope="module")
def running(
    first_port: int,
    elsewhere: Path,
    tmp_path_factory: pytest.TempPathFactory,
    gralha_secured_cluster: GralhaCluster,
) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """The program and the six lines that it prints when it is ready."""
    line = [*UP, "--workers", "2", "--port", str(first_port), "--cores", "1"]
    line += ["--data", str(tmp_path_factory.mktemp("standalone"))]
    environment = {**os.environ, **quick_java(), "PATH": f"{elsewhere}:{os.environ['PATH']}"}
    environment["GRALHA_TEST_LOGIN"] = gralha_secured_cluster.java_config()["sasl.jaas.config"]
    pipe = subprocess.PIPE
    with subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True, env=environment) as program:
        try:
            assert program.stdout is not None
            yield program, [program.stdout.readline() for _ in range(6)]
        finally:
            program.kill()


def test_a_table_shows_where_everything_is(
    running: tuple["subprocess.Popen[str]", list[str]], first_port: int
) -> None:
    _, table = running
    assert table[0] == "Spark is up\n"
    assert table[1].split() == [
        "master",
        f"spark://127.0.0.1:{first_port}",
        f"http://127.0.0.1:{first_port + 1}",
    ]
    assert [line.split() for line in table[2:4]] == [
        ["worker-1", f"http://127.0.0.1:{first_port + 2}"],
        ["worker-2", f"http://127.0.0.1:{first_port + 3}"],
    ]
    assert table[4].startswith("  data ")
    assert table[5] == (
        f"Ctrl-C stops it. Try: gralha pipeline run FILE.py --master spark://127.0.0.1:{first_port}\n"
    )
    with urllib.request.urlopen(f"http://127.0.0.1:{first_port + 1}/json/", timeout=PATIENCE_S) as answer:
        assert [worker["state"] for worker in json.load(answer)["workers"]] == ["ALIVE", "ALIVE"]


def test_it_listens_on_the_loopback_address_only(running: tuple["subprocess.Popen[str]", list[str]]) -> None:
    program, _ = running
    pids = children(program.pid)
    inodes = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                found = re.match(r"socket:\[(\d+)\]", os.readlink(descriptor))
                inodes |= {found[1]} if found else set()
    listening = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                listening.append(fields[1].rpartition(":")[0])
    assert len(listening) >= 6
    assert {address[-8:] for address in listening} == {"0100007F"}


def driver_of(program: str, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs a driver. The cluster does not have Gralha, so it is sent there."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={
            **os.environ,
            "PYSPARK_PYTHON": PYTHON,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        timeout=2 * PATIENCE_S,
    )


def test_tasks_log_in_with_secrets_of_the_workers(
    running: tuple["subprocess.Popen[str]", list[str]],
    first_port: int,
    tmp_path: Path,
    gralha_secured_cluster: GralhaCluster,
) -> None:
    options = json.dumps(gralha_secured_cluster.spark_options())
    driver = driver_of(WRITE_AND_READ.format(master=f"spark://127.0.0.1:{first_port}"), tmp_path, options)
    assert "rows 40" in driver.stdout, driver.stderr[-3000:]


def test_tasks_run_on_both_workers_and_ctrl_c_leaves_nothing(
    running: tuple["subprocess.Popen[str]", list[str]], first_port: int, tmp_path: Path
) -> None:
    program, _ = running
    driver = driver_of(COUNT.format(master=f"spark://127.0.0.1:{first_port}"), tmp_path)
    assert "pids 2 shipped True" in driver.stdout, driver.stderr[-3000:]
    below = children(program.pid)
    assert len(below) == 3
    program.send_signal(signal.SIGINT)
    output, errors = program.communicate(timeout=PATIENCE_S)
    assert (program.returncode, output, errors) == (0, "", "")
    assert all_end(below)


def test_when_it_is_killed_its_processes_end_too(tmp_path: Path) -> None:
    line = [*UP, "--workers", "1", "--port", "0", "--data", str(tmp_path)]
    environment = {**os.environ, **quick_java()}
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environment) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "Spark is up\n"
        below = children(program.pid)
        assert len(below) == 2
        program.kill()
    assert all_end(below)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(
            StandaloneError, match=f"Port {port} is in use, and a cluster with 2 workers takes"
        ):
            StandaloneCluster(tmp_path, workers=2, port=port).start()
        done = subprocess.run([*UP, "--port", str(port)], capture_output=True, text=True, timeout=PATIENCE_S)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert done.stderr.startswith(f"Port {port} is in use")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["up", "--workers", "0"], "--workers: 0 is not greater than zero"),
        (["up", "--workers", "17"], "17 workers are too many"),
        (["up", "--port", "65534"], "not enough ports"),
        (["up", "--memory", "100m"], "100m is not a size for an executor"),
        (["up", "--data", "/proc/nowhere"], "/proc/nowhere cannot be used"),
        (["down"], "gralha spark has no command 'down'"),
    ],
)
def test_a_wrong_call_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from gralha.cli.spark import main

    before = signal.getsignal(signal.SIGTERM)
    try:
        assert main(arguments) == 1
    finally:
        signal.signal(signal.SIGTERM, before)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.count("\n") == 1
